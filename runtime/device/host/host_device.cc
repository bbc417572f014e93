#include "runtime/device/host/host_device.h"

#include <algorithm>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/memory_limits.h"
#include "runtime/base/thread_pool.h"
#include "runtime/device/host/host_memory.h"
#include "runtime/device/host/host_module.h"
#include "runtime/device/host/host_queue.h"

namespace glm {
namespace {

// The program's own: its heap, code and stacks, some 40 MiB, which nothing
// counts, and pages of mapped files that it must not be without.
constexpr uint64_t kReserve = uint64_t{64} << 20;

// 0 for a name that is no level.
int IsaLevel(std::string_view isa) {
  if (isa == "x86-64" || isa == "x86-64-v1") return 1;
  if (isa == "x86-64-v2") return 2;
  if (isa == "x86-64-v3") return 3;
  if (isa == "x86-64-v4") return 4;
  return 0;
}

const char* IsaMeaning(int level) {
  return level >= 4 ? " (AVX-512)" : level == 3 ? " (AVX2)" : "";
}

class HostDevice : public Device {
 public:
  explicit HostDevice(const HostDeviceOptions& options)
      : pool_(options.threads),
        discrete_(options.discrete),
        order_seed_(options.order_seed) {}

  std::string Describe() const override {
    return absl::StrCat("host, ", pool_.threads(),
                        pool_.threads() == 1 ? " thread, " : " threads, ",
                        HostIsa(), discrete_ ? ", as a discrete device" : "");
  }

  absl::Status CheckCodeObject(std::string_view target,
                               std::string_view isa) const override {
    if (target != "host") {
      return absl::NotFoundError(
          absl::StrCat("code object for ", std::string(target)));
    }
    const std::string mine = HostIsa();
    const int needed = IsaLevel(isa);
    if (needed == 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "plan was compiled for ", std::string(isa), ", this CPU has ", mine,
          "; compile again with --target host:", mine));
    }
    if (needed > IsaLevel(mine)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "plan was compiled for ", std::string(isa), IsaMeaning(needed),
          ", this CPU has ", mine,
          "; compile again on this machine or with --target host:", mine));
    }
    return absl::OkStatus();
  }

  bool RunsAhead() const override { return false; }
  bool SupportsMappedWeights() const override { return !discrete_; }
  uint64_t AvailableBytes() const override {
    const uint64_t available = ReadMemoryLimits().Available();
    return available - std::min(available, kReserve);
  }

  absl::StatusOr<std::unique_ptr<Memory>> Allocate(
      uint64_t bytes, MemoryKind kind, std::string_view purpose) override {
    return HostMemory::Allocate(
        bytes, !discrete_ || kind == MemoryKind::kShared, purpose);
  }

  absl::StatusOr<std::unique_ptr<Memory>> MapHostMemory(
      std::span<const std::byte> bytes) override {
    if (discrete_) {
      return absl::UnimplementedError("this device has memory of its own");
    }
    return HostMemory::Wrap(bytes);
  }

  absl::StatusOr<std::unique_ptr<Module>> LoadModule(
      std::span<const std::byte> image, std::string_view name) override {
    return HostModule::Load(image, name);
  }

  absl::StatusOr<std::unique_ptr<Queue>> CreateQueue() override {
    return std::unique_ptr<Queue>(
        std::make_unique<HostQueue>(pool_, order_seed_));
  }

  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override {
    return std::unique_ptr<Event>(std::make_unique<HostEvent>());
  }

  absl::StatusOr<double> SecondsBetween(const Event& begin,
                                        const Event& end) override {
    const auto& from = static_cast<const HostEvent&>(begin);
    const auto& to = static_cast<const HostEvent&>(end);
    if (!from.recorded || !to.recorded) {
      return absl::FailedPreconditionError("an event was never recorded");
    }
    return std::chrono::duration<double>(to.time - from.time).count();
  }

 private:
  ThreadPool pool_;
  bool discrete_;
  uint64_t order_seed_;
};

}  // namespace

std::string HostIsa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3";
  if (__builtin_cpu_supports("x86-64-v2")) return "x86-64-v2";
#endif
  return "x86-64";
}

absl::StatusOr<std::unique_ptr<Device>> CreateHostDevice(
    const HostDeviceOptions& options) {
  if (options.threads < 0 || options.threads > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("thread count ", options.threads, ", expected 0 to 1024"));
  }
  return std::unique_ptr<Device>(std::make_unique<HostDevice>(options));
}

}  // namespace glm
