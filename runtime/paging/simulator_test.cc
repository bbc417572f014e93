#include "runtime/paging/simulator.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "runtime/paging/synthetic_trace.h"

namespace glm::paging {
namespace {

// A megabyte a row over a gigabyte a second: a millisecond a miss.
constexpr LinkModel kLink = {1e6, 1.0, 0};

Simulator Make(const char* policy, const TraceShape& shape, uint32_t slots,
               const LinkModel& link, uint64_t warmup) {
  auto cache = ExpertCache::Create({shape, *FindPolicy(policy), slots, 1, {}});
  EXPECT_TRUE(cache.ok()) << cache.status();
  return Simulator(*std::move(cache), link, warmup);
}

SimulationResult RunPolicy(const char* policy, StepSource& trace,
                           uint32_t slots, uint64_t warmup) {
  Simulator simulator = Make(policy, trace.shape(), slots, kLink, warmup);
  for (RoutingStep step; *trace.Next(step);) {
    EXPECT_TRUE(simulator.Add(step).ok());
  }
  return simulator.result();
}

TEST(SimulatorTest, SumsAreThoseOfTheStepsThatCount) {
  LinkModel link = kLink;
  link.overlap_us = 500;
  Simulator simulator = Make("lru", {2, 8, 2}, 8, link, 1);
  for (const RoutingStep& step : std::vector<RoutingStep>{
           {1, {{0, 1}, {0, 1}}},     // warm-up
           {1, {{0, 2}, {0, 1}}},     // 1 miss in layer 0
           {1, {{3, 4}, {0, 1}}}}) {  // 2 misses in layer 0
    ASSERT_TRUE(simulator.Add(step).ok());
  }
  const SimulationResult& r = simulator.result();
  EXPECT_EQ(r.steps, 2);
  EXPECT_EQ(r.tokens, 2);
  EXPECT_EQ(r.all.hits, 5);
  EXPECT_EQ(r.all.misses, 3);
  EXPECT_EQ(r.layers[0].hits, 1);
  EXPECT_EQ(r.layers[0].misses, 3);
  EXPECT_EQ(r.layers[1].misses, 0);
  EXPECT_DOUBLE_EQ(r.layers[0].HitRate(), 0.25);
  EXPECT_DOUBLE_EQ(r.bytes, 3e6);
  EXPECT_DOUBLE_EQ(r.GbPerToken(), 1.5e-3);
  EXPECT_DOUBLE_EQ(r.stall_ms, 0.5 + 1.5);
  EXPECT_DOUBLE_EQ(r.worst_step_ms, 1.5);
  EXPECT_DOUBLE_EQ(r.StallMsPerToken(), 1.0);
  EXPECT_DOUBLE_EQ(r.TokensPerSecond(9.0), 100.0);
}

TEST(SimulatorTest, StepsOfAnotherShapeAreRefused) {
  Simulator simulator = Make("lru", {2, 8, 2}, 8, kLink, 0);
  EXPECT_FALSE(simulator.Add({1, {{0, 1}}}).ok());
  EXPECT_FALSE(simulator.Add({1, {{0, 1}, {0, 8}}}).ok());
}

TEST(SimulatorTest, NothingCountedIsNoDivisionByZero) {
  Simulator simulator = Make("lru", {2, 8, 2}, 8, kLink, 9);
  ASSERT_TRUE(simulator.Add({1, {{0, 1}, {0, 1}}}).ok());
  EXPECT_EQ(simulator.result().all.HitRate(), 0);
  EXPECT_EQ(simulator.result().StallMsPerToken(), 0);
  EXPECT_EQ(simulator.result().GbPerToken(), 0);
}

// A circle of 12 rows, 4 a step, through 10 slots: LRU always has the wrong
// ones.
TEST(SimulatorTest, AScanLargerThanTheArenaDefeatsLruAlone) {
  const auto rate = [](const char* policy) {
    CyclicTrace trace({2, 6, 2}, 600, 12);
    return RunPolicy(policy, trace, 10, 200).all.HitRate();
  };
  EXPECT_EQ(rate("lru"), 0);
  EXPECT_GT(rate("lfru"), 0.5);
}

TEST(SimulatorTest, NoPolicyBeatsTheBound) {
  ZipfOptions zipf;
  zipf.shape = {4, 32, 4};
  zipf.steps = 600;
  ZipfTrace for_bound(zipf);
  ClairvoyantBound bound(zipf.shape);
  for (RoutingStep step; *for_bound.Next(step);) bound.Add(step);
  const SimulationResult best = bound.Run(48, kLink, 100);
  for (const Policy& policy : Policies()) {
    if (policy.pinned) continue;
    ZipfTrace trace(zipf);
    const SimulationResult r = RunPolicy(policy.name, trace, 48, 100);
    EXPECT_EQ(r.all.hits + r.all.misses, best.all.hits + best.all.misses);
    EXPECT_LT(r.all.hits, best.all.hits) << policy.name;
  }
}

// One layer, 3 slots, rows 0 1 2 3 0 1 2 3 ...: by hand.
TEST(SimulatorTest, TheBoundKeepsWhatComesSoonest) {
  ClairvoyantBound bound({1, 4, 1});
  for (const uint16_t expert : {0, 1, 2, 3, 0, 1, 2, 3})
    bound.Add({1, {{expert}}});
  const SimulationResult r = bound.Run(3, kLink, 0);
  EXPECT_EQ(r.all.misses, 5);
  EXPECT_EQ(r.all.hits, 3);
}

// What the released model's arena of one of two cards should show.
TEST(SimulatorTest, LfruIsTheBestOnTracesLikeTheModels) {
  const auto rate = [](const char* policy) {
    ZipfOptions zipf;
    zipf.steps = 768;
    ZipfTrace trace(zipf);
    return RunPolicy(policy, trace, 2383, 384).all.HitRate();
  };
  const double lfru = rate("lfru");
  EXPECT_GT(lfru, rate("lru") + 0.08);
  EXPECT_GT(lfru, rate("quota-lru") + 0.08);
  EXPECT_GT(lfru, rate("lfu") + 0.03);
}

}  // namespace
}  // namespace glm::paging
