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

// docs/spec/paging.md, for plans of runtime/plan/test_paged_plan.h.
struct toy_pager {
  u64 slots, row_bytes, sources, tables, slot_of_row, row_of_slot, row_uses;
  u64 ranges, counts, bell, trace;
  u32 trace_steps, layers, experts, slot_count, rank, weights, pieces, step;
  u64 offsets[8], reuse[12];
  u32 asked, arrived;
};
enum { TOY_TOP_K = 2 };
static const u32 toy_none = ~0u;

// The k-th expert that a row with this id chooses in a layer.
static u32 toy_choice(const struct toy_pager *p, u64 layer, int id, u32 k) {
  if (p->trace) {
    const u64 step = (p->step - 1) % p->trace_steps;
    return (u32)((const int *)
                     p->trace)[(step * p->layers + layer) * TOY_TOP_K + k];
  }
  return ((u32)id + (u32)layer + 3 * k) % p->experts;
}

static void toy_copy_row(const struct toy_pager *p, u32 slot, u64 source) {
  volatile u64 *to = (volatile u64 *)(p->slots + slot * p->row_bytes);
  for (u64 i = 0; i < p->row_bytes / 8; ++i)
    to[i] = ((const volatile u64 *)source)[i];
}

// Brings a row to a slot, by the doorbell where it has no source.
static void toy_fetch(struct toy_pager *p, u64 layer, u32 row, u32 slot) {
  const u64 source = ((const u64 *)p->sources)[row];
  if (source) {
    toy_copy_row(p, slot, source);
    return;
  }
  u32 *bell = (u32 *)p->bell;
  const u32 ring = bell[50], request = p->asked++;
  bell[64 + request % ring] = row;
  __atomic_store_n(&bell[0], request + 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&bell[16], __ATOMIC_ACQUIRE) == request) {
  }
  toy_copy_row(p, slot, *(const u64 *)&bell[48] + request % ring * p->row_bytes);
  __atomic_store_n(&bell[32], request + 1, __ATOMIC_RELEASE);
  ++((u64 *)p->counts)[4 * layer + 2];
}

// The slot that the least recently used of a layer's candidates gives up.
static u32 toy_victim(const struct toy_pager *p, u64 layer) {
  const u32 *range = (const u32 *)p->ranges + 2 * layer;
  const u32 *rows = (const u32 *)p->row_of_slot, *uses = (u32 *)p->row_uses;
  u32 best = toy_none;
  for (u32 s = range[0]; s < range[1]; ++s) {
    const u32 row = rows[s];
    if (row == toy_none)
      return s;
    if (row / p->experts == layer && uses[3 * row] == p->step)
      continue;
    if (best == toy_none || uses[3 * row] < uses[3 * rows[best]] ||
        (uses[3 * row] == uses[3 * rows[best]] && row < rows[best]))
      best = s;
  }
  return best;
}

// seqs, N, T, pager, layer, ids, values F32 [layers, T, 2]: policy lru of
// find_rows, copy_rows, and of each expert that a row chose the first element of
// its first weight plus the last one, of 1200, of its second. One block, one
// sequence.
void toy_page(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  struct toy_pager *p = (struct toy_pager *)args[3];
  const u64 layer = args[4];
  u32 *uses = (u32 *)p->row_uses, *slots = (u32 *)p->slot_of_row;
  u64 *counts = (u64 *)p->counts + 4 * layer;
  if (begin >= end)
    return;
  p->step += layer == 0;
  ++counts[3];
  const u32 first = (u32)layer * p->experts;
  for (int t = 0; t < ((const int *)args[0])[2]; ++t)
    for (u32 k = 0; k < TOY_TOP_K; ++k)
      uses[3 * (first + toy_choice(p, layer, ((const int *)args[5])[t], k))] =
          p->step;
  for (u32 e = 0; e < p->experts; ++e) {
    const u32 row = first + e;
    if (uses[3 * row] != p->step)
      continue;
    ++counts[0];
    if (slots[row] != toy_none)
      continue;
    ++counts[1];
    const u32 slot = toy_victim(p, layer);
    const u32 left = ((u32 *)p->row_of_slot)[slot];
    if (left != toy_none)
      slots[left] = toy_none;
    slots[row] = slot;
    ((u32 *)p->row_of_slot)[slot] = row;
    for (u32 i = 0; i < p->weights * p->pieces; ++i) {
      u64 *table = (u64 *)((const u64 *)
                               p->tables)[layer * p->weights + i / p->pieces];
      table[e * p->pieces + i % p->pieces] =
          p->slots + slot * p->row_bytes + p->offsets[i];
    }
    toy_fetch(p, layer, row, slot);
  }
  const u64 *tables = (const u64 *)p->tables + 2 * layer;
  for (int t = 0; t < ((const int *)args[0])[2]; ++t)
    for (u32 k = 0; k < TOY_TOP_K; ++k) {
      const u32 e = toy_choice(p, layer, ((const int *)args[5])[t], k);
      ((float *)args[6])[(layer * args[2] + (u64)t) * TOY_TOP_K + k] =
          *((const float **)tables[0])[e] + ((const float **)tables[1])[e][1199];
    }
}

// seqs, N, T, sums, rows, table, pager, ids, values, logits. As toy_logits, and
// the values of the experts that the row chose.
void toy_paged_logits(const u64 *args, const u32 grid[3], u64 begin, u64 end) {
  const struct toy_pager *p = (const struct toy_pager *)args[6];
  const int row = *(const int *)args[4];
  if (row < 0)
    return;
  const int id = ((const int *)args[7])[row];
  const float sum = ((const float *)args[3])[row];
  for (u64 v = begin; v < end; ++v) {
    float value = sum * ((const float *)args[5])[v];
    for (u64 layer = 0; layer < p->layers; ++layer)
      for (u32 k = 0; k < TOY_TOP_K; ++k)
        if (toy_choice(p, layer, id, k) == v)
          value += ((const float *)
                        args[8])[(layer * args[2] + (u64)row) * TOY_TOP_K + k];
    ((float *)args[9])[v] = value;
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
