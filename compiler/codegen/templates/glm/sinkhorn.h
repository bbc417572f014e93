// sinkhorn.h - balances an n x n map of positive weights.
//
// Grid: T, one block a row.
//
// Arguments: seqs, N, T, z F32 [T, n, n], eps F32, comb F32 [T, n, n].
#pragma once

#include "glm/gpu_sinkhorn.h"

namespace glm::kernel {

// The map in one work-item's registers.
template <int64_t n, int64_t iterations>
GLM_FN void BalanceAlone(const float* z, float eps, float* comb) {
  float c[n][n];
  GLM_UNROLL for (int64_t i = 0; i < n; ++i) {
    float most = z[i * n];
    GLM_UNROLL for (int64_t j = 1; j < n; ++j) most = Max(most, z[i * n + j]);
    float sum = 0.0f;
    GLM_UNROLL for (int64_t j = 0; j < n; ++j) sum += c[i][j] =
        Exp(z[i * n + j] - most);
    GLM_UNROLL for (int64_t j = 0; j < n; ++j) c[i][j] = c[i][j] / sum + eps;
  }

  const auto columns = [&] {
    GLM_UNROLL for (int64_t j = 0; j < n; ++j) {
      float sum = eps;
      GLM_UNROLL for (int64_t i = 0; i < n; ++i) sum += c[i][j];
      GLM_UNROLL for (int64_t i = 0; i < n; ++i) c[i][j] /= sum;
    }
  };
  columns();
  for (int64_t pass = 1; pass < iterations; ++pass) {
    GLM_UNROLL for (int64_t i = 0; i < n; ++i) {
      float sum = eps;
      GLM_UNROLL for (int64_t j = 0; j < n; ++j) sum += c[i][j];
      GLM_UNROLL for (int64_t j = 0; j < n; ++j) c[i][j] /= sum;
    }
    columns();
  }
  GLM_UNROLL for (int64_t i = 0; i < n; ++i) {
    GLM_UNROLL for (int64_t j = 0; j < n; ++j) comb[i * n + j] = c[i][j];
  }
}

#ifndef GLM_GPU
template <int64_t n, int64_t iterations>
GLM_FN void Balance(Block&, const float* z, float eps, float* comb) {
  BalanceAlone<n, iterations>(z, eps, comb);
}
#else
template <int64_t n, int64_t iterations>
GLM_FN void Balance(Block&, const float* z, float eps, float* comb) {
  if constexpr (n <= 8) {
    BalanceInWave<n, iterations>(z, eps, comb);
  } else if (Thread() == 0) {
    BalanceAlone<n, iterations>(z, eps, comb);
  }
  Barrier();
}
#endif

template <int64_t n, int64_t iterations, class Block>
GLM_FN void Sinkhorn(Block& block, const Args& args) {
  const int64_t row = block.x;
  if (!Sequences(args).Valid(row)) return;
  // Softmax of each row, plus eps; then columns first, rows and columns in
  // turn, columns last, each divided by its sum plus eps.
  Balance<n, iterations>(
      block, static_cast<const float*>(args.Pointer(3)) + row * n * n,
      args.Real(4), static_cast<float*>(args.Pointer(5)) + row * n * n);
}

}  // namespace glm::kernel
