// Hundreds of random requests, from several threads at once: each answer is
// what the request is answered alone, and in the end nothing is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "runtime/engine/batch_engine.h"
#include "runtime/engine/test_answer.h"
#include "runtime/engine/test_runner.h"

namespace glm {
namespace {

// Tokens whose id divides by three may not come.
class NoThirds : public TokenConstraint {
 public:
  bool Allow(std::span<uint64_t> words) override {
    words[0] = 0;
    for (int id = 0; id < 64; ++id) words[0] |= uint64_t{id % 3 != 0} << id;
    return true;
  }
  void Accept(int32_t id) override { EXPECT_NE(id % 3, 0); }
};

struct Case {
  EngineRequest request;
  Sent sent;
  bool cancels = false;
  size_t stop_after = 0;
};

class ManyRequests {
 public:
  ManyRequests(uint32_t seed, Engine& engine)
      : random_(seed), engine_(engine) {}

  void Run(int count) {
    std::vector<std::unique_ptr<Case>> cases;
    for (int i = 0; i < count; ++i) {
      cases.push_back(Make());
      Case& c = *cases.back();
      const size_t cancel_at = Below(12);
      if (c.cancels && cancel_at > 0) {
        c.sent.answer->on_token = [this, &c, cancel_at](size_t tokens) {
          if (tokens == cancel_at) engine_.Cancel(c.sent.id);
        };
      }
      EngineRequest request = c.request;
      request.listener = c.sent.answer;
      const auto id = engine_.Submit(std::move(request));
      ASSERT_TRUE(id.ok()) << id.status();
      c.sent.id = *id;
      if (c.cancels && cancel_at == 0) engine_.Cancel(*id);
      if (Below(4) == 0) cases[Below(cases.size())]->sent.answer->Wait();
    }
    for (const auto& c : cases) Check(*c);
  }

  uint64_t cancelled = 0, cached = 0;

 private:
  size_t Below(size_t n) { return random_() % n; }

  std::unique_ptr<Case> Make() {
    auto c = std::make_unique<Case>();
    EngineRequest& r = c->request;
    // Beginnings that many share, and ends of their own.
    r.prompt = Prompt(1 + Below(60), static_cast<int32_t>(Below(3)));
    for (size_t own = Below(5); own > 0; --own) {
      r.prompt.push_back(static_cast<int32_t>(Below(TestRunner::kVocab)));
    }
    r.max_tokens = static_cast<uint32_t>(Below(30));
    r.use_cache = Below(4) > 0;
    r.sampling.temperature = Below(2) == 0 ? 0.0f : 1.5f;
    r.sampling.seed = random_();
    if (Below(3) == 0) r.sampling.top_p = 0.8f;
    if (Below(3) == 0) r.sampling.frequency_penalty = 0.7f;
    if (Below(4) == 0) r.sampling.repetition_penalty = 1.2f;
    for (size_t n = Below(3); n > 0; --n) {
      r.stop_ids.push_back(static_cast<int32_t>(Below(TestRunner::kVocab)));
    }
    if (Below(6) == 0) r.top_logprobs = static_cast<int32_t>(Below(4));
    if (Below(12) == 0) r.constraint = std::make_shared<NoThirds>();
    c->cancels = Below(5) == 0;
    if (Below(8) == 0)
      c->stop_after = c->sent.answer->stop_after = 1 + Below(9);
    return c;
  }

  void Check(Case& c) {
    const RequestResult result = c.sent.answer->Wait();
    ASSERT_TRUE(result.status.ok()) << result.status;
    const std::vector<int32_t> ids = c.sent.answer->ids();
    ASSERT_EQ(ids.size(), result.generated_tokens);
    ASSERT_EQ(result.prompt_tokens, c.request.prompt.size());
    ASSERT_LT(result.cached_tokens, result.prompt_tokens);
    cached += result.cached_tokens;
    if (c.request.top_logprobs >= 0) {
      for (const GeneratedToken& token : c.sent.answer->tokens()) {
        ASSERT_EQ(token.top.size(), size_t(c.request.top_logprobs));
      }
    }
    if (result.finish_reason == FinishReason::kCancelled) {
      ASSERT_TRUE(c.cancels);
      ++cancelled;
    }
    if (c.request.constraint != nullptr) return;
    const GenerateResult alone = Alone(c.request);
    if (ids.size() == alone.ids.size() && ids.size() != c.stop_after) {
      ASSERT_EQ(ids, alone.ids);
      if (result.finish_reason == FinishReason::kCancelled) return;
      ASSERT_EQ(result.finish_reason, alone.finish_reason);
      ASSERT_EQ(result.stop_id, alone.stop_id);
      return;
    }
    ASSERT_TRUE(result.finish_reason == FinishReason::kCancelled ||
                ids.size() == c.stop_after);
    ASSERT_LE(ids.size(), alone.ids.size());
    ASSERT_TRUE(std::equal(ids.begin(), ids.end(), alone.ids.begin()));
  }

  std::mt19937 random_;
  Engine& engine_;
};

struct Setting {
  std::vector<uint32_t> batches;
  uint32_t slots;
  bool samples, ahead, saves;
};

class ManyRequestsTest : public ::testing::TestWithParam<Setting> {};

TEST_P(ManyRequestsTest, AreAnsweredAsAlone) {
  const Setting& setting = GetParam();
  TestRunnerOptions how;
  how.batches = setting.batches;
  how.slots = setting.slots;
  how.samples = setting.samples;
  how.ahead = setting.ahead;
  how.saves = setting.saves;
  TestRunner runner(how);
  BatchEngineOptions options;
  options.queue_limit = 1000;
  options.cache_bytes = 5000;  // some ten states
  options.cache_interval = 20;
  options.cache_min_tokens = 3;
  auto engine = *BatchEngine::Create(runner, options);
  constexpr int kThreads = 3, kEach = 100;
  std::vector<std::unique_ptr<ManyRequests>> users;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    users.push_back(std::make_unique<ManyRequests>(17 * t + 1, *engine));
  }
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { users[t]->Run(kEach); });
  }
  for (std::thread& thread : threads) thread.join();
  engine->Drain(absl::InfiniteDuration());
  const EngineStats stats = engine->stats();
  uint64_t cancelled = 0, cached = 0;
  for (const auto& user : users) {
    cancelled += user->cancelled;
    cached += user->cached;
  }
  EXPECT_EQ(stats.requests, uint64_t{kThreads * kEach});
  EXPECT_EQ(stats.cancelled, cancelled);
  EXPECT_EQ(stats.active, 0u);
  EXPECT_EQ(stats.queued, 0u);
  EXPECT_EQ(stats.cached_tokens, cached);
  EXPECT_LE(stats.cache_bytes, 5000u);
  if (setting.saves) {
    EXPECT_GT(cached, 0u);
    EXPECT_GT(runner.restores, 0);
  }
  if (setting.ahead && setting.samples) EXPECT_GT(runner.follows, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, ManyRequestsTest,
    ::testing::Values(Setting{{1, 2, 4, 8}, 8, true, true, true},
                      Setting{{1, 2, 4, 8}, 8, true, false, true},
                      Setting{{1, 2, 4, 8}, 8, false, false, true},
                      Setting{{1, 2, 4}, 11, true, true, true},
                      Setting{{1}, 5, true, true, true},
                      Setting{{8}, 3, true, true, false},
                      Setting{{1, 2, 4, 8}, 1, true, true, true}));

}  // namespace
}  // namespace glm
