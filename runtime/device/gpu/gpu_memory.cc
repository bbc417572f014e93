#include "runtime/device/gpu/gpu_memory.h"

#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

constexpr uint64_t kAlignment = 4096;  // what Device::Allocate promises
constexpr uint64_t kLimit = uint64_t{1} << 48;  // more than any machine has

absl::Status With(const absl::Status& status, std::string_view purpose,
                  uint64_t bytes) {
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("cannot allocate ", bytes, " bytes for ",
                   std::string(purpose), ": ", status.message(),
                   absl::IsResourceExhausted(status)
                       ? "; end other programs that use the device, or compile "
                         "with a smaller --max-context or --dense int4"
                       : ""));
}

// Padding that makes `address` a multiple of the alignment.
uint64_t Padding(uint64_t address) {
  return (kAlignment - address % kAlignment) % kAlignment;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Memory>> GpuMemory::Allocate(
    OpenGpu& gpu, uint64_t bytes, MemoryKind kind, std::string_view purpose) {
  const auto failed = [&](const absl::Status& status) {
    return With(status, purpose, bytes);
  };
  if (bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("allocation of 0 bytes for ", std::string(purpose)));
  }
  if (bytes > kLimit) {
    return failed(absl::ResourceExhaustedError("no machine has as much"));
  }
  const uint64_t padded = bytes + kAlignment;
  if (kind == MemoryKind::kShared) {
    void* base = nullptr;
    GLM_RETURN_IF_ERROR(
        failed(gpu.Do(&GpuDriver::allocate_host, &base, padded)));
    uint64_t address = 0;
    const absl::Status status =
        gpu.Do(&GpuDriver::host_address, &address, base);
    if (!status.ok()) {
      gpu.Drop(&GpuDriver::release_host, base);
      return failed(status);
    }
    const uint64_t padding = Padding(address);
    std::byte* data = static_cast<std::byte*>(base) + padding;
    std::memset(data, 0, bytes);
    return std::unique_ptr<Memory>(
        new GpuMemory(gpu, address + padding, bytes, data, 0, base));
  }
  uint64_t available = 0, total = 0;
  GLM_RETURN_IF_ERROR(failed(gpu.MemoryInfo(available, total)));
  if (padded > available || available - padded < kGpuReserve) {
    return failed(absl::ResourceExhaustedError(absl::StrCat(
        available, " of ", total, " bytes are free on the ", gpu.name(),
        ", of which ", kGpuReserve, " stay free for the driver")));
  }
  uint64_t base = 0;
  GLM_RETURN_IF_ERROR(failed(gpu.Do(&GpuDriver::allocate, &base, padded)));
  const uint64_t address = base + Padding(base);
  std::unique_ptr<Memory> memory(
      new GpuMemory(gpu, address, bytes, nullptr, base, nullptr));
  GLM_RETURN_IF_ERROR(failed(gpu.Zero(address, bytes)));
  return memory;
}

GpuMemory::~GpuMemory() {
  if (host_base_ != nullptr) {
    gpu_.Drop(&GpuDriver::release_host, host_base_);
  } else {
    gpu_.Drop(&GpuDriver::release, base_);
  }
}

}  // namespace glm
