// Reads and writes of device memory by the host, a range at a time, for what is
// not part of a step. Private to runtime/executor.
#ifndef GLM_RUNTIME_EXECUTOR_MEMORY_IO_H_
#define GLM_RUNTIME_EXECUTOR_MEMORY_IO_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace glm {

// Where the host reaches the memory the bytes are copied at once; elsewhere
// through shared memory and the queue, whose work so far is waited for.
class MemoryIo {
 public:
  // Both outlive the result; nobody else uses the queue meanwhile.
  MemoryIo(Device& device, Queue& queue) : device_(device), queue_(queue) {}

  absl::Status Read(const Memory& from, uint64_t offset,
                    std::span<std::byte> to);
  absl::Status Read(const Memory& from, uint64_t offset, uint64_t bytes,
                    std::vector<std::byte>& to) {
    to.resize(bytes);
    return Read(from, offset, std::span<std::byte>(to));
  }
  absl::Status Write(const Memory& to, uint64_t offset,
                     std::span<const std::byte> bytes);

 private:
  // Shared memory of `bytes` bytes at least, kept when it is small.
  absl::StatusOr<Memory*> Between(uint64_t bytes);

  Device& device_;
  Queue& queue_;
  std::unique_ptr<Memory> between_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_MEMORY_IO_H_
