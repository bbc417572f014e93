#include "runtime/engine/batch.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

using Clock = ActiveRequest::Clock;

double Seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

bool AnySamples(const StepRunner& runner) {
  for (uint32_t e = 0; e < runner.entries().size(); ++e) {
    if (runner.Samples(e)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Batch>> Batch::Create(
    StepRunner& runner, const BatchEngineOptions& options, OnEnd on_end) {
  GLM_ASSIGN_OR_RETURN(Scheduler scheduler,
                       Scheduler::Create(runner.entries()));
  return std::unique_ptr<Batch>(
      new Batch(runner, options, std::move(scheduler), std::move(on_end)));
}

Batch::Batch(StepRunner& runner, const BatchEngineOptions& options,
             Scheduler scheduler, OnEnd on_end)
    : runner_(runner),
      options_(options),
      depth_(runner.RunsAhead() ? 2 : 1),
      on_device_(AnySamples(runner)),
      on_end_(std::move(on_end)),
      scheduler_(std::move(scheduler)),
      slots_(runner, options.cache_bytes, options.cache_min_tokens),
      by_slot_(runner.slots()) {}

void Batch::Settle() {
  const StepClock::Work work(clock_);
  while (!enqueued_.empty()) TakeOldest();
  Release();
}

void Batch::Admit(std::unique_ptr<ActiveRequest> request) {
  assert(enqueued_.empty());
  const StepClock::Work work(clock_);
  ActiveRequest& r = *request;
  r.admitted = Clock::now();
  r.first_token = r.admitted;
  ActiveRequest* const rows[] = {&r};
  const auto place = slots_.Take(r.tokens, r.request.use_cache);
  if (!place.ok()) {
    FailStep(rows, place.status());
    return;
  }
  r.slot = place->slot;
  r.fed = r.kept = r.result.cached_tokens = place->tokens;
  const uint32_t prompt = r.result.prompt_tokens;
  counters_.prompt_tokens += prompt;
  counters_.cached_tokens += r.fed;
  by_slot_[r.slot] = std::move(request);
  if (on_device_ && !r.on_host) {
    const absl::Status begun =
        runner_.BeginSampling(r.slot, r.request.sampling, r.tokens);
    if (!begun.ok()) {
      FailStep(rows, begun);
      Release();
      return;
    }
  }
  scheduler_.Add(r.slot, prompt - r.fed);
}

void Batch::Cancel(uint64_t id) {
  for (const auto& request : by_slot_) {
    if (request == nullptr || request->id != id || request->ended) continue;
    End(*request, FinishReason::kCancelled);
    break;
  }
  Release();
}

void Batch::Advance() {
  const StepClock::Work work(clock_);
  while (enqueued_.size() < depth_) {
    const auto choice = scheduler_.Next();
    // A step on the host is over already: others may want something now.
    if (!choice || !Start(*choice) || enqueued_.empty()) break;
  }
  if (!enqueued_.empty()) TakeOldest();
  Release();
}

absl::StatusOr<ExpertTraffic> Batch::ReadTraffic() {
  Settle();
  const StepClock::Work work(clock_);
  auto traffic = options_.expert_traffic();
  if (!traffic.ok()) traffic = options_.expert_traffic();
  if (!traffic.ok()) {
    Lose(absl::UnavailableError(
        absl::StrCat("the counters of its experts cannot be read: ",
                     traffic.status().message())));
    Release();
  }
  return traffic;
}

bool Batch::Start(const StepChoice& choice) {
  Step step{choice, {}, true, failures_};
  bool known = true;
  bool on_host = !runner_.Samples(choice.entry);
  for (const uint32_t slot : choice.slots) {
    ActiveRequest& r = *by_slot_[slot];
    step.rows.push_back(&r);
    step.tokens &= r.fed + choice.length >= r.result.prompt_tokens;
    known &= r.fed + choice.length <= r.tokens.size();
  }
  if (step.tokens) {
    for (const ActiveRequest* r : step.rows) on_host |= r->on_host;
  }
  const bool follows = !known && !on_host && Follows(step);
  if (!known && !follows) return false;
  if (on_host && !enqueued_.empty()) return false;
  if (const absl::Status kept = KeepStates(step); !kept.ok()) return true;
  if (on_host) {
    RunOnHost(std::move(step));
    return true;
  }
  if (follows) {
    // Whose token is the last anyway has nothing to feed.
    for (ActiveRequest*& r : step.rows) {
      if (IsLast(*r)) r = nullptr;
    }
  }
  const absl::Status status = Run(step, /*enqueue=*/true, follows);
  if (!status.ok()) {
    FailStep(step.rows, status);
    return true;
  }
  for (ActiveRequest* r : step.rows) {
    if (r != nullptr) ++r->enqueued;
  }
  enqueued_.push_back(std::move(step));
  return true;
}

absl::Status Batch::KeepStates(const Step& step) {
  for (ActiveRequest* r : step.rows) {
    if (!std::exchange(r->keep, false)) continue;
    const std::span<const int32_t> held(r->tokens.data(), r->fed);
    if (const absl::Status kept = slots_.Keep(r->slot, held); !kept.ok()) {
      FailStep(std::span(&r, 1), kept);
      return kept;
    }
    r->kept = r->fed;
  }
  return absl::OkStatus();
}

bool Batch::Follows(const Step& step) const {
  if (enqueued_.size() != 1 || step.choice.prompt) return false;
  const Step& before = enqueued_.back();
  const std::vector<EntryInfo>& entries = runner_.entries();
  if (!before.tokens || entries[before.choice.entry].logit_rows <
                            entries[step.choice.entry].sequences) {
    return false;
  }
  bool any = false;
  for (size_t i = 0; i < step.rows.size(); ++i) {
    if (i >= before.rows.size() || step.rows[i] != before.rows[i]) return false;
    any |= !IsLast(*step.rows[i]);
  }
  return any;
}

// Whether the token that is on its way will end the answer, whatever it is.
bool Batch::IsLast(const ActiveRequest& r) const {
  return r.result.generated_tokens + 1 == r.request.max_tokens ||
         r.fed == runner_.model().max_context;
}

absl::Status Batch::Run(Step& step, bool enqueue, bool follows) {
  const StepChoice& choice = step.choice;
  const EntryInfo& entry = runner_.entries()[choice.entry];
  ids_.assign(follows ? 0 : uint64_t{entry.sequences} * entry.tokens, 0);
  seqs_.assign(entry.sequences, {});
  rows_.assign(entry.logit_rows, -1);
  for (size_t i = 0; i < step.rows.size(); ++i) {
    ActiveRequest* r = step.rows[i];
    if (r == nullptr) continue;
    seqs_[i] = {r->slot, r->fed, choice.length};
    const size_t row = i * entry.tokens;
    if (!follows) {
      std::copy_n(r->tokens.begin() + r->fed, choice.length,
                  ids_.begin() + static_cast<ptrdiff_t>(row));
    }
    if (step.tokens) rows_[i] = static_cast<int32_t>(row + choice.length - 1);
  }
  const StepInputs inputs{ids_, seqs_, rows_};
  GLM_RETURN_IF_ERROR(enqueue ? runner_.Enqueue(choice.entry, inputs)
                              : runner_.Step(choice.entry, inputs));
  ++(choice.prompt ? counters_.prefill_steps : counters_.decode_steps);
  scheduler_.Ran(choice);
  for (ActiveRequest* r : step.rows) {
    if (r == nullptr) continue;
    r->fed += choice.length;
    const uint32_t interval = options_.cache_interval;
    r->keep = choice.prompt && r->request.use_cache &&
              (r->fed == r->result.prompt_tokens ||
               (interval > 0 && r->fed - r->kept >= interval));
  }
  return absl::OkStatus();
}

void Batch::RunOnHost(Step step) {
  const absl::Status status = Run(step, false, false);
  clock_.StepEnded();
  if (!status.ok()) {
    FailStep(step.rows, status);
    return;
  }
  unavailable_ = 0;
  if (!step.tokens) return;
  for (uint32_t i = 0; i < step.rows.size(); ++i) {
    ActiveRequest& r = *step.rows[i];
    // The device does not see this token, so its counts are wrong from here on.
    r.on_host |= r.request.sampling.penalties();
    auto token = host_choice_.Choose(r, runner_.logits(i));
    if (token.ok()) {
      GiveToken(r, *std::move(token));
    } else {
      Fail(r, token.status());  // of this request alone
    }
  }
}

void Batch::TakeOldest() {
  const Step step = std::move(enqueued_.front());
  enqueued_.pop_front();
  const auto taken = runner_.Take();
  clock_.StepEnded();
  for (ActiveRequest* r : step.rows) {
    if (r != nullptr) --r->enqueued;
  }
  if (!taken.ok()) {
    FailStep(step.rows, taken.status(), step.failures == failures_);
    return;
  }
  unavailable_ = 0;
  if (!step.tokens) return;
  for (size_t i = 0; i < step.rows.size(); ++i) {
    ActiveRequest* r = step.rows[i];
    if (r == nullptr) continue;
    const int32_t id = (*taken)[i];
    if (r->ended) {
      r->tokens.push_back(id);  // the step after this one has fed it
      continue;
    }
    r->sampler.Count(id);
    GeneratedToken token;
    token.id = id;
    GiveToken(*r, std::move(token));
  }
}

void Batch::GiveToken(ActiveRequest& r, GeneratedToken token) {
  if (r.tokens.size() == r.result.prompt_tokens) r.first_token = Clock::now();
  r.tokens.push_back(token.id);
  const std::vector<int32_t>& stops = r.request.stop_ids;
  if (std::find(stops.begin(), stops.end(), token.id) != stops.end()) {
    r.result.stop_id = token.id;
    End(r, FinishReason::kStop);
    return;
  }
  ++r.result.generated_tokens;
  ++counters_.generated_tokens;
  if (!r.request.listener->OnTokens(std::span(&token, 1))) {
    End(r, FinishReason::kStop);
  } else if (r.result.generated_tokens == r.request.max_tokens ||
             r.tokens.size() > runner_.model().max_context) {
    End(r, FinishReason::kLength);
  }
}

void Batch::End(ActiveRequest& r, FinishReason reason) {
  r.ended = true;
  r.result.finish_reason = reason;
  r.result.queue_seconds = Seconds(r.admitted - r.submitted);
  const bool begun = r.tokens.size() > r.result.prompt_tokens;
  const Clock::time_point now = Clock::now();
  r.result.prefill_seconds =
      Seconds((begun ? r.first_token : now) - r.admitted);
  r.result.decode_seconds = begun ? Seconds(now - r.first_token) : 0;
  if (by_slot_[r.slot].get() == &r) scheduler_.Remove(r.slot);
  on_end_(r);
}

void Batch::Fail(ActiveRequest& r, const absl::Status& status) {
  r.damaged = true;
  if (r.ended) return;
  r.result.status = status;
  End(r, FinishReason::kCancelled);
}

void Batch::FailStep(std::span<ActiveRequest* const> rows,
                     const absl::Status& status, bool again) {
  ++failures_;
  // What was kept may come from the same fault.
  slots_.Forget();
  if (!absl::IsUnavailable(status)) {
    unavailable_ = 0;
  } else if (again) {
    ++unavailable_;
  }
  if (unavailable_ >= 2 && failure_.ok()) failure_ = status;
  for (ActiveRequest* r : rows) {
    if (r != nullptr) Fail(*r, status);
  }
  if (!failure_.ok()) Lose(failure_);
}

void Batch::Lose(const absl::Status& status) {
  if (failure_.ok()) failure_ = status;
  for (const auto& request : by_slot_) {
    if (request != nullptr) Fail(*request, failure_);
  }
}

void Batch::Release() {
  for (auto& owned : by_slot_) {
    if (owned == nullptr || !owned->ended || owned->enqueued > 0) continue;
    ActiveRequest& r = *owned;
    std::vector<int32_t> held;
    if (!r.damaged && r.request.use_cache) {
      held = std::move(r.tokens);
      held.resize(r.fed);
    }
    slots_.GiveBack(r.slot, std::move(held),
                    r.result.finish_reason != FinishReason::kCancelled);
    owned.reset();
  }
}

}  // namespace glm
