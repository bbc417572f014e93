// `MemoryPlan` is the exact account of what an executor will take, computed
// from the plan alone and shown before anything is allocated.
#ifndef GLM_RUNTIME_EXECUTOR_MEMORY_PLAN_H_
#define GLM_RUNTIME_EXECUTOR_MEMORY_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "runtime/executor/expert_budget.h"
#include "runtime/executor/synthetic_weights.h"
#include "runtime/plan/plan_reader.h"

namespace glm {

// Counters of groups, a word a phase, at the end of the activations. Zero
// between launches.
inline constexpr uint64_t kCounterBytes = 256;

// All in bytes.
struct MemoryPlan {
  uint64_t weights_mapped = 0;  // used in place, pages shared with the file
  uint64_t weights_copied = 0;  // copied to memory of our own
  uint64_t tables = 0;          // addresses of expert pieces
  uint64_t arena = 0;           // activations: the largest entry; counters
  bool groups = false;          // the plan has groups, so counters
  uint64_t states = 0;          // all slots
  uint64_t sampling = 0;        // counts, candidates, inputs of steps ahead
  uint64_t staging = 0;         // host side of inputs and logits
  uint32_t slots = 0;
  uint64_t state_per_slot = 0;
  uint64_t state_per_token = 0;  // share of state_per_slot that grows by token
  std::optional<ExpertBudget> experts;  // of a plan that pages them

  // Bytes that must be backed by memory; mapped weights can be read again from
  // their files. Of a device with memory of its own, without rows of experts in
  // the host's.
  uint64_t Committed() const {
    uint64_t bytes =
        weights_copied + tables + arena + states + sampling + staging;
    if (experts) {
      bytes += experts->DeviceBytes();
      if (experts->unified) bytes += experts->HostBytes();
    }
    return bytes;
  }

  // A table for people, one category a line.
  std::string ToString() const;
};

// How an executor will place things; what PlanMemory needs to know of it.
struct PlacementOptions {
  uint32_t slots = 1;
  bool map_weights = true;  // Device::SupportsMappedWeights
  bool staging = false;     // device memory is out of the host's reach
  std::optional<SyntheticWeights> synthetic = {};  // instead of weight files
  uint32_t rank = 0;                               // of Plan.ranks
};

// All but `experts`, which PlanExperts decides by what this leaves.
MemoryPlan PlanMemory(const plan::Plan& plan, const PlacementOptions& options);

// OK when the committed bytes fit `limit`; else kResourceExhausted with the
// table, the two numbers and the remedies.
absl::Status CheckMemoryLimit(const MemoryPlan& memory, uint64_t limit,
                              const std::string& plan_path);

// "146.2 MiB", "1.05 GiB".
std::string FormatBytes(uint64_t bytes);

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_MEMORY_PLAN_H_
