// What tools look at beside steps: the launches of a step one by one, what they
// left, and the plan. `Executor` is one rank, `ParallelExecutor` several.
#ifndef GLM_RUNTIME_EXECUTOR_OBSERVABLE_RUNNER_H_
#define GLM_RUNTIME_EXECUTOR_OBSERVABLE_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "runtime/executor/describe.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/executor/step_runner.h"
#include "runtime/plan/plan_reader.h"

namespace glm {

class PagedExperts;

// Slower than steps, one launch at a time, the same values. Of several ranks,
// what is shown and read is rank 0's.
class ObservableRunner : public StepRunner {
 public:
  virtual const PlanFile& plan_file() const = 0;
  virtual const MemoryPlan& memory_plan() const = 0;

  // Of each rank; empty where experts are resident. Where steps are enqueued,
  // not until all are taken.
  virtual std::vector<PagedExperts*> paging() const = 0;

  // Called after a launch of the device is complete, with the operations
  // (Entry.launches) that it stood for. A non-OK status ends the step.
  using Observer = std::function<absl::Status(const OperationRange&)>;

  // As Step, and calls `observer` after every launch; buffers then hold what
  // the launch left (ReadBuffer). The logits are complete after the last.
  virtual absl::Status StepObserved(uint32_t entry, const StepInputs& inputs,
                                    const Observer& observer) = 0;

  // As Step; `seconds` becomes the time of each launch of the device,
  // [launches], in the order of OperationRanges().
  virtual absl::Status StepTimed(uint32_t entry, const StepInputs& inputs,
                                 std::vector<double>& seconds) = 0;

  // The bytes of Entry.buffers[buffer], of Plan.states[state] of one slot.
  // Indices must be in range.
  virtual absl::Status ReadBuffer(uint32_t entry, uint32_t buffer,
                                  std::vector<std::byte>& bytes) = 0;
  virtual absl::Status ReadState(uint32_t state, uint32_t slot,
                                 std::vector<std::byte>& bytes) = 0;

  // Fills the states of all slots with made-up values (synthetic_weights.h), a
  // piece of at most 4 MiB over and over: a step at any position then has
  // something to read. F32, BF16 and F16 only; other states stay as they are.
  virtual absl::Status FillStates(uint64_t seed) = 0;
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_OBSERVABLE_RUNNER_H_
