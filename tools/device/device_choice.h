// The option --device, and the device that it names: the only place that knows
// concrete devices.
#ifndef GLM_TOOLS_DEVICE_DEVICE_CHOICE_H_
#define GLM_TOOLS_DEVICE_DEVICE_CHOICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace CLI {
class App;
}

namespace glm {

class PlanFile;

namespace tools {

struct DeviceChoice {
  std::string name = "auto";  // auto, host, gpu, cuda, hip; gpu:1 is the second
  int threads = 0;            // of the host's device
  bool peer = false;          // GPUs of several ranks: the direct path is on
};

// Adds --device, what breaks the syntax of which is refused there, and --p2p.
void AddDeviceOption(CLI::App& command, DeviceChoice& choice);

struct OpenedDevice {
  std::unique_ptr<Device> device;
  bool gpu = false;
  std::string kind = "host";  // or cuda, hip
  int ordinal = 0;            // of a GPU
};

// The device for a plan. auto takes a GPU that the plan has code for, or else
// the host.
//
// Errors: kUnavailable, when a GPU was asked for, with what was tried.
absl::StatusOr<OpenedDevice> OpenDevice(const DeviceChoice& choice,
                                        const PlanFile& plan);

// OK when the plan has code that `device` runs; else kFailedPrecondition with
// why not.
absl::Status HasCode(const PlanFile& plan, const Device& device);

}  // namespace tools
}  // namespace glm

#endif  // GLM_TOOLS_DEVICE_DEVICE_CHOICE_H_
