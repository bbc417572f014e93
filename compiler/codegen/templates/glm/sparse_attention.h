// sparse_attention.h - attention over the tokens of chosen pools and the tail,
// on latents that are both key and value.
//
// Grid: ceil(H / 4), T. A block owns four heads of one row, which share each
// token's latent.
//
// Arguments: seqs, N, T, q XT [T, H, W], cache base, stride (slot: CT
// [max_context, W]), pools I32 [T, k] (-1 = none), scale F32, out OT [T, H, W].
#pragma once

#include "glm/matrix.h"

namespace glm::kernel {

template <int XT, int CT, int OT, int64_t H, int64_t W, int64_t k, int64_t P,
          class Block>
GLM_FN void SparseAttention(Block& block, const Args& args) {
  constexpr int64_t kHeads = 4;
  constexpr int64_t kTokens = k * P + P - 1;
  const Sequences sequences(args);
  const int64_t row = block.y;
  if (!sequences.Valid(row)) return;
  const void* q = args.Pointer(3);
  const void* cache =
      SlotMemory(args, 4, sequences.Slot(sequences.Sequence(row)));
  const int32_t* chosen =
      static_cast<const int32_t*>(args.Pointer(6)) + row * k;
  const float scale = args.Real(7);
  void* out = args.Pointer(8);
  const int64_t head = block.x * kHeads;
  const int64_t heads = Least(kHeads, H - head);
  const auto place = [&](int64_t h) { return (row * H + head + h) * W; };

  // 1. Tokens to attend to: whole pools in the order given, then the tail.
  GLM_SHARED(int32_t, token, kTokens);
  GLM_SHARED(int32_t, used, k);
  int64_t from = 0;
  const int64_t pools = Compact(
      block, from, k, k, [&](int64_t j) { return chosen[j] >= 0; }, used);
  Each(block, pools * P,
       [&](int64_t i) { token[i] = int32_t(chosen[used[i / P]] * P + i % P); });
  const int64_t context = sequences.Context(row);
  const int64_t tail = context / P * P;
  Each(block, context - tail,
       [&](int64_t i) { token[pools * P + i] = int32_t(tail + i); });
  const int64_t tokens = pools * P + context - tail;
  const auto latent = [&](int64_t t) { return At<CT>(cache, token[t] * W); };
  if (tokens == 0) {
    Each(block, heads * W,
         [&](int64_t i) { Store<OT>(out, place(0) + i, 0.0f); });
    return;
  }

  // 2. Scores [heads][tokens].
  GLM_SHARED(float, weights, kHeads* kTokens);
  Dots<XT, CT, W, kHeads>(
      block, heads, [&](int64_t h) { return At<XT>(q, place(h)); }, tokens,
      latent,
      [&](int64_t h, int64_t t, float v) {
        weights[h * kTokens + t] = scale * v;
      });

  // 3. Softmax over the tokens; the division waits for the sum's end.
  GLM_SHARED(float, inverse, kHeads);
  for (int64_t h = 0; h < heads; ++h) {
    float* of_head = weights + h * kTokens;
    const float most =
        Max(block, tokens, [&](int64_t t) { return of_head[t]; });
    Each(block, tokens,
         [&](int64_t t) { of_head[t] = Exp(of_head[t] - most); });
    const float sum = Sum(block, tokens, [&](int64_t t) { return of_head[t]; });
    Each<1>(block, [&](int64_t, int64_t) { inverse[h] = 1.0f / sum; });
  }

  // 4. Weighted sum of the latents.
  Mix<CT>(
      block, tokens, heads, [&](int64_t h) { return weights + h * kTokens; },
      latent, 0, W,
      [&](int64_t h, int64_t i, float v) {
        Store<OT>(out, place(h) + i, v * inverse[h]);
      });
}

}  // namespace glm::kernel
