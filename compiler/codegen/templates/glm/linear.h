// linear.h - y[t, n] = sum_k x[t, k] w[n, k], and the same for each head with a
// slice of one stacked weight.
//
// Grids, any T (the first of each pair is for T <= 8, the second for more):
//   Linear          ceil(Nout / LinearWidth), 8, 16 or 32
//   LinearTile      ceil(T / RowsOfTile(Nout)), ceil(Nout / 128)
//   HeadLinear      ceil(Nout / 64), H
//   HeadLinearTile  ceil(T / 128), ceil(Nout / 128), H
//   LinearParts     parts: y F32 [T, parts, Nout], the sums of part p of K
//
// Arguments: seqs, N, T, x [T, H, K], w, y [T, H, Nout];
// W_h[n][k] = w[base + h * head_stride + n * n_stride + k * k_stride].
// Linear and LinearTile with a form other than kDense: w is uint64 [2], the
// addresses of codes and scales.
#pragma once

#include "glm/matrix.h"

namespace glm::kernel {

template <int form, int WT, int64_t Nout, int64_t K, int64_t group>
GLM_FN auto LinearWeight(const Args& args) {
  if constexpr (form == kDense) {
    return DenseWeight<WT, K, 1>{args.Pointer(4)};
  } else {
    const uint64_t* table = static_cast<const uint64_t*>(args.Pointer(4));
    const void* codes = Address(table[0]);
    const void* scales = Address(table[1]);
    if constexpr (form == kDenseGptq4) {
      return Gptq4Weight<Nout, K, group>{static_cast<const uint32_t*>(codes),
                                         scales};
    } else {
      static_assert(form == kDenseInt8, "a form of one matrix");
      return Int8Weight<K, group>{static_cast<const int8_t*>(codes), scales};
    }
  }
}

// Outputs of a block of Linear: few long ones are spread over more blocks. The
// fewest stand beside far more work, which they should not come after.
template <int form>
constexpr int64_t LinearWidth(int64_t Nout, int64_t K) {
  if (form != kDense || K < 2048 || Nout > 1536) return 32;
  return Nout > 128 && Nout <= 512 ? kFewOutputs : 16;
}

// Outputs n0 .. n0 + count - 1 of head `head`, at most kWidth, rows first ..
// end - 1.
template <int XT, int OT, int64_t H, int64_t Nout, int64_t K, int64_t kWidth,
          int64_t kRows, class Block, class Weight>
GLM_FN void LinearRows(Block& block, const Args& args, const Weight& weight,
                       int64_t head, int64_t n0, int64_t count, int64_t first,
                       int64_t end) {
  const Sequences sequences(args);
  const void* x = args.Pointer(3);
  void* y = args.Pointer(5);
  if constexpr (kTakesFewRows && kRows <= kGemvRows && Block::kRows <= kRows) {
    Multiply<XT, K, kWidth, kRows>(
        block, weight, n0, count, end,
        [&](int64_t r) { return At<XT>(x, (r * H + head) * K); },
        [&](int64_t r, int64_t n, float v) {
          if (sequences.Valid(r)) {
            Store<OT>(y, (r * H + head) * Nout + n0 + n, v);
          }
        });
    return;
  }

  while (first < end) {
    // 1. The next kRows valid rows.
    GLM_SHARED(int32_t, valid, kRows);
    const int64_t rows = Compact(
        block, first, end, kRows,
        [&](int64_t row) { return sequences.Valid(row); }, valid);

    // 2. Times the weight.
    Multiply<XT, K, kWidth, kRows>(
        block, weight, n0, count, rows,
        [&](int64_t r) { return At<XT>(x, (valid[r] * H + head) * K); },
        [&](int64_t r, int64_t n, float v) {
          Store<OT>(y, (valid[r] * H + head) * Nout + n0 + n, v);
        });
  }
}

template <int XT, int WT, int OT, int64_t H, int64_t Nout, int64_t K,
          int64_t head_stride, int64_t n_stride, int64_t k_stride, int64_t base,
          class Block>
GLM_FN void HeadLinear(Block& block, const Args& args) {
  // Rows, or columns, that are whole pieces of 16 bytes begin with one.
  constexpr bool kPieces = (k_stride == 1 ? K : k_stride) % 8 == 0;
  static_assert(!kPieces || (base % 8 == 0 && head_stride % 8 == 0 &&
                             (k_stride != 1 || n_stride % 8 == 0)),
                "heads are aligned as their rows are");
  const DenseWeight<WT, n_stride, k_stride> weight = {
      At<WT>(args.Pointer(4), base + block.y * head_stride)};
  const int64_t n0 = block.x * 64;
  LinearRows<XT, OT, H, Nout, K, 64, Least(kGemvRows, Block::kRows)>(
      block, args, weight, block.y, n0, Least(64, Nout - n0), 0,
      args.Integer(2));
}

// For GLM_TILE: parameters are those of the kernel.
template <int XT, int WT, int OT, int64_t Nout, int64_t K, int form = kDense,
          int64_t group = 0>
inline constexpr int64_t kLinearTileSums =
    kSumsOfTile<RowsOfTile(Nout), K, form == kDense>;
template <int XT, int WT, int OT, int64_t H, int64_t Nout, int64_t K,
          int64_t head_stride, int64_t n_stride, int64_t k_stride, int64_t base>
inline constexpr int64_t kHeadLinearTileSums = kSumsOfTile<kTileRows, K, true>;

// Outputs n0 .. of head `head`, at most kTileOutputs, of the block's kRows rows
// from `first`.
template <int XT, int OT, int64_t H, int64_t Nout, int64_t K, int64_t kRows,
          bool kAligned, class Block, class Weight>
GLM_FN void LinearTileRows(Block& block, const Args& args, const Weight& weight,
                           int64_t head, int64_t n0, int64_t first) {
  const Sequences sequences(args);
  const void* x = args.Pointer(3);
  void* y = args.Pointer(5);
  const int64_t rows = Least(kRows, args.Integer(2) - first);
  const auto valid = [&](int64_t r) { return sequences.Valid(first + r); };
  if (!sequences.AnyValid(first, first + rows)) return;
  Product<XT, OT, K, kRows, Nout % 2 == 0, kAligned>(
      block, weight, n0, OutputsOfTile(Nout, n0), rows, valid,
      [&](int64_t r) { return At<XT>(x, ((first + r) * H + head) * K); },
      [&](int64_t r) {
        return At<OT>(y, ((first + r) * H + head) * Nout + n0);
      });
}

template <int XT, int WT, int OT, int64_t H, int64_t Nout, int64_t K,
          int64_t head_stride, int64_t n_stride, int64_t k_stride, int64_t base,
          class Block>
GLM_FN void HeadLinearTile(Block& block, const Args& args) {
  const DenseWeight<WT, n_stride, k_stride> weight = {
      At<WT>(args.Pointer(4), base + block.z * head_stride)};
  // Neighbours along the outputs are read 8 at a time.
  constexpr bool kAligned =
      base % 8 == 0 && head_stride % 8 == 0 && (k_stride == 1 || Nout % 8 == 0);
  LinearTileRows<XT, OT, H, Nout, K, kTileRows, kAligned>(
      block, args, weight, block.z, block.y * kTileOutputs,
      block.x * kTileRows);
}

template <int XT, int WT, int OT, int64_t Nout, int64_t K, int form = kDense,
          int64_t group = 0, class Block>
GLM_FN void Linear(Block& block, const Args& args) {
  // Rows of a dense weight are independent: neighbours are one wider tile.
  constexpr int64_t kOne = LinearWidth<form>(Nout, K);
  constexpr int64_t kWide = form == kDense ? kOne * Block::kNeighbours : kOne;
  for (int64_t i = 0; i < kOne * Block::kNeighbours; i += kWide) {
    const int64_t n0 = block.x * kOne + i;
    LinearRows<XT, OT, 1, Nout, K, kWide, Least(kGemvRows, Block::kRows)>(
        block, args, LinearWeight<form, WT, Nout, K, group>(args), 0, n0,
        Least(kWide, Nout - n0), 0, args.Integer(2));
  }
}

template <int XT, int WT, int OT, int64_t Nout, int64_t K, int form = kDense,
          int64_t group = 0, class Block>
GLM_FN void LinearTile(Block& block, const Args& args) {
  constexpr int64_t kRows = RowsOfTile(Nout);
  LinearTileRows<XT, OT, 1, Nout, K, kRows, true>(
      block, args, LinearWeight<form, WT, Nout, K, group>(args), 0,
      block.y * kTileOutputs, block.x * kRows);
}

// K is `outer` stretches of parts * width columns; part p is columns
// p * width .. of each.
template <int XT, int WT, int64_t Nout, int64_t K, int64_t outer, int64_t parts,
          class Block>
GLM_FN void LinearParts(Block& block, const Args& args) {
  constexpr int64_t kStretch = K / outer;
  constexpr int64_t kWidth = kStretch / parts;
  constexpr int64_t kMost = Least(kGemvRows, Block::kRows);
  const Sequences sequences(args);
  const void* x = args.Pointer(3);
  const void* w = args.Pointer(4);
  void* y = args.Pointer(5);
  const int64_t p = block.x;
  const int64_t end = args.Integer(2);
  if constexpr (kTakesFewRows && Block::kRows <= kGemvRows) {
    StretchDots<XT, WT, kWidth, outer, kStretch, kMost>(
        block, end, [&](int64_t r) { return At<XT>(x, r * K + p * kWidth); },
        Nout, [&](int64_t n) { return At<WT>(w, n * K + p * kWidth); },
        [&](int64_t r, int64_t n, float v) {
          if (sequences.Valid(r)) {
            Store<F32>(y, (r * parts + p) * Nout + n, v);
          }
        });
    return;
  }
  GLM_SHARED(int32_t, valid, kMost);
  for (int64_t first = 0; first < end;) {
    const int64_t rows = Compact(
        block, first, end, kMost,
        [&](int64_t row) { return sequences.Valid(row); }, valid);
    if (rows == 0) return;
    StretchDots<XT, WT, kWidth, outer, kStretch, kMost>(
        block, rows,
        [&](int64_t r) { return At<XT>(x, valid[r] * K + p * kWidth); }, Nout,
        [&](int64_t n) { return At<WT>(w, n * K + p * kWidth); },
        [&](int64_t r, int64_t n, float v) {
          Store<F32>(y, (valid[r] * parts + p) * Nout + n, v);
        });
  }
}

// Grid: T. Arguments: seqs, N, T, x F32 [T, parts, Nout], y OT [T, Nout].
template <int OT, int64_t parts, int64_t Nout, class Block>
GLM_FN void SumParts(Block& block, const Args& args) {
  const int64_t row = block.x;
  if (!Sequences(args).Valid(row)) return;
  const void* x = At<F32>(args.Pointer(3), row * parts * Nout);
  void* y = args.Pointer(4);
  EachLanes<parts, Nout>(block, [&](int64_t n, int64_t count, int64_t p0) {
    Lanes sum = 0.0f;
    for (int64_t p = 0; p < kLaneRows<parts, Nout>; ++p) {
      sum += LoadLanes<F32>(x, (p0 + p) * Nout + n, count);
    }
    StoreLanes<OT>(y, row * Nout + n, count, SumLanes<parts, Nout>(sum));
  });
}

}  // namespace glm::kernel
