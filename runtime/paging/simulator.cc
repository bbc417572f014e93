#include "runtime/paging/simulator.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm::paging {

void SimulationSums::BeginStep(uint32_t tokens) {
  ++seen_;
  step_ms_ = 0;
  if (!counts()) return;
  ++result_.steps;
  result_.tokens += tokens;
}

void SimulationSums::AddLayer(uint32_t layer, uint32_t hits, uint32_t misses) {
  if (!counts()) return;
  result_.layers[layer].hits += hits;
  result_.layers[layer].misses += misses;
  result_.all.hits += hits;
  result_.all.misses += misses;
  const double bytes = misses * link_.row_bytes;
  result_.bytes += bytes;
  step_ms_ += std::max(
      0.0, bytes / (link_.gb_per_s * 1e9) * 1e3 - link_.overlap_us * 1e-3);
}

void SimulationSums::EndStep() {
  result_.stall_ms += step_ms_;
  result_.worst_step_ms = std::max(result_.worst_step_ms, step_ms_);
}

absl::Status Simulator::Add(const RoutingStep& step) {
  const uint32_t layers = cache_.options().shape.layers;
  if (step.layers.size() != layers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a step of ", step.layers.size(), " layers for a cache of ", layers));
  }
  cache_.BeginStep();
  sums_.BeginStep(step.tokens);
  for (uint32_t layer = 0; layer < layers; ++layer) {
    placements_.resize(step.layers[layer].size());
    GLM_RETURN_IF_ERROR(cache_.Access(layer, step.layers[layer], placements_));
    const auto misses = static_cast<uint32_t>(
        std::count_if(placements_.begin(), placements_.end(),
                      [](const Placement& p) { return p.loaded; }));
    sums_.AddLayer(layer, static_cast<uint32_t>(placements_.size()) - misses,
                   misses);
  }
  sums_.EndStep();
  return absl::OkStatus();
}

SimulationResult ClairvoyantBound::Run(uint32_t slots, const LinkModel& link,
                                       uint64_t warmup) const {
  // next[i]: the access (a layer of a step) at which the i-th row asked for is
  // asked for again, found from the end.
  const uint64_t never = steps_.size() * shape_.layers;
  std::vector<uint64_t> next, later(shape_.rows(), never);
  for (size_t s = steps_.size(); s-- > 0;) {
    for (uint32_t layer = shape_.layers; layer-- > 0;) {
      const std::vector<uint16_t>& experts = steps_[s].layers[layer];
      for (size_t i = experts.size(); i-- > 0;) {
        uint64_t& again = later[layer * shape_.experts + experts[i]];
        next.push_back(again);
        again = s * shape_.layers + layer;
      }
    }
  }
  SimulationSums sums(shape_.layers, link, warmup);
  std::set<std::pair<uint64_t, uint32_t>> cached;  // by next use
  std::vector<bool> present(shape_.rows());
  uint64_t access = 0;
  for (const RoutingStep& step : steps_) {
    sums.BeginStep(step.tokens);
    for (uint32_t layer = 0; layer < shape_.layers; ++layer, ++access) {
      uint32_t hits = 0, misses = 0;
      // What the layer asks for leaves the set until its victims are chosen.
      std::vector<std::pair<uint64_t, uint32_t>> asked;
      for (const uint16_t expert : step.layers[layer]) {
        const uint32_t row = layer * shape_.experts + expert;
        cached.erase({access, row});
        ++(present[row] ? hits : misses);
        present[row] = true;
        asked.push_back({next.back(), row});
        next.pop_back();
      }
      while (!cached.empty() && cached.size() + asked.size() > slots) {
        present[cached.rbegin()->second] = false;
        cached.erase(std::prev(cached.end()));
      }
      cached.insert(asked.begin(), asked.end());
      sums.AddLayer(layer, hits, misses);
    }
    sums.EndStep();
  }
  return sums.result();
}

}  // namespace glm::paging
