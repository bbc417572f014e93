#include "runtime/paging/tuned_trace.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm::paging {

absl::StatusOr<TunedTrace> TunedTrace::Create(ExpertCache cache,
                                              const TunedOptions& options) {
  if (!(options.hit_rate >= 0 && options.hit_rate <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a hit rate of ", options.hit_rate, "; it is 0 to 1"));
  }
  return TunedTrace(std::move(cache), options);
}

TunedTrace::TunedTrace(ExpertCache cache, const TunedOptions& options)
    : cache_(std::move(cache)), options_(options), random_(options.seed) {}

uint64_t TunedTrace::FillSteps() const {
  const uint64_t each_step = uint64_t{shape().layers} * shape().top_k;
  return (cache_.options().slots + each_step - 1) / each_step;
}

void TunedTrace::Draw(std::vector<uint16_t>& from, uint32_t count,
                      std::vector<uint16_t>& chosen) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t left = static_cast<uint32_t>(from.size()) - i;
    std::swap(from[i], from[i + random_.Below(left)]);
    chosen.push_back(from[i]);
  }
}

absl::StatusOr<bool> TunedTrace::Next(RoutingStep& step) {
  if (at_ == options_.steps) return false;
  const bool filling = at_++ < FillSteps();
  const uint32_t top_k = shape().top_k;
  step.tokens = 1;
  step.layers.resize(shape().layers);
  cache_.BeginStep();
  for (uint32_t layer = 0; layer < shape().layers; ++layer) {
    resident_.clear();
    absent_.clear();
    for (uint32_t e = 0; e < shape().experts; ++e) {
      const uint32_t row = layer * shape().experts + e;
      (cache_.slot_of_row()[row] == kNone ? absent_ : resident_)
          .push_back(static_cast<uint16_t>(e));
    }
    if (!filling) owed_ += top_k * options_.hit_rate;
    const auto absent = static_cast<uint32_t>(absent_.size());
    const auto resident = static_cast<uint32_t>(resident_.size());
    const uint32_t least = top_k - std::min(top_k, absent);
    const uint32_t most = std::min(top_k, resident);
    // A little more than exact, so that sums of 0.1 count.
    const uint32_t hits = std::clamp(
        filling ? 0 : static_cast<uint32_t>(owed_ + 1e-9), least, most);
    // Layers with few rows in the cache leave their hits to those that follow.
    // More than one step's hits are not caught up.
    if (!filling) {
      owed_ = std::clamp<double>(owed_ - hits, 0, top_k * shape().layers);
    }
    std::vector<uint16_t>& chosen = step.layers[layer];
    chosen.clear();
    Draw(resident_, hits, chosen);
    Draw(absent_, top_k - hits, chosen);
    std::sort(chosen.begin(), chosen.end());
    placements_.resize(chosen.size());
    GLM_RETURN_IF_ERROR(cache_.Access(layer, chosen, placements_));
  }
  return true;
}

}  // namespace glm::paging
