// gpu_dots.h - products of few rows on a GPU: each weight element is read from
// memory once and meets all rows in registers.
#pragma once

#include "glm/block.h"
#include "glm/weight.h"
#include "glm/with_rows.h"

#ifdef GLM_GPU

namespace glm::kernel {

typedef float Float8 __attribute__((ext_vector_type(8)));
typedef float Float2 __attribute__((ext_vector_type(2)));
typedef uint16_t Half8 __attribute__((ext_vector_type(8)));

// Elements index .. of memory, as many as V has.
template <int DType, class V>
GLM_FN V LoadVector(const void* memory, int64_t index) {
  constexpr int kCount = sizeof(V) / sizeof(float);
  const void* from = At<DType>(memory, index);
  if constexpr (DType == F32) {
    return LoadBytes<V>(from);
  } else if constexpr (DType == BF16) {
    typedef uint16_t Short __attribute__((ext_vector_type(kCount)));
    typedef uint32_t Word __attribute__((ext_vector_type(kCount)));
    return __builtin_bit_cast(
        V, __builtin_convertvector(LoadBytes<Short>(from), Word) << 16);
  } else {
    typedef _Float16 Short __attribute__((ext_vector_type(kCount)));
    return __builtin_convertvector(LoadBytes<Short>(from), V);
  }
}

// The same; elements from `n` on are 0 and are not read. kWhole: `n` is known
// to cut no vector, and rows of such a length keep all vectors aligned.
template <int DType, class V, bool kWhole>
GLM_FN V LoadVector(const void* memory, int64_t index, int64_t n) {
  constexpr int kCount = sizeof(V) / sizeof(float);
  if constexpr (kWhole) {
    return LoadVector<DType, V>(
        __builtin_assume_aligned(
            At<DType>(memory, index),
            Least(16, int64_t(kCount) * ElementSize(DType))),
        0);
  } else {
    if (index + kCount <= n) return LoadVector<DType, V>(memory, index);
    V v = 0.0f;
    GLM_UNROLL for (int i = 0; i < kCount; ++i) {
      if (index + i < n) v[i] = Load<DType>(memory, index + i);
    }
    return v;
  }
}

// --------------------------------------------------------------------- Dots

// Adds the lanes' sums; lane o * R + r stores that of output first + o, row r.
template <int O, int R, class Out>
GLM_FN void StoreDots(const float (&acc)[O][R], int64_t first, int64_t outputs,
                      int64_t rows, Out out) {
  float mine = 0.0f;
  GLM_UNROLL for (int o = 0; o < O; ++o) {
    GLM_UNROLL for (int r = 0; r < R; ++r) {
      const float sum = SumWave(acc[o][r]);
      if (Lane() == o * R + r) mine = sum;
    }
  }
  const int64_t o = first + Lane() / R;
  const int64_t r = Lane() % R;
  if (Lane() < O * R && o < outputs && r < rows) out(r, o, mine);
}

// out(r, o, x_row(r) . w_row(o)) for rows of K elements, 1 to 8 rows and any
// number of outputs. A wave takes O outputs at a time, fewer when there are at
// most kOutputs; its lanes share the columns, 8 each.
template <int XT, int WT, int64_t K, int64_t kMost, int64_t kOutputs = 32,
          class XRow, class WRow, class Out>
GLM_FN void Dots(Block&, int64_t rows, XRow x_row, int64_t outputs, WRow w_row,
                 Out out) {
  WithRows<kMost>(rows, [&]<int R>() GLM_INLINE {
    constexpr int O = int(Most(1, Least(R == 8 ? 2 : 4, kOutputs / kWaves)));
    const void* x[R];
    GLM_UNROLL for (int r = 0; r < R; ++r) x[r] = x_row(Least(r, rows - 1));
    for (int64_t first = Wave() * O; first < outputs; first += kWaves * O) {
      const void* w[O];
      GLM_UNROLL for (int o = 0; o < O; ++o) {
        w[o] = w_row(Least(first + o, outputs - 1));
      }
      float acc[O][R] = {};
      const auto step = [&](int64_t i) {
        Float8 wv[O];
        GLM_UNROLL for (int o = 0; o < O; ++o) {
          wv[o] = LoadVector<WT, Float8, K % 8 == 0>(w[o], i, K);
        }
        GLM_UNROLL for (int r = 0; r < R; ++r) {
          const Float8 xv = LoadVector<XT, Float8, K % 8 == 0>(x[r], i, K);
          GLM_UNROLL for (int o = 0; o < O; ++o) {
            GLM_UNROLL for (int j = 0; j < 8; ++j) acc[o][r] +=
                wv[o][j] * xv[j];
          }
        }
      };
      constexpr int kStep = 8 * kLanesOfWave;
      if constexpr (R < 4) {  // eight loads of the weight in flight
#pragma clang loop unroll_count(8 / O)
        for (int64_t i = Lane() * 8; i < K; i += kStep) step(i);
      } else {
#pragma nounroll
        for (int64_t i = Lane() * 8; i < K; i += kStep) step(i);
      }
      StoreDots(acc, first, outputs, rows, out);
    }
  });
  Barrier();
}

// out(r, o, sum over stretches s < kStretches of x_row(r)[s * kStride ..] .
// w_row(o)[s * kStride ..]), kWidth columns each, for few columns in all: the
// lanes of a wave are shared out among the outputs.
template <int XT, int WT, int64_t kWidth, int64_t kStretches, int64_t kStride,
          int64_t kMost, class XRow, class WRow, class Out>
GLM_FN void StretchDots(Block&, int64_t rows, XRow x_row, int64_t outputs,
                        WRow w_row, Out out) {
  constexpr int64_t kOfStretch = CeilDiv(kWidth, 8);
  constexpr int64_t kVectors = kStretches * kOfStretch;
  constexpr bool kWhole = kWidth % 8 == 0 && kStride % 8 == 0;
  constexpr int kGroup = kVectors > 16  ? 32
                         : kVectors > 8 ? 16
                         : kVectors > 4 ? 8
                                        : 4;
  constexpr int kGroups = kLanesOfWave / kGroup;
  WithRows<kMost>(rows, [&]<int R>() GLM_INLINE {
    constexpr int O = R == 8 ? 1 : R >= 2 ? 2 : 4;
    const void* x[R];
    GLM_UNROLL for (int r = 0; r < R; ++r) x[r] = x_row(Least(r, rows - 1));
    const int64_t own = (Wave() * kGroups + Lane() / kGroup) * O;
#pragma nounroll
    for (int64_t base = 0; base < outputs; base += kWaves * kGroups * O) {
      const int64_t first = base + own;
      const void* w[O];
      GLM_UNROLL for (int o = 0; o < O; ++o) {
        w[o] = w_row(Least(first + o, outputs - 1));
      }
      float acc[O][R] = {};
#pragma unroll 2
      for (int64_t v = Lane() % kGroup; v < kVectors; v += kGroup) {
        const int64_t start = v / kOfStretch * kStride;
        const int64_t i = start + v % kOfStretch * 8;
        Float8 wv[O];
        GLM_UNROLL for (int o = 0; o < O; ++o) {
          wv[o] = LoadVector<WT, Float8, kWhole>(w[o], i, start + kWidth);
        }
        GLM_UNROLL for (int r = 0; r < R; ++r) {
          const Float8 xv =
              LoadVector<XT, Float8, kWhole>(x[r], i, start + kWidth);
          GLM_UNROLL for (int o = 0; o < O; ++o) {
            GLM_UNROLL for (int j = 0; j < 8; ++j) acc[o][r] +=
                wv[o][j] * xv[j];
          }
        }
      }
      GLM_UNROLL for (int o = 0; o < O; ++o) {
        GLM_UNROLL for (int r = 0; r < R; ++r) {
          float sum = acc[o][r];
          if constexpr (kGroup >= 32) sum += Exchange<16>(sum);
          if constexpr (kGroup >= 16) sum += Exchange<8>(sum);
          if constexpr (kGroup >= 8) sum += Exchange<4>(sum);
          sum += Exchange<2>(sum);
          sum += Exchange<1>(sum);
          if (Lane() % kGroup == 0 && first + o < outputs && r < rows) {
            out(int64_t(r), first + o, sum);
          }
        }
      }
    }
  });
  Barrier();
}

// ---------------------------------------------------------------------- Mix

// f(load) with load(memory, index) two neighbouring elements, the second of
// which is 0 and not read unless `pair`. The choice is outside of f's loops.
template <int DType, class F>
GLM_FN void WithPairs(bool pair, F f) {
  if (pair) {
    f([](const void* memory, int64_t index) {
      return LoadVector<DType, Float2>(memory, index);
    });
  } else {
    f([](const void* memory, int64_t index) {
      return Float2{Load<DType>(memory, index), 0.0f};
    });
  }
}

// out(r, n, sum_k c_row(r)[k] row(k)[n0 + n]), n < count, rows <= 8. A
// work-item takes two neighbouring outputs and all k.
template <int WT, class CRow, class Row, class Out>
GLM_FN void Mix(Block&, int64_t k, int64_t rows, CRow c_row, Row row,
                int64_t n0, int64_t count, Out out) {
  WithRows<8>(rows, [&]<int R>() GLM_INLINE {
    const float* c[R];
    GLM_UNROLL for (int r = 0; r < R; ++r) c[r] = c_row(Least(r, rows - 1));
    for (int64_t n = 2 * Thread(); n < count; n += 2 * kThreads) {
      Float2 acc[R] = {};
      WithPairs<WT>(n + 1 < count, [&](auto load) {
#pragma unroll 4
        for (int64_t i = 0; i < k; ++i) {
          const Float2 w = load(row(i), n0 + n);
          GLM_UNROLL for (int r = 0; r < R; ++r) acc[r] += c[r][i] * w;
        }
      });
      GLM_UNROLL for (int r = 0; r < R; ++r) {
        if (r < rows) {
          out(r, n, acc[r].x);
          if (n + 1 < count) out(r, n + 1, acc[r].y);
        }
      }
    }
  });
  Barrier();
}

}  // namespace glm::kernel

#endif  // GLM_GPU
