#include "runtime/serve/request_runner.h"

#include <mutex>
#include <utility>

#include "runtime/serve/api_error.h"
#include "runtime/serve/sse.h"

namespace glm::serve {
namespace {

class Runner : public std::enable_shared_from_this<Runner> {
 public:
  explicit Runner(RequestRun run)
      : run_(std::move(run)),
        state_(run_.choices.size()),
        whole_(run_.choices.size()) {
    report_.results.resize(run_.choices.size());
    for (size_t i = 0; i < whole_.size(); ++i) {
      whole_[i].index = static_cast<uint32_t>(i);
    }
  }

  void Start();

  // ---- for the listeners, on the engine's thread
  bool OnTokens(size_t choice, std::span<const GeneratedToken> tokens);
  void OnFinish(size_t choice, const RequestResult& result);
  // One of these threw.
  void OnThrow() noexcept;

 private:
  struct ChoiceState {
    uint64_t id = 0;
    bool submitted = false;
    bool finished = false;
    bool cancelled = false;
    bool logprobs = false;  // are wanted
    std::shared_ptr<TokenConstraint> constraint;
  };

  absl::Status SubmitAll();
  void OnAbort();
  void Send(ChoiceDelta delta);
  void Fail(const absl::Status& status);
  void End();
  void MaybeReport(std::unique_lock<std::mutex>& lock);
  // Those that the engine is to be told of, once.
  std::vector<uint64_t> Unfinished();
  void Cancel(const std::vector<uint64_t>& ids);

  std::mutex mutex_;
  RequestRun run_;
  std::vector<ChoiceState> state_;
  std::vector<ChoiceDelta> whole_;  // unless streaming
  RequestReport report_;
  size_t left_ = 0;    // choices that the engine has
  bool over_ = false;  // the client gets no more
};

class Listener : public RequestListener {
 public:
  Listener(std::shared_ptr<Runner> runner, size_t choice)
      : runner_(std::move(runner)), choice_(choice) {}
  bool OnTokens(std::span<const GeneratedToken> tokens) override {
    try {
      return runner_->OnTokens(choice_, tokens);
    } catch (...) {
      runner_->OnThrow();
      return true;  // it is being cancelled
    }
  }
  void OnFinish(const RequestResult& result) override {
    try {
      runner_->OnFinish(choice_, result);
    } catch (...) {
      runner_->OnThrow();
    }
  }

 private:
  std::shared_ptr<Runner> runner_;
  size_t choice_;
};

// The engine's thread waits at the mutex until the answer has begun.
void Runner::Start() {
  std::unique_lock lock(mutex_);
  if (absl::Status status = SubmitAll(); !status.ok()) {
    over_ = true;
    report_.outcome = RequestReport::Outcome::kRefused;
    report_.status = status;
    run_.exchange->Respond(ErrorResponse(ApiErrorOf(status)));
    const std::vector<uint64_t> ids = Unfinished();
    MaybeReport(lock);
    Cancel(ids);
    return;
  }
  if (run_.stream) {
    run_.exchange->BeginStream({.content_type = kSseContentType},
                               std::string(kSseKeepAlive));
    try {
      for (uint32_t i = 0; i < state_.size(); ++i) {
        const std::string opening = run_.format->Opening(i);
        if (!opening.empty()) run_.exchange->Write(SseEvent(opening));
      }
    } catch (...) {
      lock.unlock();
      return OnThrow();
    }
  }
  lock.unlock();
  run_.exchange->OnAbort([self = shared_from_this()] { self->OnAbort(); });
}

absl::Status Runner::SubmitAll() {
  for (size_t i = 0; i < state_.size(); ++i) {
    EngineRequest request = std::move(run_.choices[i].request);
    state_[i].logprobs = request.top_logprobs >= 0;
    state_[i].constraint = request.constraint;
    request.listener = std::make_shared<Listener>(shared_from_this(), i);
    absl::StatusOr<uint64_t> id = run_.engine->Submit(std::move(request));
    if (!id.ok()) return id.status();
    state_[i].id = *id;
    state_[i].submitted = true;
    ++left_;
  }
  return absl::OkStatus();
}

bool Runner::OnTokens(size_t choice, std::span<const GeneratedToken> tokens) {
  std::unique_lock lock(mutex_);
  if (over_) return true;  // it is being cancelled, which the engine counts
  RequestChoice& of = run_.choices[choice];
  ChoiceDelta delta{.index = static_cast<uint32_t>(choice)};
  for (const GeneratedToken& token : tokens) {
    if (of.text->stopped()) break;
    ++report_.usage.completion_tokens;
    if (of.text->inside_thinking()) ++report_.usage.reasoning_tokens;
    ChoiceDelta piece{.index = delta.index, .text = of.text->Push(token.id)};
    if (state_[choice].logprobs) piece.tokens.push_back(token);
    Join(std::move(piece), delta);
  }
  Send(std::move(delta));
  if (!over_) return !of.text->stopped();
  // It has gone, or reads too slowly.
  const std::vector<uint64_t> cut = Unfinished();
  lock.unlock();
  Cancel(cut);
  return true;
}

void Runner::Send(ChoiceDelta delta) {
  if (delta.empty()) return;
  if (!run_.stream) return Join(std::move(delta), whole_[delta.index]);
  if (!run_.exchange->Write(SseEvent(run_.format->Chunk(delta)))) {
    over_ = true;
    report_.outcome = RequestReport::Outcome::kAborted;
  }
}

void Runner::OnFinish(size_t choice, const RequestResult& result) {
  std::vector<uint64_t> cancelled;
  std::unique_lock lock(mutex_);
  RequestChoice& of = run_.choices[choice];
  state_[choice].finished = true;
  --left_;
  report_.results[choice] = result;
  if (of.counts_prompt) {
    report_.usage.prompt_tokens += result.prompt_tokens;
    report_.usage.cached_tokens += result.cached_tokens;
  }
  if (!over_) {
    absl::Status status = result.status;
    const TokenConstraint* constraint = state_[choice].constraint.get();
    if (!status.ok() && constraint != nullptr && !constraint->status().ok()) {
      status = WithCode(std::move(status), "schema_too_complex");
    }
    if (status.ok() && result.finish_reason == FinishReason::kCancelled) {
      status = WithCode(
          absl::UnavailableError("the server is going down; try again later"),
          "draining");
    }
    if (!status.ok()) {
      Fail(status);
      cancelled = Unfinished();
    } else {
      ChoiceDelta last{.index = static_cast<uint32_t>(choice),
                       .text = of.text->Finish()};
      last.finish_reason = result.finish_reason == FinishReason::kLength
                               ? "length"
                           : of.text->has_calls() ? "tool_calls"
                                                  : "stop";
      if (choice == 0) report_.finish_reason = last.finish_reason;
      Send(std::move(last));
      if (left_ == 0 && !over_) End();
    }
  }
  MaybeReport(lock);
  Cancel(cancelled);
}

void Runner::Fail(const absl::Status& status) {
  over_ = true;
  report_.outcome = RequestReport::Outcome::kFailed;
  report_.status = status;
  const ApiError error = ApiErrorOf(status);
  if (run_.stream) {
    run_.exchange->Write(SseEvent(ErrorJson(error)));
    run_.exchange->EndStream();
  } else {
    run_.exchange->Respond(ErrorResponse(error));
  }
}

// The client gets an error, the engine goes on with the others.
void Runner::OnThrow() noexcept {
  try {
    std::unique_lock lock(mutex_);
    if (!over_) Fail(absl::InternalError("internal error"));
    const std::vector<uint64_t> ids = Unfinished();
    MaybeReport(lock);
    Cancel(ids);
  } catch (...) {
    // No memory to say so.
    run_.exchange->Break();
  }
}

// What throws before the client has all leaves over_ to OnThrow.
void Runner::End() {
  if (run_.stream) {
    if (run_.include_usage) {
      run_.exchange->Write(SseEvent(run_.format->UsageChunk(report_.usage)));
    }
    run_.exchange->Write(kSseDone);
    run_.exchange->EndStream();
  } else {
    run_.exchange->Respond({.body = run_.format->Whole(whole_, report_.usage)});
  }
  over_ = true;
}

void Runner::OnAbort() {
  std::vector<uint64_t> ids;
  {
    const std::lock_guard lock(mutex_);
    if (left_ == 0) return;
    if (!over_) report_.outcome = RequestReport::Outcome::kAborted;
    over_ = true;
    ids = Unfinished();
  }
  Cancel(ids);
}

// Unlocks.
void Runner::MaybeReport(std::unique_lock<std::mutex>& lock) {
  const bool report = left_ == 0 && over_ && run_.on_end != nullptr;
  const auto on_end = report ? std::exchange(run_.on_end, nullptr) : nullptr;
  lock.unlock();
  if (on_end) on_end(report_);
}

std::vector<uint64_t> Runner::Unfinished() {
  std::vector<uint64_t> ids;
  for (ChoiceState& choice : state_) {
    if (!choice.submitted || choice.finished || choice.cancelled) continue;
    choice.cancelled = true;
    ids.push_back(choice.id);
  }
  return ids;
}

void Runner::Cancel(const std::vector<uint64_t>& ids) {
  for (const uint64_t id : ids) run_.engine->Cancel(id);
}

}  // namespace

void RunRequest(RequestRun run) {
  std::make_shared<Runner>(std::move(run))->Start();
}

}  // namespace glm::serve
