// gfx1201_stages.h - what gpu_stages.h and gpu_product.h need from a gfx1201:
// as sm_90_stages.h describes it.
#pragma once

#include "glm/gpu_gemv.h"
#include "glm/stage_places.h"

#ifdef __AMDGCN__

namespace glm::kernel {

// Whether parts of a row, or groups of codes, have sums of their own.
template <int64_t kRows, int64_t K>
inline constexpr bool kSumsOfParts = K > kColumnsTogether;
inline constexpr bool kSumsOfCodes = true;
inline constexpr int kCodeRoom = 38;      // KiB of stages
inline constexpr int64_t kListRows = 64;  // of an expert at a time

// Products are those of waves.
template <class Weight>
inline constexpr bool kOnWarpgroups = false;

// --------------------------------------------------------------- operands

struct StageTile {
  static constexpr int kRounds = 2;
  static constexpr int kSumRows = 8;
  static constexpr int kSumColumns = 1;
  // Rows of words are 8 banks apart, as half of a wave reads two of them.
  static constexpr int kCodeStride = int(kTileOutputs) + 8;
  using Rows = Piece;
  using Outputs = Piece;

  GLM_FN static constexpr int RowWaves(int) { return 2; }
  GLM_FN static constexpr int SumIndex(int r, int) { return r; }
  GLM_FN static int SumRow(int i) { return TileRow(i); }
  GLM_FN static int SumOutput(int i) { return TileColumn(i); }

  GLM_FN static int OutputOfRow(int row) { return row; }
  GLM_FN static Rows LoadRows(const char* stage, int row, int round) {
    return *reinterpret_cast<const Piece*>(
        stage + ChunkPlace(row + PieceRow(0), PieceChunk(round)));
  }
  GLM_FN static Outputs LoadOutputs(const char* stage, int n, int round) {
    return LoadRows(stage, n, round);
  }
  GLM_FN static int ColumnPlace(int column, int eight) {
    return column * int(kTileOutputs) * 2 + eight * 16;
  }
  GLM_FN static Outputs LoadColumns(const char* stage, int n, int round) {
    const uint16_t* at = reinterpret_cast<const uint16_t*>(stage) +
                         PieceChunk(round) * 8 * kTileOutputs + n + PieceRow(0);
    Piece v;
    GLM_UNROLL for (int i = 0; i < 8; ++i) v[i] = at[i * kTileOutputs];
    return v;
  }
  GLM_FN static Outputs LoadWords(const uint32_t* words, int n, int round) {
    const uint32_t word =
        words[PieceChunk(round) * kCodeStride + n + PieceRow(0)];
    Piece v;
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      const float value = float(int32_t(word >> (4 * i) & 15u) - 8);
      v[i] = uint16_t(__builtin_bit_cast(uint32_t, value) >> 16);
    }
    return v;
  }
  GLM_FN static Outputs LoadBytes(const int8_t* codes, int n, int round) {
    const Bytes<8> code = *reinterpret_cast<const Bytes<8>*>(
        codes + (n + PieceRow(0)) * kStageColumns + PieceChunk(round) * 8);
    Piece v;
    GLM_UNROLL for (int i = 0; i < 8; ++i) {
      v[i] = uint16_t(__builtin_bit_cast(uint32_t, float(code[i])) >> 16);
    }
    return v;
  }
  GLM_FN static void Multiply(TileSums& sums, const Rows& a, const Outputs& b) {
    MultiplyTiles(sums, __builtin_bit_cast(TileOperand, a),
                  __builtin_bit_cast(TileOperand, b));
  }
};

// ------------------------------------------------------ stages of a product

// Stages of shared memory: one fills while another is read.
template <int kStageBytes, int kRoom>
inline constexpr int kSlots = 2;

// The next step's data is in registers or under way there meanwhile.
template <int kCopies, int kStageBytes, int kRoom, int kSteps, int kPartSteps,
          bool kAhead, class Copy, class First, class Begin, class Multiply,
          class Join>
GLM_FN void RunStages(char* memory, Copy copy, First, Begin begin,
                      Multiply multiply, Join join) {
  static_assert(!kAhead, "two slots");
  Piece flying[kCopies];
  const auto take = [&](int step) {
    GLM_UNROLL for (int i = 0; i < kCopies; ++i) {
      const Copy16 c = copy(i, step);
      flying[i] = uint16_t(0);
      if (c.exists && c.read) flying[i] = *static_cast<const Piece*>(c.from);
    }
  };
  const auto land = [&](int step, int slot) {
    GLM_UNROLL for (int i = 0; i < kCopies; ++i) {
      const Copy16 c = copy(i, step);
      if (c.exists) {
        *reinterpret_cast<Piece*>(memory + slot * kStageBytes + c.to) =
            flying[i];
      }
    }
  };
  take(0);
  land(0, 0);
  if (kSteps > 1) take(1);
#pragma nounroll
  for (int step = 0; step < kSteps;) {
    const int part = step / kPartSteps;
    const int end = step + kPartSteps < kSteps ? step + kPartSteps : kSteps;
    begin(part);
#pragma nounroll
    do {
      Barrier();  // this stage is there, and the one before it is read
      if (step + 1 < kSteps) land(step + 1, (step + 1) % 2);
      if (step + 2 < kSteps) take(step + 2);
      multiply(memory + step % 2 * kStageBytes, nullptr, [] {});
    } while (++step < end);
    join(part);
  }
  Barrier();
}

}  // namespace glm::kernel

#endif  // __AMDGCN__
