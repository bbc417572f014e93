// Ranks of the host, each on a thread: sums to the bit, and what happens when
// one does not come.
#include "runtime/device/host/host_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/device/host/host_device.h"

namespace glm {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kBytes = 32768;

// A device, its memory and queue.
struct Rank {
  std::unique_ptr<Device> device = *CreateHostDevice({.threads = 1});
  std::unique_ptr<Memory> memory =
      *device->Allocate(kBytes, MemoryKind::kDevice, "test");
  std::unique_ptr<Queue> queue = *device->CreateQueue();

  template <typename T>
  T* At(uint64_t offset) {
    return reinterpret_cast<T*>(memory->host_data() + offset);
  }
  CollectiveCall Call(CollectiveOp op, uint64_t from, uint64_t to,
                      uint64_t count) {
    return {op,   CollectiveElement::kF32, memory.get(), from, memory.get(), to,
            count};
  }
};

// Runs `work` for each rank on a thread of its own.
std::vector<absl::Status> Together(
    uint32_t ranks, const std::function<absl::Status(uint32_t)>& work) {
  std::vector<absl::Status> results(ranks);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] { results[r] = work(r); });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(HostCollectiveTest, SumsInOrderOfTheRanksWithEqualBits) {
  constexpr uint32_t kRanks = 3;
  constexpr uint64_t kCount = 2501;  // no multiple of anything
  auto group = CreateHostGroup(kRanks);
  std::vector<Rank> ranks(kRanks);
  std::vector<float> expected(kCount);
  for (uint64_t i = 0; i < kCount; ++i) {
    // Of these the order of addition shows.
    const float parts[] = {1e8f, 1.0f + static_cast<float>(i), -1e8f};
    for (uint32_t r = 0; r < kRanks; ++r) ranks[r].At<float>(0)[i] = parts[r];
    expected[i] = (parts[0] + parts[1]) + parts[2];
  }
  const auto results = Together(kRanks, [&](uint32_t r) {
    return group->rank(r).Enqueue(
        *ranks[r].queue,
        ranks[r].Call(CollectiveOp::kAllReduce, 0, 16384, kCount));
  });
  EXPECT_THAT(results, Each(absl::OkStatus()));
  for (Rank& rank : ranks) {
    EXPECT_EQ(std::memcmp(rank.At<float>(16384), expected.data(), 4 * kCount),
              0);
  }
}

TEST(HostCollectiveTest, Bf16IsSummedInFp32AndRoundedOnce) {
  auto group = CreateHostGroup(3);
  std::vector<Rank> ranks(3);
  // 256 + 1 + 1 = 258: summed in bf16, with a spacing of 2, it stays 256.
  const uint16_t parts[] = {0x4380, 0x3f80, 0x3f80};
  for (uint32_t r = 0; r < 3; ++r) ranks[r].At<uint16_t>(0)[0] = parts[r];
  const auto results = Together(3, [&](uint32_t r) {
    CollectiveCall call = ranks[r].Call(CollectiveOp::kAllReduce, 0, 0, 1);
    call.element = CollectiveElement::kBF16;
    return group->rank(r).Enqueue(*ranks[r].queue, call);
  });
  EXPECT_THAT(results, Each(absl::OkStatus()));
  for (Rank& rank : ranks) EXPECT_EQ(rank.At<uint16_t>(0)[0], 0x4381);
}

TEST(HostCollectiveTest, GraphsRecordSumsInPlaceAndGathers) {
  auto group = CreateHostGroup(2);
  std::vector<Rank> ranks(2);
  for (uint32_t r = 0; r < 2; ++r) ranks[r].At<float>(0)[0] = 1.0f + r;
  const auto results = Together(2, [&](uint32_t r) -> absl::Status {
    Rank& rank = ranks[r];
    absl::Status status = rank.queue->BeginCapture();
    status.Update(group->rank(r).Enqueue(
        *rank.queue, rank.Call(CollectiveOp::kAllGather, 0, 64, 1)));
    status.Update(group->rank(r).Enqueue(
        *rank.queue, rank.Call(CollectiveOp::kAllReduce, 0, 0, 1)));
    auto graph = rank.queue->EndCapture();
    status.Update(graph.status());
    EXPECT_EQ(rank.At<float>(0)[0], 1.0f + r);  // nothing ran yet
    for (int i = 0; i < 3 && status.ok(); ++i) {
      status.Update(rank.queue->Replay(**graph));
    }
    return status;
  });
  EXPECT_THAT(results, Each(absl::OkStatus()));
  for (Rank& rank : ranks) {
    EXPECT_EQ(rank.At<float>(0)[0], 12);  // 3, doubled twice
    EXPECT_THAT(std::vector(rank.At<float>(64), rank.At<float>(64) + 2),
                ElementsAre(6, 6));  // before the last sum
  }
}

TEST(HostCollectiveTest, ARankThatDoesNotComeIsNamed) {
  auto group =
      CreateHostGroup(3, {.time_limit = std::chrono::milliseconds(50)});
  std::vector<Rank> ranks(3);
  const auto call = [&](uint32_t r) {
    return group->rank(r).Enqueue(
        *ranks[r].queue, ranks[r].Call(CollectiveOp::kAllReduce, 0, 0, 4));
  };
  // All meet once; then rank 1 stays away.
  EXPECT_THAT(Together(3, call), Each(absl::OkStatus()));
  const auto results = Together(
      3, [&](uint32_t r) { return r == 1 ? absl::OkStatus() : call(r); });
  for (uint32_t r : {0, 2}) {
    EXPECT_EQ(results[r].code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(results[r].message(),
                HasSubstr("rank 1 did not come to collective 1"));
  }
  // The group has ended for all, until it is started again.
  EXPECT_EQ(call(1).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(group->Restart().ok());
  EXPECT_THAT(Together(3, call), Each(absl::OkStatus()));
}

TEST(HostCollectiveTest, AbortEndsWhatWaits) {
  auto group = CreateHostGroup(2);
  std::vector<Rank> ranks(2);
  const auto results = Together(2, [&](uint32_t r) {
    if (r == 1) {
      group->Abort(absl::InternalError("the card is gone"));
      return absl::OkStatus();
    }
    return group->rank(0).Enqueue(
        *ranks[0].queue, ranks[0].Call(CollectiveOp::kAllReduce, 0, 0, 4));
  });
  EXPECT_EQ(results[0].code(), absl::StatusCode::kAborted);
  EXPECT_THAT(results[0].message(), HasSubstr("the card is gone"));
}

TEST(HostCollectiveTest, DifferentCollectivesAreRefused) {
  auto group = CreateHostGroup(2);
  std::vector<Rank> ranks(2);
  const auto results = Together(2, [&](uint32_t r) {
    return group->rank(r).Enqueue(
        *ranks[r].queue, ranks[r].Call(CollectiveOp::kAllReduce, 0, 0, 4 + r));
  });
  for (const absl::Status& status : results) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(status.message(), HasSubstr("different collectives"));
  }
}

TEST(HostCollectiveTest, RangesOutsideAreRefused) {
  auto group = CreateHostGroup(2);
  Rank rank;
  for (const CollectiveCall& call :
       {rank.Call(CollectiveOp::kAllReduce, 0, 0, kBytes / 4 + 1),
        rank.Call(CollectiveOp::kAllReduce, kBytes, 0, 1),
        rank.Call(CollectiveOp::kAllGather, 0, 0, kBytes / 4),
        rank.Call(CollectiveOp::kAllReduce, 0, 0, ~uint64_t{0}),
        rank.Call(CollectiveOp::kAllReduce, 2, 0, 1)}) {
    EXPECT_EQ(group->rank(0).Enqueue(*rank.queue, call).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(SimulatedRankTest, CopiesItsOwnPart) {
  auto alone = SimulateRank(1, 2);
  EXPECT_EQ(alone->rank(), 1u);
  EXPECT_EQ(alone->ranks(), 2u);
  Rank rank;
  rank.At<float>(0)[0] = 5;
  EXPECT_TRUE(
      alone->Enqueue(*rank.queue, rank.Call(CollectiveOp::kAllReduce, 0, 64, 1))
          .ok());
  EXPECT_TRUE(
      alone->Enqueue(*rank.queue, rank.Call(CollectiveOp::kAllReduce, 0, 0, 1))
          .ok());
  EXPECT_TRUE(
      alone
          ->Enqueue(*rank.queue, rank.Call(CollectiveOp::kAllGather, 0, 128, 1))
          .ok());
  EXPECT_EQ(rank.At<float>(64)[0], 5);
  EXPECT_THAT(std::vector(rank.At<float>(128), rank.At<float>(128) + 2),
              ElementsAre(0, 5));
}

}  // namespace
}  // namespace glm
