// A thread for each rank, that runs what all of them are told at the same time.
// Private to runtime/executor.
#ifndef GLM_RUNTIME_EXECUTOR_RANK_THREADS_H_
#define GLM_RUNTIME_EXECUTOR_RANK_THREADS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/collective.h"

namespace glm {

// One caller at a time.
class RankThreads {
 public:
  // `group` outlives the result.
  // Errors: kResourceExhausted naming the rank that has no thread.
  static absl::StatusOr<std::unique_ptr<RankThreads>> Create(
      CollectiveGroup& group);
  ~RankThreads();  // joins
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  // Calls `work` once for each rank, on its thread, and returns when all are
  // done: the first error, of the rank that failed first. The others are then
  // ended with the group, a moment later: what all refuse alike ends nothing.
  // With `limit` > 0 it is also ended, with kDeadlineExceeded, when the work
  // takes longer.
  absl::Status All(absl::FunctionRef<absl::Status(uint32_t rank)> work,
                   std::chrono::milliseconds limit = {});

 private:
  explicit RankThreads(CollectiveGroup& group)
      : group_(group), busy_(group.ranks(), false) {}
  void Loop(uint32_t rank);

  CollectiveGroup& group_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;  // done_: a rank is, or has failed
  const absl::FunctionRef<absl::Status(uint32_t)>* work_ = nullptr;
  uint64_t round_ = 0;      // of work
  uint32_t running_ = 0;    // ranks that have not finished it
  std::vector<bool> busy_;  // which
  absl::Status failure_;    // of this round
  uint32_t succeeded_ = 0;  // ranks, of this round
  bool broken_ = false;     // a round failed: the group is to be restarted
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_RANK_THREADS_H_
