// A model in a few lines: the next token is the sum of all tokens modulo the
// vocabulary, so a wrong position, chunk or reuse changes every later token.
#include "runtime/sequence/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <string>
#include <vector>

namespace glm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int32_t kVocab = 97;

class FakeRunner : public StepRunner {
 public:
  explicit FakeRunner(std::vector<uint32_t> prefill_sizes = {4, 16},
                      uint32_t max_context = 64) {
    model_.vocab = kVocab;
    model_.max_context = max_context;
    EntryInfo decode;
    decode.name = "decode_b1";
    entries_.push_back(decode);
    for (const uint32_t tokens : prefill_sizes) {
      EntryInfo entry;
      entry.prefill = true;
      entry.tokens = tokens;
      entries_.push_back(entry);
    }
  }

  void AddEntry(bool prefill, uint32_t sequences, uint32_t tokens) {
    EntryInfo entry;
    entry.prefill = prefill;
    entry.sequences = sequences;
    entry.tokens = tokens;
    entries_.push_back(entry);
  }
  void RemoveEntry(size_t index) { entries_.erase(entries_.begin() + index); }

  const ModelInfo& model() const override { return model_; }
  const std::vector<EntryInfo>& entries() const override { return entries_; }
  uint32_t slots() const override { return 1; }

  absl::Status Step(uint32_t entry, const StepInputs& inputs) override {
    const SequenceStep& sequence = inputs.seqs[0];
    entries_run.push_back(entry);
    steps.push_back(std::to_string(entries_[entry].tokens) + ":" +
                    std::to_string(sequence.position) + "+" +
                    std::to_string(sequence.length));
    if (steps.size() == fail_at) return absl::UnavailableError("device lost");
    if (sequence.position == 0) state_ = 0;
    EXPECT_EQ(inputs.ids.size(), entries_[entry].tokens);
    EXPECT_LE(sequence.position + sequence.length, model_.max_context);
    logits_.assign(kVocab, std::numeric_limits<float>::quiet_NaN());
    for (uint32_t i = 0; i < sequence.length; ++i) {
      state_ = (state_ + inputs.ids[i]) % kVocab;
      if (inputs.rows[0] != static_cast<int32_t>(i)) continue;
      logits_.assign(kVocab, 0);
      logits_[state_] = 1;
    }
    if (damage) logits_[3] = std::numeric_limits<float>::quiet_NaN();
    return absl::OkStatus();
  }

  std::span<const float> logits(uint32_t row) const override { return logits_; }

  std::vector<std::string> steps;  // "entry tokens:position+length"
  std::vector<uint32_t> entries_run;
  size_t fail_at = 0;
  bool damage = false;

 private:
  ModelInfo model_;
  std::vector<EntryInfo> entries_;
  int32_t state_ = 0;
  std::vector<float> logits_;
};

// The same model, which chooses tokens by itself: steps run when they are
// taken, so what was enqueued ahead cannot have been looked at.
class SamplingRunner : public FakeRunner {
 public:
  explicit SamplingRunner(bool ahead) : ahead_(ahead) {}

  bool Samples(uint32_t) const override { return true; }
  bool RunsAhead() const override { return ahead_; }
  absl::Status BeginSampling(uint32_t slot, const SamplerOptions& options,
                             std::span<const int32_t> tokens) override {
    pending_.clear();
    begun.assign(tokens.begin(), tokens.end());
    return absl::OkStatus();
  }
  absl::Status Enqueue(uint32_t entry, const StepInputs& inputs) override {
    EXPECT_LT(pending_.size(), 2u);
    pending_.push_back({entry,
                        {inputs.ids.begin(), inputs.ids.end()},
                        inputs.seqs[0],
                        inputs.rows[0]});
    most_ahead = std::max(most_ahead, pending_.size());
    return absl::OkStatus();
  }
  absl::StatusOr<std::span<const int32_t>> Take() override {
    if (pending_.empty()) return absl::FailedPreconditionError("nothing");
    Enqueued step = pending_.front();
    pending_.pop_front();
    if (step.ids.empty()) step.ids = {token_};
    const absl::Status status = Step(
        step.entry, {step.ids, std::span(&step.seq, 1), std::span(&step.row, 1)});
    if (!status.ok()) return status;
    if (damage) return absl::InternalError("no token");
    const auto row = logits(0);
    token_ = static_cast<int32_t>(std::max_element(row.begin(), row.end()) -
                                  row.begin());
    return std::span<const int32_t>(&token_, 1);
  }

  std::vector<int32_t> begun;
  size_t most_ahead = 0;
  size_t left() const { return pending_.size(); }

 private:
  struct Enqueued {
    uint32_t entry;
    std::vector<int32_t> ids;
    SequenceStep seq;
    int32_t row;
  };
  bool ahead_;
  std::deque<Enqueued> pending_;
  int32_t token_ = -1;
};

// What the model says after `tokens`, `count` times.
std::vector<int32_t> Continue(std::vector<int32_t> tokens, size_t count) {
  std::vector<int32_t> ids;
  int32_t sum = 0;
  for (const int32_t token : tokens) sum = (sum + token) % kVocab;
  for (size_t i = 0; i < count; ++i) {
    ids.push_back(sum);
    sum = (sum + sum) % kVocab;
  }
  return ids;
}

GenerateOptions Greedy(uint32_t max_tokens) {
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = max_tokens;
  return options;
}

std::vector<int32_t> Range(int32_t count) {
  std::vector<int32_t> ids;
  for (int32_t i = 1; i <= count; ++i) ids.push_back(i);
  return ids;
}

TEST(GeneratorTest, EveryPromptLengthGivesTheSameContinuation) {
  for (int32_t length = 1; length <= 40; ++length) {
    FakeRunner runner;
    Generator generator = *Generator::Create(runner, 0);
    const auto result = generator.Generate(Range(length), Greedy(5));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->ids, Continue(Range(length), 5)) << length;
    EXPECT_EQ(result->finish_reason, FinishReason::kLength);
    EXPECT_EQ(result->prompt_tokens, static_cast<uint32_t>(length));
    EXPECT_EQ(result->decode_steps, 4u);
  }
}

TEST(GeneratorTest, ChunksAreTheLargestThatFitAndOneTokenDecodes) {
  FakeRunner runner;
  Generator generator = *Generator::Create(runner, 0);
  ASSERT_TRUE(generator.Generate(Range(35), Greedy(1)).ok());
  EXPECT_THAT(runner.steps, ElementsAre("16:0+16", "16:16+16", "4:32+3"));
  runner.steps.clear();
  ASSERT_TRUE(generator.Generate(std::vector<int32_t>{3}, Greedy(2)).ok());
  EXPECT_THAT(runner.steps, ElementsAre("1:0+1", "1:1+1"));
}

TEST(GeneratorTest, PlanWithoutPrefillFeedsTokenByToken) {
  FakeRunner runner({});
  Generator generator = *Generator::Create(runner, 0);
  const auto result = generator.Generate(Range(3), Greedy(2));
  EXPECT_EQ(result->ids, Continue(Range(3), 2));
  EXPECT_EQ(runner.steps.size(), 4u);
}

TEST(GeneratorTest, StepsAreChosenByTheirKind) {
  FakeRunner runner({1, 4});
  runner.AddEntry(/*prefill=*/false, /*sequences=*/1, /*tokens=*/4);
  runner.AddEntry(/*prefill=*/true, /*sequences=*/2, /*tokens=*/4);
  Generator generator = *Generator::Create(runner, 0);
  const auto result = generator.Generate(Range(6), Greedy(3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->ids, Continue(Range(6), 3));
  EXPECT_THAT(runner.entries_run, ElementsAre(2, 2, 0, 0))
      << "decode_b1 is 0, the prefill steps of one sequence are 1 and 2";
}

TEST(GeneratorTest, APrefillStepOfOneTokenIsNoDecodeStep) {
  FakeRunner runner({1});
  runner.RemoveEntry(0);
  const auto generator = Generator::Create(runner, 0);
  EXPECT_EQ(generator.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(GeneratorTest, StopIdEndsAndIsNotPartOfTheAnswer) {
  FakeRunner runner;
  Generator generator = *Generator::Create(runner, 0);
  const std::vector<int32_t> expected = Continue(Range(3), 4);
  GenerateOptions options = Greedy(100);
  options.stop_ids = {50, expected[3]};
  std::vector<int32_t> seen;
  options.on_token = [&](int32_t id) { seen.push_back(id); };
  const auto result = generator.Generate(Range(3), options);
  EXPECT_EQ(result->finish_reason, FinishReason::kStop);
  EXPECT_EQ(result->stop_id, expected[3]);
  EXPECT_EQ(result->ids,
            std::vector<int32_t>(expected.begin(), expected.begin() + 3));
  EXPECT_EQ(seen, result->ids);
}

TEST(GeneratorTest, PromptThatExtendsTheHistoryIsPrefilledFromThere) {
  FakeRunner runner;
  Generator generator = *Generator::Create(runner, 0);
  const auto first = generator.Generate(Range(10), Greedy(3));
  std::vector<int32_t> prompt = Range(10);
  prompt.insert(prompt.end(), first->ids.begin(), first->ids.end());
  prompt.push_back(7);
  runner.steps.clear();
  const auto second = generator.Generate(prompt, Greedy(3));
  EXPECT_EQ(second->ids, Continue(prompt, 3));
  EXPECT_EQ(second->cached_tokens, 12u) << "the third id was never fed";
  EXPECT_EQ(runner.steps.front(), "4:12+2");
}

TEST(GeneratorTest, OtherPromptsStartAfresh) {
  FakeRunner runner;
  Generator generator = *Generator::Create(runner, 0);
  ASSERT_TRUE(generator.Generate(Range(10), Greedy(3)).ok());
  for (const auto& prompt : {Range(10), Range(4), std::vector<int32_t>{9, 9}}) {
    const auto result = generator.Generate(prompt, Greedy(3));
    EXPECT_EQ(result->ids, Continue(prompt, 3));
    EXPECT_EQ(result->cached_tokens, 0u);
  }
}

TEST(GeneratorTest, FullContextEndsWithLength) {
  FakeRunner runner({4}, 8);
  Generator generator = *Generator::Create(runner, 0);
  const auto result = generator.Generate(Range(6), Greedy(0));
  EXPECT_EQ(result->finish_reason, FinishReason::kLength);
  EXPECT_EQ(result->ids, Continue(Range(6), 3));
}

TEST(GeneratorTest, PromptOfExactlyTheContextGivesOneToken) {
  FakeRunner runner({4}, 8);
  Generator generator = *Generator::Create(runner, 0);
  EXPECT_EQ(generator.Generate(Range(8), Greedy(9))->ids,
            Continue(Range(8), 1));
}

TEST(GeneratorTest, PromptThatCannotFitIsRefusedWithBothNumbersAndNoHarm) {
  FakeRunner runner({4}, 8);
  Generator generator = *Generator::Create(runner, 0);
  ASSERT_TRUE(generator.Generate(Range(3), Greedy(1)).ok());
  const auto refused = generator.Generate(Range(9), Greedy(1));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("has 9 tokens, the context holds 8"));
  EXPECT_EQ(generator.history(), Range(3));
  EXPECT_TRUE(generator.Generate(Range(4), Greedy(1)).ok());
}

TEST(GeneratorTest, BadPromptsAreRefusedBeforeAnyStep) {
  FakeRunner runner;
  Generator generator = *Generator::Create(runner, 0);
  for (const std::vector<int32_t>& prompt :
       {std::vector<int32_t>{}, {1, kVocab}, {-1}}) {
    EXPECT_EQ(generator.Generate(prompt, Greedy(1)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(runner.steps, IsEmpty());
}

TEST(GeneratorTest, CancellingEndsWithWhatThereIs) {
  FakeRunner runner;
  Generator generator = *Generator::Create(runner, 0);
  std::atomic<bool> cancel{false};
  GenerateOptions options = Greedy(100);
  options.cancel = &cancel;
  options.on_token = [&, count = 0](int32_t) mutable {
    if (++count == 3) cancel = true;
  };
  const auto result = generator.Generate(Range(3), options);
  EXPECT_EQ(result->finish_reason, FinishReason::kCancelled);
  EXPECT_EQ(result->ids, Continue(Range(3), 3));
  const auto none = generator.Generate(Range(30), options);
  EXPECT_EQ(none->finish_reason, FinishReason::kCancelled);
  EXPECT_THAT(none->ids, IsEmpty());
}

TEST(GeneratorTest, FailedStepEmptiesTheSequence) {
  FakeRunner runner;
  Generator generator = *Generator::Create(runner, 0);
  runner.fail_at = 3;
  EXPECT_EQ(generator.Generate(Range(3), Greedy(9)).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_THAT(generator.history(), IsEmpty());
  EXPECT_EQ(generator.Generate(Range(3), Greedy(2))->ids,
            Continue(Range(3), 2));
}

TEST(GeneratorTest, NanLogitsAreAnErrorAndEmptyTheSequence) {
  FakeRunner runner;
  runner.damage = true;
  Generator generator = *Generator::Create(runner, 0);
  EXPECT_EQ(generator.Generate(Range(3), Greedy(9)).status().code(),
            absl::StatusCode::kInternal);
  EXPECT_THAT(generator.history(), IsEmpty());
}

TEST(GeneratorTest, TokensChosenOnTheDeviceAreTheSame) {
  for (const bool ahead : {false, true}) {
    for (int32_t length = 1; length <= 40; ++length) {
      SamplingRunner runner(ahead);
      Generator generator = *Generator::Create(runner, 0);
      const auto result = generator.Generate(Range(length), Greedy(5));
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->ids, Continue(Range(length), 5)) << length;
      EXPECT_EQ(result->decode_steps, 4u);
      EXPECT_EQ(runner.begun, Range(length));
      EXPECT_EQ(runner.most_ahead, ahead ? 2u : 1u);
      EXPECT_EQ(runner.left(), 0u);
      EXPECT_EQ(generator.history().size(), length + 4u) << "as on the host";
    }
  }
}

TEST(GeneratorTest, AStepThatRanAheadOfTheEndIsInTheHistory) {
  for (const bool ahead : {false, true}) {
    SamplingRunner runner(ahead);
    Generator generator = *Generator::Create(runner, 0);
    const std::vector<int32_t> expected = Continue(Range(3), 4);
    GenerateOptions options = Greedy(100);
    options.stop_ids = {expected[3]};
    const auto result = generator.Generate(Range(3), options);
    EXPECT_EQ(result->stop_id, expected[3]);
    EXPECT_EQ(result->ids.size(), 3u);
    EXPECT_EQ(runner.left(), 0u);
    std::vector<int32_t> history = Range(3);
    history.insert(history.end(), expected.begin(),
                   expected.begin() + (ahead ? 4 : 3));
    EXPECT_EQ(generator.history(), history);
    // What goes on from there is not fed again.
    history.push_back(9);
    const auto next = generator.Generate(history, Greedy(2));
    EXPECT_EQ(next->ids, Continue(history, 2));
    EXPECT_EQ(next->cached_tokens, history.size() - 1);
  }
}

TEST(GeneratorTest, AheadOrNotCancellingAndErrorsLeaveNothingUnderWay) {
  for (const bool ahead : {false, true}) {
    SamplingRunner runner(ahead);
    Generator generator = *Generator::Create(runner, 0);
    std::atomic<bool> cancel{false};
    GenerateOptions options = Greedy(100);
    options.cancel = &cancel;
    options.on_token = [&, count = 0](int32_t) mutable {
      if (++count == 3) cancel = true;
    };
    const auto result = generator.Generate(Range(3), options);
    EXPECT_EQ(result->finish_reason, FinishReason::kCancelled);
    EXPECT_EQ(result->ids, Continue(Range(3), 3));
    EXPECT_EQ(runner.left(), 0u);
    runner.damage = true;
    EXPECT_FALSE(generator.Generate(Range(3), Greedy(5)).ok());
    EXPECT_THAT(generator.history(), IsEmpty());
    runner.damage = false;
    EXPECT_EQ(generator.Generate(Range(3), Greedy(5))->ids,
              Continue(Range(3), 5));
  }
}

TEST(GeneratorTest, TheHostSamplesWhenAsked) {
  SamplingRunner runner(/*ahead=*/true);
  Generator generator = *Generator::Create(runner, 0);
  GenerateOptions options = Greedy(5);
  options.on_host = true;
  EXPECT_EQ(generator.Generate(Range(3), options)->ids, Continue(Range(3), 5));
  EXPECT_EQ(runner.most_ahead, 0u);
}

TEST(GeneratorTest, PrefillReportsItsProgress) {
  FakeRunner runner;
  Generator generator = *Generator::Create(runner, 0);
  GenerateOptions options = Greedy(1);
  std::vector<uint32_t> done;
  options.on_prefill = [&](uint32_t d, uint32_t total) {
    EXPECT_EQ(total, 20u);
    done.push_back(d);
  };
  ASSERT_TRUE(generator.Generate(Range(20), options).ok());
  EXPECT_THAT(done, ElementsAre(16, 20));
}

}  // namespace
}  // namespace glm
