// The options that shape a plan, the same for every command that compiles one.
#ifndef GLM_TOOLS_GLMC_PLANFLAGS_H
#define GLM_TOOLS_GLMC_PLANFLAGS_H

#include "compiler/driver/Driver.h"

namespace CLI {
class App;
}

namespace glm::glmc {

/// The parts of a comma-separated list, without the blanks around them; an error
/// that names `flag` when a part is empty.
llvm::Expected<std::vector<std::string>> splitList(llvm::StringRef flag,
                                                   llvm::StringRef text);

/// An error for an option of `cmd` that was given an empty value: none means
/// anything, and where a script lost a variable it should be told.
llvm::Error refuseEmptyValues(const CLI::App &cmd);

struct PlanFlags {
  /// The options' group in --help.
  static constexpr const char *kGroup = "Plan";

  std::string math = "bf16", fuse = "on", batches = "1", verify, dense = "bf16",
              experts = "resident";
  bool denseHead = false;
  int64_t prefillChunk = 256, maxContext = 0, ranks = 1;

  /// Adds the options to `cmd`, which must not outlive this.
  void add(CLI::App &cmd);
  /// Stores them in `options`. Errors: UsageError, when they do not fit.
  llvm::Error apply(driver::DriverOptions &options) const;
};

} // namespace glm::glmc

#endif // GLM_TOOLS_GLMC_PLANFLAGS_H
