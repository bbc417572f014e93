// host_dots.h - products of few rows on a CPU: each weight element is read from
// memory once and meets all rows in registers.
//
// The loops are functions of their own, not inlined, so that the kernels of one
// source file share them.
#pragma once

#include "glm/block.h"
#include "glm/weight.h"
#include "glm/with_rows.h"

#ifndef GLM_GPU

#define GLM_SHARED_CODE __attribute__((noinline))

namespace glm::kernel {

// Accumulators that fit in registers beside the operands.
inline constexpr int kAccumulators = kVector == 16 ? 16 : 8;

template <class T, T... I>
struct IndexList {};
template <int N>
inline constexpr auto kIndices = __make_integer_seq<IndexList, int, N>();

// Groups of G lanes of a, then of b, become groups of G / 2: halves are added.
template <int G, int... I>
GLM_FN Vector AddHalves(Vector a, Vector b, IndexList<int, I...>) {
  constexpr int H = G / 2;
  return __builtin_shufflevector(a, b, (I / H * G + I % H)...) +
         __builtin_shufflevector(a, b, (I / H * G + I % H + H)...);
}

// sums[i] = the sum of the lanes of v[i], N a power of 2 up to kVector. All are
// added together, which takes a third of the instructions of one by one.
template <int N, int G = kVector, int kAll = N>
GLM_FN void SumLanesOf(const Vector* v, float* sums) {
  if constexpr (G > 1) {
    constexpr int kLeft = N > 1 ? N / 2 : 1;
    Vector left[kLeft];
#pragma unroll
    for (int i = 0; i < kLeft; ++i) {
      left[i] =
          AddHalves<G>(v[2 * i], v[N > 1 ? 2 * i + 1 : 0], kIndices<kVector>);
    }
    SumLanesOf<kLeft, G / 2, kAll>(left, sums);
  } else {
    static_assert(kAll <= kVector, "one register");
    __builtin_memcpy(sums, v, kAll * sizeof(float));
  }
}

// --------------------------------------------------------------------- Dots

// sums[o][r] = x[r] . w[o] over `stretches` times k elements, `apart` apart.
template <int XT, int WT, int R, int O>
GLM_SHARED_CODE void DotsBlock(int64_t k, int64_t stretches, int64_t apart,
                               const void* const* x, const void* const* w,
                               float* sums) {
  Vector acc[O * R] = {};
  const int64_t whole = k - k % kVector;
  for (int64_t from = 0; from < stretches * apart; from += apart) {
    for (int64_t i = from; i < from + whole; i += kVector) {
      Vector xv[R];
#pragma unroll
      for (int r = 0; r < R; ++r) xv[r] = LoadVector<XT, Vector>(x[r], i);
#pragma unroll
      for (int o = 0; o < O; ++o) {
        const Vector wv = LoadVector<WT, Vector>(w[o], i);
#pragma unroll
        for (int r = 0; r < R; ++r) acc[o * R + r] += wv * xv[r];
      }
    }
  }
  SumLanesOf<O * R>(acc, sums);
  if (whole == k) return;
  for (int64_t from = 0; from < stretches * apart; from += apart) {
    for (int o = 0; o < O; ++o) {
      for (int r = 0; r < R; ++r) {
        for (int64_t i = from + whole; i < from + k; ++i) {
          sums[o * R + r] += Load<XT>(x[r], i) * Load<WT>(w[o], i);
        }
      }
    }
  }
}

// out(r, o, sum over stretches s < kStretches of x_row(r)[s * kStride ..] .
// w_row(o)[s * kStride ..]), kWidth columns each; 1 to 8 rows and any number of
// outputs.
template <int XT, int WT, int64_t kWidth, int64_t kStretches, int64_t kStride,
          int64_t kMost, class XRow, class WRow, class Out>
GLM_FN void StretchDots(Block&, int64_t rows, XRow x_row, int64_t outputs,
                        WRow w_row, Out out) {
  WithRows<kMost>(rows, [&]<int R>() {
    constexpr int O = Least(kAccumulators / R, 8);
    const void* x[R];
    for (int64_t r = 0; r < R; ++r) x[r] = x_row(Least(r, rows - 1));
    for (int64_t first = 0; first < outputs; first += O) {
      const int64_t count = Least(O, outputs - first);
      const void* w[O];
      for (int64_t o = 0; o < O; ++o) w[o] = w_row(first + Least(o, count - 1));
      float sums[O * R];
      DotsBlock<XT, WT, R, O>(kWidth, kStretches, kStride, x, w, sums);
      for (int64_t o = 0; o < count; ++o) {
        for (int64_t r = 0; r < rows; ++r) out(r, first + o, sums[o * R + r]);
      }
    }
  });
}

// out(r, o, x_row(r) . w_row(o)) for rows of K elements, 1 to 8 rows and any
// number of outputs.
template <int XT, int WT, int64_t K, int64_t kMost, class XRow, class WRow,
          class Out>
GLM_FN void Dots(Block& block, int64_t rows, XRow x_row, int64_t outputs,
                 WRow w_row, Out out) {
  StretchDots<XT, WT, K, 1, K, kMost>(block, rows, x_row, outputs, w_row, out);
}

// ---------------------------------------------------------------------- Mix

// sums[r][n] = sum_k c[r][k] row(k)[n0 + n] for n < kVector * V.
template <int WT, int R, int V, class Row>
GLM_SHARED_CODE void MixBlock(int64_t k, const float* const* c, Row row,
                              int64_t n0, float* sums) {
  Vector acc[R][V] = {};
  for (int64_t i = 0; i < k; ++i) {
    Vector w[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      w[v] = LoadVector<WT, Vector>(row(i), n0 + v * kVector);
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const Vector factor = c[r][i];
#pragma unroll
      for (int v = 0; v < V; ++v) acc[r][v] += factor * w[v];
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    __builtin_memcpy(sums + r * V * kVector, acc[r], sizeof(acc[r]));
  }
}

// out(r, n, sum_k c_row(r)[k] row(k)[n0 + n]), n < count, rows <= 8.
template <int WT, class CRow, class Row, class Out>
GLM_FN void Mix(Block&, int64_t k, int64_t rows, CRow c_row, Row row,
                int64_t n0, int64_t count, Out out) {
  WithRows<8>(rows, [&]<int R>() {
    constexpr int V = Most(1, Least(kAccumulators / R, 4));
    constexpr int kWidth = V * kVector;
    const float* factor[R];
    for (int64_t r = 0; r < R; ++r) factor[r] = c_row(Least(r, rows - 1));
    alignas(64) float sums[R * kWidth];
    int64_t n = 0;
    for (; n + kWidth <= count; n += kWidth) {
      MixBlock<WT, R, V>(k, factor, row, n0 + n, sums);
      for (int64_t r = 0; r < rows; ++r) {
#pragma clang loop vectorize(assume_safety)
        for (int64_t i = 0; i < kWidth; ++i)
          out(r, n + i, sums[r * kWidth + i]);
      }
    }
    for (; n < count; ++n) {
      for (int64_t r = 0; r < rows; ++r) {
        float sum = 0.0f;
        for (int64_t i = 0; i < k; ++i) {
          sum += factor[r][i] * Load<WT>(row(i), n0 + n);
        }
        out(r, n, sum);
      }
    }
  });
}

// ----------------------------------------------------------------- int4 codes

typedef uint32_t CodeVector __attribute__((ext_vector_type(kVector)));

// code - 8 of the lowest code of each word.
GLM_FN Vector CodeValues(CodeVector words) {
#ifdef __AVX512F__
  // The permute looks at the low four bits of an index only.
  const Vector values = {-8, -7, -6, -5, -4, -3, -2, -1,
                         0,  1,  2,  3,  4,  5,  6,  7};
  typedef int32_t Index __attribute__((ext_vector_type(kVector)));
  return __builtin_ia32_permvarsf512(values, __builtin_bit_cast(Index, words));
#else
  typedef int32_t Index __attribute__((ext_vector_type(kVector)));
  return __builtin_convertvector(__builtin_bit_cast(Index, words & 15u) - 8,
                                 Vector);
#endif
}

// sums[r][n] = sum_k x[r][k] W[n][k] for n < kVector * V. `words` and `scales`
// point at output 0; `stride` is their row length. The scale multiplies the sum
// of its group, which two chains form where registers are left.
template <int R, int V>
GLM_SHARED_CODE void CodesBlock(int64_t k, int64_t group, int64_t stride,
                                const float* const* x, const uint32_t* words,
                                const void* scales, float* sums) {
  constexpr int S = Most(1, Least(2, kAccumulators / 2 / (R * V)));
  Vector acc[R][V] = {};
  for (int64_t k0 = 0; k0 < k; k0 += group) {
    const int64_t end = Least(k, k0 + group);
    Vector part[S][R][V] = {};
    for (int64_t k8 = k0; k8 < end; k8 += 8) {
      CodeVector code[V];
      __builtin_memcpy(code, words + k8 / 8 * stride, sizeof(code));
      const auto step = [&](int i) __attribute__((always_inline)) {
        Vector w[V];
#pragma unroll
        for (int v = 0; v < V; ++v)
          w[v] = CodeValues(code[v] >> uint32_t(4 * i));
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const Vector factor = x[r][k8 + i];
#pragma unroll
          for (int v = 0; v < V; ++v) part[i % S][r][v] += factor * w[v];
        }
      };
      if (k8 + 8 <= end) {
#pragma unroll
        for (int i = 0; i < 8; ++i) step(i);
      } else {
        for (int i = 0; i < end - k8; ++i) step(i);
      }
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const Vector scale =
          LoadVector<F16, Vector>(scales, k0 / group * stride + v * kVector);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        if constexpr (S == 2) part[0][r][v] += part[1][r][v];
        acc[r][v] += scale * part[0][r][v];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    __builtin_memcpy(sums + r * V * kVector, acc[r], sizeof(acc[r]));
  }
}

// ----------------------------------------------------------------- int8 codes

// W[n][k] of kVector codes without their scale.
GLM_FN Vector CodeValues(const int8_t* codes) {
  typedef int8_t Bytes __attribute__((ext_vector_type(kVector)));
  Bytes bytes;
  __builtin_memcpy(&bytes, codes, sizeof(bytes));
  return __builtin_convertvector(bytes, Vector);
}

// sums[o][r] = x[r] . w[o] over k elements; a vector never leaves its group.
template <int XT, int R, int O>
GLM_SHARED_CODE void BytesBlock(int64_t k, int64_t group, const void* const* x,
                                const int8_t* const* codes,
                                const void* const* scales, float* sums) {
  Vector acc[O * R] = {};
  const int64_t whole = k - k % kVector;
  for (int64_t k0 = 0; k0 < whole; k0 += group) {
    Vector scale[O];
#pragma unroll
    for (int o = 0; o < O; ++o) scale[o] = Load<F16>(scales[o], k0 / group);
    for (int64_t i = k0; i < Least(whole, k0 + group); i += kVector) {
      Vector xv[R];
#pragma unroll
      for (int r = 0; r < R; ++r) xv[r] = LoadVector<XT, Vector>(x[r], i);
#pragma unroll
      for (int o = 0; o < O; ++o) {
        const Vector wv = CodeValues(codes[o] + i) * scale[o];
#pragma unroll
        for (int r = 0; r < R; ++r) acc[o * R + r] += wv * xv[r];
      }
    }
  }
  SumLanesOf<O * R>(acc, sums);
  for (int o = 0; whole < k && o < O; ++o) {
    for (int r = 0; r < R; ++r) {
      for (int64_t i = whole; i < k; ++i) {
        sums[o * R + r] += Load<XT>(x[r], i) * float(codes[o][i]) *
                           Load<F16>(scales[o], i / group);
      }
    }
  }
}

// --------------------------------------------------------------------- Gemv

template <int XT, int64_t K, int64_t kWidth, int64_t kMost, int64_t G,
          class XRow, class Out>
GLM_FN void Gemv(Block&, const Int8Weight<K, G>& weight, int64_t n0,
                 int64_t count, int64_t rows, XRow x_row, Out out) {
  if (rows <= 0) return;
  constexpr int64_t kGroups = Int8Weight<K, G>::kGroups;
  WithRows<kMost>(rows, [&]<int R>() {
    constexpr int O = Least(kAccumulators / R, 4);
    const void* x[R];
    for (int64_t r = 0; r < R; ++r) x[r] = x_row(Least(r, rows - 1));
    for (int64_t first = 0; first < count; first += O) {
      const int8_t* codes[O];
      const void* scales[O];
      for (int64_t o = 0; o < O; ++o) {
        const int64_t n = n0 + Least(first + o, count - 1);
        codes[o] = weight.codes + n * K;
        scales[o] = At<F16>(weight.scales, n * kGroups);
      }
      float sums[O * R];
      BytesBlock<XT, R, O>(K, G, x, codes, scales, sums);
      for (int64_t o = 0; o < Least(O, count - first); ++o) {
        for (int64_t r = 0; r < rows; ++r) out(r, first + o, sums[o * R + r]);
      }
    }
  });
}

// Row pointers of fp32: the rows themselves, or widened copies in `wide`.
template <int XT, int64_t K, class XRow>
GLM_FN void WideRows(int64_t rows, XRow x_row, float* wide, const float** x) {
  for (int64_t r = 0; r < rows; ++r) {
    if constexpr (XT == F32) {
      x[r] = static_cast<const float*>(x_row(r));
    } else {
      const void* from = x_row(r);
      float* to = wide + r * K;
#pragma clang loop vectorize(assume_safety)
      for (int64_t i = 0; i < K; ++i) to[i] = Load<XT>(from, i);
      x[r] = to;
    }
  }
}

template <int XT, int64_t K, int64_t kWidth, int64_t kMost, int WT, int64_t RS,
          int64_t CS, class XRow, class Out>
GLM_FN void Gemv(Block& block, const DenseWeight<WT, RS, CS>& weight,
                 int64_t n0, int64_t count, int64_t rows, XRow x_row, Out out) {
  if (rows <= 0) return;
  if constexpr (CS == 1) {
    Dots<XT, WT, K, kMost>(
        block, rows, x_row, count,
        [&](int64_t n) { return At<WT>(weight.data, (n0 + n) * RS); }, out);
  } else {
    GLM_SHARED(float, wide, XT == F32 ? 1 : kMost * K);
    const float* x[kMost];
    WideRows<XT, K>(rows, x_row, wide, x);
    Mix<WT>(
        block, K, rows, [&](int64_t r) { return x[r]; },
        [&](int64_t k) { return At<WT>(weight.data, k * CS); }, n0, count, out);
  }
}

template <int XT, int64_t K, int64_t kTile, int64_t kMost, int64_t N, int64_t G,
          class XRow, class Out>
GLM_FN void Gemv(Block&, const Gptq4Weight<N, K, G>& weight, int64_t n0,
                 int64_t count, int64_t rows, XRow x_row, Out out) {
  // Two rounds of at most four rows: sums of a group and of all need registers.
  for (int64_t first = 0; first < rows; first += 4) {
    const int64_t some = Least(4, rows - first);
    GLM_SHARED(float, wide, XT == F32 ? 1 : 4 * K);
    const float* x[4];
    WideRows<XT, K>(some, [&](int64_t r) { return x_row(first + r); }, wide, x);
    for (int64_t r = some; r < 4; ++r) x[r] = x[0];
    const auto run = [&]<int R>() {
      constexpr int V = Least(Least(kAccumulators / 2 / R, 4), kTile / kVector);
      constexpr int kWidth = V * kVector;
      alignas(64) float sums[R * kWidth];
      int64_t n = 0;
      for (; n + kWidth <= count; n += kWidth) {
        CodesBlock<R, V>(K, G, N, x, weight.words + n0 + n,
                         At<F16>(weight.scales, n0 + n), sums);
        for (int64_t r = 0; r < some; ++r) {
#pragma clang loop vectorize(assume_safety)
          for (int64_t i = 0; i < kWidth; ++i) {
            out(first + r, n + i, sums[r * kWidth + i]);
          }
        }
      }
      for (; n < count; ++n) {
        for (int64_t r = 0; r < some; ++r) {
          float sum = 0.0f;
          for (int64_t k = 0; k < K; ++k) {
            const uint32_t word = weight.words[k / 8 * N + n0 + n];
            const float code = float(int32_t(word >> (4 * (k % 8)) & 15u) - 8);
            sum +=
                x[r][k] * code * Load<F16>(weight.scales, k / G * N + n0 + n);
          }
          out(first + r, n, sum);
        }
      }
    };
    WithRows<Least(kMost, 4)>(some, run);
  }
}

}  // namespace glm::kernel

#endif  // GLM_GPU
