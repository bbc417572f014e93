//===- WeightNames.h - One name for each tensor -----------------*- C++ -*-===//
//
// Checkpoints of this model spell tensor names in several ways: with different
// wrappers around the text model, and under the released or the transformers
// parameter names. Everything is translated here, before anything is decided by
// a name.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_WEIGHTNAMES_H
#define GLM_MODELS_GLM53_WEIGHTNAMES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace glm::glm53 {

/// `name` without `model.language_model.`, `language_model.model.`,
/// `language_model.` or `model.` in front.
llvm::StringRef stripWrappers(llvm::StringRef name);

/// The canonical name of a stored tensor (Weights.h): wrappers and a trailing
/// `.weight` removed, transformers spellings turned into the released ones.
/// Other suffixes (`.bias`, `.qweight`, `.scales`, ...) stay.
std::string canonicalName(llvm::StringRef stored);

/// The layer that a canonical name belongs to.
std::optional<int64_t> layerOf(llvm::StringRef canonical);

/// True for tensors of the vision tower.
bool isVision(llvm::StringRef canonical);

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_WEIGHTNAMES_H
