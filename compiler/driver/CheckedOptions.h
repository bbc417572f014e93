//===- CheckedOptions.h - What options may ask for --------------*- C++ -*-===//
//
// Checks of DriverOptions that the command line alone cannot make: against files
// and against the model.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_DRIVER_CHECKEDOPTIONS_H
#define GLM_COMPILER_DRIVER_CHECKEDOPTIONS_H

#include "compiler/driver/Driver.h"

namespace glm::driver {

/// The targets, each once. Errors: UsageError.
llvm::Expected<std::vector<codegen::CodeTarget>>
checkTargets(const DriverOptions &options);

/// Long work should not end at a folder that is not there, nor at an output that
/// destroys an input.
llvm::Error checkOutput(const DriverOptions &options);

/// Sizes of the plan within what the model takes. Errors: UsageError.
llvm::Expected<glm53::BuildOptions> checkSizes(const DriverOptions &options,
                                               const glm53::Config &config);

/// What paging of experts asks of the model and of how its experts are stored.
llvm::Error checkPagedExperts(const DriverOptions &options, const glm53::Config &config,
                              const glm53::Weights &weights);

} // namespace glm::driver

#endif // GLM_COMPILER_DRIVER_CHECKEDOPTIONS_H
