// Routing made up: traces to compare cache policies on where none was recorded,
// and traces that hurt.
//
// ZipfTrace resembles what was measured of the released model (288 experts, 8 a
// token): the 16, 32, 64 and 128 most used experts of a layer take 31, 44, 61
// and 82 % of its activations, and 24.6 % of a token's experts were those of
// the token before. Each layer has its own order of popularity. It knows
// nothing of what a real router does beside: topics, languages, correlation
// between layers.
//
// The same options give the same trace on every machine.
#ifndef GLM_RUNTIME_PAGING_SYNTHETIC_TRACE_H_
#define GLM_RUNTIME_PAGING_SYNTHETIC_TRACE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/paging/trace.h"

namespace glm::paging {

// Numbers that are equal everywhere (SplitMix64), which those of <random> are
// not.
class TraceRandom {
 public:
  explicit TraceRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // In [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // In [0, bound).
  uint32_t Below(uint32_t bound) {
    return static_cast<uint32_t>(Next() % bound);
  }

 private:
  uint64_t state_;
};

struct ZipfOptions {
  TraceShape shape = {42, 288, 8};
  uint64_t steps = 2048;
  uint32_t step_tokens = 1;
  uint64_t seed = 1;
  // The weight of the expert of rank r (from 0) is (r + offset)^-exponent *
  // exp(-r / range). Fitted to the shares above.
  double exponent = 0.65;
  double offset = 2.2;
  double range = 260;
  // How probably an expert of the token before is kept. A repetition that is
  // chance comes on top: 0.19 makes 24.6 % of both.
  double kept = 0.19;
  // Every so many steps all layers get a new order of popularity; 0: never.
  uint64_t jump_steps = 0;

  // Errors: kInvalidArgument.
  absl::Status Check() const;
};

class ZipfTrace : public StepSource {
 public:
  // `options` have been checked.
  explicit ZipfTrace(const ZipfOptions& options);

  const TraceShape& shape() const override { return options_.shape; }
  absl::StatusOr<bool> Next(RoutingStep& step) override;

 private:
  void Shuffle();
  void NextToken(uint32_t layer);

  ZipfOptions options_;
  TraceRandom random_;
  std::vector<double> cumulative_;  // by rank
  // Of each layer: experts by rank, experts of the last token.
  std::vector<std::vector<uint16_t>> by_rank_;
  std::vector<std::vector<uint16_t>> last_;
  std::vector<uint16_t> token_;
  uint64_t at_ = 0;
};

// Goes through `working_set` rows in a circle, an equal share of each layer,
// top_k a layer and token. With one row more than there are slots, LRU never
// hits.
class CyclicTrace : public StepSource {
 public:
  // `working_set` is rounded up to a multiple of the layers, to top_k rows a
  // layer at least and to all rows at most.
  CyclicTrace(const TraceShape& shape, uint64_t steps, uint32_t working_set);

  const TraceShape& shape() const override { return shape_; }
  absl::StatusOr<bool> Next(RoutingStep& step) override;

 private:
  TraceShape shape_;
  uint64_t steps_;
  uint32_t per_layer_;
  uint32_t position_ = 0;
  uint64_t at_ = 0;
};

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_SYNTHETIC_TRACE_H_
