// A made-up trace with a hit rate that somebody chose: to measure what paging
// costs where no trace of the wanted rate was recorded.
//
// It runs the cache along and lets layers ask for so many rows that are in it,
// and so many that are not, as make the rate; which ones is chance. So the rate
// holds for this policy and these slots alone, and for a cache that begins
// empty with the trace. It says nothing of how good a policy is.
//
// The same options give the same trace on every machine.
#ifndef GLM_RUNTIME_PAGING_TUNED_TRACE_H_
#define GLM_RUNTIME_PAGING_TUNED_TRACE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/paging/expert_cache.h"
#include "runtime/paging/synthetic_trace.h"
#include "runtime/paging/trace.h"

namespace glm::paging {

struct TunedOptions {
  double hit_rate = 0.5;  // 0 to 1
  uint64_t steps = 0;     // of one token each
  uint64_t seed = 1;
};

class TunedTrace : public StepSource {
 public:
  // `cache` is new. Errors: kInvalidArgument (a rate that is none).
  static absl::StatusOr<TunedTrace> Create(ExpertCache cache,
                                           const TunedOptions& options);

  const TraceShape& shape() const override { return cache_.options().shape; }
  // Experts rise within a layer.
  absl::StatusOr<bool> Next(RoutingStep& step) override;

  // Steps at the beginning that fill the slots, by misses alone as far as there
  // are other rows: they do not count to the rate.
  uint64_t FillSteps() const;

 private:
  TunedTrace(ExpertCache cache, const TunedOptions& options);

  // `count` experts of `from` by chance, which move to its front.
  void Draw(std::vector<uint16_t>& from, uint32_t count,
            std::vector<uint16_t>& chosen);

  ExpertCache cache_;
  TunedOptions options_;
  TraceRandom random_;
  uint64_t at_ = 0;
  double owed_ = 0;  // hits that the rate is ahead
  std::vector<uint16_t> resident_, absent_;
  std::vector<Placement> placements_;
};

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_TUNED_TRACE_H_
