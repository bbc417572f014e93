#include "tools/glmrun/bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/status_macros.h"
#include "runtime/base/thread_pool.h"

namespace glm::tools {

double MeasureReadBandwidth(int threads) {
  constexpr uint64_t kWords = (uint64_t{256} << 20) / sizeof(uint64_t);
  const std::vector<uint64_t> data(kWords, 1);
  ThreadPool pool(threads);
  std::atomic<uint64_t> sink{0};
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    pool.ParallelFor(0, kWords, 0, [&](uint64_t from, uint64_t to) {
      uint64_t sum = 0;
      for (uint64_t w = from; w < to; ++w) sum += data[w];
      sink.fetch_add(sum, std::memory_order_relaxed);
    });
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    best = std::max(best, kWords * sizeof(uint64_t) / seconds);
  }
  return sink.load() == 3 * kWords ? best : 0;
}

namespace {

// The median of copies of `most` bytes, or of half, a quarter... where there is
// no room for `ranges` of them, from memory of kind `source`: seconds and bytes
// of one. Bytes are 0 where even 16 MiB do not fit.
struct TimedCopy {
  double seconds = 0;
  uint64_t bytes = 0;
};
absl::StatusOr<TimedCopy> TimeCopies(Device& device, MemoryKind source,
                                     uint64_t most) {
  constexpr uint64_t kLeast = uint64_t{16} << 20;
  constexpr int kCopies = 21;
  const uint64_t ranges = source == MemoryKind::kDevice ? 2 : 1;
  const uint64_t available = device.AvailableBytes();
  uint64_t bytes = most;
  while (ranges * bytes > available && bytes >= kLeast) bytes /= 2;
  if (bytes < kLeast) return TimedCopy{};
  GLM_ASSIGN_OR_RETURN(auto from, device.Allocate(bytes, source, "copies"));
  GLM_ASSIGN_OR_RETURN(auto to,
                       device.Allocate(bytes, MemoryKind::kDevice, "copies"));
  GLM_ASSIGN_OR_RETURN(auto queue, device.CreateQueue());
  std::vector<std::unique_ptr<Event>> events;
  for (int i = 0; i <= kCopies + 1; ++i) {
    GLM_ASSIGN_OR_RETURN(auto event, device.CreateEvent());
    events.push_back(std::move(event));
  }
  // The first copy warms up.
  for (int i = 0; i <= kCopies; ++i) {
    GLM_RETURN_IF_ERROR(queue->Record(*events[i]));
    GLM_RETURN_IF_ERROR(queue->Copy(*to, 0, *from, 0, bytes));
  }
  GLM_RETURN_IF_ERROR(queue->Record(*events[kCopies + 1]));
  GLM_RETURN_IF_ERROR(queue->Finish());
  std::vector<double> seconds;
  for (int i = 1; i <= kCopies; ++i) {
    GLM_ASSIGN_OR_RETURN(const double time,
                         device.SecondsBetween(*events[i], *events[i + 1]));
    seconds.push_back(time);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kCopies / 2,
                   seconds.end());
  return TimedCopy{seconds[kCopies / 2], bytes};
}

double Rate(const TimedCopy& copy, double times) {
  return copy.seconds > 0
             ? times * static_cast<double>(copy.bytes) / copy.seconds
             : 0;
}

}  // namespace

absl::StatusOr<double> MeasureCopyBandwidth(Device& device) {
  GLM_ASSIGN_OR_RETURN(
      const TimedCopy copy,
      TimeCopies(device, MemoryKind::kDevice, uint64_t{256} << 20));
  return Rate(copy, 2);
}

absl::StatusOr<double> MeasureLinkBandwidth(Device& device) {
  GLM_ASSIGN_OR_RETURN(
      const TimedCopy copy,
      TimeCopies(device, MemoryKind::kShared, uint64_t{64} << 20));
  return Rate(copy, 1);
}

}  // namespace glm::tools
