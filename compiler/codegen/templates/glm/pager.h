// pager.h - what of paged experts lies where, and who leaves next.
//
// The structs of docs/spec/paging.md as the kernels see them, and the rules of
// runtime/paging/cache_policy.h. Integers only.
#pragma once

#include "glm/block.h"
#include "glm/gpu_gemv.h"

namespace glm::kernel {

inline constexpr uint32_t kNoRow = ~0u;             // and no slot
inline constexpr int64_t kMostPagedExperts = 1024;  // shared arrays hold them
inline constexpr int64_t kCopyBlocks = 64;          // of copy_rows

// Numbers that a block shares with no room of their own: kernels of a group
// follow each other in it. A CPU has none.
#ifdef GLM_GPU
inline constexpr int kScratchWords = kScratchFloats;
GLM_FN int32_t* ScratchWords() { return reinterpret_cast<int32_t*>(Scratch()); }
#else
inline constexpr int kScratchWords = 0;
GLM_FN int32_t* ScratchWords() { return nullptr; }
#endif

// ------------------------------------------------------------------- the cache

inline constexpr uint32_t kRankUsedAt = 0;
inline constexpr uint32_t kRankUses = 1;
inline constexpr uint32_t kRankExpected = 2;

inline constexpr uint32_t kHalvingSteps = 256;
inline constexpr uint32_t kAgeingSteps = 16;
inline constexpr uint32_t kAgeingShift = 4;
inline constexpr uint32_t kRateOne = 1u << 21;
inline constexpr int kAges = 4;

struct RowUse {
  uint32_t used_at;
  uint32_t uses;
  uint32_t weight;
};

struct ReuseEstimate {
  uint64_t asked;
  uint64_t asked_weight;
  uint64_t again[kAges];
  uint64_t again_weight[kAges];
  uint32_t bonus[kAges];
};

// What find_rows counts for a layer.
struct PagerCounts {
  uint64_t accesses;
  uint64_t misses;
  uint64_t asked;
  uint64_t steps;
};

struct Pager {
  uint64_t slots;
  uint64_t row_bytes;
  uint64_t sources;
  uint64_t tables;
  uint64_t slot_of_row;
  uint64_t row_of_slot;
  uint64_t row_uses;
  uint64_t ranges;
  uint64_t counts;
  uint64_t bell;
  uint64_t trace;
  uint32_t trace_steps;
  uint32_t layers;
  uint32_t experts;
  uint32_t slot_count;
  uint32_t rank;
  uint32_t weights;
  uint32_t pieces;
  uint32_t step;
  uint64_t offsets[8];
  ReuseEstimate reuse;
  uint32_t asked;
  uint32_t arrived;
};
static_assert(__builtin_offsetof(Pager, tables) == 24);
static_assert(__builtin_offsetof(Pager, bell) == 72);
static_assert(__builtin_offsetof(Pager, trace_steps) == 88);
static_assert(__builtin_offsetof(Pager, rank) == 104);
static_assert(__builtin_offsetof(Pager, step) == 116);
static_assert(__builtin_offsetof(Pager, offsets) == 120);
static_assert(__builtin_offsetof(Pager, reuse) == 184);
static_assert(__builtin_offsetof(Pager, asked) == 280);
static_assert(sizeof(Pager) == 288 && sizeof(ReuseEstimate) == 96);

template <class T>
GLM_FN T* ArrayAt(uint64_t address) {
  return static_cast<T*>(Address(address));
}

// Whether counts age when `step` begins.
GLM_FN bool AgesIn(uint32_t rank, uint32_t step) {
  return rank == kRankUses       ? step % kHalvingSteps == 0
         : rank == kRankExpected ? step % kAgeingSteps == 0
                                 : false;
}

GLM_FN RowUse Aged(uint32_t rank, RowUse use) {
  if (rank == kRankUses) {
    use.uses >>= 1;
  } else {
    constexpr uint32_t kUse = kRateOne / (kAgeingSteps << kAgeingShift);
    use.weight += use.uses * kUse - (use.weight >> kAgeingShift);
    use.uses = 0;
  }
  return use;
}

GLM_FN void AgeReuse(ReuseEstimate& reuse) {
  uint64_t rows = reuse.asked;
  uint64_t expected = reuse.asked_weight;
  for (int i = 0; i < kAges; ++i) {
    const uint64_t used = reuse.again[i] * kRateOne;
    uint64_t bonus = 0;
    if (used > expected && rows != 0) bonus = (used - expected) / rows;
    reuse.bonus[i] = bonus < kRateOne ? uint32_t(bonus) : kRateOne;
    rows -= reuse.again[i] < rows ? reuse.again[i] : rows;
    expected -=
        reuse.again_weight[i] < expected ? reuse.again_weight[i] : expected;
    reuse.again[i] >>= 1;
    reuse.again_weight[i] >>= 1;
  }
  reuse.asked >>= 1;
  reuse.asked_weight >>= 1;
}

// The slots that an access of a layer may take: the layer's range, or all that
// change hands where it asks for more rows than the range has slots. The order
// of keys is the rule: the least one is given up first. A free slot's key is
// its number; all keys differ.
struct Candidates {
  static constexpr uint64_t kStays = ~uint64_t{0};
  static constexpr uint64_t kFirstTaken = uint64_t{1} << 32;

  const uint32_t* row_of_slot;
  const uint32_t* slot_of_row;
  const RowUse* uses;
  uint32_t begin;
  uint32_t end;
  uint32_t first_row;  // of the layer
  uint32_t end_row;
  uint32_t rank;
  uint32_t step;
  uint32_t bonus[kAges];

  GLM_FN Candidates(const Pager& pager, int64_t layer, int64_t experts,
                    uint32_t step, int64_t rows)
      : row_of_slot(ArrayAt<uint32_t>(pager.row_of_slot)),
        slot_of_row(ArrayAt<uint32_t>(pager.slot_of_row)),
        uses(ArrayAt<RowUse>(pager.row_uses)),
        begin(ArrayAt<uint32_t>(pager.ranges)[2 * layer]),
        end(ArrayAt<uint32_t>(pager.ranges)[2 * layer + 1]),
        first_row(uint32_t(layer * experts)),
        end_row(uint32_t((layer + 1) * experts)),
        rank(pager.rank),
        step(step) {
    const uint32_t* all = ArrayAt<uint32_t>(pager.ranges) + 2 * pager.layers;
    if (rows > int64_t{end} - begin) begin = all[0], end = all[1];
    GLM_UNROLL for (int i = 0; i < kAges; ++i) bonus[i] = pager.reuse.bonus[i];
  }

  // `use` is that of the slot's row, if it has one.
  GLM_FN uint64_t Key(uint32_t slot, uint32_t row, const RowUse& use) const {
    if (row == kNoRow) return slot;
    if (row >= first_row && row < end_row && use.used_at == step) return kStays;
    uint32_t score = rank == kRankUsedAt ? use.used_at
                     : rank == kRankUses ? use.uses
                                         : use.weight;
    if (rank == kRankExpected) {
      const uint32_t next = row < end_row ? step + 1 : step;
      GLM_UNROLL for (int i = 0; i < kAges; ++i) {
        score += next - use.used_at == uint32_t(i + 1) ? bonus[i] : 0u;
      }
    }
    return (uint64_t{score} << 32 | row) + kFirstTaken;
  }
  GLM_FN uint32_t SlotOf(uint64_t key) const {
    return key < kFirstTaken ? uint32_t(key) : slot_of_row[uint32_t(key)];
  }
};

// ------------------------------------------------------------------- arrivals

// Waits until the blocks of copy_rows, which begin before this one, have
// counted `arrived` up to kCopyBlocks. On a CPU they are a launch before.
GLM_FN void AwaitArrivals(uint32_t* arrived) {
#ifdef GLM_GPU
  if (Thread() == 0) {
    while (ReadCounter(arrived) < kCopyBlocks) Pause();
    AcquireForBlock();
  }
  Barrier();
  AcquireFromDevice();
#else
  (void)arrived;
#endif
}

// ---------------------------------------------------------------- the doorbell

// In memory that the host sees while a kernel runs.
struct Doorbell {
  alignas(64) uint32_t requested;
  alignas(64) uint32_t served;
  alignas(64) uint32_t taken;
  alignas(64) uint64_t staging;
  uint32_t ring;  // a power of 2

  // The place of a request among `ring` ones that follow.
  GLM_FN uint32_t& RowOf(uint32_t request) {
    return reinterpret_cast<uint32_t*>(this + 1)[request & (ring - 1)];
  }
  GLM_FN uint64_t StagedAt(uint32_t request, uint64_t row_bytes) const {
    return staging + (request & (ring - 1)) * row_bytes;
  }
};
static_assert(__builtin_offsetof(Doorbell, served) == 64);
static_assert(__builtin_offsetof(Doorbell, taken) == 128);
static_assert(__builtin_offsetof(Doorbell, staging) == 192);
static_assert(__builtin_offsetof(Doorbell, ring) == 200);
static_assert(sizeof(Doorbell) == 256);

// What this work-item did before is seen by the host when it sees the number.
GLM_FN void TellHost(uint32_t* number, uint32_t value) {
  __scoped_atomic_store_n(number, value, __ATOMIC_RELEASE,
                          __MEMORY_SCOPE_SYSTEM);
}

// Asks the host for rows begin .. end - 1 of those that a launch asks for, as
// requests first + begin and on. For one work-item.
template <class RowOf>
GLM_FN void AskHost(Doorbell& bell, uint32_t first, int64_t begin, int64_t end,
                    RowOf row_of) {
  if (begin == end) return;
  for (int64_t k = begin; k < end; ++k) {
    bell.RowOf(first + uint32_t(k)) = row_of(k);
  }
  TellHost(&bell.requested, first + uint32_t(end));
}

}  // namespace glm::kernel
