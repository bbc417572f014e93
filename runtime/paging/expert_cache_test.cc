#include "runtime/paging/expert_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/paging/synthetic_trace.h"

namespace glm::paging {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The policies once more, as slowly and plainly as they can be told: rows in
// sets, the whole history kept, every number counted again from it.
class PlainCache {
 public:
  explicit PlainCache(const CacheOptions& options) : options_(options) {
    for (const uint32_t row : options.pinned_rows) pinned_.insert(row);
  }

  void BeginStep() {
    ++step_;
    if (step_ % 16 == 0) Age();
  }

  // True for each expert that was there.
  std::vector<bool> Access(uint32_t layer,
                           const std::vector<uint16_t>& experts) {
    std::set<uint32_t> asked;
    std::vector<bool> hits;
    for (const uint16_t expert : experts) {
      const uint32_t row = layer * options_.shape.experts + expert;
      asked.insert(row);
      hits.push_back(cached_.count(row) || pinned_.count(row));
      const bool first = history_[row].empty();
      const uint32_t age = first ? 0 : step_ - history_[row].back();
      asked_ += 1;
      asked_weight_ += weight_[row];
      if (age >= 1 && age <= kAges) {
        again_[age] += 1;
        again_weight_[age] += weight_[row];
      }
      history_[row].push_back(step_);
    }
    // Which rows leave does not depend on the order in which they would come
    // in.
    std::vector<std::pair<uint64_t, uint32_t>> victims;
    for (const uint32_t row : cached_) {
      if (!SamePool(row, layer) || asked.count(row)) continue;
      victims.push_back({Score(row, layer), row});
    }
    std::sort(victims.begin(), victims.end());
    size_t next = 0;
    for (size_t i = 0; i < experts.size(); ++i) {
      if (hits[i]) continue;
      const auto in_pool = static_cast<uint32_t>(
          std::count_if(cached_.begin(), cached_.end(),
                        [&](uint32_t row) { return SamePool(row, layer); }));
      if (in_pool == PoolSize(layer)) cached_.erase(victims.at(next++).second);
      cached_.insert(layer * options_.shape.experts + experts[i]);
    }
    return hits;
  }

  const std::set<uint32_t>& cached() const { return cached_; }

 private:
  bool SamePool(uint32_t row, uint32_t layer) const {
    return !options_.policy.per_layer || row / options_.shape.experts == layer;
  }
  uint32_t PoolSize(uint32_t layer) const {
    const auto open = static_cast<uint32_t>(options_.slots - pinned_.size());
    if (!options_.policy.per_layer) return open;
    return open * (layer + 1) / options_.shape.layers -
           open * layer / options_.shape.layers;
  }

  uint64_t Score(uint32_t row, uint32_t layer) {
    const std::vector<uint32_t>& history = history_[row];
    switch (options_.policy.rank) {
      case Rank::kUsedAt:
        return history.back();
      case Rank::kUses: {
        uint64_t uses = 0;
        size_t at = 0;
        for (uint32_t step = 1; step <= step_; ++step) {
          if (step % 256 == 0) uses /= 2;
          for (; at < history.size() && history[at] == step; ++at) ++uses;
        }
        return uses;
      }
      case Rank::kExpected: {
        const bool ran = row / options_.shape.experts <= layer;
        const uint32_t age = step_ + (ran ? 1 : 0) - history.back();
        return weight_[row] + (age <= kAges ? bonus_[age] : 0);
      }
    }
    return 0;
  }

  void Age() {
    for (auto& [row, history] : history_) {
      uint64_t uses = 0;
      for (const uint32_t step : history) {
        uses += step + 16 >= step_ && step < step_;
      }
      weight_[row] = weight_[row] - weight_[row] / 16 + uses * (kRateOne / 256);
    }
    uint64_t rows = asked_, expected = asked_weight_;
    for (uint32_t age = 1; age <= kAges; ++age) {
      const uint64_t used = again_[age] * kRateOne;
      bonus_[age] =
          rows == 0 || used < expected
              ? 0
              : std::min<uint64_t>((used - expected) / rows, kRateOne);
      rows -= std::min(rows, again_[age]);
      expected -= std::min(expected, again_weight_[age]);
      again_[age] /= 2;
      again_weight_[age] /= 2;
    }
    asked_ /= 2;
    asked_weight_ /= 2;
  }

  CacheOptions options_;
  uint32_t step_ = 0;
  std::set<uint32_t> pinned_, cached_;
  std::map<uint32_t, std::vector<uint32_t>> history_;
  std::map<uint32_t, uint64_t> weight_, again_, again_weight_, bonus_;
  uint64_t asked_ = 0, asked_weight_ = 0;
};

// Slots and rows name each other, each row is in one slot at most.
void CheckTables(const ExpertCache& cache) {
  uint32_t held = 0;
  for (uint32_t slot = 0; slot < cache.row_of_slot().size(); ++slot) {
    const uint32_t row = cache.row_of_slot()[slot];
    if (row == kNone) continue;
    ++held;
    ASSERT_EQ(cache.slot_of_row()[row], slot);
  }
  ASSERT_EQ(
      std::count_if(cache.slot_of_row().begin(), cache.slot_of_row().end(),
                    [](uint32_t slot) { return slot != kNone; }),
      held);
}

struct Case {
  std::string policy;
  TraceShape shape;
  uint32_t slots;
  uint32_t step_tokens;
  uint64_t seed;
};

class PolicyTest : public ::testing::TestWithParam<const char*> {
 protected:
  static CacheOptions Options(const Case& c) {
    CacheOptions options = {
        c.shape, *FindPolicy(c.policy), c.slots, c.step_tokens, {}};
    if (options.policy.pinned) {
      for (uint32_t i = 0; i < c.slots / 2; ++i) {
        options.pinned_rows.push_back(c.shape.rows() - 1 - 2 * i);
      }
    }
    return options;
  }

  // Runs a made-up trace through both caches.
  void Compare(const Case& c, uint64_t steps, uint64_t jump_steps) {
    const CacheOptions options = Options(c);
    auto cache = ExpertCache::Create(options);
    ASSERT_TRUE(cache.ok()) << cache.status();
    PlainCache plain(options);
    ZipfOptions zipf;
    zipf.shape = c.shape;
    zipf.steps = steps;
    zipf.step_tokens = c.step_tokens;
    zipf.seed = c.seed;
    zipf.jump_steps = jump_steps;
    ZipfTrace trace(zipf);
    hits_ = 0;
    for (RoutingStep step; *trace.Next(step);) {
      cache->BeginStep();
      plain.BeginStep();
      for (uint32_t layer = 0; layer < c.shape.layers; ++layer) {
        const std::vector<uint16_t>& experts = step.layers[layer];
        std::vector<Placement> placements(experts.size());
        ASSERT_TRUE(cache->Access(layer, experts, placements).ok());
        const std::vector<bool> expected = plain.Access(layer, experts);
        for (size_t i = 0; i < experts.size(); ++i) {
          ASSERT_EQ(!placements[i].loaded, expected[i])
              << "step " << cache->step() << " layer " << layer << " expert "
              << experts[i];
          // None that this layer needs has been given up.
          const uint32_t row = layer * c.shape.experts + experts[i];
          ASSERT_EQ(cache->row_of_slot()[placements[i].slot], row);
          hits_ += expected[i];
        }
        for (const uint32_t row : options.pinned_rows) {
          ASSERT_NE(cache->slot_of_row()[row], kNone);
        }
      }
      CheckTables(*cache);
      for (const uint32_t row : plain.cached()) {
        ASSERT_NE(cache->slot_of_row()[row], kNone) << "row " << row;
      }
    }
  }

  uint64_t hits_ = 0;
};

TEST_P(PolicyTest, DoesWhatThePlainCacheDoes) {
  Compare({GetParam(), {3, 16, 3}, 24, 1, 1}, 600, 0);
  EXPECT_GT(hits_, 600);
  Compare({GetParam(), {5, 12, 2}, 31, 1, 2}, 300, 100);
}

TEST_P(PolicyTest, DoesSoWithSeveralTokensAStep) {
  Compare({GetParam(), {3, 16, 3}, 36, 4, 3}, 200, 50);
  EXPECT_GT(hits_, 200);
}

TEST_P(PolicyTest, HoldsWithTheFewestSlots) {
  const Policy& policy = *FindPolicy(GetParam());
  Compare({GetParam(),
           {3, 16, 3},
           policy.per_layer ? 9u
           : policy.pinned  ? 6u
                            : 3u,
           1,
           4},
          300, 0);
}

TEST_P(PolicyTest, AnArenaOfAllRowsMissesEachOnce) {
  const TraceShape shape = {2, 8, 2};
  CacheOptions options = Options({GetParam(), shape, 100, 1, 0});
  options.pinned_rows.resize(options.policy.pinned ? 1 : 0);
  if (options.policy.pinned) options.pinned_rows[0] = 3;
  auto cache = ExpertCache::Create(options);
  ASSERT_TRUE(cache.ok()) << cache.status();
  EXPECT_EQ(cache->row_of_slot().size(), 16);
  CyclicTrace trace(shape, 40, 16);
  uint64_t misses = 0;
  for (RoutingStep step; *trace.Next(step);) {
    cache->BeginStep();
    for (uint32_t layer = 0; layer < 2; ++layer) {
      std::vector<Placement> placements(2);
      ASSERT_TRUE(cache->Access(layer, step.layers[layer], placements).ok());
      for (const Placement& p : placements) {
        misses += p.loaded;
        EXPECT_EQ(p.evicted, kNone);
      }
    }
  }
  EXPECT_EQ(misses, 16 - options.pinned_rows.size());
}

std::vector<const char*> Names() {
  std::vector<const char*> names;
  for (const Policy& policy : Policies()) names.push_back(policy.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, PolicyTest, ::testing::ValuesIn(Names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(ExpertCacheTest, TooFewSlotsAreRefusedWithNumbersAndRemedy) {
  CacheOptions options = {{42, 288, 8}, *FindPolicy("lru"), 15, 2, {}};
  absl::Status status = ExpertCache::Create(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("an arena of 15 slots"), HasSubstr("up to 16 of its 288"),
            HasSubstr("give it 16 slots or more"),
            HasSubstr("run fewer tokens a step")));
  options.slots = 16;
  EXPECT_TRUE(ExpertCache::Create(options).ok());
  options.policy = *FindPolicy("quota-lru");
  status = ExpertCache::Create(options).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("give it 672 slots or more"));
  options.policy = *FindPolicy("pinned-lru");
  options.pinned_rows = {7};
  status = ExpertCache::Create(options).status();
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("1 slots are pinned"), HasSubstr("pin fewer rows")));
}

TEST(ExpertCacheTest, BadOptionsAndCallsChangeNothing) {
  CacheOptions options = {{2, 8, 2}, *FindPolicy("lru"), 4, 1, {}};
  options.pinned_rows = {0};
  EXPECT_FALSE(ExpertCache::Create(options).ok()) << "lru pins nothing";
  options.policy = *FindPolicy("pinned-lru");
  options.pinned_rows = {16};
  EXPECT_FALSE(ExpertCache::Create(options).ok());
  options.pinned_rows = {3, 3};
  EXPECT_FALSE(ExpertCache::Create(options).ok());
  options.pinned_rows = {};
  auto cache = ExpertCache::Create(options);
  ASSERT_TRUE(cache.ok());
  std::vector<Placement> two(2);
  using Experts = std::vector<uint16_t>;
  EXPECT_FALSE(cache->Access(0, Experts{0, 1}, two).ok())
      << "no step has begun";
  cache->BeginStep();
  EXPECT_FALSE(cache->Access(0, Experts{1, 1}, two).ok());
  EXPECT_FALSE(cache->Access(0, Experts{1, 8}, two).ok());
  EXPECT_FALSE(cache->Access(0, Experts{1}, two).ok());
  EXPECT_FALSE(cache->Access(2, Experts{0, 1}, two).ok());
  std::vector<Placement> three(3);
  EXPECT_FALSE(cache->Access(0, Experts{0, 1, 2}, three).ok());
  for (const uint32_t slot : cache->slot_of_row()) EXPECT_EQ(slot, kNone);
  EXPECT_TRUE(cache->Access(1, Experts{0, 1}, two).ok());
  EXPECT_FALSE(cache->Access(1, Experts{0, 1}, two).ok()) << "twice in a step";
  EXPECT_FALSE(cache->Access(0, Experts{0, 1}, two).ok()) << "a layer before";
}

TEST(ExpertCacheTest, MissesTakeFreeSlotsThenTheOldestTiesByRow) {
  auto cache = ExpertCache::Create({{1, 8, 2}, *FindPolicy("lru"), 4, 1, {}});
  ASSERT_TRUE(cache.ok());
  std::vector<Placement> p(2);
  using Experts = std::vector<uint16_t>;
  for (const Experts& experts : {Experts{5, 2}, Experts{7, 1}}) {
    cache->BeginStep();
    ASSERT_TRUE(cache->Access(0, experts, p).ok());
  }
  EXPECT_EQ(p, (std::vector<Placement>{{2, true, kNone}, {3, true, kNone}}));
  cache->BeginStep();
  ASSERT_TRUE(cache->Access(0, Experts{5, 0}, p).ok());
  EXPECT_EQ(p, (std::vector<Placement>{{0, false, kNone}, {1, true, 2}}));
  cache->BeginStep();
  ASSERT_TRUE(cache->Access(0, Experts{3, 4}, p).ok());
  EXPECT_EQ(p, (std::vector<Placement>{{3, true, 1}, {2, true, 7}}));
}

}  // namespace
}  // namespace glm::paging
