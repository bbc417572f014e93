// The table of an expert cache: which slot of the arena holds which row, and
// which slots are given up for the rows that a layer misses.
//
// It moves no bytes. It is the reference for a cache kernel: fixed tables,
// integers, no allocation once made, the same answer for the same calls. The
// whole state is what the accessors show.
//
//   cache.BeginStep();
//   for each MoE layer, in order:
//     cache.Access(layer, experts, placements);   // then copy the loaded rows
//
// An access takes slots of its layer's range, or of all that change hands where
// it asks for more rows than the range has slots. Rows of other layers that lie
// in a range after such an access leave by their rank, as the layer's own do.
//
// Guarantees: no row that a layer asks for in a step leaves before its next
// layer; a row is in one slot at most; pinned rows never leave. Steps are
// counted in 32 bits: after 2^32 of them (two years at 60 a second) ages are
// wrong, the guarantees are not.
//
// Thread-compatible.
#ifndef GLM_RUNTIME_PAGING_EXPERT_CACHE_H_
#define GLM_RUNTIME_PAGING_EXPERT_CACHE_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/paging/cache_policy.h"
#include "runtime/paging/trace.h"

namespace glm::paging {

inline constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

struct CacheOptions {
  TraceShape shape;
  Policy policy;
  uint32_t slots = 0;
  uint32_t step_tokens = 1;  // tokens of the largest step
  // Rows that policies with `pinned` keep, filled into the last slots:
  // distinct.
  std::vector<uint32_t> pinned_rows = {};
};

struct Placement {
  uint32_t slot = 0;
  bool loaded = false;       // a miss: the row must be copied into the slot
  uint32_t evicted = kNone;  // the row that was there

  friend bool operator==(const Placement&, const Placement&) = default;
};

class ExpertCache {
 public:
  // Slots that may change hands must hold what one layer of the largest step
  // asks for. Errors: kInvalidArgument (a shape that is none, pinned rows that
  // are none), kResourceExhausted (too few slots; the message has the numbers
  // and the remedy).
  static absl::StatusOr<ExpertCache> Create(CacheOptions options);

  // Slots of `slots` that a policy with `pinned` keeps where a person names no
  // number.
  static uint32_t DefaultPinned(uint32_t slots) { return slots / 4 * 3; }

  void BeginStep();

  // The slots of a layer's experts (distinct, in any order); placements[i] is
  // that of experts[i]. Misses take the free slots and then those of least
  // rank, in the order of `experts`. Layers rise within a step. Errors:
  // kInvalidArgument, nothing changed.
  absl::Status Access(uint32_t layer, std::span<const uint16_t> experts,
                      std::span<Placement> placements);

  struct Slots {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t size() const { return end - begin; }
  };
  // All slots that change hands.
  Slots OpenSlots() const { return {0, options_.slots - pinned_}; }
  // The range of a layer: those that rows of its small accesses may take. None
  // where there are fewer slots than layers.
  Slots SlotsOf(uint32_t layer) const;

  const CacheOptions& options() const { return options_; }
  uint32_t step() const { return step_; }
  std::span<const uint32_t> slot_of_row() const { return slot_of_row_; }
  std::span<const uint32_t> row_of_slot() const { return row_of_slot_; }
  std::span<const RowUse> row_uses() const { return uses_; }
  const ReuseEstimate& reuse() const { return reuse_; }

 private:
  struct Victim {
    uint64_t rank = 0;
    uint32_t slot = 0;
  };

  explicit ExpertCache(CacheOptions options);

  absl::Status CheckAccess(uint32_t layer, std::span<const uint16_t> experts,
                           size_t placements) const;
  // Fills victims_[0, count) from `slots`, by rising rank. Rows used by `layer`
  // in this step stay.
  void ChooseVictims(Slots slots, uint32_t layer, uint32_t count);

  CacheOptions options_;
  uint32_t pinned_ = 0;  // slots at the end that never change hands
  uint32_t most_rows_;   // of one access
  uint32_t step_ = 0;
  uint32_t next_layer_ = 0;
  std::vector<uint32_t> slot_of_row_;
  std::vector<uint32_t> row_of_slot_;
  std::vector<RowUse> uses_;
  ReuseEstimate reuse_;
  std::vector<Victim> victims_;
};

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_EXPERT_CACHE_H_
