// What a server looks at before it opens its port: that the plan can be served
// at all, and what a person should know of it.
#ifndef GLM_TOOLS_GLMRUN_SERVE_CHECKS_H_
#define GLM_TOOLS_GLMRUN_SERVE_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/glmrun/serve_memory.h"
#include "tools/glmrun/serve_options.h"
#include "tools/glmrun/session.h"

namespace glm::tools {

struct ServePlan {
  MemoryShares memory;
  std::vector<std::string> notes;  // lines
};

// `session` is prepared, not loaded.
// Errors: kFailedPrecondition (no tokenizer, no step of decoding), kUnavailable
// (no code for the device), kResourceExhausted (memory), with the remedy.
absl::StatusOr<ServePlan> CheckServePlan(const Session& session,
                                         const ServeOptions& options);

// A line where `parallel` answers are more than one step of the plan decodes,
// with the sizes that it has; or "". `given`: somebody asked for that many.
std::string BatchNote(const PlanFile& plan, uint32_t parallel, bool given);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_SERVE_CHECKS_H_
