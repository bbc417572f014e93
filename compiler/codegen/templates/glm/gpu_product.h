// gpu_product.h - the product of many rows with a tile of kTileOutputs outputs
// of a weight on the matrix units of a GPU.
//
// Operands stream through stages of shared memory, 32 columns at a time, in the
// form in which memory has them: codes of a quantised weight become bf16, which
// is exact, in the registers of the wave that multiplies them, and a group's
// scale multiplies its sum. 8 waves share the tile: 2 by rows, 4 by outputs.
//
// It is for what is aligned: bf16 rows of a multiple of 8 columns from
// addresses of a multiple of 16 bytes, and weights alike. Arena and weights are
// at such addresses on GPUs. All else is gpu_matrix.h's.
#pragma once

#include "glm/gpu_matrix.h"

#ifdef GLM_GPU

namespace glm::kernel {

inline constexpr int kStageColumns = 32;
inline constexpr int kWaveOutputs = 32;
inline constexpr int64_t kTileOutputs = 128;

// Byte offset of 8 columns of a row in a stage [rows][32]. The order of a row's
// chunks keeps reads of a column of rows, and of whole rows, off each other's
// banks.
GLM_FN int ChunkPlace(int row, int chunk) {
  return row * 64 + (chunk ^ (row >> 1 & 3)) * 16;
}

// The f16 in the low or the high half of a word.
GLM_FN float Half(uint32_t word, int high) {
  return float(__builtin_bit_cast(_Float16, uint16_t(word >> (16 * high))));
}

// ------------------------------------------------------- operands in a stage
//
//   kBytes              of a stage
//   kCopies             copies a work-item
//   Copy(i, step)       one of them
//   At(stage, n, chunk) 8 columns of output n
//   Scales(weight, n0, n, count, group)   scales of output n0 + n and, where a
//                       lane has both, of its neighbour; any from n = count on

// `rows` of K bf16. has(r): row r exists; row(r): its address.
template <int kRows, int64_t K>
struct StagedRows {
  static constexpr int kBytes = kRows * 64;
  static constexpr int kTotal = kRows * 4;
  static constexpr int kCopies = int(CeilDiv(kTotal, kThreads));
  const char* from[kCopies];
  bool inside[kCopies];

  template <class Has, class Row>
  GLM_FN StagedRows(Has has, Row row) {
    GLM_UNROLL for (int i = 0; i < kCopies; ++i) {
      const int r = Index(i) / 4 % kRows;
      inside[i] = has(r);
      from[i] = static_cast<const char*>(row(inside[i] ? r : 0)) +
                Index(i) % 4 * 16;
    }
  }
  GLM_FN static int Index(int i) { return Thread() + i * kThreads; }
  GLM_FN Copy16 Copy(int i, int step) const {
    const int chunk = Index(i) % 4;
    const bool columns =
        K % kStageColumns == 0 || step * kStageColumns + chunk * 8 < K;
    return {from[i] + int64_t(step) * 64, ChunkPlace(Index(i) / 4, chunk),
            kTotal % kThreads == 0 || Index(i) < kTotal, inside[i] && columns};
  }
  GLM_FN static Piece At(const char* stage, int row, int chunk) {
    return *reinterpret_cast<const Piece*>(stage + ChunkPlace(row, chunk));
  }
};

template <class Weight, int64_t K>
struct StagedWeight {
  static constexpr bool kFits = false;
};

template <int64_t RS, int64_t CS, int64_t K>
  requires(CS == 1)
struct StagedWeight<DenseWeight<BF16, RS, CS>, K>
    : StagedRows<kTileOutputs, K> {
  static constexpr bool kFits = RS % 8 == 0 && K % 8 == 0;
  static constexpr int64_t kGroup = 0;

  GLM_FN StagedWeight(const DenseWeight<BF16, RS, CS>& weight, int64_t n0,
                      int64_t count)
      : StagedRows<kTileOutputs, K>(
            [&](int n) { return n < count; },
            [&](int n) {
              return glm::kernel::At<BF16>(weight.data, (n0 + n) * RS);
            }) {}
};

// Neighbours along the outputs: a stage is [32][kTileOutputs].
template <int64_t RS, int64_t CS, int64_t K>
  requires(CS != 1)
struct StagedWeight<DenseWeight<BF16, RS, CS>, K> {
  static constexpr bool kFits = CS % 8 == 0 && K % 8 == 0;
  static constexpr int64_t kGroup = 0;
  static constexpr int kBytes = kStageColumns * kTileOutputs * 2;
  static constexpr int kCopies = kBytes / 16 / kThreads;
  const char* from;
  bool inside;

  GLM_FN StagedWeight(const DenseWeight<BF16, RS, CS>& weight, int64_t n0,
                      int64_t count)
      : from(static_cast<const char*>(weight.data) +
             (Thread() / 16 * CS + n0 + Thread() % 16 * 8) * 2),
        inside(Thread() % 16 * 8 < count) {}
  GLM_FN Copy16 Copy(int i, int step) const {
    const int k = Thread() / 16 + i * (kThreads / 16);
    const int64_t skipped = int64_t(step) * kStageColumns;
    return {from + (skipped + k - Thread() / 16) * CS * 2,
            (k * int(kTileOutputs) + Thread() % 16 * 8) * 2, true,
            inside && (K % kStageColumns == 0 || skipped + k < K)};
  }
  GLM_FN static Piece At(const char* stage, int n, int chunk) {
    const uint16_t* at = reinterpret_cast<const uint16_t*>(stage) +
                         chunk * 8 * kTileOutputs + n;
    Piece v;
    GLM_UNROLL for (int i = 0; i < 8; ++i) v[i] = at[i * kTileOutputs];
    return v;
  }
};

template <int64_t N, int64_t Columns, int64_t G, int64_t K>
struct StagedWeight<Gptq4Weight<N, Columns, G>, K> {
  static constexpr bool kFits =
      N % 4 == 0 && K % 8 == 0 && G % kStageColumns == 0;
  static constexpr int64_t kGroup = G;
  // Rows of words are 8 banks apart, as a quarter of a wave reads them.
  static constexpr int kStride = kTileOutputs + 8;
  static constexpr int kBytes = kStageColumns / 8 * kStride * 4;
  static constexpr int kCopies = 1;
  const uint32_t* from;
  bool inside;

  GLM_FN StagedWeight(const Gptq4Weight<N, Columns, G>& weight, int64_t n0,
                      int64_t count)
      : from(weight.words + Thread() / 32 % 4 * N + n0 + Lane() * 4),
        inside(Lane() * 4 < count) {}
  GLM_FN Copy16 Copy(int, int step) const {
    const int row = Thread() / 32;
    const int64_t word = int64_t(step) * 4;
    return {from + word * N, (row * kStride + Lane() * 4) * 4, row < 4,
            inside && (K % kStageColumns == 0 || word + row < K / 8)};
  }
  GLM_FN static Piece At(const char* stage, int n, int chunk) {
    return CodePiece(
        reinterpret_cast<const uint32_t*>(stage)[chunk * kStride + n]);
  }
  GLM_FN static uint32_t Scales(const Gptq4Weight<N, Columns, G>& weight,
                                int64_t n0, int n, int count, int64_t group) {
    constexpr int kTogether = kSumColumns > 1 ? 2 : 1;  // N is even
    const void* at = glm::kernel::At<F16>(
        weight.scales, group * N + n0 + Least(n, count - kTogether));
    if constexpr (kTogether == 2) return *static_cast<const uint32_t*>(at);
    return *static_cast<const uint16_t*>(at);
  }
};

template <int64_t Columns, int64_t G, int64_t K>
struct StagedWeight<Int8Weight<Columns, G>, K> {
  static constexpr bool kFits = K % 16 == 0 && G % kStageColumns == 0;
  static constexpr int64_t kGroup = G;
  static constexpr int kBytes = kTileOutputs * kStageColumns;
  static constexpr int kCopies = 1;
  const int8_t* from;
  bool inside;

  GLM_FN StagedWeight(const Int8Weight<Columns, G>& weight, int64_t n0,
                      int64_t count)
      : from(weight.codes +
             (n0 + Least(Thread() / 2, count - 1)) * K + Thread() % 2 * 16),
        inside(Thread() / 2 < count) {}
  GLM_FN Copy16 Copy(int, int step) const {
    const int64_t k = int64_t(step) * kStageColumns;
    return {from + k, Thread() * 16, true,
            inside && (K % kStageColumns == 0 || k + Thread() % 2 * 16 < K)};
  }
  GLM_FN static Piece At(const char* stage, int n, int chunk) {
    const Bytes<8> code = *reinterpret_cast<const Bytes<8>*>(
        stage + n * kStageColumns + chunk * 8);
    Piece v;
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      v[i] = uint16_t(Bits(float(code[i])) >> 16);
    }
    return v;
  }
  GLM_FN static uint32_t Scales(const Int8Weight<Columns, G>& weight,
                                int64_t n0, int n, int count, int64_t group) {
    const auto at = [&](int i) {
      return uint32_t(static_cast<const uint16_t*>(
          weight.scales)[(n0 + Least(i, count - 1)) * weight.kGroups + group]);
    };
    return kSumColumns > 1 ? at(n) | at(n + 1) << 16 : at(n);
  }
};

// ------------------------------------------------------------------ results

template <int OT>
GLM_FN void StorePair(void* memory, int64_t index, float a, float b) {
  if constexpr (OT == F32) {
    *static_cast<Float2*>(At<OT>(memory, index)) = Float2{a, b};
  } else {
    uint16_t pair[2];
    Store<OT>(pair, 0, a);
    Store<OT>(pair, 1, b);
    *static_cast<uint32_t*>(At<OT>(memory, index)) =
        uint32_t(pair[0]) | uint32_t(pair[1]) << 16;
  }
}

// Row r of 16 sums a lane from column n0 of y, `count` of them. kEven: rows of
// y are even addresses of elements.
template <int OT, bool kEven>
GLM_FN void StoreSums(const TileSums& sums, int r, int n0, int64_t count,
                      void* y) {
  if constexpr (kSumColumns > 1) {
    GLM_UNROLL for (int c = 0; c < kSumColumns; c += 2) {
      const int n = n0 + TileColumn(SumIndex(0, c));
      const float a = sums[SumIndex(r, c)], b = sums[SumIndex(r, c + 1)];
      if (kEven && n + 1 < count) {
        StorePair<OT>(y, n, a, b);
      } else {
        if (n < count) Store<OT>(y, n, a);
        if (n + 1 < count) Store<OT>(y, n + 1, b);
      }
    }
  } else {
    const int n = n0 + TileColumn(0);
    if (n < count) Store<OT>(y, n, sums[SumIndex(r, 0)]);
  }
}

// ------------------------------------------------------------------ product

// Columns whose products a matrix unit sums before they join the result: a
// scale's, or as many as keep its sums exact enough (an sm_90 cuts off what
// does not fit, so the error grows with every addition).
inline constexpr int64_t kColumnsTogether = 512;

// At most kRows rows, 32, 64 or 128, through `memory` of kRoom bytes.
template <int OT, int64_t K, int kRows, bool kEven, int kRoom, class Weight,
          class Has, class XRow, class YRow>
GLM_FN void StagedProduct(char* memory, const Weight& weight, int64_t n0,
                          int64_t count, Has has, XRow x_row, YRow y_row) {
  using X = StagedRows<kRows, K>;
  using W = StagedWeight<Weight, K>;
  constexpr int kStage = X::kBytes + W::kBytes;
  static_assert(kSlots<kStage, kRoom> * kStage <= kRoom, "stages fit");
  constexpr int kM = kRows / 32, kN = kWaveOutputs / 16;  // tiles of a wave
  constexpr int64_t kTogether = W::kGroup != 0 ? W::kGroup : kColumnsTogether;
  constexpr bool kParts = W::kGroup != 0 || K > kTogether;
  constexpr int kSteps = int(CeilDiv(K, kStageColumns));
  constexpr int kPartSteps = int(kTogether / kStageColumns);
  const X x(has, x_row);
  const W w(weight, n0, count);
  // Tiles of rows alternate, so that both halves have some of few rows.
  const int row0 = Wave() % 2 * 16;
  const int out0 = Wave() / 2 * kWaveOutputs;
  TileSums sums[kM][kN] = {};
  TileSums part[kM][kN] = {};
  // Two neighbouring outputs' f16 a word.
  uint32_t scale[kN][CeilDiv(kSumColumns, 2)];

  RunStages<X::kCopies + W::kCopies, kStage, kRoom>(
      memory, kSteps,
      [&](int i, int step) GLM_INLINE {
        if (i < X::kCopies) return x.Copy(i, step);
        Copy16 copy = w.Copy(i - X::kCopies, step);
        copy.to += X::kBytes;
        return copy;
      },
      [&](const char* stage, int step) GLM_INLINE {
        if (out0 >= count) return;
        // 1. The scales that the group will need.
        if constexpr (W::kGroup != 0) {
          if (step % kPartSteps == 0) {
            GLM_UNROLL for (int j = 0; j < kN; ++j) {
              GLM_UNROLL for (int c = 0; c < kSumColumns; c += 2) {
                const int n = out0 + j * 16 + TileColumn(SumIndex(0, c));
                scale[j][c / 2] =
                    W::Scales(weight, n0, n, int(count), step / kPartSteps);
              }
            }
          }
        }
        // 2. The product of 32 columns.
        GLM_UNROLL for (int round = 0; round < kRounds; ++round) {
          const int chunk = PieceChunk(round);
          Pieces a[kM];
          GLM_UNROLL for (int m = 0; m < kM; ++m) {
            GLM_UNROLL for (int i = 0; i < kPieces; ++i) {
              a[m].of[i] = X::At(stage, m * 32 + row0 + PieceRow(i), chunk);
            }
          }
          GLM_UNROLL for (int j = 0; j < kN; ++j) {
            Pieces b;
            GLM_UNROLL for (int i = 0; i < kPieces; ++i) {
              b.of[i] = W::At(stage + X::kBytes, out0 + j * 16 + PieceRow(i),
                              chunk);
            }
            GLM_UNROLL for (int m = 0; m < kM; ++m) {
              MultiplyPieces(kParts ? part[m][j] : sums[m][j], a[m], b);
            }
          }
        }
        // 3. A group's sum joins the result.
        if constexpr (kParts) {
          if ((step + 1) % kPartSteps != 0 && step + 1 != kSteps) return;
          GLM_UNROLL for (int m = 0; m < kM; ++m) {
            GLM_UNROLL for (int j = 0; j < kN; ++j) {
              GLM_UNROLL for (int r = 0; r < kSumRows; ++r) {
                GLM_UNROLL for (int c = 0; c < kSumColumns; ++c) {
                  const int i = SumIndex(r, c);
                  if constexpr (W::kGroup == 0) {
                    sums[m][j][i] += part[m][j][i];
                  } else {
                    sums[m][j][i] += Half(scale[j][c / 2], c % 2) *
                                     part[m][j][i];
                  }
                }
              }
              part[m][j] = 0.0f;
            }
          }
        }
      });

  if (out0 >= count) return;
  GLM_UNROLL for (int m = 0; m < kM; ++m) {
    GLM_UNROLL for (int r = 0; r < kSumRows; ++r) {
      const int row = m * 32 + row0 + TileRow(SumIndex(r, 0));
      if (!has(row)) continue;
      void* y = y_row(row);
      GLM_UNROLL for (int j = 0; j < kN; ++j) {
        StoreSums<OT, kEven>(sums[m][j], r, out0 + j * 16, count, y);
      }
    }
  }
}

// At most 16 rows and 32 outputs of a long row: the waves share the columns,
// straight from memory.
template <int OT, int64_t K, bool kEven, class Weight, class Has, class XRow,
          class YRow>
GLM_FN void NarrowProduct(const Weight& weight, int64_t n0, int64_t count,
                          Has has, XRow x_row, YRow y_row) {
  constexpr int kN = 2;
  constexpr int kSteps = int(CeilDiv(K, kStageColumns));
  constexpr int kPartSteps = int(kColumnsTogether / kStageColumns);
  const void* x[kPieces];
  const void* w[kN][kPieces];
  bool inside[kPieces];
  GLM_UNROLL for (int i = 0; i < kPieces; ++i) {
    inside[i] = has(PieceRow(i));
    x[i] = x_row(inside[i] ? PieceRow(i) : 0);
    GLM_UNROLL for (int j = 0; j < kN; ++j) {
      const int64_t n = n0 + Least(j * 16 + PieceRow(i), count - 1);
      w[j][i] = At<BF16>(weight.data, n * K);
    }
  }
  TileSums sums[kN] = {};
  TileSums part[kN] = {};
  const auto load = [&](const void* row, int64_t k) {
    return *static_cast<const Piece*>(At<BF16>(row, k));
  };
  // Every kWaves-th stretch of 32 columns, kFlying of them in flight.
  constexpr int kFlying = 4;
  constexpr int kRest = int(K % (kStageColumns * kWaves * kFlying));
  for (int step = Wave(), last = 0; step < kSteps; step += kWaves * kFlying) {
    Pieces a[kFlying][kRounds], b[kFlying][kRounds][kN];
    GLM_UNROLL for (int s = 0; s < kFlying; ++s) {
      GLM_UNROLL for (int round = 0; round < kRounds; ++round) {
        const int64_t k = (step + s * kWaves) * kStageColumns +
                          PieceChunk(round) * 8;
        const bool columns = kRest == 0 || k < K;
        GLM_UNROLL for (int i = 0; i < kPieces; ++i) {
          a[s][round].of[i] = uint16_t(0);
          if (inside[i] && columns) a[s][round].of[i] = load(x[i], k);
          GLM_UNROLL for (int j = 0; j < kN; ++j) {
            b[s][round][j].of[i] = load(w[j][i], columns ? k : 0);
          }
        }
      }
    }
    GLM_UNROLL for (int s = 0; s < kFlying; ++s) {
      GLM_UNROLL for (int round = 0; round < kRounds; ++round) {
        GLM_UNROLL for (int j = 0; j < kN; ++j) {
          MultiplyPieces(part[j], a[s][round], b[s][round][j]);
        }
      }
    }
    last += kFlying;
    if (last == kPartSteps || step + kWaves * kFlying >= kSteps) {
      GLM_UNROLL for (int j = 0; j < kN; ++j) {
        sums[j] += part[j];
        part[j] = 0.0f;
      }
      last = 0;
    }
  }

  // The waves' sums, added in their order.
  constexpr int kOutputs = kN * 16;
  GLM_SHARED(float, parts, kWaves * 16 * kOutputs);
  GLM_UNROLL for (int j = 0; j < kN; ++j) {
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      parts[(Wave() * 16 + TileRow(i)) * kOutputs + j * 16 + TileColumn(i)] =
          sums[j][i];
    }
  }
  Barrier();
  for (int i = Thread(); i < 16 * kOutputs; i += kThreads) {
    float sum = parts[i];
    GLM_UNROLL for (int wave = 1; wave < kWaves; ++wave) {
      sum += parts[wave * 16 * kOutputs + i];
    }
    const int row = i / kOutputs, n = i % kOutputs;
    if (n < count && has(row)) Store<OT>(y_row(row), n, sum);
  }
  Barrier();
}

// A Product that is not aligned has one way for few rows and many.
inline constexpr bool kFewRowsApart = false;

// Whether AlignedProduct is for such operands.
template <int XT, int64_t K, class Weight>
inline constexpr bool kProductFits =
    XT == BF16 && StagedWeight<Weight, K>::kFits;

template <class Weight>
inline constexpr bool kContiguous = false;
template <int64_t RS>
inline constexpr bool kContiguous<DenseWeight<BF16, RS, 1>> = true;

// Shared memory of the stages: all that a kernel may have where a tile of 128
// rows leaves two stages only.
template <int kRows>
inline constexpr int kStageRoom = kRows == 128 ? 48 * 1024 : 36 * 1024;

template <int OT, int64_t K, int kRows, bool kEven, class Weight, class Has,
          class XRow, class YRow>
GLM_FN void AlignedProduct(const Weight& weight, int64_t n0, int64_t count,
                           int64_t rows, Has has, XRow x_row, YRow y_row) {
  const auto exists = [&](int r) { return r < rows && has(r); };
  if constexpr (kRows == 16 && kContiguous<Weight>) {
    NarrowProduct<OT, K, kEven>(weight, n0, count, exists, x_row, y_row);
  } else {
    using W = StagedWeight<Weight, K>;
    constexpr int kMost = kRows < 32 ? 32 : kRows;
    constexpr int kStage = StagedRows<kMost, K>::kBytes + W::kBytes;
    constexpr int kRoom = kSlots<kStage, kStageRoom<kRows>> * kStage;
    GLM_SHARED(char, stages, kRoom);
    if (kMost == 64 && rows <= 32) {
      StagedProduct<OT, K, 32, kEven, kRoom>(stages, weight, n0, count, exists,
                                             x_row, y_row);
    } else {
      StagedProduct<OT, K, kMost, kEven, kRoom>(stages, weight, n0, count,
                                                exists, x_row, y_row);
    }
  }
}

}  // namespace glm::kernel

#endif  // GLM_GPU
