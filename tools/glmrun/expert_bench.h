// The part of `glmrun bench` that is about paged experts: what steps ask for,
// and what is counted meanwhile.
#ifndef GLM_TOOLS_GLMRUN_EXPERT_BENCH_H_
#define GLM_TOOLS_GLMRUN_EXPERT_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/executor/paged_experts.h"
#include "tools/glmrun/expert_report.h"
#include "tools/glmrun/measure.h"

namespace CLI {
class App;
}

namespace glm::tools {

struct ExpertBenchOptions {
  std::string routing;      // a trace file
  double hit_rate = -1;     // -1: as steps choose, or as the trace says
  uint32_t warm_up = 0;     // 0: 3, with a routing as many as fill the slots
  bool check_rows = false;  // after the steps, compare all slots with weights
};

void AddExpertBenchOptions(CLI::App& command, ExpertBenchOptions& options);

// Lets `measure` decode with the routing that was asked for, and count in
// `report`, which outlives the measurement, what experts cost the steps that
// count: those of the first rank, for all have the same. `paging` is empty
// where experts are resident.
//
// Errors: kFailedPrecondition (a routing without paging); those of routing.h.
absl::Status WatchExperts(const ExpertBenchOptions& options,
                          const std::vector<PagedExperts*>& paging,
                          MeasureOptions& measure, ExpertReport& report);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_EXPERT_BENCH_H_
