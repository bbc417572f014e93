// block.h - the vocabulary of the kernels: what a block of work-items can do.
//
// A kernel body is written once, as code that a whole block runs. Code outside
// `Each` and its kin is uniform: all work-items compute the same values. The
// header for the target gives the words their meaning; their names are equal:
//
//   host.h     a block is one call on one core, and `Each` is a loop that the
//              compiler vectorises. A barrier is the end of a loop.
//   gpu.h      a block is a workgroup of 256 work-items, over which Each
//              spreads its indices; what differs by maker is in gfx1201.h
//              and sm_90.h.
//
//   Block                    position .x .y .z in the grid
//   Args                     the 8-byte arguments of docs/spec/kernels.md
//   Sequences                which rows are valid, where each sequence stands
//   GLM_SHARED(type, a, n)   array that the block shares; not initialised
//   Row<N>                   N floats spread over the block, `row[slot]`
//   Each<N>(block, f)        f(i, slot) for i in [0, N); a barrier at the end
//   EachShortRow<kCount>(block, f)  f(row) for kCount rows of a block, where
//                            `row` is a block to Each, Sum and Max of N known;
//                            a Row of it is a RowOfWave
//   Each(block, n, f)        f(i), n known at run time
//   EachOf<N>(block, n, f)   f(row, i), rows 0 .. n - 1, i in [0, N), one loop
//   Sum<N>, Max<N>(block, f) reduction of f(i, slot), the same for all; Max
//                            skips NaN and of nothing is -inf
//   Each, Sum, Max<N>(block, load, f)  the same of f(i, slot, load(i)); loads
//                            may come before what other indices store
//   Sum, Max(block, n, f)    reduction of f(i)
//   Compact(block, from, n, limit, keep, out)  the next i with keep(i)
//   EachLanes<D, N>(block, f)  f(i, count, d0): for a matrix [D, N], `count`
//                            <= kLanes neighbouring columns from i as `Lanes`
//                            values of kLaneRows<D, N> rows from d0. Words
//                            inside f see the whole block.
//   SumLanes<D, N>(v)        sum over the parts of a column
//   SelectTopK               top_k's exact rule
//   Attend                   attention of a few heads, attend.h
//   Dots, StretchDots, Mix, Gemv, TileMatmul, Product   products, matrix.h; the
//                            layout of their fragments and tiles is private to
//                            the target
//   GLM_KERNEL(name, threads, arg_count, body<params...>)   the entry point
//   GLM_ROWWISE(name, threads, arg_count, body)   the same of a rowwise kernel,
//                            with the registers of many blocks a unit
//   GLM_MEMBER               stands before a function that groups call
//   GLM_PAIRED(name, threads, arg_count, body)   the same of a kernel whose two
//                            blocks a unit work while the other waits
//   GLM_TILE(name, threads, arg_count, sums, body)   the same of a product's
//                            tile, by the sums of a work-item (matrix.h)
//   GLM_GROUP(name, threads, arg_count, waiting, rows, body)   the same of a
//                            group of launches of at most `rows` rows,
//                            of which `waiting` blocks wait (phases.h)
//
// Iterations of one Each, Sum or Max are independent: what one index stores,
// another index of the same loop must not load. What a word stored is there for
// all that follows it. Uniform code may load from shared arrays and may not
// store to them; what it loads, the very next word must not store.
//
// A rowwise kernel (generated) is a body of such stages. A value that lives
// across a reduction is a Row; the reduction's result is uniform:
//
//   template <class Block>
//   GLM_FN void RmsNorm(Block& block, const Args& args) {
//     const int64_t row = block.x;
//     if (!Sequences(args).Valid(row)) return;
//     const void* x = args.Tensor(3);
//     const void* weight = args.Tensor(4);
//     void* y = args.Tensor(5);
//     Row<256> v0;
//     Each<256>(block, [&](int64_t i, int64_t slot) {
//       v0[slot] = Load<BF16>(x, row * 256 + i);
//     });
//     const float v1 = Sum<256>(block, [&](int64_t i, int64_t slot) {
//       return v0[slot] * v0[slot];
//     });
//     const float v2 = Rsqrt(v1 * (1.0f / 256) + 1e-5f);
//     Each<256>(block, [&](int64_t i, int64_t slot) {
//       Store<BF16>(y, row * 256 + i, v0[slot] * v2 * Load<F32>(weight, i));
//     });
//   }
//
// A store whose address is the same for all columns stands in an Each<1>.
#pragma once

#include "glm/gpu.h"
#include "glm/host.h"
#include "glm/number.h"
#include "glm/sequences.h"
