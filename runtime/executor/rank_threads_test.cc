// Ranks that wait for one that has failed, or that never comes.
#include "runtime/executor/rank_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include "runtime/base/scarce_threads.h"

namespace glm {
namespace {

using ::testing::HasSubstr;

// A group whose ranks wait until it is ended, like kernels that spin.
class SpinningGroup : public CollectiveGroup {
 public:
  std::string Describe() const override { return "2 spinning ranks"; }
  uint32_t ranks() const override { return 2; }
  Collective& rank(uint32_t) override { std::abort(); }
  void Abort(const absl::Status& why) override {
    ended_with = std::string(why.message());
    ended = true;
  }
  absl::Status Restart() override {
    ++restarts;
    if (ended) return absl::UnavailableError("it was ended");
    return absl::OkStatus();
  }

  absl::Status Spin() {
    while (!ended) std::this_thread::yield();
    return absl::AbortedError("ended");
  }

  std::string ended_with;
  std::atomic<bool> ended = false;
  int restarts = 0;
};

TEST(RankThreadsTest, EachRankRunsOnceOnAThreadOfItsOwn) {
  SpinningGroup group;
  const auto created = RankThreads::Create(group);
  RankThreads& threads = **created;
  std::thread::id ids[2][2];
  for (auto& round : ids) {
    EXPECT_TRUE(threads
                    .All([&](uint32_t r) {
                      round[r] = std::this_thread::get_id();
                      return absl::OkStatus();
                    })
                    .ok());
  }
  EXPECT_NE(ids[0][0], ids[0][1]);
  EXPECT_NE(ids[0][0], std::this_thread::get_id());
  EXPECT_EQ(ids[0][0], ids[1][0]);
  EXPECT_EQ(group.restarts, 0);
}

TEST(RankThreadsTest, OthersAreEndedWithTheWordsOfTheFirst) {
  SpinningGroup group;
  const auto created = RankThreads::Create(group);
  RankThreads& threads = **created;
  const absl::Status status = threads.All([&](uint32_t r) {
    return r == 1 ? absl::DataLossError("no weights") : group.Spin();
  });
  EXPECT_EQ(status, absl::DataLossError("rank 1: no weights"));
  EXPECT_EQ(group.ended_with, "rank 1: no weights");
  EXPECT_EQ(threads.All([](uint32_t) { return absl::OkStatus(); }).code(),
            absl::StatusCode::kUnavailable)
      << "nothing runs on a group that cannot go on";
}

TEST(RankThreadsTest, WhatAllRefuseEndsNothing) {
  SpinningGroup group;
  const auto created = RankThreads::Create(group);
  RankThreads& threads = **created;
  EXPECT_EQ(
      threads
          .All([](uint32_t) { return absl::InvalidArgumentError("too long"); })
          .code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(group.ended);
  EXPECT_TRUE(threads.All([](uint32_t) { return absl::OkStatus(); }).ok());
  EXPECT_EQ(group.restarts, 1);
}

// What the others enqueued may wait on their devices for the one that failed.
TEST(RankThreadsTest, WhatSomeRefuseEndsAll) {
  SpinningGroup group;
  const auto created = RankThreads::Create(group);
  RankThreads& threads = **created;
  const absl::Status status = threads.All([](uint32_t r) {
    return r == 1 ? absl::InternalError("not enqueued") : absl::OkStatus();
  });
  EXPECT_EQ(status, absl::InternalError("rank 1: not enqueued"));
  EXPECT_EQ(group.ended_with, "rank 1: not enqueued");
}

TEST(RankThreadsTest, AStepThatDoesNotEndIsEnded) {
  SpinningGroup group;
  const auto created = RankThreads::Create(group);
  RankThreads& threads = **created;
  const absl::Status status = threads.All(
      [&](uint32_t r) { return r == 0 ? absl::OkStatus() : group.Spin(); },
      std::chrono::milliseconds(20));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(),
              HasSubstr("rank 1: the step did not end within 20 ms"));
  EXPECT_TRUE(group.ended);
}

TEST(RankThreadsTest, AThreadThatTheSystemRefusesIsAnError) {
  if (!kThreadsCanBeScarce) GTEST_SKIP();
  class Many : public SpinningGroup {
    uint32_t ranks() const override { return 4096; }
  };
  EXPECT_EXIT(
      {
        MakeThreadsScarce();
        Many group;
        const absl::Status status = RankThreads::Create(group).status();
        std::fputs(std::string(status.message()).c_str(), stderr);
        _exit(absl::IsResourceExhausted(status) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "no thread for rank [0-9]+: .*ulimit -u");
}

}  // namespace
}  // namespace glm
