// The table from libcuda.so.1, which NVIDIA's kernel driver brings along. The
// names are those of its ABI: most have a suffix that the headers hide.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/gpu/gpu_driver.h"
#include "runtime/device/gpu/symbol_library.h"

namespace glm {
namespace {

constexpr char kRemedy[] =
    "; for an NVIDIA GPU install NVIDIA's driver (Debian: nvidia-driver, "
    "libcuda1)";

constexpr int kMultiprocessorCount = 16;
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;
constexpr unsigned kHostPortable = 1, kHostMapped = 2;
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;

// What has another shape than the table's functions.
struct CudaSymbols {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*context_retain)(GpuContext*, int) = nullptr;
  int (*context_release)(int) = nullptr;
  int (*context_current)(GpuContext) = nullptr;
  int (*host_alloc)(void**, size_t, unsigned) = nullptr;
  int (*host_pointer)(uint64_t*, void*, unsigned) = nullptr;
  int (*load)(GpuModuleHandle*, const void*, unsigned, int*, void**) = nullptr;
};
CudaSymbols cuda;

const char* ErrorText(int result) {
  const char* text = nullptr;
  cuda.error_string(result, &text);
  return text == nullptr ? "unknown error" : text;
}

int Name(int ordinal, char* text, size_t size) {
  int device = 0;
  if (const int result = cuda.device(&device, ordinal)) return result;
  return cuda.device_name(text, static_cast<int>(size), device);
}

int Architecture(int ordinal, char* text, size_t size) {
  int device = 0, major = 0, minor = 0;
  if (const int result = cuda.device(&device, ordinal)) return result;
  if (const int result =
          cuda.device_attribute(&major, kComputeCapabilityMajor, device)) {
    return result;
  }
  if (const int result =
          cuda.device_attribute(&minor, kComputeCapabilityMinor, device)) {
    return result;
  }
  std::snprintf(text, size, "sm_%d%d", major, minor);
  return kGpuSuccess;
}

int Units(int* units, int ordinal) {
  int device = 0;
  if (const int result = cuda.device(&device, ordinal)) return result;
  return cuda.device_attribute(units, kMultiprocessorCount, device);
}

int Open(int ordinal, GpuContext* context) {
  int device = 0;
  if (const int result = cuda.device(&device, ordinal)) return result;
  return cuda.context_retain(context, device);
}

int Close(int ordinal) {
  int device = 0;
  if (const int result = cuda.device(&device, ordinal)) return result;
  return cuda.context_release(device);
}

int MakeCurrent(int, GpuContext context) {
  return cuda.context_current(context);
}

int AllocateHost(void** data, size_t bytes) {
  return cuda.host_alloc(data, bytes, kHostPortable | kHostMapped);
}

int HostAddress(uint64_t* address, void* data) {
  return cuda.host_pointer(address, data, 0);
}

// The image is a cubin or PTX that ends with a NUL; PTX is assembled here.
int LoadModule(GpuModuleHandle* module, const void* image, char* log,
               size_t log_size) {
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(log_size)};
  return cuda.load(module, image, 2, options, values);
}

absl::Status Fill(GpuDriver& driver) {
  static SymbolLibrary* const library = new SymbolLibrary;
  GLM_RETURN_IF_ERROR(library->Open({"libcuda.so.1"}));
  library->Bind(cuda.init, "cuInit");
  library->Bind(cuda.version, "cuDriverGetVersion");
  library->Bind(cuda.error_string, "cuGetErrorString");
  library->Bind(cuda.device, "cuDeviceGet");
  library->Bind(cuda.device_name, "cuDeviceGetName");
  library->Bind(cuda.device_attribute, "cuDeviceGetAttribute");
  library->Bind(cuda.context_retain, "cuDevicePrimaryCtxRetain");
  library->Bind(cuda.context_release, "cuDevicePrimaryCtxRelease_v2");
  library->Bind(cuda.context_current, "cuCtxSetCurrent");
  library->Bind(cuda.host_alloc, "cuMemHostAlloc");
  library->Bind(cuda.host_pointer, "cuMemHostGetDevicePointer_v2");
  library->Bind(cuda.load, "cuModuleLoadDataEx");

  driver.api = "CUDA";
  driver.error_text = ErrorText;
  library->Bind(driver.count, "cuDeviceGetCount");
  driver.name = {Name, "cuDeviceGetName"};
  driver.architecture = {Architecture, "cuDeviceGetAttribute"};
  driver.open = {Open, "cuDevicePrimaryCtxRetain"};
  driver.close = {Close, "cuDevicePrimaryCtxRelease"};
  driver.make_current = {MakeCurrent, "cuCtxSetCurrent"};
  library->Bind(driver.memory_info, "cuMemGetInfo_v2");
  library->Bind(driver.allocate, "cuMemAlloc_v2");
  library->Bind(driver.release, "cuMemFree_v2");
  driver.allocate_host = {AllocateHost, "cuMemHostAlloc"};
  library->Bind(driver.release_host, "cuMemFreeHost");
  driver.host_address = {HostAddress, "cuMemHostGetDevicePointer"};
  driver.load_module = {LoadModule, "cuModuleLoadDataEx"};
  library->Bind(driver.unload_module, "cuModuleUnload");
  library->Bind(driver.find_function, "cuModuleGetFunction");
  driver.units = {Units, "cuDeviceGetAttribute"};
  library->Bind(driver.occupancy,
                "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  library->Bind(driver.create_stream, "cuStreamCreate");
  library->Bind(driver.destroy_stream, "cuStreamDestroy_v2");
  library->Bind(driver.copy, "cuMemcpyAsync");
  library->Bind(driver.fill, "cuMemsetD8Async");
  library->Bind(driver.launch, "cuLaunchKernel");
  library->Bind(driver.create_event, "cuEventCreate");
  library->Bind(driver.destroy_event, "cuEventDestroy_v2");
  library->Bind(driver.record_event, "cuEventRecord");
  library->Bind(driver.wait_event, "cuEventSynchronize");
  library->Bind(driver.elapsed, "cuEventElapsedTime");
  library->Bind(driver.begin_capture, "cuStreamBeginCapture_v2");
  library->Bind(driver.end_capture, "cuStreamEndCapture");
  library->Bind(driver.destroy_graph, "cuGraphDestroy");
  library->Bind(driver.instantiate, "cuGraphInstantiateWithFlags");
  library->Bind(driver.destroy_exec, "cuGraphExecDestroy");
  library->Bind(driver.launch_graph, "cuGraphLaunch");
  GLM_RETURN_IF_ERROR(library->Complete());

  if (const int result = cuda.init(0)) {
    return absl::UnavailableError(GpuError(driver, "cuInit", result).message());
  }
  int version = 0;
  if (cuda.version(&version) == kGpuSuccess) {
    driver.version = absl::StrCat(version / 1000, ".", version % 1000 / 10);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const GpuDriver*> LoadCudaDriver() {
  static GpuDriver* const driver = new GpuDriver;
  static const absl::Status* const status = new absl::Status(Fill(*driver));
  if (status->ok()) return driver;
  return absl::UnavailableError(absl::StrCat(status->message(), kRemedy));
}

}  // namespace glm
