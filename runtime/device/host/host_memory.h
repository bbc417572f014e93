// Anonymous pages as device memory. Private to device/host.
#ifndef GLM_RUNTIME_DEVICE_HOST_HOST_MEMORY_H_
#define GLM_RUNTIME_DEVICE_HOST_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace glm {

class HostMemory : public Memory {
 public:
  // Zero pages, backed by memory when they are touched first.
  static absl::StatusOr<std::unique_ptr<Memory>> Allocate(
      uint64_t bytes, bool host_visible, std::string_view purpose);

  // Memory of somebody else.
  static std::unique_ptr<Memory> Wrap(std::span<const std::byte> bytes);

  ~HostMemory() override;

  std::byte* data() const { return reinterpret_cast<std::byte*>(address()); }

 private:
  HostMemory(std::byte* data, uint64_t size, std::byte* host_data, bool owned)
      : Memory(reinterpret_cast<uint64_t>(data), size, host_data),
        owned_(owned) {}

  bool owned_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_HOST_HOST_MEMORY_H_
