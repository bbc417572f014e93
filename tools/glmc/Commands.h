// The subcommands of glmc, one source file each.
#ifndef GLM_TOOLS_GLMC_COMMANDS_H
#define GLM_TOOLS_GLMC_COMMANDS_H

#include "llvm/Support/Error.h"

namespace CLI {
class App;
}

namespace glm::glmc {

// Each adds its command to `app`; running it stores the exit code in `result`.
void addCompile(CLI::App &app, int &result);
void addExplain(CLI::App &app, int &result);

/// Prints what failed. 0: nothing did, 2: a UsageError, 130: an InterruptedError, 1: any
/// other.
int exitCode(llvm::Error error);

} // namespace glm::glmc

#endif // GLM_TOOLS_GLMC_COMMANDS_H
