// Code objects of a GPU: an ELF image, or PTX that the driver assembles.
// Private to device/gpu.
#ifndef GLM_RUNTIME_DEVICE_GPU_GPU_MODULE_H_
#define GLM_RUNTIME_DEVICE_GPU_GPU_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"
#include "runtime/device/gpu/open_gpu.h"

namespace glm {

class GpuKernel : public Kernel {
 public:
  GpuKernel(GpuFunction function, std::string name)
      : function_(function), name_(std::move(name)) {}
  GpuFunction function() const { return function_; }
  const std::string& name() const { return name_; }

  // OpenGpu::ResidentBlocks of it. Asks the driver once for a size of block.
  absl::StatusOr<uint64_t> ResidentBlocks(const OpenGpu& gpu, uint32_t threads,
                                          uint32_t lds_bytes) const;

 private:
  GpuFunction function_;
  std::string name_;  // for errors

  // By threads and bytes of LDS.
  mutable std::mutex resident_mutex_;
  mutable std::map<std::pair<uint32_t, uint32_t>, uint64_t> resident_;
};

class GpuModule : public Module {
 public:
  // Errors: kDataLoss with the driver's and the assembler's words,
  // kFailedPrecondition when the driver is too old for the code.
  static absl::StatusOr<std::unique_ptr<Module>> Load(
      OpenGpu& gpu, std::span<const std::byte> image, std::string_view name);
  ~GpuModule() override;

  absl::StatusOr<const Kernel*> Find(std::string_view name) override;

 private:
  GpuModule(OpenGpu& gpu, GpuModuleHandle module, std::string name)
      : gpu_(gpu), module_(module), name_(std::move(name)) {}

  OpenGpu& gpu_;
  GpuModuleHandle module_;
  std::string name_;
  std::map<std::string, std::unique_ptr<GpuKernel>> kernels_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_GPU_MODULE_H_
