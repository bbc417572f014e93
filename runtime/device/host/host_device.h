// The host as a device: code objects are shared libraries, memory is anonymous
// pages, a launch calls the kernel's function from a pool of threads.
//
// Every plan with a host code object runs here; the queue is synchronous, so a
// call has done its work when it returns.
#ifndef GLM_RUNTIME_DEVICE_HOST_HOST_DEVICE_H_
#define GLM_RUNTIME_DEVICE_HOST_HOST_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace glm {

struct HostDeviceOptions {
  int threads = 0;  // 0: DefaultThreadCount()

  // Behaves as a device with memory of its own: kDevice memory has no
  // host_data() and weights cannot be mapped. For tests of what the executor
  // does on a GPU.
  bool discrete = false;

  // Not 0: runs the blocks of a phase one by one, in an order that follows from
  // this number. For tests that blocks of a phase need nothing of each other.
  uint64_t order_seed = 0;
};

absl::StatusOr<std::unique_ptr<Device>> CreateHostDevice(
    const HostDeviceOptions& options);

// The best level of x86-64 that this processor and system support: "x86-64-v2",
// "x86-64-v3" or "x86-64-v4".
std::string HostIsa();

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_HOST_HOST_DEVICE_H_
