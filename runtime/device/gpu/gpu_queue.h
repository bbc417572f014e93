// A GPU's queues, graphs and events. Private to device/gpu.
//
// Graphs are held to what works on every driver seen so far:
//   * One graph is instantiated once and only replayed. Kernels' arguments
//   never
//     change in it: drivers have replayed stale ones in long graphs, and have
//     crashed where a graph was updated while memory was full.
//   * A step's inputs come by a copy from pinned memory inside the graph. Those
//     that a copy just before the replay wrote have been read too late.
//   * Whoever doubts a driver's graphs runs without them: the same list of
//     calls, not captured (Executor's `graphs`).
#ifndef GLM_RUNTIME_DEVICE_GPU_GPU_QUEUE_H_
#define GLM_RUNTIME_DEVICE_GPU_GPU_QUEUE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"
#include "runtime/device/gpu/open_gpu.h"

namespace glm {

class GpuGraph : public Graph {
 public:
  GpuGraph(OpenGpu& gpu, GpuGraphExec exec) : gpu_(gpu), exec_(exec) {}
  ~GpuGraph() override { gpu_.Drop(&GpuDriver::destroy_exec, exec_); }
  GpuGraphExec exec() const { return exec_; }

 private:
  OpenGpu& gpu_;
  GpuGraphExec exec_;
};

class GpuEvent : public Event {
 public:
  static absl::StatusOr<std::unique_ptr<Event>> Create(OpenGpu& gpu);
  ~GpuEvent() override { gpu_.Drop(&GpuDriver::destroy_event, event_); }

  static absl::StatusOr<double> SecondsBetween(OpenGpu& gpu,
                                               const GpuEvent& begin,
                                               const GpuEvent& end);

 private:
  friend class GpuQueue;
  GpuEvent(OpenGpu& gpu, GpuEventHandle event) : gpu_(gpu), event_(event) {}

  OpenGpu& gpu_;
  GpuEventHandle event_;
  bool recorded_ = false;
};

class GpuQueue : public Queue {
 public:
  static absl::StatusOr<std::unique_ptr<Queue>> Create(OpenGpu& gpu);

  // Waits for what is enqueued, so that memory may go.
  ~GpuQueue() override;

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
  explicit GpuQueue(OpenGpu& gpu) : gpu_(gpu) {}

  absl::Status RefuseWhileCapturing(const char* call) const;

  // `status`, kept for EndCapture when it breaks a capture.
  absl::Status Enqueued(absl::Status status);

  // Refuses blocks that wait inside the launch where they could take all places
  // from those that they wait for: the device would hang.
  absl::Status CheckWaiting(const LaunchCall& call) const;

  OpenGpu& gpu_;
  GpuStream stream_ = nullptr;
  GpuEventHandle done_ = nullptr;
  bool capturing_ = false;
  absl::Status capture_error_;  // the first
};

}  // namespace glm

#endif  // GLM_RUNTIME_DEVICE_GPU_GPU_QUEUE_H_
