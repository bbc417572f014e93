// gpu_gemv.h - few rows times a tile of a weight on a GPU, by the weight's
// form.
#pragma once

#include "glm/gpu_dots.h"

#ifdef GLM_GPU

namespace glm::kernel {

// ------------------------------------------------- 64 outputs, sliced columns

// Shared memory of a product, for one word at a time.
inline constexpr int kScratchFloats = 3840;
GLM_FN float* Scratch() {
  GLM_SHARED(float, scratch, kScratchFloats);
  return scratch;
}

// Lanes that share the outputs of a tile, two neighbours each; the wave has as
// many slices of the columns as such lanes fit.
template <int64_t kWidth>
inline constexpr int kLanesOfTile = int(kWidth / 2);
template <int64_t kWidth>
inline constexpr int kSlices = kWaves * kLanesOfWave / kLanesOfTile<kWidth>;
template <int64_t kWidth>
GLM_FN int Slice() {
  return Thread() / kLanesOfTile<kWidth>;
}
template <int64_t kWidth>
GLM_FN int TileOutput() {
  return 2 * (Lane() % kLanesOfTile<kWidth>);
}

// Adds the slices' sums of two neighbouring outputs a lane.
template <int kWidth, int R, class Out>
GLM_FN void AddSlices(const Float2 (&acc)[R], int64_t count, int64_t rows,
                      Out out) {
  constexpr int kRows = R < 4 ? R : 4;
  static_assert(kSlices<kWidth> * kRows * kWidth <= kScratchFloats, "fits");
  float* part = Scratch();  // [kSlices][kRows][kWidth]
  GLM_UNROLL for (int r0 = 0; r0 < R; r0 += kRows) {
    GLM_UNROLL for (int r = 0; r < kRows; ++r) {
      *reinterpret_cast<Float2*>(part + (Slice<kWidth>() * kRows + r) * kWidth +
                                 TileOutput<kWidth>()) = acc[r0 + r];
    }
    Barrier();
    for (int i = Thread(); i < kRows * kWidth; i += kThreads) {
      float sum = part[i];
      GLM_UNROLL for (int w = 1; w < kSlices<kWidth>; ++w) {
        sum += part[w * kRows * kWidth + i];
      }
      const int r = r0 + i / kWidth;
      const int n = i % kWidth;
      if (r < rows && n < count) out(int64_t(r), int64_t(n), sum);
    }
    Barrier();
  }
}

// Adds the waves' sums of kWidth outputs by at most R rows: put(add) calls
// add(r, n, sum) for what a lane has.
template <int kWidth, int R, class Put, class Out>
GLM_FN void AddWaves(int64_t count, int64_t rows, Put put, Out out) {
  constexpr int kRows = R < 4 ? R : 4;
  static_assert(kWaves * kRows * kWidth <= kScratchFloats, "fits");
  float* part = Scratch();  // [kWaves][kRows][kWidth]
  GLM_UNROLL for (int r0 = 0; r0 < R; r0 += kRows) {
    if (r0 >= rows) return;
    put([&](int r, int n, float sum) {
      if (r >= r0 && r < r0 + kRows && n < kWidth) {
        part[(Wave() * kRows + r - r0) * kWidth + n] = sum;
      }
    });
    Barrier();
    for (int i = Thread(); i < kRows * kWidth; i += kThreads) {
      float sum = part[i];
      GLM_UNROLL for (int w = 1; w < kWaves; ++w) {
        sum += part[w * kRows * kWidth + i];
      }
      const int r = r0 + i / kWidth, n = i % kWidth;
      if (r < rows && n < count) out(int64_t(r), int64_t(n), sum);
    }
    Barrier();
  }
}

// --------------------------------------------------------------------- Gemv

template <int XT, int64_t K, int64_t kWidth, int64_t kMost, int WT, int64_t RS,
          int64_t CS, class XRow, class Out>
GLM_FN void Gemv(Block& block, const DenseWeight<WT, RS, CS>& weight,
                 int64_t n0, int64_t count, int64_t rows, XRow x_row, Out out) {
  if (rows <= 0) return;
  if constexpr (CS == 1 && K <= 4 * kLanesOfWave) {
    StretchDots<XT, WT, K, 1, K, kMost>(
        block, rows, x_row, count,
        [&](int64_t n) { return At<WT>(weight.data, (n0 + n) * RS); }, out);
  } else if constexpr (CS == 1 && kWidth * kMost <= kLanesOfWave &&
                       kWidth <= kFewOutputs) {
    SharedDots<XT, WT, K, kMost, int(kWidth)>(
        block, rows, x_row, count,
        [&](int64_t n) { return At<WT>(weight.data, (n0 + n) * RS); }, out);
  } else if constexpr (CS == 1) {
    Dots<XT, WT, K, kMost, kWidth>(
        block, rows, x_row, count,
        [&](int64_t n) { return At<WT>(weight.data, (n0 + n) * RS); }, out);
  } else {
    // Eight neighbours a lane, so a wave has as many slices of the columns as
    // such lanes fit; the waves have every kWaves-th part of them.
    constexpr int kAcross = int(kWidth / 8);
    constexpr int kInWave = kLanesOfWave / kAcross;
    static_assert(kAcross == 8, "four slices a wave, added below");
    constexpr bool kWhole = CS % 8 == 0;
    WithRows<kMost>(rows, [&]<int R>() GLM_INLINE {
      const void* x[R];
      GLM_UNROLL for (int r = 0; r < R; ++r) x[r] = x_row(Least(r, rows - 1));
      const int n = Lane() % kAcross * 8;
      const int slice = Wave() * kInWave + Lane() / kAcross;
      Float8 acc[R] = {};
      if (n < count) {
        const auto run = [&](auto load) GLM_INLINE {
#pragma unroll 4
          for (int64_t k = slice; k < K; k += kWaves * kInWave) {
            const Float8 w = load(k * CS + n0 + n);
            GLM_UNROLL for (int r = 0; r < R; ++r) {
              acc[r] += Load<XT>(x[r], k) * w;
            }
          }
        };
        if (kWhole && n + 8 <= count) {
          run([&](int64_t at) {
            return LoadVector<WT, Float8, true>(weight.data, at, 0);
          });
        } else {
          run([&](int64_t at) {
            return LoadVector<WT, Float8, false>(weight.data, at,
                                                 at - n + count);
          });
        }
      }
      GLM_UNROLL for (int r = 0; r < R; ++r) {
        GLM_UNROLL for (int i = 0; i < 8; ++i) {
          acc[r][i] += Exchange<8>(acc[r][i]);
          acc[r][i] += Exchange<16>(acc[r][i]);
        }
      }
      AddWaves<kWidth, R>(
          count, rows,
          [&](auto add) {
            if (Lane() >= kAcross) return;
            GLM_UNROLL for (int r = 0; r < R; ++r) {
              GLM_UNROLL for (int i = 0; i < 8; ++i) add(r, n + i, acc[r][i]);
            }
          },
          out);
    });
  }
}

// W[n][k] of one code of a word, without its scale.
GLM_FN float CodeValue(uint32_t word, int i) {
  return float(int32_t(word >> (4 * i) & 15u) - 8);
}

// The matrix units multiply codes with bf16 rows: both are exact there. A wave
// takes every kWaves-th group of columns, which has one scale an output; the
// next group's words are under way while one is multiplied.
template <int64_t K, int64_t kWidth, int64_t kMost, int64_t N, int64_t G,
          class XRow, class Out>
GLM_FN void GemvOfCodes(const Gptq4Weight<N, K, G>& weight, int64_t n0,
                        int64_t count, int64_t rows, XRow x_row, Out out) {
  constexpr int kAtOnce = 16 * kCodeTiles;
  constexpr int kLoads = int(CeilDiv(kWidth, kAtOnce));
  constexpr int kSteps = int(G / 8 / kCodeWords);  // of a group
  // Of a stretch: as many as may be under way and divide the group's.
  constexpr int kTogether = [] {
    int most = 1;
    for (int i = 2; i <= kSteps && i * kLoads <= kCodeLoads; ++i) {
      if (kSteps % i == 0) most = i;
    }
    return most;
  }();
  constexpr int kStretches = kSteps / kTogether;  // of a group
  constexpr int kSums = sizeof(CodeSums) / sizeof(float);
  const void* x = x_row(Least(CodeRow(), rows - 1));
  const uint32_t* words = weight.words + CodeWord() * N + n0 + CodeOutput();
  // Stretch s of the wave: of group s / kStretches * kWaves + Wave().
  const auto column = [&](int64_t s) {
    return (s / kStretches * kWaves + Wave()) * (G / 8) +
           s % kStretches * kTogether * kCodeWords;
  };
  const auto load = [&](int64_t s, Word4(&word)[kTogether][kLoads]) {
    GLM_UNROLL for (int i = 0; i < kTogether; ++i) {
      GLM_UNROLL for (int l = 0; l < kLoads; ++l) {
        word[i][l] = 0u;
        if (CodeOutput() + l * kAtOnce < count) {
          word[i][l] = *reinterpret_cast<const Word4*>(
              words + (column(s) + i * kCodeWords) * N + l * kAtOnce);
        }
      }
    }
  };
  const int64_t groups = (K / G - Wave() + kWaves - 1) / kWaves;
  const int64_t stretches = groups * kStretches;
  CodeSums sums[kLoads][kCodeTiles] = {};
  CodeSums part[kLoads][kCodeTiles] = {};
  Word4 next[kTogether][kLoads];
  if (stretches > 0) load(0, next);
#pragma nounroll
  for (int64_t s = 0; s < stretches; ++s) {
    const int64_t k8 = column(s);
    Word4 word[kTogether][kLoads];
    GLM_UNROLL for (int i = 0; i < kTogether; ++i) {
      GLM_UNROLL for (int l = 0; l < kLoads; ++l) word[i][l] = next[i][l];
    }
    typedef _Float16 Scale4 __attribute__((ext_vector_type(4)));
    Scale4 scale[kLoads][kCodeFours];
    const auto load_scale = [&](int l, int q) {
      const int n = CodeFourOutput(q) + l * kAtOnce;  // all four or none
      scale[l][q] = *static_cast<const Scale4*>(
          At<F16>(weight.scales, k8 / (G / 8) * N + n0 + (n < count ? n : 0)));
    };
    if constexpr (kEarlyScales) {
      GLM_UNROLL for (int l = 0; l < kLoads; ++l) {
        GLM_UNROLL for (int q = 0; q < kCodeFours; ++q) load_scale(l, q);
      }
    }
    if (s + 1 < stretches) load(s + 1, next);
    GLM_UNROLL for (int i = 0; i < kTogether; ++i) {
      const Word4 columns = CodeColumns(*static_cast<const Word4*>(
          At<BF16>(x, (k8 + i * kCodeWords + CodeWord()) * 8)));
      GLM_UNROLL for (int l = 0; l < kLoads; ++l) {
        MultiplyCodes(part[l], word[i][l], columns);
      }
    }
    if (kStretches == 1 || s % kStretches == kStretches - 1) {
      GLM_UNROLL for (int l = 0; l < kLoads; ++l) {
        if constexpr (!kEarlyScales) {
          GLM_UNROLL for (int q = 0; q < kCodeFours; ++q) load_scale(l, q);
        }
        GLM_UNROLL for (int tile = 0; tile < kCodeTiles; ++tile) {
          GLM_UNROLL for (int i = 0; i < kSums; ++i) {
            sums[l][tile][i] +=
                float(scale[l][CodeFour(tile, i)][CodeInFour(tile, i)]) *
                part[l][tile][i];
            part[l][tile][i] = 0.0f;
          }
        }
      }
    }
  }
  AddWaves<kWidth, int(kMost)>(
      count, rows,
      [&](auto add) {
        GLM_UNROLL for (int l = 0; l < kLoads; ++l) {
          GLM_UNROLL for (int tile = 0; tile < kCodeTiles; ++tile) {
            GLM_UNROLL for (int i = 0; i < kSums; ++i) {
              add(CodeSumRow(i), CodeSumOutput(tile, i) + l * kAtOnce,
                  sums[l][tile][i]);
            }
          }
        }
      },
      out);
}

// Whether GemvOfCodes can: whole groups, whole words of 16 bytes.
template <int XT, int64_t K, int64_t N, int64_t G>
inline constexpr bool kGemvOfCodes =
    XT == BF16 && N % 4 == 0 && K % G == 0 && G % (8 * kCodeWords) == 0;

template <int XT, int64_t K, int64_t kWidth, int64_t kMost, int64_t N,
          int64_t G, class XRow, class Out>
GLM_FN void Gemv(Block&, const Gptq4Weight<N, K, G>& weight, int64_t n0,
                 int64_t count, int64_t rows, XRow x_row, Out out) {
  if (rows <= 0) return;
  if constexpr (kGemvOfCodes<XT, K, N, G>) {
    GemvOfCodes<K, kWidth, kMost>(weight, n0, count, rows, x_row, out);
    return;
  }
  // A slice takes every kSlices-th stretch of words; a stretch has one scale.
  constexpr int64_t kGroupWords = G / 8;
  constexpr int64_t kWords = CeilDiv(K, 8);
  typedef uint32_t Word2 __attribute__((ext_vector_type(2)));
  WithRows<kMost>(rows, [&]<int R>() GLM_INLINE {
    constexpr int64_t kStretch =
        R < 4 && kGroupWords % 4 == 0 && kWords % 4 == 0 ? 4 : 1;
    const void* x[R];
    GLM_UNROLL for (int r = 0; r < R; ++r) x[r] = x_row(Least(r, rows - 1));
    const int n = TileOutput<kWidth>();
    Float2 acc[R] = {};
    const auto run = [&](auto load_words, auto load_scales) GLM_INLINE {
      for (int64_t k8 = Slice<kWidth>() * kStretch; k8 < kWords;
           k8 += kSlices<kWidth> * kStretch) {
        Word2 word[kStretch];
        GLM_UNROLL for (int j = 0; j < kStretch; ++j) {
          word[j] = load_words(weight.words + (k8 + j) * N + n0 + n);
        }
        const Float2 scale =
            load_scales(weight.scales, k8 / kGroupWords * N + n0 + n);
        Float2 part[R] = {};
        GLM_UNROLL for (int j = 0; j < kStretch; ++j) {
          Float2 code[8];
          GLM_UNROLL for (int i = 0; i < 8; ++i) {
            code[i] = {CodeValue(word[j].x, i), CodeValue(word[j].y, i)};
          }
          GLM_UNROLL for (int r = 0; r < R; ++r) {
            const Float8 xv =
                LoadVector<XT, Float8, K % 8 == 0>(x[r], (k8 + j) * 8, K);
            GLM_UNROLL for (int i = 0; i < 8; ++i) part[r] += xv[i] * code[i];
          }
        }
        GLM_UNROLL for (int r = 0; r < R; ++r) acc[r] += scale * part[r];
      }
    };
    if (n + 1 < count) {
      run([](const uint32_t* from) { return LoadBytes<Word2>(from); },
          [](const void* scales, int64_t i) {
            return LoadVector<F16, Float2>(scales, i);
          });
    } else if (n < count) {
      run([](const uint32_t* from) { return Word2{from[0], 0u}; },
          [](const void* scales, int64_t i) {
            return Float2{Load<F16>(scales, i), 0.0f};
          });
    }
    AddSlices<kWidth>(acc, count, rows, out);
  });
}

template <int kCount>
using Bytes = int8_t __attribute__((ext_vector_type(kCount)));

// kCount codes k .. of a row of K; those from K on are 0 and are not read. Only
// where K keeps rows aligned are they one load.
template <int kCount, int64_t K>
GLM_FN Bytes<kCount> RowCodes(const int8_t* row, int64_t k) {
  Bytes<kCount> v = int8_t(0);
  if constexpr (K % kCount == 0) {
    return k < K ? *reinterpret_cast<const Bytes<kCount>*>(row + k) : v;
  } else {
    GLM_UNROLL for (int i = 0; i < kCount; ++i) {
      if (k + i < K) v[i] = row[k + i];
    }
    return v;
  }
}

// A wave takes O outputs at a time; its lanes share the columns, 16 each, or 8
// where many rows need the registers. These have one scale.
template <int XT, int64_t K, int64_t kWidth, int64_t kMost, int64_t G,
          class XRow, class Out>
GLM_FN void Gemv(Block&, const Int8Weight<K, G>& weight, int64_t n0,
                 int64_t count, int64_t rows, XRow x_row, Out out) {
  if (rows <= 0) return;
  constexpr int64_t kGroups = Int8Weight<K, G>::kGroups;
  WithRows<kMost>(rows, [&]<int R>() GLM_INLINE {
    constexpr int O = R == 8 ? 2 : 4;
    constexpr int kCodes = R < 4 ? 16 : 8;
    const void* x[R];
    GLM_UNROLL for (int r = 0; r < R; ++r) x[r] = x_row(Least(r, rows - 1));
    for (int64_t first = Wave() * O; first < count; first += kWaves * O) {
      const int8_t* codes[O];
      const void* scales[O];
      GLM_UNROLL for (int o = 0; o < O; ++o) {
        const int64_t n = n0 + Least(first + o, count - 1);
        codes[o] = weight.codes + n * K;
        scales[o] = At<F16>(weight.scales, n * kGroups);
      }
      float acc[O][R] = {};
#pragma nounroll
      for (int64_t i = Lane() * kCodes; i < K; i += kCodes * kLanesOfWave) {
        Bytes<kCodes> code[O];
        float scale[O];
        GLM_UNROLL for (int o = 0; o < O; ++o) {
          code[o] = RowCodes<kCodes, K>(codes[o], i);
          scale[o] = Load<F16>(scales[o], i / G);
        }
        GLM_UNROLL for (int r = 0; r < R; ++r) {
          float part[O] = {};
          GLM_UNROLL for (int c = 0; c < kCodes; c += 8) {
            const Float8 xv =
                LoadVector<XT, Float8, K % kCodes == 0>(x[r], i + c, K);
            GLM_UNROLL for (int o = 0; o < O; ++o) {
              GLM_UNROLL for (int j = 0; j < 8; ++j) {
                part[o] += float(code[o][c + j]) * xv[j];
              }
            }
          }
          GLM_UNROLL for (int o = 0; o < O; ++o) {
            acc[o][r] += scale[o] * part[o];
          }
        }
      }
      StoreDots(acc, first, count, rows, out);
    }
  });
  Barrier();
}

}  // namespace glm::kernel

#endif  // GLM_GPU
