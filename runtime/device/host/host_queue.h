// The host's synchronous queue, graphs and events. Private to device/host.
#ifndef GLM_RUNTIME_DEVICE_HOST_HOST_QUEUE_H_
#define GLM_RUNTIME_DEVICE_HOST_HOST_QUEUE_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "runtime/base/thread_pool.h"
#include "runtime/device/device.h"
#include "runtime/device/host/host_module.h"

namespace glm {

struct HostCopy {
  void* to;
  const void* from;
  uint64_t bytes;
};

// Blocks of a launch that wait for those before them.
struct HostPhase {
  uint64_t begin;
  uint64_t end;
  bool parallel;
};

struct HostLaunch {
  HostKernelFunction function;
  std::array<uint32_t, 3> grid;
  uint64_t first_arg;  // into HostGraph::args
  absl::InlinedVector<HostPhase, 4> phases;
};

// A recorded list. Arguments lie in one vector, so that a replay reads memory
// in order.
class HostGraph : public Graph {
 public:
  std::vector<
      std::variant<HostCopy, HostLaunch, std::shared_ptr<const QueueWork>>>
      items;
  std::vector<uint64_t> args;
};

class HostEvent : public Event {
 public:
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
};

class HostQueue : public Queue {
 public:
  // `order_seed` as in HostDeviceOptions.
  HostQueue(ThreadPool& pool, uint64_t order_seed)
      : pool_(pool), shuffled_(order_seed != 0), random_(order_seed) {}

  absl::Status Copy(const Memory& to, uint64_t to_offset, const Memory& from,
                    uint64_t from_offset, uint64_t bytes) override;
  absl::Status Launch(const LaunchCall& call) override;
  absl::Status Run(std::shared_ptr<const QueueWork> work) override;
  absl::Status BeginCapture() override;
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override;
  absl::Status Replay(const Graph& graph) override;
  absl::Status Record(Event& event) override;
  absl::Status Wait(const Event& event) override;
  absl::Status Finish() override;

 private:
  void RunLaunch(const HostLaunch& launch, const uint64_t* args);
  void RunShuffled(const HostLaunch& launch, const HostPhase& phase,
                   const uint64_t* args);
  absl::Status RefuseWhileCapturing(const char* call) const;

  ThreadPool& pool_;
  bool shuffled_;
  std::mt19937_64 random_;
  std::unique_ptr<HostGraph> capture_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_HOST_HOST_QUEUE_H_
