// `StepRunner` is what the sequence layer needs of an executor: the steps that
// a plan offers, running one of them, and its logits. `Executor` implements it;
// tests implement it in a few lines.
#ifndef GLM_RUNTIME_EXECUTOR_STEP_RUNNER_H_
#define GLM_RUNTIME_EXECUTOR_STEP_RUNNER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glm {

// One Entry of the plan; docs/spec/step.md.
struct EntryInfo {
  std::string name;         // decode_b1
  bool prefill = false;     // EntryKind
  uint32_t sequences = 1;   // S
  uint32_t tokens = 1;      // N, a sequence
  uint32_t logit_rows = 1;  // R
  uint32_t launches = 0;    // of the device, a step
  uint32_t operations = 0;  // what they stand for: launches without groups
  uint64_t weight_bytes = 0;  // read a step, all rows valid
  uint64_t memory_bytes = 0;  // activations and state, read + written
  uint64_t flops = 0;
};

struct ModelInfo {
  std::string name;
  uint32_t layers = 0;
  uint32_t vocab = 0;
  uint32_t max_context = 0;  // tokens a slot can hold
};

// One row of `seqs`. Rows with length 0 take no part in the step.
struct SequenceStep {
  uint32_t slot = 0;
  uint32_t position = 0;  // tokens already in the slot's state
  uint32_t length = 0;    // 0..N
};

struct StepInputs {
  std::span<const int32_t> ids;        // [S * N]; rows not valid: 0
  std::span<const SequenceStep> seqs;  // [S]
  std::span<const int32_t> rows;       // [R], -1: no logits
};

// How a token is chosen: docs/spec/sampling.md.
struct SamplerOptions {
  float temperature = 1.0f;  // 0: greedy; at most 100
  float top_p = 1.0f;        // > 0, <= 1
  uint64_t seed = 0;
  uint32_t top_k = 0;                // 0: all
  float repetition_penalty = 1.0f;   // > 0; of tokens in prompt and answer
  float presence_penalty = 0.0f;     // -100 to 100; of tokens in the answer
  float frequency_penalty = 0.0f;    // the same, for each time

  bool penalties() const {
    return repetition_penalty != 1 || presence_penalty != 0 ||
           frequency_penalty != 0;
  }
};

// The numbers that stand for temperature (> 0) and top_p in the rule:
// log2(e) / temperature, and top_p in units of 2^-24, at least 1.
inline float SamplingScale(const SamplerOptions& options) {
  return static_cast<float>(1.4426950408889634 /
                            std::max(options.temperature, 1e-6f));
}
inline uint32_t SamplingTopP(const SamplerOptions& options) {
  return std::max<uint32_t>(
      1, static_cast<uint32_t>(options.top_p * float{1 << 24} + 0.5f));
}

// Not thread-safe.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

  virtual const ModelInfo& model() const = 0;
  virtual const std::vector<EntryInfo>& entries() const = 0;
  virtual uint32_t slots() const = 0;

  // Runs entry `entry` and waits for it.
  //
  // Errors: kInvalidArgument, with the state unchanged, when the inputs break
  // docs/spec/step.md; kInternal or kUnavailable from the device, after which
  // the slots of the step are to be restarted at position 0.
  virtual absl::Status Step(uint32_t entry, const StepInputs& inputs) = 0;

  // Row `row` of the logits of the last step, [vocab]; valid until the next.
  virtual std::span<const float> logits(uint32_t row) const = 0;

  // ---- steps whose tokens the device chooses (docs/spec/sampling.md)

  // Whether Enqueue takes `entry`; else Step and a Sampler do.
  virtual bool Samples(uint32_t entry) const { return false; }

  // Whether Enqueue returns before the step is done.
  virtual bool RunsAhead() const { return false; }

  // From now on the tokens of `slot` are chosen by `options`, after `tokens`,
  // which penalties look at. Waits for what is enqueued and drops its tokens,
  // of all slots.
  //
  // Errors: kInvalidArgument; those of Step.
  virtual absl::Status BeginSampling(uint32_t slot,
                                     const SamplerOptions& options,
                                     std::span<const int32_t> tokens) {
    return absl::UnimplementedError("tokens are not chosen on the device");
  }

  // As Step, without waiting and without logits. `inputs.ids` may be empty in a
  // step of one token a sequence: the ids are then the tokens of the step
  // enqueued before, row by row, which nobody need have taken yet.
  //
  // Errors: those of Step; kFailedPrecondition while two steps are not taken.
  virtual absl::Status Enqueue(uint32_t entry, const StepInputs& inputs) {
    return absl::UnimplementedError("tokens are not chosen on the device");
  }

  // Waits for the oldest step that is not taken: its tokens, [R], -1 for rows
  // without one; valid until the next call.
  //
  // Errors: kInternal when logits are NaN or infinite; those of Step;
  // kFailedPrecondition when nothing is enqueued.
  virtual absl::StatusOr<std::span<const int32_t>> Take() {
    return absl::UnimplementedError("tokens are not chosen on the device");
  }

  // ---- what a slot holds, in memory of the host: to go on from there later,
  // in this slot or another

  // Bytes of the state of a sequence of `tokens` tokens, of all ranks: the same
  // for each slot, and more for more tokens. `tokens`: 1 to max_context.
  virtual absl::StatusOr<uint64_t> StateBytes(uint32_t tokens) const {
    return absl::UnimplementedError("states are not saved");
  }

  // Copies the state of `slot`, which holds `tokens` tokens, to `to`, of
  // StateBytes(tokens) bytes. Waits for what is enqueued, which is still there
  // to be taken.
  //
  // Errors: kInvalidArgument (slot, tokens, size); those of the device.
  virtual absl::Status SaveState(uint32_t slot, uint32_t tokens,
                                 std::span<std::byte> to) {
    return absl::UnimplementedError("states are not saved");
  }

  // The way back: afterwards a step at position `tokens` of `slot` gives, to
  // the bit, what it would have given where the state was saved.
  //
  // Errors: as SaveState; from the device, `slot` is to be restarted.
  virtual absl::Status RestoreState(uint32_t slot, uint32_t tokens,
                                    std::span<const std::byte> from) {
    return absl::UnimplementedError("states are not saved");
  }
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_STEP_RUNNER_H_
