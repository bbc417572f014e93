// matrix.h - products of rows with a weight (weight.h), fp32 sums.
//
//   Dots   all pairs of dot products of two lists of contiguous rows
//   StretchDots   the same over stretches of the rows, few columns in all
//   Mix    linear combinations of rows
//   Gemv   few rows times one tile of a weight, which is read once
//   TileMatmul   many rows times one tile of a weight, which is unpacked once
//   Multiply     Gemv or TileMatmul, by the number of rows
//   Product      many rows times a wide tile of a weight
//   EachListOf   lists of the places of each id of a table
//
// Gemv, TileMatmul and Multiply compute, for outputs n0 .. n0 + count - 1 and
// `rows` rows of K elements,
//
//   out(r, n, sum_k x[r][k] W[n0 + n][k])
//
// where `x_row(r)` is the address of row r. `rows` is at most kMost, 8 for Dots
// and Gemv; `count` is at most kWidth for Gemv and kTileN for a TileMatmul.
// `out` is called once for each pair, by one work-item, pairs in
// any order; what it stored is there for the next word.
//
// Product stores y_row(r)[n] for those of the rows 0 .. rows - 1 with has(r),
// and reads no others. `count` is at most kTileOutputs; y_row(r) is the address
// of output n0. kEven: those addresses are even numbers of elements. kAligned:
// those of the weight's rows are multiples of 16 bytes if their stride is, and
// outputs that are neighbours in memory come in whole eights.
#pragma once

#include "glm/block.h"
#include "glm/gpu_choices.h"
#include "glm/gpu_matrix.h"
#include "glm/gpu_product.h"
#include "glm/host_matrix.h"
#include "glm/weight.h"

namespace glm::kernel {

// Rows up to which reading a weight once beats unpacking it.
inline constexpr int64_t kGemvRows = 8;

// kMost: bound of `rows`.
template <int XT, int64_t K, int64_t kWidth, int64_t kMost, class Block,
          class Weight, class XRow, class Out>
GLM_FN void Multiply(Block& block, const Weight& weight, int64_t n0,
                     int64_t count, int64_t rows, XRow x_row, Out out) {
  static_assert(kMost <= kTileRows, "one tile of rows");
  if (kMost <= kGemvRows || rows <= kGemvRows) {
    Gemv<XT, K, kWidth, Least(kMost, kGemvRows)>(block, weight, n0, count, rows,
                                                 x_row, out);
  } else if constexpr (kMost > kGemvRows) {
    TileMatmul<XT, K>(block, weight, n0, count, rows, x_row, out);
  }
}

// Rows of the tile that a block multiplies with a weight of `outputs`: few
// where few outputs would leave a GPU without work.
constexpr int64_t RowsOfTile(int64_t outputs) {
  return outputs <= 32 ? 16 : outputs <= 1536 ? 64 : 128;
}

// Sums of a work-item in a tile of `rows`: twice as many where parts of a row
// have their own in registers too.
template <int64_t kRows, int64_t K, bool kDense>
inline constexpr int64_t kSumsOfTile =
    kRows / 2 * ((kDense ? kSumsOfParts<kRows, K> : kSumsOfCodes) ? 2 : 1);

// Outputs of the tile from n0 on: all that it can have, if all tiles have them.
constexpr int64_t OutputsOfTile(int64_t outputs, int64_t n0) {
  return outputs % kTileOutputs == 0 ? kTileOutputs
                                     : Least(kTileOutputs, outputs - n0);
}

// kRows: bound of `rows`, 16, 64 or 128.
template <int XT, int OT, int64_t K, int64_t kRows, bool kEven, bool kAligned,
          class Block, class Weight, class Has, class XRow, class YRow>
GLM_FN void Product(Block& block, const Weight& weight, int64_t n0,
                    int64_t count, int64_t rows, Has has, XRow x_row,
                    YRow y_row) {
  if constexpr (kAligned && kProductFits<XT, K, Weight>) {
    AlignedProduct<OT, K, kRows, kEven>(weight, n0, count, rows, has, x_row,
                                        y_row);
  } else {
    GLM_SHARED(int32_t, valid, kRows);
    for (int64_t first = 0; first < rows;) {
      const int64_t some = Compact(block, first, rows, kRows, has, valid);
      for (int64_t n = 0; n < count; n += kTileN) {
        const int64_t outputs = Least(kTileN, count - n);
        const auto x_of = [&](int64_t r) { return x_row(valid[r]); };
        const auto out = [&](int64_t r, int64_t i, float v) {
          Store<OT>(y_row(valid[r]), n + i, v);
        };
        if constexpr (kFewRowsApart) {
          Multiply<XT, K, kTileN, kRows>(block, weight, n0 + n, outputs, some,
                                         x_of, out);
        } else {
          TileMatmul<XT, K>(block, weight, n0 + n, outputs, some, x_of, out);
        }
      }
    }
  }
}

}  // namespace glm::kernel
