#include "runtime/paging/synthetic_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/paging/cache_policy.h"

namespace glm::paging {
namespace {

std::vector<RoutingStep> All(StepSource& source) {
  std::vector<RoutingStep> steps;
  for (RoutingStep step; *source.Next(step);) {
    EXPECT_TRUE(step.Check(source.shape(), "made up").ok());
    steps.push_back(step);
  }
  return steps;
}

double Repeats(const std::vector<RoutingStep>& steps) {
  uint64_t repeated = 0, all = 0;
  for (size_t s = 1; s < steps.size(); ++s) {
    for (size_t layer = 0; layer < steps[s].layers.size(); ++layer) {
      const std::vector<uint16_t>& before = steps[s - 1].layers[layer];
      for (const uint16_t expert : steps[s].layers[layer]) {
        ++all;
        repeated +=
            std::find(before.begin(), before.end(), expert) != before.end();
      }
    }
  }
  return static_cast<double>(repeated) / static_cast<double>(all);
}

// The numbers that were measured of the released model.
TEST(ZipfTraceTest, SharesAndRepetitionAreThoseMeasured) {
  ZipfOptions options;
  options.steps = 4096;
  ASSERT_TRUE(options.Check().ok());
  ZipfTrace trace(options);
  const std::vector<RoutingStep> steps = All(trace);
  ASSERT_EQ(steps.size(), 4096);
  UseCounts counts(options.shape);
  for (const RoutingStep& step : steps) counts.Add(step);
  EXPECT_NEAR(counts.Coverage(16), 0.31, 0.02);
  EXPECT_NEAR(counts.Coverage(32), 0.44, 0.02);
  EXPECT_NEAR(counts.Coverage(64), 0.61, 0.02);
  EXPECT_NEAR(counts.Coverage(128), 0.82, 0.02);
  EXPECT_NEAR(Repeats(steps), 0.246, 0.01);
}

TEST(ZipfTraceTest, LayersHaveOrdersOfTheirOwn) {
  ZipfOptions options;
  options.shape.layers = 2;
  ZipfTrace trace(options);
  UseCounts counts(options.shape);
  for (const RoutingStep& step : All(trace)) counts.Add(step);
  const std::vector<uint32_t> most = counts.MostUsed();
  std::vector<bool> first(288), second(288);
  for (uint32_t i = 0; i < 64; ++i) {
    (most[i] < 288 ? first : second)[most[i] % 288] = true;
  }
  size_t shared = 0;
  for (uint32_t expert = 0; expert < 288; ++expert) {
    shared += first[expert] && second[expert];
  }
  EXPECT_LT(shared, 16);
}

TEST(ZipfTraceTest, TheSeedIsTheTrace) {
  ZipfOptions options;
  options.steps = 8;
  options.step_tokens = 3;
  ZipfTrace first(options), again(options);
  const std::vector<RoutingStep> steps = All(first);
  EXPECT_EQ(All(again), steps);
  options.seed = 2;
  ZipfTrace other(options);
  EXPECT_NE(All(other), steps);
}

TEST(ZipfTraceTest, JumpsChangeThePopularExperts) {
  ZipfOptions options;
  options.shape.layers = 1;
  options.steps = 2000;
  options.jump_steps = 1000;
  ZipfTrace trace(options);
  const std::vector<RoutingStep> steps = All(trace);
  UseCounts before(options.shape), all(options.shape);
  for (size_t s = 0; s < 1000; ++s) before.Add(steps[s]);
  for (const RoutingStep& step : steps) all.Add(step);
  EXPECT_GT(before.Coverage(16), 0.28);
  EXPECT_LT(all.Coverage(16), 0.26);
}

TEST(ZipfTraceTest, ShapesWithoutEndAreRefused) {
  ZipfOptions options;
  options.range = 1;
  EXPECT_FALSE(options.Check().ok());
  options = {};
  options.kept = 1;
  EXPECT_FALSE(options.Check().ok());
  options = {};
  options.shape.top_k = 289;
  EXPECT_FALSE(options.Check().ok());
  options = {};
  options.step_tokens = 0;
  EXPECT_FALSE(options.Check().ok());
}

TEST(CyclicTraceTest, GoesRoundItsWorkingSet) {
  CyclicTrace trace({2, 10, 2}, 4, 9);
  const std::vector<RoutingStep> steps = All(trace);
  ASSERT_EQ(steps.size(), 4);
  using Experts = std::vector<uint16_t>;
  EXPECT_EQ(steps[0].layers[1], (Experts{0, 1}));
  EXPECT_EQ(steps[1].layers[1], (Experts{2, 3}));
  EXPECT_EQ(steps[2].layers[0], (Experts{4, 0}));
  EXPECT_EQ(steps[3].layers[0], (Experts{1, 2}));
}

}  // namespace
}  // namespace glm::paging
