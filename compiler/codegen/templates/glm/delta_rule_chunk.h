// delta_rule_chunk.h - the gated delta rule for many tokens: kChunk of them at
// a time, as products of small matrices.
//
// With S the state before the chunk, E_i = e^(g_0 + ... + g_i) and e(j, i) the
// decay of tokens j + 1 .. i, all per key channel, token i sees
// S_i = E_i S + sum_(j < i) e(j, i) k_j delta_j^T before its own delta. So
//
//   M[i][j] = sum_d k_i[d] e(j, i)[d] k_j[d]         j < i
//   A[i][j] = sum_d q_i[d] e(j, i)[d] k_j[d]         j <= i
//   delta_i = beta_i (v_i - S^T (E_i k_i) - sum_(j < i) M[i][j] delta_j)
//   o_i     = S^T (E_i q_i) + sum_(j <= i) A[i][j] delta_j
//   S       = E_last S + sum_j (e(j, last) k_j) delta_j^T
//
// e(j, i) is a product of decays, never a quotient of two E: no gate, however
// far below zero, overflows or divides by zero.
//
// Grid: H * ceil(Dv / 64), S, a head's blocks side by side. Columns of the
// state do not meet: a block carries 64 of them through the step.
//
// Arguments: those of delta_rule.h. D <= 128.
#pragma once

#include "glm/delta_rule.h"
#include "glm/gpu_delta_chunk.h"
#include "glm/host_delta_chunk.h"

namespace glm::kernel {

template <int XT, int OT, int64_t H, int64_t D, int64_t Dv, class Block>
GLM_FN void DeltaRuleChunk(Block& block, const Args& args) {
  constexpr int64_t kBlocks = CeilDiv(Dv, 64);
  if constexpr (kChunksFit) {
    DeltaChunk<XT, OT, H, D, Dv>(block, args);
  } else {
    DeltaTokens<XT, OT, H, D, Dv, Least(64, Dv)>(block, args, block.x / kBlocks,
                                                 block.x % kBlocks * 64);
  }
}

}  // namespace glm::kernel
