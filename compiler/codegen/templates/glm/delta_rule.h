// delta_rule.h - gated delta rule with a decay per key channel.
//
// Grid: H, S. A block carries the state of one head of one sequence through the
// step. Columns of the state do not meet, so it goes through all tokens with
// one stripe of kLanes columns at a time, which stays in the nearest memory.
//
// Arguments: seqs, N, T, S, q XT [T, H, D], k XT [T, H, D], v XT [T, H, Dv],
// g F32 [T, H, D], beta F32 [T, H], state base, stride (slot: F32 [H, D, Dv]),
// o OT [T, H, Dv].
#pragma once

#include "glm/block.h"

namespace glm::kernel {

// Columns `column` .. of the state of a head, at most kColumns, token by token.
template <int XT, int OT, int64_t H, int64_t D, int64_t Dv, int64_t kColumns,
          class Block>
GLM_FN void DeltaTokens(Block& block, const Args& args, int64_t head,
                        int64_t column) {
  const Sequences sequences(args);
  const int64_t sequence = block.y;
  const int64_t length = sequences.Length(sequence);
  if (length == 0) return;
  const void* q = args.Pointer(4);
  const void* k = args.Pointer(5);
  const void* v = args.Pointer(6);
  const float* g = static_cast<const float*>(args.Pointer(7));
  const float* beta = static_cast<const float*>(args.Pointer(8));
  float* state =
      reinterpret_cast<float*>(SlotMemory(args, 9, sequences.Slot(sequence))) +
      head * D * Dv + column;
  void* o = args.Pointer(11);
  const bool fresh = sequences.Position(sequence) == 0;

  EachLanes<D, kColumns>(block, [&](int64_t v0, int64_t lanes,
                                    int64_t d0) GLM_INLINE {
    const int64_t count =
        Dv % kColumns == 0 ? lanes : Most(0, Least(lanes, Dv - column - v0));
    // 1. The stripe of the state: s[d] = S[d0 + d, v0 .. v0 + count - 1].
    constexpr int64_t kRows = kLaneRows<D, kColumns>;
    Lanes s[kRows];
    GLM_UNROLL for (int64_t d = 0; d < kRows; ++d) {
      s[d] = fresh ? Lanes(0.0f)
                   : LoadLanes<F32>(state, (d0 + d) * Dv + v0, count);
    }

    // Two sets of a token's vectors: while some write the next token's, others
    // may still read this one's.
    GLM_SHARED(float, vectors, 2 * 4 * D);
    for (int64_t t = 0; t < length; ++t) {
      const int64_t row = (sequence * sequences.tokens + t) * H + head;

      // 2. The token's vectors. `decayed` k meets the state before its decay.
      float* decay = vectors + t % 2 * 4 * D;
      float* key = decay + D;
      float* query = key + D;
      float* decayed = query + D;
      Each<D>(block, [&](int64_t d, int64_t) {
        const float factor = Exp(g[row * D + d]);
        const float value = Load<XT>(k, row * D + d);
        decay[d] = factor;
        key[d] = value;
        query[d] = Load<XT>(q, row * D + d);
        decayed[d] = factor * value;
      });

      // 3. delta = beta (v - (decayed S)^T k).
      Lanes memory = 0.0f;
      GLM_UNROLL for (int64_t d = 0; d < kRows; ++d) {
        memory += s[d] * decayed[d0 + d];
      }
      const Lanes delta =
          beta[row] * (LoadLanes<XT>(v, row * Dv + column + v0, count) -
                       SumLanes<D, kColumns>(memory));

      // 4. S = decayed S + k delta^T;  o = S^T q.
      Lanes out = 0.0f;
      GLM_UNROLL for (int64_t d = 0; d < kRows; ++d) {
        s[d] = s[d] * decay[d0 + d] + delta * key[d0 + d];
        out += s[d] * query[d0 + d];
      }
      StoreLanes<OT>(o, row * Dv + column + v0, count,
                     SumLanes<D, kColumns>(out));
    }

    // 5. The state for the next step.
    GLM_UNROLL for (int64_t d = 0; d < kRows; ++d) {
      StoreLanes<F32>(state, (d0 + d) * Dv + v0, count, s[d]);
    }
  });
}

template <int XT, int OT, int64_t H, int64_t D, int64_t Dv, class Block>
GLM_FN void DeltaRule(Block& block, const Args& args) {
  DeltaTokens<XT, OT, H, D, Dv, Dv>(block, args, block.x, 0);
}

}  // namespace glm::kernel
