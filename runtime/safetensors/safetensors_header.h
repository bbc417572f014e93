// The JSON header of a safetensors file, read in one pass without a tree.
#ifndef GLM_RUNTIME_SAFETENSORS_SAFETENSORS_HEADER_H_
#define GLM_RUNTIME_SAFETENSORS_SAFETENSORS_HEADER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/safetensors/safetensors_file.h"

namespace glm {

// Reads the tensors of `header`. `offset` of each is relative to the start of
// the data, and begin <= end holds; whether the bytes exist and fit the shape
// is the caller's check. Errors: kInvalidArgument, `path` first in the message.
absl::StatusOr<std::vector<TensorEntry>> ParseSafetensorsHeader(
    std::string_view header, const std::string& path);

// A name from a file, safe to print: escaped, and cut when it is long.
std::string PrintableName(std::string_view name);

}  // namespace glm

#endif  // GLM_RUNTIME_SAFETENSORS_SAFETENSORS_HEADER_H_
