// The times of `glmrun bench`: prefills of one prompt, then decode steps.
#ifndef GLM_TOOLS_GLMRUN_MEASURE_H_
#define GLM_TOOLS_GLMRUN_MEASURE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/observable_runner.h"

namespace glm::tools {

struct MeasureOptions {
  uint32_t prompt_tokens = 128;
  uint32_t prefills = 20;
  uint32_t decode_steps = 128;
  uint32_t batch = 1;  // sequences of a decode step; slots 0..batch-1

  // Instead of a prompt: every step decodes the token at position context - 1,
  // over state of made-up values from `seed`. 0: the prompt, then what follows.
  uint32_t context = 0;
  uint64_t seed = 1;

  bool on_host = false;  // sample there even if the device can

  uint32_t warm_up = 3;  // decode steps before those that count
  // Called before the first of those steps, before the first step that counts
  // and after the last, when no step runs; an error ends the measurement.
  std::function<absl::Status()> on_decode = {};
  std::function<absl::Status()> on_warm = {};
  std::function<absl::Status()> on_done = {};
  // Called after each step that counts, with its time, when no step runs: steps
  // are then not enqueued ahead.
  std::function<absl::Status(double seconds)> on_step = {};

  const std::atomic<bool>* cancel = nullptr;
};

struct Measurement {
  uint32_t entry = 0;           // of decode
  uint32_t context = 0;         // tokens of a sequence at the last step
  std::vector<double> prefill;  // seconds of each; empty with a context
  std::vector<double> decode;   // seconds of each step, sampling included
  // Seconds of each step spent in the host's sampler; empty when the device
  // samples, which runs the steps ahead: decode is then from token to token.
  std::vector<double> sampling;
};

// Ids that are spread over the vocabulary, the same in each run.
std::vector<int32_t> MadeUpPrompt(uint32_t count, uint32_t vocab);

// The entry that decodes one token of `batch` sequences.
// Errors: kFailedPrecondition naming those that there are.
absl::StatusOr<uint32_t> FindDecodeEntry(const ObservableRunner& executor,
                                         uint32_t batch);

// The executor has at least `batch` slots.
// Errors: kOutOfRange when the context is too short; kCancelled; those of Step.
absl::StatusOr<Measurement> Measure(ObservableRunner& executor,
                                    const MeasureOptions& options);

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_MEASURE_H_
