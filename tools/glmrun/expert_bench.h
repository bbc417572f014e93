// The part of `glmrun bench` that is about paged experts: what steps ask for,
// and what is counted meanwhile.
#ifndef GLM_TOOLS_GLMRUN_EXPERT_BENCH_H_
#define GLM_TOOLS_GLMRUN_EXPERT_BENCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/executor/paged_experts.h"
#include "tools/glmrun/expert_report.h"
#include "tools/glmrun/expert_stats.h"
#include "tools/glmrun/measure.h"

namespace CLI {
class App;
}

namespace glm::tools {

struct ExpertBenchOptions {
  std::string routing;       // a trace file
  double hit_rate = -1;      // -1: as steps choose, or as the trace says
  uint32_t warm_up = 0;      // 0: 3, with a routing as many as fill the slots
  bool check_rows = false;   // after the steps, compare all slots with weights
  ExpertStatsOptions stats;  // lines of the steps that count
};

void AddExpertBenchOptions(CLI::App& command, ExpertBenchOptions& options);

// Lets `measure` decode with the routing that was asked for, and count in
// `report`, which outlives the measurement, what experts cost the steps that
// count: those of the first rank, for all have the same. `paging` is empty
// where experts are resident.
//
// The lines of `entry`'s steps go to `stats`, which is null unless they were
// asked for.
//
// Errors: kFailedPrecondition (a routing without paging); those of routing.h.
absl::Status WatchExperts(const ExpertBenchOptions& options,
                          const std::vector<PagedExperts*>& paging,
                          const std::string& entry, ExpertStats* stats,
                          MeasureOptions& measure, ExpertReport& report);

// What misses cost each layer, from steps after those that were measured: with
// the same routing, then without misses. Profiles may come between, as they
// leave the routing and not the slots as they are.
class ExpertTimer {
 public:
  // Nothing is timed where `ranks` is empty. All outlives this; `stats` may be
  // null, and gets the first of the steps.
  ExpertTimer(ObservableRunner& executor, std::vector<PagedExperts*> ranks,
              const Measurement& measured, ExpertStats* stats)
      : executor_(executor),
        ranks_(std::move(ranks)),
        entry_(measured.entry),
        position_(measured.context - 1),
        steps_(static_cast<uint32_t>(
            std::min<size_t>(kTimedSteps, measured.decode.size()))),
        stats_(stats) {}

  absl::Status TimeMisses();
  // Of `report`, whose counts are there: timings and timed_steps.
  absl::Status Complete(ExpertReport& report);

 private:
  ObservableRunner& executor_;
  std::vector<PagedExperts*> ranks_;
  uint32_t entry_, position_;
  uint32_t steps_;  // no more than were measured
  ExpertStats* stats_;
  std::vector<std::vector<LayerSample>> samples_;  // [layers][steps]
};

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_EXPERT_BENCH_H_
