// One device of a driver, in use: what everything of device/gpu goes through.
// Private to device/gpu.
//
// Drivers know a current device for each thread, so every call sets it first.
#ifndef GLM_RUNTIME_DEVICE_GPU_OPEN_GPU_H_
#define GLM_RUNTIME_DEVICE_GPU_OPEN_GPU_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/gpu/gpu_driver.h"

namespace glm {

// Thread-safe.
class OpenGpu {
 public:
  // Errors: kUnavailable, or what the driver reports.
  static absl::StatusOr<std::unique_ptr<OpenGpu>> Open(const GpuDriver& driver,
                                                       int ordinal);
  ~OpenGpu();
  OpenGpu(const OpenGpu&) = delete;
  OpenGpu& operator=(const OpenGpu&) = delete;

  const GpuDriver& driver() const { return driver_; }
  const std::string& name() const { return name_; }
  const std::string& architecture() const { return architecture_; }

  // Chooses this device for the calling thread; Do does it by itself.
  absl::Status MakeCurrent() const;

  // gpu.Do(&GpuDriver::allocate, &address, bytes)
  template <typename... Params, typename... Args>
  absl::Status Do(GpuCall<int(Params...)> GpuDriver::* call,
                  Args... args) const {
    if (absl::Status status = MakeCurrent(); !status.ok()) return status;
    return Call(driver_, driver_.*call, args...);
  }

  // As Do, for destructors: goes on whatever happens. Drivers report errors of
  // earlier work here, which Queue::Finish has already given to the caller.
  template <typename... Params, typename... Args>
  void Drop(GpuCall<int(Params...)> GpuDriver::* call, Args... args) const {
    MakeCurrent().IgnoreError();
    (driver_.*call).function(args...);
  }

  // Free and all bytes of the device.
  absl::Status MemoryInfo(uint64_t& available, uint64_t& total) const;

  // Blocks of the kernel that the device holds at once; as many as there can be
  // where the driver does not say.
  absl::StatusOr<uint64_t> ResidentBlocks(GpuFunction function,
                                          uint32_t threads,
                                          uint32_t lds_bytes) const;

  // Fills with zeros and waits.
  absl::Status Zero(uint64_t address, uint64_t bytes);

  // Waits for everything before it on `stream`, asleep: `event` was made with
  // kGpuEventBlockingSync.
  absl::Status Wait(GpuStream stream, GpuEventHandle event) const;

 private:
  OpenGpu(const GpuDriver& driver, int ordinal)
      : driver_(driver), ordinal_(ordinal) {}
  absl::Status Start();

  const GpuDriver& driver_;
  const int ordinal_;
  bool open_ = false;
  GpuContext context_ = nullptr;
  std::string name_;
  std::string architecture_;

  std::mutex setup_mutex_;  // guards the use of what follows
  GpuStream setup_stream_ = nullptr;
  GpuEventHandle setup_done_ = nullptr;
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_OPEN_GPU_H_
