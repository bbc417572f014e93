// `Batch` is what the engine's thread does: it holds the requests that have a
// slot, runs the steps that the scheduler chooses, and ends requests. Private
// to runtime/engine.
//
// Steps whose tokens the device chooses are enqueued, two of them where the
// device runs ahead: the second gets its ids from the first on the device, or
// belongs to other sequences. A step of which one request needs the logits runs
// alone, and all its tokens are chosen on the host; they are the same.
//
// A request that has ended leaves its slot when all steps are taken in which it
// has a row.
#ifndef GLM_RUNTIME_ENGINE_BATCH_H_
#define GLM_RUNTIME_ENGINE_BATCH_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/engine/active_request.h"
#include "runtime/engine/batch_options.h"
#include "runtime/engine/host_choice.h"
#include "runtime/engine/scheduler.h"
#include "runtime/engine/slot_table.h"
#include "runtime/engine/step_clock.h"
#include "runtime/executor/step_runner.h"

namespace glm {

// Not thread-safe, but for clock().
class Batch {
 public:
  struct Counters {
    uint64_t prompt_tokens = 0;
    uint64_t cached_tokens = 0;
    uint64_t generated_tokens = 0;
    uint64_t decode_steps = 0;
    uint64_t prefill_steps = 0;
  };

  // Called for each request once, with its whole result.
  using OnEnd = std::function<void(ActiveRequest& request)>;

  // `runner` outlives this.
  // Errors: those of Scheduler::Create.
  static absl::StatusOr<std::unique_ptr<Batch>> Create(
      StepRunner& runner, const BatchEngineOptions& options, OnEnd on_end);

  // Slots that a request could have now.
  uint32_t free_slots() const { return slots_.free(); }
  // Nobody has a slot, and no step is enqueued.
  bool idle() const { return slots_.free() == by_slot_.size(); }
  // Not OK: the device is lost, all requests have ended.
  const absl::Status& failure() const { return failure_; }
  const Counters& counters() const { return counters_; }
  const PrefixCache& cache() const { return slots_.cache(); }
  const StepClock& clock() const { return clock_; }

  // Takes what is enqueued, which may leave slots free and may end requests.
  void Settle();

  // Gives a request a slot, while one is free and the batch is settled.
  void Admit(std::unique_ptr<ActiveRequest> request);

  // Ends the request with kCancelled, if it is here and has not ended.
  void Cancel(uint64_t id);

  // Enqueues what can be, and takes a step.
  void Advance();

  // The counters of paged experts, after Settle: the device is lost, and
  // failure() tells, when they cannot be read.
  absl::StatusOr<ExpertTraffic> ReadTraffic();

 private:
  struct Step {
    StepChoice choice;
    std::vector<ActiveRequest*> rows;  // null: a row without a sequence
    bool tokens = false;               // each row gets one
    uint64_t failures = 0;             // that there were before it
  };

  Batch(StepRunner& runner, const BatchEngineOptions& options,
        Scheduler scheduler, OnEnd on_end);

  // False: steps that are enqueued must be taken before.
  bool Start(const StepChoice& choice);
  // Keeps the states that are due in the rows of `step`.
  // Errors: those of SaveState, which ended the request.
  absl::Status KeepStates(const Step& step);
  // Whether the ids of `step` are those that the step before will give.
  bool Follows(const Step& step) const;
  bool IsLast(const ActiveRequest& request) const;
  void RunOnHost(Step step);
  absl::Status Run(Step& step, bool enqueue, bool follows);
  void TakeOldest();

  void GiveToken(ActiveRequest& request, GeneratedToken token);
  void End(ActiveRequest& request, FinishReason reason);
  void Fail(ActiveRequest& request, const absl::Status& status);
  // A step, or a call of the runner for one request, has failed. `again`: since
  // the failure before, so that it counts for itself.
  void FailStep(std::span<ActiveRequest* const> rows,
                const absl::Status& status, bool again = true);
  // The device is lost: nobody gets anything more.
  void Lose(const absl::Status& status);
  void Release();

  StepRunner& runner_;
  const BatchEngineOptions options_;
  const size_t depth_;    // steps enqueued at most
  const bool on_device_;  // some entry samples
  const OnEnd on_end_;
  Scheduler scheduler_;
  SlotTable slots_;
  HostChoice host_choice_;
  StepClock clock_;
  std::vector<std::unique_ptr<ActiveRequest>> by_slot_;  // null: free
  std::deque<Step> enqueued_;
  Counters counters_;
  absl::Status failure_;
  uint64_t failures_ = 0;
  uint32_t unavailable_ = 0;  // steps that failed so, one after the other
  std::vector<int32_t> ids_, rows_;  // scratch, inputs of a step
  std::vector<SequenceStep> seqs_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_BATCH_H_
