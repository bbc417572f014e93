#include "tools/glmrun/measure.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/sequence/generator.h"

namespace glm::tools {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

absl::Status CheckLengths(const MeasureOptions& options,
                          const ModelInfo& model) {
  if (options.context > model.max_context) {
    return absl::OutOfRangeError(absl::StrCat(
        "--context ", options.context, " exceeds the plan's ",
        model.max_context, "; compile it with a larger --max-context"));
  }
  const uint64_t needed =
      uint64_t{options.prompt_tokens} + options.decode_steps;
  if (options.context > 0 || needed <= model.max_context) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(absl::StrCat(
      "--prompt-tokens ", options.prompt_tokens, " + --decode-tokens ",
      options.decode_steps, " exceed the context of ", model.max_context));
}

bool Cancelled(const MeasureOptions& options) {
  return options.cancel != nullptr && options.cancel->load();
}

absl::Status Tell(const std::function<absl::Status()>& listener) {
  return listener ? listener() : absl::OkStatus();
}

absl::Status Interrupted() { return absl::CancelledError("interrupted"); }

// Fills the slots with the prompt; the token sampled after it goes to `next`.
absl::Status Prefill(ObservableRunner& executor, const MeasureOptions& options,
                     std::vector<int32_t>& next, std::vector<double>& seconds) {
  const auto prompt =
      MadeUpPrompt(options.prompt_tokens, executor.model().vocab);
  GenerateOptions generation;
  generation.sampling.temperature = 0;
  generation.max_tokens = 1;
  generation.on_host = options.on_host;
  generation.cancel = options.cancel;
  for (uint32_t slot = 0; slot < options.batch; ++slot) {
    GLM_ASSIGN_OR_RETURN(Generator generator,
                         Generator::Create(executor, slot));
    // Only slot 0 is timed, after one round that warms up.
    const uint32_t rounds = slot == 0 ? options.prefills : 0;
    for (uint32_t i = 0; i <= rounds; ++i) {
      generator.Reset();
      GLM_ASSIGN_OR_RETURN(const GenerateResult result,
                           generator.Generate(prompt, generation));
      if (Cancelled(options)) return Interrupted();
      if (i > 0) seconds.push_back(result.prefill_seconds);
      next[slot] = result.ids[0];
    }
  }
  return absl::OkStatus();
}

// The inputs of decode steps but for the ids.
class DecodeInputs {
 public:
  explicit DecodeInputs(const MeasureOptions& options)
      : moves_(options.context == 0),
        warm_up_(options.warm_up),
        position_(moves_ ? options.prompt_tokens : options.context - 1) {
    for (uint32_t slot = 0; slot < options.batch; ++slot) {
      sequences_.push_back({slot, position_, 1});
      rows_.push_back(static_cast<int32_t>(slot));
    }
  }

  StepInputs With(std::span<const int32_t> ids) const {
    return {ids, sequences_, rows_};
  }
  uint32_t position() const { return position_; }

  // Goes on to the step after number `i`; those that warm up repeat the first.
  void Next(uint32_t i) {
    if (!moves_ || i < warm_up_) return;
    ++position_;
    for (SequenceStep& sequence : sequences_) sequence.position = position_;
  }

 private:
  bool moves_;
  uint32_t warm_up_;
  uint32_t position_;
  std::vector<SequenceStep> sequences_;
  std::vector<int32_t> rows_;
};

absl::Status Decode(ObservableRunner& executor, const MeasureOptions& options,
                    std::vector<int32_t> next, Measurement& result) {
  GLM_ASSIGN_OR_RETURN(Sampler sampler, Sampler::Create({.temperature = 0}));
  DecodeInputs inputs(options);
  for (uint32_t i = 0; i < options.warm_up + options.decode_steps; ++i) {
    if (Cancelled(options)) return Interrupted();
    if (i == options.warm_up) GLM_RETURN_IF_ERROR(Tell(options.on_warm));
    const auto begin = Clock::now();
    GLM_RETURN_IF_ERROR(executor.Step(result.entry, inputs.With(next)));
    const auto stepped = Clock::now();
    for (uint32_t slot = 0; slot < options.batch; ++slot) {
      GLM_ASSIGN_OR_RETURN(next[slot], sampler.Sample(executor.logits(slot),
                                                      inputs.position() + 1));
    }
    const auto end = Clock::now();
    result.context = inputs.position() + 1;
    inputs.Next(i);
    if (i < options.warm_up) continue;
    result.decode.push_back(Seconds(end - begin));
    result.sampling.push_back(Seconds(end - stepped));
    if (options.on_step) {
      GLM_RETURN_IF_ERROR(options.on_step(Seconds(end - begin)));
    }
  }
  return absl::OkStatus();
}

// One step is under way while the tokens of the one before are taken.
absl::Status DecodeAhead(ObservableRunner& executor,
                         const MeasureOptions& options,
                         const std::vector<int32_t>& first,
                         Measurement& result) {
  for (uint32_t slot = 0; slot < options.batch; ++slot) {
    GLM_RETURN_IF_ERROR(executor.BeginSampling(slot, {.temperature = 0}, {}));
  }
  DecodeInputs inputs(options);
  const uint32_t steps = options.warm_up + options.decode_steps;
  GLM_RETURN_IF_ERROR(executor.Enqueue(result.entry, inputs.With(first)));
  auto before = Clock::now();
  for (uint32_t i = 0; i < steps; ++i) {
    if (Cancelled(options)) return Interrupted();
    result.context = inputs.position() + 1;
    inputs.Next(i);
    const bool last = i + 1 == steps;
    // What listens wants no step under way.
    const bool warm = i + 1 == options.warm_up && options.on_warm != nullptr;
    const bool ahead =
        executor.RunsAhead() && !warm && options.on_step == nullptr;
    if (!last && ahead) {
      GLM_RETURN_IF_ERROR(executor.Enqueue(result.entry, inputs.With({})));
    }
    GLM_RETURN_IF_ERROR(executor.Take().status());
    const auto now = Clock::now();
    if (i >= options.warm_up) {
      result.decode.push_back(Seconds(now - before));
      if (options.on_step) {
        GLM_RETURN_IF_ERROR(options.on_step(result.decode.back()));
      }
    }
    before = options.on_step ? Clock::now() : now;
    if (warm) {
      GLM_RETURN_IF_ERROR(Tell(options.on_warm));
      before = Clock::now();
    }
    if (!last && !ahead) {
      GLM_RETURN_IF_ERROR(executor.Enqueue(result.entry, inputs.With({})));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int32_t> MadeUpPrompt(uint32_t count, uint32_t vocab) {
  std::vector<int32_t> ids;
  uint32_t state = 1;
  for (uint32_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    ids.push_back(static_cast<int32_t>((state >> 8) % vocab));
  }
  return ids;
}

absl::StatusOr<uint32_t> FindDecodeEntry(const ObservableRunner& executor,
                                         uint32_t batch) {
  std::string others;
  for (uint32_t i = 0; i < executor.entries().size(); ++i) {
    const EntryInfo& entry = executor.entries()[i];
    if (entry.prefill || entry.tokens != 1) continue;
    if (entry.sequences == batch) return i;
    absl::StrAppend(&others, others.empty() ? "" : ", ", entry.sequences);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the plan has no decode step of ", batch, " sequences, only of ",
      others.empty() ? "none" : others, "; compile it with --batch ", batch));
}

absl::StatusOr<Measurement> Measure(ObservableRunner& executor,
                                    const MeasureOptions& options) {
  GLM_RETURN_IF_ERROR(CheckLengths(options, executor.model()));
  Measurement result;
  GLM_ASSIGN_OR_RETURN(result.entry, FindDecodeEntry(executor, options.batch));
  std::vector<int32_t> next(options.batch, 1);
  if (options.context > 0) {
    GLM_RETURN_IF_ERROR(executor.FillStates(options.seed));
  } else {
    GLM_RETURN_IF_ERROR(Prefill(executor, options, next, result.prefill));
  }

  const bool on_device = !options.on_host && executor.Samples(result.entry);
  GLM_RETURN_IF_ERROR(Tell(options.on_decode));
  GLM_RETURN_IF_ERROR(on_device ? DecodeAhead(executor, options, next, result)
                                : Decode(executor, options, next, result));
  GLM_RETURN_IF_ERROR(Tell(options.on_done));
  return result;
}

}  // namespace glm::tools
