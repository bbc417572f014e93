#include "runtime/engine/batch_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "runtime/engine/test_answer.h"
#include "runtime/engine/test_runner.h"
#include "runtime/sequence/generator.h"

namespace glm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Code = absl::StatusCode;

BatchEngineOptions Options(uint32_t queue_limit = 100,
                           uint64_t cache_bytes = 1 << 20) {
  BatchEngineOptions options;
  options.queue_limit = queue_limit;
  options.cache_bytes = cache_bytes;
  options.cache_interval = 32;
  options.cache_min_tokens = 4;
  return options;
}

TEST(BatchEngineTest, OneRequestIsAnsweredAsAlone) {
  TestRunner runner;
  auto engine = *BatchEngine::Create(runner, Options());
  EngineRequest request = Greedy(Prompt(23), 12);
  const GenerateResult alone = Alone(request);
  const Sent sent = Send(*engine, request);
  const RequestResult result = sent.answer->Wait();
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(sent.answer->ids(), alone.ids);
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);
  EXPECT_EQ(result.prompt_tokens, 23u);
  EXPECT_EQ(result.cached_tokens, 0u);
  EXPECT_EQ(result.generated_tokens, 12u);
  EXPECT_EQ(result.stop_id, std::nullopt);

  request.stop_ids = {alone.ids[5]};
  const Sent stopped = Send(*engine, request);
  EXPECT_EQ(stopped.answer->Wait().finish_reason, FinishReason::kStop);
  EXPECT_EQ(stopped.answer->Wait().stop_id, alone.ids[5]);
  EXPECT_EQ(stopped.answer->ids(), Alone(request).ids);
  EXPECT_GT(runner.follows, 0) << "steps follow each other on the device";
  EXPECT_EQ(runner.host_steps, 0);
}

TEST(BatchEngineTest, StatsAddUp) {
  TestRunner runner;
  auto engine = *BatchEngine::Create(runner, Options());
  for (int i = 0; i < 20; ++i) {
    Sent sent = Send(*engine, Greedy(Prompt(5, i), 3));
    sent.answer->Wait();
    engine->Cancel(sent.id);  // has ended: nothing happens
  }
  runner.CloseGate();
  const Sent cut = Send(*engine, Greedy(Prompt(9), 50));
  engine->Cancel(cut.id);
  engine->Cancel(cut.id);
  engine->Cancel(12345);
  runner.OpenGate();
  EXPECT_EQ(cut.answer->Wait().finish_reason, FinishReason::kCancelled);
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.requests, 21u);
  EXPECT_EQ(stats.cancelled, 1u);
  EXPECT_EQ(stats.active, 0u);
  EXPECT_EQ(stats.queued, 0u);
  EXPECT_EQ(stats.slots, 8u);
  EXPECT_EQ(stats.generated_tokens, 60 + cut.answer->Wait().generated_tokens);
  EXPECT_EQ(stats.state, EngineState::kServing);
}

TEST(BatchEngineTest, AnExceptionEndsTheEngineAndNotTheProcess) {
  TestRunner runner;
  runner.fail = [](uint64_t, const StepInputs&) -> absl::Status {
    throw std::bad_alloc();
  };
  auto engine = *BatchEngine::Create(runner, Options());
  const Sent sent = Send(*engine, Greedy(Prompt(5), 3));
  EXPECT_EQ(sent.answer->Wait().status.code(), Code::kInternal);
  engine->Drain(absl::InfiniteDuration());
  EXPECT_EQ(engine->stats().state, EngineState::kFailed);
  EXPECT_THAT(engine->stats().failure, HasSubstr("bad_alloc"));
  EXPECT_EQ(engine->stats().active, 0u);
  EXPECT_EQ(Refused(*engine, Greedy(Prompt(5), 3)), Code::kUnavailable);
}

TEST(BatchEngineTest, BadRequestsAreRefused) {
  TestRunner runner;
  auto engine = *BatchEngine::Create(runner, Options());
  EXPECT_EQ(Refused(*engine, Greedy({}, 1)), Code::kInvalidArgument);
  EXPECT_EQ(Refused(*engine, Greedy({1, 61}, 1)), Code::kInvalidArgument);
  EXPECT_EQ(Refused(*engine, Greedy({-1}, 1)), Code::kInvalidArgument);
  EngineRequest request = Greedy({1}, 1);
  request.sampling.top_p = 0;
  EXPECT_EQ(Refused(*engine, request), Code::kInvalidArgument);
  request = Greedy({1}, 1);
  request.top_logprobs = 21;
  EXPECT_EQ(Refused(*engine, request), Code::kInvalidArgument);
  EXPECT_EQ(engine->Submit(Greedy({1}, 1)).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(engine->stats().requests, 0u);
}

// A prompt that can never fit is refused at once, and hurts nobody.
TEST(BatchEngineTest, PromptsAtTheEndOfTheContext) {
  TestRunner runner;
  auto engine = *BatchEngine::Create(runner, Options());
  for (const uint32_t count : {127, 128}) {
    const Sent sent = Send(*engine, Greedy(Prompt(count), 0));
    EXPECT_EQ(sent.answer->Wait().finish_reason, FinishReason::kLength);
    EXPECT_EQ(sent.answer->ids(), Alone(Greedy(Prompt(count), 0)).ids);
    EXPECT_EQ(sent.answer->ids().size(), 129 - count);
  }
  EngineRequest request = Greedy(Prompt(129), 1);
  request.listener = std::make_shared<Answer>();
  const absl::Status refused = engine->Submit(request).status();
  EXPECT_EQ(refused.code(), Code::kOutOfRange);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("129"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("128"));
  EXPECT_EQ(Send(*engine, Greedy({5}, 2)).answer->Wait().generated_tokens, 2u);
}

TEST(BatchEngineTest, TheQueueIsBoundedAndInOrder) {
  TestRunnerOptions one;
  one.slots = 1;
  TestRunner runner(one);
  auto engine = *BatchEngine::Create(runner, Options(/*queue_limit=*/3));
  runner.CloseGate();
  std::vector<Sent> sent;
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) {
    Sent next;
    next.answer->on_finish = [&order, i] { order.push_back(i); };
    EngineRequest request = Greedy(Prompt(5, i), 2);
    request.listener = next.answer;
    next.id = *engine->Submit(std::move(request));
    sent.push_back(next);
  }
  runner.AwaitSteps(1);
  EXPECT_EQ(Refused(*engine, Greedy({1}, 1)), Code::kResourceExhausted);
  EngineStats stats = engine->stats();
  EXPECT_EQ(stats.active, 1u);
  EXPECT_EQ(stats.queued, 3u);
  // Whoever leaves the queue makes room.
  engine->Cancel(sent[2].id);
  runner.OpenGate();
  for (const Sent& s : sent) s.answer->Wait();
  EXPECT_EQ(sent[2].answer->Wait().finish_reason, FinishReason::kCancelled);
  EXPECT_EQ(sent[2].answer->ids().size(), 0u);
  engine->Drain(absl::InfiniteDuration());
  ASSERT_EQ(order.size(), 4u);
  std::erase(order, 2);
  EXPECT_THAT(order, ElementsAre(0, 1, 3));
}

// The step that runs, one enqueued behind it, and no more.
TEST(BatchEngineTest, CancellingEndsAPromptWithinAStep) {
  for (const bool ahead : {false, true}) {
    TestRunnerOptions options;
    options.ahead = ahead;
    TestRunner runner(options);
    auto engine = *BatchEngine::Create(runner, Options());
    runner.CloseGate();
    const Sent sent = Send(*engine, Greedy(Prompt(120), 0));
    runner.AwaitSteps(1);
    engine->Cancel(sent.id);
    runner.OpenGate();
    const RequestResult result = sent.answer->Wait();
    EXPECT_EQ(result.finish_reason, FinishReason::kCancelled);
    EXPECT_EQ(result.generated_tokens, 0u);
    engine->Drain(absl::InfiniteDuration());
    EXPECT_LE(runner.steps_begun(), ahead ? 2u : 1u);
    EXPECT_EQ(engine->stats().active, 0u);
  }
}

TEST(BatchEngineTest, CancellingEndsAnAnswerWithinAStep) {
  for (const bool ahead : {false, true}) {
    TestRunnerOptions options;
    options.ahead = ahead;
    TestRunner runner(options);
    auto engine = *BatchEngine::Create(runner, Options());
    Sent sent;
    uint64_t before = 0;
    sent.answer->on_token = [&](size_t count) {
      if (count != 2) return;
      before = runner.steps_begun();
      runner.CloseGate();
    };
    EngineRequest request = Greedy(Prompt(3), 0);
    request.listener = sent.answer;
    sent.id = *engine->Submit(request);
    // A chunk, and the steps up to the one that waits.
    runner.AwaitSteps(3);
    engine->Cancel(sent.id);
    runner.OpenGate();
    EXPECT_EQ(sent.answer->Wait().finish_reason, FinishReason::kCancelled);
    EXPECT_EQ(sent.answer->Wait().generated_tokens, 3u);
    engine->Drain(absl::InfiniteDuration());
    EXPECT_EQ(before, 2u);
    EXPECT_LE(runner.steps_begun(), before + (ahead ? 2 : 1));
  }
}

TEST(BatchEngineTest, AListenerMayEndItsRequestAndCallTheEngine) {
  TestRunnerOptions one;
  one.slots = 1;
  TestRunner runner(one);
  auto engine = *BatchEngine::Create(runner, Options());
  Sent first, second, third;
  first.answer->stop_after = 4;
  third.answer->on_token = [&](size_t) { engine->Cancel(third.id); };
  std::atomic<int> submitted = 0;
  first.answer->on_finish = [&] {
    EXPECT_EQ(engine->stats().active, 0u);
    EngineRequest request = Greedy(Prompt(3), 2);
    request.listener = second.answer;
    submitted += engine->Submit(request).ok();
    request = Greedy(Prompt(4), 100);
    request.listener = third.answer;
    third.id = *engine->Submit(request);
  };
  EngineRequest request = Greedy(Prompt(6), 20);
  request.listener = first.answer;
  ASSERT_TRUE(engine->Submit(request).ok());
  EXPECT_EQ(first.answer->Wait().finish_reason, FinishReason::kStop);
  EXPECT_EQ(first.answer->ids().size(), 4u);
  EXPECT_EQ(second.answer->Wait().generated_tokens, 2u);
  EXPECT_EQ(third.answer->Wait().finish_reason, FinishReason::kCancelled);
  EXPECT_EQ(third.answer->Wait().generated_tokens, 1u);
}

TEST(BatchEngineTest, DrainTakesNoMoreAndCancelsAfterItsLimit) {
  TestRunner runner;
  auto engine = *BatchEngine::Create(runner, Options());
  const Sent whole = Send(*engine, Greedy(Prompt(9), 20));
  engine->Drain(absl::InfiniteDuration());
  EXPECT_EQ(whole.answer->Wait().finish_reason, FinishReason::kLength);
  EXPECT_EQ(engine->stats().state, EngineState::kDraining);
  EXPECT_EQ(Refused(*engine, Greedy({1}, 1)), Code::kUnavailable);

  TestRunner slow;
  auto other = *BatchEngine::Create(slow, Options());
  slow.CloseGate();
  const Sent cut = Send(*other, Greedy(Prompt(9), 100));
  slow.AwaitSteps(1);
  std::thread opens([&] { slow.OpenGate(); });
  other->Drain(absl::ZeroDuration());
  EXPECT_LE(cut.answer->Wait().generated_tokens, 100u);
  opens.join();
}

TEST(BatchEngineTest, ItsEndCancelsWhatIsLeft) {
  TestRunnerOptions one;
  one.slots = 1;
  TestRunner runner(one);
  auto engine = *BatchEngine::Create(runner, Options());
  runner.CloseGate();
  const Sent first = Send(*engine, Greedy(Prompt(9), 100));
  const Sent second = Send(*engine, Greedy(Prompt(9), 100));
  runner.AwaitSteps(1);
  std::thread opens([&] { runner.OpenGate(); });
  engine.reset();
  opens.join();
  for (const Sent& sent : {first, second}) {
    const RequestResult result = sent.answer->Wait();
    EXPECT_TRUE(result.status.ok());
    // All of it, had the gate been opened first.
    EXPECT_TRUE(result.finish_reason == FinishReason::kCancelled ||
                result.generated_tokens == 100);
  }
}

class FailureTest : public ::testing::TestWithParam<bool> {
 protected:
  static TestRunnerOptions RunnerOptions() {
    TestRunnerOptions options;
    options.samples = GetParam();
    options.ahead = GetParam();
    return options;
  }
};

TEST_P(FailureTest, AStepThatFailsEndsItsRequestsAlone) {
  TestRunner runner(RunnerOptions());
  // The chunk of the second request, which holds a 60.
  runner.fail = [&](uint64_t, const StepInputs& inputs) {
    for (const int32_t id : inputs.ids) {
      if (id == 60) return absl::InternalError("a launch failed");
    }
    return absl::OkStatus();
  };
  auto engine = *BatchEngine::Create(runner, Options());
  const Sent good = Send(*engine, Greedy({1, 2, 3}, 0));
  const Sent bad = Send(*engine, Greedy({4, 60, 5, 6, 7, 8}, 9));
  const RequestResult result = bad.answer->Wait();
  EXPECT_EQ(result.status.code(), Code::kInternal);
  EXPECT_EQ(result.generated_tokens, 0u);
  good.answer->Wait();
  // Its answer has a 60 sooner or later; what came until then is right.
  const GenerateResult alone = Alone(Greedy({1, 2, 3}, 0));
  const std::vector<int32_t> ids = good.answer->ids();
  ASSERT_LE(ids.size(), alone.ids.size());
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), alone.ids.begin()));
  EXPECT_GT(ids.size(), 0u);
  EXPECT_EQ(engine->stats().cache_entries, 0u) << "what was kept is forgotten";
  EXPECT_EQ(engine->stats().state, EngineState::kServing);
  EXPECT_EQ(engine->stats().active, 0u);
  EXPECT_EQ(engine->stats().cancelled, 0u);
  const Sent after = Send(*engine, Greedy({9, 8, 7}, 1));
  EXPECT_TRUE(after.answer->Wait().status.ok());
  EXPECT_EQ(after.answer->ids().size(), 1u);
}

TEST_P(FailureTest, OneUnavailableStepIsNoLostDevice) {
  TestRunner runner(RunnerOptions());
  runner.failures[3] = absl::UnavailableError("busy");
  auto engine = *BatchEngine::Create(runner, Options());
  const Sent bad = Send(*engine, Greedy(Prompt(6), 30));
  EXPECT_EQ(bad.answer->Wait().status.code(), Code::kUnavailable);
  const Sent good = Send(*engine, Greedy(Prompt(6), 30));
  EXPECT_TRUE(good.answer->Wait().status.ok());
  EXPECT_EQ(good.answer->ids(), Alone(Greedy(Prompt(6), 30)).ids);
  EXPECT_EQ(engine->stats().state, EngineState::kServing);
}

TEST_P(FailureTest, TwoInARowAreTheEnd) {
  TestRunner runner(RunnerOptions());
  runner.fail = [](uint64_t step, const StepInputs&) {
    return step >= 4 ? absl::UnavailableError("device lost") : absl::OkStatus();
  };
  auto engine = *BatchEngine::Create(runner, Options());
  std::vector<Sent> sent;
  runner.CloseGate();
  for (int i = 0; i < 20; ++i) {
    sent.push_back(Send(*engine, Greedy(Prompt(20, i), 30)));
  }
  runner.OpenGate();
  for (const Sent& s : sent) {
    EXPECT_EQ(s.answer->Wait().status.code(), Code::kUnavailable);
  }
  EXPECT_EQ(engine->stats().state, EngineState::kFailed);
  EXPECT_THAT(engine->stats().failure, HasSubstr("device lost"));
  EXPECT_EQ(engine->stats().active, 0u);
  EXPECT_EQ(engine->stats().queued, 0u);
  EXPECT_EQ(Refused(*engine, Greedy({1}, 1)), Code::kUnavailable);
  engine->Drain(absl::InfiniteDuration());
  EXPECT_EQ(engine->stats().state, EngineState::kFailed);
}

INSTANTIATE_TEST_SUITE_P(Where, FailureTest, ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "device" : "host";
                         });

}  // namespace
}  // namespace glm
