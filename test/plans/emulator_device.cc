#include "test/plans/emulator_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "test/gfxemu/gfxemu.h"

namespace glm {
namespace {

using Ranges = std::map<uint64_t, uint64_t>;  // begin to end

class EmulatorMemory : public Memory {
 public:
  EmulatorMemory(std::byte* data, uint64_t size, bool visible,
                 std::shared_ptr<Ranges> ranges)
      : Memory(reinterpret_cast<uint64_t>(data), size,
               visible ? data : nullptr),
        data_(data),
        ranges_(std::move(ranges)) {
    (*ranges_)[address()] = address() + size;
  }
  ~EmulatorMemory() override {
    ranges_->erase(address());
    std::free(data_);
  }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  std::shared_ptr<Ranges> ranges_;
};

class EmulatorKernel : public Kernel {
 public:
  EmulatorKernel(const gfxemu::CodeObject* object, std::string name)
      : object(object), name(std::move(name)) {}
  const gfxemu::CodeObject* object;
  std::string name;
};

class EmulatorModule : public Module {
 public:
  explicit EmulatorModule(std::unique_ptr<gfxemu::CodeObject> object)
      : object_(std::move(object)) {}

  absl::StatusOr<const Kernel*> Find(std::string_view name) override {
    const std::string key(name);
    if (!object_->Has(key)) {
      return absl::NotFoundError(absl::StrCat("no kernel ", key));
    }
    auto& kernel = kernels_[key];
    if (kernel == nullptr) {
      kernel = std::make_unique<EmulatorKernel>(object_.get(), key);
    }
    return kernel.get();
  }

 private:
  std::unique_ptr<gfxemu::CodeObject> object_;
  std::map<std::string, std::unique_ptr<EmulatorKernel>> kernels_;
};

class EmulatorGraph : public Graph {
 public:
  std::vector<std::function<absl::Status()>> work;
};

class EmulatorEvent : public Event {
 public:
  std::chrono::steady_clock::time_point time;
};

class EmulatorQueue : public Queue {
 public:
  EmulatorQueue(std::shared_ptr<Ranges> ranges, uint64_t seed)
      : ranges_(std::move(ranges)), seed_(seed) {}

  absl::Status Copy(const Memory& to, uint64_t to_offset, const Memory& from,
                    uint64_t from_offset, uint64_t bytes) override {
    if (to_offset + bytes > to.size() || from_offset + bytes > from.size()) {
      return absl::InvalidArgumentError("copy past the end");
    }
    std::byte* target =
        static_cast<const EmulatorMemory&>(to).data() + to_offset;
    const std::byte* source =
        static_cast<const EmulatorMemory&>(from).data() + from_offset;
    return Do([=] {
      std::memcpy(target, source, bytes);
      return absl::OkStatus();
    });
  }

  absl::Status Launch(const LaunchCall& call) override {
    const auto* kernel = static_cast<const EmulatorKernel*>(call.kernel);
    return Do(
        [this, kernel, grid = call.grid, threads = call.threads,
         lds = call.lds_bytes,
         args = std::vector<uint64_t>(call.args.begin(), call.args.end())] {
          std::vector<gfxemu::MemoryRange> memory;
          for (auto [begin, end] : *ranges_) memory.push_back({begin, end});
          gfxemu::Launch launch;
          launch.kernel = kernel->name;
          launch.grid = grid;
          launch.threads = threads;
          launch.dynamic_lds = lds;
          launch.args = args;
          launch.memory = memory;
          launch.seed = seed_;
          std::string error;
          if (kernel->object->Run(launch, &error)) return absl::OkStatus();
          return absl::InternalError(error);
        });
  }

  absl::Status BeginCapture() override {
    capture_ = std::make_unique<EmulatorGraph>();
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override {
    return std::unique_ptr<Graph>(std::move(capture_));
  }
  absl::Status Replay(const Graph& graph) override {
    for (const auto& one : static_cast<const EmulatorGraph&>(graph).work) {
      GLM_RETURN_IF_ERROR(one());
    }
    return absl::OkStatus();
  }
  absl::Status Wait(const Event&) override { return absl::OkStatus(); }
  absl::Status Record(Event& event) override {
    static_cast<EmulatorEvent&>(event).time = std::chrono::steady_clock::now();
    return absl::OkStatus();
  }
  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  absl::Status Do(std::function<absl::Status()> work) {
    if (capture_ == nullptr) return work();
    capture_->work.push_back(std::move(work));
    return absl::OkStatus();
  }

  std::shared_ptr<Ranges> ranges_;
  uint64_t seed_;
  std::unique_ptr<EmulatorGraph> capture_;
};

class EmulatorDevice : public Device {
 public:
  explicit EmulatorDevice(uint64_t seed) : seed_(seed) {}

  std::string Describe() const override { return "gfx1201, emulated"; }
  absl::Status CheckCodeObject(std::string_view target,
                               std::string_view) const override {
    if (target == "gfx1201") return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat("code object for ", std::string(target)));
  }
  bool SupportsMappedWeights() const override { return false; }
  bool RunsAhead() const override { return false; }
  uint64_t AvailableBytes() const override { return uint64_t{4} << 30; }

  absl::StatusOr<std::unique_ptr<Memory>> Allocate(
      uint64_t bytes, MemoryKind kind, std::string_view purpose) override {
    const uint64_t whole = (bytes + 4095) / 4096 * 4096;
    void* data = bytes == 0 ? nullptr : std::aligned_alloc(4096, whole);
    if (data == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot allocate ", bytes, " bytes for ", std::string(purpose)));
    }
    std::memset(data, 0, whole);
    return std::unique_ptr<Memory>(
        std::make_unique<EmulatorMemory>(static_cast<std::byte*>(data), bytes,
                                         kind == MemoryKind::kShared, ranges_));
  }
  absl::StatusOr<std::unique_ptr<Memory>> MapHostMemory(
      std::span<const std::byte>) override {
    return absl::UnimplementedError("this device has memory of its own");
  }
  absl::StatusOr<std::unique_ptr<Module>> LoadModule(
      std::span<const std::byte> image, std::string_view name) override {
    std::string error;
    auto object = gfxemu::CodeObject::Load(image, &error);
    if (object == nullptr) {
      return absl::DataLossError(absl::StrCat(std::string(name), ": ", error));
    }
    return std::unique_ptr<Module>(
        std::make_unique<EmulatorModule>(std::move(object)));
  }
  absl::StatusOr<std::unique_ptr<Queue>> CreateQueue() override {
    return std::unique_ptr<Queue>(
        std::make_unique<EmulatorQueue>(ranges_, seed_));
  }
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override {
    return std::unique_ptr<Event>(std::make_unique<EmulatorEvent>());
  }
  absl::StatusOr<double> SecondsBetween(const Event& begin,
                                        const Event& end) override {
    return std::chrono::duration<double>(
               static_cast<const EmulatorEvent&>(end).time -
               static_cast<const EmulatorEvent&>(begin).time)
        .count();
  }

 private:
  uint64_t seed_;
  std::shared_ptr<Ranges> ranges_ = std::make_shared<Ranges>();
};

}  // namespace

std::unique_ptr<Device> CreateEmulatorDevice(uint64_t seed) {
  return std::make_unique<EmulatorDevice>(seed);
}

}  // namespace glm
