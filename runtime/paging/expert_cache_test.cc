#include "runtime/paging/expert_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/paging/synthetic_trace.h"

namespace glm::paging {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The policies once more, as slowly and plainly as they can be told: all
// candidates put in order, the whole history kept, every number counted again
// from it.
class PlainCache {
 public:
  explicit PlainCache(const CacheOptions& options)
      : options_(options),
        rows_(options.slots - options.pinned_rows.size(), kNone) {
    const std::vector<uint32_t>& pinned = options.pinned_rows;
    rows_.insert(rows_.end(), pinned.begin(), pinned.end());
  }

  void BeginStep() {
    ++step_;
    if (step_ % 16 == 0) Age();
  }

  std::vector<Placement> Access(uint32_t layer,
                                const std::vector<uint16_t>& experts) {
    std::set<uint32_t> asked;
    for (const uint16_t expert : experts) {
      const uint32_t row = layer * options_.shape.experts + expert;
      asked.insert(row);
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
    // Free slots by number, then those of other rows by score and row.
    std::vector<std::tuple<bool, uint64_t, uint32_t, uint32_t>> candidates;
    const auto [begin, end] = SlotsFor(layer, experts.size());
    for (uint32_t slot = begin; slot < end; ++slot) {
      const uint32_t row = rows_[slot];
      if (row == kNone) {
        candidates.push_back({false, 0, 0, slot});
      } else if (asked.count(row) == 0) {
        candidates.push_back({true, Score(row, layer), row, slot});
      }
    }
    std::sort(candidates.begin(), candidates.end());
    const std::vector<uint32_t> before = rows_;
    std::vector<Placement> placements;
    size_t next = 0;
    for (const uint16_t expert : experts) {
      const uint32_t row = layer * options_.shape.experts + expert;
      const auto found = std::find(before.begin(), before.end(), row);
      if (found != before.end()) {
        placements.push_back({static_cast<uint32_t>(found - before.begin())});
        continue;
      }
      const uint32_t slot = std::get<3>(candidates.at(next++));
      placements.push_back({slot, true, rows_[slot]});
      rows_[slot] = row;
    }
    return placements;
  }

  const std::vector<uint32_t>& rows() const { return rows_; }

 private:
  // A layer's share, or all where it does not hold what is asked for.
  std::pair<uint32_t, uint32_t> SlotsFor(uint32_t layer, size_t asked) const {
    const auto open =
        static_cast<uint32_t>(options_.slots - options_.pinned_rows.size());
    const uint32_t layers = options_.shape.layers;
    const uint32_t begin = open * layer / layers;
    const uint32_t end = open * (layer + 1) / layers;
    const bool own = options_.policy.per_layer && asked <= end - begin;
    return own ? std::pair(begin, end) : std::pair(0u, open);
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
  std::vector<uint32_t> rows_;  // of each slot
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
    ZipfOptions zipf;
    zipf.shape = c.shape;
    zipf.steps = steps;
    zipf.step_tokens = c.step_tokens;
    zipf.seed = c.seed;
    zipf.jump_steps = jump_steps;
    ZipfTrace trace(zipf);
    Compare(options, [&](RoutingStep& step) { return *trace.Next(step); });
  }

  // `next` fills the step, or says that there are no more.
  template <class Next>
  void Compare(const CacheOptions& options, Next next) {
    auto cache = ExpertCache::Create(options);
    ASSERT_TRUE(cache.ok()) << cache.status();
    PlainCache plain(options);
    hits_ = own_ = all_ = 0;
    for (RoutingStep step; next(step);) {
      cache->BeginStep();
      plain.BeginStep();
      for (uint32_t layer = 0; layer < options.shape.layers; ++layer) {
        const std::vector<uint16_t>& experts = step.layers[layer];
        std::vector<Placement> placements(experts.size());
        ASSERT_TRUE(cache->Access(layer, experts, placements).ok());
        ASSERT_EQ(placements, plain.Access(layer, experts))
            << "step " << cache->step() << " layer " << layer;
        CheckAccess(*cache, layer, experts, placements);
      }
      CheckTables(*cache);
      ASSERT_TRUE(std::ranges::equal(cache->row_of_slot(), plain.rows()));
    }
  }

  void CheckAccess(const ExpertCache& cache, uint32_t layer,
                   const std::vector<uint16_t>& experts,
                   const std::vector<Placement>& placements) {
    const CacheOptions& options = cache.options();
    const ExpertCache::Slots own = cache.SlotsOf(layer);
    for (size_t i = 0; i < experts.size(); ++i) {
      // None that this layer needs has been given up.
      const uint32_t row = layer * options.shape.experts + experts[i];
      ASSERT_EQ(cache.row_of_slot()[placements[i].slot], row);
      hits_ += !placements[i].loaded;
      if (!placements[i].loaded) continue;
      const bool inside =
          placements[i].slot >= own.begin && placements[i].slot < own.end;
      ASSERT_TRUE(inside || experts.size() > own.size());
      ++(inside ? own_ : all_);
    }
    for (const uint32_t row : options.pinned_rows) {
      ASSERT_NE(cache.slot_of_row()[row], kNone);
    }
  }

  uint64_t hits_ = 0;
  uint64_t own_ = 0;  // rows that came into their layer's range, and not
  uint64_t all_ = 0;
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
  const uint32_t slots = FindPolicy(GetParam())->pinned ? 6 : 3;
  Compare({GetParam(), {3, 16, 3}, slots, 1, 4}, 300, 0);
  // Fewer than layers.
  Compare({GetParam(), {7, 16, 3}, slots, 1, 5}, 100, 0);
}

// A few rows a step, as decoding asks for, and now and then up to all of a
// layer, as prompts do.
TEST_P(PolicyTest, HoldsWithSmallAndLargeAccesses) {
  constexpr TraceShape kShape = {4, 24, 3};
  for (const uint32_t slots : {24, 25, 38, 53, 72}) {
    SCOPED_TRACE(std::to_string(slots) + " slots");
    CacheOptions options = Options({GetParam(), kShape, slots, 8, 0});
    if (options.policy.pinned) {
      options.pinned_rows.resize(8);
      options.slots += 8;
    }
    std::minstd_rand random(slots);
    uint32_t left = 150;
    Compare(options, [&](RoutingStep& step) {
      step.layers.resize(kShape.layers);
      const uint32_t most = random() % 8 == 0 ? kShape.experts : kShape.top_k;
      for (std::vector<uint16_t>& experts : step.layers) {
        experts.resize(kShape.experts);
        std::iota(experts.begin(), experts.end(), 0);
        // Some more often than others, in any order.
        for (uint32_t i = 0; i < kShape.experts; ++i) {
          const uint32_t j = i + random() % (kShape.experts - i);
          if (random() % 2 == 0) std::swap(experts[i], experts[j]);
        }
        experts.resize(random() % (most + 1));
        std::shuffle(experts.begin(), experts.end(), random);
      }
      return left-- > 0;
    });
    EXPECT_GT(hits_, 300);
    EXPECT_GT(own_, 100);
    if (options.policy.per_layer) EXPECT_GT(all_, 50);
  }
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
  EXPECT_TRUE(ExpertCache::Create(options).ok());
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

TEST(ExpertCacheTest, WhatDoesNotFitALayersShareTakesSlotsOfAll) {
  auto cache =
      ExpertCache::Create({{2, 8, 2}, *FindPolicy("quota-lru"), 6, 3, {}});
  ASSERT_TRUE(cache.ok());
  using Experts = std::vector<uint16_t>;
  std::vector<Placement> three(3), four(4), two(2);
  cache->BeginStep();
  ASSERT_TRUE(cache->Access(0, Experts{0, 1, 2}, three).ok());
  ASSERT_TRUE(cache->Access(1, Experts{3, 4}, two).ok());
  EXPECT_EQ(two, (std::vector<Placement>{{3, true, kNone}, {4, true, kNone}}));
  // Free ones first, then the oldest rows of either layer, which here is tied.
  cache->BeginStep();
  ASSERT_TRUE(cache->Access(1, Experts{3, 5, 6, 7}, four).ok());
  EXPECT_EQ(
      four,
      (std::vector<Placement>{
          {3, false, kNone}, {5, true, kNone}, {0, true, 0}, {1, true, 1}}));
  // Slots 0 and 1 hold rows of layer 1, used later than that of layer 0.
  cache->BeginStep();
  ASSERT_TRUE(cache->Access(0, Experts{0, 1}, two).ok());
  EXPECT_EQ(two, (std::vector<Placement>{{2, true, 2}, {0, true, 14}}));
  // A row outside the range is found there.
  ASSERT_TRUE(cache->Access(1, Experts{7, 6}, two).ok());
  EXPECT_EQ(two, (std::vector<Placement>{{1, false, kNone}, {4, true, 12}}));
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
