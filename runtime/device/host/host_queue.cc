#include "runtime/device/host/host_queue.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/device/check_copy.h"

namespace glm {
namespace {

// Handing blocks to awake workers and collecting them costs one or two
// microseconds; work shorter than this stays on the caller.
constexpr uint64_t kInlineNs = 6000;

}  // namespace

absl::Status HostQueue::RefuseWhileCapturing(const char* call) const {
  if (capture_ == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(call, " is not allowed while a graph is captured"));
}

absl::Status HostQueue::Copy(const Memory& to, uint64_t to_offset,
                             const Memory& from, uint64_t from_offset,
                             uint64_t bytes) {
  GLM_RETURN_IF_ERROR(CheckCopy(to, to_offset, from, from_offset, bytes));
  const uint64_t target = to.address() + to_offset;
  const uint64_t source = from.address() + from_offset;
  const HostCopy copy{reinterpret_cast<void*>(target),
                      reinterpret_cast<const void*>(source), bytes};
  if (capture_ != nullptr) {
    capture_->items.emplace_back(copy);
  } else {
    std::memcpy(copy.to, copy.from, copy.bytes);
  }
  return absl::OkStatus();
}

absl::Status HostQueue::Launch(const LaunchCall& call) {
  const auto* kernel = static_cast<const HostKernel*>(call.kernel);
  assert(kernel != nullptr);
  HostLaunch launch;
  launch.function = kernel->function();
  launch.grid = call.grid;
  const uint64_t all = uint64_t{call.grid[0]} * call.grid[1] * call.grid[2];
  launch.first_arg = 0;
  const auto parallel = [](uint64_t blocks, uint64_t cost_ns) {
    return blocks > 1 && (cost_ns == 0 || cost_ns >= kInlineNs);
  };
  uint64_t first = 0;
  for (const LaunchPhase& phase : call.phases) {
    launch.phases.push_back(
        {first, phase.end, parallel(phase.end - first, phase.cost_ns)});
    first = phase.end;
  }
  if (call.phases.empty()) {
    launch.phases.push_back({0, all, parallel(all, call.cost_ns)});
  }
  if (capture_ == nullptr) {
    RunLaunch(launch, call.args.data());
    return absl::OkStatus();
  }
  launch.first_arg = capture_->args.size();
  capture_->args.insert(capture_->args.end(), call.args.begin(),
                        call.args.end());
  capture_->items.emplace_back(launch);
  return absl::OkStatus();
}

absl::Status HostQueue::Run(std::shared_ptr<const QueueWork> work) {
  if (capture_ == nullptr) return work->Run(nullptr);
  capture_->items.emplace_back(std::move(work));
  return absl::OkStatus();
}

void HostQueue::RunLaunch(const HostLaunch& launch, const uint64_t* args) {
  for (const HostPhase& phase : launch.phases) {
    if (shuffled_) {
      RunShuffled(launch, phase, args);
      continue;
    }
    if (!phase.parallel) {
      launch.function(args, launch.grid.data(), phase.begin, phase.end);
      continue;
    }
    pool_.ParallelFor(phase.begin, phase.end, 0,
                      [&](uint64_t begin, uint64_t end) {
                        launch.function(args, launch.grid.data(), begin, end);
                      });
  }
}

void HostQueue::RunShuffled(const HostLaunch& launch, const HostPhase& phase,
                            const uint64_t* args) {
  std::vector<uint64_t> order(phase.end - phase.begin);
  std::iota(order.begin(), order.end(), phase.begin);
  std::shuffle(order.begin(), order.end(), random_);
  for (const uint64_t block : order) {
    launch.function(args, launch.grid.data(), block, block + 1);
  }
}

absl::Status HostQueue::BeginCapture() {
  GLM_RETURN_IF_ERROR(RefuseWhileCapturing("BeginCapture"));
  capture_ = std::make_unique<HostGraph>();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Graph>> HostQueue::EndCapture() {
  if (capture_ == nullptr) {
    return absl::FailedPreconditionError("EndCapture without BeginCapture");
  }
  return std::unique_ptr<Graph>(std::move(capture_));
}

absl::Status HostQueue::Replay(const Graph& graph) {
  GLM_RETURN_IF_ERROR(RefuseWhileCapturing("Replay"));
  const auto& list = static_cast<const HostGraph&>(graph);
  for (const auto& item : list.items) {
    if (const auto* launch = std::get_if<HostLaunch>(&item)) {
      RunLaunch(*launch, list.args.data() + launch->first_arg);
    } else if (const auto* work =
                   std::get_if<std::shared_ptr<const QueueWork>>(&item)) {
      GLM_RETURN_IF_ERROR((*work)->Run(nullptr));
    } else {
      const auto& copy = std::get<HostCopy>(item);
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
  }
  return absl::OkStatus();
}

absl::Status HostQueue::Record(Event& event) {
  GLM_RETURN_IF_ERROR(RefuseWhileCapturing("Record"));
  auto& host_event = static_cast<HostEvent&>(event);
  host_event.recorded = true;
  host_event.time = std::chrono::steady_clock::now();
  return absl::OkStatus();
}

absl::Status HostQueue::Wait(const Event& event) {
  GLM_RETURN_IF_ERROR(RefuseWhileCapturing("Wait"));
  if (static_cast<const HostEvent&>(event).recorded) return absl::OkStatus();
  return absl::FailedPreconditionError("the event was never recorded");
}

absl::Status HostQueue::Finish() { return RefuseWhileCapturing("Finish"); }

}  // namespace glm
