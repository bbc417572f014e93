//===- QuantizationClaims.cpp - What config.json says is packed -----------===//

#include "models/glm53/QuantizationClaims.h"

using namespace llvm;

namespace glm::glm53 {

QuantizationClaims::QuantizationClaims(const Quantization &quantization)
    : quantization(quantization) {
  for (const std::string &entry : quantization.notConverted)
    notConverted.insert(entry);
}

/// An entry names a module, a module around it, or one component of the path
/// ("shared_experts").
bool QuantizationClaims::isExcluded(StringRef module) const {
  if (notConverted.empty())
    return false;
  for (size_t end = module.size(); end != StringRef::npos && end > 0;
       end = module.rfind('.', end))
    if (notConverted.contains(module.substr(0, end)))
      return true;
  for (StringRef rest = module; !rest.empty();) {
    auto [component, tail] = rest.split('.');
    if (notConverted.contains(component))
      return true;
    rest = tail;
  }
  return false;
}

std::optional<bool> QuantizationClaims::says(StringRef module,
                                             bool isRoutedExpert) const {
  auto rule = quantization.moduleBits.find(module.str());
  if (rule != quantization.moduleBits.end())
    return rule->second < 16;
  if (quantization.method == Quantization::Method::None || isExcluded(module))
    return false;
  // A method without a rule for the module covers "the linears", which tools
  // read differently; only for the routed experts is the meaning clear.
  return isRoutedExpert ? std::optional<bool>(true) : std::nullopt;
}

void QuantizationClaims::stored(StringRef module, bool isRoutedExpert,
                                bool packed) {
  std::optional<bool> claim = says(module, isRoutedExpert);
  // Packed as int4 although the claim is fp8 contradicts as well.
  if (packed && quantization.method == Quantization::Method::Fp8)
    claim = false;
  if (!claim || *claim == packed)
    return;
  Contradiction &kind = packed ? packedAgainst : plainAgainst;
  if (kind.count++ == 0)
    kind.first = module.str();
}

std::vector<std::string> QuantizationClaims::warnings() const {
  std::vector<std::string> result;
  if (packedAgainst.count)
    result.push_back("config.json says otherwise, but " +
                     std::to_string(packedAgainst.count) +
                     " linears are stored as int4 (first: " +
                     packedAgainst.first + "); taken as stored");
  if (plainAgainst.count)
    result.push_back("config.json says quantised, but " +
                     std::to_string(plainAgainst.count) +
                     " linears are stored unquantised (first: " +
                     plainAgainst.first + "); taken as stored");
  return result;
}

} // namespace glm::glm53
