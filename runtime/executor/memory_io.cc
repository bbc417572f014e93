#include "runtime/executor/memory_io.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/status_macros.h"

namespace glm {
namespace {

// Longer ranges go in parts of this.
constexpr uint64_t kPart = uint64_t{16} << 20;

}  // namespace

absl::StatusOr<Memory*> MemoryIo::Between(uint64_t bytes) {
  if (between_ == nullptr || between_->size() < bytes) {
    GLM_ASSIGN_OR_RETURN(between_, device_.Allocate(bytes, MemoryKind::kShared,
                                                    "reading and writing"));
  }
  return between_.get();
}

absl::Status MemoryIo::Read(const Memory& from, uint64_t offset,
                            std::span<std::byte> to) {
  if (from.host_data() != nullptr) {
    std::memcpy(to.data(), from.host_data() + offset, to.size());
    return absl::OkStatus();
  }
  while (!to.empty()) {
    const uint64_t part = std::min<uint64_t>(to.size(), kPart);
    GLM_ASSIGN_OR_RETURN(Memory * shared, Between(part));
    GLM_RETURN_IF_ERROR(queue_.Copy(*shared, 0, from, offset, part));
    GLM_RETURN_IF_ERROR(queue_.Finish());
    std::memcpy(to.data(), shared->host_data(), part);
    offset += part;
    to = to.subspan(part);
  }
  return absl::OkStatus();
}

absl::Status MemoryIo::Write(const Memory& to, uint64_t offset,
                             std::span<const std::byte> bytes) {
  if (to.host_data() != nullptr) {
    std::memcpy(to.host_data() + offset, bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  while (!bytes.empty()) {
    const uint64_t part = std::min<uint64_t>(bytes.size(), kPart);
    GLM_ASSIGN_OR_RETURN(Memory * shared, Between(part));
    std::memcpy(shared->host_data(), bytes.data(), part);
    GLM_RETURN_IF_ERROR(queue_.Copy(to, offset, *shared, 0, part));
    GLM_RETURN_IF_ERROR(queue_.Finish());
    offset += part;
    bytes = bytes.subspan(part);
  }
  return absl::OkStatus();
}

}  // namespace glm
