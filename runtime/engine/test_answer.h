// For tests: a listener that collects an answer, requests, and what they are
// answered alone.
#ifndef GLM_RUNTIME_ENGINE_TEST_ANSWER_H_
#define GLM_RUNTIME_ENGINE_TEST_ANSWER_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/test_runner.h"
#include "runtime/sequence/generator.h"

namespace glm {

// What one request got.
class Answer : public RequestListener {
 public:
  bool OnTokens(std::span<const GeneratedToken> tokens) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(result_) << "a token after the end";
    for (const GeneratedToken& token : tokens) {
      tokens_.push_back(token);
      ids_.push_back(token.id);
    }
    changed_.notify_all();
    if (on_token) on_token(ids_.size());
    return stop_after == 0 || ids_.size() < stop_after;
  }
  void OnFinish(const RequestResult& result) override {
    if (on_finish) on_finish();
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(result_) << "ended twice";
    result_ = result;
    changed_.notify_all();
  }

  RequestResult Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return result_.has_value(); });
    return *result_;
  }
  void AwaitTokens(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ids_.size() >= count || result_; });
  }
  std::vector<int32_t> ids() {
    const std::lock_guard lock(mutex_);
    return ids_;
  }
  std::vector<GeneratedToken> tokens() {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }

  size_t stop_after = 0;  // tokens; 0: never
  std::function<void(size_t count)> on_token;
  std::function<void()> on_finish;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int32_t> ids_;
  std::vector<GeneratedToken> tokens_;
  std::optional<RequestResult> result_;
};

inline std::vector<int32_t> Prompt(size_t count, int32_t first = 1) {
  std::vector<int32_t> ids(count);
  for (size_t i = 0; i < count; ++i) {
    ids[i] = static_cast<int32_t>((first + 7 * i) % TestRunner::kVocab);
  }
  return ids;
}

struct Sent {
  std::shared_ptr<Answer> answer = std::make_shared<Answer>();
  uint64_t id = 0;
};

inline EngineRequest Greedy(std::vector<int32_t> prompt, uint32_t max_tokens) {
  EngineRequest request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  return request;
}

inline Sent Send(Engine& engine, EngineRequest request) {
  Sent sent;
  request.listener = sent.answer;
  const auto id = engine.Submit(std::move(request));
  EXPECT_TRUE(id.ok()) << id.status();
  sent.id = id.value_or(0);
  return sent;
}

inline absl::StatusCode Refused(Engine& engine, EngineRequest request) {
  if (request.listener == nullptr)
    request.listener = std::make_shared<Answer>();
  return engine.Submit(std::move(request)).status().code();
}

// What the model says alone, by other code.
inline GenerateResult Alone(const EngineRequest& request) {
  TestRunnerOptions options;
  options.slots = 1;
  options.samples = false;
  TestRunner runner(options);
  Generator generator = *Generator::Create(runner, 0);
  GenerateOptions how;
  how.sampling = request.sampling;
  how.max_tokens = request.max_tokens;
  how.stop_ids = request.stop_ids;
  return *generator.Generate(request.prompt, how);
}

}  // namespace glm

#endif  // GLM_RUNTIME_ENGINE_TEST_ANSWER_H_
