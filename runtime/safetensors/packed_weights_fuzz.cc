// The end of a packed file, whose hashes are made right, as anyone can make
// them, either says blocks that cover the data or gives a status.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "runtime/safetensors/packed_weights.h"

namespace {

constexpr size_t kFooter = 64;

void PutHash(std::span<const std::byte> of, std::byte* to) {
  glm::ByteHash hash;
  hash.Add(of);
  const uint64_t digest = hash.Digest();
  std::memcpy(to, &digest, sizeof(digest));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("fuzz", 0);
  if (size < kFooter) return 0;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  std::byte* footer = bytes.data() + size - kFooter;
  std::memcpy(footer, "GLMSUMS1", 8);
  uint64_t data_bytes;
  std::memcpy(&data_bytes, footer + 8, sizeof(data_bytes));
  if (data_bytes <= size - kFooter) {
    PutHash({bytes.data() + data_bytes, footer}, footer + 32);
  }
  PutHash({footer, kFooter - 8}, footer + kFooter - 8);
  if (file < 0 || ftruncate(file, 0) != 0 ||
      pwrite(file, bytes.data(), size, 0) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  const auto read = glm::ReadChecksums("/proc/self/fd/" + std::to_string(file));
  if (!read.ok()) return 0;
  if (!read->has_value() || (*read)->data_bytes > size) std::abort();
  uint64_t covered = 0;
  for (const glm::PackedBlock& block : (*read)->blocks) covered += block.size;
  if (covered != (*read)->data_bytes) std::abort();
  return 0;
}
