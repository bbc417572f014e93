// What a person says about paged experts, the same in every tool that runs a
// plan.
#ifndef GLM_TOOLS_DEVICE_EXPERT_OPTIONS_H_
#define GLM_TOOLS_DEVICE_EXPERT_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/executor/expert_budget.h"
#include "runtime/plan/plan_reader.h"

namespace CLI {
class App;
}

namespace glm::tools {

// Adds --expert-slots, --expert-policy and --host-memory.
void AddExpertOptions(CLI::App& command, ExpertOptions& options);

// Slots as "2383", or memory for them as "14GiB".
// Errors: kInvalidArgument.
absl::Status ParseSlots(const std::string& text, ExpertOptions& options);

// kFailedPrecondition where options were given and `plan` pages nothing.
absl::Status CheckExpertOptions(const ExpertOptions& options,
                                const PlanFile& plan);

}  // namespace glm::tools

#endif  // GLM_TOOLS_DEVICE_EXPERT_OPTIONS_H_
