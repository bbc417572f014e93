// What every queue asks of a copy. Private to runtime/device.
#ifndef GLM_RUNTIME_DEVICE_CHECK_COPY_H_
#define GLM_RUNTIME_DEVICE_CHECK_COPY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/device/device.h"

namespace glm {

// OK when both ranges lie inside their memories and do not overlap; else
// kInvalidArgument.
inline absl::Status CheckCopy(const Memory& to, uint64_t to_offset,
                              const Memory& from, uint64_t from_offset,
                              uint64_t bytes) {
  const auto in_range = [&](const Memory& memory, uint64_t offset) {
    return offset <= memory.size() && bytes <= memory.size() - offset;
  };
  if (!in_range(to, to_offset) || !in_range(from, from_offset)) {
    return absl::InvalidArgumentError(
        absl::StrCat("copy of ", bytes, " bytes from ", from_offset, " of ",
                     from.size(), " to ", to_offset, " of ", to.size()));
  }
  const uint64_t target = to.address() + to_offset;
  const uint64_t source = from.address() + from_offset;
  if (target < source + bytes && source < target + bytes) {
    return absl::InvalidArgumentError("copy between ranges that overlap");
  }
  return absl::OkStatus();
}

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_CHECK_COPY_H_
