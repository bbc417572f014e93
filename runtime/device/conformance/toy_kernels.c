// Hand-written kernels in the host's calling convention (docs/spec/kernels.md),
// compiled to a code object for tests: those of runtime/plan/test_plan.h and
// those that the conformance suite launches.
typedef unsigned long long u64;
typedef unsigned int u32;

// seqs, N, T, ids, state base, stride, sums. One block a sequence.
void toy_sum(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  const int *seqs = (const int *)args[0];
  const u64 tokens = args[1];
  for (u64 s = begin; s < end; ++s) {
    const int slot = seqs[4 * s], position = seqs[4 * s + 1];
    const int length = seqs[4 * s + 2];
    if (length == 0)
      continue;
    float *state = (float *)(args[4] + args[5] * (u64)slot);
    float sum = position == 0 ? 0.0f : *state;
    for (int j = 0; j < length; ++j) {
      sum += (float)((const int *)args[3])[s * tokens + (u64)j];
      ((float *)args[6])[s * tokens + (u64)j] = sum;
    }
    *state = sum;
  }
}

// seqs, N, T, sums, rows, table, experts, logits. One block a column; R = 1.
void toy_logits(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  const int row = *(const int *)args[4];
  if (row < 0)
    return;
  const float sum = ((const float *)args[3])[row];
  for (u64 v = begin; v < end; ++v) {
    const float *expert = (const float *)((const u64 *)args[6])[v];
    ((float *)args[7])[v] = sum * ((const float *)args[5])[v] + *expert;
  }
}

// Both as a group. Words 0: counters; 1 to 7: toy_sum; 8 to 15: toy_logits.
// Counters that are not zero are added to the logits; a first id of 7 leaves one
// that is not, as a launch that fails in the middle does.
static void both(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  if (begin == 0) {
    toy_sum(args + 1, grid, 0, 1);
    *(u32 *)args[0] += *(const int *)args[4] == 7;
    begin = 1;
  }
  if (begin >= end)
    return;
  toy_logits(args + 8, grid, begin - 1, end - 1);
  u32 counted = 0;
  for (int p = 0; p < 64; ++p)
    counted += ((const u32 *)args[0])[p];
  for (u64 v = begin - 1; v < end - 1; ++v)
    ((float *)args[15])[v] += (float)counted;
}

// For 1 and for 4 rows; the names are the hashes of
// "0 1 1: toy_sum 1 1 1 T,;1 1 8: toy_logits 8 1 1 T,;".
void group_25d756a9aa444d69(const u64 *args, const u32 grid[3], u64 begin,
                            u64 end) {
  both(args, grid, begin, end);
}
void group_4ee69adc83862a5d(const u64 *args, const u32 grid[3], u64 begin,
                            u64 end) {
  both(args, grid, begin, end);
}

// The kernels of docs/spec/sampling.md for a vocabulary of 8, with a rule of
// their own: the token is position + seed modulo 8, or -1 where logit 0 is
// negative.
void SampleBest_8_1(const u64 *args, const u32 grid[3], u64 begin, u64 end) {}
void SampleWeigh_8_1(const u64 *args, const u32 grid[3], u64 begin, u64 end) {}
void SamplePick_8_1(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  for (u64 r = begin; r < end; ++r) {
    const int *at = (const int *)args[4] + 4 * r;
    if (at[0] < 0)
      continue;
    const u32 seed = *(const u32 *)(args[5] + args[6] * (u64)at[0] + 4 * 8);
    const float first = ((const float *)args[3])[8 * r];
    ((int *)args[11])[r] = first < 0 ? -1 : (int)(((u32)at[1] + seed) % 8);
  }
}

// values U32 [blocks], a, b, seed: block i < a stores seed + i, slowly; i < b
// the sum of those, plus i; the others the sum of what those below b stored.
void test_phases(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  u32 *values = (u32 *)args[0];
  const u64 a = args[1], b = args[2];
  for (u64 i = begin; i < end; ++i) {
    if (i < a) {
      for (volatile int wait = 0; wait < 2000; ++wait) {
      }
      values[i] = (u32)(args[3] + i);
      continue;
    }
    u32 sum = 0;
    for (u64 j = i < b ? 0 : a; j < (i < b ? a : b); ++j)
      sum += ((volatile u32 *)values)[j];
    values[i] = i < b ? sum + (u32)i : sum;
  }
}

// counters U32 [blocks], value: each block adds `value` to its own counter.
void test_add(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  for (u64 i = begin; i < end; ++i)
    ((u32 *)args[0])[i] += (u32)args[1];
}

// Writes the block's coordinates: out U32 [blocks, 3].
void test_coordinates(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  for (u64 i = begin; i < end; ++i) {
    u32 *out = (u32 *)args[0] + 3 * i;
    out[0] = (u32)(i % grid[0]);
    out[1] = (u32)(i / grid[0] % grid[1]);
    out[2] = (u32)(i / grid[0] / grid[1]);
  }
}

// total U32 [1] += source U32 [1] through a pointer in memory.
void test_indirect(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  *(u32 *)args[0] += **(const u32 **)args[1];
}
