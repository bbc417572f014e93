// `StepRunner` is what the sequence layer needs of an executor: the steps that
// a plan offers, running one of them, and its logits. `Executor` implements it;
// tests implement it in a few lines.
#ifndef GLM_RUNTIME_EXECUTOR_STEP_RUNNER_H_
#define GLM_RUNTIME_EXECUTOR_STEP_RUNNER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

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
};

}  // namespace glm

#endif  // GLM_RUNTIME_EXECUTOR_STEP_RUNNER_H_
