#include "runtime/device/gpu/open_gpu.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {

absl::StatusOr<std::unique_ptr<OpenGpu>> OpenGpu::Open(const GpuDriver& driver,
                                                       int ordinal) {
  int count = 0;
  GLM_RETURN_IF_ERROR(Call(driver, driver.count, &count));
  if (ordinal < 0 || ordinal >= count) {
    return absl::UnavailableError(
        absl::StrCat(driver.api, ": no device ", ordinal, ", the driver has ",
                     count, count == 1 ? " device" : " devices"));
  }
  std::unique_ptr<OpenGpu> gpu(new OpenGpu(driver, ordinal));
  GLM_RETURN_IF_ERROR(gpu->Start());
  return gpu;
}

absl::Status OpenGpu::Start() {
  std::array<char, 256> text = {};
  GLM_RETURN_IF_ERROR(
      Call(driver_, driver_.name, ordinal_, text.data(), text.size()));
  text.back() = 0;
  name_ = text.data();
  text = {};
  GLM_RETURN_IF_ERROR(
      Call(driver_, driver_.architecture, ordinal_, text.data(), text.size()));
  text.back() = 0;
  architecture_ = text.data();
  GLM_RETURN_IF_ERROR(Call(driver_, driver_.open, ordinal_, &context_));
  open_ = true;
  GLM_RETURN_IF_ERROR(
      Do(&GpuDriver::create_stream, &setup_stream_, kGpuStreamNonBlocking));
  return Do(&GpuDriver::create_event, &setup_done_,
            kGpuEventBlockingSync | kGpuEventNoTiming);
}

OpenGpu::~OpenGpu() {
  if (setup_done_ != nullptr) Drop(&GpuDriver::destroy_event, setup_done_);
  if (setup_stream_ != nullptr) Drop(&GpuDriver::destroy_stream, setup_stream_);
  if (open_) driver_.close.function(ordinal_);
}

absl::Status OpenGpu::MakeCurrent() const {
  return Call(driver_, driver_.make_current, ordinal_, context_);
}

absl::Status OpenGpu::MemoryInfo(uint64_t& available, uint64_t& total) const {
  size_t free_bytes = 0, all_bytes = 0;
  GLM_RETURN_IF_ERROR(Do(&GpuDriver::memory_info, &free_bytes, &all_bytes));
  available = free_bytes;
  total = all_bytes;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> OpenGpu::ResidentBlocks(GpuFunction function,
                                                 uint32_t threads,
                                                 uint32_t lds_bytes) const {
  if (driver_.units.function == nullptr ||
      driver_.occupancy.function == nullptr) {
    return std::numeric_limits<uint64_t>::max();
  }
  int units = 0, blocks = 0;
  GLM_RETURN_IF_ERROR(Do(&GpuDriver::units, &units, ordinal_));
  GLM_RETURN_IF_ERROR(Do(&GpuDriver::occupancy, &blocks, function,
                         static_cast<int>(threads), size_t{lds_bytes}));
  return uint64_t{1} * std::max(units, 0) * std::max(blocks, 0);
}

absl::Status OpenGpu::Zero(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(setup_mutex_);
  GLM_RETURN_IF_ERROR(Do(&GpuDriver::fill, address,
                         static_cast<unsigned char>(0), bytes, setup_stream_));
  return Wait(setup_stream_, setup_done_);
}

absl::Status OpenGpu::Wait(GpuStream stream, GpuEventHandle event) const {
  GLM_RETURN_IF_ERROR(Do(&GpuDriver::record_event, event, stream));
  return Do(&GpuDriver::wait_event, event);
}

}  // namespace glm
