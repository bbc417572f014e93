#include "runtime/device/conformance/backend.h"

#include "runtime/device/gpu/fake_driver.h"
#include "runtime/device/gpu/gpu_device.h"
#include "runtime/device/host/host_device.h"

namespace glm {

const std::vector<Backend>& Backends() {
  static const auto* backends = new std::vector<Backend>{
      {"host",
       "host",
       "x86-64",
       GLM_TOY_KERNELS,
       [] { return CreateHostDevice({.threads = 3}); },
       {}},
      {"host_discrete",
       "host",
       "x86-64",
       GLM_TOY_KERNELS,
       [] { return CreateHostDevice({.threads = 2, .discrete = true}); },
       {{"MappedMemoryIsSeenByKernels",
         "memory of its own; weights are always copied"}}},
      {"gpu_fake",
       "sm_90",
       "",
       GLM_TOY_KERNELS_PTX,
       [] {
         static auto* gpu = new FakeGpu;
         return CreateGpuDeviceOver(gpu->driver(), 0);
       },
       {{"MappedMemoryIsSeenByKernels",
         "memory of its own; weights are always copied"}},
       true},
  };
  return *backends;
}

}  // namespace glm
