#include "runtime/engine/batch_engine.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

constexpr int32_t kMostLogprobs = 20;
constexpr absl::Duration kLongest = absl::Hours(24 * 365);

}  // namespace

absl::StatusOr<std::unique_ptr<BatchEngine>> BatchEngine::Create(
    StepRunner& runner, const BatchEngineOptions& options) {
  std::unique_ptr<BatchEngine> engine(new BatchEngine(runner, options));
  GLM_ASSIGN_OR_RETURN(
      engine->batch_,
      Batch::Create(runner, options, [raw = engine.get()](ActiveRequest& r) {
        raw->OnEnd(r, /*had_slot=*/true);
      }));
  engine->stats_.cache_limit = engine->batch_->cache().limit();
  engine->thread_ = std::thread([raw = engine.get()] { raw->Loop(); });
  return engine;
}

BatchEngine::BatchEngine(StepRunner& runner, const BatchEngineOptions& options)
    : runner_(runner), options_(options) {
  stats_.slots = runner.slots();
  stats_.queue_limit = options.queue_limit;
}

BatchEngine::~BatchEngine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    CancelAll();
  }
  wake_.notify_one();
  thread_.join();
}

absl::StatusOr<uint64_t> BatchEngine::Submit(EngineRequest request) {
  if (request.listener == nullptr) {
    return absl::InvalidArgumentError("the request has no listener");
  }
  if (request.top_logprobs < -1 || request.top_logprobs > kMostLogprobs) {
    return absl::InvalidArgumentError(
        absl::StrCat("top_logprobs ", request.top_logprobs, ", expected 0 to ",
                     kMostLogprobs, ", or -1 for none"));
  }
  GLM_RETURN_IF_ERROR(CheckPrompt(model(), request.prompt));
  GLM_ASSIGN_OR_RETURN(Sampler sampler,
                       Sampler::Create(request.sampling, request.prompt));
  const std::lock_guard lock(mutex_);
  if (stop_ || stats_.state != EngineState::kServing) {
    return absl::UnavailableError(
        stats_.state == EngineState::kFailed
            ? absl::StrCat("the device has failed: ", stats_.failure)
            : "the engine takes no more requests");
  }
  if (queue_.size() + stats_.active >=
      uint64_t{stats_.slots} + options_.queue_limit) {
    return absl::ResourceExhaustedError(absl::StrCat(
        stats_.active, " requests are answered and ", queue_.size(),
        " wait, which is all that may; try again later"));
  }
  const uint64_t id = next_id_++;
  const auto listener = request.listener;
  queue_.push_back(std::make_unique<ActiveRequest>(id, std::move(request),
                                                   std::move(sampler)));
  live_.emplace(id, listener);
  ++stats_.requests;
  wake_.notify_one();
  return id;
}

void BatchEngine::Cancel(uint64_t id) {
  const std::lock_guard lock(mutex_);
  if (!live_.contains(id)) return;
  cancel_.insert(id);
  wake_.notify_one();
}

void BatchEngine::Drain(absl::Duration limit) {
  std::unique_lock lock(mutex_);
  if (stats_.state == EngineState::kServing) {
    stats_.state = EngineState::kDraining;
  }
  const auto all_ended = [this] { return live_.empty(); };
  const auto wait = absl::ToChronoNanoseconds(std::min(limit, kLongest));
  if (ended_.wait_for(lock, wait, all_ended)) return;
  CancelAll();
  wake_.notify_one();
  ended_.wait(lock, all_ended);
}

EngineStats BatchEngine::stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.queued = static_cast<uint32_t>(queue_.size());
  stats.last_step = batch_->clock().last_step();
  stats.in_flight_since = batch_->clock().in_flight_since();
  return stats;
}

void BatchEngine::CancelAll() {
  for (const auto& [id, listener] : live_) cancel_.insert(id);
}

void BatchEngine::Loop() {
  try {
    Turns();
  } catch (const std::exception& error) {
    Break(error.what());
  } catch (...) {
    Break("an unknown exception");
  }
}

void BatchEngine::Break(std::string why) {
  const absl::Status status =
      absl::InternalError(absl::StrCat("the engine has failed: ", why));
  std::unique_lock lock(mutex_);
  stats_.state = EngineState::kFailed;
  stats_.failure = std::string(status.message());
  queue_.clear();
  cancel_.clear();
  stats_.active = 0;
  while (!live_.empty()) {
    const auto node = live_.extract(live_.begin());
    if (node.mapped() == nullptr) continue;
    lock.unlock();
    RequestResult result;
    result.status = status;
    result.finish_reason = FinishReason::kCancelled;
    try {
      node.mapped()->OnFinish(result);
    } catch (...) {
      // The others get to know all the same.
    }
    lock.lock();
  }
  ended_.notify_all();
}

void BatchEngine::Turns() {
  std::unique_lock lock(mutex_);
  LookAtExperts(lock);
  for (;;) {
    const auto work = [this] {
      return !cancel_.empty() || !queue_.empty() || !batch_->idle();
    };
    const auto woken = [&] { return stop_ || work(); };
    if (options_.expert_traffic == nullptr || !batch_->failure().ok()) {
      wake_.wait(lock, woken);
    } else if (!wake_.wait_for(lock, options_.traffic_interval, woken)) {
      // A device that is lost while nobody asks should not seem well.
      LookAtExperts(lock);
      continue;
    }
    if (!work()) return;
    CancelSome(lock);
    if (batch_->failure().ok()) {
      AdmitSome(lock);
    } else {
      FailQueue(lock);
    }
    lock.unlock();
    batch_->Advance();
    lock.lock();
    CopyCounters();
    LookAtExperts(lock);
  }
}

void BatchEngine::LookAtExperts(std::unique_lock<std::mutex>& lock) {
  if (options_.expert_traffic == nullptr || !batch_->failure().ok()) return;
  const auto now = EngineStats::Clock::now();
  if (now < traffic_due_ && !(batch_->idle() && queue_.empty())) return;
  lock.unlock();
  const auto traffic = batch_->ReadTraffic();
  lock.lock();
  traffic_due_ = now + options_.traffic_interval;
  if (traffic.ok()) stats_.experts = *traffic;
  CopyFailure();
}

// Each of these leaves the lock while it calls listeners or the batch.

void BatchEngine::CancelSome(std::unique_lock<std::mutex>& lock) {
  const std::unordered_set<uint64_t> ids = std::exchange(cancel_, {});
  if (ids.empty()) return;
  std::vector<std::unique_ptr<ActiveRequest>> waiting;
  for (auto& request : queue_) {
    if (ids.contains(request->id)) waiting.push_back(std::move(request));
  }
  std::erase(queue_, nullptr);
  lock.unlock();
  for (const auto& request : waiting) EndWaiting(*request, absl::OkStatus());
  for (const uint64_t id : ids) batch_->Cancel(id);
  lock.lock();
}

void BatchEngine::AdmitSome(std::unique_lock<std::mutex>& lock) {
  if (queue_.empty() || batch_->free_slots() == 0) return;
  lock.unlock();
  batch_->Settle();
  lock.lock();
  while (!queue_.empty() && batch_->free_slots() > 0 &&
         batch_->failure().ok()) {
    std::unique_ptr<ActiveRequest> request = std::move(queue_.front());
    queue_.pop_front();
    ++stats_.active;
    lock.unlock();
    batch_->Admit(std::move(request));
    lock.lock();
  }
}

void BatchEngine::FailQueue(std::unique_lock<std::mutex>& lock) {
  const auto waiting = std::exchange(queue_, {});
  lock.unlock();
  for (const auto& request : waiting) {
    EndWaiting(*request, batch_->failure());
  }
  lock.lock();
}

void BatchEngine::EndWaiting(ActiveRequest& request,
                             const absl::Status& status) {
  request.result.status = status;
  request.result.finish_reason = FinishReason::kCancelled;
  request.result.queue_seconds =
      std::chrono::duration<double>(ActiveRequest::Clock::now() -
                                    request.submitted)
          .count();
  OnEnd(request, /*had_slot=*/false);
}

void BatchEngine::OnEnd(ActiveRequest& request, bool had_slot) {
  const RequestResult& result = request.result;
  {
    const std::lock_guard lock(mutex_);
    stats_.active -= had_slot;
    if (result.status.ok() &&
        result.finish_reason == FinishReason::kCancelled) {
      ++stats_.cancelled;
    }
    CopyFailure();
    CopyCounters();
    live_[request.id] = nullptr;
  }
  request.request.listener->OnFinish(result);
  const std::lock_guard lock(mutex_);
  live_.erase(request.id);
  if (live_.empty()) ended_.notify_all();
}

void BatchEngine::CopyFailure() {
  if (batch_->failure().ok()) return;
  stats_.state = EngineState::kFailed;
  stats_.failure = std::string(batch_->failure().message());
}

void BatchEngine::CopyCounters() {
  const Batch::Counters& counters = batch_->counters();
  stats_.prompt_tokens = counters.prompt_tokens;
  stats_.cached_tokens = counters.cached_tokens;
  stats_.generated_tokens = counters.generated_tokens;
  stats_.decode_steps = counters.decode_steps;
  stats_.prefill_steps = counters.prefill_steps;
  stats_.cache_bytes = batch_->cache().bytes();
  stats_.cache_entries = batch_->cache().entries();
}

}  // namespace glm
