#include "runtime/device/gpu/gpu_module.h"

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/elf_image.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

// The driver gets an address and no size: it must find the end by itself.
bool HasAnEnd(std::span<const std::byte> image) {
  if (BeginsElf(image)) return WholeElfType(image).has_value();
  return !image.empty() && image.back() == std::byte{0};
}

absl::Status LoadError(const GpuDriver& driver, const std::string& name,
                       int result, const char* log) {
  const std::string text =
      absl::StrCat(name, ": the code object cannot be loaded: ",
                   GpuError(driver, driver.load_module.name, result).message(),
                   *log == 0 ? "" : ": ", log);
  switch (result) {
    case kGpuOutOfMemory:
      return absl::ResourceExhaustedError(text);
    case kGpuUnsupportedPtxVersion:
      return absl::FailedPreconditionError(
          absl::StrCat(text, "; the driver (", driver.api, " ", driver.version,
                       ") is older than the code, install a newer one"));
    default:
      return absl::DataLossError(
          absl::StrCat(text, "; the plan is damaged; compile it again"));
  }
}

}  // namespace

absl::StatusOr<uint64_t> GpuKernel::ResidentBlocks(const OpenGpu& gpu,
                                                   uint32_t threads,
                                                   uint32_t lds_bytes) const {
  const std::lock_guard lock(resident_mutex_);
  const std::pair key(threads, lds_bytes);
  if (const auto it = resident_.find(key); it != resident_.end()) {
    return it->second;
  }
  GLM_ASSIGN_OR_RETURN(const uint64_t blocks,
                       gpu.ResidentBlocks(function_, threads, lds_bytes));
  resident_.emplace(key, blocks);
  return blocks;
}

absl::StatusOr<std::unique_ptr<Module>> GpuModule::Load(
    OpenGpu& gpu, std::span<const std::byte> image, std::string_view name) {
  const std::string file(name);
  if (!HasAnEnd(image)) {
    return absl::DataLossError(
        absl::StrCat(file, ": the code object for ", gpu.architecture(),
                     " is cut; the plan is damaged; compile it again"));
  }
  // As Do, but for the result, which says what is wrong with the plan.
  const GpuDriver& driver = gpu.driver();
  GLM_RETURN_IF_ERROR(gpu.MakeCurrent());
  std::array<char, 4096> log = {};
  GpuModuleHandle module = nullptr;
  const int result = driver.load_module.function(&module, image.data(),
                                                 log.data(), log.size());
  log.back() = 0;
  if (result != kGpuSuccess) {
    return LoadError(driver, file, result, log.data());
  }
  return std::unique_ptr<Module>(new GpuModule(gpu, module, file));
}

GpuModule::~GpuModule() { gpu_.Drop(&GpuDriver::unload_module, module_); }

absl::StatusOr<const Kernel*> GpuModule::Find(std::string_view name) {
  const std::string key(name);
  if (const auto it = kernels_.find(key); it != kernels_.end()) {
    return it->second.get();
  }
  GpuFunction function = nullptr;
  const absl::Status status =
      gpu_.Do(&GpuDriver::find_function, &function, module_, key.c_str());
  if (!status.ok()) {
    return absl::Status(
        status.code(),
        absl::StrCat(name_, ": kernel ", key, " for ", gpu_.architecture(),
                     ": ", status.message()));
  }
  auto& kernel = kernels_[key];
  kernel = std::make_unique<GpuKernel>(function, key);
  return kernel.get();
}

}  // namespace glm
