// A shared library as a code object. Private to device/host.
#ifndef GLM_RUNTIME_DEVICE_HOST_HOST_MODULE_H_
#define GLM_RUNTIME_DEVICE_HOST_HOST_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace glm {

// docs/spec/kernels.md, "Host calling convention".
using HostKernelFunction = void (*)(const uint64_t* args,
                                    const uint32_t grid[3], uint64_t begin,
                                    uint64_t end);

class HostKernel : public Kernel {
 public:
  explicit HostKernel(HostKernelFunction function) : function_(function) {}
  HostKernelFunction function() const { return function_; }

 private:
  HostKernelFunction function_;
};

class HostModule : public Module {
 public:
  // Loads the image from memory, without a file on disk.
  // Errors: kDataLoss with the loader's text, kInternal.
  static absl::StatusOr<std::unique_ptr<Module>> Load(
      std::span<const std::byte> image, std::string_view name);

  ~HostModule() override;
  absl::StatusOr<const Kernel*> Find(std::string_view name) override;

 private:
  HostModule(void* library, std::string name)
      : library_(library), name_(std::move(name)) {}

  void* library_;
  std::string name_;
  std::map<std::string, std::unique_ptr<HostKernel>> kernels_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_HOST_HOST_MODULE_H_
