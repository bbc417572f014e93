// `Sampler` picks the next token from a row of logits.
//
// Greedy (temperature 0): the largest logit, equal ones by the lower id.
//
// Otherwise, in this order and in double precision:
//   1. p_i = softmax(logit_i / temperature)
//   2. ids sorted by p descending, equal ones by the lower id
//   3. top_p: the shortest prefix whose sum reaches top_p (at least one id)
//   4. u = the next random number, times the prefix's sum; the first id whose
//      running sum exceeds u
// The random numbers are those of SplitMix64: state = seed at first, each draw
// adds 0x9e3779b97f4a7c15 and mixes; the upper 53 bits / 2^53 are u. So the
// same seed and the same logits give the same text on every machine and
// release.
//
// It knows no stop ids and keeps no text.
#ifndef GLM_RUNTIME_SEQUENCE_SAMPLER_H_
#define GLM_RUNTIME_SEQUENCE_SAMPLER_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace glm {

struct SamplerOptions {
  float temperature = 1.0f;  // 0: greedy; at most 100
  float top_p = 1.0f;        // > 0, <= 1
  uint64_t seed = 0;
};

// One instance for one sequence and thread.
class Sampler {
 public:
  // Errors: kInvalidArgument when an option is out of its range or NaN.
  static absl::StatusOr<Sampler> Create(const SamplerOptions& options);

  // Errors: kInternal when a logit is NaN or none is finite; the message names
  // the id. -inf is a token that cannot be drawn.
  //
  // Cost: one pass when greedy; otherwise about one sort of the likely part.
  absl::StatusOr<int32_t> Sample(std::span<const float> logits);

 private:
  explicit Sampler(const SamplerOptions& options)
      : options_(options), state_(options.seed) {}

  double NextUniform();  // [0, 1)

  SamplerOptions options_;
  uint64_t state_;
  std::vector<std::pair<double, int32_t>> candidates_;  // weight, id
};

}  // namespace glm

#endif  // GLM_RUNTIME_SEQUENCE_SAMPLER_H_
