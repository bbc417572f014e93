#include "runtime/device/conformance/backend.h"

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
  };
  return *backends;
}

}  // namespace glm
