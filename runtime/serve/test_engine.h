// For tests: an `Engine` that replays scripted ids on a thread of its own, some
// a step, and counts what it is asked. Ids that a request's constraint does not
// allow are left out.
#ifndef GLM_RUNTIME_SERVE_TEST_ENGINE_H_
#define GLM_RUNTIME_SERVE_TEST_ENGINE_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/engine/engine.h"

namespace glm::serve {

struct TestScript {
  std::vector<int32_t> ids;
  bool endless = false;  // the ids over and over
  size_t fails_after = std::numeric_limits<size_t>::max();  // tokens
  uint32_t cached_tokens = 0;                               // of the prompt
};

struct TestEngineOptions {
  uint32_t slots = 4;
  uint32_t queue_limit = 16;
  uint32_t max_context = 512;
  uint32_t vocab = 2048;
  size_t tokens_per_step = 1;
  // Endless answers leave the processor to others.
  std::chrono::microseconds pause{100};  // between steps
};

class TestEngine : public Engine {
 public:
  using Script = std::function<TestScript(const EngineRequest&)>;

  TestEngine(TestEngineOptions options, Script script)
      : options_(options), script_(std::move(script)) {
    model_.vocab = options.vocab;
    model_.max_context = options.max_context;
    stats_.slots = options.slots;
    stats_.queue_limit = options.queue_limit;
    thread_ = std::thread([this] { Run(); });
  }
  ~TestEngine() override {
    Drain(absl::ZeroDuration());
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  const ModelInfo& model() const override { return model_; }

  absl::StatusOr<uint64_t> Submit(EngineRequest request) override {
    TestScript script = script_(request);
    const std::lock_guard lock(mutex_);
    last_ = request;
    last_.listener = nullptr;
    if (stats_.state != EngineState::kServing) {
      return absl::UnavailableError("draining");
    }
    if (running_.size() >= options_.slots + options_.queue_limit) {
      return absl::ResourceExhaustedError(
          absl::StrCat(options_.queue_limit, " requests wait already"));
    }
    for (const int32_t id : request.prompt) {
      if (id < 0 || static_cast<uint32_t>(id) >= options_.vocab) {
        return absl::InvalidArgumentError(absl::StrCat(
            "prompt holds id ", id, "; the vocabulary has ", options_.vocab));
      }
    }
    ++stats_.requests;
    running_[next_] = {std::move(request), std::move(script)};
    changed_.notify_all();
    return next_++;
  }

  void Cancel(uint64_t id) override {
    const std::lock_guard lock(mutex_);
    ++cancels_;
    const auto found = running_.find(id);
    if (found != running_.end()) found->second.cancelled = true;
    changed_.notify_all();
  }

  void Drain(absl::Duration limit) override {
    std::unique_lock lock(mutex_);
    if (stats_.state == EngineState::kServing) {
      stats_.state = EngineState::kDraining;
    }
    const auto none = [this] { return running_.empty(); };
    ended_.wait_for(
        lock, std::chrono::nanoseconds(absl::ToInt64Nanoseconds(limit)), none);
    for (auto& [id, running] : running_) running.cancelled = true;
    changed_.notify_all();
    ended_.wait(lock, none);
  }

  EngineStats stats() const override {
    const std::lock_guard lock(mutex_);
    EngineStats stats = stats_;
    stats.active = static_cast<uint32_t>(
        std::min<size_t>(running_.size(), options_.slots));
    stats.queued = static_cast<uint32_t>(running_.size()) - stats.active;
    return stats;
  }

  // ---- for tests

  // Waits until nothing runs; false after 20 s.
  bool WaitIdle() {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, std::chrono::seconds(20),
                           [this] { return running_.empty(); });
  }
  // Waits until `count` requests have been taken; false after 20 s.
  bool WaitRequests(uint64_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20),
                             [&] { return stats_.requests >= count; });
  }
  uint64_t cancels() const {
    const std::lock_guard lock(mutex_);
    return cancels_;
  }
  EngineRequest last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  void Break(std::string why) {
    const std::lock_guard lock(mutex_);
    stats_.state = EngineState::kFailed;
    stats_.failure = std::move(why);
  }

 private:
  struct Running {
    EngineRequest request;
    TestScript script;
    uint32_t generated = 0;
    bool cancelled = false;
    size_t skipped = 0;  // ids of the script
  };

  void Run() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      if (running_.empty()) {
        changed_.wait(lock);
        continue;
      }
      std::vector<uint64_t> ids;
      for (const auto& [id, running] : running_) {
        if (ids.size() < options_.slots) ids.push_back(id);
      }
      for (const uint64_t id : ids) Step(id, lock);
      changed_.wait_for(lock, options_.pause);
    }
  }

  void Step(uint64_t id, std::unique_lock<std::mutex>& lock) {
    Running& running = running_.at(id);
    RequestResult result;
    bool ends = running.cancelled;
    if (ends) result.finish_reason = FinishReason::kCancelled;
    std::vector<GeneratedToken> tokens;
    const EngineRequest& request = running.request;
    while (!ends && tokens.size() < options_.tokens_per_step) {
      result.status = Skip(running);
      const size_t at = running.generated + running.skipped;
      if (!result.status.ok()) {
        ends = true;
      } else if (at >= running.script.fails_after) {
        result.status = absl::InternalError("a step failed");
        ends = true;
      } else if (at >= running.script.ids.size() && !running.script.endless) {
        ends = true;
      } else if (const int32_t next =
                     running.script.ids[at % running.script.ids.size()];
                 std::ranges::count(request.stop_ids, next) > 0) {
        result.stop_id = next;
        ends = true;
      } else {
        if (request.constraint != nullptr) request.constraint->Accept(next);
        tokens.push_back(Token(next, request.top_logprobs));
        ++running.generated;
        if (request.prompt.size() + running.generated >= options_.max_context ||
            (request.max_tokens > 0 &&
             running.generated >= request.max_tokens)) {
          result.finish_reason = FinishReason::kLength;
          ends = true;
        }
      }
    }
    ++stats_.decode_steps;
    stats_.generated_tokens += tokens.size();
    const auto listener = request.listener;
    lock.unlock();
    bool more = true;
    if (!tokens.empty()) more = listener->OnTokens(tokens);
    lock.lock();
    if (more && !ends) return;
    if (!more) result.finish_reason = FinishReason::kStop;
    result.prompt_tokens = static_cast<uint32_t>(request.prompt.size());
    result.cached_tokens = running.script.cached_tokens;
    result.generated_tokens = running.generated;
    stats_.prompt_tokens += result.prompt_tokens;
    if (result.finish_reason == FinishReason::kCancelled) ++stats_.cancelled;
    lock.unlock();
    listener->OnFinish(result);
    lock.lock();
    running_.erase(id);
    ended_.notify_all();
  }

  // To the next id that may come.
  absl::Status Skip(Running& running) const {
    TokenConstraint* constraint = running.request.constraint.get();
    std::vector<uint64_t> words((options_.vocab + 63) / 64, 0);
    if (constraint == nullptr || !constraint->Allow(words)) {
      return absl::OkStatus();
    }
    const std::vector<int32_t>& ids = running.script.ids;
    for (; running.generated + running.skipped < ids.size();
         ++running.skipped) {
      const int32_t id = ids[running.generated + running.skipped];
      if (words[static_cast<size_t>(id) / 64] >> (id % 64) & 1) break;
    }
    return constraint->status();
  }

  static GeneratedToken Token(int32_t id, int32_t top) {
    GeneratedToken token;
    token.id = id;
    if (top < 0) return token;
    token.logprob = -static_cast<float>(id % 8) / 4;
    for (int32_t i = 0; i < top; ++i) {
      token.top.push_back({(id + i) % 256, -static_cast<float>(i)});
    }
    return token;
  }

  const TestEngineOptions options_;
  const Script script_;
  ModelInfo model_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, ended_;
  std::map<uint64_t, Running> running_;
  EngineRequest last_;
  EngineStats stats_;
  uint64_t next_ = 1;
  uint64_t cancels_ = 0;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_TEST_ENGINE_H_
