// What the conformance suite needs to know of a backend. Each backend adds one
// to `Backends()`; it lists the tests that it cannot pass with the reason in
// words, which each run prints.
#ifndef GLM_RUNTIME_DEVICE_CONFORMANCE_BACKEND_H_
#define GLM_RUNTIME_DEVICE_CONFORMANCE_BACKEND_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace glm {

struct Backend {
  std::string name;
  std::string target;  // CodeObject.target
  std::string isa;
  std::string image_path;  // a code object with the kernels of toy_kernels.c
  std::function<absl::StatusOr<std::unique_ptr<Device>>()> create;
  std::map<std::string, std::string> skipped;  // test name -> reason
  bool text = false;      // image_path is text and lacks the final NUL
  bool optional = false;  // skip all where the device is unavailable
};

const std::vector<Backend>& Backends();

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_CONFORMANCE_BACKEND_H_
