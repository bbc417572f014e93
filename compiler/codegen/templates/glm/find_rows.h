// find_rows.h - the slots of a step's experts, and which rows must move into
// them: one access of the expert cache (docs/spec/paging.md).
//
// Grid: 1. Of all layers' launches no two run at a time, layers rise in a step.
//
// Arguments: seqs, N, T, ids I32 [T, top_k], pager, layer, chosen I32 [T,
// top_k], moves I32 [1 + 2 M] with M = min(E, T * top_k), arrivals I32 [E,
// weights]: of the chosen experts, how many blocks of copy_rows need not be
// waited for.
#pragma once

#include "glm/gpu_find_rows.h"
#include "glm/host_find_rows.h"

namespace glm::kernel {

// Before the accesses of layer 0.
template <class Block>
GLM_FN void BeginCacheStep(Block& block, Pager& pager, int64_t experts,
                           uint32_t step) {
  const uint32_t rank = pager.rank;
  const bool ages = AgesIn(rank, step);
  if (ages) {
    RowUse* uses = ArrayAt<RowUse>(pager.row_uses);
    Each(block, pager.layers * experts,
         [&](int64_t row) { uses[row] = Aged(rank, uses[row]); });
  }
  Each<1>(block, [&](int64_t, int64_t) {
    pager.step = step;
    if (ages) AgeReuse(pager.reuse);
  });
}

template <int64_t E, int64_t top_k, int64_t weights_of_row, class Block>
GLM_FN void FindRows(Block& block, const Args& args) {
  static_assert(E <= kMostPagedExperts, "fits");
  constexpr bool kFits = kVictimWords + 6 * E <= kScratchWords;
  GLM_SHARED(int32_t, own_lists, kFits ? 1 : 6 * E);
  int32_t* lists = kFits ? ScratchWords() + kVictimWords : own_lists;
  int32_t* wanted = lists;           // of each expert: 1 where it is chosen
  int32_t* experts = lists + E;      // the chosen ones, in order
  int32_t* found = lists + 2 * E;    // their slots, -1 for none
  int32_t* ages = lists + 3 * E;     // since their last use; 0: long ago
  int32_t* weights = lists + 4 * E;  // and those of their rows
  int32_t* missing = lists + 5 * E;  // places of those without a slot
  int32_t* victims = wanted;         // once it is known who is chosen
  int32_t* asked = ages;             // moves that the host is asked for
  const Sequences sequences(args);
  const int32_t* ids = static_cast<const int32_t*>(args.Pointer(3));
  Pager& pager = *static_cast<Pager*>(args.Pointer(4));
  const int64_t layer = args.Integer(5);
  int32_t* chosen = static_cast<int32_t*>(args.Pointer(6));
  int32_t* moves = static_cast<int32_t*>(args.Pointer(7));
  int32_t* arrivals = static_cast<int32_t*>(args.Pointer(8));
  const uint32_t first_row = uint32_t(layer * E);
  RowUse* uses = ArrayAt<RowUse>(pager.row_uses);
  uint32_t* slot_of_row = ArrayAt<uint32_t>(pager.slot_of_row);
  uint32_t* row_of_slot = ArrayAt<uint32_t>(pager.row_of_slot);

  // 1. Who is chosen.
  const uint32_t step = pager.step + (layer == 0 ? 1u : 0u);
  Each(block, E, [&](int64_t e) { wanted[e] = 0; });
  if (layer == 0) BeginCacheStep(block, pager, E, step);
  const int32_t* trace = nullptr;
  if (pager.trace != 0) {
    const uint32_t at = (step - 1) % pager.trace_steps;
    trace = ArrayAt<int32_t>(pager.trace) +
            (int64_t{at} * pager.layers + layer) * top_k;
  }
  EachOf<top_k>(block, sequences.rows, [&](int64_t row, int64_t s) {
    int32_t id = -1;
    if (sequences.Valid(row)) {
      id = trace != nullptr ? trace[s] : ids[row * top_k + s];
    }
    if (uint32_t(id) >= uint32_t(E)) id = -1;
    chosen[row * top_k + s] = id;
    if (id >= 0) wanted[id] = 1;
  });
  int64_t from = 0;
  const int64_t count = Compact(
      block, from, E, E, [&](int64_t e) { return wanted[e] != 0; }, experts);

  // 2. Their slots and uses.
  Each(block, count, [&](int64_t i) {
    const uint32_t row = first_row + uint32_t(experts[i]);
    RowUse use = uses[row];
    const uint32_t age = use.used_at == 0 ? 0u : step - use.used_at;
    found[i] = int32_t(slot_of_row[row]);
    ages[i] = age <= uint32_t(kAges) ? int32_t(age) : 0;
    weights[i] = int32_t(use.weight);
    use.used_at = step;
    ++use.uses;
    uses[row] = use;
    for (int64_t w = 0; w < weights_of_row; ++w) {
      arrivals[experts[i] * weights_of_row + w] = int32_t(kCopyBlocks);
    }
  });
  Each<kAges + 1>(block, [&](int64_t age, int64_t) {
    uint64_t rows = 0, weight = 0;
    for (int64_t i = 0; i < count; ++i) {
      const bool counted = age == 0 || ages[i] == age;
      rows += counted ? 1 : 0;
      weight += counted ? uint32_t(weights[i]) : 0u;
    }
    ReuseEstimate& reuse = pager.reuse;
    uint64_t& rows_at = age == 0 ? reuse.asked : reuse.again[age - 1];
    uint64_t& weight_at =
        age == 0 ? reuse.asked_weight : reuse.again_weight[age - 1];
    rows_at += rows;
    weight_at += weight;
  });
  from = 0;
  const int64_t misses = Compact(
      block, from, count, count, [&](int64_t i) { return found[i] < 0; },
      missing);

  // 3. Slots for those that have none.
  int64_t moved = 0;
  if (misses > 0) {
    moved = ChooseVictims<E>(block, Candidates(pager, layer, E, step, count),
                             misses, victims);
  }
  const int64_t pieces = pager.pieces;
  const int64_t all_pieces = pieces * pager.weights;
  const uint64_t* tables =
      ArrayAt<uint64_t>(pager.tables) + layer * pager.weights;
  Each(block, moved, [&](int64_t j) {
    const int64_t expert = experts[missing[j]];
    const uint32_t row = first_row + uint32_t(expert);
    const uint32_t slot = uint32_t(victims[j]);
    const uint32_t leaves = row_of_slot[slot];
    if (leaves != kNoRow) slot_of_row[leaves] = kNoRow;
    row_of_slot[slot] = row;
    slot_of_row[row] = slot;
    const uint64_t at = pager.slots + slot * pager.row_bytes;
    for (int64_t p = 0; p < all_pieces; ++p) {
      uint64_t* table = ArrayAt<uint64_t>(tables[p / pieces]);
      table[expert * pieces + p % pieces] = at + pager.offsets[p];
    }
    moves[1 + 2 * j] = int32_t(row);
    moves[2 + 2 * j] = int32_t(slot);
    for (int64_t w = 0; w < weights_of_row; ++w) {
      arrivals[expert * weights_of_row + w] = 0;
    }
  });

  // 4. The host is asked for those that it has not given a place yet.
  int64_t asks = 0;
  if (pager.bell != 0) {
    const uint64_t* sources = ArrayAt<uint64_t>(pager.sources);
    from = 0;
    asks = Compact(
        block, from, moved, moved,
        [&](int64_t j) { return sources[moves[1 + 2 * j]] == 0; }, asked);
  }
  Each<1>(block, [&](int64_t, int64_t) {
    moves[0] = int32_t(moved);
    PagerCounts& counts = ArrayAt<PagerCounts>(pager.counts)[layer];
    counts.accesses += count;
    counts.misses += misses;
    counts.asked += asks;
    ++counts.steps;
    const uint32_t first = pager.asked;
    pager.asked = first + uint32_t(asks);
    if (asks == 0) return;
    Doorbell& bell = *ArrayAt<Doorbell>(pager.bell);
    AskHost(bell, first, 0, Least(asks, bell.ring),
            [&](int64_t k) { return uint32_t(moves[1 + 2 * asked[k]]); });
  });
}

}  // namespace glm::kernel
