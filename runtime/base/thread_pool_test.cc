#include "runtime/base/thread_pool.h"

#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace glm {
namespace {

TEST(ThreadPoolTest, EveryElementIsVisitedOnceWhateverTheShape) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const uint64_t count : {0, 1, 2, 7, 64, 1000}) {
      for (const uint64_t grain : {0, 1, 3, 2000}) {
        std::vector<std::atomic<int>> visits(count);
        pool.ParallelFor(10, 10 + count, grain, [&](uint64_t b, uint64_t e) {
          ASSERT_LT(b, e);
          for (uint64_t i = b; i < e; ++i) visits[i - 10].fetch_add(1);
        });
        for (auto& visit : visits) EXPECT_EQ(visit.load(), 1);
      }
    }
  }
}

// Plain (not atomic) sums: the thread sanitizer sees a missing order here.
TEST(ThreadPoolTest, ResultsOfOneRangeAreSeenByTheNext) {
  ThreadPool pool(4);
  std::vector<uint64_t> values(256, 0);
  for (int round = 0; round < 3000; ++round) {
    pool.ParallelFor(0, values.size(), 8, [&](uint64_t b, uint64_t e) {
      for (uint64_t i = b; i < e; ++i) ++values[i];
    });
  }
  for (const uint64_t value : values) EXPECT_EQ(value, 3000u);
}

TEST(ThreadPoolTest, WorkersTakePart) {
  ThreadPool pool(3);
  std::atomic<int> inside{0};
  // Each call waits for all three, so one thread alone could not finish.
  pool.ParallelFor(0, 3, 1, [&](uint64_t, uint64_t) {
    inside.fetch_add(1);
    while (inside.load() < 3) std::this_thread::yield();
  });
  EXPECT_EQ(inside.load(), 3);
}

TEST(ThreadPoolTest, WorkersWakeAfterSleeping) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> inside{0};
    pool.ParallelFor(0, 2, 1, [&](uint64_t, uint64_t) {
      inside.fetch_add(1);
      while (inside.load() < 2) std::this_thread::yield();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(ThreadPoolTest, IdlePoolUsesNoProcessorTime) {
  ThreadPool pool(4);
  pool.ParallelFor(0, 100, 1, [](uint64_t, uint64_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used =
      (after.tv_sec - before.tv_sec) + 1e-9 * (after.tv_nsec - before.tv_nsec);
  EXPECT_LT(used, 0.02);
}

TEST(ThreadPoolTest, DefaultIsAtLeastOneAndAtMostTheMachine) {
  EXPECT_GE(DefaultThreadCount(), 1);
  EXPECT_LE(
      DefaultThreadCount(),
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
}

}  // namespace
}  // namespace glm
