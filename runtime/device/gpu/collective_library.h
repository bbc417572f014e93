// `CollectiveLibrary` is what this project needs of NCCL and of RCCL, which
// have the same functions: a table like GpuDriver, filled by nccl_library.cc
// from what is found on the machine; nothing is linked and no header of theirs
// is read. A test fills it with functions of its own. Private to device/gpu.
#ifndef GLM_RUNTIME_DEVICE_GPU_COLLECTIVE_LIBRARY_H_
#define GLM_RUNTIME_DEVICE_GPU_COLLECTIVE_LIBRARY_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/gpu/gpu_driver.h"

namespace glm {

using Communicator = struct CommunicatorObject*;

// Numbers of ncclDataType_t and ncclRedOp_t.
inline constexpr int kLibraryFloat32 = 7, kLibraryBfloat16 = 9, kLibrarySum = 0;

struct CollectiveLibrary {
  const char* api = "";                             // "NCCL", "RCCL"
  std::string version;                              // "2.27.3"
  const char* (*error_text)(int result) = nullptr;  // never null

  // One communicator for each device, all in this process.
  GpuCall<int(Communicator* all, int count, const int* devices)> init_all;
  GpuCall<int(Communicator one)> destroy;
  GpuCall<int(Communicator one)> abort;  // ends what waits, and destroys

  GpuCall<int(const void* from, void* to, size_t count, int type, int op,
              Communicator one, GpuStream stream)>
      all_reduce;
  GpuCall<int(const void* from, void* to, size_t count, int type,
              Communicator one, GpuStream stream)>
      all_gather;
};

// The library of this machine, opened once a process and never closed.
// Errors: kUnavailable with what was tried and what to install.
absl::StatusOr<const CollectiveLibrary*> LoadNccl();
absl::StatusOr<const CollectiveLibrary*> LoadRccl();

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_COLLECTIVE_LIBRARY_H_
