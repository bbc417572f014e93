// What copying rows costs each layer: steps whose launches are timed one by
// one, and the copies among them.
//
// A launch that copies may do other things beside it, as part of a group, and
// it takes some time with nothing to copy. What misses add, the stall, is the
// launch's time less its time in steps without a miss of that layer.
#ifndef GLM_TOOLS_GLMRUN_EXPERT_TIMING_H_
#define GLM_TOOLS_GLMRUN_EXPERT_TIMING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/observable_runner.h"
#include "runtime/executor/paged_experts.h"

namespace glm::tools {

// Steps that bench times, launch by launch, at most.
inline constexpr uint32_t kTimedSteps = 16;

// Of each MoE layer, in order, which of the entry's launches (OperationRanges)
// copies its rows. Empty where experts are resident, and where a launch copies
// for several layers.
std::vector<uint32_t> CopyLaunches(const plan::Plan& plan,
                                   const plan::Entry& entry);

// A layer in one step.
struct LayerSample {
  uint64_t misses = 0;
  double seconds = 0;  // of the launch that copied
};

// A layer in steps that were timed; means.
struct LayerTiming {
  double bytes = 0;           // copied
  double seconds = 0;         // of the launch
  double stall_seconds = -1;  // of it, what misses add; -1: not known

  // At least, since the launch may have done other things; 0: nothing copied.
  double BytesPerSecond() const;
};

// `samples` of a layer, and others of which those without a miss say what the
// launch takes anyway.
LayerTiming TimingOf(const std::vector<LayerSample>& samples,
                     const std::vector<LayerSample>& others,
                     uint64_t row_bytes);

// Runs one step launch by launch; `samples`, [launches.size()] of them, is what
// each layer did. `paging` is the first rank's.
absl::Status TimeStep(ObservableRunner& executor, PagedExperts& paging,
                      uint32_t entry, const StepInputs& inputs,
                      const std::vector<uint32_t>& launches,
                      std::vector<LayerSample>& samples);

// Decode steps of `batch` sequences, each at `position`: [layers][steps]. Empty
// where CopyLaunches is.
absl::StatusOr<std::vector<std::vector<LayerSample>>> TimeDecodeSteps(
    ObservableRunner& executor, PagedExperts& paging, uint32_t entry,
    uint32_t position, uint32_t steps);

// The same where each step chooses the same experts, which are then all in
// slots as far as those are enough. The routing of `ranks` is gone afterwards.
absl::StatusOr<std::vector<std::vector<LayerSample>>> TimeRepeatedSteps(
    ObservableRunner& executor, const std::vector<PagedExperts*>& ranks,
    uint32_t entry, uint32_t position, uint32_t steps);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_EXPERT_TIMING_H_
