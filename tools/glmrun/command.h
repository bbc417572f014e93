// The subcommands of glmrun and what they share: one source file each, added to
// the application by main.cc.
#ifndef GLM_TOOLS_GLMRUN_COMMAND_H_
#define GLM_TOOLS_GLMRUN_COMMAND_H_

#include <functional>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace glm::tools {

// Adds a subcommand. When it is given, `run` becomes what main calls.
using Run = std::function<absl::Status()>;
void AddGenerate(CLI::App& app, Run& run);
void AddChat(CLI::App& app, Run& run);
void AddBench(CLI::App& app, Run& run);
void AddInspect(CLI::App& app, Run& run);
void AddServe(CLI::App& app, Run& run);
void AddDoctor(CLI::App& app, Run& run);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_COMMAND_H_
