// attend.h - attention of a few heads of one row over a list of tokens, whose
// latents are both key and value.
#pragma once

#include "glm/gpu_attend.h"
#include "glm/matrix.h"

namespace glm::kernel {

inline constexpr int64_t kAttendHeads = 16;  // of a block

// `Attend` on any target, any types.
template <int XT, int CT, int64_t W, int64_t kTokens, class Block, class QRow,
          class Latent, class Finish, class Out>
GLM_FN void AttendByHeads(Block& block, int64_t heads, QRow q_row,
                          int64_t tokens, Latent latent, float scale,
                          Finish finish, Out out) {
  constexpr int64_t kTogether = 4;  // heads that share a latent's load
  GLM_SHARED(float, weights, kTogether* kTokens);
  for (int64_t first = 0; first < heads; first += kTogether) {
    const int64_t some = Least(kTogether, heads - first);
    // 1. Scores [some][tokens].
    Dots<XT, CT, W, kTogether>(
        block, some, [&](int64_t h) { return q_row(first + h); }, tokens,
        latent,
        [&](int64_t h, int64_t t, float v) {
          weights[h * kTokens + t] = scale * v;
        });

    // 2. Weights relative to each head's largest.
    for (int64_t h = 0; h < some; ++h) {
      float* of_head = weights + h * kTokens;
      const float most =
          Max(block, tokens, [&](int64_t t) { return of_head[t]; });
      Each(block, tokens,
           [&](int64_t t) { of_head[t] = Exp(of_head[t] - most); });
      const float sum =
          Sum(block, tokens, [&](int64_t t) { return of_head[t]; });
      Each<1>(block, [&](int64_t, int64_t) { finish(first + h, most, sum); });
    }

    // 3. Weighted sum of the latents.
    Mix<CT>(
        block, tokens, some, [&](int64_t h) { return weights + h * kTokens; },
        latent, 0, W,
        [&](int64_t h, int64_t i, float v) { out(first + h, i, v); });
  }
}

// With s_t = scale * q_row(h) . latent(t), for h < heads <= kAttendHeads and
// t < tokens <= kTokens:
//
//   finish(h, most, sum)   most = max_t s_t (-inf of nothing) and
//                          sum = sum_t exp(s_t - most)
//   out(h, i, v)           v = sum_t exp(s_t - most) latent(t)[i], i < W
//
// Each is called once by one work-item; what `finish` of a head stored is there
// for its `out`, and what these stored for the next word. q_row(h) and
// latent(t) are addresses of W elements XT and CT; where W is a multiple of 8
// these are 16-byte aligned.
template <int XT, int CT, int64_t W, int64_t kTokens, class Block, class QRow,
          class Latent, class Finish, class Out>
GLM_FN void Attend(Block& block, int64_t heads, QRow q_row, int64_t tokens,
                   Latent latent, float scale, Finish finish, Out out) {
#ifdef GLM_GPU
  if constexpr (kAttendsByTiles<XT, CT, W>) {
    AttendByTiles<W>(int(heads), q_row, int(tokens), latent, scale, finish,
                     out);
  } else
#endif
  {
    AttendByHeads<XT, CT, W, kTokens>(block, heads, q_row, tokens, latent,
                                      scale, finish, out);
  }
}

}  // namespace glm::kernel
