// gpu_product.h - the product of many rows with a tile of kTileOutputs outputs
// of a weight on the matrix units of a GPU.
//
// Operands stream through stages of shared memory (gpu_stages.h), 32 columns at
// a time. A group's scale multiplies its sum. 8 waves share the tile, by rows
// and outputs as StageTile says.
//
// It is for what is aligned: bf16 rows of a multiple of 8 columns from
// addresses of a multiple of 16 bytes, and weights alike. Arena and weights are
// at such addresses on GPUs. All else is gpu_matrix.h's.
#pragma once

#include "glm/gpu_stages.h"
#include "glm/sm_90_product.h"

#ifdef GLM_GPU

namespace glm::kernel {

// sm_90_product.h's.
template <int OT, int64_t K, int kRows, bool kEven, int kRoom, class Weight,
          class Has, class XRow, class YRow>
GLM_FN void WarpgroupProduct(char* memory, const Weight& weight, int64_t n0,
                             int64_t count, Has has, XRow x_row, YRow y_row);

// ------------------------------------------------------------------ product

// Row r of the sums of a lane's tile from column n0 of y, `count` of them.
// kEven: rows of y are even addresses of elements.
template <class Tile, int OT, bool kEven>
GLM_FN void StoreSums(const TileSums& sums, int r, int n0, int64_t count,
                      void* y) {
  if constexpr (Tile::kSumColumns > 1) {
    GLM_UNROLL for (int c = 0; c < Tile::kSumColumns; c += 2) {
      const int n = n0 + Tile::SumOutput(Tile::SumIndex(0, c));
      const float a = sums[Tile::SumIndex(r, c)];
      const float b = sums[Tile::SumIndex(r, c + 1)];
      if (kEven && n + 1 < count) {
        StorePair<OT>(y, n, a, b);
      } else {
        if (n < count) Store<OT>(y, n, a);
        if (n + 1 < count) Store<OT>(y, n + 1, b);
      }
    }
  } else {
    const int n = n0 + Tile::SumOutput(0);
    if (n < count) Store<OT>(y, n, sums[Tile::SumIndex(r, 0)]);
  }
}

// At most kRows rows, whole tiles of the waves beside each other, through
// `memory` of kRoom bytes.
template <int OT, int64_t K, int kRows, bool kEven, int kRoom, class Weight,
          class Has, class XRow, class YRow>
GLM_FN void StagedProduct(char* memory, const Weight& weight, int64_t n0,
                          int64_t count, Has has, XRow x_row, YRow y_row) {
  using X = StagedRows<kRows, K>;
  using W = StagedWeight<Weight, K>;
  using Tile = StageTile;
  constexpr int kStage = X::kBytes + W::kBytes;
  static_assert(kSlots<kStage, kRoom> * kStage <= kRoom, "stages fit");
  // Tiles of a wave. Waves beside each other by rows take tiles in turn, so
  // that all have some of few rows.
  constexpr int kRowWaves = Tile::RowWaves(kRows);
  constexpr int kWaveOutputs = int(kTileOutputs) * kRowWaves / kWaves;
  constexpr int kM = kRows / 16 / kRowWaves, kN = kWaveOutputs / 16;
  constexpr int64_t kTogether = W::kGroup != 0 ? W::kGroup : kColumnsTogether;
  constexpr bool kParts = W::kGroup != 0 || K > kTogether;
  constexpr int kSteps = int(CeilDiv(K, kStageColumns));
  constexpr int kPartSteps = int(kTogether / kStageColumns);
  const X x(has, x_row);
  const W w(weight, n0, count);
  const int row0 = Wave() % kRowWaves * 16;
  const int out0 = Wave() / kRowWaves * kWaveOutputs;
  __builtin_assume(out0 < int(kTileOutputs));
  TileSums sums[kM][kN] = {};
  TileSums part[kM][kN];
  // Two neighbouring outputs' f16 a word.
  uint32_t scale[kN][CeilDiv(Tile::kSumColumns, 2)];

  RunStages<X::kCopies + W::kCopies, kStage, kRoom, kSteps, kPartSteps, false>(
      memory,
      [&](int i, int step) GLM_INLINE {
        if (i < X::kCopies) return x.Copy(i, step);
        Copy16 copy = w.Copy(i - X::kCopies, step);
        copy.to += X::kBytes;
        return copy;
      },
      [](const char*) {},
      // 1. The scales that a group will need.
      [&](int group) GLM_INLINE {
        if (out0 >= count) return;
        if constexpr (kParts) {
          GLM_UNROLL for (int m = 0; m < kM; ++m) {
            GLM_UNROLL for (int j = 0; j < kN; ++j) part[m][j] = 0.0f;
          }
        }
        if constexpr (W::kGroup != 0) {
          GLM_UNROLL for (int j = 0; j < kN; ++j) {
            GLM_UNROLL for (int c = 0; c < Tile::kSumColumns; c += 2) {
              const int n =
                  out0 + j * 16 + Tile::SumOutput(Tile::SumIndex(0, c));
              scale[j][c / 2] = W::Scales(weight, n0, n, int(count), group);
            }
          }
        }
      },
      // 2. The product of 32 columns.
      [&](const char* stage, const char*, auto fill) GLM_INLINE {
        if (out0 >= count) return fill();
        GLM_UNROLL for (int round = 0; round < Tile::kRounds; ++round) {
          typename Tile::Outputs b[kN];
          GLM_UNROLL for (int j = 0; j < kN; ++j) {
            b[j] = W::Load(stage + X::kBytes, out0 + j * 16, round);
          }
          GLM_UNROLL for (int m = 0; m < kM; ++m) {
            const typename Tile::Rows a =
                Tile::LoadRows(stage, m * 16 * kRowWaves + row0, round);
            if (round == 0 && m == 0) fill();
            GLM_UNROLL for (int j = 0; j < kN; ++j) {
              Tile::Multiply(kParts ? part[m][j] : sums[m][j], a, b[j]);
            }
          }
        }
      },
      // 3. A part's sum joins the result.
      [&](int index) GLM_INLINE {
        if (out0 >= count) return;
        if constexpr (kParts) {
          GLM_UNROLL for (int m = 0; m < kM; ++m) {
            GLM_UNROLL for (int j = 0; j < kN; ++j) {
              GLM_UNROLL for (int r = 0; r < Tile::kSumRows; ++r) {
                GLM_UNROLL for (int c = 0; c < Tile::kSumColumns; ++c) {
                  const int i = Tile::SumIndex(r, c);
                  if constexpr (W::kGroup == 0) {
                    sums[m][j][i] += part[m][j][i];
                  } else {
                    sums[m][j][i] +=
                        Half(scale[j][c / 2], c % 2) * part[m][j][i];
                  }
                }
              }
            }
          }
        }
      });

  if (out0 >= count) return;
  GLM_UNROLL for (int m = 0; m < kM; ++m) {
    GLM_UNROLL for (int r = 0; r < Tile::kSumRows; ++r) {
      const int row =
          m * 16 * kRowWaves + row0 + Tile::SumRow(Tile::SumIndex(r, 0));
      if (!has(row)) continue;
      void* y = y_row(row);
      GLM_UNROLL for (int j = 0; j < kN; ++j) {
        StoreSums<Tile, OT, kEven>(sums[m][j], r, out0 + j * 16, count, y);
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
        const int64_t k =
            (step + s * kWaves) * kStageColumns + PieceChunk(round) * 8;
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

template <class Weight, int64_t K>
inline constexpr bool kContiguous = false;
template <int64_t K>
inline constexpr bool kContiguous<DenseWeight<BF16, K, 1>, K> = true;

// Shared memory of the stages: all that a kernel may have where a tile of 128
// rows leaves few; products of codes share it with the lists of their rows.
template <int kRows, bool kCodes>
inline constexpr int kStageRoom = (kCodes         ? kCodeRoom
                                   : kRows == 128 ? 48
                                                  : 38) *
                                  1024;

// The stages of all products of a kernel that need as much.
template <int kBytes>
GLM_FN char* Stages() {
  GLM_SHARED_AT(kStageAlignment, char, stages, kBytes);
  return stages;
}

template <int kRows>
struct Rows {};

template <int OT, int64_t K, int kRows, bool kEven, class Weight, class Has,
          class XRow, class YRow>
GLM_FN void AlignedProduct(const Weight& weight, int64_t n0, int64_t count,
                           int64_t rows, Has has, XRow x_row, YRow y_row) {
  const auto exists = [&](int r) { return r < rows && has(r); };
  if constexpr (kRows == 16 && kContiguous<Weight, K>) {
    NarrowProduct<OT, K, kEven>(weight, n0, count, exists, x_row, y_row);
  } else {
    using W = StagedWeight<Weight, K>;
    constexpr int kMost = kRows < 32 ? 32 : kRows;
    constexpr int kStage = StagedRows<kMost, K>::kBytes + W::kBytes;
    constexpr int kRoom =
        kSlots<kStage, kStageRoom<kRows, W::kGroup != 0>> * kStage;
    char* stages = Stages<kRoom>();
    const auto product = [&]<int kSome>(Rows<kSome>) GLM_INLINE {
      if constexpr (kOnWarpgroups<Weight>) {
        WarpgroupProduct<OT, K, kSome, kEven, kRoom>(stages, weight, n0, count,
                                                     exists, x_row, y_row);
      } else {
        StagedProduct<OT, K, kSome, kEven, kRoom>(stages, weight, n0, count,
                                                  exists, x_row, y_row);
      }
    };
    // Tiles of at most 64 rows, and of codes, are those of lists, most of which
    // end in one of fewer.
    constexpr int kLeast =
        kOnWarpgroups<Weight> && (kMost == 64 || W::kGroup != 0) ? 16
        : kMost == 64 ? 16 * StageTile::RowWaves(64)
                      : kMost;
    if (kLeast < 32 && rows <= 16) {
      product(Rows < kLeast<32 ? 16 : kMost>{});
    } else if (kLeast <= 32 && rows <= 32) {
      product(Rows<kLeast <= 32 ? 32 : kMost>{});
    } else if (kLeast < 32 && rows <= 48) {
      product(Rows < kLeast<32 ? 48 : kMost>{});
    } else if (kLeast < 32 && kMost > 64 && rows <= 64) {
      product(Rows < kLeast<32 ? 64 : kMost>{});
    } else {
      product(Rows<kMost>{});
    }
  }
}

}  // namespace glm::kernel

#endif  // GLM_GPU
