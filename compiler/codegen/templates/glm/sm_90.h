// sm_90.h - what gpu.h needs from an sm_90 (H100, H200): warps of 32, mma.
#pragma once

#include "glm/number.h"

#ifdef __NVPTX__

// Work-items of a block, and blocks that a multiprocessor must hold at once.
#define GLM_WORK_ITEMS(n, blocks) __attribute__((launch_bounds(n, blocks)))
// All waiting blocks and one more, on 132 multiprocessors (decisions/0014), and
// at least two: while one block begins or ends, the other keeps memory busy.
// Where none waits, products of a row are the work, and three keep it busier.
#define GLM_BLOCKS_WAITING(waiting, rows) \
  ((waiting) == 0 && (rows) == 1 ? 3      \
   : (waiting) < 132             ? 2      \
                                 : (waiting) / 132 + 1)
// A row's work waits for memory: 16 warps, 128 registers a thread.
#define GLM_BLOCKS_OF_ROWS 2
// 80 registers a thread, or 128 where sums take half of those, unless sums take
// more or, where they are few, long rows that are read ahead do.
#define GLM_BLOCKS_OF_TILE(sums) ((sums) == 32 ? 3 : (sums) == 64 ? 2 : 1)

namespace glm::kernel {

// Stretches of a row whose loads are under way together.
inline constexpr int kStretches = 2;

// Turns of a long row's loads that are in flight (gpu_dots.h): registers.
inline constexpr int kTurnsOfLongRows = 4;

GLM_FN int Thread() { return int(__nvvm_read_ptx_sreg_tid_x()); }
GLM_FN int Lane() { return Thread() % 32; }
GLM_FN int64_t GridX() { return __nvvm_read_ptx_sreg_ctaid_x(); }
GLM_FN int64_t GridY() { return __nvvm_read_ptx_sreg_ctaid_y(); }
GLM_FN int64_t GridZ() { return __nvvm_read_ptx_sreg_ctaid_z(); }

// A value that all lanes of the warp have.
GLM_FN int Uniform(int value) { return value; }

// The uniform value, but the compiler no longer knows how it came about.
GLM_FN int64_t Opaque(int64_t value) {
  asm("" : "+l"(value));
  return value;
}

GLM_FN const uint64_t* Arguments(const uint64_t* words) { return words; }

// The same number; arguments are read from constant memory as they are used.
GLM_FN int LateIndex(int index) { return index; }

// What any work-item of the block stored before is seen by all after.
GLM_FN void Barrier() { __nvvm_bar_sync(0); }

// The same for the work-items of this warp alone.
GLM_FN void WaveBarrier() { __nvvm_bar_warp_sync(~0u); }

// What this work-item stored, or saw at a barrier, is seen by any block that
// acquires later.
GLM_FN void ReleaseToDevice() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
// By one work-item before a barrier: the fence empties the cache of all.
GLM_FN void AcquireForBlock() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
GLM_FN void AcquireFromDevice() {}
// What the host stored before a number that this work-item, or one before a
// barrier, has read is seen.
GLM_FN void AcquireFromHost() {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}
GLM_FN void Pause() { __nvvm_nanosleep(20); }

// The value of lane (lane ^ kMask).
template <int kMask>
GLM_FN float Exchange(float value) {
  return __nvvm_shfl_sync_bfly_f32(~0u, value, kMask, 31);
}

// The value of one lane, the same for all.
GLM_FN int FromLane(int value, int lane) {
  return __nvvm_shfl_sync_idx_i32(~0u, value, lane, 31);
}

GLM_FN uint32_t Ballot(bool vote) { return __nvvm_vote_ballot_sync(~0u, vote); }

// `count` bytes from an address that is even, at the least: a wide load needs
// its own alignment here.
template <class V>
GLM_FN V LoadBytes(const void* memory) {
  constexpr size_t kAlignment = sizeof(V) < 16 ? sizeof(V) : 16;
  V v;
  if (reinterpret_cast<uintptr_t>(memory) % kAlignment == 0) {
    __builtin_memcpy(&v, __builtin_assume_aligned(memory, kAlignment),
                     sizeof(v));
  } else {
    uint16_t halves[sizeof(V) / 2];
    GLM_UNROLL for (size_t i = 0; i < sizeof(V) / 2; ++i) {
      halves[i] = static_cast<const uint16_t*>(memory)[i];
    }
    __builtin_memcpy(&v, halves, sizeof(v));
  }
  return v;
}

// ----------------------------------------------------------------- int4 codes
//
// A wave multiplies kCodeWords words along k of 4 outputs a lane with 8 rows of
// bf16. Both operands take the columns of a word in the same order: (0, 4),
// (1, 5), (2, 6), (3, 7), as one mask cuts pairs out of a word.

typedef uint32_t Word4 __attribute__((ext_vector_type(4)));
typedef float CodeSums __attribute__((ext_vector_type(4)));

inline constexpr int kCodeWords = 4;
inline constexpr int kCodeTiles = 2;        // of 16 outputs
inline constexpr int kCodeLoads = 8;        // under way at a time
inline constexpr bool kEarlyScales = true;  // before the words are there

// A lane's word along k, the first of its outputs, and the row whose columns it
// brings.
GLM_FN int CodeWord() { return Lane() % 4; }
GLM_FN int CodeOutput() { return Lane() / 4 * 4; }
GLM_FN int CodeRow() { return Lane() / 4; }

// Output and row of element i of the sums of a tile.
GLM_FN int CodeSumOutput(int tile, int i) {
  return Lane() / 4 * 4 + 2 * tile + i / 2;
}
GLM_FN int CodeSumRow(int i) { return Lane() % 4 * 2 + i % 2; }

// The outputs of a lane's sums are fours of neighbours: where four q begins,
// and which of its outputs element i of a tile's sums is.
inline constexpr int kCodeFours = 1;
GLM_FN int CodeFourOutput(int) { return Lane() / 4 * 4; }
GLM_FN constexpr int CodeFour(int, int) { return 0; }
GLM_FN constexpr int CodeInFour(int tile, int i) { return 2 * tile + i / 2; }

// Columns of a word from a row, in the order of the codes.
GLM_FN Word4 CodeColumns(Word4 columns) {
  return {columns.x & 0xffffu | columns.z << 16,
          columns.x >> 16 | columns.z & 0xffff0000u,
          columns.y & 0xffffu | columns.w << 16,
          columns.y >> 16 | columns.w & 0xffff0000u};
}

// Two codes c of a word as bf16 c - 8: 128 + c is one with c at its end, and
// the difference is exact.
GLM_FN uint32_t CodePair(uint32_t word, int i) {
  const uint32_t biased = word >> (4 * i) & 0x000f000fu | 0x43004300u;
  uint32_t pair;
  asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(pair) : "r"(biased), "r"(0x43084308u));
  return pair;
}

// sums[tile] += codes of each output times the columns of each row.
GLM_FN void MultiplyCodes(CodeSums (&sums)[kCodeTiles], Word4 words,
                          Word4 columns) {
  GLM_UNROLL for (int tile = 0; tile < kCodeTiles; ++tile) {
    CodeSums& s = sums[tile];
    float s0 = s.x, s1 = s.y, s2 = s.z, s3 = s.w;
    GLM_UNROLL for (int i = 0; i < 4; i += 2) {
      asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
          : "r"(CodePair(words[2 * tile], i)),
            "r"(CodePair(words[2 * tile + 1], i)),
            "r"(CodePair(words[2 * tile], i + 1)),
            "r"(CodePair(words[2 * tile + 1], i + 1)), "r"(columns[i]),
            "r"(columns[i + 1]));
    }
    s = CodeSums{s0, s1, s2, s3};
  }
}

// ------------------------------------------------------------ 16 x 16 tiles

// Sums of a 16 x 16 tile: element i of a lane is at (TileRow(i),
// TileColumn(i)).
typedef float TileSums __attribute__((ext_vector_type(8)));
// A 16 x 16 tile of bf16 operands, as the quarters of m16n8k16.
typedef uint32_t TileOperand __attribute__((ext_vector_type(4)));

GLM_FN int TileRow(int i) { return Lane() / 4 + (i & 2) * 4; }
GLM_FN int TileColumn(int i) { return i / 4 * 8 + Lane() % 4 * 2 + (i & 1); }

// Element i of a lane's operand is column OperandColumn(i) of row
// OperandRow(i); elements 2p and 2p + 1 are neighbours in a row.
GLM_FN int OperandRow(int i) { return TileRow(i); }
GLM_FN int OperandColumn(int i) { return TileColumn(i); }

// Element i of row (row ^ kMask), where v are a lane's elements of an operand.
template <int kMask>
GLM_FN float FromRow(const float (&v)[8], int i) {
  if constexpr (kMask == 8) return v[i ^ 2];
  return Exchange<4 * (kMask % 8)>(v[i]);
}

// The bf16 nearest to two floats, the first in the low half.
GLM_FN uint32_t Bf16Pair(float first, float second) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// Rows at from[row * stride], 16 columns each, 4-byte aligned.
GLM_FN TileOperand LoadTile(const uint16_t* from, int stride) {
  const uint16_t* at = from + Lane() / 4 * stride + Lane() % 4 * 2;
  const auto pair = [&](int row, int column) {
    return *reinterpret_cast<const uint32_t*>(at + row * stride + column);
  };
  return TileOperand{pair(0, 0), pair(8, 0), pair(0, 8), pair(8, 8)};
}

GLM_FN uint32_t SharedAddress(const void* memory) {
  return uint32_t(
      size_t((const __attribute__((address_space(3))) void*)memory));
}

// Four matrices of 8 x 8, each lane with the address of a row of one of them,
// transposed.
GLM_FN TileOperand LoadMatricesTransposed(const void* row) {
  uint32_t v[4];
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
      : "r"(SharedAddress(row))
      : "memory");
  return TileOperand{v[0], v[1], v[2], v[3]};
}

// The tile whose rows are the columns of shared memory: column k of it is at
// from[k * stride], 16 rows each, 16-byte aligned.
GLM_FN TileOperand LoadTileTransposed(const uint16_t* from, int stride) {
  const int lane = Lane();
  return LoadMatricesTransposed(from + (lane / 16 * 8 + lane % 8) * stride +
                                lane / 8 % 2 * 8);
}

// sums[r][c] += sum_k a[r][k] b[c][k].
GLM_FN void MultiplyTiles(TileSums& sums, TileOperand a, TileOperand b) {
  const auto half = [&](float& s0, float& s1, float& s2, float& s3, uint32_t b0,
                        uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
  };
  float s[8];
  GLM_UNROLL for (int i = 0; i < 8; ++i) s[i] = sums[i];
  half(s[0], s[1], s[2], s[3], b.x, b.z);
  half(s[4], s[5], s[6], s[7], b.y, b.w);
  GLM_UNROLL for (int i = 0; i < 8; ++i) sums[i] = s[i];
}

// The same sums, placed like the elements of an operand.
GLM_FN void MultiplyToOperand(TileSums& sums, TileOperand a, TileOperand b) {
  MultiplyTiles(sums, a, b);
}

// --------------------------------------------- 32 columns of a 16 x 16 tile

// 8 neighbouring columns of a row of bf16.
typedef uint16_t Piece __attribute__((ext_vector_type(8)));

// A lane's operands for 32 columns, taken in kRounds rounds: of[i] is the 8
// columns 8 * PieceChunk(round) .. of row PieceRow(i). Which columns a lane has
// is free as long as both operands agree, so a piece is one wide load.
inline constexpr int kRounds = 1;
inline constexpr int kPieces = 2;
struct Pieces {
  Piece of[kPieces];
};
GLM_FN int PieceRow(int i) { return Lane() / 4 + 8 * i; }
GLM_FN int PieceChunk(int) { return Lane() % 4; }

// sums[r][c] += sum over the round's columns of a[r] b[c].
GLM_FN void MultiplyPieces(TileSums& sums, const Pieces& a, const Pieces& b) {
  typedef uint32_t Pairs __attribute__((ext_vector_type(4)));
  const Pairs low = __builtin_bit_cast(Pairs, a.of[0]);
  const Pairs high = __builtin_bit_cast(Pairs, a.of[1]);
  const Pairs first = __builtin_bit_cast(Pairs, b.of[0]);
  const Pairs second = __builtin_bit_cast(Pairs, b.of[1]);
  GLM_UNROLL for (int i = 0; i < 4; i += 2) {
    MultiplyTiles(
        sums, TileOperand{low[i], high[i], low[i + 1], high[i + 1]},
        TileOperand{first[i], second[i], first[i + 1], second[i + 1]});
  }
}

}  // namespace glm::kernel

#endif  // __NVPTX__
