//===- WeightNames.cpp - One name for each tensor -------------------------===//

#include "models/glm53/WeightNames.h"

#include <utility>

using namespace llvm;

namespace glm::glm53 {

StringRef stripWrappers(StringRef name) {
  // Longest first: each of these begins with a shorter one.
  for (StringRef wrapper : {"model.language_model.", "language_model.model.",
                            "language_model.", "model."})
    if (name.consume_front(wrapper))
      break;
  return name;
}

/// Replaces the first `from` in `name`.
static void replace(std::string &name, StringRef from, StringRef to) {
  size_t at = name.find(from.data(), 0, from.size());
  if (at != std::string::npos)
    name.replace(at, from.size(), to.data(), to.size());
}

std::string canonicalName(StringRef stored) {
  StringRef stripped = stripWrappers(stored);
  stripped.consume_back(".weight");
  std::string name = stripped.str();
  if (!stripped.starts_with("layers."))
    return name;
  constexpr std::pair<StringRef, StringRef> renames[] = {
      {".attn_hc.", ".hc_attn_"},
      {".ffn_hc.", ".hc_ffn_"},
      {".self_attn.forget_gate.", ".self_attn."},
      {".mlp.shared_expert.", ".mlp.shared_experts."},
  };
  for (auto [from, to] : renames)
    replace(name, from, to);
  return name;
}

std::optional<int64_t> layerOf(StringRef canonical) {
  if (!canonical.consume_front("layers."))
    return std::nullopt;
  int64_t layer;
  if (canonical.split('.').first.getAsInteger(10, layer) || layer < 0)
    return std::nullopt;
  return layer;
}

bool isVision(StringRef canonical) { return canonical.starts_with("visual."); }

} // namespace glm::glm53
