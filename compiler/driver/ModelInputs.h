//===- ModelInputs.h - What a compilation reads -----------------*- C++ -*-===//

#ifndef GLM_COMPILER_DRIVER_MODELINPUTS_H
#define GLM_COMPILER_DRIVER_MODELINPUTS_H

#include "compiler/driver/Driver.h"

namespace glm::driver {

struct ModelInputs {
  glm53::Config config; ///< Stop ids include those of the tokenizer's markers.
  glm53::Weights weights;
  std::string tokenizer; ///< Text of tokenizer.json; empty without one.
};

/// Reads the checkpoint, or the configuration alone. The error names the file.
llvm::Expected<ModelInputs> readInputs(const DriverOptions &options);

} // namespace glm::driver

#endif // GLM_COMPILER_DRIVER_MODELINPUTS_H
