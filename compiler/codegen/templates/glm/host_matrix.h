// host_matrix.h - the product of many rows with a tile of a weight on a CPU.
//
// A tile is kTileN outputs by kTileK columns, unpacked to fp32 with its outputs
// side by side: tile[k][n]. The innermost loop multiplies one column of the
// tile with one element of each of six rows: all sums in registers.
#pragma once

#include "glm/host_dots.h"

#ifndef GLM_GPU

namespace glm::kernel {

inline constexpr int64_t kTileN = 64;         // outputs
inline constexpr int64_t kTileOutputs = 128;  // of a Product
inline constexpr int64_t kTileK = 256;        // columns unpacked at a time
inline constexpr int64_t kTileRows = 128;     // rows that one unpacking serves
// Whether parts of a row, or groups of codes, have sums of their own.
template <int64_t kRows, int64_t K>
inline constexpr bool kSumsOfParts = K > kColumnsTogether;
inline constexpr bool kSumsOfCodes = true;
inline constexpr int64_t kListRows = 64;  // of an expert at a time
inline constexpr int kMicroRows = 6;
inline constexpr int kMicroVectors = kVector == 16 ? 4 : 2;

// ---------------------------------------------------------------- unpacking

template <class T, T... I>
struct Indices {};
using VectorIndices = __make_integer_seq<Indices, int, kVector>;

// One step of a transposition: swaps the off-diagonal kStep x kStep blocks.
template <int kStep, int... I>
GLM_FN void SwapBlocks(Vector& a, Vector& b, Indices<int, I...>) {
  const Vector low =
      __builtin_shufflevector(a, b, ((I & kStep) ? kVector + I - kStep : I)...);
  b = __builtin_shufflevector(a, b, ((I & kStep) ? kVector + I : I + kStep)...);
  a = low;
}

template <int kStep>
GLM_FN void Transpose(Vector (&v)[kVector]) {
  if constexpr (kStep < kVector) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (!(i & kStep)) {
        SwapBlocks<kStep>(v[i], v[i + kStep], VectorIndices());
      }
    }
    Transpose<2 * kStep>(v);
  }
}

// kVector elements of row n from column k, and one.
template <int WT, int64_t RS>
GLM_FN Vector RowVector(const DenseWeight<WT, RS, 1>& weight, int64_t n,
                        int64_t k) {
  return LoadVector<WT, Vector>(weight.data, n * RS + k);
}
template <int WT, int64_t RS>
GLM_FN float RowElement(const DenseWeight<WT, RS, 1>& weight, int64_t n,
                        int64_t k) {
  return Load<WT>(weight.data, n * RS + k);
}
template <int64_t K, int64_t G>
GLM_FN Vector RowVector(const Int8Weight<K, G>& weight, int64_t n, int64_t k) {
  return CodeValues(weight.codes + n * K + k) *
         Load<F16>(weight.scales, n * weight.kGroups + k / G);
}
template <int64_t K, int64_t G>
GLM_FN float RowElement(const Int8Weight<K, G>& weight, int64_t n, int64_t k) {
  return float(weight.codes[n * K + k]) *
         Load<F16>(weight.scales, n * weight.kGroups + k / G);
}

// tile[k][n] = W[n0 + n][k0 + k]; outputs from `count` on are 0. The weight has
// neighbours along k.
template <class Weight>
GLM_SHARED_CODE void UnpackRows(const Weight& weight, int64_t n0, int64_t count,
                                int64_t k0, int64_t columns, float* tile) {
  const int64_t whole = columns - columns % kVector;
  for (int64_t n = 0; n < kTileN; n += kVector) {
    for (int64_t k = 0; k < whole; k += kVector) {
      Vector v[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        v[i] = n + i < count ? RowVector(weight, n0 + n + i, k0 + k)
                             : Vector(0.0f);
      }
      Transpose<1>(v);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        __builtin_memcpy(tile + (k + i) * kTileN + n, &v[i], sizeof(v[i]));
      }
    }
  }
  for (int64_t k = whole; k < columns; ++k) {
    for (int64_t n = 0; n < kTileN; ++n) {
      tile[k * kTileN + n] =
          n < count ? RowElement(weight, n0 + n, k0 + k) : 0.0f;
    }
  }
}

// The same, for each kind of weight.
template <int WT, int64_t RS, int64_t CS>
GLM_SHARED_CODE void UnpackTile(const DenseWeight<WT, RS, CS>& weight,
                                int64_t n0, int64_t count, int64_t k0,
                                int64_t columns, float* tile) {
  if constexpr (CS == 1) {
    UnpackRows(weight, n0, count, k0, columns, tile);
  } else {
    for (int64_t k = 0; k < columns; ++k) {
      float* to = tile + k * kTileN;
      for (int64_t n = 0; n < count; ++n) {
        to[n] = Load<WT>(weight.data, (k0 + k) * CS + n0 + n);
      }
      for (int64_t n = count; n < kTileN; ++n) to[n] = 0.0f;
    }
  }
}

template <int64_t K, int64_t G>
GLM_SHARED_CODE void UnpackTile(const Int8Weight<K, G>& weight, int64_t n0,
                                int64_t count, int64_t k0, int64_t columns,
                                float* tile) {
  UnpackRows(weight, n0, count, k0, columns, tile);
}

template <int64_t N, int64_t K, int64_t G>
GLM_SHARED_CODE void UnpackTile(const Gptq4Weight<N, K, G>& weight, int64_t n0,
                                int64_t count, int64_t k0, int64_t columns,
                                float* tile) {
  for (int64_t k8 = 0; k8 < columns; k8 += 8) {
    const uint32_t* words = weight.words + (k0 + k8) / 8 * N + n0;
    const void* scales = At<F16>(weight.scales, (k0 + k8) / G * N + n0);
    int64_t n = 0;
    for (; n + kVector <= count; n += kVector) {
      CodeVector code;
      __builtin_memcpy(&code, words + n, sizeof(code));
      const Vector scale = LoadVector<F16, Vector>(scales, n);
      for (int i = 0; i < Least(8, columns - k8); ++i) {
        const Vector value = CodeValues(code) * scale;
        __builtin_memcpy(tile + (k8 + i) * kTileN + n, &value, sizeof(value));
        code >>= 4u;
      }
    }
    for (; n < kTileN; ++n) {
      for (int i = 0; i < Least(8, columns - k8); ++i) {
        const int32_t value =
            n < count ? int32_t(words[n] >> (4 * i) & 15u) - 8 : 0;
        tile[(k8 + i) * kTileN + n] =
            n < count ? float(value) * Load<F16>(scales, n) : 0.0f;
      }
    }
  }
}

// --------------------------------------------------------------- multiplying

// sums[r][n] (+)= sum_k x[r][k] tile[k][n] for M rows and V vectors of outputs.
template <int M, int V>
GLM_SHARED_CODE void MicroTile(int64_t columns, const float* const* x,
                               const float* tile, float* sums, bool add) {
  Vector acc[M][V] = {};
  if (add) {
#pragma unroll
    for (int m = 0; m < M; ++m) {
      __builtin_memcpy(acc[m], sums + m * kTileN, sizeof(acc[m]));
    }
  }
  const float* row[M];
#pragma unroll
  for (int m = 0; m < M; ++m) row[m] = x[m];
  for (int64_t k = 0; k < columns; ++k) {
    Vector w[V];
    __builtin_memcpy(w, tile + k * kTileN, sizeof(w));
#pragma unroll
    for (int m = 0; m < M; ++m) {
      const Vector factor = row[m][k];
#pragma unroll
      for (int v = 0; v < V; ++v) acc[m][v] += factor * w[v];
    }
  }
#pragma unroll
  for (int m = 0; m < M; ++m) {
    __builtin_memcpy(sums + m * kTileN, acc[m], sizeof(acc[m]));
  }
}

// sums [rows + kMicroRows, kTileN]; x has kMicroRows entries past the last row.
GLM_FN void MultiplyTile(int64_t columns, int64_t rows, const float* const* x,
                         const float* tile, float* sums, bool add) {
  constexpr int kWidth = kMicroVectors * kVector;
  for (int64_t n = 0; n < kTileN; n += kWidth) {
    int64_t r = 0;
    for (; rows - r > 4; r += kMicroRows) {
      MicroTile<kMicroRows, kMicroVectors>(columns, x + r, tile + n,
                                           sums + r * kTileN + n, add);
    }
    for (; r < rows; r += 2) {
      MicroTile<2, kMicroVectors>(columns, x + r, tile + n,
                                  sums + r * kTileN + n, add);
    }
  }
}

// At most kTileRows rows.
template <int XT, int64_t K, class Weight, class XRow, class Out>
GLM_FN void TileMatmul(Block&, const Weight& weight, int64_t n0, int64_t count,
                       int64_t rows, XRow x_row, Out out) {
  if (rows <= 0) return;
  GLM_SHARED(float, tile, kTileK* kTileN);
  GLM_SHARED(float, sums, (kTileRows + kMicroRows) * kTileN);
  GLM_SHARED(float, wide, XT == F32 ? 1 : kTileRows * kTileK);
  const float* x[kTileRows + kMicroRows];

  for (int64_t k0 = 0; k0 < K; k0 += kTileK) {
    const int64_t columns = Least(kTileK, K - k0);

    // 1. The weight's tile and the rows' columns, in fp32.
    UnpackTile(weight, n0, count, k0, columns, tile);
    for (int64_t r = 0; r < rows; ++r) {
      const void* from = At<XT>(x_row(r), k0);
      if constexpr (XT == F32) {
        x[r] = static_cast<const float*>(from);
      } else {
        float* to = wide + r * kTileK;
#pragma clang loop vectorize(assume_safety)
        for (int64_t k = 0; k < columns; ++k) to[k] = Load<XT>(from, k);
        x[r] = to;
      }
    }
    for (int64_t r = rows; r < rows + kMicroRows; ++r) x[r] = x[rows - 1];

    // 2. Their product; rows past the last are computed and dropped.
    MultiplyTile(columns, rows, x, tile, sums, k0 > 0);
  }

  // 3. Results.
  for (int64_t r = 0; r < rows; ++r) {
#pragma clang loop vectorize(assume_safety)
    for (int64_t n = 0; n < count; ++n) out(r, n, sums[r * kTileN + n]);
  }
}

// Every Product is made of TileMatmuls, or Gemvs where a tile has few rows.
inline constexpr bool kFewRowsApart = true;
template <int XT, int64_t K, class Weight>
inline constexpr bool kProductFits = false;

// f(id, chosen, rows) for the places in [0, n) of id block.y, ascending, kMost
// at a time; places of none of 0 .. E - 1 are on 0's lists.
template <int64_t kMost, int64_t E, class F>
GLM_FN void EachListOf(Block& block, const int32_t* ids, int64_t n, F f) {
  GLM_SHARED(int32_t, chosen, kMost);
  const int64_t id = block.y;
  for (int64_t from = 0; from < n;) {
    const int64_t rows = Compact(
        block, from, n, kMost,
        [&](int64_t i) {
          return ids[i] == id || (id == 0 && (ids[i] < 0 || ids[i] >= E));
        },
        chosen);
    if (rows > 0) f(id, chosen, rows);
  }
}

}  // namespace glm::kernel

#endif  // GLM_GPU
