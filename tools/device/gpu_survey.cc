#include "tools/device/gpu_survey.h"

#include "absl/strings/str_cat.h"
#include "runtime/device/gpu/gpu_device.h"
#include "runtime/device/gpu/gpu_driver.h"
#include "runtime/device/host/host_device.h"

namespace glm::tools {

DriverSurvey SurveyDriver(const std::string& api,
                          const absl::StatusOr<const GpuDriver*>& driver) {
  DriverSurvey survey;
  survey.api = api;
  survey.status = driver.status();
  if (!driver.ok()) return survey;
  survey.version = (*driver)->version;
  int count = 0;
  survey.status = Call(**driver, (*driver)->count, &count);
  if (!survey.status.ok()) return survey;
  if (count <= 0) {
    survey.status =
        absl::UnavailableError(absl::StrCat(api, ": the driver has no device"));
  }
  for (int i = 0; i < count; ++i) {
    survey.devices.push_back(CreateGpuDeviceOver(**driver, i));
  }
  return survey;
}

std::vector<DriverSurvey> SurveyGpus() {
  std::vector<DriverSurvey> drivers;
  drivers.push_back(SurveyDriver("CUDA", LoadCudaDriver()));
  drivers.push_back(SurveyDriver("HIP", LoadHipDriver()));
  return drivers;
}

absl::StatusOr<std::unique_ptr<Device>> SurveyHost() {
  return CreateHostDevice({});
}

}  // namespace glm::tools
