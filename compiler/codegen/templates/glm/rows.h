// rows.h - rows and elements picked by number.
//
// Grid: T, one block a row.
#pragma once

#include "glm/block.h"

namespace glm::kernel {

// Arguments: seqs, N, T, ids I32 [T], table WT [V, H], out OT [T, H]. An id
// outside the table gives a row of zeros.
template <int WT, int OT, int64_t H, int64_t V, class Block>
GLM_FN void Embed(Block& block, const Args& args) {
  const int64_t row = block.x;
  if (!Sequences(args).Valid(row)) return;
  const int64_t id = static_cast<const int32_t*>(args.Pointer(3))[row];
  const void* table = args.Pointer(4);
  void* out = args.Pointer(5);
  const bool known = id >= 0 && id < V;
  Each<H>(block, [&](int64_t i, int64_t) {
    Store<OT>(out, row * H + i, known ? Load<WT>(table, id * H + i) : 0.0f);
  });
}

// Arguments: seqs, N, T, x XT [rows, W], rows I32 [T], out OT [T, W]. Row -1
// gives zeros.
template <int XT, int OT, int64_t W, class Block>
GLM_FN void GatherRows(Block& block, const Args& args) {
  const int64_t row = block.x;
  if (!Sequences(args).Valid(row)) return;
  const void* x = args.Pointer(3);
  const int64_t from = static_cast<const int32_t*>(args.Pointer(4))[row];
  void* out = args.Pointer(5);
  Each<W>(block, [&](int64_t i, int64_t) {
    Store<OT>(out, row * W + i, from >= 0 ? Load<XT>(x, from * W + i) : 0.0f);
  });
}

// Arguments: seqs, N, T, x XT [T, C], C, ids I32 [T, k], out OT [T, k]. Id -1
// gives 0.
template <int XT, int OT, int64_t k, class Block>
GLM_FN void TakeCols(Block& block, const Args& args) {
  const int64_t row = block.x;
  if (!Sequences(args).Valid(row)) return;
  const void* x = args.Pointer(3);
  const int64_t columns = args.Integer(4);
  const int32_t* ids = static_cast<const int32_t*>(args.Pointer(5)) + row * k;
  void* out = args.Pointer(6);
  Each<k>(block, [&](int64_t i, int64_t) {
    const float value =
        ids[i] >= 0 ? Load<XT>(x, row * columns + ids[i]) : 0.0f;
    Store<OT>(out, row * k + i, value);
  });
}

}  // namespace glm::kernel
