// What the drivers of GPUs on this machine know, for reports: not one device to
// run a plan on, as OpenDevice gives, but all of them, and why there are none.
#ifndef GLM_TOOLS_DEVICE_GPU_SURVEY_H_
#define GLM_TOOLS_DEVICE_GPU_SURVEY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace glm {

struct GpuDriver;

namespace tools {

struct DriverSurvey {
  std::string api;      // "CUDA", "HIP"
  std::string version;  // of the driver; empty without one
  // Why nothing can be used: what was tried, what to install.
  absl::Status status;
  // By ordinal: each in use, or why it cannot be opened.
  std::vector<absl::StatusOr<std::unique_ptr<Device>>> devices;
};

// Opens every device of a driver, or says why there is none.
DriverSurvey SurveyDriver(const std::string& api,
                          const absl::StatusOr<const GpuDriver*>& driver);

// CUDA's and HIP's. Memory of the devices is in use, for the driver's own
// needs, while the result lives.
std::vector<DriverSurvey> SurveyGpus();

// The host's own device, as a plan without other wishes gets it.
absl::StatusOr<std::unique_ptr<Device>> SurveyHost();

}  // namespace tools
}  // namespace glm

#endif  // GLM_TOOLS_DEVICE_GPU_SURVEY_H_
