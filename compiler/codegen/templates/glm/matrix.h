// matrix.h - products of rows with a weight (weight.h), fp32 sums.
//
//   Dots   all pairs of dot products of two lists of contiguous rows
//   StretchDots   the same over stretches of the rows, few columns in all
//   Mix    linear combinations of rows
//   Gemv   few rows times one tile of a weight, which is read once
//   TileMatmul   many rows times one tile of a weight, which is unpacked once
//   Multiply     Gemv or TileMatmul, by the number of rows
//
// Gemv, TileMatmul and Multiply compute, for outputs n0 .. n0 + count - 1 and
// `rows` rows of K elements,
//
//   out(r, n, sum_k x[r][k] W[n0 + n][k])
//
// where `x_row(r)` is the address of row r. `rows` is at most kMost, 8 for Dots
// and Gemv; `count` is at most kWidth for Gemv and kTileN for a TileMatmul. `out` is called once for each pair,
// by one work-item, pairs in any order; what it stored is there for the next
// word.
#pragma once

#include "glm/block.h"
#include "glm/gpu_matrix.h"
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
    Gemv<XT, K, kWidth, Least(kMost, kGemvRows)>(block, weight, n0, count, rows, x_row, out);
  } else if constexpr (kMost > kGemvRows) {
    TileMatmul<XT, K>(block, weight, n0, count, rows, x_row, out);
  }
}

}  // namespace glm::kernel
