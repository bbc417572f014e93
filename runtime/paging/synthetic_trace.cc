#include "runtime/paging/synthetic_trace.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm::paging {
namespace {

double WeightOf(const ZipfOptions& options, double rank) {
  return std::pow(rank + options.offset, -options.exponent) *
         std::exp(-rank / options.range);
}

bool Contains(const std::vector<uint16_t>& experts, uint16_t expert) {
  return std::find(experts.begin(), experts.end(), expert) != experts.end();
}

}  // namespace

uint64_t TraceRandom::Next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

absl::Status ZipfOptions::Check() const {
  GLM_RETURN_IF_ERROR(shape.Check("made-up trace"));
  if (step_tokens < 1 || step_tokens > kMaxStepTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("made-up trace: ", step_tokens, " tokens a step; 1 to ",
                     kMaxStepTokens));
  }
  // Experts of negligible weight would be drawn for ever.
  const double least = WeightOf(*this, shape.experts - 1) / WeightOf(*this, 0);
  if (!(offset > 0) || !(range > 0) || !(exponent >= 0) || !(least > 1e-6)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "made-up trace: the last of ", shape.experts, " experts weighs ", least,
        " of the first; 1e-6 at least: lower the exponent (", exponent,
        ") or raise the range (", range, ")"));
  }
  if (!(kept >= 0 && kept < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "made-up trace: kept ", kept, "; it is 0 or more, less than 1"));
  }
  return absl::OkStatus();
}

ZipfTrace::ZipfTrace(const ZipfOptions& options)
    : options_(options),
      random_(options.seed),
      by_rank_(options.shape.layers),
      last_(options.shape.layers) {
  double sum = 0;
  for (uint32_t rank = 0; rank < options_.shape.experts; ++rank) {
    sum += WeightOf(options_, rank);
    cumulative_.push_back(sum);
  }
  for (std::vector<uint16_t>& order : by_rank_) {
    order.resize(options_.shape.experts);
    std::iota(order.begin(), order.end(), uint16_t{0});
  }
  Shuffle();
}

void ZipfTrace::Shuffle() {
  for (std::vector<uint16_t>& order : by_rank_) {
    for (uint32_t i = static_cast<uint32_t>(order.size()); i > 1; --i) {
      std::swap(order[i - 1], order[random_.Below(i)]);
    }
  }
}

void ZipfTrace::NextToken(uint32_t layer) {
  token_.clear();
  for (const uint16_t expert : last_[layer]) {
    if (random_.Uniform() < options_.kept) token_.push_back(expert);
  }
  while (token_.size() < options_.shape.top_k) {
    const double drawn = random_.Uniform() * cumulative_.back();
    const auto rank = std::min<size_t>(
        std::upper_bound(cumulative_.begin(), cumulative_.end(), drawn) -
            cumulative_.begin(),
        cumulative_.size() - 1);
    const uint16_t expert = by_rank_[layer][rank];
    if (!Contains(token_, expert)) token_.push_back(expert);
  }
  last_[layer] = token_;
}

absl::StatusOr<bool> ZipfTrace::Next(RoutingStep& step) {
  if (at_ == options_.steps) return false;
  if (options_.jump_steps > 0 && at_ > 0 && at_ % options_.jump_steps == 0)
    Shuffle();
  ++at_;
  step.tokens = options_.step_tokens;
  step.layers.resize(options_.shape.layers);
  for (uint32_t layer = 0; layer < options_.shape.layers; ++layer) {
    std::vector<uint16_t>& chosen = step.layers[layer];
    chosen.clear();
    for (uint32_t token = 0; token < options_.step_tokens; ++token) {
      NextToken(layer);
      for (const uint16_t expert : token_) {
        if (!Contains(chosen, expert)) chosen.push_back(expert);
      }
    }
  }
  return true;
}

CyclicTrace::CyclicTrace(const TraceShape& shape, uint64_t steps,
                         uint32_t working_set)
    : shape_(shape),
      steps_(steps),
      per_layer_(std::clamp(
          static_cast<uint32_t>((uint64_t{working_set} + shape.layers - 1) /
                                shape.layers),
          shape.top_k, shape.experts)) {}

absl::StatusOr<bool> CyclicTrace::Next(RoutingStep& step) {
  if (at_ == steps_) return false;
  ++at_;
  step.tokens = 1;
  step.layers.resize(shape_.layers);
  for (std::vector<uint16_t>& chosen : step.layers) {
    chosen.clear();
    for (uint32_t i = 0; i < shape_.top_k; ++i) {
      chosen.push_back(static_cast<uint16_t>((position_ + i) % per_layer_));
    }
  }
  position_ = (position_ + shape_.top_k) % per_layer_;
  return true;
}

}  // namespace glm::paging
