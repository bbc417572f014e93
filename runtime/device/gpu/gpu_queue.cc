#include "runtime/device/gpu/gpu_queue.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/check_copy.h"
#include "runtime/device/gpu/gpu_module.h"

namespace glm {
namespace {

// Kernels take at most 4 KiB of parameters.
constexpr size_t kMaxArgs = 512;

}  // namespace

absl::StatusOr<std::unique_ptr<Event>> GpuEvent::Create(OpenGpu& gpu) {
  GpuEventHandle event = nullptr;
  GLM_RETURN_IF_ERROR(
      gpu.Do(&GpuDriver::create_event, &event, kGpuEventBlockingSync));
  return std::unique_ptr<Event>(new GpuEvent(gpu, event));
}

absl::StatusOr<double> GpuEvent::SecondsBetween(OpenGpu& gpu,
                                                const GpuEvent& begin,
                                                const GpuEvent& end) {
  if (!begin.recorded_ || !end.recorded_) {
    return absl::FailedPreconditionError("an event was never recorded");
  }
  GLM_RETURN_IF_ERROR(gpu.Do(&GpuDriver::wait_event, begin.event_));
  GLM_RETURN_IF_ERROR(gpu.Do(&GpuDriver::wait_event, end.event_));
  float milliseconds = 0;
  GLM_RETURN_IF_ERROR(
      gpu.Do(&GpuDriver::elapsed, &milliseconds, begin.event_, end.event_));
  return 1e-3 * milliseconds;
}

absl::StatusOr<std::unique_ptr<Queue>> GpuQueue::Create(OpenGpu& gpu) {
  std::unique_ptr<GpuQueue> queue(new GpuQueue(gpu));
  GLM_RETURN_IF_ERROR(gpu.Do(&GpuDriver::create_stream, &queue->stream_,
                             kGpuStreamNonBlocking));
  GLM_RETURN_IF_ERROR(gpu.Do(&GpuDriver::create_event, &queue->done_,
                             kGpuEventBlockingSync | kGpuEventNoTiming));
  return std::unique_ptr<Queue>(std::move(queue));
}

GpuQueue::~GpuQueue() {
  if (capturing_) EndCapture().IgnoreError();
  if (done_ != nullptr) {
    gpu_.Wait(stream_, done_).IgnoreError();
    gpu_.Drop(&GpuDriver::destroy_event, done_);
  }
  if (stream_ != nullptr) gpu_.Drop(&GpuDriver::destroy_stream, stream_);
}

absl::Status GpuQueue::RefuseWhileCapturing(const char* call) const {
  if (!capturing_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(call, " is not allowed while a graph is captured"));
}

absl::Status GpuQueue::Enqueued(absl::Status status) {
  if (capturing_ && capture_error_.ok()) capture_error_ = status;
  return status;
}

absl::Status GpuQueue::Copy(const Memory& to, uint64_t to_offset,
                            const Memory& from, uint64_t from_offset,
                            uint64_t bytes) {
  GLM_RETURN_IF_ERROR(CheckCopy(to, to_offset, from, from_offset, bytes));
  const uint64_t target = to.address() + to_offset;
  const uint64_t source = from.address() + from_offset;
  if (bytes == 0) return absl::OkStatus();
  return Enqueued(gpu_.Do(&GpuDriver::copy, target, source, bytes, stream_));
}

absl::Status GpuQueue::CheckWaiting(const LaunchCall& call) const {
  if (call.phases.size() < 2) return absl::OkStatus();
  const uint32_t waiting = call.phases.back().end - call.phases.front().end;
  GLM_ASSIGN_OR_RETURN(
      const uint64_t resident,
      static_cast<const GpuKernel*>(call.kernel)
          ->ResidentBlocks(gpu_, call.threads, call.lds_bytes));
  if (waiting < resident) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      waiting, " blocks wait inside the launch, which must be fewer than the ",
      resident, " that this ", gpu_.name(),
      " holds at once; compile with --disable-pass glm-fuse-phases"));
}

absl::Status GpuQueue::Launch(const LaunchCall& call) {
  const auto* kernel = static_cast<const GpuKernel*>(call.kernel);
  assert(kernel != nullptr);
  if (call.args.size() > kMaxArgs) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", kernel->name(), ": ", call.args.size(),
                     " arguments, at most ", kMaxArgs, " are possible"));
  }
  // The one parameter is a struct of all words, which the driver copies. The
  // array is as long as a parameter can be, whatever the kernel declares.
  std::array<uint64_t, kMaxArgs> words = {};
  std::copy(call.args.begin(), call.args.end(), words.begin());
  std::array<void*, 1> parameters = {words.data()};
  absl::Status status = CheckWaiting(call);
  if (status.ok()) {
    status = gpu_.Do(&GpuDriver::launch, kernel->function(), call.grid[0],
                     call.grid[1], call.grid[2], call.threads, 1u, 1u,
                     call.lds_bytes, stream_, parameters.data(), nullptr);
  }
  if (status.ok()) return status;
  return Enqueued(absl::Status(
      status.code(),
      absl::StrCat("kernel ", kernel->name(), ": ", status.message())));
}

absl::Status GpuQueue::Run(std::shared_ptr<const QueueWork> work) {
  absl::Status status = gpu_.MakeCurrent();
  if (status.ok()) status = work->Run(stream_);
  return Enqueued(std::move(status));
}

// Only this thread's calls are watched: others may go on allocating.
absl::Status GpuQueue::BeginCapture() {
  GLM_RETURN_IF_ERROR(RefuseWhileCapturing("BeginCapture"));
  GLM_RETURN_IF_ERROR(
      gpu_.Do(&GpuDriver::begin_capture, stream_, kGpuCaptureThreadLocal));
  capturing_ = true;
  capture_error_ = absl::OkStatus();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Graph>> GpuQueue::EndCapture() {
  if (!capturing_) {
    return absl::FailedPreconditionError("EndCapture without BeginCapture");
  }
  capturing_ = false;
  GpuGraphHandle graph = nullptr;
  // The stream must leave the capture, whatever else fails.
  absl::Status status = gpu_.MakeCurrent();
  status.Update(
      Call(gpu_.driver(), gpu_.driver().end_capture, stream_, &graph));
  // A call that failed explains more than the capture that it broke.
  if (!capture_error_.ok()) status = capture_error_;
  GpuGraphExec exec = nullptr;
  if (status.ok()) {
    status = gpu_.Do(&GpuDriver::instantiate, &exec, graph, 0ull);
  }
  if (graph != nullptr) gpu_.Drop(&GpuDriver::destroy_graph, graph);
  if (!status.ok()) return status;
  return std::unique_ptr<Graph>(std::make_unique<GpuGraph>(gpu_, exec));
}

absl::Status GpuQueue::Replay(const Graph& graph) {
  GLM_RETURN_IF_ERROR(RefuseWhileCapturing("Replay"));
  return gpu_.Do(&GpuDriver::launch_graph,
                 static_cast<const GpuGraph&>(graph).exec(), stream_);
}

absl::Status GpuQueue::Record(Event& event) {
  GLM_RETURN_IF_ERROR(RefuseWhileCapturing("Record"));
  auto& gpu_event = static_cast<GpuEvent&>(event);
  GLM_RETURN_IF_ERROR(
      gpu_.Do(&GpuDriver::record_event, gpu_event.event_, stream_));
  gpu_event.recorded_ = true;
  return absl::OkStatus();
}

absl::Status GpuQueue::Wait(const Event& event) {
  GLM_RETURN_IF_ERROR(RefuseWhileCapturing("Wait"));
  const auto& gpu_event = static_cast<const GpuEvent&>(event);
  if (!gpu_event.recorded_) {
    return absl::FailedPreconditionError("the event was never recorded");
  }
  return gpu_.Do(&GpuDriver::wait_event, gpu_event.event_);
}

absl::Status GpuQueue::Finish() {
  GLM_RETURN_IF_ERROR(RefuseWhileCapturing("Finish"));
  return gpu_.Wait(stream_, done_);
}

}  // namespace glm
