// The GPUs of this machine, for gpu_device_test.
#include <cstdlib>

#include "runtime/device/conformance/backend.h"
#include "runtime/device/gpu/gpu_device.h"

namespace glm {
namespace {

// Where the code object lies when the test runs on another machine.
std::string Path(const char* variable, const char* built) {
  const char* path = std::getenv(variable);
  return path == nullptr ? built : path;
}

const std::map<std::string, std::string> kSkipped = {
    {"MappedMemoryIsSeenByKernels",
     "memory of its own; weights are always copied"}};

}  // namespace

const std::vector<Backend>& Backends() {
  static const auto* backends = new std::vector<Backend>{
      {"cuda", "sm_90", "", Path("GLM_TOY_KERNELS_PTX", GLM_TOY_KERNELS_PTX),
       [] { return CreateGpuDevice({.api = GpuApi::kCuda}); }, kSkipped, true,
       true},
      {"hip", "gfx1201", "",
       Path("GLM_TOY_KERNELS_HSACO", GLM_TOY_KERNELS_HSACO),
       [] { return CreateGpuDevice({.api = GpuApi::kHip}); }, kSkipped, false,
       true},
  };
  return *backends;
}

}  // namespace glm
