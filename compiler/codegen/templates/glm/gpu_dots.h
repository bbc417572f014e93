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

// acc[o][r] += columns i .. i + 7 of w[o] times those of x[r], rows of K.
template <int XT, int WT, int64_t K, int O, int R>
GLM_FN void AddProducts(const void* const (&x)[R], const void* const (&w)[O],
                        int64_t i, float (&acc)[O][R]) {
  Float8 wv[O];
  GLM_UNROLL for (int o = 0; o < O; ++o) {
    wv[o] = LoadVector<WT, Float8, K % 8 == 0>(w[o], i, K);
  }
  GLM_UNROLL for (int r = 0; r < R; ++r) {
    const Float8 xv = LoadVector<XT, Float8, K % 8 == 0>(x[r], i, K);
    GLM_UNROLL for (int o = 0; o < O; ++o) {
      GLM_UNROLL for (int j = 0; j < 8; ++j) acc[o][r] += wv[o][j] * xv[j];
    }
  }
}

// The sum over the lanes of acc[o][r], in lane o * R + r.
template <int O, int R>
GLM_FN float SumDots(const float (&acc)[O][R]) {
  float mine = 0.0f;
  GLM_UNROLL for (int o = 0; o < O; ++o) {
    GLM_UNROLL for (int r = 0; r < R; ++r) {
      const float sum = SumWave(acc[o][r]);
      if (Lane() == o * R + r) mine = sum;
    }
  }
  return mine;
}

// Stores those of output first + o, row r.
template <int O, int R, class Out>
GLM_FN void StoreDots(const float (&acc)[O][R], int64_t first, int64_t outputs,
                      int64_t rows, Out out) {
  const float mine = SumDots(acc);
  const int64_t o = first + Lane() / R;
  const int64_t r = Lane() % R;
  if (Lane() < O * R && o < outputs && r < rows) out(r, o, mine);
}

// The raw 8 elements of LoadVector<DType, Float8>, and their values.
template <int DType>
struct Raw8 {
  typedef uint32_t Words __attribute__((ext_vector_type(4)));
  Words words[DType == F32 ? 2 : 1];

  GLM_FN void Load(const void* row, int64_t i) {
    const Words* from = static_cast<const Words*>(
        __builtin_assume_aligned(At<DType>(row, i), 16));
    GLM_UNROLL for (auto& w : words) w = *from++;
  }
  GLM_FN Float8 Values() const { return LoadVector<DType, Float8>(words, 0); }
};

// acc[o] += x . w[o] for rows of K elements, of which a lane takes 8 in turn:
// while some are multiplied, the loads of the next ones are under way, kDepth
// turns of them.
template <int XT, int WT, int64_t K, int kDepth, int O>
GLM_FN void FlowingDots(const void* x, const void* const (&w)[O],
                        float (&acc)[O]) {
  constexpr int kTurn = 8 * kLanesOfWave;
  constexpr int kTurns = int(K / kTurn);
  static_assert(K % kTurn == 0 && kTurns % kDepth == 0, "whole turns");
  const int64_t lane = Lane() * 8;
  Raw8<WT> flying[kDepth][O];
  GLM_UNROLL for (int d = 0; d < kDepth; ++d) {
    GLM_UNROLL for (int o = 0; o < O; ++o) {
      flying[d][o].Load(w[o], d * kTurn + lane);
    }
  }
  const auto round = [&]<bool kMore>(int turn) GLM_INLINE {
    GLM_UNROLL for (int d = 0; d < kDepth; ++d) {
      Raw8<XT> some;
      some.Load(x, (turn + d) * kTurn + lane);
      const Float8 xv = some.Values();
      GLM_UNROLL for (int o = 0; o < O; ++o) {
        const Float8 wv = flying[d][o].Values();
        GLM_UNROLL for (int j = 0; j < 8; ++j) acc[o] += wv[j] * xv[j];
        if (kMore) flying[d][o].Load(w[o], (turn + d + kDepth) * kTurn + lane);
      }
    }
  };
#pragma nounroll
  for (int turn = 0; turn < kTurns - kDepth; turn += kDepth) {
    round.template operator()<true>(turn);
  }
  round.template operator()<false>(kTurns - kDepth);
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
    // Blocks of long rows, or of few outputs, are few or have few loads of an
    // output: more of them are in flight.
    constexpr int kTurn = 8 * kLanesOfWave;
    constexpr int kDepth = K >= 8192 ? kTurnsOfLongRows
                           : O <= 2 && K % (2 * kTurnsOfLongRows * kTurn) == 0
                               ? 2 * kTurnsOfLongRows
                               : 2;
    constexpr bool kFlows =
        R == 1 && WT != F32 && K < 16384 && K % (kTurn * kDepth) == 0;
    // Loads of the weight in flight, of rows longer than that.
    constexpr int kFlying = R == 1 && K >= 16384 ? 4 * kTurnsOfLongRows : 8;
    const void* x[R];
    GLM_UNROLL for (int r = 0; r < R; ++r) x[r] = x_row(Least(r, rows - 1));
    for (int64_t first = Wave() * O; first < outputs; first += kWaves * O) {
      const void* w[O];
      GLM_UNROLL for (int o = 0; o < O; ++o) {
        w[o] = w_row(Least(first + o, outputs - 1));
      }
      float acc[O][R] = {};
      const auto step = [&](int64_t i) {
        AddProducts<XT, WT, K>(x, w, i, acc);
      };
      constexpr int kStep = 8 * kLanesOfWave;
      if constexpr (kFlows) {
        float one[O] = {};
        FlowingDots<XT, WT, K, kDepth>(x[0], w, one);
        GLM_UNROLL for (int o = 0; o < O; ++o) acc[o][0] = one[o];
      } else if constexpr (R < 4) {
#pragma clang loop unroll_count(kFlying / O)
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

// Dots of at most kOutputs outputs: all waves share the columns.
template <int XT, int WT, int64_t K, int64_t kMost, int kOutputs, class XRow,
          class WRow, class Out>
GLM_FN void SharedDots(Block&, int64_t rows, XRow x_row, int64_t outputs,
                       WRow w_row, Out out) {
  static_assert(kOutputs * kMost <= kLanesOfWave, "a lane a sum");
  GLM_SHARED(float, part, kWaves * kOutputs * kMost);
  WithRows<kMost>(rows, [&]<int R>() GLM_INLINE {
    constexpr int O = kOutputs;
    const void* x[R];
    GLM_UNROLL for (int r = 0; r < R; ++r) x[r] = x_row(Least(r, rows - 1));
    const void* w[O];
    GLM_UNROLL for (int o = 0; o < O; ++o) w[o] = w_row(Least(o, outputs - 1));
    float acc[O][R] = {};
#pragma unroll 2
    for (int64_t i = Thread() * 8; i < K; i += 8 * kThreads) {
      AddProducts<XT, WT, K>(x, w, i, acc);
    }
    const float mine = SumDots(acc);
    if (Lane() < O * R) part[Wave() * O * R + Lane()] = mine;
    Barrier();
    if (Thread() < O * R) {
      float sum = 0.0f;
      GLM_UNROLL for (int wave = 0; wave < kWaves; ++wave) {
        sum += part[wave * O * R + Thread()];
      }
      const int64_t o = Thread() / R, r = Thread() % R;
      if (o < outputs && r < rows) out(r, o, sum);
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
