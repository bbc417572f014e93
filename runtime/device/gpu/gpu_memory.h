// Memory of a GPU, and pinned memory of the host. Private to device/gpu.
#ifndef GLM_RUNTIME_DEVICE_GPU_GPU_MEMORY_H_
#define GLM_RUNTIME_DEVICE_GPU_GPU_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"
#include "runtime/device/gpu/open_gpu.h"

namespace glm {

// Bytes of the device that allocations leave free. Drivers take memory for
// themselves at any launch, and some write through a null pointer when they get
// none.
inline constexpr uint64_t kGpuReserve = uint64_t{512} << 20;

class GpuMemory : public Memory {
 public:
  // As Device::Allocate.
  static absl::StatusOr<std::unique_ptr<Memory>> Allocate(
      OpenGpu& gpu, uint64_t bytes, MemoryKind kind, std::string_view purpose);
  ~GpuMemory() override;

 private:
  GpuMemory(OpenGpu& gpu, uint64_t address, uint64_t size, std::byte* host_data,
            uint64_t base, void* host_base)
      : Memory(address, size, host_data),
        gpu_(gpu),
        base_(base),
        host_base_(host_base) {}

  OpenGpu& gpu_;
  uint64_t base_;    // what the driver gave; address() is aligned
  void* host_base_;  // likewise, for memory of the host
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_GPU_MEMORY_H_
