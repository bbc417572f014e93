#include "runtime/device/gpu/gpu_driver.h"

#include "absl/strings/str_cat.h"

namespace glm {

absl::Status GpuError(const GpuDriver& driver, const char* call, int result) {
  const std::string text =
      absl::StrCat(driver.api, " ", call, ": ", driver.error_text(result),
                   " (error ", result, ")");
  switch (result) {
    case kGpuOutOfMemory:
      return absl::ResourceExhaustedError(text);
    case kGpuNoDevice:
    case kGpuInvalidDevice:
      return absl::UnavailableError(text);
    case kGpuNotFound:
      return absl::NotFoundError(text);
    default:
      return absl::InternalError(text);
  }
}

}  // namespace glm
