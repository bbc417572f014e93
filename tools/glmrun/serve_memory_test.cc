#include "tools/glmrun/serve_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glm::tools {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kGiB = 1 << 30;

MemoryNeeds Needs() {
  return {.plan_path = "m.glmplan",
          .available = 16 * kGiB,
          .plan = 3 * kGiB,
          .state_per_slot = 256 * kMiB};
}

TEST(ServeMemoryTest, WhereThereIsRoomTheCacheHasItsDefault) {
  const auto shares = ShareMemory(Needs());
  ASSERT_TRUE(shares.ok()) << shares.status();
  EXPECT_EQ(shares->cache, kDefaultCacheBytes);
  EXPECT_EQ(shares->plan_limit, 15 * kGiB);
  EXPECT_EQ(shares->note, "");
}

TEST(ServeMemoryTest, TheLimitHoldsForPlanAndCacheTogether) {
  MemoryNeeds needs = Needs();
  needs.limit = 5 * kGiB;
  needs.cache = 2 * kGiB;
  const auto shares = ShareMemory(needs);
  ASSERT_TRUE(shares.ok()) << shares.status();
  EXPECT_EQ(shares->cache, 2 * kGiB);
  EXPECT_EQ(shares->plan_limit, 3 * kGiB);
}

TEST(ServeMemoryTest, ADefaultGivesWayAndSaysSo) {
  MemoryNeeds needs = Needs();
  needs.limit = 3 * kGiB + 100 * kMiB;
  const auto shares = ShareMemory(needs);
  ASSERT_TRUE(shares.ok()) << shares.status();
  EXPECT_EQ(shares->cache, 100 * kMiB);
  EXPECT_EQ(shares->plan_limit, 3 * kGiB);
  EXPECT_THAT(shares->note, HasSubstr("100.0 MiB for states of prompts"));
  EXPECT_THAT(shares->note, HasSubstr("--memory-limit 3.1 GiB"));
  EXPECT_THAT(shares->note, HasSubstr("3.0 GiB for the plan"));
}

TEST(ServeMemoryTest, WhatWasAskedForIsRefusedWithNumbersAndRemedy) {
  MemoryNeeds needs = Needs();
  needs.limit = 4 * kGiB;
  needs.cache = kGiB + 1;
  const auto refused = ShareMemory(needs);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  for (const char* text :
       {"m.glmplan", "--cache-memory 1.0 GiB", "--memory-limit 4.0 GiB",
        "3.0 GiB for the plan", "leaves 1.0 GiB", "--parallel (256.0 MiB each)",
        "raise --memory-limit"}) {
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(text));
  }
  needs.cache = kGiB;
  EXPECT_TRUE(ShareMemory(needs).ok());
  needs.limit = 0;
  needs.cache = 14 * kGiB;
  const auto without = ShareMemory(needs);
  EXPECT_THAT(std::string(without.status().message()),
              HasSubstr("16.0 GiB available"));
}

TEST(ServeMemoryTest, ExpertsHaveMostOfWhatIsLeft) {
  MemoryNeeds needs = Needs();
  needs.pages = true;
  needs.limit = 7 * kGiB;
  const auto shares = ShareMemory(needs);
  ASSERT_TRUE(shares.ok()) << shares.status();
  EXPECT_EQ(shares->cache, 512 * kMiB);
  EXPECT_EQ(shares->plan_limit, 7 * kGiB - 512 * kMiB);
  EXPECT_THAT(shares->note, HasSubstr("experts have the rest"));
}

TEST(ServeMemoryTest, ACardsLimitIsNotTheHosts) {
  MemoryNeeds needs = Needs();
  needs.unified = false;
  needs.limit = 2 * kGiB;
  needs.plan = 0;
  auto shares = ShareMemory(needs);
  ASSERT_TRUE(shares.ok()) << shares.status();
  EXPECT_EQ(shares->cache, kDefaultCacheBytes);
  EXPECT_EQ(shares->plan_limit, 2 * kGiB);
  needs.cache = 17 * kGiB;
  EXPECT_FALSE(ShareMemory(needs).ok());
}

TEST(ServeMemoryTest, APlanThatDoesNotFitIsTheExecutorsToRefuse) {
  MemoryNeeds needs = Needs();
  needs.limit = kGiB;
  needs.cache = kGiB;
  const auto shares = ShareMemory(needs);
  ASSERT_TRUE(shares.ok()) << shares.status();
  EXPECT_EQ(shares->cache, 0u);
  EXPECT_EQ(shares->plan_limit, kGiB);
}

}  // namespace
}  // namespace glm::tools
