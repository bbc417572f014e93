// sample.h - the next token of each row of logits (docs/spec/sampling.md).
//
// Three launches with the same arguments, in this order; all sums are of whole
// numbers, so that no order of additions shows:
//
//   SampleBest   parts x R: the best item of each part of the row
//   SampleWeigh  parts x R: the part's weights summed, what may be drawn listed
//   SamplePick   R: the token
//
// Arguments: 0, 1, R, logits F32 [R, V], rows I32 [R, 4] = (slot, position, 0,
// 0), slots base, stride (I32 [16 + V], below), best U64 [R, parts], sums U64
// [R, parts], counts I32 [R, parts], listed I32 [R, V], sampled I32 [R]. A row
// with slot -1 is left alone.
#pragma once

#include "glm/block.h"
#include "glm/gpu_sample.h"
#include "glm/host_sample.h"

namespace glm::kernel {

template <int64_t V, int64_t parts, class Block>
GLM_FN void SampleBest(Block& block, const Args& args) {
  const SampledRow<V, parts> row(args, block.y);
  if (!row.Valid()) return;
  const int64_t first = block.x * kPartOf<V, parts>;
  const int64_t count = Most(0, Least(kPartOf<V, parts>, V - first));
  const uint64_t best =
      LargestItem(block, count, [&](int64_t i) { return row.Item(first + i); });
  Each<1>(block, [&](int64_t, int64_t) { row.best[block.x] = best; });
}

template <int64_t V, int64_t parts, class Block>
GLM_FN void SampleWeigh(Block& block, const Args& args) {
  const SampledRow<V, parts> row(args, block.y);
  if (!row.Valid() || row.Greedy()) return;
  const uint64_t best = row.Best(block);
  if (best == kNoItem || best == kBadItem) return;
  const float most = row.Logit(IdOf(best));
  const int64_t first = block.x * kPartOf<V, parts>;
  const int64_t end = Most(first, Least(first + kPartOf<V, parts>, V));
  const uint64_t sum = SumItems(block, end - first, [&](int64_t i) {
    return row.Weight(first + i, most);
  });
  const uint64_t least = row.LeastDrawn();
  int64_t from = first;
  const int64_t count = Compact(
      block, from, end, end - first,
      [&](int64_t i) { return row.Weight(i, most) >= least; },
      row.listed + first);
  Each<1>(block, [&](int64_t, int64_t) {
    row.sums[block.x] = sum;
    row.counts[block.x] = int32_t(count);
  });
}

template <int64_t V, int64_t parts, class Block>
GLM_FN void SamplePick(Block& block, const Args& args) {
  const SampledRow<V, parts> row(args, block.x);
  if (!row.Valid()) return;
  const uint64_t best = row.Best(block);
  uint64_t chosen = best;
  if (!row.Greedy() && best != kNoItem && best != kBadItem) {
    Listed<V, parts> listed(block, row, row.Logit(IdOf(best)));
    const auto weight = [](uint64_t w) { return w; };
    // 1. What may be drawn are the items from `least` on.
    uint64_t least = 1;
    uint64_t total =
        SumItems(block, parts, [&](int64_t i) { return row.sums[i]; });
    if (row.TopK() > 0 && row.TopK() < listed.Count()) {
      least = listed.Crossing(block, uint64_t(row.TopK()),
                              [](uint64_t) { return uint64_t{1}; });
      total = listed.SumFrom(block, least);
    }
    if (row.TopP() < kWhole) {
      const uint64_t prefix =
          listed.Crossing(block, PartOf(total, row.TopP()), weight);
      least = prefix > least ? prefix : least;
      total = listed.SumFrom(block, least);
    }
    // 2. One of them.
    chosen = listed.Crossing(block, row.Draw(total) + 1, weight);
  }
  Each<1>(block, [&](int64_t, int64_t) {
    const bool none = chosen == kNoItem || chosen == kBadItem;
    *row.sampled = none ? -1 : int32_t(IdOf(chosen));
    if (!none) row.Count(IdOf(chosen));
  });
}

}  // namespace glm::kernel
