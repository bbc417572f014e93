//===- QuantizationClaims.h - What config.json says is packed ---*- C++ -*-===//
//
// Compares what config.json says about each linear with how it is stored. The
// stored form always wins; the comparison only feeds warnings.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_QUANTIZATIONCLAIMS_H
#define GLM_MODELS_GLM53_QUANTIZATIONCLAIMS_H

#include "models/glm53/Config.h"

#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace glm::glm53 {

class QuantizationClaims {
public:
  explicit QuantizationClaims(const Quantization &quantization);

  /// Notes that the linear `module` (canonical) is stored as int4 or is not.
  void stored(llvm::StringRef module, bool isRoutedExpert, bool packed);

  /// One warning for each kind of contradiction, with a count.
  std::vector<std::string> warnings() const;

private:
  /// Whether config.json says that `module` is packed; nullopt: it says
  /// nothing.
  std::optional<bool> says(llvm::StringRef module, bool isRoutedExpert) const;
  bool isExcluded(llvm::StringRef module) const;

  struct Contradiction {
    size_t count = 0;
    std::string first;
  };

  const Quantization &quantization;
  llvm::StringSet<> notConverted;
  Contradiction packedAgainst, plainAgainst;
};

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_QUANTIZATIONCLAIMS_H
