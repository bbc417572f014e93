// Lane permutes through LDS, and the handlers whose mnemonic is parsed: memory
// and atomics.
#include "test/gfxemu/memory.h"
#include "test/gfxemu/table.h"

namespace gfxemu {

std::unordered_map<string, Fn> T;

void AddPermutes() {
  T["ds_bpermute_b32"] = [](Wave& w, const Inst& I) {
    Vec r;
    u32 ex = w.exec();
    const u32 *a = w.v[I.o[1].idx], *d = w.v[I.o[2].idx];
    for (int i = 0; i < L; i++) {
      u32 j = ((a[i] + (u32)I.offset) >> 2) & 31;
      r[i] = ex >> j & 1 ? d[j] : 0;
    }
    w.put(I.o[0].idx, r, ex);
  };
  T["ds_permute_b32"] = [](Wave& w, const Inst& I) {
    Vec r = {};
    u32 ex = w.exec();
    const u32 *a = w.v[I.o[1].idx], *d = w.v[I.o[2].idx];
    for (int i = 0; i < L; i++)
      if (ex >> i & 1) r[((a[i] + (u32)I.offset) >> 2) & 31] = d[i];
    w.put(I.o[0].idx, r, ex);
  };
  T["ds_swizzle_b32"] = [](Wave& w, const Inst& I) {
    Vec r;
    u32 ex = w.exec(), o = (u32)I.offset;
    const u32* d = w.v[I.o[1].idx];
    for (int i = 0; i < L; i++) {
      int j;
      if (o & 0x8000)
        j = (i & ~3) | (o >> 2 * (i & 3) & 3);
      else {
        u32 a = o & 31, q = o >> 5 & 31, x = o >> 10 & 31;
        j = (((u32)i & a) | q) ^ x;
      }
      r[i] = ex >> j & 1 ? d[j] : 0;
    }
    w.put(I.o[0].idx, r, ex);
  };
}
// handlers whose name is parsed rather than listed
Fn lookup(const string& n) {
  auto it = T.find(n);
  if (it != T.end() && it->second) return it->second;
  if (n.rfind("v_wmma_", 0) == 0) return wmma(n.substr(7));
  MemTy m;
  auto us = n.find('_');
  string seg = n.substr(0, us),
         rest = us == string::npos ? "" : n.substr(us + 1);
  auto pre = [&](const char* p, string& t) {
    size_t k = strlen(p);
    if (rest.rfind(p, 0) == 0) {
      t = rest.substr(k);
      return true;
    }
    return false;
  };
  string t;
  if (seg == "global" || seg == "flat" || seg == "scratch") {
    bool scr = seg == "scratch", fl = seg == "flat";
    if (pre("load_", t) && memty(t, m))
      return [m, scr, fl](
                 Wave& w,
                 const Inst& I) {  // two passes: dst may overlap the address
        u8* p[L];
        lanes(w, [&](int i) {
          p[i] = scr  ? smem_(w, I, scr_addr(w, I, 1, 2, i), m.bytes, i)
                 : fl ? flat(w, I, g_addr(w, I, 1, i), m.bytes, i)
                      : gmem(w, I, g_addr(w, I, 1, i), m.bytes, i);
        });
        lanes(w, [&](int i) { ld(w, I.o[0].idx, i, p[i], m); });
      };
    if (pre("store_", t) && memty(t, m))
      return [m, scr, fl](Wave& w, const Inst& I) {
        lanes(w, [&](int i) {
          u8* p = scr  ? smem_(w, I, scr_addr(w, I, 0, 2, i), m.bytes, i)
                  : fl ? flat(w, I, g_addr(w, I, 0, i), m.bytes, i)
                       : nullptr;
          if (!p) {
            p = gmem(
                w, I,
                [&] {
                  u64 x = I.offset;
                  const Opnd& v = I.o[0];
                  if (I.o.size() > 2 && I.o[2].k == Opnd::S)
                    x += w.rs64(I.o[2].idx);
                  x += v.n == 2 ? rd64(w, v, i) : (u64)w.v[v.idx][i];
                  return x;
                }(),
                m.bytes, i);
          }
          st(w, I.o[1].idx, i, p, m);
        });
      };
    if (pre("atomic_", t))
      return [t, fl](Wave& w, const Inst& I) {
        int a = I.glc ? 1 : 0;
        bool w64 = t.find("64") != string::npos;
        bool cs = t.find("cmp") == 0;
        lanes(w, [&](int i) {
          u64 ad = g_addr(w, I, a, i);
          u8* p = fl ? flat(w, I, ad, w64 ? 8 : 4, i)
                     : gmem(w, I, ad, w64 ? 8 : 4, i);
          std::lock_guard<std::mutex> lk(atom_mx);
          int d = I.o[a + 1].idx;
          if (w64) {
            u64 o;
            memcpy(&o, p, 8);
            u64 n = o;
            if (!atomic64(
                    t, n, rd64(w, {.k = Opnd::V, .idx = d, .n = 2}, i),
                    cs ? rd64(w, {.k = Opnd::V, .idx = d + 2, .n = 2}, i) : 0))
              fail("atomic " + I.text);
            memcpy(p, &n, 8);
            if (I.glc) {
              w.v[I.o[0].idx][i] = (u32)o;
              w.v[I.o[0].idx + 1][i] = o >> 32;
            }
          } else {
            u32 o;
            memcpy(&o, p, 4);
            u32 n = o;
            if (!atomic32(t, n, w.v[d][i], cs ? w.v[d + 1][i] : 0))
              fail("atomic " + I.text);
            memcpy(p, &n, 4);
            if (I.glc) w.v[I.o[0].idx][i] = o;
          }
        });
      };
  }
  if (seg == "buffer") {
    if (pre("load_", t) && memty(t, m))
      return [m](Wave& w, const Inst& I) {
        lanes(w, [&](int i) {
          u64 a;
          static const u8 z[16] = {};
          bool ok = buf_addr(w, I, i, m.bytes, a);
          ld(w, I.o[0].idx, i, ok ? gmem(w, I, a, m.bytes, i) : z, m);
        });
      };
    if (pre("store_", t) && memty(t, m))
      return [m](Wave& w, const Inst& I) {
        lanes(w, [&](int i) {
          u64 a;
          if (buf_addr(w, I, i, m.bytes, a))
            st(w, I.o[0].idx, i, gmem(w, I, a, m.bytes, i), m);
        });
      };
  }
  if (seg == "ds") {
    for (bool s64 : {true, false}) {
      string two = s64 ? "2addr_stride64_" : "2addr_";
      if (pre(("load_" + two).c_str(), t) && memty(t, m))
        return [m, k = m.bytes * (s64 ? 64 : 1)](Wave& w, const Inst& I) {
          u8* p[2][L];
          lanes(w, [&](int i) {
            u32 a = w.v[I.o[1].idx][i];
            p[0][i] = lmem(w, I, a + I.offset0 * k, m.bytes, i);
            p[1][i] = lmem(w, I, a + I.offset1 * k, m.bytes, i);
          });
          lanes(w, [&](int i) {
            ld(w, I.o[0].idx, i, p[0][i], m);
            ld(w, I.o[0].idx + m.bytes / 4, i, p[1][i], m);
          });
        };
      if (pre(("store_" + two).c_str(), t) && memty(t, m))
        return [m, k = m.bytes * (s64 ? 64 : 1)](Wave& w, const Inst& I) {
          lanes(w, [&](int i) {
            u32 a = w.v[I.o[0].idx][i];
            st(w, I.o[1].idx, i, lmem(w, I, a + I.offset0 * k, m.bytes, i), m);
            st(w, I.o[2].idx, i, lmem(w, I, a + I.offset1 * k, m.bytes, i), m);
          });
        };
    }
    string tt = rest;
    bool d16 = false, hi = false;
    (void)d16;
    if (tt.size() > 7 && tt.find("_d16") != string::npos) {
      hi = tt.size() > 7 && tt.rfind("_d16_hi") == tt.size() - 7;
    }
    if (pre("load_", t)) {
      string b = t;
      auto p = b.find("_d16");
      bool dd = p != string::npos;
      if (dd) b = b.substr(0, p);
      if (memty(b, m)) {
        m.d16 = dd;
        m.hi = hi;
        return [m](Wave& w, const Inst& I) {
          u8* p[L];
          lanes(w, [&](int i) {
            p[i] = lmem(w, I, (u64)w.v[I.o[1].idx][i] + I.offset, m.bytes, i);
          });
          lanes(w, [&](int i) { ld(w, I.o[0].idx, i, p[i], m); });
        };
      }
    }
    if (pre("store_", t)) {
      string b = t;
      auto p = b.find("_d16");
      bool dd = p != string::npos;
      if (dd) b = b.substr(0, p);
      if (memty(b, m)) {
        m.hi = hi;
        return [m](Wave& w, const Inst& I) {
          lanes(w, [&](int i) {
            st(w, I.o[1].idx, i,
               lmem(w, I, (u64)w.v[I.o[0].idx][i] + I.offset, m.bytes, i), m);
          });
        };
      }
    }
    string op = rest;
    bool rtn = false;
    auto q = op.find("_rtn");
    if (q != string::npos) {
      rtn = true;
      op.erase(q, 4);
    }
    bool w64 = op.find("64") != string::npos;
    u32 x = 0;
    u64 y = 0;
    if (w64 ? atomic64(op, y, 0, 0) : atomic32(op, x, 0, 0))
      return [op, rtn, w64](Wave& w, const Inst& I) {
        int a = rtn ? 1 : 0, d = I.o[a + 1].idx;
        bool cs = op.find("cmp") == 0;
        lanes(w, [&](int i) {
          u8* p =
              lmem(w, I, (u64)w.v[I.o[a].idx][i] + I.offset, w64 ? 8 : 4, i);
          if (w64) {
            u64 o;
            memcpy(&o, p, 8);
            u64 n = o;
            atomic64(op, n, rd64(w, {.k = Opnd::V, .idx = d, .n = 2}, i),
                     cs ? rd64(w, {.k = Opnd::V, .idx = d + 2, .n = 2}, i) : 0);
            memcpy(p, &n, 8);
            if (rtn) {
              w.v[I.o[0].idx][i] = (u32)o;
              w.v[I.o[0].idx + 1][i] = o >> 32;
            }
          } else {
            u32 o;
            memcpy(&o, p, 4);
            u32 n = o;
            atomic32(op, n, w.v[d][i], cs ? w.v[I.o[a + 2].idx][i] : 0);
            memcpy(p, &n, 4);
            if (rtn) w.v[I.o[0].idx][i] = o;
          }
        });
      };
  }
  return nullptr;
}

}  // namespace gfxemu
