// Reading operands with their modifiers, and the makers of handlers that apply
// a function lane by lane. Internal to test/gfxemu.
#ifndef TEST_GFXEMU_OPERANDS_H_
#define TEST_GFXEMU_OPERANDS_H_

#include <algorithm>
#include <cmath>
#include <string>

#include "test/gfxemu/machine.h"

namespace gfxemu {

inline u32 cst(
    const Opnd& o,
    int bits) {  // 32-bit view of a constant for an operation of that width
  if (o.k == Opnd::FC) return bits == 16 ? f2h((float)o.fc) : U((float)o.fc);
  return (u32)o.c;
}
inline u32 sread(const Wave& w, const Opnd& o, int bits = 32) {
  switch (o.k) {
    case Opnd::S:
      return o.idx == SHBASE || o.idx == PRBASE ? (u32)w.rs64(o.idx)
                                                : w.rs(o.idx);
    case Opnd::C:
    case Opnd::FC:
      return cst(o, bits);
    case Opnd::V:
      return w.v[o.idx][w.exec() ? std::countr_zero(w.exec()) : 0];
    default:
      return 0;
  }
}
inline u64 sread64(const Wave& w, const Opnd& o) {
  switch (o.k) {
    case Opnd::S:
      return o.n == 1 && o.idx != SHBASE && o.idx != PRBASE ? w.rs(o.idx)
                                                            : w.rs64(o.idx);
    case Opnd::FC:
      return UD(o.fc);
    case Opnd::C:
      return o.c;
    default:
      return 0;
  }
}
// DPP lane shuffle of src into dst; returns mask of lanes that may be written
inline u32 dpp(const Wave& w, const Dpp& d, const u32* src, u32* dst) {
  u32 ok = 0, ex = w.exec();
  for (int i = 0; i < L; i++) {
    int row = i & ~15, r = i & 15, j = i;
    bool val = true;
    switch (d.kind) {
      case 1:
        j = (i & ~3) | d.q[i & 3];
        break;
      case 2:
        val = r + d.arg <= 15;
        j = row + r + d.arg;
        break;  // row_shl
      case 3:
        val = r >= d.arg;
        j = row + r - d.arg;
        break;  // row_shr
      case 4:
        j = row + ((r - d.arg) & 15);
        break;  // row_ror
      case 5:
        j = row + 15 - r;
        break;
      case 6:
        j = row + ((r & 8) | (7 - (r & 7)));
        break;
      case 7:
        j = row + d.arg;
        break;  // row_share
      case 8:
        j = row + (r ^ d.arg);
        break;  // row_xmask
      case 9:
        j = (i & ~7) | d.q[i & 7];
        break;  // dpp8
    }
    bool en = (d.row >> (i >> 4) & 1) && (d.bank >> (r >> 2) & 1);
    if (val && !d.fi && !(ex >> j & 1)) val = false;
    dst[i] = val ? src[j] : 0;
    if (en && (val || d.bc)) ok |= 1u << i;
  }
  return ok;
}
struct Src {
  const u32* p;
  Vec t;
};
inline void fetch(const Wave& w, const Inst& I, int n, Src& s, int bits,
                  u32* wmask) {
  const Opnd& o = I.o[n];
  if (o.k == Opnd::V)
    s.p = w.v[o.idx];
  else {
    u32 x = sread(w, o, bits);
    for (int i = 0; i < L; i++) s.t[i] = x;
    s.p = s.t;
  }
  if (wmask && I.dpp.kind) {
    Vec t;
    *wmask &= dpp(w, I.dpp, s.p, t);
    memcpy(s.t, t, sizeof t);
    s.p = s.t;
  }
}
inline void modf(Src& s, const Opnd& o, int bits) {
  if (!o.neg && !o.abs) return;
  u32 sg = bits == 16 ? 0x8000 : 0x80000000;
  for (int i = 0; i < L; i++) {
    u32 x = s.p[i];
    if (o.abs) x &= ~sg;
    if (o.neg) x ^= sg;
    s.t[i] = x;
  }
  s.p = s.t;
}
// select 16-bit half: explicit .l/.h (true16) or op_sel bit
inline void half(Src& s, const Inst& I, int n, int selbit) {
  bool hi = I.o[n].half ? I.o[n].hi : (I.op_sel >> selbit & 1);
  for (int i = 0; i < L; i++) s.t[i] = hi ? s.p[i] >> 16 : s.p[i] & 0xffff;
  s.p = s.t;
}
inline float omodf(const Inst& I, float r) {
  if (I.omod) r *= I.omod == 1 ? 2.f : I.omod == 2 ? 4.f : .5f;
  if (I.clamp) r = r > 0 ? (r < 1 ? r : 1) : 0;
  return r;
}
inline u32 omod32(const Inst& I, u32 r) {
  return (I.omod | I.clamp) ? U(omodf(I, F(r))) : r;
}
inline void store16(Wave& w, const Inst& I, const Vec& r, u32 m, int nsrc) {
  const Opnd& d = I.o[0];
  bool hi = d.half ? d.hi : (I.op_sel >> nsrc & 1);
  Vec t;
  const u32* old = w.v[d.idx];
  bool keep =
      d.half || hi;  // fake16: low write keeps the high half too on gfx11+
  (void)keep;
  for (int i = 0; i < L; i++)
    t[i] = hi ? (old[i] & 0xffff) | r[i] << 16
              : (old[i] & 0xffff0000) | (r[i] & 0xffff);
  w.put(d.idx, t, m);
}
// ---------------------------------------------------------------- handler
// makers
template <int N, bool FL, class FN>
Fn v32(FN f, int first = 1) {  // 32-bit result from N 32-bit sources
  return [f, first](Wave& w, const Inst& I) {
    Src s[3];
    u32 m = w.exec();
    Vec r;
    for (int k = 0; k < N; k++) {
      fetch(w, I, first + k, s[k], 32, k == 0 ? &m : nullptr);
      if (FL) modf(s[k], I.o[first + k], 32);
    }
    const u32 *a = s[0].p, *b = s[1].p, *c = s[2].p;
    for (int i = 0; i < L; i++) {
      if constexpr (N == 1)
        r[i] = f(a[i]);
      else if constexpr (N == 2)
        r[i] = f(a[i], b[i]);
      else
        r[i] = f(a[i], b[i], c[i]);
    }
    if (FL && (I.omod | I.clamp))
      for (int i = 0; i < L; i++) r[i] = omod32(I, r[i]);
    w.put(I.o[0].idx, r, m);
  };
}
template <int N, class FN>
Fn f32op(FN f) {
  if constexpr (N == 1)
    return v32<1, true>([f](u32 a) { return U(f(F(a))); });
  else if constexpr (N == 2)
    return v32<2, true>([f](u32 a, u32 b) { return U(f(F(a), F(b))); });
  else
    return v32<3, true>(
        [f](u32 a, u32 b, u32 c) { return U(f(F(a), F(b), F(c))); });
}
template <int N, bool FL, class FN>
Fn v16(FN f) {  // 16-bit in, 16-bit out
  return [f](Wave& w, const Inst& I) {
    Src s[3];
    u32 m = w.exec();
    Vec r;
    for (int k = 0; k < N; k++) {
      fetch(w, I, 1 + k, s[k], 16, k == 0 ? &m : nullptr);
      half(s[k], I, 1 + k, k);
      if (FL) modf(s[k], I.o[1 + k], 16);
    }
    for (int i = 0; i < L; i++) {
      if constexpr (N == 1)
        r[i] = f(s[0].p[i]);
      else if constexpr (N == 2)
        r[i] = f(s[0].p[i], s[1].p[i]);
      else
        r[i] = f(s[0].p[i], s[1].p[i], s[2].p[i]);
      if (FL && (I.omod | I.clamp)) r[i] = f2h(omodf(I, h2f(r[i])));
    }
    store16(w, I, r, m, N);
  };
}
template <int N, class FN>
Fn h16op(FN f) {
  if constexpr (N == 1)
    return v16<1, true>([f](u32 a) { return f2h(f(h2f(a))); });
  else if constexpr (N == 2)
    return v16<2, true>([f](u32 a, u32 b) { return f2h(f(h2f(a), h2f(b))); });
  else
    return v16<3, true>(
        [f](u32 a, u32 b, u32 c) { return f2h(f(h2f(a), h2f(b), h2f(c))); });
}
inline u64 rd64(const Wave& w, const Opnd& o, int i) {
  if (o.k == Opnd::V)
    return o.n == 1 ? w.v[o.idx][i]
                    : w.v[o.idx][i] | (u64)w.v[o.idx + 1][i] << 32;
  return sread64(w, o);
}
inline double rdD(const Wave& w, const Opnd& o, int i) {
  double x = o.k == Opnd::C ? D((u64)(i64)o.c << 32)
                            : D(rd64(w, o, i));  // 32-bit literal = high half
  if (o.k == Opnd::C && (i64)o.c >= -16 && (i64)o.c <= 64) x = D(o.c);
  if (o.abs) x = std::fabs(x);
  if (o.neg) x = -x;
  return x;
}
inline void put64(Wave& w, int r, const u64* x, u32 m) {
  Vec lo, hi;
  for (int i = 0; i < L; i++) {
    lo[i] = (u32)x[i];
    hi[i] = x[i] >> 32;
  }
  w.put(r, lo, m);
  w.put(r + 1, hi, m);
}
template <class FN>
Fn f64op(int n, FN f) {
  return [f, n](Wave& w, const Inst& I) {
    u64 r[L];
    for (int i = 0; i < L; i++)
      r[i] = UD(f(rdD(w, I.o[1], i), n > 1 ? rdD(w, I.o[2], i) : 0,
                  n > 2 ? rdD(w, I.o[3], i) : 0));
    put64(w, I.o[0].idx, r, w.exec());
  };
}
// packed 16-bit (VOP3P)
template <int N, class FN>
Fn pk16(FN f, bool fl) {
  return [f, fl](Wave& w, const Inst& I) {
    Src s[3];
    Vec r;
    for (int k = 0; k < N; k++) fetch(w, I, 1 + k, s[k], 16, nullptr);
    u32 osh = I.has_osh ? I.op_sel_hi : 7;
    for (int i = 0; i < L; i++) {
      u32 a[2][3] = {};
      for (int k = 0; k < N; k++) {
        u32 x = s[k].p[i];
        bool fc = I.o[1 + k].k == Opnd::FC || I.o[1 + k].k == Opnd::C;
        u32 lo = (I.op_sel >> k & 1) ? x >> 16 : x & 0xffff,
            hi = (osh >> k & 1) ? x >> 16 : x & 0xffff;
        (void)fc;
        if (fl && (I.neg_lo >> k & 1)) lo ^= 0x8000;
        if (fl && (I.neg_hi >> k & 1)) hi ^= 0x8000;
        a[0][k] = lo;
        a[1][k] = hi;
      }
      u32 lo = f(a[0][0], a[0][1], a[0][2]) & 0xffff,
          hi = f(a[1][0], a[1][1], a[1][2]) & 0xffff;
      if (fl && I.clamp) {
        lo = f2h(omodf(I, h2f(lo)));
        hi = f2h(omodf(I, h2f(hi)));
      }
      r[i] = lo | hi << 16;
    }
    w.put(I.o[0].idx, r, w.exec());
  };
}
inline float fmin_(float a, float b) {
  return std::isnan(a)        ? b
         : std::isnan(b)      ? a
         : (a == 0 && b == 0) ? (std::signbit(a) ? a : b)
         : a < b              ? a
                              : b;
}
inline float fmax_(float a, float b) {
  return std::isnan(a)        ? b
         : std::isnan(b)      ? a
         : (a == 0 && b == 0) ? (std::signbit(a) ? b : a)
         : a > b              ? a
                              : b;
}
inline float fminimum(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : fmin_(a, b);
}
inline float fmaximum(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : fmax_(a, b);
}
inline float med3(float a, float b, float c) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c))
    return fmin_(fmin_(a, b), c);
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
inline i32 cvt_i(double x) {
  return std::isnan(x)       ? 0
         : x >= 2147483647.  ? INT32_MAX
         : x <= -2147483648. ? INT32_MIN
                             : (i32)x;
}
inline u32 cvt_u(double x) {
  return std::isnan(x) || x <= 0 ? 0 : x >= 4294967295. ? ~0u : (u32)x;
}
inline int expo(float x) { return (U(x) >> 23) & 255; }
inline float div_scale(float s0, float s1, float s2, bool& vcc) {
  vcc = false;
  float d = s0;
  auto den = [](float x) { return x != 0 && std::fabs(x) < 1.17549435e-38f; };
  if (s2 == 0 || s1 == 0) return NAN;
  float q = (float)((double)s2 / s1), rc = (float)(1.0 / (double)s1);
  if (expo(s2) - expo(s1) >= 96) {
    vcc = true;
    if (s0 == s1) d = std::ldexp(s0, 64);
  } else if (den(s1))
    d = std::ldexp(s0, 64);
  else if (den(rc) && den(q)) {
    vcc = true;
    if (s0 == s1) d = std::ldexp(s0, 64);
  } else if (den(rc))
    d = std::ldexp(s0, -64);
  else if (den(q)) {
    vcc = true;
    if (s0 == s2) d = std::ldexp(s0, 64);
  } else if (expo(s2) <= 23)
    d = std::ldexp(s0, 64);
  return d;
}
inline float div_fixup(float s0, float s1, float s2) {
  bool sg = std::signbit(s1) ^ std::signbit(s2);
  float sn = sg ? -1.f : 1.f;
  if (std::isnan(s2)) return s2;
  if (std::isnan(s1)) return s1;
  if ((s1 == 0 && s2 == 0) || (std::isinf(s1) && std::isinf(s2)))
    return F(0xffc00000);
  if (s1 == 0 || std::isinf(s2)) return sn * INFINITY;
  if (std::isinf(s1) || s2 == 0) return sn * 0.f;
  if (expo(s2) - expo(s1) < -150) return sn * 0.f;
  return sg ? -std::fabs(s0) : std::fabs(s0);
}
template <class T>
bool cmpop(const string& o, T a, T b) {
  if (o == "lt") return a < b;
  if (o == "eq") return a == b;
  if (o == "le") return a <= b;
  if (o == "gt") return a > b;
  if (o == "ne" || o == "lg") return a < b || a > b;
  if (o == "ge") return a >= b;
  if (o == "o") return a == a && b == b;
  if (o == "u") return !(a == a && b == b);
  if (o == "nge") return !(a >= b);
  if (o == "nlg") return !(a < b || a > b);
  if (o == "ngt") return !(a > b);
  if (o == "nle") return !(a <= b);
  if (o == "neq") return !(a == b);
  if (o == "nlt") return !(a < b);
  if (o == "t") return true;
  return false;
}
template <class T>
bool (*cmpfn(const string& o))(T, T) {
#define C_(n, e)                  \
  if (o == n)                     \
    return [](T a, T b) -> bool { \
      (void)a;                    \
      (void)b;                    \
      return e;                   \
    };
  C_("lt", a < b)
  C_("eq", a == b) C_("le", a <= b) C_("gt", a > b) C_("ne", !(a == b))
      C_("lg", a < b || a > b) C_("ge", a >= b) C_("o", a == a && b == b)
          C_("u", !(a == a && b == b)) C_("nge", !(a >= b))
              C_("nlg", !(a < b || a > b)) C_("ngt", !(a > b))
                  C_("nle", !(a <= b)) C_("neq", !(a == b)) C_("nlt", !(a < b))
                      C_("t", true) C_("f", false)
#undef C_
                          return nullptr;
}

}  // namespace gfxemu

#endif  // TEST_GFXEMU_OPERANDS_H_
