// expert_linear.h - y[t, s] = W[ids[t, s]] x[t] (per_slot: x[t, s]); an id
// outside 0 .. E-1 gives zeros.
//
// Grids, any T:
//   ExpertLinear      ceil(Nout / ExpertWidth), T * top_k, 32 or 64,
//                     when T * top_k <= E
//   ExpertLinearTile  ceil(Nout / 128), E          when experts serve many
//   rows,
//                     kListRows at a time
//   PagedExpertLinear, PagedExpertLinearTile  the same of paged experts; a
//   block
//                     of the first waits for its expert's row
//
// Arguments: seqs, N, T, x [T, K] or [T, top_k, K], ids I32 [T, top_k],
// table uint64 [E] (EXPERTS_DENSE) or [E, 2] (EXPERTS_GPTQ4), y [T, top_k,
// Nout]; of paged experts also arrivals I32 [E, weights], weights, and which of
// them the table is (copy_rows.h).
#pragma once

#include "glm/matrix.h"
#include "glm/pager.h"

namespace glm::kernel {

template <int form, int WT, int64_t Nout, int64_t K, int64_t group>
GLM_FN auto ExpertWeight(const Args& args, int64_t expert) {
  const uint64_t* table = static_cast<const uint64_t*>(args.Pointer(5));
  if constexpr (form == kExpertsDense) {
    return DenseWeight<WT, K, 1>{Address(table[expert])};
  } else {
    return Gptq4Weight<Nout, K, group>{
        static_cast<const uint32_t*>(Address(table[2 * expert])),
        Address(table[2 * expert + 1])};
  }
}

// Outputs of a block of ExpertLinear: long rows are work enough for few.
constexpr int64_t ExpertWidth(int64_t K) { return K >= 4096 ? 32 : 64; }

// await(expert) before the first use of its weight.
template <int XT, int form, int WT, int OT, int64_t E, int64_t top_k,
          int64_t Nout, int64_t K, int64_t group, int64_t per_slot, class Block,
          class Await>
GLM_FN void ExpertLinearAfter(Block& block, const Args& args, Await await) {
  const Sequences sequences(args);
  const int64_t place = block.y;  // t * top_k + s
  if (!sequences.Valid(place / top_k)) return;
  const void* x = args.Pointer(3);
  const int64_t expert = static_cast<const int32_t*>(args.Pointer(4))[place];
  void* y = args.Pointer(6);
  constexpr int64_t kWidth = ExpertWidth(K);
  const int64_t n0 = block.x * kWidth;
  const int64_t count = Least(kWidth, Nout - n0);

  if (expert < 0 || expert >= E) {
    Each(block, count,
         [&](int64_t n) { Store<OT>(y, place * Nout + n0 + n, 0.0f); });
    return;
  }
  await(expert);
  Gemv<XT, K, kWidth, 1>(
      block, ExpertWeight<form, WT, Nout, K, group>(args, expert), n0, count, 1,
      [&](int64_t) {
        return At<XT>(x, (per_slot ? place : place / top_k) * K);
      },
      [&](int64_t, int64_t n, float v) {
        Store<OT>(y, place * Nout + n0 + n, v);
      });
}

template <int XT, int form, int WT, int OT, int64_t E, int64_t top_k,
          int64_t Nout, int64_t K, int64_t group, int64_t per_slot, class Block>
GLM_FN void ExpertLinear(Block& block, const Args& args) {
  ExpertLinearAfter<XT, form, WT, OT, E, top_k, Nout, K, group, per_slot>(
      block, args, [](int64_t) {});
}

template <int XT, int form, int WT, int OT, int64_t E, int64_t top_k,
          int64_t Nout, int64_t K, int64_t group, int64_t per_slot, class Block>
GLM_FN void PagedExpertLinear(Block& block, const Args& args) {
  ExpertLinearAfter<XT, form, WT, OT, E, top_k, Nout, K, group, per_slot>(
      block, args, [&](int64_t expert) {
        AwaitArrivals(static_cast<uint32_t*>(args.Pointer(7)) +
                      expert * args.Integer(8) + args.Integer(9));
      });
}

// For GLM_TILE: parameters are those of the kernel.
template <int XT, int form, int WT, int OT, int64_t E, int64_t top_k,
          int64_t Nout, int64_t K, int64_t group, int64_t per_slot>
inline constexpr int64_t kExpertLinearTileSums =
    kSumsOfTile<kListRows, K, form == kExpertsDense>;

template <int XT, int form, int WT, int OT, int64_t E, int64_t top_k,
          int64_t Nout, int64_t K, int64_t group, int64_t per_slot, class Block>
GLM_FN void ExpertLinearTile(Block& block, const Args& args) {
  constexpr int64_t kRows = kListRows;
  const Sequences sequences(args);
  const void* x = args.Pointer(3);
  const int32_t* ids = static_cast<const int32_t*>(args.Pointer(4));
  void* y = args.Pointer(6);
  const int64_t places = args.Integer(2) * top_k;
  const int64_t n0 = block.x * kTileOutputs;
  const int64_t count = OutputsOfTile(Nout, n0);

  // Places without an expert are on expert 0's lists.
  EachListOf<kRows, E>(
      block, ids, places,
      [&](int64_t expert, const int32_t* chosen, int64_t rows) GLM_INLINE {
        const auto row = [&](int64_t r) {
          return per_slot ? chosen[r] : uint32_t(chosen[r]) / uint32_t(top_k);
        };
        const auto valid = [&](int64_t r) {
          return sequences.Valid(uint32_t(chosen[r]) / uint32_t(top_k));
        };
        const auto has = [&](int64_t r) {
          return valid(r) && (expert != 0 || ids[chosen[r]] == 0);
        };
        Product<XT, OT, K, kRows, Nout % 2 == 0, true>(
            block, ExpertWeight<form, WT, Nout, K, group>(args, expert), n0,
            count, rows, has, [&](int64_t r) { return At<XT>(x, row(r) * K); },
            [&](int64_t r) { return At<OT>(y, chosen[r] * Nout + n0); });
        if (expert != 0) return;
        for (int64_t r = 0; r < rows; ++r) {
          if (!valid(r) || has(r)) continue;
          Each(block, count, [&](int64_t n) {
            Store<OT>(y, chosen[r] * Nout + n0 + n, 0.0f);
          });
        }
      });
}

template <int XT, int form, int WT, int OT, int64_t E, int64_t top_k,
          int64_t Nout, int64_t K, int64_t group, int64_t per_slot>
inline constexpr int64_t kPagedExpertLinearTileSums =
    kExpertLinearTileSums<XT, form, WT, OT, E, top_k, Nout, K, group, per_slot>;

template <int XT, int form, int WT, int OT, int64_t E, int64_t top_k,
          int64_t Nout, int64_t K, int64_t group, int64_t per_slot, class Block>
GLM_FN void PagedExpertLinearTile(Block& block, const Args& args) {
  ExpertLinearTile<XT, form, WT, OT, E, top_k, Nout, K, group, per_slot>(block,
                                                                         args);
}

}  // namespace glm::kernel
