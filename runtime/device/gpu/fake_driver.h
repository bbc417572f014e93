// A driver for tests of device/gpu: memory of the host stands for the device's,
// work waits until somebody asks for it, and kernels are those of
// conformance/toy_kernels.c, found in a module's text by their names.
//
// It counts its objects, notices when a handle is used that it never gave or
// took back, and can refuse its n-th call.
#ifndef GLM_RUNTIME_DEVICE_GPU_FAKE_DRIVER_H_
#define GLM_RUNTIME_DEVICE_GPU_FAKE_DRIVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/gpu/gpu_driver.h"

namespace glm {

// The table's functions work on the one FakeGpu that is alive. Not thread-safe.
class FakeGpu {
 public:
  FakeGpu();
  ~FakeGpu();
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

  const GpuDriver& driver() const { return driver_; }

  static constexpr int kFault = 999;  // what a refused call returns

  // The call that will be refused, counted from 1; 0: none. A refused call has
  // no effect, but for those that give something back: drivers report errors of
  // earlier work there, and have given it back.
  int fail_at = 0;

  // Names of the calls so far.
  std::vector<std::string> calls;

  // What broke the rules of a driver; empty is right.
  std::vector<std::string> misuse;

  // Objects alive, of each kind that has any: {"event", 2}.
  std::map<std::string, int> Alive() const;

  // The device, at most.
  uint64_t memory_bytes = uint64_t{8} << 30;
  std::string architecture = "sm_90";

  // What it holds at once of any kernel.
  int units = 1 << 10;
  int blocks_per_unit = 1 << 10;

  class State;
  State& state() { return *state_; }

 private:
  GpuDriver driver_;
  std::unique_ptr<State> state_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_FAKE_DRIVER_H_
