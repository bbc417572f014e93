// `Executor` runs the steps of one plan on one device.
//
// Its stages: Load (PlanFile::Open), Bind (`Create`: memory plan, weights,
// arena, states, kernels, resolved arguments), Capture (`Create`: one graph an
// entry) and Run (`Step`: writes the inputs, replays; never allocates).
//
//   GLM_ASSIGN_OR_RETURN(auto plan, PlanFile::Open(path));
//   GLM_ASSIGN_OR_RETURN(auto device, CreateHostDevice({}));
//   GLM_ASSIGN_OR_RETURN(auto executor, Executor::Create(plan, *device, {}));
//   GLM_RETURN_IF_ERROR(executor->Step(entry, inputs));
//   std::span<const float> logits = executor->logits(0);
//
// Experts of a plan that pages them lie in slots (paged_experts.h); a row that
// cannot be read from its file ends the step with kDataLoss.
//
// It keeps no positions: see runtime/sequence/. Where the plan has the kernels,
// Enqueue and Take run steps that choose their tokens on the device.
#ifndef GLM_RUNTIME_EXECUTOR_EXECUTOR_H_
#define GLM_RUNTIME_EXECUTOR_EXECUTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/collective.h"
#include "runtime/device/device.h"
#include "runtime/executor/expert_budget.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/executor/observable_runner.h"
#include "runtime/executor/paged_experts.h"
#include "runtime/executor/step_runner.h"
#include "runtime/executor/weight_store.h"
#include "runtime/plan/plan_reader.h"

namespace glm {

struct ExecutorOptions {
  uint32_t slots = 1;  // sequences that keep state at the same time

  // Folders to look for weight files in, before the places that the plan
  // says; relative ones are from the plan's own folder.
  std::vector<std::string> weights_dirs;

  // Refuse to start when more bytes than this would be committed; 0: what the
  // device has available.
  uint64_t memory_limit = 0;

  // Slots and memory of the host for experts that are paged.
  ExpertOptions experts;

  // Weights from a generator instead of files; also runs plans that were
  // compiled without weights.
  std::optional<SyntheticWeights> synthetic;

  // Take the fingerprint of each weight file and compare it with the plan's.
  bool check_weights = true;

  // While fingerprints are taken: bytes done, bytes to do of all files.
  std::function<void(uint64_t done, uint64_t total)> on_weights_read;

  // While weights are copied to the device, or made: bytes done, bytes to do.
  std::function<void(uint64_t done, uint64_t total)> on_weights_loaded;

  // While rows of paged experts are copied to memory of the host: as above.
  std::function<void(uint64_t done, uint64_t total)> on_experts_loaded;

  // Looked at between weight files and between the pieces of weights: loading
  // ends with kCancelled.
  const std::atomic<bool>* cancel = nullptr;

  // Replay captured graphs; false enqueues the same list at each step.
  bool graphs = true;

  // The rank that this executor is, where the plan has several; must outlive
  // it. Null: the plan has one.
  Collective* collective = nullptr;

  // Gets the memory plan before anything is allocated.
  std::function<void(const MemoryPlan&)> on_memory_plan;
};

// Not thread-safe.
class Executor : public ObservableRunner {
 public:
  // `device` must outlive the result.
  //
  // Errors: kFailedPrecondition (weights missing or changed), kUnavailable (no
  // code object for the device or its instruction set), kResourceExhausted
  // (memory, with the numbers), kDataLoss, kCancelled.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(
      std::shared_ptr<const PlanFile> plan, Device& device,
      const ExecutorOptions& options);

  // Whether Create will find code for `device`, or may make it from the plan's
  // source. Errors: its kUnavailable.
  static absl::Status CheckDevice(const PlanFile& plan, const Device& device);

  ~Executor() override;

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
  absl::StatusOr<std::span<const int32_t>> Take() override;
  absl::StatusOr<uint64_t> StateBytes(uint32_t tokens) const override;
  absl::Status SaveState(uint32_t slot, uint32_t tokens,
                         std::span<std::byte> to) override;
  absl::Status RestoreState(uint32_t slot, uint32_t tokens,
                            std::span<const std::byte> from) override;

  const PlanFile& plan_file() const override;
  const MemoryPlan& memory_plan() const override;
  absl::Status StepObserved(uint32_t entry, const StepInputs& inputs,
                            const Observer& observer) override;
  absl::Status StepTimed(uint32_t entry, const StepInputs& inputs,
                         std::vector<double>& seconds) override;
  absl::Status ReadBuffer(uint32_t entry, uint32_t buffer,
                          std::vector<std::byte>& bytes) override;
  absl::Status ReadState(uint32_t state, uint32_t slot,
                         std::vector<std::byte>& bytes) override;
  absl::Status FillStates(uint64_t seed) override;

  const WeightStore& weights() const;

  std::vector<PagedExperts*> paging() const override;

  // Overwrites the bytes of a buffer or state; `bytes` is as long as what Read
  // gives. Lets a check feed one launch with values of its own.
  absl::Status WriteBuffer(uint32_t entry, uint32_t buffer,
                           std::span<const std::byte> bytes);
  absl::Status WriteState(uint32_t state, uint32_t slot,
                          std::span<const std::byte> bytes);

 private:
  class Impl;
  explicit Executor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_EXECUTOR_H_
