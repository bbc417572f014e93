// `ParallelExecutor` runs a plan of several ranks: an Executor for each, on a
// device and a thread of its own, that meet in the plan's collectives. To its
// user it is one runner.
//
//   auto group = CreateHostGroup(2);
//   GLM_ASSIGN_OR_RETURN(auto runner, ParallelExecutor::Create(
//       plan, {first.get(), second.get()}, *group, options));
//
// A rank that fails ends the step of all; the error names it. Steps may go on
// afterwards where the group can (CollectiveGroup::Restart). Before weights are
// loaded the ranks meet once, to tell devices that cannot from all other
// faults.
#ifndef GLM_RUNTIME_EXECUTOR_PARALLEL_EXECUTOR_H_
#define GLM_RUNTIME_EXECUTOR_PARALLEL_EXECUTOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/collective.h"
#include "runtime/device/device.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/observable_runner.h"

namespace glm {

class RankThreads;

// Not thread-safe.
class ParallelExecutor : public ObservableRunner {
 public:
  // A device for each rank of the plan and of `group`, which outlive the
  // result. `options` are those of every rank: memory_limit is a rank's, and
  // callbacks are called for rank 0 alone, from its thread; weight files are
  // fingerprinted once. `options.collective` is not looked at.
  //
  // Errors: those of Executor::Create, naming the rank; kResourceExhausted where
  // the system gives a rank no thread.
  static absl::StatusOr<std::unique_ptr<ParallelExecutor>> Create(
      std::shared_ptr<const PlanFile> plan, const std::vector<Device*>& devices,
      CollectiveGroup& group, const ExecutorOptions& options);
  ~ParallelExecutor() override;

  const ModelInfo& model() const override;
  const std::vector<EntryInfo>& entries() const override;
  uint32_t slots() const override;
  absl::Status Step(uint32_t entry, const StepInputs& inputs) override;
  std::span<const float> logits(uint32_t row) const override;
  bool Samples(uint32_t entry) const override;
  bool RunsAhead() const override;
  absl::Status BeginSampling(uint32_t slot, const SamplerOptions& options,
                             std::span<const int32_t> tokens) override;
  absl::Status Enqueue(uint32_t entry, const StepInputs& inputs) override;
  // Errors also: kInternal when ranks chose different tokens.
  absl::StatusOr<std::span<const int32_t>> Take() override;
  absl::StatusOr<uint64_t> StateBytes(uint32_t tokens) const override;
  absl::Status SaveState(uint32_t slot, uint32_t tokens,
                         std::span<std::byte> to) override;
  absl::Status RestoreState(uint32_t slot, uint32_t tokens,
                            std::span<const std::byte> from) override;

  const PlanFile& plan_file() const override;
  const MemoryPlan& memory_plan() const override;
  std::vector<PagedExperts*> paging() const override;
  absl::Status StepObserved(uint32_t entry, const StepInputs& inputs,
                            const Observer& observer) override;
  absl::Status StepTimed(uint32_t entry, const StepInputs& inputs,
                         std::vector<double>& seconds) override;
  absl::Status ReadBuffer(uint32_t entry, uint32_t buffer,
                          std::vector<std::byte>& bytes) override;
  absl::Status ReadState(uint32_t state, uint32_t slot,
                         std::vector<std::byte>& bytes) override;
  absl::Status FillStates(uint64_t seed) override;

  Executor& rank(uint32_t rank) { return *executors_[rank]; }

 private:
  ParallelExecutor();

  std::unique_ptr<RankThreads> threads_;
  std::chrono::milliseconds limit_{};  // of each step; 0: none
  std::vector<std::unique_ptr<Executor>> executors_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_PARALLEL_EXECUTOR_H_
