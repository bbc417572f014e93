// `Sampler` picks the next token from a row of logits, by the rule of
// docs/spec/sampling.md: for steps that do not do it themselves on the device
// (StepRunner::Samples), with the same result to the bit.
//
// The random number of a token depends on the seed and the token's position
// alone, and all sums are of whole numbers: the same seed and the same logits
// give the same text on every machine and release.
//
// It knows no stop ids and keeps no text.
#ifndef GLM_RUNTIME_SEQUENCE_SAMPLER_H_
#define GLM_RUNTIME_SEQUENCE_SAMPLER_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/step_runner.h"

namespace glm {

// Errors: kInvalidArgument when an option is out of its range or NaN.
absl::Status CheckSamplerOptions(const SamplerOptions& options);

// One instance for one sequence and thread.
class Sampler {
 public:
  // `prompt`: the tokens so far, for the penalties.
  // Errors: those of CheckSamplerOptions.
  static absl::StatusOr<Sampler> Create(const SamplerOptions& options,
                                        std::span<const int32_t> prompt = {});

  // The token at `position`, which counts as sampled from then on.
  //
  // Errors: kInternal when a logit is NaN or none is finite; the message names
  // the id. -inf is a token that cannot be drawn.
  //
  // Cost: one pass when greedy; otherwise about one sort of the likely part.
  absl::StatusOr<int32_t> Sample(std::span<const float> logits,
                                 uint32_t position);

  // A token of this sequence that was chosen elsewhere, by the same options:
  // it counts as if it had been sampled here.
  void Count(int32_t id);

 private:
  struct Candidate {
    float logit;
    int32_t id;
    uint64_t weight;
  };

  explicit Sampler(const SamplerOptions& options) : options_(options) {}

  // The logits with penalties: `logits` itself where there are none.
  std::span<const float> Penalised(std::span<const float> logits);
  int32_t Draw(std::span<const float> logits, float most, uint32_t position);

  SamplerOptions options_;
  // Of tokens so far: bit 31 for those of the prompt, below how often sampled.
  std::unordered_map<int32_t, uint32_t> counts_;
  std::vector<float> penalised_;
  std::vector<Candidate> candidates_;
};

}  // namespace glm

#endif  // GLM_RUNTIME_SEQUENCE_SAMPLER_H_
