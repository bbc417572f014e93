// Where a request begins: states that were kept, and slots that still hold one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/engine/batch_engine.h"
#include "runtime/engine/test_answer.h"
#include "runtime/engine/test_runner.h"

namespace glm {
namespace {

using Tokens = std::vector<int32_t>;

BatchEngineOptions Options(uint64_t cache_bytes = 1 << 20) {
  BatchEngineOptions options;
  options.cache_bytes = cache_bytes;
  options.cache_interval = 32;
  options.cache_min_tokens = 4;
  return options;
}

uint64_t Bytes(uint64_t tokens) {
  return TestRunner::kFixedBytes + 8 * tokens;  // the state, and the tokens
}

class PrefixReuseTest : public ::testing::TestWithParam<bool> {
 protected:
  void Start(uint32_t slots, const BatchEngineOptions& options = Options()) {
    TestRunnerOptions how;
    how.slots = slots;
    how.samples = how.ahead = GetParam();
    runner_ = std::make_unique<TestRunner>(how);
    engine_ = *BatchEngine::Create(*runner_, options);
  }

  // The answer's tokens; checks that they are those of the whole prompt alone.
  Tokens Ask(const Tokens& prompt, uint32_t max_tokens, uint32_t cached,
             bool use_cache = true) {
    EngineRequest request = Greedy(prompt, max_tokens);
    request.use_cache = use_cache;
    const Sent sent = Send(*engine_, request);
    EXPECT_EQ(sent.answer->Wait().cached_tokens, cached);
    EXPECT_EQ(sent.answer->ids(), Alone(request).ids);
    // Until the slot is free again.
    while (engine_->stats().active > 0) std::this_thread::yield();
    return sent.answer->ids();
  }

  static Tokens Join(Tokens left, const Tokens& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
  }

  std::unique_ptr<TestRunner> runner_;
  std::unique_ptr<BatchEngine> engine_;
};

TEST_P(PrefixReuseTest, TheSlotOfAChatGoesOnWithoutACopy) {
  Start(1);
  Tokens chat = Prompt(10);
  chat = Join(chat, Ask(chat, 6, 0));
  // All but the last token of the answer, which nobody fed.
  chat = Join(chat, Prompt(5, 40));
  chat = Join(chat, Ask(chat, 4, 15));
  chat = Join(chat, Prompt(3, 50));
  Ask(chat, 4, 24);
  EXPECT_EQ(runner_->restores, 0);
  EXPECT_EQ(engine_->stats().cached_tokens, 39u);
  EXPECT_EQ(engine_->stats().prompt_tokens, 10u + 21 + 28);
}

TEST_P(PrefixReuseTest, AChatComesBackFromTheCache) {
  Start(1);
  Tokens chat = Prompt(10);
  chat = Join(chat, Ask(chat, 6, 0));
  Ask(Prompt(7, 30), 2, 0);      // takes the slot; the chat's state is kept
  EXPECT_EQ(runner_->saves, 3);  // the ends of both prompts, the chat's end
  EXPECT_EQ(engine_->stats().cache_entries, 3u);
  EXPECT_EQ(engine_->stats().cache_bytes, Bytes(10) + Bytes(7) + Bytes(15));
  EXPECT_EQ(engine_->stats().cache_limit, 1u << 20);
  chat = Join(chat, Prompt(5, 40));
  Ask(chat, 4, 15);
  EXPECT_EQ(runner_->restores, 1);
  // Another end of the same prompt: what it began with is still there.
  Ask(Join(Prompt(10), {1, 2, 3}), 4, 10);
  EXPECT_EQ(runner_->restores, 2);
}

TEST_P(PrefixReuseTest, AtLeastOneTokenIsFed) {
  Start(2);
  Ask(Prompt(10), 1, 0);
  Ask(Prompt(10), 1, 0);
  Ask(Prompt(9), 1, 0);
}

TEST_P(PrefixReuseTest, LongPromptsAreKeptAtIntervals) {
  Start(1);
  Ask(Prompt(101), 1, 0);
  // Chunks of 16; after 32, 64, 96, and the slot itself at 101.
  EXPECT_EQ(runner_->saves, 3);
  Tokens other = Prompt(101);
  other[70] = 0;
  Ask(other, 3, 64);
  other = Prompt(20);
  Ask(other, 3, 0);
}

TEST_P(PrefixReuseTest, ShortStatesAreNotWorthACopy) {
  Start(1);
  Ask(Prompt(3), 1, 0);
  Ask(Prompt(3, 9), 1, 0);
  EXPECT_EQ(runner_->saves, 0);
}

TEST_P(PrefixReuseTest, WhoDoesNotWantItNeitherUsesNorLeavesAnything) {
  Start(2);
  const Tokens chat = Join(Prompt(10), Ask(Prompt(10), 6, 0));
  Ask(Join(chat, {4}), 3, 0, /*use_cache=*/false);
  const int saves = runner_->saves;
  Ask(Prompt(30, 9), 3, 0, /*use_cache=*/false);
  Ask(Join(Prompt(30, 9), {1}), 3, 0);
  EXPECT_EQ(runner_->restores, 0);
  EXPECT_GE(runner_->saves, saves);
}

TEST_P(PrefixReuseTest, TheBudgetHolds) {
  Start(1, Options(3 * Bytes(20)));
  for (int32_t i = 0; i < 20; ++i) {
    Ask(Prompt(20, i), 2, 0);
    EXPECT_LE(engine_->stats().cache_bytes, 3 * Bytes(20));
  }
  EXPECT_GT(engine_->stats().cache_entries, 1u);
  Start(1, Options(0));
  Ask(Prompt(20), 2, 0);
  Ask(Prompt(20, 5), 2, 0);
  EXPECT_EQ(runner_->saves, 0);
  EXPECT_EQ(engine_->stats().cache_limit, 0u);
}

TEST_P(PrefixReuseTest, AFailureForgetsWhatWasKept) {
  Start(1);
  Ask(Prompt(20), 2, 0);
  Ask(Prompt(20, 7), 2, 0);
  EXPECT_GT(engine_->stats().cache_bytes, 0u);
  runner_->failures[runner_->steps_begun() + 1] = absl::InternalError("x");
  const Sent sent = Send(*engine_, Greedy({5, 6, 7}, 2));
  EXPECT_FALSE(sent.answer->Wait().status.ok());
  EXPECT_EQ(engine_->stats().cache_bytes, 0u);
  Ask(Join(Prompt(20), {3}), 2, 0);
}

// After a cancelled request its slot holds what was fed, and nothing else.
TEST_P(PrefixReuseTest, ACancelledChatGoesOn) {
  for (const size_t after : {1, 2, 3, 5}) {
    Start(1);
    Sent sent;
    sent.answer->stop_after = after;
    EngineRequest request = Greedy(Prompt(10), 50);
    request.listener = sent.answer;
    ASSERT_TRUE(engine_->Submit(request).ok());
    sent.answer->Wait();
    const Tokens alone = Alone(request).ids;
    // A step may have run ahead: then it has fed the last token as well.
    Tokens next(alone.begin(), alone.begin() + after);
    const uint32_t fed = 10 + after - (GetParam() ? 0 : 1);
    Ask(Join(Join(Prompt(10), next), {7, 8}), 3, fed);
  }
}

INSTANTIATE_TEST_SUITE_P(Where, PrefixReuseTest, ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "device" : "host";
                         });

TEST(NoStatesTest, ARunnerThatCannotSaveIsNoError) {
  TestRunnerOptions how;
  how.saves = false;
  how.slots = 1;
  TestRunner runner(how);
  auto engine = *BatchEngine::Create(runner, Options());
  EXPECT_EQ(engine->stats().cache_limit, 0u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(
        Send(*engine, Greedy(Prompt(50, i), 3)).answer->Wait().status.ok());
  }
}

}  // namespace
}  // namespace glm
