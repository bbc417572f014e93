// Which experts `glmrun bench` lets steps take instead of their own: a trace
// that was recorded, or one made up to a hit rate.
#ifndef GLM_TOOLS_GLMRUN_ROUTING_H_
#define GLM_TOOLS_GLMRUN_ROUTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/paging/expert_cache.h"

namespace glm::tools {

struct Routing {
  // [steps][layers][top_k], PagedExperts::SetRouting; they go in a circle.
  std::vector<int32_t> choices;
  uint64_t warm_up = 0;  // steps at the beginning that do not count
  // Of the steps that count, by simulation.
  double hit_rate = 0;
};

// Steps that fill the slots of `cache` when nothing hits, and a few more.
uint64_t WarmUpSteps(const paging::CacheOptions& cache);

// `cache` is new and has the executor's rules. `warm_up` of 0: WarmUpSteps.
// `tail`: steps after those that count, of the same rate.
//
// Errors: those of the trace's reader; kInvalidArgument (of another shape, or
// of several tokens a step; a rate that the slots cannot give, with the number
// that they give: within 0.01 counts).
absl::StatusOr<Routing> ReadRouting(const std::string& path,
                                    const paging::ExpertCache& cache,
                                    uint64_t warm_up, uint64_t steps,
                                    uint64_t tail = 0);
absl::StatusOr<Routing> TuneRouting(double hit_rate,
                                    const paging::ExpertCache& cache,
                                    uint64_t warm_up, uint64_t steps,
                                    uint64_t tail = 0);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_ROUTING_H_
