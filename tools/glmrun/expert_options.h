// What a person says about paged experts, and what they are told.
#ifndef GLM_TOOLS_GLMRUN_EXPERT_OPTIONS_H_
#define GLM_TOOLS_GLMRUN_EXPERT_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/expert_budget.h"
#include "runtime/executor/paged_experts.h"
#include "runtime/plan/plan_reader.h"

namespace CLI {
class App;
}

namespace glm::tools {

void AddExpertOptions(CLI::App& command, ExpertOptions& options);

// Slots as "2383", or memory for them as "14GiB".
// Errors: kInvalidArgument.
absl::Status ParseSlots(const std::string& text, ExpertOptions& options);

// kFailedPrecondition where options were given and `plan` pages nothing.
absl::Status CheckExpertOptions(const ExpertOptions& options,
                                const PlanFile& plan);

// "experts: 0.912 of 4,032 accesses were in a slot, 2.1 GiB came over the
// link", since the executor was made.
absl::StatusOr<std::string> ExpertSummary(PagedExperts& paging);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_EXPERT_OPTIONS_H_
