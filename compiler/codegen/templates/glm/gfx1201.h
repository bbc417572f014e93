// gfx1201.h - what gpu.h needs from a gfx1201 (RDNA4): wave32, WMMA.
#pragma once

#include "glm/number.h"

#ifdef __AMDGCN__

// Work-items of a block, and blocks that a compute unit must hold at once: its
// four-wave share of them bounds the registers of a kernel.
#define GLM_WORK_ITEMS(n, blocks)                   \
  __attribute__((amdgpu_flat_work_group_size(n, n), \
                 amdgpu_waves_per_eu((n) / 64 * (blocks))))
// All waiting blocks and one more, on 64 compute units (decisions/0014), and at
// least two.
#define GLM_BLOCKS_WAITING(waiting, rows) \
  ((waiting) < 64 ? 2 : (waiting) / 64 + 1)
// A row's work waits for memory: 16 waves a SIMD, 96 registers a lane.
#define GLM_BLOCKS_OF_ROWS 4
// 8 waves a SIMD, 192 registers a lane: the sums of a tile and two operands.
#define GLM_BLOCKS_OF_TILE(sums) 2

namespace glm::kernel {

// Stretches of a row whose loads are under way together: registers.
inline constexpr int kStretches = 1;

// Turns of a long row's loads that are in flight (gpu_dots.h): registers.
inline constexpr int kTurnsOfLongRows = 2;

GLM_FN int Thread() { return int(__builtin_amdgcn_workitem_id_x()); }
GLM_FN int Lane() { return int(__builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
GLM_FN int64_t GridX() { return __builtin_amdgcn_workgroup_id_x(); }
GLM_FN int64_t GridY() { return __builtin_amdgcn_workgroup_id_y(); }
GLM_FN int64_t GridZ() { return __builtin_amdgcn_workgroup_id_z(); }

// A value that all lanes of the wave have, as one that the compiler knows so.
GLM_FN int Uniform(int value) { return __builtin_amdgcn_readfirstlane(value); }

// The uniform value, but the compiler no longer knows how it came about.
GLM_FN int64_t Opaque(int64_t value) {
  asm("" : "+s"(value));
  return value;
}

// The launch's arguments where the hardware put them: no copy is made to index.
GLM_FN const uint64_t* Arguments(const uint64_t*) {
  return (const uint64_t*)__builtin_amdgcn_kernarg_segment_ptr();
}

// The same number, but loads that it addresses stay where they are written.
GLM_FN int LateIndex(int index) {
  asm volatile("" : "+s"(index));
  return index;
}

// What any work-item of the block stored before is seen by all after.
GLM_FN void Barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// The same for the work-items of this wave alone.
GLM_FN void WaveBarrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

// What this work-item stored, or saw at a barrier, is seen by any block that
// acquires later.
GLM_FN void ReleaseToDevice() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
}
// By every work-item after a barrier: waves of a block do not share all caches.
GLM_FN void AcquireForBlock() {}
GLM_FN void AcquireFromDevice() {
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  // No fence empties the scalar cache: what is loaded from here on is not known
  // to be unchanged, and so no scalar load.
  asm volatile("" ::: "memory");
}
// What the host stored before a number that this work-item, or one before a
// barrier, has read is seen.
GLM_FN void AcquireFromHost() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""); }
GLM_FN void Pause() { __builtin_amdgcn_s_sleep(1); }

// The value of lane (lane ^ kMask).
template <int kMask>
GLM_FN float Exchange(float value) {
  const int v = __builtin_bit_cast(int, value);
  if constexpr (kMask == 16) {
    return __builtin_bit_cast(
        float, __builtin_amdgcn_permlanex16(v, v, 0x76543210, 0xfedcba98, false,
                                            false));
  } else {  // row_xmask
    return __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(
                                         0, v, 0x160 + kMask, 0xf, 0xf, true));
  }
}

// The value of one lane, the same for all.
GLM_FN int FromLane(int value, int lane) {
  return __builtin_amdgcn_readlane(value, lane);
}

GLM_FN uint32_t Ballot(bool vote) { return __builtin_amdgcn_ballot_w32(vote); }

// `count` bytes from any address.
template <class V>
GLM_FN V LoadBytes(const void* memory) {
  V v;
  __builtin_memcpy(&v, memory, sizeof(v));
  return v;
}

// ------------------------------------------------------------ 16 x 16 tiles

// Sums of a 16 x 16 tile: element i of a lane is at (TileRow(i),
// TileColumn(i)).
typedef float TileSums __attribute__((ext_vector_type(8)));
// A 16 x 16 tile of bf16 operands.
typedef short TileOperand __attribute__((ext_vector_type(8)));

GLM_FN int TileRow(int i) { return Lane() / 16 * 8 + i; }
GLM_FN int TileColumn(int) { return Lane() % 16; }

// Element i of a lane's operand is column OperandColumn(i) of row
// OperandRow(i); elements 2p and 2p + 1 are neighbours in a row.
GLM_FN int OperandRow(int) { return Lane() % 16; }
GLM_FN int OperandColumn(int i) { return Lane() / 16 * 8 + i; }

// Element i of row (row ^ kMask), where v are a lane's elements of an operand.
template <int kMask>
GLM_FN float FromRow(const float (&v)[8], int i) {
  return Exchange<kMask>(v[i]);
}

// The bf16 nearest to two floats, ties away from zero, the first in the low
// half. Not for NaN.
GLM_FN uint32_t Bf16Pair(float first, float second) {
  return __builtin_amdgcn_perm(Bits(second) + 0x8000u, Bits(first) + 0x8000u,
                               0x07060302u);
}

// Rows at from[row * stride], 16 columns each, 16-byte aligned.
GLM_FN TileOperand LoadTile(const uint16_t* from, int stride) {
  return *reinterpret_cast<const TileOperand*>(from + Lane() % 16 * stride +
                                               Lane() / 16 * 8);
}

// The tile whose rows are the columns of shared memory: column k of it is at
// from[k * stride], 16 rows each, 16-byte aligned.
GLM_FN TileOperand LoadTileTransposed(const uint16_t* from, int stride) {
  const uint16_t* at = from + Lane() / 16 * 8 * stride + Lane() % 16;
  TileOperand v;
  GLM_UNROLL for (int i = 0; i < 8; ++i) v[i] = short(at[i * stride]);
  return v;
}

// sums[r][c] += sum_k a[r][k] b[c][k].
GLM_FN void MultiplyTiles(TileSums& sums, TileOperand a, TileOperand b) {
  sums = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, sums);
}

// The same sums, placed like the elements of an operand.
GLM_FN void MultiplyToOperand(TileSums& sums, TileOperand a, TileOperand b) {
  MultiplyTiles(sums, b, a);
}

// ----------------------------------------------------------------- int4 codes
//
// A wave multiplies kCodeWords words along k of 4 outputs a lane with 8 rows of
// bf16 (WMMA has room for 16). A word's columns are a lane's part of an
// operand.

typedef uint32_t Word4 __attribute__((ext_vector_type(4)));
typedef TileSums CodeSums;

inline constexpr int kCodeWords = 2;
inline constexpr int kCodeTiles = 4;         // of 16 outputs
inline constexpr int kCodeLoads = 2;         // under way at a time
inline constexpr bool kEarlyScales = false;  // no registers for them

// A lane's word along k, the first of its outputs, and the row whose columns it
// brings.
GLM_FN int CodeWord() { return Lane() / 16; }
GLM_FN int CodeOutput() { return Lane() % 16 * 4; }
GLM_FN int CodeRow() { return Lane() % 16; }

// Output and row of element i of the sums of a tile.
GLM_FN int CodeSumOutput(int tile, int i) {
  return 4 * (Lane() / 16 * 8 + i) + tile;
}
GLM_FN int CodeSumRow(int) { return Lane() % 16; }

// The outputs of a lane's sums are fours of neighbours: where four q begins,
// and which of its outputs element i of a tile's sums is.
inline constexpr int kCodeFours = 8;
GLM_FN int CodeFourOutput(int q) { return 4 * (Lane() / 16 * 8 + q); }
GLM_FN constexpr int CodeFour(int, int i) { return i; }
GLM_FN constexpr int CodeInFour(int tile, int) { return tile; }

// Columns of a word from a row, in the order of the codes.
GLM_FN Word4 CodeColumns(Word4 columns) { return columns; }

// The codes c of a word as bf16 c - 8: with its top bit turned over, a code is
// the difference in two's complement.
GLM_FN TileOperand CodeValues(uint32_t word) {
  const uint32_t turned = word ^ 0x88888888u;
  Word4 values;
  GLM_UNROLL for (int i = 0; i < 4; ++i) {
    const float low = float(int32_t(turned << (28 - 8 * i)) >> 28);
    const float high = float(int32_t(turned << (24 - 8 * i)) >> 28);
    values[i] = __builtin_amdgcn_perm(Bits(high), Bits(low), 0x07060302u);
  }
  return __builtin_bit_cast(TileOperand, values);
}

// sums[tile] += codes of each output times the columns of each row.
GLM_FN void MultiplyCodes(CodeSums (&sums)[kCodeTiles], Word4 words,
                          Word4 columns) {
  GLM_UNROLL for (int tile = 0; tile < kCodeTiles; ++tile) {
    MultiplyTiles(sums[tile], CodeValues(words[tile]),
                  __builtin_bit_cast(TileOperand, columns));
  }
}

// --------------------------------------------- 32 columns of a 16 x 16 tile

// 8 neighbouring columns of a row of bf16.
typedef uint16_t Piece __attribute__((ext_vector_type(8)));

// A lane's operands for 32 columns, taken in kRounds rounds: of[i] is the 8
// columns 8 * PieceChunk(round) .. of row PieceRow(i).
inline constexpr int kRounds = 2;
inline constexpr int kPieces = 1;
struct Pieces {
  Piece of[kPieces];
};
GLM_FN int PieceRow(int) { return Lane() % 16; }
GLM_FN int PieceChunk(int round) { return Lane() / 16 + 2 * round; }

// sums[r][c] += sum over the round's columns of a[r] b[c].
GLM_FN void MultiplyPieces(TileSums& sums, const Pieces& a, const Pieces& b) {
  MultiplyTiles(sums, __builtin_bit_cast(TileOperand, a.of[0]),
                __builtin_bit_cast(TileOperand, b.of[0]));
}

}  // namespace glm::kernel

#endif  // __AMDGCN__
