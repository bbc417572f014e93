// gpu_stages.h - the operands of a product as they lie in a stage of shared
// memory: the work-item's copies that bring 32 columns of them there, and the
// pieces that its wave reads.
//
// Memory's own form is kept: codes of a quantised weight become bf16, which is
// exact, in the registers of the wave that multiplies them. kFits tells what is
// aligned to be copied 16 bytes at a time.
#pragma once

#include "glm/gfx1201_stages.h"
#include "glm/gpu_matrix.h"
#include "glm/sm_90_stages.h"

#ifdef GLM_GPU

namespace glm::kernel {

// The f16 in the low or the high half of a word.
GLM_FN float Half(uint32_t word, int high) {
  return float(__builtin_bit_cast(_Float16, uint16_t(word >> (16 * high))));
}

// Two neighbouring elements.
template <int OT>
GLM_FN void StorePair(void* memory, int64_t index, float a, float b) {
  if constexpr (OT == F32) {
    *static_cast<Float2*>(At<OT>(memory, index)) = Float2{a, b};
  } else {
    uint16_t pair[2];
    Store<OT>(pair, 0, a);
    Store<OT>(pair, 1, b);
    *static_cast<uint32_t*>(At<OT>(memory, index)) =
        uint32_t(pair[0]) | uint32_t(pair[1]) << 16;
  }
}

// ------------------------------------------------------- operands in a stage
//
//   kBytes              of a stage
//   kCopies             copies a work-item
//   Copy(i, step)       one of them
//   Load(stage, n, round)   a wave's operand of 16 outputs from n on
//   Scales(weight, n0, n, count, group)   scales of output n0 + n and, where a
//                       lane has both, of its neighbour; any from n = count on

// `rows` of K bf16. has(r): row r exists; row(r): its address; of_place(p): the
// row in place p.
template <int kRows, int64_t K>
struct StagedRows {
  static constexpr int kBytes = kRows * 64;
  static constexpr int kTotal = kRows * 4;
  static constexpr int kCopies = int(CeilDiv(kTotal, kThreads));
  const char* from[kCopies];
  bool inside[kCopies];

  template <class Has, class Row>
  GLM_FN StagedRows(
      Has has, Row row,
      int (*of_place)(int) = [](int place) { return place; }) {
    GLM_UNROLL for (int i = 0; i < kCopies; ++i) {
      const int r = of_place(Index(i) / 4 % kRows);
      inside[i] = has(r);
      from[i] =
          static_cast<const char*>(row(inside[i] ? r : 0)) + Index(i) % 4 * 16;
    }
  }
  GLM_FN static int Index(int i) { return Thread() + i * kThreads; }
  GLM_FN Copy16 Copy(int i, int step) const {
    const int chunk = Index(i) % 4;
    const bool columns =
        K % kStageColumns == 0 || step * kStageColumns + chunk * 8 < K;
    return {from[i] + int64_t(step) * 64, ChunkPlace(Index(i) / 4, chunk),
            kTotal % kThreads == 0 || Index(i) < kTotal, inside[i] && columns};
  }
};

template <class Weight, int64_t K>
struct StagedWeight {
  static constexpr bool kFits = false;
};

template <int64_t RS, int64_t CS, int64_t K>
  requires(CS == 1)
struct StagedWeight<DenseWeight<BF16, RS, CS>, K>
    : StagedRows<kTileOutputs, K> {
  static constexpr bool kFits = RS % 8 == 0 && K % 8 == 0;
  static constexpr int64_t kGroup = 0;

  GLM_FN StagedWeight(const DenseWeight<BF16, RS, CS>& weight, int64_t n0,
                      int64_t count)
      : StagedRows<kTileOutputs, K>([&](int n) { return n < count; },
                                    [&](int n) {
                                      return glm::kernel::At<BF16>(
                                          weight.data, (n0 + n) * RS);
                                    },
                                    StageTile::OutputOfRow) {}
  GLM_FN static auto Load(const char* stage, int n, int round) {
    return StageTile::LoadOutputs(stage, n, round);
  }
};

// Neighbours along the outputs, of which there are whole eights: a stage is
// [32][kTileOutputs].
template <int64_t RS, int64_t CS, int64_t K>
  requires(CS != 1)
struct StagedWeight<DenseWeight<BF16, RS, CS>, K> {
  static constexpr bool kFits = CS % 8 == 0 && K % 8 == 0;
  static constexpr int64_t kGroup = 0;
  static constexpr int kBytes = kStageColumns * kTileOutputs * 2;
  static constexpr int kCopies = kBytes / 16 / kThreads;
  const char* from;
  bool inside;

  GLM_FN StagedWeight(const DenseWeight<BF16, RS, CS>& weight, int64_t n0,
                      int64_t count)
      : from(static_cast<const char*>(weight.data) +
             (Thread() / 16 * CS + n0 + Thread() % 16 * 8) * 2),
        inside(Thread() % 16 * 8 < count) {}
  GLM_FN Copy16 Copy(int i, int step) const {
    const int k = Thread() / 16 + i * (kThreads / 16);
    const int64_t skipped = int64_t(step) * kStageColumns;
    return {from + (skipped + k - Thread() / 16) * CS * 2,
            StageTile::ColumnPlace(k, Thread() % 16), true,
            inside && (K % kStageColumns == 0 || skipped + k < K)};
  }
  GLM_FN static auto Load(const char* stage, int n, int round) {
    return StageTile::LoadColumns(stage, n, round);
  }
};

template <int64_t N, int64_t Columns, int64_t G, int64_t K>
struct StagedWeight<Gptq4Weight<N, Columns, G>, K> {
  static constexpr bool kFits =
      N % 4 == 0 && K % 8 == 0 && G % kStageColumns == 0;
  static constexpr int64_t kGroup = G;
  static constexpr uint32_t kBias = 0x43084308u;  // 128 + 8, twice
  static constexpr int kStride = StageTile::kCodeStride;
  static constexpr int kBytes = kStageColumns / 8 * kStride * 4;
  static constexpr int kCopies = 1;
  static constexpr int kFours = kTileOutputs / 4;  // copies of a row
  static_assert(kFours * (kStageColumns / 8) <= kThreads, "one a work-item");
  const uint32_t* from;
  bool inside;

  GLM_FN StagedWeight(const Gptq4Weight<N, Columns, G>& weight, int64_t n0,
                      int64_t count)
      : from(weight.words + Thread() / kFours % 4 * N + n0 +
             Thread() % kFours * 4),
        inside(Thread() % kFours * 4 < count) {}
  GLM_FN Copy16 Copy(int, int step) const {
    const int row = Thread() / kFours;
    const int64_t word = int64_t(step) * 4;
    return {from + word * N, (row * kStride + Thread() % kFours * 4) * 4,
            row < 4, inside && (K % kStageColumns == 0 || word + row < K / 8)};
  }
  GLM_FN static auto Load(const char* stage, int n, int round) {
    return StageTile::LoadWords(reinterpret_cast<const uint32_t*>(stage), n,
                                round);
  }
  GLM_FN static uint32_t Scales(const Gptq4Weight<N, Columns, G>& weight,
                                int64_t n0, int n, int count, int64_t group) {
    constexpr int kTogether = StageTile::kSumColumns > 1 ? 2 : 1;  // N is even
    const void* at = glm::kernel::At<F16>(
        weight.scales, group * N + n0 + Least(n, count - kTogether));
    if constexpr (kTogether == 2) return *static_cast<const uint32_t*>(at);
    return *static_cast<const uint16_t*>(at);
  }
};

template <int64_t Columns, int64_t G, int64_t K>
struct StagedWeight<Int8Weight<Columns, G>, K> {
  static constexpr bool kFits = K % 16 == 0 && G % kStageColumns == 0;
  static constexpr int64_t kGroup = G;
  static constexpr uint32_t kBias = 0;
  static constexpr int kBytes = kTileOutputs * kStageColumns;
  static constexpr int kCopies = 1;
  const int8_t* from;
  bool inside;

  GLM_FN StagedWeight(const Int8Weight<Columns, G>& weight, int64_t n0,
                      int64_t count)
      : from(weight.codes + (n0 + Least(Thread() / 2, count - 1)) * K +
             Thread() % 2 * 16),
        inside(Thread() / 2 < count) {}
  GLM_FN Copy16 Copy(int, int step) const {
    const int64_t k = int64_t(step) * kStageColumns;
    return {from + k, Thread() * 16, true,
            inside && (K % kStageColumns == 0 || k + Thread() % 2 * 16 < K)};
  }
  GLM_FN static auto Load(const char* stage, int n, int round) {
    return StageTile::LoadBytes(reinterpret_cast<const int8_t*>(stage), n,
                                round);
  }
  GLM_FN static uint32_t Scales(const Int8Weight<Columns, G>& weight,
                                int64_t n0, int n, int count, int64_t group) {
    const auto at = [&](int i) {
      return uint32_t(static_cast<const uint16_t*>(
          weight.scales)[(n0 + Least(i, count - 1)) * weight.kGroups + group]);
    };
    return StageTile::kSumColumns > 1 ? at(n) | at(n + 1) << 16 : at(n);
  }
};

}  // namespace glm::kernel

#endif  // GLM_GPU
