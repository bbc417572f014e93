#include "runtime/sequence/sampler.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"

namespace glm {
namespace {

constexpr uint32_t kInPrompt = uint32_t{1} << 31;

// 2^40 e^(below / temperature) for below <= 0, a whole number.
uint64_t Weight(float below, float scale) {
  if (!(below * scale > -40.0f)) return 0;
  const int32_t whole = static_cast<int32_t>(std::fma(below, scale, -0.5f));
  const float r = std::fma(below, scale, -static_cast<float>(whole)) *
                  0.693147182464599609375f;
  float p = 1.0f / 5040;
  for (const float term :
       {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) {
    p = std::fma(p, r, term);
  }
  const uint64_t mantissa = static_cast<uint32_t>(p * 8388608.0f);
  return mantissa << 17 >> -whole;
}

// A number in [0, total) that seed and position decide.
uint64_t RandomBelow(uint64_t total, uint64_t seed, uint32_t position) {
  uint64_t z = seed + (uint64_t{position} + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  const uint64_t random = (z ^ (z >> 31)) >> 32;
  return (total >> 32) * random + ((total & 0xffffffff) * random >> 32);
}

}  // namespace

absl::Status CheckSamplerOptions(const SamplerOptions& options) {
  const auto bad = [](const char* name, float value, const char* expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", value, ", expected ", expected));
  };
  // Written so that NaN fails.
  if (!(options.temperature >= 0 && options.temperature <= 100)) {
    return bad("temperature", options.temperature, "0 to 100");
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return bad("top_p", options.top_p, "more than 0 and at most 1");
  }
  if (!(options.repetition_penalty >= 0.01f &&
        options.repetition_penalty <= 100)) {
    return bad("repetition penalty", options.repetition_penalty, "0.01 to 100");
  }
  for (const auto& [name, value] :
       {std::pair("presence penalty", options.presence_penalty),
        {"frequency penalty", options.frequency_penalty}}) {
    if (!(value >= -100 && value <= 100))
      return bad(name, value, "-100 to 100");
  }
  return absl::OkStatus();
}

absl::StatusOr<Sampler> Sampler::Create(const SamplerOptions& options,
                                        std::span<const int32_t> prompt) {
  GLM_RETURN_IF_ERROR(CheckSamplerOptions(options));
  Sampler sampler(options);
  if (options.penalties()) {
    for (const int32_t id : prompt) sampler.counts_[id] = kInPrompt;
  }
  return sampler;
}

std::span<const float> Sampler::Penalised(std::span<const float> logits) {
  if (counts_.empty()) return logits;
  penalised_.assign(logits.begin(), logits.end());
  const float inverse = 1.0f / options_.repetition_penalty;
  for (const auto& [id, count] : counts_) {
    if (static_cast<size_t>(id) >= logits.size()) continue;
    const uint32_t made = count & ~kInPrompt;
    const float less =
        made > 0 ? std::fma(options_.frequency_penalty,
                            static_cast<float>(made), options_.presence_penalty)
                 : 0;
    float& v = penalised_[static_cast<size_t>(id)];
    v = std::fma(v, v > 0 ? inverse : options_.repetition_penalty, -less);
  }
  return penalised_;
}

absl::StatusOr<int32_t> Sampler::Sample(std::span<const float> logits,
                                        uint32_t position) {
  logits = Penalised(logits);
  int32_t best = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == INFINITY) {
      return absl::InternalError(absl::StrCat(
          "logit of id ", i, " is ", logits[i],
          "; the model's values have overflowed or its state is damaged"));
    }
    if (logits[i] == -INFINITY) continue;
    if (best < 0 || logits[i] > logits[best]) best = static_cast<int32_t>(i);
  }
  if (best < 0) return absl::InternalError("no logit is finite");
  if (options_.temperature > 0) best = Draw(logits, logits[best], position);
  Count(best);
  return best;
}

void Sampler::Count(int32_t id) {
  if (options_.penalties()) ++counts_[id];
}

int32_t Sampler::Draw(std::span<const float> logits, float most,
                      uint32_t position) {
  const float scale = SamplingScale(options_);
  candidates_.clear();
  uint64_t total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const uint64_t weight = Weight(logits[i] - most, scale);
    if (weight == 0) continue;
    total += weight;
    candidates_.push_back({logits[i], static_cast<int32_t>(i), weight});
  }
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  const auto top = candidates_.begin();
  if (options_.top_k > 0 && options_.top_k < candidates_.size()) {
    std::nth_element(top, top + options_.top_k, candidates_.end(), before);
    candidates_.resize(options_.top_k);
    total = 0;
    for (const Candidate& candidate : candidates_) total += candidate.weight;
  }
  // Sorts a growing part until it holds the whole prefix: with a peaked
  // distribution that is a few of 150,000 ids.
  const uint64_t part = SamplingTopP(options_);
  const uint64_t wanted =
      (total >> 24) * part + ((total & 0xffffff) * part >> 24);
  uint64_t kept = 0;
  size_t count = 0, sorted = 0;
  while (count < candidates_.size() && (count == 0 || kept < wanted)) {
    if (count == sorted) {
      const auto from = top + static_cast<ptrdiff_t>(sorted);
      sorted = std::min(candidates_.size(), sorted == 0 ? 256 : 8 * sorted);
      std::partial_sort(from, top + static_cast<ptrdiff_t>(sorted),
                        candidates_.end(), before);
    }
    kept += candidates_[count++].weight;
  }
  const uint64_t target = RandomBelow(kept, options_.seed, position);
  uint64_t running = 0;
  size_t chosen = 0;
  while ((running += candidates_[chosen].weight) <= target) ++chosen;
  return candidates_[chosen].id;
}

}  // namespace glm
