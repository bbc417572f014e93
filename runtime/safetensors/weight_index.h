// `model.safetensors.index.json`: the map from tensor name to shard file.
#ifndef GLM_RUNTIME_SAFETENSORS_WEIGHT_INDEX_H_
#define GLM_RUNTIME_SAFETENSORS_WEIGHT_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace glm {

inline constexpr uint64_t kMaxIndexBytes = 256u << 20;
inline constexpr size_t kMaxIndexFiles = 10'000;

struct WeightIndex {
  std::vector<std::string> files;  // plain names, in order of first mention
  // Tensor name -> index into `files`, in the order of the file.
  std::vector<std::pair<std::string, uint32_t>> tensors;
};

// Parses the content of an index; only `weight_map` is read. `name` begins
// every error message. Errors: kInvalidArgument for anything that is not a map
// from distinct tensor names to plain file names (no folder, no `..`), and for
// more than the limits above.
absl::StatusOr<WeightIndex> ParseWeightIndex(std::span<const std::byte> bytes,
                                             const std::string& name);

}  // namespace glm

#endif  // GLM_RUNTIME_SAFETENSORS_WEIGHT_INDEX_H_
