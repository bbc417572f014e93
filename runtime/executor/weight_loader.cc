#include "runtime/executor/weight_loader.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/base/status_macros.h"
#include "runtime/executor/weight_layout.h"

namespace glm {
namespace {

constexpr uint64_t kBufferBytes = uint64_t{8} << 20;
constexpr uint64_t kChunk = uint64_t{256} << 10;  // of one thread's work

}  // namespace

absl::Status WeightLoader::Fill(std::span<std::byte> to, uint64_t first,
                                Producer produce) {
  if (to.size() <= kChunk) return produce(first, to);
  if (pool_ == nullptr) pool_ = std::make_unique<ThreadPool>();
  const uint64_t chunks = (to.size() + kChunk - 1) / kChunk;
  std::mutex mutex;
  absl::Status status;
  pool_->ParallelFor(0, chunks, 1, [&](uint64_t begin, uint64_t end) {
    const uint64_t from = begin * kChunk;
    const uint64_t until = std::min<uint64_t>(end * kChunk, to.size());
    absl::Status produced =
        produce(first + from, to.subspan(from, until - from));
    if (produced.ok()) return;
    const std::lock_guard lock(mutex);
    status.Update(std::move(produced));
  });
  return status;
}

absl::Status WeightLoader::Ready(Lane& lane) {
  if (lane.buffer != nullptr) return lane.queue->Finish();
  GLM_ASSIGN_OR_RETURN(lane.queue, device_.CreateQueue());
  GLM_ASSIGN_OR_RETURN(
      lane.buffer,
      device_.Allocate(kBufferBytes, MemoryKind::kShared, "loading weights"));
  return absl::OkStatus();
}

absl::Status WeightLoader::Flush() {
  Lane& lane = lanes_[lane_];
  if (lane.to == nullptr) return absl::OkStatus();
  GLM_RETURN_IF_ERROR(
      lane.queue->Copy(*lane.to, lane.start, *lane.buffer, 0, lane.filled));
  lane.to = nullptr;
  lane_ = 1 - lane_;
  return absl::OkStatus();
}

absl::Status WeightLoader::Write(const Memory& to, uint64_t offset,
                                 uint64_t bytes, Producer produce) {
  if (to.host_data() != nullptr) {
    return Fill({to.host_data() + offset, bytes}, 0, produce);
  }
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t at = offset + done;
    const Lane& held = lanes_[lane_];
    // A gap is the padding between two ranges: nobody reads it.
    if (held.to != nullptr &&
        (held.to != &to || at < held.start + held.filled ||
         at - (held.start + held.filled) >= kCopyAlignment ||
         at - held.start >= kBufferBytes)) {
      GLM_RETURN_IF_ERROR(Flush());
    }
    Lane& lane = lanes_[lane_];
    if (lane.to == nullptr) {
      GLM_RETURN_IF_ERROR(Ready(lane));
      lane.to = &to;
      lane.start = at;
      lane.filled = 0;
    }
    const uint64_t inside = at - lane.start;
    const uint64_t part = std::min(bytes - done, kBufferBytes - inside);
    std::byte* const buffer = lane.buffer->host_data();
    std::memset(buffer + lane.filled, 0, inside - lane.filled);
    GLM_RETURN_IF_ERROR(Fill({buffer + inside, part}, done, produce));
    lane.filled = inside + part;
    done += part;
  }
  return absl::OkStatus();
}

absl::Status WeightLoader::Finish() {
  GLM_RETURN_IF_ERROR(Flush());
  for (const Lane& lane : lanes_) {
    if (lane.queue != nullptr) GLM_RETURN_IF_ERROR(lane.queue->Finish());
  }
  return absl::OkStatus();
}

}  // namespace glm
