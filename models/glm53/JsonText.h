//===- JsonText.h - JSON from files nobody vouches for ----------*- C++ -*-===//
//
// llvm::json::parse recurses without a limit. parseJsonText bounds size and
// depth first, so that hostile text gives an error and not a stack overflow.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_JSONTEXT_H
#define GLM_MODELS_GLM53_JSONTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace glm::glm53 {

constexpr size_t maxJsonBytes = 8 << 20;
constexpr int maxJsonDepth = 32;

/// Parses `text`, which must be an object; `name` begins every message.
llvm::Expected<llvm::json::Object> parseJsonText(llvm::StringRef text,
                                                 llvm::StringRef name);

/// A value as it stands in the file, on one line, cut when it is long.
std::string shortText(const llvm::json::Value &value);

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_JSONTEXT_H
