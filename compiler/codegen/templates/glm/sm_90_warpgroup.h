// sm_90_warpgroup.h - the matrix instructions of an sm_90 that a warpgroup, 4
// warps, issues together and that run beside it (wgmma).
//
// D [64, N] f32 (+)= A [64, 16] B [N, 16] of bf16. A comes from registers or
// from shared memory, B from shared memory; there both are rows of 32 columns
// as ChunkPlace lays them, from an address of a multiple of 512 bytes.
// Of a lane's sums, element 4 j + 2 o + i is row WarpgroupRow(o) of A, row
// 8 j + WarpgroupColumn() + i of B.
//
// WarpgroupBegin, products, WarpgroupCommit, then WarpgroupWait before the
// sums, or what was in registers, or the shared memory is touched again.
#pragma once

#include "glm/stage_places.h"

#ifdef __NVPTX__

namespace glm::kernel {

inline constexpr int kWarpgroups = kWaves / 4;

GLM_FN int Warpgroup() { return Wave() / 4; }
GLM_FN int WarpgroupRow(int o) { return Wave() % 4 * 16 + 8 * o + Lane() / 4; }
GLM_FN int WarpgroupColumn() { return Lane() % 4 * 2; }

// Where rows of 32 columns begin: eights of them are 512 bytes apart, chunks of
// 16 bytes change places within 64.
GLM_FN uint64_t StageMatrix(uint32_t shared_address) {
  constexpr uint64_t kSwizzle64 = uint64_t(2) << 62;
  constexpr uint64_t kEights = uint64_t(512 / 16) << 32;
  return kSwizzle64 | kEights | uint64_t(1) << 16 |
         uint64_t((shared_address & 0x3ffffu) / 16);
}
// The same rows, 16 columns further.
inline constexpr uint64_t kNextRound = 32 / 16;

GLM_FN void WarpgroupBegin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
GLM_FN void WarpgroupCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// 1 / value to the last bit or two.
GLM_FN float Reciprocal(float value) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(value));
  return r;
}

// An operand stays as it is until here.
GLM_FN void Keep(TileOperand& a) {
  asm volatile("" : "+r"(a.x), "+r"(a.y), "+r"(a.z), "+r"(a.w));
}
GLM_FN void Keep(uint64_t&) {}

// Operands %0 .. of sums, in eights.
#define GLM_EIGHT(d, i)                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), \
      "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define GLM_NAMES_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define GLM_NAMES_16 GLM_NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define GLM_NAMES_24 GLM_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define GLM_NAMES_32 GLM_NAMES_24 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define GLM_NAMES_64                                                 \
  GLM_NAMES_32                                                       \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47" \
  ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define GLM_SUMS_8(d) GLM_EIGHT(d, 0)
#define GLM_SUMS_16(d) GLM_SUMS_8(d), GLM_EIGHT(d, 8)
#define GLM_SUMS_24(d) GLM_SUMS_16(d), GLM_EIGHT(d, 16)
#define GLM_SUMS_32(d) GLM_SUMS_24(d), GLM_EIGHT(d, 24)
#define GLM_SUMS_64(d)                                                  \
  GLM_SUMS_32(d), GLM_EIGHT(d, 32), GLM_EIGHT(d, 40), GLM_EIGHT(d, 48), \
      GLM_EIGHT(d, 56)

// Sums of a lane for N rows of B.
template <int N>
struct WarpgroupSums {
  float of[N / 2];
};

// `more`: to what the sums are; otherwise they begin with the product.
template <int N>
struct WarpgroupTile;

// a: registers 1 to 4 after those of the sums, and the last two.
#define GLM_WARPGROUP_TILE(N, SUMS, A0, A1, A2, A3, A4, A5)            \
  template <>                                                          \
  struct WarpgroupTile<N> {                                            \
    using Sums = WarpgroupSums<N>;                                     \
    GLM_FN static void Multiply(Sums& sums, TileOperand a, uint64_t b, \
                                bool more) {                           \
      asm volatile("{ .reg .pred more; setp.ne.b32 more, %" #A5        \
                   ", 0;"                                              \
                   " wgmma.mma_async.sync.aligned.m64n" #N             \
                   "k16.f32.bf16.bf16 {" GLM_NAMES_##SUMS              \
                   "}, {%" #A0 ",%" #A1 ",%" #A2 ",%" #A3 "}, %" #A4   \
                   ", more, 1, 1, 0; }"                                \
                   : GLM_SUMS_##SUMS(sums.of)                          \
                   : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b),   \
                     "r"(int(more))                                    \
                   : "memory");                                        \
    }                                                                  \
    GLM_FN static void Multiply(Sums& sums, uint64_t a, uint64_t b,    \
                                bool more) {                           \
      asm volatile("{ .reg .pred more; setp.ne.b32 more, %" #A2        \
                   ", 0;"                                              \
                   " wgmma.mma_async.sync.aligned.m64n" #N             \
                   "k16.f32.bf16.bf16 {" GLM_NAMES_##SUMS              \
                   "}, %" #A0 ", %" #A1 ", more, 1, 1, 0, 0; }"        \
                   : GLM_SUMS_##SUMS(sums.of)                          \
                   : "l"(a), "l"(b), "r"(int(more))                    \
                   : "memory");                                        \
    }                                                                  \
    /* Of all that was committed. */                                   \
    GLM_FN static void Wait(Sums& sums) {                              \
      asm volatile("wgmma.wait_group.sync.aligned 0;"                  \
                   : GLM_SUMS_##SUMS(sums.of)::"memory");              \
    }                                                                  \
  }

GLM_WARPGROUP_TILE(16, 8, 8, 9, 10, 11, 12, 13);
GLM_WARPGROUP_TILE(32, 16, 16, 17, 18, 19, 20, 21);
GLM_WARPGROUP_TILE(48, 24, 24, 25, 26, 27, 28, 29);
GLM_WARPGROUP_TILE(64, 32, 32, 33, 34, 35, 36, 37);
GLM_WARPGROUP_TILE(128, 64, 64, 65, 66, 67, 68, 69);

#undef GLM_WARPGROUP_TILE
#undef GLM_SUMS_64
#undef GLM_SUMS_32
#undef GLM_SUMS_24
#undef GLM_SUMS_16
#undef GLM_SUMS_8
#undef GLM_NAMES_64
#undef GLM_NAMES_32
#undef GLM_NAMES_24
#undef GLM_NAMES_16
#undef GLM_NAMES_8
#undef GLM_EIGHT

}  // namespace glm::kernel

#endif  // __NVPTX__
