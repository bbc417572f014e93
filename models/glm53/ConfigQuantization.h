//===- ConfigQuantization.h - quantization_config ---------------*- C++ -*-===//

#ifndef GLM_MODELS_GLM53_CONFIGQUANTIZATION_H
#define GLM_MODELS_GLM53_CONFIGQUANTIZATION_H

#include "models/glm53/Config.h"

#include "llvm/Support/JSON.h"

namespace glm::glm53 {

/// Reads the block `quantization_config`, or the file of that name; adds to
/// `faults` what is not supported.
Quantization readQuantization(const llvm::json::Object &block,
                              std::vector<std::string> &faults);

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_CONFIGQUANTIZATION_H
