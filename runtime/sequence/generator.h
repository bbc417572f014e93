// `Generator` continues one sequence: it feeds a prompt in chunks over the
// plan's prefill steps, then samples and decodes token by token. Where the
// device samples, the next step is enqueued before the token is known here.
//
// It remembers which tokens its slot's state holds. A prompt that begins with
// exactly these continues from there, so in a chat only what is new is
// prefilled; any other prompt starts at position 0.
//
// It deals in ids: text is runtime/text/, batching is not here.
//
//   GLM_ASSIGN_OR_RETURN(Generator generator, Generator::Create(runner, 0));
//   GLM_ASSIGN_OR_RETURN(GenerateResult result,
//                        generator.Generate(prompt_ids, options));
#ifndef GLM_RUNTIME_SEQUENCE_GENERATOR_H_
#define GLM_RUNTIME_SEQUENCE_GENERATOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/step_runner.h"
#include "runtime/sequence/sampler.h"

namespace glm {

enum class FinishReason {
  kStop,       // a stop id, which is not among the result's ids
  kLength,     // max_tokens, or the context is full
  kCancelled,  // GenerateOptions.cancel
};

const char* FinishReasonName(FinishReason reason);  // "stop", "length", ...

// Errors: kInvalidArgument (no token, an id outside the vocabulary),
// kOutOfRange (no room in the context; both numbers).
absl::Status CheckPrompt(const ModelInfo& model,
                         std::span<const int32_t> prompt);

struct GenerateOptions {
  SamplerOptions sampling;
  bool on_host = false;           // sample there even if the device can
  uint32_t max_tokens = 0;        // 0: as many as the context holds
  std::vector<int32_t> stop_ids;  // empty: never stops by itself

  // Looked at before each step; generation ends with what there is.
  const std::atomic<bool>* cancel = nullptr;

  // Each token as it is sampled, stop ids not included.
  std::function<void(int32_t id)> on_token;

  // After each chunk of the prompt: tokens done, tokens to do.
  std::function<void(uint32_t done, uint32_t total)> on_prefill;
};

struct GenerateResult {
  std::vector<int32_t> ids;
  FinishReason finish_reason = FinishReason::kStop;
  std::optional<int32_t> stop_id;
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  // of the prompt, already in the state
  double prefill_seconds = 0;  // up to the first sampled token
  double decode_seconds = 0;
  uint32_t decode_steps = 0;  // timed by decode_seconds
};

// Not thread-safe, except for `cancel`.
class Generator {
 public:
  // `runner` must outlive the result.
  // Errors: kFailedPrecondition when the plan has no decode entry for one
  // sequence; kInvalidArgument for a slot out of range.
  static absl::StatusOr<Generator> Create(StepRunner& runner, uint32_t slot);

  // Errors: kInvalidArgument (empty prompt, an id outside the vocabulary, bad
  // sampling options; kOutOfRange when the prompt leaves no room in the
  // context, with both numbers), each with the state unchanged; those of Step
  // and Sampler, after which the sequence is empty.
  absl::StatusOr<GenerateResult> Generate(std::span<const int32_t> prompt,
                                          const GenerateOptions& options);

  // The tokens that the state holds. The last sampled token of a generation is
  // not among them: it was never fed. But where the device samples and steps
  // run ahead, it was, unless it was known to be the last (max_tokens, a full
  // context) before it was known itself.
  const std::vector<int32_t>& history() const { return history_; }

  void Reset() { history_.clear(); }

 private:
  Generator(StepRunner& runner, uint32_t slot, uint32_t decode)
      : runner_(&runner), slot_(slot), decode_(decode) {}

  absl::Status Feed(std::span<const int32_t> tokens,
                    const GenerateOptions& options, bool& cancelled);
  absl::Status Decode(Sampler& sampler, const GenerateOptions& options,
                      GenerateResult& result);
  absl::Status DecodeOnDevice(const GenerateOptions& options,
                              GenerateResult& result,
                              const std::function<void()>& on_first);
  absl::Status EnqueueNext();
  absl::StatusOr<int32_t> TakeToken();
  absl::Status RunStep(uint32_t entry, std::span<const int32_t> tokens,
                       bool want_logits, bool enqueue);
  bool SamplesOnDevice(const GenerateOptions& options) const;
  uint32_t EntryFor(size_t tokens) const;

  StepRunner* runner_;
  uint32_t slot_;
  uint32_t decode_;                // entry
  std::vector<uint32_t> prefill_;  // entries, ascending by tokens
  std::vector<int32_t> history_;
  std::vector<int32_t> ids_;   // scratch, [N]
  std::vector<int32_t> rows_;  // scratch, [R]
};

}  // namespace glm

#endif  // GLM_RUNTIME_SEQUENCE_GENERATOR_H_
