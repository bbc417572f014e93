// Where the time of a step goes, kernel by kernel.
#ifndef GLM_TOOLS_GLMRUN_PROFILE_H_
#define GLM_TOOLS_GLMRUN_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executor/observable_runner.h"

namespace glm::tools {

struct KernelProfile {
  std::string kernel;
  std::string op;
  uint32_t launches = 0;  // a step
  double seconds = 0;     // a step, all launches, median over the repeats
  uint64_t bytes = 0;     // a step, weights + memory as the plan counts them
  uint64_t flops = 0;
};

// Times `repeat` steps of entry `entry` for the sequence in slot 0, whose state
// holds `position` tokens; every step starts at that position. Sorted by time.
absl::StatusOr<std::vector<KernelProfile>> ProfileEntry(
    ObservableRunner& executor, uint32_t entry, uint32_t position,
    uint32_t repeat);

// A table for people. Rows faster than `bandwidth` (bytes a second, 0: not
// known) are marked: their data came from a cache, or the plan counts bytes
// that are not read.
std::string ProfileTable(const std::vector<KernelProfile>& kernels,
                         double bandwidth);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_PROFILE_H_
