// Kernels that show what the emulator finds.

typedef unsigned u32;
typedef unsigned short u16;
typedef float Float8 __attribute__((ext_vector_type(8)));
typedef short Short8 __attribute__((ext_vector_type(8)));

#define KERNEL(name, threads)                                      \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(   \
                                        threads, threads))) void name
#define SHARED static __attribute__((device, shared))
#define THREAD __builtin_amdgcn_workitem_id_x()

static __attribute__((device)) void Barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// y[i] = x[255 - i] through LDS.
template <bool kBarrier>
static __attribute__((device)) void Reverse(const u32* x, u32* y) {
  SHARED u32 all[256];
  all[THREAD] = x[THREAD];
  if (kBarrier) {
    Barrier();
  } else {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
  }
  y[THREAD] = *(volatile u32*)&all[255 - THREAD];
}

KERNEL(reverse, 256)(const u32* x, u32* y) { Reverse<true>(x, y); }
KERNEL(reverse_racing, 256)(const u32* x, u32* y) { Reverse<false>(x, y); }

KERNEL(copy, 256)(const u32* x, u32* y) { y[THREAD] = x[THREAD]; }

KERNEL(unwritten, 256)(const u32*, u32* y) {
  SHARED volatile u32 all[256];
  if (THREAD == 300) all[0] = 1;
  y[THREAD] = all[THREAD];
}

KERNEL(endless, 256)(const u32* x, u32* y) {
  while (*(volatile const u32*)x == 0) {
  }
  y[0] = 1;
}

// Blocks 0 and 1 set y, blocks 2 and 3 wait for both and each copy what one of
// them set. x counts the blocks that have ended.
template <bool kBarrier, bool kWait>
static __attribute__((device)) void Phases(u32* x, u32* y) {
  const u32 block = __builtin_amdgcn_workgroup_id_x();
  if (block < 2) {
    y[block * 256 + THREAD] = block * 256 + THREAD;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    if (kBarrier) Barrier();
    if (THREAD == 0) {
      __scoped_atomic_fetch_add(x, 1u, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_DEVICE);
    }
    return;
  }
  if (kWait && THREAD == 0) {
    while (__scoped_atomic_load_n(x, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_DEVICE) < 2) {
      __builtin_amdgcn_s_sleep(1);
    }
  }
  Barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  y[block * 256 + THREAD] = y[(block - 2) * 256 + THREAD];
}

KERNEL(phases, 256)(u32* x, u32* y) { Phases<true, true>(x, y); }
KERNEL(phases_no_barrier, 256)(u32* x, u32* y) { Phases<false, true>(x, y); }
KERNEL(phases_no_wait, 256)(u32* x, u32* y) { Phases<true, false>(x, y); }

// Block 0 waits for block 1.
KERNEL(backwards, 256)(u32* x, u32*) {
  if (__builtin_amdgcn_workgroup_id_x() == 1) {
    *(volatile u32*)x = 1;
  } else {
    while (*(volatile u32*)x == 0) __builtin_amdgcn_s_sleep(1);
  }
}

// d = a b for 16 x 16 matrices, a [row][k] and b [column][k] in bf16. Lane l
// holds row (column) l % 16 of a (b) from k = 8 (l / 16) on; element i of its
// result is at row 8 (l / 16) + i, column l % 16.
KERNEL(wmma, 32)(const Short8* a, const Short8* b, float* d) {
  const u32 l = THREAD;
  const Float8 sums = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(
      a[l % 16 * 2 + l / 16], b[l % 16 * 2 + l / 16], Float8(0.0f));
  for (u32 i = 0; i < 8; ++i) d[(l / 16 * 8 + i) * 16 + l % 16] = sums[i];
}
