// `GpuDriver` is what this project needs of a GPU's driver: a table of plain
// functions under names of our own. cuda_driver.cc and hip_driver.cc fill it
// from the libraries that they find on the machine; nothing is linked and no
// vendor's header is read, so one program runs with either or neither. A test
// fills it with functions of its own.
//
// What the two drivers have alike (handles are pointers, 0 is success, the same
// numbers for the same errors) is taken as it is; where they differ, a function
// here hides it. Private to device/gpu.
#ifndef GLM_RUNTIME_DEVICE_GPU_GPU_DRIVER_H_
#define GLM_RUNTIME_DEVICE_GPU_GPU_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glm {

// The drivers' own objects.
using GpuContext = struct GpuContextObject*;
using GpuModuleHandle = struct GpuModuleObject*;
using GpuFunction = struct GpuFunctionObject*;
using GpuStream = struct GpuStreamObject*;
using GpuEventHandle = struct GpuEventObject*;
using GpuGraphHandle = struct GpuGraphObject*;
using GpuGraphExec = struct GpuGraphExecObject*;

// Error numbers that mean the same to both drivers.
enum GpuResult : int {
  kGpuSuccess = 0,
  kGpuOutOfMemory = 2,
  kGpuNoDevice = 100,
  kGpuInvalidDevice = 101,
  kGpuUnsupportedPtxVersion = 222,
  kGpuNotFound = 500,
};

// Flags that mean the same to both drivers.
inline constexpr unsigned kGpuStreamNonBlocking = 1;
inline constexpr unsigned kGpuEventBlockingSync = 1;
inline constexpr unsigned kGpuEventNoTiming = 2;
inline constexpr int kGpuCaptureThreadLocal = 1;

template <typename Signature>
struct GpuCall;

// A function of the table and its name for errors, that of the driver.
template <typename... Args>
struct GpuCall<int(Args...)> {
  int (*function)(Args...) = nullptr;
  const char* name = "";
};

struct KernelCompiler;

struct GpuDriver {
  const char* api = "";                             // "CUDA", "HIP"
  std::string version;                              // "13.0"
  const char* (*error_text)(int result) = nullptr;  // never null

  // What compiles source for this driver's devices; null: nothing does.
  absl::StatusOr<const KernelCompiler*> (*compiler)() = nullptr;

  // Devices. `name` is for people; `architecture` is what code is compiled
  // for: "sm_90", "gfx1201". Both get a buffer and its size.
  GpuCall<int(int* count)> count;
  GpuCall<int(int ordinal, char* text, size_t size)> name;
  GpuCall<int(int ordinal, char* text, size_t size)> architecture;

  // A device in use. `make_current` chooses it for the calling thread.
  GpuCall<int(int ordinal, GpuContext* context)> open;
  GpuCall<int(int ordinal)> close;
  GpuCall<int(int ordinal, GpuContext context)> make_current;
  GpuCall<int(size_t* available, size_t* total)> memory_info;

  // Memory. Host memory is pinned and addressable by kernels.
  GpuCall<int(uint64_t* address, size_t bytes)> allocate;
  GpuCall<int(uint64_t address)> release;
  GpuCall<int(void** data, size_t bytes)> allocate_host;
  GpuCall<int(void* data)> release_host;
  GpuCall<int(uint64_t* address, void* data)> host_address;

  // Code. `log` takes the assembler's words, where there is one.
  GpuCall<int(GpuModuleHandle* module, const void* image, char* log,
              size_t log_size)>
      load_module;
  GpuCall<int(GpuModuleHandle module)> unload_module;
  GpuCall<int(GpuFunction* function, GpuModuleHandle module, const char* name)>
      find_function;

  // How many blocks of a kernel the device holds at once: its units, times the
  // blocks that one unit holds. Null where the driver does not say.
  GpuCall<int(int* units, int ordinal)> units;
  GpuCall<int(int* blocks, GpuFunction function, int threads,
              size_t shared_bytes)>
      occupancy;

  // Queues.
  GpuCall<int(GpuStream* stream, unsigned flags)> create_stream;
  GpuCall<int(GpuStream stream)> destroy_stream;
  GpuCall<int(uint64_t to, uint64_t from, size_t bytes, GpuStream stream)> copy;
  GpuCall<int(uint64_t to, unsigned char value, size_t bytes, GpuStream stream)>
      fill;
  GpuCall<int(GpuFunction function, unsigned grid_x, unsigned grid_y,
              unsigned grid_z, unsigned block_x, unsigned block_y,
              unsigned block_z, unsigned shared_bytes, GpuStream stream,
              void** parameters, void** extra)>
      launch;

  GpuCall<int(GpuEventHandle* event, unsigned flags)> create_event;
  GpuCall<int(GpuEventHandle event)> destroy_event;
  GpuCall<int(GpuEventHandle event, GpuStream stream)> record_event;
  GpuCall<int(GpuEventHandle event)> wait_event;
  GpuCall<int(float* milliseconds, GpuEventHandle begin, GpuEventHandle end)>
      elapsed;

  // Graphs. There is no call that changes a graph: known faults of drivers
  // begin where a graph is updated in place, so nobody can.
  GpuCall<int(GpuStream stream, int mode)> begin_capture;
  GpuCall<int(GpuStream stream, GpuGraphHandle* graph)> end_capture;
  GpuCall<int(GpuGraphHandle graph)> destroy_graph;
  GpuCall<int(GpuGraphExec* exec, GpuGraphHandle graph,
              unsigned long long flags)>
      instantiate;
  GpuCall<int(GpuGraphExec exec)> destroy_exec;
  GpuCall<int(GpuGraphExec exec, GpuStream stream)> launch_graph;
};

// The driver of this machine, opened once a process and never closed.
//
// Errors: kUnavailable: the library is absent, lacks a function, does not
// start, or knows no device; the text says what to install.
absl::StatusOr<const GpuDriver*> LoadCudaDriver();
absl::StatusOr<const GpuDriver*> LoadHipDriver();

// "HIP hipMalloc: out of memory (error 2)" with the code that fits.
absl::Status GpuError(const GpuDriver& driver, const char* call, int result);

// Calls through the table.
template <typename... Params, typename... Args>
absl::Status Call(const GpuDriver& driver, const GpuCall<int(Params...)>& call,
                  Args... args) {
  const int result = call.function(args...);
  if (result == kGpuSuccess) return absl::OkStatus();
  return GpuError(driver, call.name, result);
}

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_GPU_DRIVER_H_
