// The kernels of toy_kernels.c in the calling convention of GPUs
// (docs/spec/kernels.md), compiled without a vendor's headers. One work-item of
// a block does the block's work, however many there are.
typedef unsigned long long u64;
typedef unsigned int u32;

template <int n> struct Words {
  u64 args[n];
};

#define KERNEL(name, words)                                                    \
  extern "C" __attribute__((global)) void name(const Words<words> w)

#ifdef __NVPTX__
#define DEVICE __attribute__((device)) inline
DEVICE bool First() { return __nvvm_read_ptx_sreg_tid_x() == 0; }
DEVICE u32 X() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 Y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE u32 Z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
DEVICE u32 GridX() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE u32 GridY() { return __nvvm_read_ptx_sreg_nctaid_y(); }
#else
#define DEVICE __attribute__((device)) inline
DEVICE bool First() { return __builtin_amdgcn_workitem_id_x() == 0; }
DEVICE u32 X() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE u32 Y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE u32 Z() { return __builtin_amdgcn_workgroup_id_z(); }
DEVICE u32 GridX() {
  return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
}
DEVICE u32 GridY() {
  return __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y();
}
#endif

KERNEL(toy_sum, 7) {
  if (!First())
    return;
  const u32 s = X();
  const int *seqs = (const int *)w.args[0];
  const u64 tokens = w.args[1];
  const int slot = seqs[4 * s], position = seqs[4 * s + 1];
  const int length = seqs[4 * s + 2];
  if (length == 0)
    return;
  float *state = (float *)(w.args[4] + w.args[5] * (u64)slot);
  float sum = position == 0 ? 0.0f : *state;
  for (int j = 0; j < length; ++j) {
    sum += (float)((const int *)w.args[3])[s * tokens + (u64)j];
    ((float *)w.args[6])[s * tokens + (u64)j] = sum;
  }
  *state = sum;
}

KERNEL(toy_logits, 8) {
  const int row = *(const int *)w.args[4];
  if (!First() || row < 0)
    return;
  const u32 v = X();
  const float sum = ((const float *)w.args[3])[row];
  const float *expert = (const float *)((const u64 *)w.args[6])[v];
  ((float *)w.args[7])[v] = sum * ((const float *)w.args[5])[v] + *expert;
}

KERNEL(SampleBest_8_1, 12) {}
KERNEL(SampleWeigh_8_1, 12) {}
KERNEL(SamplePick_8_1, 12) {
  const u64 r = X();
  const int *at = (const int *)w.args[4] + 4 * r;
  if (!First() || at[0] < 0)
    return;
  const u32 seed = *(const u32 *)(w.args[5] + w.args[6] * (u64)at[0] + 4 * 8);
  const float first = ((const float *)w.args[3])[8 * r];
  ((int *)w.args[11])[r] = first < 0 ? -1 : (int)(((u32)at[1] + seed) % 8);
}

KERNEL(test_add, 2) {
  if (First())
    ((u32 *)w.args[0])[X()] += (u32)w.args[1];
}

KERNEL(test_coordinates, 1) {
  if (!First())
    return;
  u32 *out = (u32 *)w.args[0] + 3 * (X() + GridX() * (Y() + GridY() * Z()));
  out[0] = X();
  out[1] = Y();
  out[2] = Z();
}

KERNEL(test_indirect, 2) {
  if (First())
    *(u32 *)w.args[0] += **(const u32 **)w.args[1];
}
