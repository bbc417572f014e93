// top_k.h - the k largest columns of each row, the lower one on ties; NaN
// counts as lower than -inf, -0 equals +0.
//
// Grid: T, one block a row.
//
// Arguments: seqs, N, T, scores F32 [T, C], C, ids I32 [T, k]. With limit = P >
// 0 only the first (position + j + 1) / P columns are candidates, and the ids
// are in order of column; with limit = 0 the largest stands first, the lower
// column first among equals. -1 stands at the end where candidates are missing.
#pragma once

#include "glm/block.h"
#include "glm/gpu_top_k.h"
#include "glm/host_top_k.h"

namespace glm::kernel {

template <int64_t k, int64_t limit, class Block>
GLM_FN void TopK(Block& block, const Args& args) {
  const Sequences sequences(args);
  const int64_t row = block.x;
  if (!sequences.Valid(row)) return;
  const int64_t columns = args.Integer(4);
  const float* scores =
      static_cast<const float*>(args.Pointer(3)) + row * columns;
  int32_t* ids = static_cast<int32_t*>(args.Pointer(5)) + row * k;
  int64_t candidates = columns;
  if constexpr (limit > 0) {
    candidates = Least(columns, sequences.Context(row) / limit);
  }
  SelectTopK<k, (limit > 0)>(block, scores, candidates, columns, ids);
}

}  // namespace glm::kernel
