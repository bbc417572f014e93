#include "runtime/sequence/sampler.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace glm {

absl::StatusOr<Sampler> Sampler::Create(const SamplerOptions& options) {
  // Written so that NaN fails.
  if (!(options.temperature >= 0 && options.temperature <= 100)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "temperature ", options.temperature, ", expected 0 to 100"));
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "top_p ", options.top_p, ", expected more than 0 and at most 1"));
  }
  return Sampler(options);
}

double Sampler::NextUniform() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

absl::StatusOr<int32_t> Sampler::Sample(std::span<const float> logits) {
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
  if (options_.temperature == 0) return best;

  candidates_.clear();
  double total = 0;
  const double scale = 1.0 / options_.temperature;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double weight = std::exp((double{logits[i]} - logits[best]) * scale);
    if (weight == 0) continue;
    total += weight;
    candidates_.emplace_back(weight, static_cast<int32_t>(i));
  }
  const auto before = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  // Sorts a growing part until it holds the whole prefix: with a peaked
  // distribution that is a few of 150,000 ids.
  const double wanted = options_.top_p * total;
  double sum = 0;
  size_t kept = 0, sorted = 0;
  while (kept < candidates_.size()) {
    if (kept == sorted) {
      const auto from = candidates_.begin() + static_cast<ptrdiff_t>(sorted);
      sorted = std::min(candidates_.size(), sorted == 0 ? 256 : 8 * sorted);
      std::partial_sort(from,
                        candidates_.begin() + static_cast<ptrdiff_t>(sorted),
                        candidates_.end(), before);
    }
    sum += candidates_[kept++].first;
    if (sum >= wanted) break;
  }
  const double target = NextUniform() * sum;
  double running = 0;
  for (size_t i = 0; i < kept; ++i) {
    running += candidates_[i].first;
    if (running > target) return candidates_[i].second;
  }
  return candidates_[kept - 1].second;
}

}  // namespace glm
