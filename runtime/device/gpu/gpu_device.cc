#include "runtime/device/gpu/gpu_device.h"

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/gpu/gpu_driver.h"
#include "runtime/device/gpu/gpu_memory.h"
#include "runtime/device/gpu/gpu_module.h"
#include "runtime/device/gpu/gpu_queue.h"
#include "runtime/device/gpu/kernel_compiler.h"
#include "runtime/device/gpu/open_gpu.h"

namespace glm {
namespace {

class GpuDevice : public Device {
 public:
  GpuDevice(std::unique_ptr<OpenGpu> gpu, uint64_t total_bytes)
      : gpu_(std::move(gpu)), total_bytes_(total_bytes) {}

  // The driver's version belongs into every report of a fault.
  std::string Describe() const override {
    std::array<char, 32> size;
    std::snprintf(size.data(), size.size(), "%.1f GiB",
                  static_cast<double>(total_bytes_) / (uint64_t{1} << 30));
    const GpuDriver& driver = gpu_->driver();
    return absl::StrCat(gpu_->name(), " (", gpu_->architecture(), "), ",
                        driver.api, " ", driver.version, ", ", size.data());
  }

  absl::Status CheckCodeObject(std::string_view target,
                               std::string_view isa) const override {
    const std::string& mine = gpu_->architecture();
    const std::string plan(target);
    const std::string_view family = mine.starts_with("sm_") ? "sm_" : "gfx";
    if (!target.starts_with(family)) {
      return absl::NotFoundError(absl::StrCat("code object for ", plan));
    }
    if (!isa.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "plan was compiled for ", plan, ":", std::string(isa),
          ", this device knows no such variant; compile again with --target ",
          mine));
    }
    // Also PTX: that of an sm_90 has instructions that no later one knows.
    if (target != mine) {
      return absl::FailedPreconditionError(
          absl::StrCat("plan was compiled for ", plan, ", this ", gpu_->name(),
                       " is ", mine, "; compile again with --target ", mine));
    }
    return absl::OkStatus();
  }

  bool SupportsMappedWeights() const override { return false; }
  bool RunsAhead() const override { return true; }

  uint64_t AvailableBytes() const override {
    uint64_t available = 0, total = 0;
    if (!gpu_->MemoryInfo(available, total).ok()) return 0;
    return available > kGpuReserve ? available - kGpuReserve : 0;
  }

  absl::StatusOr<std::unique_ptr<Memory>> Allocate(
      uint64_t bytes, MemoryKind kind, std::string_view purpose) override {
    return GpuMemory::Allocate(*gpu_, bytes, kind, purpose);
  }

  absl::StatusOr<std::unique_ptr<Memory>> MapHostMemory(
      std::span<const std::byte>) override {
    return absl::UnimplementedError("this device has memory of its own");
  }

  absl::StatusOr<std::unique_ptr<Module>> LoadModule(
      std::span<const std::byte> image, std::string_view name) override {
    return GpuModule::Load(*gpu_, image, name);
  }

  bool Compiles() const override { return gpu_->driver().compiler != nullptr; }

  absl::StatusOr<std::string> Compile(std::string_view source,
                                      std::string_view name) override {
    if (!Compiles()) return Device::Compile(source, name);
    GLM_ASSIGN_OR_RETURN(const KernelCompiler* compiler,
                         gpu_->driver().compiler());
    return CompileKernels(*compiler, std::string(source), gpu_->architecture(),
                          std::string(name));
  }

  absl::StatusOr<std::unique_ptr<Queue>> CreateQueue() override {
    return GpuQueue::Create(*gpu_);
  }

  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override {
    return GpuEvent::Create(*gpu_);
  }

  absl::StatusOr<double> SecondsBetween(const Event& begin,
                                        const Event& end) override {
    return GpuEvent::SecondsBetween(*gpu_, static_cast<const GpuEvent&>(begin),
                                    static_cast<const GpuEvent&>(end));
  }

 private:
  std::unique_ptr<OpenGpu> gpu_;
  uint64_t total_bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> CreateGpuDeviceOver(
    const GpuDriver& driver, int ordinal) {
  GLM_ASSIGN_OR_RETURN(auto gpu, OpenGpu::Open(driver, ordinal));
  uint64_t available = 0, total = 0;
  GLM_RETURN_IF_ERROR(gpu->MemoryInfo(available, total));
  return std::unique_ptr<Device>(
      std::make_unique<GpuDevice>(std::move(gpu), total));
}

absl::StatusOr<std::unique_ptr<Device>> CreateGpuDevice(
    const GpuDeviceOptions& options) {
  std::string reasons;
  const auto attempt = [&](absl::StatusOr<const GpuDriver*> driver)
      -> absl::StatusOr<std::unique_ptr<Device>> {
    if (!driver.ok()) return driver.status();
    return CreateGpuDeviceOver(**driver, options.ordinal);
  };
  for (const GpuApi api : {GpuApi::kCuda, GpuApi::kHip}) {
    if (options.api != GpuApi::kAuto && options.api != api) continue;
    auto device =
        attempt(api == GpuApi::kCuda ? LoadCudaDriver() : LoadHipDriver());
    if (device.ok()) return device;
    absl::StrAppend(&reasons, "\n  ", device.status().message());
  }
  return absl::UnavailableError(absl::StrCat("no GPU can be used:", reasons));
}

}  // namespace glm
