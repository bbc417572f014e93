// A fingerprint of a weight file that is cheap enough to take at every start.
//
// Definition: XXH3-64 (seed 0) over the concatenation of
//   1. the file's size in bytes as u64, little endian;
//   2. size <= 256 MiB: the whole file. Otherwise the first 16 MiB, then 1,024
//      samples of 4,096 bytes: sample i (0..1022) starts at
//      i * ((size - 4096) / 1023), sample 1023 at size - 4096.
// It tells a replaced, cut or re-quantised file; it does not find one flipped
// bit in the middle of a large file and is no defence against malice.
#ifndef GLM_RUNTIME_SAFETENSORS_WEIGHT_FINGERPRINT_H_
#define GLM_RUNTIME_SAFETENSORS_WEIGHT_FINGERPRINT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace glm {

// Bytes that the fingerprint of a file of `size` bytes reads.
uint64_t FingerprintedBytes(uint64_t size);

// Reads with pread; at most 256 MiB. `on_read` gets the bytes of each read, at
// most 1 MiB. Errors: kNotFound, kPermissionDenied,
// kInvalidArgument (not a regular file), kDataLoss (shorter than it said),
// kInternal; every message begins with the path.
absl::StatusOr<uint64_t> FingerprintFile(
    const std::string& path,
    const std::function<void(uint64_t bytes)>& on_read = {});

}  // namespace glm

#endif  // GLM_RUNTIME_SAFETENSORS_WEIGHT_FINGERPRINT_H_
