// How much memory of the host this process may still take, by all who limit it:
// the machine, its control groups, and what it may lock.
#ifndef GLM_RUNTIME_BASE_MEMORY_LIMITS_H_
#define GLM_RUNTIME_BASE_MEMORY_LIMITS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace glm {

inline constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// In bytes; kNoLimit where nothing limits or nothing is known.
struct MemoryLimits {
  uint64_t machine = kNoLimit;  // MemAvailable
  // What the tightest control group leaves: its limit less what it uses, pages
  // of files that were not used lately given back.
  uint64_t group = kNoLimit;
  uint64_t group_limit = kNoLimit;  // that group's limit
  // RLIMIT_MEMLOCK. Holds for memory that a program registers itself; what a
  // driver allocates is counted by some drivers alone.
  uint64_t lock = kNoLimit;
  // What drivers of AMD may take of the host's memory, all programs together
  // (ttm.pages_limit, by default half of it), where there is such a driver. It
  // gives more, and the device is lost when it uses that.
  uint64_t amd = kNoLimit;

  uint64_t Available() const { return std::min(machine, group); }
};

// `root` comes before the paths that are read, for tests: "" is the machine.
// Reads /proc/meminfo, /proc/self/cgroup, /sys/fs/cgroup of version 2 or 1, and
// /sys/module/ttm where there is a /dev/kfd.
MemoryLimits ReadMemoryLimits(const std::string& root = "");

}  // namespace glm

#endif  // GLM_RUNTIME_BASE_MEMORY_LIMITS_H_
