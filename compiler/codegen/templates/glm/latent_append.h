// latent_append.h - the rows of a step go to the end of their slots' caches.
//
// Grid: T, one block a row.
//
// Arguments: seqs, N, T, c XT [T, W], cache base, stride (slot: CT
// [max_context, W]).
#pragma once

#include "glm/block.h"

namespace glm::kernel {

template <int XT, int CT, int64_t W, class Block>
GLM_FN void LatentAppend(Block& block, const Args& args) {
  const Sequences sequences(args);
  const int64_t row = block.x;
  if (!sequences.Valid(row)) return;
  const void* c = args.Pointer(3);
  void* cache = SlotMemory(args, 4, sequences.Slot(sequences.Sequence(row)));
  const int64_t place = sequences.Context(row) - 1;
  Each<W>(block, [&](int64_t i, int64_t) {
    Store<CT>(cache, place * W + i, Load<XT>(c, row * W + i));
  });
}

}  // namespace glm::kernel
