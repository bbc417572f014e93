// A GPU as a device, through the driver that is installed: CUDA's for plans
// with code for sm_90, HIP's for gfx1201. Memory is the GPU's own; weights are
// copied to it.
#ifndef GLM_RUNTIME_DEVICE_GPU_GPU_DEVICE_H_
#define GLM_RUNTIME_DEVICE_GPU_GPU_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace glm {

struct GpuDriver;

enum class GpuApi { kAuto, kCuda, kHip };

struct GpuDeviceOptions {
  GpuApi api = GpuApi::kAuto;  // kAuto: CUDA, or else HIP
  int ordinal = 0;             // which device of the driver
};

// Errors: kUnavailable, with what was tried and what is to be installed, when
// there is no driver or no device.
absl::StatusOr<std::unique_ptr<Device>> CreateGpuDevice(
    const GpuDeviceOptions& options);

// The same over a table that must outlive the device; for tests.
absl::StatusOr<std::unique_ptr<Device>> CreateGpuDeviceOver(
    const GpuDriver& driver, int ordinal);

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_GPU_DEVICE_H_
