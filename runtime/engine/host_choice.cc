#include "runtime/engine/host_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/status/status.h"
#include "runtime/base/status_macros.h"

namespace glm {

void AddLogprobs(std::span<const float> logits, uint32_t count,
                 GeneratedToken& token) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - most);
  const double all = most + std::log(sum);
  const auto of = [&](int32_t id) {
    return static_cast<float>(logits[static_cast<size_t>(id)] - all);
  };
  token.logprob = of(token.id);
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end =
      ids.begin() + static_cast<ptrdiff_t>(std::min<size_t>(count, ids.size()));
  std::partial_sort(ids.begin(), end, ids.end(), [&](int32_t a, int32_t b) {
    const float left = logits[static_cast<size_t>(a)];
    const float right = logits[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  });
  token.top.clear();
  for (auto id = ids.begin(); id != end; ++id) {
    token.top.push_back({*id, of(*id)});
  }
}

absl::StatusOr<GeneratedToken> HostChoice::Choose(
    ActiveRequest& request, std::span<const float> logits) {
  std::span<const float> left = logits;
  TokenConstraint* constraint = request.request.constraint.get();
  if (constraint != nullptr) {
    allowed_.assign((logits.size() + 63) / 64, 0);
    if (constraint->Allow(allowed_)) {
      GLM_RETURN_IF_ERROR(constraint->status());
      masked_.assign(logits.begin(), logits.end());
      for (size_t id = 0; id < masked_.size(); ++id) {
        const bool allowed = allowed_[id / 64] >> (id % 64) & 1;
        // NaN and +inf stay, to be found.
        if (!allowed && masked_[id] < INFINITY) masked_[id] = -INFINITY;
      }
      if (std::all_of(allowed_.begin(), allowed_.end(),
                      [](uint64_t word) { return word == 0; })) {
        return absl::InternalError(
            "the constraint of the answer allows no token");
      }
      left = masked_;
    }
  }
  GeneratedToken token;
  GLM_ASSIGN_OR_RETURN(token.id, request.sampler.Sample(left, request.fed));
  if (constraint != nullptr) constraint->Accept(token.id);
  if (request.request.top_logprobs >= 0) {
    AddLogprobs(logits, static_cast<uint32_t>(request.request.top_logprobs),
                token);
  }
  return token;
}

}  // namespace glm
