// sparse_attention.h - attention over the tokens of chosen pools and the tail,
// on latents that are both key and value: in one step, or in parts of the list
// of pools and their sum.
#pragma once

#include "glm/attend.h"

namespace glm::kernel {

// The tokens of a list of pools, in its order, and those from `tail` on.
template <int64_t P>
struct Tokens {
  const int32_t* pools;
  int64_t pooled;
  int64_t tail;
  int64_t count;

  // In 32 bits, as positions are; an address is not.
  GLM_FN int64_t operator[](int64_t t) const {
    const uint32_t i = uint32_t(t), past = uint32_t(tail - pooled);
    return i < uint32_t(pooled) ? uint32_t(pools[i / P]) * uint32_t(P) + i % P
                                : past + i;
  }
};

// Of `listed` entries of `chosen`, without those that are -1, and of the tail
// of the context if wanted. `pools` is shared memory for `listed` entries.
template <int64_t P, class Block>
GLM_FN Tokens<P> ListTokens(Block& block, const int32_t* chosen, int64_t listed,
                            int64_t context, bool with_tail, int32_t* pools) {
  int64_t from = 0;
  const int64_t count = Compact(
      block, from, listed, listed, [&](int64_t j) { return chosen[j] >= 0; },
      pools);
  Each(block, count, [&](int64_t i) { pools[i] = chosen[pools[i]]; });
  const int64_t tail = context / P * P;
  return {pools, count * P, tail, count * P + (with_tail ? context - tail : 0)};
}

// Grid: ceil(H / 16), T. A block has 16 heads of one row, which share each
// token's latent.
//
// Arguments: seqs, N, T, q XT [T, H, W], cache base, stride (slot: CT
// [max_context, W]), pools I32 [T, k] (-1 = none), scale F32, out OT [T, H, W].
template <int XT, int CT, int OT, int64_t H, int64_t W, int64_t k, int64_t P,
          class Block>
GLM_FN void SparseAttention(Block& block, const Args& args) {
  const Sequences sequences(args);
  const int64_t row = block.y;
  if (!sequences.Valid(row)) return;
  const void* q = args.Pointer(3);
  const void* cache =
      SlotMemory(args, 4, sequences.Slot(sequences.Sequence(row)));
  const int32_t* chosen =
      static_cast<const int32_t*>(args.Pointer(6)) + row * k;
  void* out = args.Pointer(8);
  const int64_t head = block.x * kAttendHeads;
  const int64_t heads = Least(kAttendHeads, H - head);
  const auto place = [&](int64_t h) { return (row * H + head + h) * W; };

  GLM_SHARED(int32_t, pools, k);
  const Tokens<P> tokens =
      ListTokens<P>(block, chosen, k, sequences.Context(row), true, pools);
  if (tokens.count == 0) {
    Each(block, heads * W,
         [&](int64_t i) { Store<OT>(out, place(0) + i, 0.0f); });
    return;
  }
  GLM_SHARED(float, inverse, kAttendHeads);
  Attend<XT, CT, W, k * P + P - 1>(
      block, heads, [&](int64_t h) { return At<XT>(q, place(h)); },
      tokens.count, [&](int64_t t) { return At<CT>(cache, tokens[t] * W); },
      args.Real(7),
      [&](int64_t h, float, float sum) { inverse[h] = 1.0f / sum; },
      [&](int64_t h, int64_t i, float v) {
        Store<OT>(out, place(h) + i, v * inverse[h]);
      });
}

// Grid: parts, ceil(H / 16), T. Part p has entries p * ceil(k / parts) .. of
// the list; the last one has the tail, too.
//
// Arguments: seqs, N, T, q, cache base, stride, pools, scale as above, mixed
// F32 [T, parts, H, W], stats F32 [T, parts, H, 2]: for the part's tokens,
// stats = (most, sum) and mixed as `Attend` gives them.
template <int XT, int CT, int64_t H, int64_t W, int64_t k, int64_t P,
          int64_t parts, class Block>
GLM_FN void AttentionParts(Block& block, const Args& args) {
  constexpr int64_t kListed = CeilDiv(k, parts);
  const Sequences sequences(args);
  const int64_t row = block.z;
  if (!sequences.Valid(row)) return;
  const void* q = args.Pointer(3);
  const void* cache =
      SlotMemory(args, 4, sequences.Slot(sequences.Sequence(row)));
  const int64_t part = block.x;
  const int64_t first = Least(part * kListed, k);
  const int32_t* chosen =
      static_cast<const int32_t*>(args.Pointer(6)) + row * k + first;
  const int64_t head = block.y * kAttendHeads;
  const int64_t heads = Least(kAttendHeads, H - head);
  const int64_t to = (row * parts + part) * H + head;
  float* mixed = static_cast<float*>(args.Pointer(8)) + to * W;
  float* stats = static_cast<float*>(args.Pointer(9)) + to * 2;

  GLM_SHARED(int32_t, pools, kListed);
  const Tokens<P> tokens =
      ListTokens<P>(block, chosen, Least(kListed, k - first),
                    sequences.Context(row), part == parts - 1, pools);
  Attend<XT, CT, W, kListed * P + P - 1>(
      block, heads,
      [&](int64_t h) { return At<XT>(q, (row * H + head + h) * W); },
      tokens.count, [&](int64_t t) { return At<CT>(cache, tokens[t] * W); },
      args.Real(7),
      [&](int64_t h, float most, float sum) {
        stats[h * 2] = most;
        stats[h * 2 + 1] = sum;
      },
      [&](int64_t h, int64_t i, float v) { mixed[h * W + i] = v; });
}

// Grid: columns, T. A block has H / columns heads of one row.
//
// Arguments: seqs, N, T, mixed F32 [T, parts, H, W], stats F32 [T, parts, H,
// 2], out OT [T, H, W]: the attention over the tokens of all parts, 0 where
// these have none.
template <int OT, int64_t H, int64_t W, int64_t parts, int64_t columns,
          class Block>
GLM_FN void MergeParts(Block& block, const Args& args) {
  constexpr int64_t kHeads = H / columns;
  const int64_t row = block.y;
  if (!Sequences(args).Valid(row)) return;
  const int64_t head = block.x * kHeads;
  const auto place = [&](int64_t p, int64_t h) {
    return (row * parts + p) * H + head + h;
  };
  const float* stats = static_cast<const float*>(args.Pointer(4));
  void* out = args.Pointer(5);

  // 1. Factors [kHeads][parts] that make the parts' weights relative to the
  // largest score of all.
  GLM_SHARED(float, most, kHeads* parts);
  GLM_SHARED(float, sum, kHeads* parts);
  GLM_SHARED(float, factor, kHeads* parts);
  GLM_SHARED(float, inverse, kHeads);
  Each<kHeads * parts>(block, [&](int64_t i, int64_t) {
    const float* from = stats + 2 * place(i % parts, i / parts);
    most[i] = from[0];
    sum[i] = from[1];
  });
  Each<kHeads * parts>(block, [&](int64_t i, int64_t) {
    const float* of_head = most + i / parts * parts;
    float largest = of_head[0];
    for (int64_t p = 1; p < parts; ++p) largest = Max(largest, of_head[p]);
    // A part without tokens has neither a weight nor a largest score.
    factor[i] = sum[i] == 0.0f ? 0.0f : Exp(most[i] - largest);
  });
  Each<kHeads>(block, [&](int64_t h, int64_t) {
    float all = 0.0f;
    for (int64_t p = 0; p < parts; ++p) {
      all += factor[h * parts + p] * sum[h * parts + p];
    }
    inverse[h] = all == 0.0f ? 0.0f : 1.0f / all;
  });

  // 2. The sum of the parts.
  for (int64_t h = 0; h < kHeads; ++h) {
    EachLanes<parts, W>(block, [&](int64_t i, int64_t count, int64_t p0) {
      Lanes v = 0.0f;
      for (int64_t p = p0; p < p0 + kLaneRows<parts, W>; ++p) {
        v += factor[h * parts + p] *
             LoadLanes<F32>(args.Pointer(3), place(p, h) * W + i, count);
      }
      StoreLanes<OT>(out, (row * H + head + h) * W + i, count,
                     inverse[h] * SumLanes<parts, W>(v));
    });
  }
}

}  // namespace glm::kernel
