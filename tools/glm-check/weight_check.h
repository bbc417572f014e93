// Reads the weight files of a plan and compares them with their checksums.
#ifndef GLM_TOOLS_GLM_CHECK_WEIGHT_CHECK_H_
#define GLM_TOOLS_GLM_CHECK_WEIGHT_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/plan_reader.h"

namespace glm::check {

// Bytes of a weight file that are not what was packed.
struct DamagedBlock {
  uint64_t offset = 0;
  uint64_t size = 0;
  // What the plan has there: "layers.3.mlp.experts, expert 7, rank 1",
  // "lm_head".
  std::string holds;
};

struct WeightFileVerdict {
  std::string path;
  uint64_t bytes = 0;
  bool packed = false;  // has checksums, so every byte was compared
  uint64_t blocks = 0;  // with a checksum
  // By rising offset.
  std::vector<DamagedBlock> damaged;
  // Size and fingerprint are those of the plan.
  bool is_the_plans = true;
  // Of a file that is not: whose it is, where that shows (PackedForOthers).
  std::string others;

  bool pass() const { return damaged.empty() && is_the_plans; }
};

// Every weight file of the plan, in its order; `weights_dirs` as glmrun's
// --weights. Of files without checksums (a checkpoint's) only size and
// fingerprint are compared. `on_read` follows the bytes that are read, of all.
// Reads one block at a time: 8 MiB of memory.
//
// Errors: a file that cannot be read, or whose checksums are damaged.
absl::StatusOr<std::vector<WeightFileVerdict>> CheckWeights(
    const PlanFile& plan, const std::vector<std::string>& weights_dirs,
    const std::function<void(uint64_t done, uint64_t total)>& on_read = {});

}  // namespace glm::check

#endif  // GLM_TOOLS_GLM_CHECK_WEIGHT_CHECK_H_
