// What a BatchEngine tells of its device: steps that hang, counters, its loss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>

#include "runtime/engine/batch_engine.h"
#include "runtime/engine/test_answer.h"
#include "runtime/engine/test_runner.h"

namespace glm {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

BatchEngineOptions Options() {
  BatchEngineOptions options;
  options.cache_bytes = 1 << 20;
  options.cache_min_tokens = 4;
  return options;
}

TEST(DeviceWatchTest, AStepThatHangsIsSeenFromOutside) {
  TestRunner runner;
  auto engine = *BatchEngine::Create(runner, Options());
  EXPECT_EQ(engine->stats().last_step, std::nullopt);
  EXPECT_EQ(engine->stats().in_flight_since, std::nullopt);
  const auto before = EngineStats::Clock::now();
  runner.CloseGate();
  const Sent sent = Send(*engine, Greedy(Prompt(9), 5));
  runner.AwaitSteps(1);
  EngineStats stats = engine->stats();
  ASSERT_TRUE(stats.in_flight_since.has_value());
  EXPECT_GE(*stats.in_flight_since, before);
  EXPECT_EQ(stats.last_step, std::nullopt);
  // The second step: it is not the first that has hung for so long.
  const auto between = EngineStats::Clock::now();
  runner.OpenGate(/*steps=*/1);
  runner.AwaitSteps(2);
  stats = engine->stats();
  ASSERT_TRUE(stats.last_step.has_value());
  EXPECT_GE(*stats.last_step, between);
  ASSERT_TRUE(stats.in_flight_since.has_value());
  EXPECT_GE(*stats.in_flight_since, between);
  runner.OpenGate();
  sent.answer->Wait();
  engine->Drain(absl::InfiniteDuration());
  const auto after = engine->stats().last_step;
  EXPECT_GT(*after, *stats.last_step);
  // The thread is through with it soon.
  while (engine->stats().in_flight_since.has_value()) {
    std::this_thread::yield();
  }
}

TEST(DeviceWatchTest, ExpertsAreCountedWhileNothingIsEnqueued) {
  TestRunner runner;
  BatchEngineOptions options = Options();
  options.traffic_interval = std::chrono::milliseconds(0);
  std::atomic<uint64_t> reads = 0;
  options.expert_traffic = [&]() -> absl::StatusOr<ExpertTraffic> {
    EXPECT_EQ(runner.pending(), 0u);
    return ExpertTraffic{.hits = ++reads, .misses = 2, .host_bytes = 3};
  };
  auto engine = *BatchEngine::Create(runner, options);
  const EngineRequest request = Greedy(Prompt(9), 20);
  const Sent sent = Send(*engine, request);
  sent.answer->Wait();
  EXPECT_EQ(sent.answer->ids(), Alone(request).ids);
  EXPECT_GT(reads, 5u) << "between steps, too";
  const auto experts = engine->stats().experts;
  ASSERT_TRUE(experts.has_value());
  EXPECT_GT(experts->hits, 0u);
  EXPECT_EQ(experts->misses, 2u);
  EXPECT_EQ(engine->stats().state, EngineState::kServing);
}

TEST(DeviceWatchTest, CountersThatCannotBeReadAreALostDevice) {
  for (const bool idle : {false, true}) {
    TestRunner runner;
    BatchEngineOptions options = Options();
    options.traffic_interval = std::chrono::milliseconds(idle ? 1 : 0);
    std::atomic<bool> lost = false;
    options.expert_traffic = [&]() -> absl::StatusOr<ExpertTraffic> {
      if (lost) return absl::InternalError("the copy failed");
      return ExpertTraffic{};
    };
    auto engine = *BatchEngine::Create(runner, options);
    Sent sent;
    if (!idle) {
      sent.answer->on_token = [&](size_t) { lost = true; };
      EngineRequest request = Greedy(Prompt(9), 0);
      request.listener = sent.answer;
      ASSERT_TRUE(engine->Submit(std::move(request)).ok());
      EXPECT_EQ(sent.answer->Wait().status.code(), Code::kUnavailable);
    }
    lost = true;
    while (engine->stats().state != EngineState::kFailed) {
      std::this_thread::yield();
    }
    EXPECT_THAT(engine->stats().failure, HasSubstr("the copy failed"));
    EXPECT_EQ(engine->stats().active, 0u);
    EXPECT_EQ(Refused(*engine, Greedy({1}, 1)), Code::kUnavailable);
  }
}

TEST(DeviceWatchTest, OneReadThatFailsIsNoLostDevice) {
  TestRunner runner;
  BatchEngineOptions options = Options();
  std::atomic<int> reads = 0;
  options.expert_traffic = [&]() -> absl::StatusOr<ExpertTraffic> {
    if (++reads % 2 == 1) return absl::InternalError("busy");
    return ExpertTraffic{};
  };
  auto engine = *BatchEngine::Create(runner, options);
  const Sent sent = Send(*engine, Greedy(Prompt(9), 5));
  EXPECT_TRUE(sent.answer->Wait().status.ok());
  EXPECT_EQ(engine->stats().state, EngineState::kServing);
}

}  // namespace
}  // namespace glm
