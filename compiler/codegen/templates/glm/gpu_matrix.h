// gpu_matrix.h - the product of many rows with a tile of a weight on a GPU.
//
// The operands pass through shared memory. bf16 rows with bf16, int4 or int8
// weights use the matrix units: products of two bf16 are exact in fp32, and so
// are bf16 times a code; a group's scale multiplies its sum. All else is fp32.
#pragma once

#include "glm/gpu_gemv.h"

#ifdef GLM_GPU

namespace glm::kernel {

inline constexpr int64_t kTileN = 64;      // outputs
inline constexpr int64_t kTileRows = 128;  // rows that one tile serves

// -------------------------------------------------------------- matrix units

inline constexpr int kStepK = 32;   // columns in shared memory at a time
inline constexpr int kStride = 40;  // of their rows; avoids bank conflicts

// Bits of the bf16 at base + i and its 7 neighbours; those from i = end on are
// 0 and are not read. kWhole: `end` is known to cut none.
template <bool kWhole>
GLM_FN Half8 Bf16Pieces(const void* data, int64_t base, int64_t i,
                        int64_t end) {
  const uint16_t* from = static_cast<const uint16_t*>(data) + base + i;
  if (kWhole || i + 8 <= end) return LoadBytes<Half8>(from);
  Half8 v = uint16_t(0);
  GLM_UNROLL for (int j = 0; j < 8; ++j) {
    if (i + j < end) v[j] = from[j];
  }
  return v;
}

// A weight as bf16 operands: its values, or its codes.
template <class Weight>
struct Codes;

template <int WT, int64_t RS, int64_t CS>
struct Codes<DenseWeight<WT, RS, CS>> {
  static constexpr bool kExact = WT == BF16;
  static constexpr int64_t kGroup = 0;  // no scales

  // to[n][k] = W[n0 + n][k0 + k], zeros outside.
  template <int64_t K>
  GLM_FN static void Stage(const DenseWeight<WT, RS, CS>& weight, int64_t n0,
                           int64_t count, int64_t k0, uint16_t* to) {
    Half8 v = uint16_t(0);
    if constexpr (CS == 1) {
      const int n = Thread() / 4, k = Thread() % 4 * 8;
      if (n < count)
        v = Bf16Pieces<K % kStepK == 0>(weight.data, (n0 + n) * RS, k0 + k, K);
      *reinterpret_cast<Half8*>(to + n * kStride + k) = v;
    } else {
      const int k = Thread() / 8, n = Thread() % 8 * 8;
      if (k0 + k < K) {
        v = Bf16Pieces<false>(weight.data, (k0 + k) * CS + n0, n, count);
      }
      GLM_UNROLL for (int i = 0; i < 8; ++i) to[(n + i) * kStride + k] = v[i];
    }
  }
};

template <int64_t N, int64_t Columns, int64_t G>
struct Codes<Gptq4Weight<N, Columns, G>> {
  static constexpr bool kExact = G % 16 == 0;
  static constexpr int64_t kGroup = G;

  GLM_FN static float Scale(const Gptq4Weight<N, Columns, G>& weight, int64_t n,
                            int64_t k) {
    return Load<F16>(weight.scales, k / G * N + n);
  }

  template <int64_t K>
  GLM_FN static void Stage(const Gptq4Weight<N, Columns, G>& weight, int64_t n0,
                           int64_t count, int64_t k0, uint16_t* to) {
    const int n = Thread() % kTileN, k = Thread() / kTileN * 8;
    const bool inside = n < count && k0 + k < K;
    const uint32_t word = inside ? weight.words[(k0 + k) / 8 * N + n0 + n] : 0u;
    Half8 v;
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      v[i] = uint16_t(Bits(CodeValue(word, i)) >> 16);
    }
    *reinterpret_cast<Half8*>(to + n * kStride + k) = v;
  }
};

template <int64_t Columns, int64_t G>
struct Codes<Int8Weight<Columns, G>> {
  static constexpr bool kExact = true;
  static constexpr int64_t kGroup = G;

  GLM_FN static float Scale(const Int8Weight<Columns, G>& weight, int64_t n,
                            int64_t k) {
    return Load<F16>(weight.scales, n * weight.kGroups + k / G);
  }

  template <int64_t K>
  GLM_FN static void Stage(const Int8Weight<Columns, G>& weight, int64_t n0,
                           int64_t count, int64_t k0, uint16_t* to) {
    const int n = Thread() / 4, k = Thread() % 4 * 8;
    Bytes<8> code = int8_t(0);
    if (n < count) {
      code = RowCodes<8, K>(weight.codes + (n0 + n) * K, k0 + k);
    }
    Half8 v;
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      v[i] = uint16_t(Bits(float(code[i])) >> 16);
    }
    *reinterpret_cast<Half8*>(to + n * kStride + k) = v;
  }
};

template <int64_t K, class Weight, class XRow, class Out>
GLM_FN void MatrixUnitMatmul(const Weight& weight, int64_t n0, int64_t count,
                             int64_t rows, XRow x_row, Out out) {
  using Code = Codes<Weight>;
  constexpr int kTiles = kTileN / 16;
  constexpr int64_t kTogether =
      Code::kGroup != 0 ? Code::kGroup : kColumnsTogether;
  constexpr bool kParts = Code::kGroup != 0 || K > kTogether;
  uint16_t* x = reinterpret_cast<uint16_t*>(Scratch());
  uint16_t* w = x + kTileRows * kStride;
  static_assert((kTileRows + kTileN) * kStride * 2 <= kScratchFloats * 4,
                "fits");
  const bool busy = Wave() * 16 < rows;  // a wave has 16 rows
  TileSums sums[kTiles] = {};
  TileSums part[kTiles] = {};
  // Row Thread() / 2 of x, half of its columns.
  const int row = Thread() / 2, column = Thread() % 2 * 16;
  const void* from = row < rows ? x_row(row) : nullptr;

#pragma nounroll
  for (int64_t k0 = 0; k0 < K; k0 += kStepK) {
    // 1. Columns k0 .. of x and of the weight; zeros past the ends.
    Half8 piece[2] = {uint16_t(0), uint16_t(0)};
    if (row < rows) {
      GLM_UNROLL for (int i = 0; i < 2; ++i) {
        piece[i] = Bf16Pieces<K % kStepK == 0>(from, 0, k0 + column + 8 * i, K);
      }
    }
    GLM_UNROLL for (int i = 0; i < 2; ++i) {
      *reinterpret_cast<Half8*>(x + row * kStride + column + 8 * i) = piece[i];
    }
    Code::template Stage<K>(weight, n0, count, k0, w);
    Barrier();

    // 2. Their product, 16 columns at a time.
    if (busy) {
      GLM_UNROLL for (int k = 0; k < kStepK; k += 16) {
        const TileOperand a = LoadTile(x + Wave() * 16 * kStride + k, kStride);
        GLM_UNROLL for (int j = 0; j < kTiles; ++j) {
          const TileOperand b = LoadTile(w + j * 16 * kStride + k, kStride);
          MultiplyTiles(kParts ? part[j] : sums[j], a, b);
        }
        if constexpr (kParts) {
          if ((k0 + k + 16) % kTogether == 0 || k0 + k + 16 >= K) {
            const int64_t at = Least(k0 + k, K - 1);
            GLM_UNROLL for (int j = 0; j < kTiles; ++j) {
              GLM_UNROLL for (int i = 0; i < 8; ++i) {
                const int n = j * 16 + TileColumn(i);
                if constexpr (Code::kGroup == 0) {
                  sums[j][i] += part[j][i];
                } else {
                  const float scale =
                      n < count ? Code::Scale(weight, n0 + n, at) : 0.0f;
                  sums[j][i] += scale * part[j][i];
                }
              }
              part[j] = 0.0f;
            }
          }
        }
      }
    }
    Barrier();
  }

  // 3. Results.
  GLM_UNROLL for (int j = 0; j < kTiles; ++j) {
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      const int r = Wave() * 16 + TileRow(i);
      const int n = j * 16 + TileColumn(i);
      if (r < rows && n < count) out(int64_t(r), int64_t(n), sums[j][i]);
    }
  }
  Barrier();
}

// --------------------------------------------------------------------- fp32

template <int WT, int64_t RS, int64_t CS>
GLM_FN float WeightAt(const DenseWeight<WT, RS, CS>& weight, int64_t n,
                      int64_t k) {
  return Load<WT>(weight.data, n * RS + k * CS);
}

template <int64_t N, int64_t K, int64_t G>
GLM_FN float WeightAt(const Gptq4Weight<N, K, G>& weight, int64_t n,
                      int64_t k) {
  return CodeValue(weight.words[k / 8 * N + n], int(k % 8)) *
         Load<F16>(weight.scales, k / G * N + n);
}

template <int64_t K, int64_t G>
GLM_FN float WeightAt(const Int8Weight<K, G>& weight, int64_t n, int64_t k) {
  return float(weight.codes[n * K + k]) *
         Load<F16>(weight.scales, n * weight.kGroups + k / G);
}

// A work-item has 8 rows by 4 outputs.
template <int XT, int64_t K, class Weight, class XRow, class Out>
GLM_FN void Fp32Matmul(const Weight& weight, int64_t n0, int64_t count,
                       int64_t rows, XRow x_row, Out out) {
  constexpr int kStep = 16;
  constexpr int kXStride = kTileRows + 4, kWStride = kTileN + 4;
  typedef float Float4 __attribute__((ext_vector_type(4)));
  float* x = Scratch();             // [kStep][kXStride]
  float* w = x + kStep * kXStride;  // [kStep][kWStride]
  static_assert(kStep * (kXStride + kWStride) <= kScratchFloats, "fits");
  const int r0 = Thread() / 16 * 8, c0 = Thread() % 16 * 4;
  Float4 sums[8] = {};
  const int row = Thread() / 2, column = Thread() % 2 * 8;
  const void* from = row < rows ? x_row(row) : nullptr;

#pragma nounroll
  for (int64_t k0 = 0; k0 < K; k0 += kStep) {
    Float8 piece = 0.0f;
    if (row < rows)
      piece = LoadVector<XT, Float8, K % kStep == 0>(from, k0 + column, K);
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      x[(column + i) * kXStride + row] = piece[i];
    }
    const int n = Thread() / 4, k = Thread() % 4 * 4;
    GLM_UNROLL for (int i = 0; i < 4; ++i) {
      const bool inside = n < count && k0 + k + i < K;
      w[(k + i) * kWStride + n] =
          inside ? WeightAt(weight, n0 + n, k0 + k + i) : 0.0f;
    }
    Barrier();
#pragma unroll 4
    for (int i = 0; i < kStep; ++i) {
      const Float4 wv = *reinterpret_cast<Float4*>(w + i * kWStride + c0);
      const Float4 low = *reinterpret_cast<Float4*>(x + i * kXStride + r0);
      const Float4 high = *reinterpret_cast<Float4*>(x + i * kXStride + r0 + 4);
      GLM_UNROLL for (int j = 0; j < 4; ++j) {
        sums[j] += low[j] * wv;
        sums[j + 4] += high[j] * wv;
      }
    }
    Barrier();
  }

  GLM_UNROLL for (int j = 0; j < 8; ++j) {
    GLM_UNROLL for (int i = 0; i < 4; ++i) {
      if (r0 + j < rows && c0 + i < count) {
        out(int64_t(r0 + j), int64_t(c0 + i), sums[j][i]);
      }
    }
  }
  Barrier();
}

// At most kTileRows rows.
template <int XT, int64_t K, class Weight, class XRow, class Out>
GLM_FN void TileMatmul(Block&, const Weight& weight, int64_t n0, int64_t count,
                       int64_t rows, XRow x_row, Out out) {
  if (rows <= 0) return;
  if constexpr (XT == BF16 && Codes<Weight>::kExact) {
    MatrixUnitMatmul<K>(weight, n0, count, rows, x_row, out);
  } else {
    Fp32Matmul<XT, K>(weight, n0, count, rows, x_row, out);
  }
}

}  // namespace glm::kernel

#endif  // GLM_GPU
