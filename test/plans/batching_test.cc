// The engine on the nano model, on the host: eight requests at a time give what
// each gives alone, whatever the batch; a chat goes on from a state that was
// kept with the text of a chat from the beginning; and a state that is saved
// and restored gives the same logits to the bit.

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/device/host/host_device.h"
#include "runtime/engine/batch_engine.h"
#include "runtime/executor/executor.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_reader.h"
#include "runtime/sequence/generator.h"
#include "runtime/text/chat_format.h"
#include "runtime/text/tokenizer.h"
#include "test/plans/plan_argument.h"

namespace glm {
namespace {

using Ids = std::vector<int32_t>;
using text::Message;

class Collector : public RequestListener {
 public:
  bool OnTokens(std::span<const GeneratedToken> tokens) override {
    for (const GeneratedToken& token : tokens) ids_.push_back(token.id);
    return true;
  }
  void OnFinish(const RequestResult& result) override {
    const std::lock_guard lock(mutex_);
    result_ = result;
    ended_.notify_all();
  }
  RequestResult Wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return result_.has_value(); });
    return *result_;
  }
  const Ids& ids() const { return ids_; }  // after Wait

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  Ids ids_;
  std::optional<RequestResult> result_;
};

class Batching : public ::testing::Test {
 protected:
  void SetUp() override {
    auto plan = PlanFile::Open(plan_path);
    ASSERT_TRUE(plan.ok()) << plan.status();
    plan_ = *plan;
    const auto json =
        plan_->SegmentBytes(*plan_->plan().tokenizer(), "tokenizer");
    ASSERT_TRUE(json.ok()) << json.status();
    auto tokenizer = text::Tokenizer::FromJson(
        {reinterpret_cast<const char*>(json->data()), json->size()}, "nano");
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    tokenizer_ = std::move(*tokenizer);
    for (const int32_t id : *plan_->plan().generation()->stop_ids()) {
      stop_ids_.push_back(id);
    }
  }

  // On a device of its own: two threads use two of them at a time.
  std::unique_ptr<Executor> Open(uint32_t slots) {
    auto device = CreateHostDevice({});
    EXPECT_TRUE(device.ok()) << device.status();
    devices_.push_back(*std::move(device));
    ExecutorOptions options;
    options.slots = slots;
    options.check_weights = false;
    auto made = Executor::Create(plan_, *devices_.back(), options);
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(*made);
  }

  Ids Chat(const std::vector<Message>& messages) {
    text::ChatRequest request;
    request.messages = messages;
    return *text::EncodeChat(*tokenizer_, *text::RenderChat(request));
  }

  EngineRequest Request(Ids prompt, float temperature, uint64_t seed) {
    EngineRequest request;
    request.prompt = std::move(prompt);
    request.sampling.temperature = temperature;
    request.sampling.seed = seed;
    request.max_tokens = 40;
    request.stop_ids = stop_ids_;
    return request;
  }

  static std::shared_ptr<Collector> Send(Engine& engine,
                                         EngineRequest request) {
    auto collector = std::make_shared<Collector>();
    request.listener = collector;
    const auto id = engine.Submit(std::move(request));
    EXPECT_TRUE(id.ok()) << id.status();
    return collector;
  }

  Ids Alone(const EngineRequest& request) {
    if (alone_ == nullptr) alone_ = Open(1);
    Generator generator = *Generator::Create(*alone_, 0);
    GenerateOptions options;
    options.sampling = request.sampling;
    options.max_tokens = request.max_tokens;
    options.stop_ids = request.stop_ids;
    return generator.Generate(request.prompt, options)->ids;
  }

  std::shared_ptr<const PlanFile> plan_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  Ids stop_ids_;
  std::unique_ptr<Executor> alone_;
};

TEST_F(Batching, EightAtATimeAreAnsweredAsAlone) {
  const std::vector<std::string> questions = {
      "What is the capital of France?",
      "What is 17 + 25?",
      "Who are you?",
      "Count from 1 to 5.",
      "What is the capital of Italy?",
      "Hello!",
      "What is 3 + 4?",
      "Say it again, and again, and again, until the prompt is longer than a "
      "chunk of sixty-four tokens, which takes some words more than one would "
      "think, and then some; but now it is long enough."};
  const auto executor = Open(8);
  auto engine = *BatchEngine::Create(*executor, {});
  for (const float temperature : {0.0f, 1.0f}) {
    std::vector<EngineRequest> requests;
    std::vector<std::shared_ptr<Collector>> answers;
    for (size_t i = 0; i < questions.size(); ++i) {
      requests.push_back(
          Request(Chat({Message::Text("user", questions[i])}), temperature, i));
      // Lengths that let batches shrink.
      requests[i].max_tokens = static_cast<uint32_t>(4 + 6 * i);
      // With a state of the first round chunks would begin elsewhere.
      requests[i].use_cache = false;
    }
    // What penalties count is counted wherever a token is chosen.
    requests[3].sampling.frequency_penalty = 0.5f;
    if (temperature > 0) requests[5].top_logprobs = 2;
    for (const EngineRequest& request : requests) {
      answers.push_back(Send(*engine, request));
    }
    for (size_t i = 0; i < questions.size(); ++i) {
      ASSERT_TRUE(answers[i]->Wait().status.ok()) << answers[i]->Wait().status;
      EXPECT_EQ(answers[i]->ids(), Alone(requests[i])) << questions[i];
    }
  }
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.active, 0u);
  EXPECT_LT(stats.decode_steps, stats.generated_tokens) << "no batch at all";
}

TEST_F(Batching, TheSecondTurnPrefillsOnlyWhatIsNew) {
  BatchEngineOptions options;
  options.cache_bytes = 64 << 20;
  options.cache_min_tokens = 1;
  const auto executor = Open(1);
  auto engine = *BatchEngine::Create(*executor, options);
  Ids chat = Chat({Message::Text("user", "What is the capital of France?")});
  const auto first = Send(*engine, Request(chat, 0, 1));
  EXPECT_EQ(first->Wait().cached_tokens, 0u);
  // Another chat takes the only slot.
  const auto other = Send(
      *engine, Request(Chat({Message::Text("user", "Who are you?")}), 0, 1));
  EXPECT_TRUE(other->Wait().status.ok());
  EXPECT_GT(engine->stats().cache_entries, 1u);

  const size_t prompt = chat.size();
  chat.insert(chat.end(), first->ids().begin(), first->ids().end());
  const Ids next = Chat({Message::Text("user", "What is 17 + 25?")});
  // Without what begins every conversation.
  const auto user =
      std::find(next.begin(), next.end(), *tokenizer_->TokenId("<|user|>"));
  chat.insert(chat.end(), user, next.end());
  EngineRequest second = Request(chat, 0, 1);
  const auto cached = Send(*engine, second);
  // The stop token was not fed; the answer's last token was.
  EXPECT_EQ(cached->Wait().cached_tokens, prompt + first->ids().size());
  second.use_cache = false;
  const auto whole = Send(*engine, second);
  EXPECT_EQ(whole->Wait().cached_tokens, 0u);
  EXPECT_GT(cached->ids().size(), 3u);
  EXPECT_EQ(cached->ids(), whole->ids());
  EXPECT_EQ(cached->ids(), Alone(second));
}

TEST_F(Batching, ARestoredStateGivesTheSameLogits) {
  const auto executor = Open(3);
  Executor& e = *executor;
  uint32_t decode = 0, prefill = 0;
  for (uint32_t i = 0; i < e.entries().size(); ++i) {
    if (e.entries()[i].sequences > 1) continue;
    (e.entries()[i].prefill ? prefill : decode) = i;
  }
  const uint32_t chunk = e.entries()[prefill].tokens;
  const auto step = [&](uint32_t entry, uint32_t slot, uint32_t position,
                        uint32_t length) {
    Ids ids(e.entries()[entry].tokens);
    for (uint32_t i = 0; i < length; ++i) {
      ids[i] = static_cast<int32_t>((37 * (position + i) + 11) % 2000);
    }
    const SequenceStep sequence{slot, position, length};
    Ids rows(e.entries()[entry].logit_rows, -1);
    rows[0] = static_cast<int32_t>(length) - 1;
    const absl::Status status =
        e.Step(entry, {ids, std::span(&sequence, 1), rows});
    EXPECT_TRUE(status.ok()) << status;
    const auto logits = e.logits(0);
    return std::vector<float>(logits.begin(), logits.end());
  };
  uint64_t before = 0;
  for (const uint32_t tokens : {chunk / 2 + 1, chunk + 1, chunk + 7}) {
    for (uint32_t at = 0; at < tokens; at += chunk) {
      step(prefill, 0, at, std::min(chunk, tokens - at));
    }
    const uint64_t bytes = *e.StateBytes(tokens);
    EXPECT_GT(bytes, before);
    EXPECT_LT(bytes, e.memory_plan().state_per_slot);
    before = bytes;
    std::vector<std::byte> state(bytes), again(bytes);
    ASSERT_TRUE(e.SaveState(0, tokens, state).ok());
    // What was in the slot before does not matter.
    for (uint32_t at = 0; at < 3 * chunk; at += chunk)
      step(prefill, 2, at, chunk);
    ASSERT_TRUE(e.RestoreState(2, tokens, state).ok());
    ASSERT_TRUE(e.SaveState(2, tokens, again).ok());
    EXPECT_EQ(state, again);
    uint32_t position = tokens;
    for (const uint32_t entry : {decode, prefill, decode}) {
      const uint32_t length = entry == decode ? 1 : chunk - 3;
      EXPECT_EQ(step(entry, 0, position, length),
                step(entry, 2, position, length));
      position += length;
    }
  }
}

}  // namespace
}  // namespace glm
