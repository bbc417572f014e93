// How an expert cache ranks its rows: who leaves when a row must come in.
//
// A row is one expert of one layer, numbered layer * experts + expert. Every
// policy is the same machine with another rank: of the slots that may be used,
// those of least rank are given up, ties by row. Ranks are made of a few
// integers a row (RowUse) and never change within one layer of one step, so a
// kernel may choose all victims of a layer at once, as the m smallest of its
// candidates, and must get these very slots.
//
// What a policy may differ in: the rank (kUsedAt, kUses, kExpected), whether
// the candidates of an access are its layer's own share of the slots or all of
// them, and which rows are pinned. An access of more rows than a share has
// slots, as a prompt makes, has all of them for candidates with every policy.
#ifndef GLM_RUNTIME_PAGING_CACHE_POLICY_H_
#define GLM_RUNTIME_PAGING_CACHE_POLICY_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/paging/trace.h"

namespace glm::paging {

enum class Rank : uint8_t {
  kUsedAt,    // the step of the last use
  kUses,      // uses, halved every kHalvingSteps steps
  kExpected,  // expected uses in the next step, see ReuseEstimate
};

struct Policy {
  const char* name = "";
  const char* what = "";  // one line for people
  Rank rank = Rank::kUsedAt;
  bool per_layer = false;  // a layer has its own share of the slots, a range
  bool pinned = false;     // most slots hold rows that never leave
};

// All policies, the best known last.
std::span<const Policy> Policies();
// Null where no policy has the name.
const Policy* FindPolicy(std::string_view name);

// Kept for every row, in the cache or not.
struct RowUse {
  uint32_t used_at = 0;  // step of the last use, from 1; 0: never
  uint32_t uses = 0;     // kUses: all, halved; kExpected: since the last ageing
  uint32_t weight = 0;   // kExpected: kRateOne is one use a step
};

inline constexpr uint32_t kHalvingSteps = 256;

// kExpected: uses expected in the layer's next step, of two parts. A row's
// long-run rate is a moving average that is brought up to date every
// kAgeingSteps steps, so that the order of rows which are used equally often
// stays as it is for a while: a scan of more rows than there are slots then
// evicts its own newcomers and leaves the rest, where any order by recency
// would evict what comes next. Rows used in one of the last kAges steps have a
// bonus: by how much such rows were used again more often than their rates say,
// since tokens repeat the experts of the token before. It is measured as the
// cache runs, so no number depends on the model.
inline constexpr uint32_t kAgeingSteps = 16;
inline constexpr uint32_t kAgeingShift = 4;  // a window of 16 << 4 steps
inline constexpr uint32_t kRateOne = 1u << 21;
inline constexpr uint32_t kAges = 4;

class ReuseEstimate {
 public:
  // A row of `weight` is asked for `age` steps after its last use; 0: the first
  // time.
  void Count(uint32_t age, uint32_t weight) {
    ++asked_;
    asked_weight_ += weight;
    if (age < 1 || age > kAges) return;
    ++again_[age - 1];
    again_weight_[age - 1] += weight;
  }
  // The bonus, in parts of kRateOne, of a row that was last used `age` steps
  // ago.
  uint32_t Bonus(uint32_t age) const {
    return age >= 1 && age <= kAges ? bonus_[age - 1] : 0;
  }
  // Brings the bonus up to date and halves the counts; every kAgeingSteps
  // steps.
  void Age();

 private:
  uint64_t asked_ = 0;
  uint64_t asked_weight_ = 0;
  std::array<uint64_t, kAges> again_ = {};
  std::array<uint64_t, kAges> again_weight_ = {};
  std::array<uint32_t, kAges> bonus_ = {};
};

// The rank of a row in the cache whose layer runs next in step `next`; `row`
// breaks ties.
inline uint64_t RankOf(Rank rank, const RowUse& use, uint32_t next,
                       const ReuseEstimate& reuse, uint32_t row) {
  uint32_t score = 0;
  switch (rank) {
    case Rank::kUsedAt:
      score = use.used_at;
      break;
    case Rank::kUses:
      score = use.uses;
      break;
    case Rank::kExpected:
      score = use.weight + reuse.Bonus(next - use.used_at);
      break;
  }
  return uint64_t{score} << 32 | row;
}

// Ages a row's counts where `step` asks for it; before the step's first layer.
inline void AgeRow(Rank rank, uint32_t step, RowUse& use) {
  if (rank == Rank::kUses && step % kHalvingSteps == 0) use.uses >>= 1;
  if (rank == Rank::kExpected && step % kAgeingSteps == 0) {
    constexpr uint32_t kUse = kRateOne / (kAgeingSteps << kAgeingShift);
    use.weight += use.uses * kUse - (use.weight >> kAgeingShift);
    use.uses = 0;
  }
}

// How often each row of a trace was asked for, to choose the rows to pin.
class UseCounts {
 public:
  explicit UseCounts(const TraceShape& shape)
      : shape_(shape), counts_(shape.rows(), 0) {}
  void Add(const RoutingStep& step);
  // Rows by falling count, ties by row.
  std::vector<uint32_t> MostUsed() const;
  // The share (0 to 1) of all uses that the `experts` most used of each layer
  // have.
  double Coverage(uint32_t experts) const;

 private:
  TraceShape shape_;
  std::vector<uint64_t> counts_;
};

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_CACHE_POLICY_H_
