// Requests whose logits are looked at: logarithms of probabilities, and
// constraints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "runtime/engine/batch_engine.h"
#include "runtime/engine/test_answer.h"
#include "runtime/engine/test_runner.h"

namespace glm {
namespace {

TEST(LogprobTest, AreThoseOfTheRawLogits) {
  TestRunner runner;
  auto engine = *BatchEngine::Create(runner, {});
  EngineRequest request = Greedy(Prompt(7), 3);
  request.sampling.temperature = 2;
  request.sampling.repetition_penalty = 1.5;
  request.top_logprobs = 3;
  std::vector<int32_t> tokens = request.prompt;
  const Sent sent = Send(*engine, request);
  sent.answer->Wait();
  ASSERT_EQ(sent.answer->ids(), Alone(request).ids);
  for (const GeneratedToken& token : sent.answer->tokens()) {
    const std::vector<float> logits = TestRunner::LogitsAfter(tokens);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double{logit});
    EXPECT_NEAR(token.logprob, logits[token.id] - std::log(sum), 1e-5);
    ASSERT_EQ(token.top.size(), 3u);
    EXPECT_EQ(token.top[0].id,
              std::max_element(logits.begin(), logits.end()) - logits.begin());
    for (size_t i = 0; i < 3; ++i) {
      const TokenLogprob& top = token.top[i];
      EXPECT_NEAR(top.logprob, logits[top.id] - std::log(sum), 1e-5);
      if (i > 0) EXPECT_LE(top.logprob, token.top[i - 1].logprob);
    }
    tokens.push_back(token.id);
  }
  request.top_logprobs = 0;
  const Sent chosen = Send(*engine, request);
  chosen.answer->Wait();
  EXPECT_EQ(chosen.answer->tokens()[0].top.size(), 0u);
  EXPECT_LT(chosen.answer->tokens()[0].logprob, 0);
}

// Every second token is even, every other one odd.
class Alternates : public TokenConstraint {
 public:
  bool Allow(std::span<uint64_t> words) override {
    EXPECT_EQ(words.size(), 1u);
    words[0] =
        accepted.size() % 2 == 0 ? 0x5555555555555555 : ~uint64_t{0} / 3 * 2;
    return true;
  }
  void Accept(int32_t id) override { accepted.push_back(id); }
  std::vector<int32_t> accepted;
};

class Forbids : public TokenConstraint {
 public:
  bool Allow(std::span<uint64_t> words) override {
    std::fill(words.begin(), words.end(), 0);
    return true;
  }
  void Accept(int32_t id) override { FAIL(); }
};

TEST(ConstraintTest, OnlyAllowedTokensAreChosen) {
  TestRunner runner;
  auto engine = *BatchEngine::Create(runner, {});
  const auto constraint = std::make_shared<Alternates>();
  EngineRequest request = Greedy(Prompt(7), 30);
  request.sampling.temperature = 1;
  const GenerateResult free = Alone(request);
  request.constraint = constraint;
  const Sent other = Send(*engine, Greedy(Prompt(9), 40));
  const Sent sent = Send(*engine, request);
  sent.answer->Wait();
  const std::vector<int32_t> ids = sent.answer->ids();
  ASSERT_EQ(ids.size(), 30u);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i] % 2, i % 2);
  EXPECT_EQ(constraint->accepted, ids);
  EXPECT_NE(ids, free.ids);
  other.answer->Wait();
  EXPECT_EQ(other.answer->ids(), Alone(Greedy(Prompt(9), 40)).ids);

  request.constraint = std::make_shared<Forbids>();
  const Sent none = Send(*engine, request);
  EXPECT_EQ(none.answer->Wait().status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(engine->stats().state, EngineState::kServing);
}

}  // namespace
}  // namespace glm
