// index_scores.h - score of each complete pool for each row.
//
// Grid: ceil(C / 64), ceil(T / 32). A block owns 64 pools and 32 rows;
// `together` rows of one sequence share the unpacked pools.
//
// Arguments: seqs, N, T, q XT [T, heads, D], w WT [T, heads], pools base,
// stride (slot: CT [max_pools, D]), scale F32, scores F32 [T, C], C. Row
// (position + j) has candidates p < (position + j + 1) / P; other columns are
// left alone.
#pragma once

#include "glm/matrix.h"

namespace glm::kernel {

template <int XT, int WT, int CT, int64_t heads, int64_t D, int64_t P,
          int64_t together, class Block>
GLM_FN void IndexScores(Block& block, const Args& args) {
  constexpr int64_t kRows = 32;
  static_assert(together <= kRows && together * heads <= kTileRows,
                "the heads of these rows are multiplied together");
  const Sequences sequences(args);
  const void* q = args.Pointer(3);
  const void* w = args.Pointer(4);
  const float scale = args.Real(7);
  float* scores = static_cast<float*>(args.Pointer(8));
  const int64_t columns = args.Integer(9);
  const int64_t p0 = block.x * kTileN;
  const int64_t end = Least((block.y + 1) * kRows, sequences.rows);

  for (int64_t row = block.y * kRows; row < end;) {
    // 1. The next valid rows of one sequence, at most `together`.
    if (!sequences.Valid(row)) {
      ++row;
      continue;
    }
    const int64_t sequence = sequences.Sequence(row);
    int64_t rows = 1;
    while (rows < together && row + rows < end &&
           sequences.Sequence(row + rows) == sequence &&
           sequences.Valid(row + rows)) {
      ++rows;
    }

    // 2. Candidates of the last of them in this tile.
    const int64_t count =
        Least(kTileN, sequences.Context(row + rows - 1) / P - p0);
    if (count > 0) {
      // 3. Every head's products q . pool; row r of them is (row, head).
      GLM_SHARED(float, products, together * heads * kTileN);
      const DenseWeight<CT, D, 1> pools = {
          SlotMemory(args, 5, sequences.Slot(sequence))};
      TileMatmul<XT, D>(
          block, pools, p0, count, rows * heads,
          [&](int64_t r) { return At<XT>(q, (row * heads + r) * D); },
          [&](int64_t r, int64_t p, float v) { products[r * kTileN + p] = v; });

      // 4. sum_h w_h max(0, scale q_h . pool) for each row's own candidates.
      EachOf<kTileN>(block, rows, [&](int64_t r, int64_t p) {
        if (p >= sequences.Context(row + r) / P - p0) return;
        float sum = 0.0f;
        GLM_UNROLL for (int64_t h = 0; h < heads; ++h) {
          sum += Load<WT>(w, (row + r) * heads + h) *
                 Max(0.0f, scale * products[(r * heads + h) * kTileN + p]);
        }
        scores[(row + r) * columns + p0 + p] = sum;
      });
    }
    row += rows;
  }
}

}  // namespace glm::kernel
