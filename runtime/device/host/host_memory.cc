#include "runtime/device/host/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace glm {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<Memory>> HostMemory::Allocate(
    uint64_t bytes, bool host_visible, std::string_view purpose) {
  const std::string name(purpose);
  if (bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("allocation of 0 bytes for ", name));
  }
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot allocate ", bytes, " bytes for ", name, ": ",
        std::strerror(errno),
        errno == ENOMEM ? "; raise the limit of address space (`ulimit -v`)"
                        : ""));
  }
  // Fewer page faults and TLB misses; a refusal costs nothing else.
  if (bytes >= kHugePage) ::madvise(data, bytes, MADV_HUGEPAGE);
  auto* pages = static_cast<std::byte*>(data);
  return std::unique_ptr<Memory>(
      new HostMemory(pages, bytes, host_visible ? pages : nullptr, true));
}

std::unique_ptr<Memory> HostMemory::Wrap(std::span<const std::byte> bytes) {
  auto* data = const_cast<std::byte*>(bytes.data());
  return std::unique_ptr<Memory>(
      new HostMemory(data, bytes.size(), nullptr, false));
}

HostMemory::~HostMemory() {
  if (owned_) ::munmap(data(), size());
}

}  // namespace glm
