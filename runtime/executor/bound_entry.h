// An Entry with everything resolved: what the executor enqueues at each step.
// Private to runtime/executor.
#ifndef GLM_RUNTIME_EXECUTOR_BOUND_ENTRY_H_
#define GLM_RUNTIME_EXECUTOR_BOUND_ENTRY_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/collective.h"
#include "runtime/device/device.h"
#include "runtime/executor/describe.h"
#include "runtime/executor/step_runner.h"
#include "runtime/plan/plan_generated.h"

namespace glm {

// Addresses that arguments are made of.
struct Bindings {
  const Memory* arena = nullptr;
  const Memory* staging = nullptr;   // null: the host reaches the arena
  std::vector<uint64_t> states;      // slot 0 of each
  uint64_t counters = 0;             // zeroed words for groups, a phase each
  uint64_t pager = 0;                // docs/spec/paging.md
  Collective* collective = nullptr;  // null: the plan has one rank
  std::function<uint64_t(uint32_t)> weight;
  std::function<absl::StatusOr<const Kernel*>(const plan::Kernel&)> kernel;
};

// A range of the arena and, with staging, its twin there.
struct BoundaryRange {
  uint64_t arena_offset = 0;
  uint64_t staging_offset = 0;
  uint64_t bytes = 0;
};

class BoundEntry {
 public:
  static absl::StatusOr<BoundEntry> Create(const plan::Plan& plan,
                                           const plan::Entry& entry,
                                           const Bindings& bindings);

  const plan::Entry& entry() const { return *entry_; }
  // Launches of the device: a group is one. `operations` is what it stands for.
  uint32_t launches() const { return static_cast<uint32_t>(calls_.size()); }
  const OperationRange& operations(uint32_t launch) const {
    return operations_[launch];
  }

  // Writes checked inputs where the next step reads them.
  void WriteInputs(const StepInputs& inputs) const;

  // The logits on the host, [R, vocab].
  const float* logits() const;

  absl::Status EnqueueInputs(Queue& queue) const;
  absl::Status EnqueueLaunch(Queue& queue, uint32_t launch) const;
  absl::Status EnqueueResults(Queue& queue) const;
  absl::Status EnqueueAll(Queue& queue) const;

  std::unique_ptr<Graph> graph;

 private:
  std::byte* HostSide(const BoundaryRange& range) const;
  std::span<const LaunchPhase> AddPhases(const OperationRange& range);
  CollectiveCall CollectiveOf(const plan::Kernel& kernel,
                              const plan::Launch& launch) const;

  const plan::Entry* entry_ = nullptr;
  const Memory* arena_ = nullptr;
  const Memory* staging_ = nullptr;
  std::array<BoundaryRange, 3> inputs_;  // ids, seqs, rows
  BoundaryRange logits_;
  std::vector<LaunchCall> calls_;  // spans point into args_ and phases_
  Collective* collective_ = nullptr;
  std::map<uint32_t, CollectiveCall> collectives_;  // instead of calls_[key]
  std::vector<OperationRange> operations_;
  std::vector<uint64_t> args_;
  std::vector<LaunchPhase> phases_;
};

// docs/spec/step.md as checks. Errors: kInvalidArgument.
absl::Status CheckStepInputs(const EntryInfo& entry, const ModelInfo& model,
                             uint32_t slots, const StepInputs& inputs);

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_BOUND_ENTRY_H_
