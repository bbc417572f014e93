// GPUs of one process that meet through NCCL or RCCL. The library enqueues its
// kernels on a queue's stream, so that graphs record them.
//
// It moves data through the host's memory unless `peer` is set: the direct path
// between cards has hung whole machines, which no program can catch.
#ifndef GLM_RUNTIME_DEVICE_GPU_GPU_COLLECTIVE_H_
#define GLM_RUNTIME_DEVICE_GPU_GPU_COLLECTIVE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/collective.h"
#include "runtime/device/gpu/gpu_device.h"

namespace glm {

struct CollectiveLibrary;

struct GpuGroupOptions {
  GpuApi api = GpuApi::kCuda;  // kCuda: NCCL, kHip: RCCL
  std::vector<int> ordinals;   // the device of each rank, all different
  bool peer = false;           // cards may read each other's memory
};

// Sets NCCL_P2P_DISABLE for the process, so no other thread may run yet that
// looks at the environment.
//
// Errors: kUnavailable, with what was tried and what to install; kInternal from
// the library.
absl::StatusOr<std::unique_ptr<CollectiveGroup>> CreateGpuGroup(
    const GpuGroupOptions& options);

// The same over a table that must outlive the group; for tests.
absl::StatusOr<std::unique_ptr<CollectiveGroup>> CreateGpuGroupOver(
    const CollectiveLibrary& library, const GpuGroupOptions& options);

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_GPU_COLLECTIVE_H_
