// kpool.h - completes pools of P neighbouring index keys and keeps the rest.
//
// Grid: S, ceil(ceil(N / P) / 16). A block has 16 of the pools that the step
// can complete in a sequence. Only the first of them can need the tail that the
// same step overwrites, so its block does both.
//
// Arguments: seqs, N, T, S, k XT [T, D], g XT [T, D], ape WT [P, D], tail base,
// stride (slot: CT [P-1, 2, D] = (k, g)), pools base, stride (slot: CT
// [max_pools, D]).
#pragma once

#include "glm/block.h"

namespace glm::kernel {

inline constexpr int64_t kPoolsTogether = 16;

template <int XT, int WT, int CT, int64_t D, int64_t P, class Block>
GLM_FN void KPool(Block& block, const Args& args) {
  const Sequences sequences(args);
  const int64_t sequence = block.x;
  const int64_t length = sequences.Length(sequence);
  if (length == 0) return;
  const int64_t slot = sequences.Slot(sequence);
  const int64_t begin = sequences.Position(sequence);
  const int64_t end = begin + length;
  const int64_t first = sequence * sequences.tokens * D;
  const void* k = At<XT>(static_cast<const void*>(args.Pointer(4)), first);
  const void* g = At<XT>(static_cast<const void*>(args.Pointer(5)), first);
  const void* ape = args.Pointer(6);
  void* tail = SlotMemory(args, 7, slot);
  void* pools = SlotMemory(args, 9, slot);

  // 1. The block's pools whose last position is in this step. The softmax runs
  //    over the P members, channel by channel.
  const int64_t from = begin / P + block.y * kPoolsTogether;
  const int64_t pool_end = Least(from + kPoolsTogether, end / P);
  for (int64_t pool = from; pool < pool_end; ++pool) {
    Each<D>(block, [&](int64_t d, int64_t) {
      float key[P];
      float gate[P];
      float most = -__builtin_inff();
#pragma unroll
      for (int64_t s = 0; s < P; ++s) {
        const int64_t t = pool * P + s - begin;  // < 0: in the tail
        key[s] = t < 0 ? Load<CT>(tail, (2 * s + 0) * D + d)
                       : Load<XT>(k, t * D + d);
        gate[s] = (t < 0 ? Load<CT>(tail, (2 * s + 1) * D + d)
                         : Load<XT>(g, t * D + d)) +
                  Load<WT>(ape, s * D + d);
        most = Max(most, gate[s]);
      }
      float sum = 0.0f;
      float mix = 0.0f;
#pragma unroll
      for (int64_t s = 0; s < P; ++s) {
        const float weight = Exp(gate[s] - most);
        sum += weight;
        mix += weight * key[s];
      }
      Store<CT>(pools, pool * D + d, mix / sum);
    });
  }

  // 2. Members of the incomplete pool that this step brought.
  if (block.y > 0) return;
  const int64_t open = end / P * P;
  for (int64_t place = Most(open, begin); place < end; ++place) {
    Each<D>(block, [&](int64_t d, int64_t) {
      const int64_t row = (place - begin) * D + d;
      const int64_t to = 2 * (place - open) * D + d;
      Store<CT>(tail, to, Load<XT>(k, row));
      Store<CT>(tail, to + D, Load<XT>(g, row));
    });
  }
}

}  // namespace glm::kernel
