// The table from libamdhip64, ROCm's runtime: version 7, 6 or 5, whichever is
// there. Only functions with the same ABI in all of them are used, but for the
// name of the architecture, which is in a struct that changed with version 6.
//
// Version 7 keeps errors until they are asked for; every result is looked at
// here, and hipGetLastError is never needed.
#include <array>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/gpu/gpu_driver.h"
#include "runtime/device/gpu/kernel_compiler.h"
#include "runtime/device/gpu/symbol_library.h"

namespace glm {
namespace {

constexpr char kRemedy[] =
    "; for an AMD GPU install ROCm's HIP runtime (6.4.1 or newer knows "
    "gfx1201) and join the groups render and video";

// hipDeviceProp_t: where gcnArchName lies, before and since version 6.
constexpr size_t kArchOffset5 = 396, kArchOffset6 = 1160, kArchBytes = 256;
constexpr size_t kPropertiesBytes = 8192;  // more than any version's

constexpr int kCopyDefault = 4;  // the addresses tell the direction
constexpr unsigned kHostPortable = 1, kHostMapped = 2;
constexpr unsigned kHostCoherent = 0x40000000;

// What has another shape than the table's functions.
struct HipSymbols {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*properties)(void*, int) = nullptr;
  size_t arch_offset = 0;
  int (*set_device)(int) = nullptr;
  int (*copy)(uint64_t, uint64_t, size_t, int, GpuStream) = nullptr;
  int (*host_alloc)(void**, size_t, unsigned) = nullptr;
  int (*host_pointer)(uint64_t*, void*, unsigned) = nullptr;
  int (*load)(GpuModuleHandle*, const void*) = nullptr;
};
HipSymbols hip;

const char* ErrorText(int result) {
  const char* text = hip.error_string(result);
  return text == nullptr ? "unknown error" : text;
}

int Name(int ordinal, char* text, size_t size) {
  return hip.device_name(text, static_cast<int>(size), ordinal);
}

// "gfx1201:sramecc-:xnack-" without the features.
int Architecture(int ordinal, char* text, size_t size) {
  alignas(8) std::array<char, kPropertiesBytes> properties = {};
  if (const int result = hip.properties(properties.data(), ordinal)) {
    return result;
  }
  const char* arch = properties.data() + hip.arch_offset;
  size_t length = 0;
  while (length < kArchBytes && arch[length] != 0 && arch[length] != ':') {
    ++length;
  }
  const bool known = length > 3 && std::memcmp(arch, "gfx", 3) == 0;
  std::snprintf(text, size, "%.*s", known ? static_cast<int>(length) : 7,
                known ? arch : "unknown");
  return kGpuSuccess;
}

// A thread uses the device that it has set; there is no context to hold.
int Open(int ordinal, GpuContext* context) {
  *context = nullptr;
  return hip.set_device(ordinal);
}

int Close(int) { return kGpuSuccess; }

int MakeCurrent(int ordinal, GpuContext) { return hip.set_device(ordinal); }

// Coherent: kernels and the host see each other's stores without a flush.
int AllocateHost(void** data, size_t bytes) {
  return hip.host_alloc(data, bytes,
                        kHostPortable | kHostMapped | kHostCoherent);
}

int HostAddress(uint64_t* address, void* data) {
  return hip.host_pointer(address, data, 0);
}

int LoadModule(GpuModuleHandle* module, const void* image, char*, size_t) {
  return hip.load(module, image);
}

int Copy(uint64_t to, uint64_t from, size_t bytes, GpuStream stream) {
  return hip.copy(to, from, bytes, kCopyDefault, stream);
}

absl::Status Fill(GpuDriver& driver) {
  static SymbolLibrary* const library = new SymbolLibrary;
  GLM_RETURN_IF_ERROR(
      library->Open({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                     "/opt/rocm/lib/libamdhip64.so"}));
  library->Bind(hip.init, "hipInit");
  library->Bind(hip.version, "hipRuntimeGetVersion");
  library->Bind(hip.error_string, "hipGetErrorString");
  library->Bind(hip.device_name, "hipDeviceGetName");
  const bool since_6 = library->Find("hipGetDevicePropertiesR0600") != nullptr;
  library->Bind(hip.properties, since_6 ? "hipGetDevicePropertiesR0600"
                                        : "hipGetDeviceProperties");
  hip.arch_offset = since_6 ? kArchOffset6 : kArchOffset5;
  library->Bind(hip.set_device, "hipSetDevice");
  library->Bind(hip.copy, "hipMemcpyAsync");
  library->Bind(hip.host_alloc, "hipHostMalloc");
  library->Bind(hip.host_pointer, "hipHostGetDevicePointer");
  library->Bind(hip.load, "hipModuleLoadData");

  driver.api = "HIP";
  driver.compiler = LoadHipCompiler;
  driver.error_text = ErrorText;
  library->Bind(driver.count, "hipGetDeviceCount");
  driver.name = {Name, "hipDeviceGetName"};
  driver.architecture = {Architecture, "hipGetDeviceProperties"};
  driver.open = {Open, "hipSetDevice"};
  driver.close = {Close, "hipSetDevice"};
  driver.make_current = {MakeCurrent, "hipSetDevice"};
  library->Bind(driver.memory_info, "hipMemGetInfo");
  library->Bind(driver.allocate, "hipMalloc");
  library->Bind(driver.release, "hipFree");
  driver.allocate_host = {AllocateHost, "hipHostMalloc"};
  library->Bind(driver.release_host, "hipHostFree");
  driver.host_address = {HostAddress, "hipHostGetDevicePointer"};
  driver.load_module = {LoadModule, "hipModuleLoadData"};
  library->Bind(driver.unload_module, "hipModuleUnload");
  library->Bind(driver.find_function, "hipModuleGetFunction");
  // No units and occupancy: the attribute's number differs between versions,
  // and what is a unit (a compute unit or a pair of them) does as well.
  library->Bind(driver.create_stream, "hipStreamCreateWithFlags");
  library->Bind(driver.destroy_stream, "hipStreamDestroy");
  driver.copy = {Copy, "hipMemcpyAsync"};
  library->Bind(driver.fill, "hipMemsetD8Async");
  library->Bind(driver.launch, "hipModuleLaunchKernel");
  library->Bind(driver.create_event, "hipEventCreateWithFlags");
  library->Bind(driver.destroy_event, "hipEventDestroy");
  library->Bind(driver.record_event, "hipEventRecord");
  library->Bind(driver.wait_event, "hipEventSynchronize");
  library->Bind(driver.elapsed, "hipEventElapsedTime");
  library->Bind(driver.begin_capture, "hipStreamBeginCapture");
  library->Bind(driver.end_capture, "hipStreamEndCapture");
  library->Bind(driver.destroy_graph, "hipGraphDestroy");
  library->Bind(driver.instantiate, "hipGraphInstantiateWithFlags");
  library->Bind(driver.destroy_exec, "hipGraphExecDestroy");
  library->Bind(driver.launch_graph, "hipGraphLaunch");
  GLM_RETURN_IF_ERROR(library->Complete());

  if (const int result = hip.init(0)) {
    return absl::UnavailableError(
        GpuError(driver, "hipInit", result).message());
  }
  int version = 0;  // 6 04 43482: major, minor, patch
  if (hip.version(&version) == kGpuSuccess) {
    driver.version = absl::StrCat(
        version / 10000000, ".", version / 100000 % 100, ".", version % 100000);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const GpuDriver*> LoadHipDriver() {
  static GpuDriver* const driver = new GpuDriver;
  static const absl::Status* const status = new absl::Status(Fill(*driver));
  if (status->ok()) return driver;
  return absl::UnavailableError(absl::StrCat(status->message(), kRemedy));
}

}  // namespace glm
