#include "runtime/paging/cache_policy.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace glm::paging {
namespace {

constexpr Policy kPolicies[] = {
    {"lru", "least recently used of all layers", Rank::kUsedAt},
    {"quota-lru", "an equal share of the slots a layer, LRU within it",
     Rank::kUsedAt,
     /*per_layer=*/true},
    {"lfu", "least often used, counts halved every 256 steps", Rank::kUses},
    {"pinned-lru", "the most used rows of the warm-up stay, LRU in the rest",
     Rank::kUsedAt, /*per_layer=*/false, /*pinned=*/true},
    {"quota-lfru", "lfru with an equal share of the slots a layer",
     Rank::kExpected,
     /*per_layer=*/true},
    {"lfru", "least expected to be used: long-run rate, more soon after a use",
     Rank::kExpected},
};

}  // namespace

std::span<const Policy> Policies() { return kPolicies; }

const Policy* FindPolicy(std::string_view name) {
  for (const Policy& policy : kPolicies) {
    if (name == policy.name) return &policy;
  }
  return nullptr;
}

void ReuseEstimate::Age() {
  // All rows asked for have age 1 a step later, those not used then age 2, and
  // so on.
  uint64_t rows = asked_;
  uint64_t expected = asked_weight_;
  for (uint32_t i = 0; i < kAges; ++i) {
    const uint64_t used = again_[i] * kRateOne;
    bonus_[i] = used <= expected || rows == 0
                    ? 0
                    : static_cast<uint32_t>(std::min<uint64_t>(
                          (used - expected) / rows, kRateOne));
    rows -= std::min(rows, again_[i]);
    expected -= std::min(expected, again_weight_[i]);
    again_[i] >>= 1;
    again_weight_[i] >>= 1;
  }
  asked_ >>= 1;
  asked_weight_ >>= 1;
}

void UseCounts::Add(const RoutingStep& step) {
  for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
    for (const uint16_t expert : step.layers[layer]) {
      ++counts_[layer * shape_.experts + expert];
    }
  }
}

std::vector<uint32_t> UseCounts::MostUsed() const {
  std::vector<uint32_t> rows(counts_.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    return counts_[a] != counts_[b] ? counts_[a] > counts_[b] : a < b;
  });
  return rows;
}

double UseCounts::Coverage(uint32_t experts) const {
  uint64_t covered = 0, all = 0;
  for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
    const auto begin = counts_.begin() + layer * shape_.experts;
    std::vector<uint64_t> counts(begin, begin + shape_.experts);
    std::sort(counts.begin(), counts.end(), std::greater<>());
    for (uint32_t i = 0; i < shape_.experts; ++i) {
      all += counts[i];
      if (i < experts) covered += counts[i];
    }
  }
  return all == 0 ? 0 : static_cast<double>(covered) / static_cast<double>(all);
}

}  // namespace glm::paging
