// sm_90_stages.h - what gpu_stages.h and gpu_product.h need from an sm_90: a
// wave's operands from a stage of shared memory, and the stages themselves.
//
//   StageTile<kCodes>   16 rows times 16 outputs of a weight of bf16, or codes
//   RunStages           the loop over the stages
//
// A StageTile has
//
//   kRounds             rounds that 32 columns take
//   RowWaves(rows)      waves that share a tile's rows; the rest its outputs
//   Rows, Outputs       a wave's operands for a round
//   LoadRows(stage, row, round)   16 rows from `row` of a stage [rows][32]
//   kSumRows, kSumColumns, SumIndex(r, c)   a lane's rows and outputs, and the
//                       element of its TileSums that is the r-th row, the c-th
//                       output; outputs 2c and 2c + 1 are neighbours
//   SumRow(i), SumOutput(i)   row and output of an element
//   kReadsAhead         whether a step's outputs are better loaded before it
#pragma once

#include "glm/stage_places.h"

#ifdef __NVPTX__

namespace glm::kernel {

// Rows from which the sums of the parts of a long row lie aside, in memory, so
// that a multiprocessor has registers for two blocks of such a tile: one works
// while the other waits at a barrier. A block of 256 rows or outputs would be
// alone there, and is slower.
inline constexpr int64_t kAsideRows = 128;

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

// sums[first ..] += a b of m16n8k16: four registers in a row are a, two are b.
GLM_FN void MultiplyHalf(TileSums& sums, int first, TileOperand a, uint32_t b0,
                         uint32_t b1) {
  float s0 = sums[first], s1 = sums[first + 1];
  float s2 = sums[first + 2], s3 = sums[first + 3];
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
  sums[first] = s0, sums[first + 1] = s1;
  sums[first + 2] = s2, sums[first + 3] = s3;
}

template <bool kCodes>
struct StageTile;

// Rows are the first operand. Both come as the matrix unit wants them, so that
// no register has to be moved to stand beside another.
template <>
struct StageTile<false> {
  static constexpr bool kReadsAhead = false;
  static constexpr int kRounds = 2;
  static constexpr int kSumRows = 2;
  static constexpr int kSumColumns = 4;
  using Rows = TileOperand;
  using Outputs = TileOperand;

  GLM_FN static constexpr int RowWaves(int) { return 2; }
  GLM_FN static constexpr int SumIndex(int r, int c) {
    return c / 2 * 4 + r * 2 + c % 2;
  }
  GLM_FN static int SumRow(int i) { return TileRow(i); }
  GLM_FN static int SumOutput(int i) { return TileColumn(i); }

  GLM_FN static Rows LoadRows(const char* stage, int row, int round) {
    return LoadMatrices(stage +
                        ChunkPlace(row + Lane() % 16, 2 * round + Lane() / 16));
  }
  GLM_FN static Outputs LoadOutputs(const char* stage, int n, int round) {
    return LoadMatrices(stage + ChunkPlace(n + Lane() / 16 * 8 + Lane() % 8,
                                           2 * round + Lane() / 8 % 2));
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
    MultiplyHalf(sums, 0, a, b.x, b.y);
    MultiplyHalf(sums, 4, a, b.z, b.w);
  }
};

// Outputs are the first operand: their values are computed, and so need not be
// moved. A lane has 8 columns of each row and output, and of the outputs two
// neighbours.
template <>
struct StageTile<true> {
  static constexpr bool kReadsAhead = true;  // and unpacked meanwhile
  static constexpr int kRounds = 1;
  static constexpr int kSumRows = 4;
  static constexpr int kSumColumns = 2;
  typedef uint32_t Pairs __attribute__((ext_vector_type(4)));
  struct Rows {
    Pairs of[2];
  };
  struct Outputs {
    TileOperand of[2];
  };

  // Few rows: no two waves unpack the same codes.
  GLM_FN static constexpr int RowWaves(int rows) { return rows <= 64 ? 1 : 2; }
  GLM_FN static constexpr int SumIndex(int r, int c) {
    return r / 2 * 4 + r % 2 + 2 * c;
  }
  GLM_FN static int SumRow(int i) {
    return i / 4 * 8 + Lane() % 4 * 2 + (i & 1);
  }
  GLM_FN static int SumOutput(int i) { return Lane() / 4 * 2 + (i >> 1 & 1); }

  GLM_FN static Rows LoadRows(const char* stage, int row, int) {
    Rows v;
    GLM_UNROLL for (int i = 0; i < 2; ++i) {
      v.of[i] = *reinterpret_cast<const Pairs*>(
          stage + ChunkPlace(row + 8 * i + Lane() / 4, Lane() % 4));
    }
    return v;
  }
  // piece(n, chunk): columns 8 * chunk .. of output n.
  template <class OfPiece>
  GLM_FN static Outputs LoadCodes(OfPiece piece, int n, int) {
    const int mine = n + Lane() / 4 * 2;
    const Pairs even = __builtin_bit_cast(Pairs, piece(mine, Lane() % 4));
    const Pairs odd = __builtin_bit_cast(Pairs, piece(mine + 1, Lane() % 4));
    return {TileOperand{even.x, odd.x, even.y, odd.y},
            TileOperand{even.z, odd.z, even.w, odd.w}};
  }
  GLM_FN static void Multiply(TileSums& sums, const Rows& rows,
                              const Outputs& outputs) {
    GLM_UNROLL for (int i = 0; i < 2; ++i) {
      MultiplyHalf(sums, 0, outputs.of[i], rows.of[0][2 * i],
                   rows.of[0][2 * i + 1]);
      MultiplyHalf(sums, 4, outputs.of[i], rows.of[1][2 * i],
                   rows.of[1][2 * i + 1]);
    }
  }
};

// The values -8 .. 7 of 8 codes of 4 bits, exactly: 128 + code is a bf16 with
// the code as its last bits.
GLM_FN Piece CodePiece(uint32_t word) {
  typedef uint32_t Pairs __attribute__((ext_vector_type(4)));
  const uint32_t odd = word >> 4;
  Pairs v;
  GLM_UNROLL for (int i = 0; i < 4; ++i) {
    const uint32_t both = __nvvm_prmt(word, odd, 0x0400u + 0x1111u * i);
    uint32_t shifted, value;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;"  // and, or
        : "=r"(shifted)
        : "r"(both), "r"(0x000f000fu), "r"(0x43004300u));
    asm("sub.rn.bf16x2 %0, %1, %2;"
        : "=r"(value)
        : "r"(shifted), "r"(0x43084308u));
    v[i] = value;
  }
  return __builtin_bit_cast(Piece, v);
}

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
