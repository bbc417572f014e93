// How many slots an executor takes for paged experts, and where their rows
// wait: decided from numbers alone, before anything is allocated.
//
// Three tiers: slots on the device; rows in memory of the host that kernels
// read (copies, or the mapped file itself where the host is the device); rows
// that only files have, which come through a staging ring.
#ifndef GLM_RUNTIME_EXECUTOR_EXPERT_BUDGET_H_
#define GLM_RUNTIME_EXECUTOR_EXPERT_BUDGET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/base/memory_limits.h"
#include "runtime/paging/expert_cache.h"

namespace glm {

struct ExpertRows;

// What a person asks for. Of no effect where experts are resident.
struct ExpertOptions {
  uint32_t slots = 0;       // 0: as many as fit after everything else
  uint64_t slot_bytes = 0;  // instead of `slots`: as many as fit this
  // Memory of the host for rows and staging; 0: what is available, less a
  // reserve.
  uint64_t host_bytes = 0;
  // What else this program will take of the host's memory: automatic sizes
  // leave that free.
  uint64_t host_taken = 0;
  // paging::Policies; "": quota-lfru, or lfru where a layer's share of the
  // slots is too small for what it asks for in a step of decoding.
  std::string policy = {};
  // Use rows in the mapped file where they lie as in a slot.
  bool map_rows = true;
  // Executors of this machine that take their memory beside each other, each
  // with the same options: automatic sizes are an equal share.
  uint32_t sharers = 1;
};

// What limits them.
struct ExpertSurroundings {
  uint64_t device_free = 0;   // bytes, after everything else, under the limit
  uint64_t device_spare = 0;  // that the device has beyond the limit
  // Device and host have one memory: slots and rows share it.
  bool unified = false;
  MemoryLimits host;
  uint32_t mapped_rows = 0;    // usable in the mapped files
  uint32_t distinct_rows = 0;  // of the others: rows that share memory are one
  std::string plan_path;       // begins each refusal
};

struct ExpertBudget {
  std::string policy = {};
  uint32_t rows = 0;
  uint64_t row_bytes = 0;
  uint32_t slots = 0;
  uint32_t least_slots = 0;  // that a layer of the largest step needs
  uint64_t pager_bytes = 0;  // on the device, beside the slots

  uint32_t mapped_rows = 0;
  uint32_t pinned_rows = 0;  // distinct ones, in memory of our own
  uint32_t file_rows = 0;    // the rest, distinct ones
  uint32_t shared_rows = 0;  // names for others: synthetic experts
  uint32_t ring = 0;         // rows of the staging ring; 0: all have a source

  bool unified = false;
  MemoryLimits limits;
  uint64_t host_budget = 0;  // for pinned rows and staging

  // Not empty when less was to be had than planned: what, and why.
  std::string note;

  uint64_t SlotBytes() const { return slots * row_bytes; }
  uint64_t PinnedBytes() const { return pinned_rows * row_bytes; }
  uint64_t StagingBytes() const;  // the doorbell's too
  uint64_t DeviceBytes() const { return SlotBytes() + pager_bytes; }
  uint64_t HostBytes() const { return PinnedBytes() + StagingBytes(); }

  // Lines of the memory plan.
  std::string ToString() const;
};

// Rows of a staging ring, a power of 2.
inline constexpr uint32_t kStagingRows = 8;

// Memory of the host that automatic sizing leaves alone, as far as the staging
// ring fits beside it: 2 GiB, or a tenth of what is available when that is
// more.
uint64_t HostReserve(uint64_t available);

// Errors: kResourceExhausted with the numbers and the remedy (slots that do not
// hold what one layer of the largest step asks for; no memory of the host for
// staging, or less than was asked for), kInvalidArgument (no such policy, or
// one that pins rows).
absl::StatusOr<ExpertBudget> PlanExperts(const ExpertRows& rows,
                                         const ExpertOptions& options,
                                         const ExpertSurroundings& around);

// The cache that the budget stands for.
absl::StatusOr<paging::ExpertCache> CacheOf(const ExpertRows& rows,
                                            const ExpertBudget& budget);

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_EXPERT_BUDGET_H_
