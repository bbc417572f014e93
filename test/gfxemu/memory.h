// Checked access to global memory, LDS and scratch, and the addresses of the
// instructions that make one. Internal to test/gfxemu.
#ifndef TEST_GFXEMU_MEMORY_H_
#define TEST_GFXEMU_MEMORY_H_

#include <cstdio>
#include <map>
#include <mutex>

#include "test/gfxemu/operands.h"

namespace gfxemu {

inline u8* gmem(Wave& w, const Inst& I, u64 a, int n, int lane) {
  for (auto& r : *w.g->ranges)
    if (a >= r.lo && a + n <= r.hi) return (u8*)a;
  char b[300];
  snprintf(b, sizeof b,
           "memory fault: %s at pc 0x%llx lane %d address 0x%llx size %d",
           I.text.c_str(), (unsigned long long)I.addr, lane,
           (unsigned long long)a, n);
  fail(b);
}
inline u8* lmem(Wave& w, const Inst& I, u64 a, int n, int lane) {
  if (a + n > w.g->lds.size()) {
    char b[300];
    snprintf(b, sizeof b,
             "LDS fault: %s at pc 0x%llx lane %d offset 0x%llx size %d of %zu",
             I.text.c_str(), (unsigned long long)I.addr, lane,
             (unsigned long long)a, n, w.g->lds.size());
    fail(b);
  }
  return w.g->lds.data() + a;
}
inline u8* smem_(Wave& w, const Inst& I, u64 a, int n, int lane) {
  if (a + n > w.scr_sz) fail("scratch fault: " + I.text);
  return w.scratch.data() + (u64)lane * w.scr_sz + a;
}
inline u8* flat(Wave& w, const Inst& I, u64 a, int n, int lane) {
  if (a >> 32 == SH_APER >> 32) return lmem(w, I, (u32)a, n, lane);
  if (a >> 32 == PR_APER >> 32) return smem_(w, I, (u32)a, n, lane);
  return gmem(w, I, a, n, lane);
}
struct MemTy {
  int bytes;
  bool sext, d16, hi;
};
inline bool memty(string t, MemTy& m) {  // t like b32, u8, d16_hi_b16
  m = {0, false, false, false};
  if (t.rfind("d16_", 0) == 0) {
    m.d16 = true;
    t = t.substr(4);
    if (t.rfind("hi_", 0) == 0) {
      m.hi = true;
      t = t.substr(3);
    }
  }
  static const std::map<string, std::pair<int, bool>> T = {
      {"u8", {1, 0}},    {"i8", {1, 1}},    {"u16", {2, 0}},
      {"i16", {2, 1}},   {"b8", {1, 0}},    {"b16", {2, 0}},
      {"b32", {4, 0}},   {"b64", {8, 0}},   {"b96", {12, 0}},
      {"b128", {16, 0}}, {"b256", {32, 0}}, {"b512", {64, 0}}};
  auto it = T.find(t);
  if (it == T.end()) return false;
  m.bytes = it->second.first;
  m.sext = it->second.second;
  return true;
}
inline void ld(Wave& w, int r, int lane, const u8* p, const MemTy& m) {
  if (m.bytes >= 4) {
    for (int k = 0; k < m.bytes / 4; k++)
      memcpy(&w.v[r + k][lane], p + 4 * k, 4);
    return;
  }
  u32 x = m.bytes == 1 ? (m.sext ? (u32)(i32)(i8)*p : *p)
                       : (m.sext ? (u32)(i32) * (i16*)p : *(u16*)p);
  if (m.d16) {
    u32& d = w.v[r][lane];
    x &= 0xffff;
    d = m.hi ? (d & 0xffff) | x << 16 : (d & 0xffff0000) | x;
  } else
    w.v[r][lane] = x;
}
inline void st(Wave& w, int r, int lane, u8* p, const MemTy& m) {
  if (m.bytes >= 4) {
    for (int k = 0; k < m.bytes / 4; k++)
      memcpy(p + 4 * k, &w.v[r + k][lane], 4);
    return;
  }
  u32 x = w.v[r][lane];
  if (m.hi) x >>= 16;
  memcpy(p, &x, m.bytes);
}
using Addr = std::function<u8*(Wave&, const Inst&, int lane, int bytes)>;
inline u64 g_addr(
    Wave& w, const Inst& I, int a,
    int lane) {  // global/flat: vaddr at operand a, saddr at a+1 or a+2
  const Opnd& v = I.o[a];
  const Opnd* sa = nullptr;
  for (size_t k = a + 1; k < I.o.size(); k++)
    if (I.o[k].k == Opnd::S) sa = &I.o[k];
  u64 x = (sa ? w.rs64(sa->idx) : 0) + I.offset;
  if (v.k == Opnd::V) x += v.n == 2 ? rd64(w, v, lane) : (u64)w.v[v.idx][lane];
  return x;
}
inline u64 scr_addr(Wave& w, const Inst& I, int va, int sa, int lane) {
  u64 x = I.offset;
  if (I.o[va].k == Opnd::V) x += w.v[I.o[va].idx][lane];
  if (sa < (int)I.o.size() && I.o[sa].k != Opnd::NONE) x += sread(w, I.o[sa]);
  return (u32)x;
}
inline bool buf_addr(Wave& w, const Inst& I, int lane, int bytes,
                     u64& a) {  // operands: data, vaddr, srsrc, soffset
  u64 base = w.rs64(I.o[2].idx);
  u32 nrec = w.rs(I.o[2].idx + 2);
  u32 stride = (u32)(base >> 48) & 0x3fff;
  base &= 0xffffffffffffull;
  u64 off = I.offset, idx = 0;
  int k = I.o[1].idx;
  if (I.idxen) idx = w.v[k++][lane];
  if (I.offen) off += w.v[k][lane];
  u64 so = sread(w, I.o[3]);
  a = base + so + stride * idx + off;
  return stride ? idx < nrec : off + so + bytes <= nrec;
}
template <class FN>
void lanes(Wave& w, FN f) {
  for (u32 m = w.exec(); m; m &= m - 1) f(std::countr_zero(m));
}

inline std::mutex atom_mx;
inline bool atomic32(const string& op, u32& o, u32 d,
                     u32 c) {  // returns false when unknown
  if (op == "add_u32" || op == "add_u32_rtn")
    o += d;
  else if (op == "sub_u32")
    o -= d;
  else if (op == "and_b32")
    o &= d;
  else if (op == "or_b32")
    o |= d;
  else if (op == "xor_b32")
    o ^= d;
  else if (op == "swap_b32" || op == "storexchg_b32")
    o = d;
  else if (op == "min_i32")
    o = std::min((i32)o, (i32)d);
  else if (op == "max_i32")
    o = std::max((i32)o, (i32)d);
  else if (op == "min_u32")
    o = std::min(o, d);
  else if (op == "max_u32")
    o = std::max(o, d);
  else if (op == "inc_u32")
    o = o >= d ? 0 : o + 1;
  else if (op == "dec_u32")
    o = o == 0 || o > d ? d : o - 1;
  else if (op == "add_f32")
    o = U(F(o) + F(d));
  else if (op == "min_num_f32")
    o = U(fmin_(F(o), F(d)));
  else if (op == "max_num_f32")
    o = U(fmax_(F(o), F(d)));
  else if (op == "pk_add_f16")
    o = f2h(h2f(o) + h2f(d)) | f2h(h2f(o >> 16) + h2f(d >> 16)) << 16;
  else if (op == "pk_add_bf16")
    o = f2b(b2f(o) + b2f(d)) | f2b(b2f(o >> 16) + b2f(d >> 16)) << 16;
  else if (op == "cmpswap_b32" || op == "cmpstore_b32") {
    if (o == c) o = d;
  } else
    return false;
  return true;
}
inline bool atomic64(const string& op, u64& o, u64 d, u64 c) {
  if (op == "add_u64")
    o += d;
  else if (op == "sub_u64")
    o -= d;
  else if (op == "and_b64")
    o &= d;
  else if (op == "or_b64")
    o |= d;
  else if (op == "xor_b64")
    o ^= d;
  else if (op == "swap_b64")
    o = d;
  else if (op == "min_u64")
    o = std::min(o, d);
  else if (op == "max_u64")
    o = std::max(o, d);
  else if (op == "min_i64")
    o = std::min((i64)o, (i64)d);
  else if (op == "max_i64")
    o = std::max((i64)o, (i64)d);
  else if (op == "cmpswap_b64") {
    if (o == c) o = d;
  } else
    return false;
  return true;
}

}  // namespace gfxemu

#endif  // TEST_GFXEMU_MEMORY_H_
