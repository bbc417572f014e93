// `ThreadPool` spreads the blocks of one kernel launch over threads, for work
// that lasts microseconds: a worker that has nothing to do spins briefly, so
// that the next launch finds it awake, then sleeps. An idle pool uses no
// processor time.
//
// It is no task queue: one range at a time, the caller works along and waits.
//
//   ThreadPool pool(8);
//   pool.ParallelFor(0, blocks, 0, [&](uint64_t begin, uint64_t end) { ... });
#ifndef GLM_RUNTIME_BASE_THREAD_POOL_H_
#define GLM_RUNTIME_BASE_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace glm {

// Cores that this process may use: physical ones, since two threads of one core
// share the vector units and the bandwidth that kernels live on.
int DefaultThreadCount();

// One caller at a time; ParallelFor must not be called from its own body.
class ThreadPool {
 public:
  // `threads` counts the caller; 0: DefaultThreadCount().
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();  // joins
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls `body(b, e)` on disjoint ranges that together are begin..end, from
  // several threads at once, and returns when all are done. `grain`: elements a
  // call; 0 chooses about eight calls a thread. `body` must not throw.
  void ParallelFor(uint64_t begin, uint64_t end, uint64_t grain,
                   absl::FunctionRef<void(uint64_t, uint64_t)> body);

 private:
  using Body = absl::FunctionRef<void(uint64_t, uint64_t)>;

  void WorkerLoop();
  void RunChunks();
  uint64_t WaitForJob(uint64_t seen_epoch);

  // The gate orders everything: bits 0..15 count the workers inside the job,
  // bit 16 says that it may be entered, the rest is the job's number. The
  // caller writes the job's fields only while the gate is shut and empty.
  static constexpr uint64_t kInside = 0xffff;
  static constexpr uint64_t kOpen = 0x10000;
  static constexpr int kEpochShift = 17;
  alignas(64) std::atomic<uint64_t> gate_{0};
  alignas(64) std::atomic<uint64_t> next_{0};  // first element not taken
  uint64_t end_ = 0;
  uint64_t grain_ = 1;
  const Body* body_ = nullptr;

  alignas(64) std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_BASE_THREAD_POOL_H_
