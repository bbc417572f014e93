// Vector fp32 and conversions.
#include "test/gfxemu/memory.h"
#include "test/gfxemu/table.h"

namespace gfxemu {

void AddVectorFloat() {
  T["v_add_f32"] = f32op<2>([](float a, float b) { return a + b; });
  T["v_sub_f32"] = f32op<2>([](float a, float b) { return a - b; });
  T["v_subrev_f32"] = f32op<2>([](float a, float b) { return b - a; });
  T["v_mul_f32"] = f32op<2>([](float a, float b) { return a * b; });
  T["v_fma_f32"] =
      f32op<3>([](float a, float b, float c) { return std::fma(a, b, c); });
  T["v_mul_dx9_zero_f32"] =
      f32op<2>([](float a, float b) { return a == 0 || b == 0 ? 0 : a * b; });
  T["v_min_num_f32"] = T["v_min_f32"] = f32op<2>(fmin_);
  T["v_max_num_f32"] = T["v_max_f32"] = f32op<2>(fmax_);
  T["v_minimum_f32"] = f32op<2>(fminimum);
  T["v_maximum_f32"] = f32op<2>(fmaximum);
  T["v_min3_num_f32"] = T["v_min3_f32"] =
      f32op<3>([](float a, float b, float c) { return fmin_(fmin_(a, b), c); });
  T["v_max3_num_f32"] = T["v_max3_f32"] =
      f32op<3>([](float a, float b, float c) { return fmax_(fmax_(a, b), c); });
  T["v_minimum3_f32"] = f32op<3>(
      [](float a, float b, float c) { return fminimum(fminimum(a, b), c); });
  T["v_maximum3_f32"] = f32op<3>(
      [](float a, float b, float c) { return fmaximum(fmaximum(a, b), c); });
  T["v_med3_num_f32"] = T["v_med3_f32"] = f32op<3>(med3);
  T["v_minmax_num_f32"] = T["v_minmax_f32"] =
      f32op<3>([](float a, float b, float c) { return fmax_(fmin_(a, b), c); });
  T["v_maxmin_num_f32"] = T["v_maxmin_f32"] =
      f32op<3>([](float a, float b, float c) { return fmin_(fmax_(a, b), c); });
  T["v_fmaak_f32"] = T["v_fmamk_f32"] = T["v_fma_f32"];
  T["v_fmac_f32"] = [](Wave& w, const Inst& I) {
    Src a, b;
    Vec r;
    u32 m = w.exec();
    fetch(w, I, 1, a, 32, &m);
    fetch(w, I, 2, b, 32, nullptr);
    modf(a, I.o[1], 32);
    modf(b, I.o[2], 32);
    const u32* c = w.v[I.o[0].idx];
    for (int i = 0; i < L; i++)
      r[i] = U(std::fma(F(a.p[i]), F(b.p[i]), F(c[i])));
    if (I.omod | I.clamp)
      for (int i = 0; i < L; i++) r[i] = omod32(I, r[i]);
    w.put(I.o[0].idx, r, m);
  };
  T["v_exp_f32"] = f32op<1>([](float a) { return std::exp2(a); });
  T["v_log_f32"] = f32op<1>([](float a) { return std::log2(a); });
  T["v_rcp_f32"] = T["v_rcp_iflag_f32"] =
      f32op<1>([](float a) { return 1.f / a; });
  T["v_rsq_f32"] =
      f32op<1>([](float a) { return (float)(1. / std::sqrt((double)a)); });
  T["v_sqrt_f32"] = f32op<1>([](float a) { return std::sqrt(a); });
  T["v_sin_f32"] =
      f32op<1>([](float a) { return (float)std::sin(a * 6.283185307179586); });
  T["v_cos_f32"] =
      f32op<1>([](float a) { return (float)std::cos(a * 6.283185307179586); });
  T["v_rndne_f32"] = f32op<1>([](float a) { return std::nearbyint(a); });
  T["v_floor_f32"] = f32op<1>([](float a) { return std::floor(a); });
  T["v_ceil_f32"] = f32op<1>([](float a) { return std::ceil(a); });
  T["v_trunc_f32"] = f32op<1>([](float a) { return std::trunc(a); });
  T["v_fract_f32"] = f32op<1>([](float a) {
    float r = a - std::floor(a);
    return r >= 1.f ? 0x1.fffffep-1f : r;
  });
  T["v_frexp_mant_f32"] = f32op<1>([](float a) {
    int e;
    return std::isfinite(a) ? std::frexp(a, &e) : a;
  });
  T["v_frexp_exp_i32_f32"] = v32<1, true>([](u32 a) {
    int e = 0;
    if (std::isfinite(F(a)) && F(a) != 0) std::frexp(F(a), &e);
    return (u32)e;
  });
  T["v_ldexp_f32"] = v32<2, true>([](u32 a, u32 b) {
    return U(std::ldexp(F(a), std::clamp((i32)b, -1000, 1000)));
  });
  T["v_div_scale_f32"] = [](Wave& w, const Inst& I) {
    Src s[3];
    Vec r;
    u32 vc = 0;
    for (int k = 0; k < 3; k++) {
      fetch(w, I, 2 + k, s[k], 32, nullptr);
      modf(s[k], I.o[2 + k], 32);
    }
    for (int i = 0; i < L; i++) {
      bool v;
      r[i] = U(div_scale(F(s[0].p[i]), F(s[1].p[i]), F(s[2].p[i]), v));
      vc |= (u32)v << i;
    }
    w.put(I.o[0].idx, r, w.exec());
    w.ws(I.o[1].idx, vc & w.exec());
  };
  T["v_div_fmas_f32"] = [](Wave& w, const Inst& I) {
    Src s[3];
    Vec r;
    for (int k = 0; k < 3; k++) {
      fetch(w, I, 1 + k, s[k], 32, nullptr);
      modf(s[k], I.o[1 + k], 32);
    }
    for (int i = 0; i < L; i++) {
      float x = std::fma(F(s[0].p[i]), F(s[1].p[i]), F(s[2].p[i]));
      if (w.s[VCC] >> i & 1)
        x = std::ldexp(x, expo(F(s[2].p[i])) > 127 ? 64 : -64);
      r[i] = U(x);
    }
    w.put(I.o[0].idx, r, w.exec());
  };
  T["v_div_fixup_f32"] = f32op<3>(div_fixup);
  // ---- conversions
  T["v_cvt_f32_i32"] = v32<1, false>([](u32 a) { return U((float)(i32)a); });
  T["v_cvt_f32_u32"] = v32<1, false>([](u32 a) { return U((float)a); });
  T["v_cvt_i32_f32"] = v32<1, true>([](u32 a) { return (u32)cvt_i(F(a)); });
  T["v_cvt_u32_f32"] = v32<1, true>([](u32 a) { return cvt_u(F(a)); });
  T["v_cvt_nearest_i32_f32"] =
      v32<1, true>([](u32 a) { return (u32)cvt_i(std::floor(F(a) + .5f)); });
  T["v_cvt_floor_i32_f32"] =
      v32<1, true>([](u32 a) { return (u32)cvt_i(std::floor(F(a))); });
  T["v_cvt_f32_ubyte0"] =
      v32<1, false>([](u32 a) { return U((float)(a & 255)); });
  T["v_cvt_f32_ubyte1"] =
      v32<1, false>([](u32 a) { return U((float)(a >> 8 & 255)); });
  T["v_cvt_f32_ubyte2"] =
      v32<1, false>([](u32 a) { return U((float)(a >> 16 & 255)); });
  T["v_cvt_f32_ubyte3"] =
      v32<1, false>([](u32 a) { return U((float)(a >> 24)); });
  auto to16 = [](auto f, bool fl) {
    return [f, fl](Wave& w, const Inst& I) {
      Src a;
      Vec r;
      u32 m = w.exec();
      fetch(w, I, 1, a, 32, &m);
      if (fl) modf(a, I.o[1], 32);
      for (int i = 0; i < L; i++) r[i] = f(a.p[i]);
      store16(w, I, r, m, I.o[0].half ? 9 : 3);
    };
  };
  auto from16 = [](auto f, bool fl) {
    return [f, fl](Wave& w, const Inst& I) {
      Src a;
      Vec r;
      u32 m = w.exec();
      fetch(w, I, 1, a, 16, &m);
      half(a, I, 1, 0);
      if (fl) modf(a, I.o[1], 16);
      for (int i = 0; i < L; i++) r[i] = f(a.p[i]);
      if (I.omod | I.clamp)
        for (int i = 0; i < L; i++) r[i] = omod32(I, r[i]);
      w.put(I.o[0].idx, r, m);
    };
  };
  T["v_cvt_f16_f32"] = to16([](u32 a) { return f2h(F(a)); }, true);
  T["v_cvt_f32_f16"] = from16([](u32 a) { return U(h2f(a)); }, true);
  T["v_cvt_i32_i16"] = from16([](u32 a) { return (u32)(i32)(i16)a; }, false);
  T["v_cvt_u32_u16"] = from16([](u32 a) { return a; }, false);
  T["v_cvt_f16_u16"] = v16<1, false>([](u32 a) { return f2h((float)a); });
  T["v_cvt_f16_i16"] = v16<1, false>([](u32 a) { return f2h((float)(i16)a); });
  T["v_cvt_u16_f16"] =
      v16<1, true>([](u32 a) { return std::min(cvt_u(h2f(a)), 65535u); });
  T["v_cvt_i16_f16"] = v16<1, true>(
      [](u32 a) { return (u32)std::clamp(cvt_i(h2f(a)), -32768, 32767); });
  T["v_cvt_pk_rtz_f16_f32"] = T["v_cvt_pkrtz_f16_f32"] = v32<2, true>(
      [](u32 a, u32 b) { return f2h_rtz(F(a)) | f2h_rtz(F(b)) << 16; });
  T["v_cvt_pk_i16_i32"] = v32<2, false>([](u32 a, u32 b) {
    return (u32)(std::clamp((i32)a, -32768, 32767) & 0xffff) |
           (u32)std::clamp((i32)b, -32768, 32767) << 16;
  });
  T["v_cvt_pk_u16_u32"] = v32<2, false>([](u32 a, u32 b) {
    return std::min(a, 65535u) | std::min(b, 65535u) << 16;
  });
  T["v_cvt_pk_u8_f32"] = v32<3, false>([](u32 a, u32 b, u32 c) {
    u32 s = 8 * (b & 3), x = std::min(cvt_u(F(a)), 255u);
    return (c & ~(255u << s)) | x << s;
  });
  T["v_pack_b32_f16"] = [](Wave& w, const Inst& I) {
    Src a, b;
    Vec r;
    fetch(w, I, 1, a, 16, nullptr);
    fetch(w, I, 2, b, 16, nullptr);
    half(a, I, 1, 0);
    half(b, I, 2, 1);
    modf(a, I.o[1], 16);
    modf(b, I.o[2], 16);
    for (int i = 0; i < L; i++) r[i] = (a.p[i] & 0xffff) | b.p[i] << 16;
    w.put(I.o[0].idx, r, w.exec());
  };
  for (bool bf : {false, true}) {
    string n = bf ? "bf8" : "fp8";
    T["v_cvt_pk_" + n + "_f32"] = [bf](Wave& w, const Inst& I) {
      Src a, b;
      Vec r;
      fetch(w, I, 1, a, 32, nullptr);
      fetch(w, I, 2, b, 32, nullptr);
      modf(a, I.o[1], 32);
      modf(b, I.o[2], 32);
      for (int i = 0; i < L; i++)
        r[i] = to_fp8(F(a.p[i]), bf) | to_fp8(F(b.p[i]), bf) << 8;
      bool hi =
          I.o[0].half ? I.o[0].hi : (I.op_sel >> 2 & 1) || (I.op_sel >> 3 & 1);
      Vec t;
      for (int i = 0; i < L; i++) {
        u32 o = w.v[I.o[0].idx][i];
        t[i] = hi ? (o & 0xffff) | r[i] << 16 : (o & 0xffff0000) | r[i];
      }
      w.put(I.o[0].idx, t, w.exec());
    };
    T["v_cvt_f32_" + n] = [bf](Wave& w, const Inst& I) {
      Src a;
      Vec r;
      u32 m = w.exec();
      fetch(w, I, 1, a, 32, &m);
      int sh = ((I.op_sel >> 1 & 1) | (I.op_sel & 1) << 1) * 8;
      for (int i = 0; i < L; i++) r[i] = U(fp8(a.p[i] >> sh & 255, bf));
      w.put(I.o[0].idx, r, m);
    };
    T["v_cvt_pk_f32_" + n] = [bf](Wave& w, const Inst& I) {
      Src a;
      u64 r[L];
      fetch(w, I, 1, a, 32, nullptr);
      bool hi = I.o[1].half ? I.o[1].hi : I.op_sel & 1;
      for (int i = 0; i < L; i++) {
        u32 x = hi ? a.p[i] >> 16 : a.p[i];
        r[i] = U(fp8(x & 255, bf)) | (u64)U(fp8(x >> 8 & 255, bf)) << 32;
      }
      put64(w, I.o[0].idx, r, w.exec());
    };
  }
}

}  // namespace gfxemu
