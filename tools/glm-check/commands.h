// The commands of glm-check, one source file each.
#ifndef GLM_TOOLS_GLM_CHECK_COMMANDS_H_
#define GLM_TOOLS_GLM_CHECK_COMMANDS_H_

#include "absl/status/statusor.h"

namespace CLI {
class App;
}

namespace glm::check {

// Adds the command to `app`; running it stores the exit code in `result`.
void AddGolden(CLI::App& app, int& result);
void AddOps(CLI::App& app, int& result);
void AddWeights(CLI::App& app, int& result);

// The exit code of a command that passed, did not, or could not say, which it
// then tells on stderr.
int ExitCode(const absl::StatusOr<bool>& pass);

// Ends with wrong usage where an option of the command has an empty value.
void CheckValues(const CLI::App& command);

}  // namespace glm::check

#endif  // GLM_TOOLS_GLM_CHECK_COMMANDS_H_
