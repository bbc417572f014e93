// How memory is shared between a plan and the states of prompts that a server
// keeps: decided from numbers alone, before anything is allocated.
#ifndef GLM_TOOLS_GLMRUN_SERVE_MEMORY_H_
#define GLM_TOOLS_GLMRUN_SERVE_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace glm::tools {

// Of --cache-memory, where nobody gives it.
inline constexpr uint64_t kDefaultCacheBytes = uint64_t{1} << 30;

// All in bytes.
struct MemoryNeeds {
  std::string plan_path;
  // The device computes in the host's memory, so that --memory-limit is for
  // plan and cache together. Else it is the device's alone.
  bool unified = true;
  uint64_t limit = 0;      // --memory-limit; 0: not given
  uint64_t available = 0;  // what the host has left
  // Of the host's memory, without experts that are paged: those take what is
  // left by themselves.
  uint64_t plan = 0;
  bool pages = false;
  uint64_t state_per_slot = 0;
  std::optional<uint64_t> cache = {};  // --cache-memory
};

struct MemoryShares {
  uint64_t cache = 0;
  // For the plan alone, 0: what the device has.
  uint64_t plan_limit = 0;
  std::string note =
      {};  // not empty when the cache is smaller than its default
};

// Errors: kResourceExhausted, with the numbers and the remedy, when a cache
// that was asked for does not fit beside the plan. A plan that does not fit by
// itself is left to the executor, which has the table.
absl::StatusOr<MemoryShares> ShareMemory(const MemoryNeeds& needs);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_SERVE_MEMORY_H_
