#include "tools/glmrun/routing.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/paging/simulator.h"
#include "runtime/paging/trace.h"
#include "runtime/paging/tuned_trace.h"

namespace glm::tools {
namespace {

constexpr double kTolerance = 0.01;
constexpr int kTries = 14;  // both ends, and twelve halvings between them

// At most `most` steps of `source`, as the kernels read them.
absl::StatusOr<std::vector<int32_t>> Collect(paging::StepSource& source,
                                             const std::string& name,
                                             uint64_t most) {
  std::vector<int32_t> choices;
  paging::RoutingStep step;
  for (uint64_t i = 0; i < most; ++i) {
    GLM_ASSIGN_OR_RETURN(const bool more, source.Next(step));
    if (!more) break;
    if (step.tokens != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": step ", i, " has ", step.tokens,
                       " tokens; a routing has one a step"));
    }
    for (const std::vector<uint16_t>& experts : step.layers) {
      choices.insert(choices.end(), experts.begin(), experts.end());
    }
  }
  if (choices.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": no steps"));
  }
  return choices;
}

// What the executor's cache will give, which goes by rising experts.
absl::Status Simulate(const paging::ExpertCache& cache, uint64_t steps,
                      Routing& routing) {
  const paging::TraceShape& shape = cache.options().shape;
  const uint64_t length = uint64_t{shape.layers} * shape.top_k;
  paging::Simulator simulator(cache, {}, routing.warm_up);
  paging::RoutingStep step;
  step.layers.resize(shape.layers);
  for (uint64_t i = 0; i < routing.warm_up + steps; ++i) {
    auto at = routing.choices.begin() +
              static_cast<int64_t>(i * length % routing.choices.size());
    for (std::vector<uint16_t>& experts : step.layers) {
      experts.assign(at, at + shape.top_k);
      std::sort(experts.begin(), experts.end());
      at += shape.top_k;
    }
    GLM_RETURN_IF_ERROR(simulator.Add(step));
  }
  routing.hit_rate = simulator.result().all.HitRate();
  return absl::OkStatus();
}

// A routing made for `rate`, whatever it gives.
absl::StatusOr<Routing> TuneTo(double rate, const paging::ExpertCache& cache,
                               uint64_t warm_up, uint64_t steps,
                               uint64_t tail) {
  Routing routing;
  routing.warm_up = warm_up;
  const uint64_t all = warm_up + steps + tail;
  GLM_ASSIGN_OR_RETURN(
      paging::TunedTrace trace,
      paging::TunedTrace::Create(cache, {.hit_rate = rate, .steps = all}));
  GLM_ASSIGN_OR_RETURN(routing.choices, Collect(trace, "made-up routing", all));
  GLM_RETURN_IF_ERROR(Simulate(cache, steps, routing));
  return routing;
}

}  // namespace

uint64_t WarmUpSteps(const paging::CacheOptions& cache) {
  const uint64_t a_step = uint64_t{cache.shape.layers} * cache.shape.top_k;
  return (cache.slots + a_step - 1) / a_step + 16;
}

absl::StatusOr<Routing> ReadRouting(const std::string& path,
                                    const paging::ExpertCache& cache,
                                    uint64_t warm_up, uint64_t steps,
                                    uint64_t tail) {
  GLM_ASSIGN_OR_RETURN(auto trace, paging::TraceReader::Open(path));
  const paging::TraceShape &shape = cache.options().shape,
                           &found = trace->shape();
  if (!(found == shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", found.top_k, " of ", found.experts,
                     " experts in ", found.layers, " layers, the plan has ",
                     shape.top_k, " of ", shape.experts, " in ", shape.layers));
  }
  Routing routing;
  routing.warm_up = warm_up > 0 ? warm_up : WarmUpSteps(cache.options());
  GLM_ASSIGN_OR_RETURN(routing.choices,
                       Collect(*trace, path, routing.warm_up + steps + tail));
  GLM_RETURN_IF_ERROR(Simulate(cache, steps, routing));
  return routing;
}

absl::StatusOr<Routing> TuneRouting(double hit_rate,
                                    const paging::ExpertCache& cache,
                                    uint64_t warm_up, uint64_t steps,
                                    uint64_t tail) {
  if (warm_up == 0) warm_up = WarmUpSteps(cache.options());
  const auto distance = [hit_rate](const Routing& routing) {
    return std::abs(routing.hit_rate - hit_rate);
  };
  GLM_ASSIGN_OR_RETURN(Routing best,
                       TuneTo(hit_rate, cache, warm_up, steps, tail));
  // A trace may fall short of the rate that it was made for, where layers have
  // few rows in slots or few out of them; one made for another rate may be
  // nearer. What traces give rises with what they are made for.
  double low = 0, high = 1;
  for (int i = 0; i < kTries && distance(best) > kTolerance; ++i) {
    const double made_for = i == 0 ? low : i == 1 ? high : (low + high) / 2;
    GLM_ASSIGN_OR_RETURN(Routing routing,
                         TuneTo(made_for, cache, warm_up, steps, tail));
    if (i > 1) (routing.hit_rate < hit_rate ? low : high) = made_for;
    if (distance(routing) < distance(best)) best = std::move(routing);
  }
  if (distance(best) <= kTolerance) return best;
  return absl::InvalidArgumentError(absl::StrCat(
      "no routing of hit rate ", hit_rate, " for ", cache.options().slots,
      " slots of policy ", cache.options().policy.name, " in ", steps,
      " steps after ", warm_up, ": the nearest is ", best.hit_rate,
      "; change --expert-slots, or --warm-up and --decode-tokens"));
}

}  // namespace glm::tools
