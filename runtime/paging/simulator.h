// What a cache policy costs on a trace: hits, bytes over the link, stalls.
//
// The link is a rate. The misses of a layer cross one after another once its
// router has chosen, and its experts wait for the last; work of that layer
// which needs none of them (its hits, the shared expert) hides up to
// `overlap_us` of it. Layers do not share the link: nothing is fetched ahead.
//
// Thread-compatible.
#ifndef GLM_RUNTIME_PAGING_SIMULATOR_H_
#define GLM_RUNTIME_PAGING_SIMULATOR_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/paging/expert_cache.h"
#include "runtime/paging/trace.h"

namespace glm::paging {

struct LinkModel {
  double row_bytes =
      6.23 * 1024 * 1024;  // that cross for one miss, to one card
  double gb_per_s = 53.3;  // 10^9 bytes a second
  double overlap_us = 0;   // a layer
};

struct LayerTotals {
  uint64_t hits = 0;
  uint64_t misses = 0;
  double HitRate() const {
    return hits + misses == 0 ? 0 : static_cast<double>(hits) / (hits + misses);
  }
};

// Sums over the steps that count.
struct SimulationResult {
  uint64_t steps = 0;
  uint64_t tokens = 0;
  LayerTotals all;
  std::vector<LayerTotals> layers;
  double bytes = 0;     // over the link
  double stall_ms = 0;  // what overlap did not hide
  double worst_step_ms = 0;

  double GbPerToken() const { return tokens == 0 ? 0 : bytes / 1e9 / tokens; }
  double StallMsPerToken() const { return tokens == 0 ? 0 : stall_ms / tokens; }
  // Tokens a second when the rest of a token takes `compute_ms`; infinite when
  // nothing takes time.
  double TokensPerSecond(double compute_ms) const {
    return 1e3 / (compute_ms + StallMsPerToken());
  }
};

// The sums of one policy or bound, step by step.
class SimulationSums {
 public:
  // The first `warmup` steps do not count.
  SimulationSums(uint32_t layers, const LinkModel& link, uint64_t warmup)
      : link_(link), warmup_(warmup) {
    result_.layers.resize(layers);
  }

  void BeginStep(uint32_t tokens);
  void AddLayer(uint32_t layer, uint32_t hits, uint32_t misses);
  void EndStep();
  const SimulationResult& result() const { return result_; }

 private:
  bool counts() const { return seen_ > warmup_; }

  LinkModel link_;
  uint64_t warmup_;
  uint64_t seen_ = 0;
  double step_ms_ = 0;
  SimulationResult result_;
};

class Simulator {
 public:
  Simulator(ExpertCache cache, const LinkModel& link, uint64_t warmup)
      : cache_(std::move(cache)),
        sums_(cache_.options().shape.layers, link, warmup) {}

  // A step of the cache's shape. Errors: kInvalidArgument.
  absl::Status Add(const RoutingStep& step);
  const ExpertCache& cache() const { return cache_; }
  const SimulationResult& result() const { return sums_.result(); }

 private:
  ExpertCache cache_;
  SimulationSums sums_;
  std::vector<Placement> placements_;
};

// The bound that no policy beats: evicts the row that is used again last, which
// takes the whole trace to know. Holds the trace in memory.
class ClairvoyantBound {
 public:
  explicit ClairvoyantBound(const TraceShape& shape) : shape_(shape) {}

  // A step of the shape.
  void Add(const RoutingStep& step) { steps_.push_back(step); }
  // `slots` hold what one layer of each step asks for.
  SimulationResult Run(uint32_t slots, const LinkModel& link,
                       uint64_t warmup) const;

 private:
  TraceShape shape_;
  std::vector<RoutingStep> steps_;
};

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_SIMULATOR_H_
