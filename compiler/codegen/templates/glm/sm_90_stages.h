// sm_90_stages.h - what gpu_stages.h and gpu_product.h need from an sm_90: a
// wave's operands from a stage of shared memory, and the stages themselves.
//
//   StageTile           16 rows times 16 outputs
//   RunStages           the loop over the stages
//   kOnWarpgroups<W>    products with W are sm_90_product.h's
//
// A StageTile has
//
//   kRounds             rounds that 32 columns take
//   RowWaves(rows)      waves that share a tile's rows; the rest its outputs
//   Rows, Outputs       a wave's operands for a round
//   LoadRows(stage, row, round)   16 rows from `row` of a stage [rows][32]
//   LoadOutputs, LoadColumns, LoadWords, LoadBytes(stage, n, round)
//                       16 outputs from n: of [outputs][32], [32][outputs],
//                       int4 words [4][kCodeStride], int8 [outputs][32]
//   kSumRows, kSumColumns, SumIndex(r, c)   a lane's rows and outputs, and the
//                       element of its TileSums that is the r-th row, the c-th
//                       output; outputs 2c and 2c + 1 are neighbours
//   SumRow(i), SumOutput(i)   row and output of an element
//
// On warpgroups outputs are the first operand (sm_90_warpgroup.h), with row r
// of 16 being output 2 (r % 8) + r / 8, so that a lane has neighbours; those of
// [outputs][32] stay where they are.
#pragma once

#include "glm/gpu_gemv.h"
#include "glm/sm_90_warpgroup.h"
#include "glm/stage_places.h"

#ifdef __NVPTX__

namespace glm::kernel {

// Whether the parts of a row of K bf16 have sums of their own in registers. Of
// a large tile they have not: so a multiprocessor has registers for two blocks,
// of which one works while the other waits at a barrier.
template <int64_t kRows, int64_t K>
inline constexpr bool kSumsOfParts = kRows<128 && K> kColumnsTogether;
inline constexpr bool kSumsOfCodes = false;

// KiB of stages where they share memory with the lists of an expert's rows.
inline constexpr int kCodeRoom = 45;

// Rows of an expert that a block multiplies at a time.
inline constexpr int64_t kListRows = 64;

// Stages that fill or are read at once, at most.
inline constexpr int kMostSlots = 8;

// --------------------------------------------------------------- operands

// Four matrices of 8 x 8, each lane with the address of a row of one of them.
GLM_FN TileOperand LoadMatrices(const char* row) {
  uint32_t v[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(SharedAddress(row))
               : "memory");
  return TileOperand{v[0], v[1], v[2], v[3]};
}

// Rows of a weight lie in memory as they are multiplied: all but columns do.
template <class Weight>
inline constexpr bool kOnWarpgroups = true;
template <int64_t RS, int64_t CS>
  requires(CS != 1)
inline constexpr bool kOnWarpgroups<DenseWeight<BF16, RS, CS>> = false;

struct StageTile {
  static constexpr int kRounds = 2;
  static constexpr int kSumRows = 2;
  static constexpr int kSumColumns = 4;
  static constexpr int kCodeStride = int(kTileOutputs);
  using Rows = TileOperand;
  using Outputs = TileOperand;

  GLM_FN static constexpr int RowWaves(int) { return 2; }
  GLM_FN static constexpr int SumIndex(int r, int c) {
    return c / 2 * 4 + r * 2 + c % 2;
  }
  GLM_FN static int SumRow(int i) { return TileRow(i); }
  GLM_FN static int SumOutput(int i) { return TileColumn(i); }

  GLM_FN static int OutputOfRow(int row) {
    return row / 16 * 16 + row % 8 * 2 + row / 8 % 2;
  }
  GLM_FN static Rows LoadRows(const char* stage, int row, int round) {
    return LoadMatrices(stage +
                        ChunkPlace(row + Lane() % 16, 2 * round + Lane() / 16));
  }
  // Of a stage [32][kTileOutputs]: eights of outputs change places by column.
  GLM_FN static int ColumnPlace(int column, int eight) {
    return column * int(kTileOutputs) * 2 + (eight ^ (column & 7)) * 16;
  }
  GLM_FN static Outputs LoadColumns(const char* stage, int n, int round) {
    return LoadMatricesTransposed(
        stage + ColumnPlace(round * 16 + Lane() % 16, n / 8 + Lane() / 16));
  }
  GLM_FN static void Multiply(TileSums& sums, const Rows& a, const Outputs& b) {
    MultiplyTiles(sums, a, TileOperand{b.x, b.z, b.y, b.w});
  }

  GLM_FN static uint64_t LoadOutputs(const char* stage, int n, int round) {
    return StageMatrix(SharedAddress(stage) + n * 64) + round * kNextRound;
  }
  // Of the words of 8 columns that 4 lanes share, each takes two codes. Both
  // kinds of codes become an operand by OperandOf(..., kBias).
  GLM_FN static TileOperand LoadWords(const uint32_t* words, int n, int round) {
    typedef uint32_t Words2 __attribute__((ext_vector_type(2)));
    const uint32_t* from = words + 2 * round * kCodeStride + n + Lane() / 4 * 2;
    const Words2 low = *reinterpret_cast<const Words2*>(from);
    const Words2 high = *reinterpret_cast<const Words2*>(from + kCodeStride);
    return {CodesOfByte(low.x), CodesOfByte(low.y), CodesOfByte(high.x),
            CodesOfByte(high.y)};
  }
  // The codes in byte (lane % 4), 0 .. 15, as bf16 128 .. 143: those have the
  // code as their last bits.
  GLM_FN static uint32_t CodesOfByte(uint32_t word) {
    const uint32_t both =
        __nvvm_prmt(word, word >> 4, 0x0400u + 0x1111u * (Lane() % 4));
    uint32_t biased;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;"  // and, or
        : "=r"(biased)
        : "r"(both), "r"(0x000f000fu), "r"(0x43004300u));
    return biased;
  }
  GLM_FN static TileOperand LoadBytes(const int8_t* codes, int n, int round) {
    const int8_t* from = codes + (n + Lane() / 4 * 2) * kStageColumns +
                         round * 16 + Lane() % 4 * 2;
    const auto pair = [&](int row, int column) {
      const Bytes<2> code = *reinterpret_cast<const Bytes<2>*>(
          from + row * kStageColumns + column);
      return Bits(float(code[0])) >> 16 | (Bits(float(code[1])) & 0xffff0000u);
    };
    return {pair(0, 0), pair(1, 0), pair(0, 8), pair(1, 8)};
  }
  // What an instruction of the matrix units reads while the next operand comes
  // together must be made between two of them: the last step is left to here.
  template <uint32_t kBias>
  GLM_FN static TileOperand OperandOf(TileOperand codes) {
    TileOperand v;
    GLM_UNROLL for (int i = 0; i < 4; ++i) {
      uint32_t value;
      asm volatile("sub.rn.bf16x2 %0, %1, %2;"
                   : "=r"(value)
                   : "r"(codes[i]), "r"(kBias));
      v[i] = value;
    }
    return v;
  }
};

// ------------------------------------------------------ stages of a product

// Stages of shared memory that `room` bytes hold.
template <int kStageBytes, int kRoom>
inline constexpr int kSlots =
    kRoom / kStageBytes < kMostSlots ? kRoom / kStageBytes : kMostSlots;

// For the steps 0 .. kSteps - 1 in order, after the copies copy(i, step),
// i < kCopies, have filled a stage: multiply(stage, after, fill), which calls
// fill() once, where copies of a later step begin. Before and after kPartSteps
// of them, or the rest: begin(part) and join(part). kAhead: the stage `after`
// this one is there as well, or, past the last, any memory; first(stage) comes
// before all; and there are three slots.
template <int kCopies, int kStageBytes, int kRoom, int kSteps, int kPartSteps,
          bool kAhead, class Copy, class First, class Begin, class Multiply,
          class Join>
GLM_FN void RunStages(char* memory, Copy copy, First first, Begin begin,
                      Multiply multiply, Join join) {
  // Small stages come two at a time, for half of the barriers.
  constexpr int kAll = kSlots<kStageBytes, kRoom>;
  constexpr int kPair =
      !kAhead && kAll >= 6 && kSteps % 2 == 0 && kPartSteps % 2 == 0 ? 2 : 1;
  constexpr int kDepth = kAll / kPair;
  constexpr int kSlotBytes = kPair * kStageBytes;
  static_assert(kDepth >= (kAhead ? 3 : 2),
                "one stage fills while others are read");
  const uint32_t base = SharedAddress(memory);
  const auto start = [&](int first_step, int slot) GLM_INLINE {
    GLM_UNROLL for (int s = 0; s < kPair; ++s) {
      const int step = first_step + s;
      const uint32_t stage = base + slot * kSlotBytes + s * kStageBytes;
      GLM_UNROLL for (int i = 0; i < kCopies; ++i) {
        const Copy16 c = copy(i, step);
        // A predicate, not a branch: the code beside it stays in one piece.
        asm volatile(
            "{ .reg .pred exists; setp.ne.b32 exists, %3, 0;"
            " @exists cp.async.cg.shared.global [%0], [%1], 16, %2; }" ::"r"(
                stage + c.to),
            "l"(c.from), "r"(c.read ? 16 : 0),
            "r"(int(c.exists && step < kSteps))
            : "memory");
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  // Slots of these steps, of those after them and of those before them.
  const auto run = [&](int step, int slot, int after, int before) GLM_INLINE {
    asm volatile("cp.async.wait_group %0;" ::"n"(kDepth - (kAhead ? 3 : 2))
                 : "memory");
    Barrier();  // what is read is there, and the slot before it is read
    GLM_UNROLL for (int s = 0; s < kPair; ++s) {
      multiply(memory + slot * kSlotBytes + s * kStageBytes,
               memory + after * kSlotBytes, [&]() GLM_INLINE {
                 if (s == 0) start(step + (kDepth - 1) * kPair, before);
               });
    }
  };

  GLM_UNROLL for (int slot = 0; slot < kDepth - 1; ++slot) {
    start(slot * kPair, slot);
  }
  if constexpr (kAhead) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kDepth - 2) : "memory");
    Barrier();
    first(memory);
  }
  if constexpr (kPartSteps == kDepth * kPair && kSteps % kPartSteps == 0) {
    // A part's steps at a time, each in a slot of its own.
#pragma nounroll
    for (int step = 0; step < kSteps; step += kPartSteps) {
      begin(step / kPartSteps);
      GLM_UNROLL for (int i = 0; i < kDepth; ++i) {
        run(step + i * kPair, i, (i + 1) % kDepth, (i + kDepth - 1) % kDepth);
      }
      join(step / kPartSteps);
    }
  } else {
    int slot = 0, before = kDepth - 1;
#pragma nounroll
    for (int step = 0; step < kSteps;) {
      const int part = step / kPartSteps;
      const int end = step + kPartSteps < kSteps ? step + kPartSteps : kSteps;
      begin(part);
#pragma nounroll
      do {
        const int after = slot + 1 == kDepth ? 0 : slot + 1;
        run(step, slot, after, before);
        before = slot;
        slot = after;
      } while ((step += kPair) < end);
      join(part);
    }
  }
  Barrier();
}

}  // namespace glm::kernel

#endif  // __NVPTX__
