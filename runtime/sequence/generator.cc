#include "runtime/sequence/generator.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool Cancelled(const GenerateOptions& options) {
  return options.cancel != nullptr &&
         options.cancel->load(std::memory_order_relaxed);
}

}  // namespace

const char* FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

absl::StatusOr<Generator> Generator::Create(StepRunner& runner, uint32_t slot) {
  if (slot >= runner.slots()) {
    return absl::InvalidArgumentError(
        absl::StrCat("slot ", slot, " of ", runner.slots()));
  }
  const auto& entries = runner.entries();
  std::vector<uint32_t> prefill;
  std::optional<uint32_t> decode;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].sequences != 1) continue;
    if (entries[i].prefill) {
      prefill.push_back(i);
    } else if (entries[i].tokens == 1) {
      decode = i;
    }
  }
  if (!decode) {
    return absl::FailedPreconditionError(
        "the plan has no decode entry for one sequence; compile it again with "
        "a decode batch of 1");
  }
  std::sort(prefill.begin(), prefill.end(), [&](uint32_t a, uint32_t b) {
    return entries[a].tokens < entries[b].tokens;
  });
  Generator generator(runner, slot, *decode);
  generator.prefill_ = std::move(prefill);
  return generator;
}

// The smallest chunk that takes all tokens, else the largest. One token alone
// decodes: a step of its own shape beats a mostly empty chunk.
uint32_t Generator::EntryFor(size_t tokens) const {
  if (tokens == 1 || prefill_.empty()) return decode_;
  for (const uint32_t entry : prefill_) {
    if (runner_->entries()[entry].tokens >= tokens) return entry;
  }
  return prefill_.back();
}

bool Generator::SamplesOnDevice(const GenerateOptions& options) const {
  if (options.on_host || !runner_->Samples(decode_)) return false;
  return std::all_of(prefill_.begin(), prefill_.end(),
                     [&](uint32_t entry) { return runner_->Samples(entry); });
}

absl::Status Generator::RunStep(uint32_t entry, std::span<const int32_t> tokens,
                                bool want_logits, bool enqueue) {
  const EntryInfo& info = runner_->entries()[entry];
  ids_.assign(info.tokens, 0);
  std::copy(tokens.begin(), tokens.end(), ids_.begin());
  rows_.assign(info.logit_rows, -1);
  if (want_logits) rows_[0] = static_cast<int32_t>(tokens.size()) - 1;
  const SequenceStep sequence{slot_, static_cast<uint32_t>(history_.size()),
                              static_cast<uint32_t>(tokens.size())};
  const StepInputs inputs{ids_, std::span(&sequence, 1), rows_};
  const absl::Status status = enqueue ? runner_->Enqueue(entry, inputs)
                                      : runner_->Step(entry, inputs);
  if (!status.ok()) {
    Reset();
    return status;
  }
  history_.insert(history_.end(), tokens.begin(), tokens.end());
  return absl::OkStatus();
}

absl::Status CheckPrompt(const ModelInfo& model,
                         std::span<const int32_t> prompt) {
  if (prompt.empty()) return absl::InvalidArgumentError("the prompt is empty");
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || uint32_t(prompt[i]) >= model.vocab) {
      return absl::InvalidArgumentError(
          absl::StrCat("prompt id ", prompt[i], " at ", i,
                       " is outside the vocabulary of ", model.vocab));
    }
  }
  if (prompt.size() > model.max_context) {
    return absl::OutOfRangeError(absl::StrCat(
        "the prompt has ", prompt.size(), " tokens, the context holds ",
        model.max_context,
        "; shorten the prompt or compile with a larger --max-context"));
  }
  return absl::OkStatus();
}

absl::Status Generator::Feed(std::span<const int32_t> tokens,
                             const GenerateOptions& options, bool& cancelled) {
  const uint32_t total = static_cast<uint32_t>(tokens.size());
  const bool on_device = SamplesOnDevice(options);
  for (uint32_t done = 0; done < total;) {
    if ((cancelled = Cancelled(options))) return absl::OkStatus();
    const uint32_t entry = EntryFor(total - done);
    const uint32_t count =
        std::min(total - done, runner_->entries()[entry].tokens);
    const bool last = done + count == total;
    GLM_RETURN_IF_ERROR(RunStep(entry, tokens.subspan(done, count), last,
                                /*enqueue=*/last && on_device));
    done += count;
    if (options.on_prefill) options.on_prefill(done, total);
  }
  return absl::OkStatus();
}

absl::StatusOr<GenerateResult> Generator::Generate(
    std::span<const int32_t> prompt, const GenerateOptions& options) {
  GLM_RETURN_IF_ERROR(CheckPrompt(runner_->model(), prompt));
  GLM_ASSIGN_OR_RETURN(Sampler sampler,
                       Sampler::Create(options.sampling, prompt));
  const auto begin = Clock::now();
  GenerateResult result;
  result.prompt_tokens = static_cast<uint32_t>(prompt.size());
  // The logits belong to the last token fed, so at least one must be new.
  const bool continues =
      history_.size() < prompt.size() &&
      std::equal(history_.begin(), history_.end(), prompt.begin());
  if (!continues) Reset();
  result.cached_tokens = static_cast<uint32_t>(history_.size());

  const bool on_device = SamplesOnDevice(options);
  if (on_device) {
    GLM_RETURN_IF_ERROR(
        runner_->BeginSampling(slot_, options.sampling, prompt));
  }
  bool cancelled = false;
  GLM_RETURN_IF_ERROR(
      Feed(prompt.subspan(history_.size()), options, cancelled));
  if (cancelled) {
    result.finish_reason = FinishReason::kCancelled;
    result.prefill_seconds = SecondsSince(begin);
    return result;
  }
  auto fed = Clock::now();
  const auto stamp = [&] {
    fed = Clock::now();
    result.prefill_seconds = std::chrono::duration<double>(fed - begin).count();
  };
  stamp();
  GLM_RETURN_IF_ERROR(on_device ? DecodeOnDevice(options, result, stamp)
                                : Decode(sampler, options, result));
  result.decode_seconds = SecondsSince(fed);
  return result;
}

absl::Status Generator::Decode(Sampler& sampler, const GenerateOptions& options,
                               GenerateResult& result) {
  for (;;) {
    const auto id = sampler.Sample(runner_->logits(0),
                                   static_cast<uint32_t>(history_.size()));
    if (!id.ok()) {
      Reset();
      return id.status();
    }
    const auto& stops = options.stop_ids;
    if (std::find(stops.begin(), stops.end(), *id) != stops.end()) {
      result.finish_reason = FinishReason::kStop;
      result.stop_id = *id;
      return absl::OkStatus();
    }
    result.ids.push_back(*id);
    if (options.on_token) options.on_token(*id);
    if (result.ids.size() == options.max_tokens ||
        history_.size() == runner_->model().max_context) {
      result.finish_reason = FinishReason::kLength;
      return absl::OkStatus();
    }
    if (Cancelled(options)) {
      result.finish_reason = FinishReason::kCancelled;
      return absl::OkStatus();
    }
    const int32_t next = *id;
    GLM_RETURN_IF_ERROR(RunStep(decode_, std::span(&next, 1),
                                /*want_logits=*/true, /*enqueue=*/false));
    ++result.decode_steps;
  }
}

absl::StatusOr<int32_t> Generator::TakeToken() {
  const auto tokens = runner_->Take();
  if (tokens.ok()) return (*tokens)[0];
  Reset();
  return tokens.status();
}

absl::Status Generator::EnqueueNext() {
  const int32_t row = 0;
  const SequenceStep sequence{slot_, static_cast<uint32_t>(history_.size()), 1};
  const absl::Status status = runner_->Enqueue(
      decode_, {{}, std::span(&sequence, 1), std::span(&row, 1)});
  if (!status.ok()) Reset();
  return status;
}

absl::Status Generator::DecodeOnDevice(const GenerateOptions& options,
                                       GenerateResult& result,
                                       const std::function<void()>& on_first) {
  const auto& stops = options.stop_ids;
  for (;;) {
    // 1. The step after this token, unless this is the last one anyway.
    const bool last = result.ids.size() + 1 == options.max_tokens ||
                      history_.size() == runner_->model().max_context;
    const bool ahead = !last && runner_->RunsAhead();
    if (ahead) GLM_RETURN_IF_ERROR(EnqueueNext());

    // 2. The token.
    GLM_ASSIGN_OR_RETURN(const int32_t id, TakeToken());
    if (result.ids.empty()) on_first();
    if (std::find(stops.begin(), stops.end(), id) != stops.end()) {
      result.finish_reason = FinishReason::kStop;
      result.stop_id = id;
    } else {
      result.ids.push_back(id);
      if (options.on_token) options.on_token(id);
      result.finish_reason =
          last ? FinishReason::kLength : FinishReason::kCancelled;
    }

    // 3. On, or the end: a step that ran ahead is over before anybody goes on.
    const bool end = last || result.stop_id || Cancelled(options);
    if (end && !ahead) return absl::OkStatus();
    if (!ahead) GLM_RETURN_IF_ERROR(EnqueueNext());
    history_.push_back(id);
    ++result.decode_steps;
    if (end) {
      // The answer is whole; only the state after it may be lost.
      if (!TakeToken().ok()) Reset();
      return absl::OkStatus();
    }
  }
}

}  // namespace glm
