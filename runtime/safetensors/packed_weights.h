// The end of a packed weight file: the checksums of what lies before it.
//
// A packed file (docs/spec/packing.md) is its data, cut into blocks that lie
// back to back from byte 0 to `data_bytes`, then one entry for each block, then
// a footer of 64 bytes, all integers little endian:
//
//   entry   u64 size, u64 xxh3 of the block
//   footer  8 bytes "GLMSUMS1", u64 data_bytes, u64 blocks, u64 identity,
//           u64 xxh3 of all entries, u64 ranks, 8 bytes of zero, u64 xxh3 of
//           the 56 bytes before
//
// A block is a row of one expert, or a weight, or a part of one: what lies
// where, says the plan. `ranks` says whose rows those of experts are: 1, each
// is a whole expert; N, the part that one of N ranks has of one; 0, there are
// none, or the file is of before ranks were noted. What stands where zeros are
// is of a later version: the file is refused.
// `identity` tells what the file was made from. XXH3 is
// the 64-bit one with seed 0; it finds damage and is no defence against malice.
#ifndef GLM_RUNTIME_SAFETENSORS_PACKED_WEIGHTS_H_
#define GLM_RUNTIME_SAFETENSORS_PACKED_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace glm {

struct PackedBlock {
  uint64_t size = 0;  // bytes
  uint64_t xxh3 = 0;
};

struct PackedChecksums {
  uint64_t data_bytes = 0;
  uint64_t identity = 0;
  uint64_t ranks = 0;
  std::vector<PackedBlock> blocks;  // in order, together `data_bytes`
};

// XXH3-64 of bytes that come in parts.
class ByteHash {
 public:
  ByteHash();
  ~ByteHash();
  ByteHash(const ByteHash&) = delete;
  ByteHash& operator=(const ByteHash&) = delete;

  void Add(std::span<const std::byte> bytes);
  void AddNumber(uint64_t number);  // 8 bytes, little endian
  uint64_t Digest() const;
  void Reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Entries and footer: what follows the data.
std::vector<std::byte> SerializeChecksums(const PackedChecksums& checksums);

// The checksums of a file; nullopt when it has none: it is no packed file, or
// one of an earlier version. Errors: kDataLoss when the footer or
// an entry is damaged or contradicts the file's size; kFailedPrecondition when
// it is of a later version; kNotFound, kPermissionDenied, kInternal. Every
// message begins with the path.
absl::StatusOr<std::optional<PackedChecksums>> ReadChecksums(
    const std::string& path);

// "its experts are packed for 4 ranks, the plan is for 2", where the end of a
// packed file says so; empty for all other files. Does not read the data.
std::string PackedForOthers(const std::string& path, uint64_t ranks);

}  // namespace glm

#endif  // GLM_RUNTIME_SAFETENSORS_PACKED_WEIGHTS_H_
