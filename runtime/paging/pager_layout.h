// The pager and the doorbell as bytes: docs/spec/paging.md.
//
// The runtime makes both; the kernels find_rows and copy_rows read and change
// them, and the thread of row_server.h the doorbell. Addresses are those that
// kernels use, which the host may not be able to follow.
#ifndef GLM_RUNTIME_PAGING_PAGER_LAYOUT_H_
#define GLM_RUNTIME_PAGING_PAGER_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "runtime/paging/cache_policy.h"

namespace glm::paging {

inline constexpr uint32_t kMostRowWeights = 4;  // of one row
inline constexpr uint32_t kMostRowPieces = 8;   // of all its weights

// cache_policy.h, ReuseEstimate.
struct PagerReuse {
  uint64_t asked;
  uint64_t asked_weight;
  uint64_t again[kAges];
  uint64_t again_weight[kAges];
  uint32_t bonus[kAges];
};

struct Pager {
  uint64_t slots;        // address of slot 0
  uint64_t row_bytes;    // slot s is at slots + s * row_bytes
  uint64_t sources;      // U64 [layers * experts]; 0: ask the host
  uint64_t tables;       // U64 [layers * weights]
  uint64_t slot_of_row;  // U32 [layers * experts], kNone
  uint64_t row_of_slot;  // U32 [slot_count], kNone
  uint64_t row_uses;     // RowUse [layers * experts]
  uint64_t ranges;       // U32 [layers + 1][2], the last: all that change
  uint64_t counts;       // PagerCounts [layers]
  uint64_t bell;         // address of the Doorbell, or 0
  uint64_t trace;        // 0, or I32 [trace_steps][layers][top_k]
  uint32_t trace_steps;
  uint32_t layers;
  uint32_t experts;
  uint32_t slot_count;
  uint32_t rank;     // paging::Rank
  uint32_t weights;  // of a row
  uint32_t pieces;   // of each of them
  uint32_t step;     // ExpertCache::step
  uint64_t offsets[kMostRowPieces];
  PagerReuse reuse;
  uint32_t asked;    // rows asked of the host so far, wraps
  uint32_t arrived;  // of copy_rows alone
};

// One layer's; they only rise.
struct PagerCounts {
  uint64_t accesses;
  uint64_t misses;
  uint64_t asked;  // misses whose rows came by the doorbell
  uint64_t steps;
};

// Each line has one writer, so that no line moves between two.
inline constexpr uint64_t kBellLine = 64;

// The first of them; U32 rows[ring] follow at kBellRows.
struct Doorbell {
  alignas(kBellLine) uint32_t requested;  // kernel
  alignas(kBellLine) uint32_t served;     // host
  alignas(kBellLine) uint32_t taken;      // kernel
  alignas(kBellLine) uint64_t staging;    // host, before the first step
  uint32_t ring;
};
inline constexpr uint64_t kBellRows = sizeof(Doorbell);

inline constexpr uint64_t BellBytes(uint32_t ring) {
  return kBellRows +
         (uint64_t{4} * ring + kBellLine - 1) / kBellLine * kBellLine;
}

static_assert(offsetof(Pager, slots) == 0);
static_assert(offsetof(Pager, row_bytes) == 8);
static_assert(offsetof(Pager, sources) == 16);
static_assert(offsetof(Pager, tables) == 24);
static_assert(offsetof(Pager, slot_of_row) == 32);
static_assert(offsetof(Pager, row_of_slot) == 40);
static_assert(offsetof(Pager, row_uses) == 48);
static_assert(offsetof(Pager, ranges) == 56);
static_assert(offsetof(Pager, counts) == 64);
static_assert(offsetof(Pager, bell) == 72);
static_assert(offsetof(Pager, trace) == 80);
static_assert(offsetof(Pager, trace_steps) == 88);
static_assert(offsetof(Pager, layers) == 92);
static_assert(offsetof(Pager, experts) == 96);
static_assert(offsetof(Pager, slot_count) == 100);
static_assert(offsetof(Pager, rank) == 104);
static_assert(offsetof(Pager, weights) == 108);
static_assert(offsetof(Pager, pieces) == 112);
static_assert(offsetof(Pager, step) == 116);
static_assert(offsetof(Pager, offsets) == 120);
static_assert(offsetof(Pager, reuse) == 184);
static_assert(sizeof(PagerReuse) == 96);
static_assert(offsetof(Pager, asked) == 280);
static_assert(offsetof(Pager, arrived) == 284);
static_assert(sizeof(Pager) == 288);
static_assert(sizeof(PagerCounts) == 32);
static_assert(sizeof(RowUse) == 12);
static_assert(offsetof(RowUse, used_at) == 0 && offsetof(RowUse, uses) == 4 &&
              offsetof(RowUse, weight) == 8);
static_assert(offsetof(Doorbell, requested) == 0);
static_assert(offsetof(Doorbell, served) == 64);
static_assert(offsetof(Doorbell, taken) == 128);
static_assert(offsetof(Doorbell, staging) == 192);
static_assert(offsetof(Doorbell, ring) == 200);
static_assert(kBellRows == 256);

}  // namespace glm::paging

#endif  // GLM_RUNTIME_PAGING_PAGER_LAYOUT_H_
