// Vector fp64 and 16-bit division.
#include "test/gfxemu/memory.h"
#include "test/gfxemu/table.h"

namespace gfxemu {

void AddVectorDouble() {
  T["v_add_f64"] = f64op(2, [](double a, double b, double) { return a + b; });
  T["v_mul_f64"] = f64op(2, [](double a, double b, double) { return a * b; });
  T["v_fma_f64"] =
      f64op(3, [](double a, double b, double c) { return std::fma(a, b, c); });
  T["v_min_num_f64"] = T["v_min_f64"] =
      f64op(2, [](double a, double b, double) { return std::fmin(a, b); });
  T["v_max_num_f64"] = T["v_max_f64"] =
      f64op(2, [](double a, double b, double) { return std::fmax(a, b); });
  T["v_rcp_f64"] = f64op(1, [](double a, double, double) { return 1 / a; });
  T["v_rsq_f64"] =
      f64op(1, [](double a, double, double) { return 1 / std::sqrt(a); });
  T["v_sqrt_f64"] =
      f64op(1, [](double a, double, double) { return std::sqrt(a); });
  T["v_floor_f64"] =
      f64op(1, [](double a, double, double) { return std::floor(a); });
  T["v_rndne_f64"] =
      f64op(1, [](double a, double, double) { return std::nearbyint(a); });
  T["v_trunc_f64"] =
      f64op(1, [](double a, double, double) { return std::trunc(a); });
  auto wide = [](auto f) {
    return [f](Wave& w, const Inst& I) {
      Src a;
      fetch(w, I, 1, a, 32, nullptr);
      modf(a, I.o[1], 32);
      u64 r[L];
      for (int i = 0; i < L; i++) r[i] = UD(f(a.p[i]));
      put64(w, I.o[0].idx, r, w.exec());
    };
  };
  T["v_cvt_f64_f32"] = wide([](u32 a) { return (double)F(a); });
  T["v_cvt_f64_i32"] = wide([](u32 a) { return (double)(i32)a; });
  T["v_cvt_f64_u32"] = wide([](u32 a) { return (double)a; });
  auto nar = [](auto f) {
    return [f](Wave& w, const Inst& I) {
      Vec r;
      for (int i = 0; i < L; i++) r[i] = f(rdD(w, I.o[1], i));
      w.put(I.o[0].idx, r, w.exec());
    };
  };
  T["v_cvt_f32_f64"] = nar([](double a) { return U((float)a); });
  T["v_cvt_i32_f64"] = nar([](double a) { return (u32)cvt_i(a); });
  T["v_cvt_u32_f64"] = nar([](double a) { return cvt_u(a); });
  T["v_div_scale_f64"] = [](Wave& w, const Inst& I) {
    u64 r[L];
    u32 vc = 0;
    auto den = [](double x) {
      return x != 0 && std::fabs(x) < 2.2250738585072014e-308;
    };
    auto ex = [](double x) { return (int)(UD(x) >> 52 & 2047); };
    for (int i = 0; i < L; i++) {
      double s0 = rdD(w, I.o[2], i), s1 = rdD(w, I.o[3], i),
             s2 = rdD(w, I.o[4], i), d = s0;
      bool v = false;
      if (s2 == 0 || s1 == 0)
        d = NAN;
      else if (ex(s2) - ex(s1) >= 768) {
        v = true;
        if (s0 == s1) d = std::ldexp(s0, 128);
      } else if (den(s1))
        d = std::ldexp(s0, 128);
      else if (den(1 / s1) && den(s2 / s1)) {
        v = true;
        if (s0 == s1) d = std::ldexp(s0, 128);
      } else if (den(1 / s1))
        d = std::ldexp(s0, -128);
      else if (den(s2 / s1)) {
        v = true;
        if (s0 == s2) d = std::ldexp(s0, 128);
      } else if (ex(s2) <= 53)
        d = std::ldexp(s0, 128);
      r[i] = UD(d);
      vc |= (u32)v << i;
    }
    put64(w, I.o[0].idx, r, w.exec());
    w.ws(I.o[1].idx, vc & w.exec());
  };
  T["v_div_fmas_f64"] = [](Wave& w, const Inst& I) {
    u64 r[L];
    for (int i = 0; i < L; i++) {
      double c = rdD(w, I.o[3], i),
             x = std::fma(rdD(w, I.o[1], i), rdD(w, I.o[2], i), c);
      if (w.s[VCC] >> i & 1)
        x = std::ldexp(x, (int)(UD(c) >> 52 & 2047) > 1023 ? 128 : -128);
      r[i] = UD(x);
    }
    put64(w, I.o[0].idx, r, w.exec());
  };
  T["v_div_fixup_f64"] = f64op(3, [](double s0, double s1, double s2) {
    bool sg = std::signbit(s1) ^ std::signbit(s2);
    double sn = sg ? -1 : 1;
    if (std::isnan(s2)) return s2;
    if (std::isnan(s1)) return s1;
    if ((s1 == 0 && s2 == 0) || (std::isinf(s1) && std::isinf(s2)))
      return D(0xfff8000000000000ull);
    if (s1 == 0 || std::isinf(s2)) return sn * INFINITY;
    if (std::isinf(s1) || s2 == 0) return sn * 0.;
    return sg ? -std::fabs(s0) : std::fabs(s0);
  });
  T["v_div_fixup_f16"] = h16op<3>([](float s0, float s1, float s2) {
    bool sg = std::signbit(s1) ^ std::signbit(s2);
    float sn = sg ? -1.f : 1.f;
    if (std::isnan(s2)) return s2;
    if (std::isnan(s1)) return s1;
    if ((s1 == 0 && s2 == 0) || (std::isinf(s1) && std::isinf(s2)))
      return F(0xffc00000);
    if (s1 == 0 || std::isinf(s2)) return sn * INFINITY;
    if (std::isinf(s1) || s2 == 0) return sn * 0.f;
    return sg ? -std::fabs(s0) : std::fabs(s0);
  });
  T["v_ldexp_f64"] = [](Wave& w, const Inst& I) {
    u64 r[L];
    Src b;
    fetch(w, I, 2, b, 32, nullptr);
    for (int i = 0; i < L; i++)
      r[i] = UD(std::ldexp(rdD(w, I.o[1], i), (i32)b.p[i]));
    put64(w, I.o[0].idx, r, w.exec());
  };
}

}  // namespace gfxemu
