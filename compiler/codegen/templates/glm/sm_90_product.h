// sm_90_product.h - a product of gpu_product.h on the warpgroups of an sm_90:
// each multiplies 64 of the tile's outputs with all rows.
//
// Rows are read where they are staged. So are outputs of bf16; codes are
// unpacked in registers, once for all rows, while the matrix units multiply
// those of the step before.
//
// Sums of codes are kept in units of the group's scale: with the next group
// they change to its unit, and at the end to 1. So they take registers once,
// where sums of groups and of all would take them twice.
#pragma once

#include "glm/gpu_stages.h"

#ifdef __NVPTX__

namespace glm::kernel {

// Columns of a row of K that are summed up in the matrix units' registers
// alone: what those cut off of more is beyond the bounds of spec/numerics.md.
constexpr int64_t ColumnsUnaided(int64_t K) { return K <= 4096 ? 4096 : 2048; }

// A group's scales of two neighbouring outputs, as units. A scale of 0 is
// one that no sum can be seen in, but that can be divided by.
struct Units {
  float of[2];
};
GLM_FN Units UnitsOf(uint32_t scales) {
  Units units = {Half(scales, 0), Half(scales, 1)};
  GLM_UNROLL for (int i = 0; i < 2; ++i) {
    if (units.of[i] == 0.0f) units.of[i] = 0x1p-100f;
  }
  return units;
}

template <int OT, int64_t K, int kRows, bool kEven, int kRoom, class Weight,
          class Has, class XRow, class YRow>
GLM_FN void WarpgroupProduct(char* memory, const Weight& weight, int64_t n0,
                             int64_t count, Has has, XRow x_row, YRow y_row) {
  using X = StagedRows<kRows, K>;
  using W = StagedWeight<Weight, K>;
  using Tile = WarpgroupTile<kRows>;
  constexpr int kStage = X::kBytes + W::kBytes;
  static_assert(kSlots<kStage, kRoom> * kStage <= kRoom, "stages fit");
  static_assert(kStage % kStageAlignment == 0 &&
                X::kBytes % kStageAlignment == 0);
  constexpr bool kCodes = W::kGroup != 0;
  constexpr bool kParts = !kCodes && kSumsOfParts<kRows, K>;
  constexpr int64_t kTogether = kCodes   ? W::kGroup
                                : kParts ? kColumnsTogether
                                         : ColumnsUnaided(K);
  constexpr int kSteps = int(CeilDiv(K, kStageColumns));
  constexpr int kPartSteps = int(CeilDiv(kTogether, kStageColumns));
  constexpr int kLastPart = (kSteps - 1) / kPartSteps;
  constexpr int kSums = kRows / 2;
  const X x(has, x_row);
  const W w(weight, n0, count);
  const int out0 = Warpgroup() * 64;
  const int mine = out0 + Wave() % 4 * 16;  // a warp's outputs
  const int first = mine + Lane() / 4 * 2;  // a lane's
  typename Tile::Sums sums = {};
  // Of the parts that are done. Where registers do not hold both, they lie in
  // memory of the work-item, which an index that nobody knows keeps them in.
  constexpr bool kAside = !kCodes && !kParts && kLastPart > 0;
  float whole[kParts || kAside ? kSums : 1];
  const int at0 = kAside ? int(Opaque(0)) : 0;
  const auto scales = [&](int group) GLM_INLINE {
    if constexpr (kCodes) {
      return W::Scales(weight, n0, first, int(count), Least(group, kLastPart));
    }
    return 0u;
  };
  Units unit = {1.0f, 1.0f};
  uint32_t next = out0 < count ? scales(0) : 0u;
  bool more = false;
  struct Operands {
    decltype(W::Load(nullptr, 0, 0)) of[2];
  };
  const auto load = [&](const char* stage) GLM_INLINE {
    const int n = kCodes ? mine : out0;
    return Operands{W::Load(stage + X::kBytes, n, 0),
                    W::Load(stage + X::kBytes, n, 1)};
  };
  Operands ahead;

  RunStages<X::kCopies + W::kCopies, kStage, kRoom, kSteps, kPartSteps, kCodes>(
      memory,
      [&](int i, int step) GLM_INLINE {
        if (i < X::kCopies) return x.Copy(i, step);
        Copy16 copy = w.Copy(i - X::kCopies, step);
        copy.to += X::kBytes;
        return copy;
      },
      [&](const char* stage) GLM_INLINE { ahead = load(stage); },
      // 1. The sums in the unit of the group that begins.
      [&](int group) GLM_INLINE {
        if constexpr (kCodes) {
          if (out0 >= count) return;
          const Units before = unit;
          unit = UnitsOf(next);
          next = scales(group + 1);
          if (group == 0) return;
          GLM_UNROLL for (int o = 0; o < 2; ++o) {
            const float ratio = before.of[o] * Reciprocal(unit.of[o]);
            GLM_UNROLL for (int i = 2 * o; i < kSums; i += 4) {
              sums.of[i] *= ratio, sums.of[i + 1] *= ratio;
            }
          }
        } else {
          more = false;
        }
      },
      // 2. The product of 32 columns.
      [&](const char* stage, const char* after, auto fill) GLM_INLINE {
        if (out0 >= count) return fill();
        const uint64_t rows = StageMatrix(SharedAddress(stage));
        Operands now = ahead;
        if constexpr (kCodes) {
          now = {StageTile::OperandOf<W::kBias>(ahead.of[0]),
                 StageTile::OperandOf<W::kBias>(ahead.of[1])};
        } else {
          now = load(stage);
        }
        WarpgroupBegin();
        Tile::Multiply(sums, now.of[0], rows, more);
        Tile::Multiply(sums, now.of[1], rows + kNextRound, true);
        WarpgroupCommit();
        more = true;
        fill();
        if constexpr (kCodes) ahead = load(after);
        Tile::Wait(sums);
        Keep(now.of[0]), Keep(now.of[1]);
      },
      // 3. The sum of all parts but the last, which joins them at the end.
      [&](int part) GLM_INLINE {
        if constexpr (kParts || kAside) {
          if (out0 >= count || part == kLastPart) return;
          const bool others = part > 0;
          if (others) {
            GLM_UNROLL for (int i = 0; i < kSums; ++i) {
              whole[at0 + i] += sums.of[i];
            }
          } else {
            GLM_UNROLL for (int i = 0; i < kSums; ++i) {
              whole[at0 + i] = sums.of[i];
            }
          }
        }
      });

  if (out0 >= count) return;
  GLM_UNROLL for (int i = 0; i < kSums; i += 4) {
    GLM_UNROLL for (int r = 0; r < 2; ++r) {
      const int row = i * 2 + WarpgroupColumn() + r;
      if (!has(row)) continue;
      const auto sum = [&](int o) {
        const int at = i + 2 * o + r;
        if constexpr (kParts || kAside) return whole[at0 + at] + sums.of[at];
        return kCodes ? sums.of[at] * unit.of[o] : sums.of[at];
      };
      void* y = y_row(row);
      if (kEven && first + 1 < count) {
        StorePair<OT>(y, first, sum(0), sum(1));
      } else {
        if (first < count) Store<OT>(y, first, sum(0));
        if (first + 1 < count) Store<OT>(y, first + 1, sum(1));
      }
    }
  }
}

}  // namespace glm::kernel

#endif  // __NVPTX__
