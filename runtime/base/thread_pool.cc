#include "runtime/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace glm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpin = std::chrono::microseconds(50);
constexpr int kMaxThreadCount = 1024;
constexpr int kYieldAfter = 2000;  // pauses, about 50 us

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// -1 when the file is absent.
int ReadInt(const std::string& path) {
  int value = -1;
  std::ifstream(path) >> value;
  return value;
}

}  // namespace

int DefaultThreadCount() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return std::max(1u, std::thread::hardware_concurrency());
  }
  std::set<std::pair<int, int>> cores;
  int unknown = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string folder =
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const int core = ReadInt(folder + "core_id");
    if (core < 0) {
      ++unknown;
    } else {
      cores.emplace(ReadInt(folder + "physical_package_id"), core);
    }
  }
  return std::clamp(static_cast<int>(cores.size()) + unknown, 1,
                    kMaxThreadCount);
}

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0) threads = DefaultThreadCount();
  threads = std::min(threads, kMaxThreadCount);
  // Where the system gives no more threads, those that there are do the work.
  try {
    for (int i = 1; i < threads; ++i) {
      workers_.emplace_back([this] { WorkerLoop(); });
    }
  } catch (const std::system_error&) {
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_.store(true);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::ParallelFor(uint64_t begin, uint64_t end, uint64_t grain,
                             Body body) {
  if (begin >= end) return;
  const uint64_t count = end - begin;
  if (grain == 0) {
    grain = std::max<uint64_t>(1, count / (8 * uint64_t(threads())));
  }
  if (workers_.empty() || count <= grain) {
    body(begin, end);
    return;
  }
  body_ = &body;
  end_ = end;
  grain_ = grain;
  next_.store(begin, std::memory_order_relaxed);
  const uint64_t epoch =
      (gate_.load(std::memory_order_relaxed) >> kEpochShift) + 1;
  // Sequentially consistent, as is the sleeper's order of `sleeping_` and
  // `gate_`: either we see the sleeper or it sees the open gate.
  gate_.store(epoch << kEpochShift | kOpen);
  if (sleeping_.load() > 0) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
    }
    wake_.notify_all();
  }
  RunChunks();
  // Workers that are still waking up find the gate shut: nobody waits for them.
  gate_.fetch_and(~kOpen);
  for (int i = 0; (gate_.load(std::memory_order_acquire) & kInside) != 0; ++i) {
    if (i < kYieldAfter) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::RunChunks() {
  const uint64_t end = end_, grain = grain_;
  for (;;) {
    const uint64_t at = next_.fetch_add(grain, std::memory_order_relaxed);
    if (at >= end) return;
    (*body_)(at, std::min(end, at + grain));
  }
}

uint64_t ThreadPool::WaitForJob(uint64_t seen_epoch) {
  const auto fresh = [&](uint64_t gate) {
    return (gate & kOpen) != 0 && gate >> kEpochShift != seen_epoch;
  };
  const auto until = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 64; ++i) {
      const uint64_t gate = gate_.load(std::memory_order_acquire);
      if (fresh(gate)) return gate;
      Pause();
    }
  } while (!stop_.load(std::memory_order_relaxed) && Clock::now() < until);
  std::unique_lock<std::mutex> lock(mutex_);
  sleeping_.fetch_add(1);
  uint64_t gate = 0;
  wake_.wait(lock, [&] {
    gate = gate_.load();
    return stop_.load() || fresh(gate);
  });
  sleeping_.fetch_sub(1);
  return gate;
}

void ThreadPool::WorkerLoop() {
  uint64_t seen = 0;
  while (!stop_.load()) {
    uint64_t gate = WaitForJob(seen);
    // Enter, unless the caller has finished without us.
    bool entered = false;
    while ((gate & kOpen) != 0 && gate >> kEpochShift != seen && !entered) {
      entered = gate_.compare_exchange_weak(gate, gate + 1,
                                            std::memory_order_acq_rel);
    }
    if (!entered) continue;
    seen = gate >> kEpochShift;
    RunChunks();
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace glm
