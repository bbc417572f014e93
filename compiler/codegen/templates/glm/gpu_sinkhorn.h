// gpu_sinkhorn.h - the map spread over lanes: a lane has one column of one row,
// and sums pass between lanes.
#pragma once

#include "glm/block.h"

#ifdef GLM_GPU

namespace glm::kernel {

// Sum over lanes that differ in the bits of kSize - 1, each kStep apart.
template <int kSize, int kStep>
GLM_FN float SumAcross(float v) {
  if constexpr (kSize >= 2) v += Exchange<kStep>(v);
  if constexpr (kSize >= 4) v += Exchange<2 * kStep>(v);
  if constexpr (kSize >= 8) v += Exchange<4 * kStep>(v);
  return v;
}

template <int64_t n, int64_t iterations>
GLM_FN void BalanceInWave(const float* z, float eps, float* comb) {
  // A row is kWide lanes, the last of which may be padding of zeros; n > 4 has
  // a wave's worth of elements only in several a lane.
  constexpr int kWide = n <= 1 ? 1 : n <= 2 ? 2 : n <= 4 ? 4 : 8;
  constexpr int kHigh = Least(kWide, kLanesOfWave / kWide);  // rows at once
  constexpr int kRows = kWide / kHigh;  // of a lane: i = high * kRows + r
  static_assert(n <= 8, "a column of the map in one wave");
  const int j = Lane() % kWide, high = Lane() / kWide % kHigh;
  const auto inside = [&](int r) { return high * kRows + r < n && j < n; };
  float c[kRows];
  GLM_UNROLL for (int r = 0; r < kRows; ++r) {
    const int i = high * kRows + r;
    const bool one = inside(r);
    // No maximum is needed of what is not there; all lanes of a row agree.
    float most = one ? z[i * n + j] : -__builtin_inff();
    if constexpr (kWide >= 2) most = Max(most, Exchange<1>(most));
    if constexpr (kWide >= 4) most = Max(most, Exchange<2>(most));
    if constexpr (kWide >= 8) most = Max(most, Exchange<4>(most));
    const float e = one ? Exp(z[i * n + j] - most) : 0.0f;
    const float sum = SumAcross<kWide, 1>(e);
    c[r] = one ? e / sum + eps : 0.0f;
  }
  const auto columns = [&] {
    float sum = c[0];
    GLM_UNROLL for (int r = 1; r < kRows; ++r) sum += c[r];
    sum = SumAcross<kHigh, kWide>(sum) + eps;
    GLM_UNROLL for (int r = 0; r < kRows; ++r) {
      c[r] = inside(r) ? c[r] / sum : 0.0f;
    }
  };
  columns();
#pragma nounroll
  for (int64_t pass = 1; pass < iterations; ++pass) {
    GLM_UNROLL for (int r = 0; r < kRows; ++r) {
      const float sum = SumAcross<kWide, 1>(c[r]) + eps;
      c[r] = inside(r) ? c[r] / sum : 0.0f;
    }
    columns();
  }
  if (Thread() < kWide * kHigh) {
    GLM_UNROLL for (int r = 0; r < kRows; ++r) {
      const int i = high * kRows + r;
      if (i < n && j < n) comb[i * n + j] = c[r];
    }
  }
}

}  // namespace glm::kernel

#endif  // GLM_GPU
