// 16-bit, packed and dot instructions.
#include "test/gfxemu/memory.h"
#include "test/gfxemu/table.h"

namespace gfxemu {

void AddVectorHalf() {
  T["v_add_f16"] = h16op<2>([](float a, float b) { return a + b; });
  T["v_sub_f16"] = h16op<2>([](float a, float b) { return a - b; });
  T["v_subrev_f16"] = h16op<2>([](float a, float b) { return b - a; });
  T["v_mul_f16"] = h16op<2>([](float a, float b) { return a * b; });
  T["v_fma_f16"] = T["v_fmaak_f16"] = T["v_fmamk_f16"] =
      v16<3, true>([](u32 a, u32 b, u32 c) {
        return f2h((float)((double)h2f(a) * h2f(b) + h2f(c)));
      });
  T["v_fmac_f16"] = [](Wave& w, const Inst& I) {
    Src a, b, c;
    Vec r;
    fetch(w, I, 1, a, 16, nullptr);
    fetch(w, I, 2, b, 16, nullptr);
    fetch(w, I, 0, c, 16, nullptr);
    half(a, I, 1, 0);
    half(b, I, 2, 1);
    half(c, I, 0, 3);
    modf(a, I.o[1], 16);
    modf(b, I.o[2], 16);
    for (int i = 0; i < L; i++)
      r[i] = f2h((float)((double)h2f(a.p[i]) * h2f(b.p[i]) + h2f(c.p[i])));
    store16(w, I, r, w.exec(), 3);
  };
  T["v_min_num_f16"] = T["v_min_f16"] = h16op<2>(fmin_);
  T["v_max_num_f16"] = T["v_max_f16"] = h16op<2>(fmax_);
  T["v_minimum_f16"] = h16op<2>(fminimum);
  T["v_maximum_f16"] = h16op<2>(fmaximum);
  T["v_exp_f16"] = h16op<1>([](float a) { return std::exp2(a); });
  T["v_log_f16"] = h16op<1>([](float a) { return std::log2(a); });
  T["v_rcp_f16"] = h16op<1>([](float a) { return 1 / a; });
  T["v_rsq_f16"] = h16op<1>([](float a) { return 1 / std::sqrt(a); });
  T["v_sqrt_f16"] = h16op<1>([](float a) { return std::sqrt(a); });
  T["v_floor_f16"] = h16op<1>([](float a) { return std::floor(a); });
  T["v_rndne_f16"] = h16op<1>([](float a) { return std::nearbyint(a); });
  T["v_trunc_f16"] = h16op<1>([](float a) { return std::trunc(a); });
  T["v_ceil_f16"] = h16op<1>([](float a) { return std::ceil(a); });
#define S2(nm, e) T[nm] = v16<2, false>([](u32 a, u32 b) -> u32 { return e; });
  S2("v_add_nc_u16", a + b)
  S2("v_sub_nc_u16", a - b) S2("v_add_nc_i16", a + b) S2("v_sub_nc_i16", a - b)
      S2("v_mul_lo_u16", a * b) S2("v_lshlrev_b16", b << (a & 15))
          S2("v_lshrrev_b16", (b & 0xffff) >> (a & 15))
              S2("v_ashrrev_i16", (u32)((i32)(i16)b >> (a & 15)))
                  S2("v_and_b16", a & b) S2("v_or_b16", a | b)
                      S2("v_xor_b16", a ^ b) S2("v_min_u16", std::min(a, b))
                          S2("v_max_u16", std::max(a, b))
                              S2("v_min_i16", (u32)std::min((i16)a, (i16)b)) S2(
                                  "v_max_i16", (u32)std::max((i16)a, (i16)b))
#undef S2
                                  T["v_not_b16"] =
                                      v16<1, false>([](u32 a) { return ~a; });
  T["v_mad_u16"] = T["v_mad_i16"] =
      v16<3, false>([](u32 a, u32 b, u32 c) { return a * b + c; });
  // ---- packed
  T["v_pk_add_f16"] =
      pk16<2>([](u32 a, u32 b, u32) { return f2h(h2f(a) + h2f(b)); }, true);
  T["v_pk_mul_f16"] =
      pk16<2>([](u32 a, u32 b, u32) { return f2h(h2f(a) * h2f(b)); }, true);
  T["v_pk_fma_f16"] = pk16<3>(
      [](u32 a, u32 b, u32 c) {
        return f2h((float)((double)h2f(a) * h2f(b) + h2f(c)));
      },
      true);
  T["v_pk_min_num_f16"] = T["v_pk_min_f16"] = pk16<2>(
      [](u32 a, u32 b, u32) { return f2h(fmin_(h2f(a), h2f(b))); }, true);
  T["v_pk_max_num_f16"] = T["v_pk_max_f16"] = pk16<2>(
      [](u32 a, u32 b, u32) { return f2h(fmax_(h2f(a), h2f(b))); }, true);
  T["v_pk_fmac_f16"] = [](Wave& w, const Inst& I) {
    Src a, b;
    Vec r;
    fetch(w, I, 1, a, 16, nullptr);
    fetch(w, I, 2, b, 16, nullptr);
    for (int i = 0; i < L; i++) {
      u32 c = w.v[I.o[0].idx][i];
      r[i] = f2h((float)((double)h2f(a.p[i]) * h2f(b.p[i]) + h2f(c))) |
             f2h((float)((double)h2f(a.p[i] >> 16) * h2f(b.p[i] >> 16) +
                         h2f(c >> 16)))
                 << 16;
    }
    w.put(I.o[0].idx, r, w.exec());
  };
#define P2(nm, e) \
  T[nm] = pk16<2>([](u32 a, u32 b, u32) -> u32 { return e; }, false);
  P2("v_pk_add_u16", a + b)
  P2("v_pk_sub_u16", a - b) P2("v_pk_add_i16", a + b) P2("v_pk_sub_i16", a - b)
      P2("v_pk_mul_lo_u16", a * b) P2("v_pk_lshlrev_b16", b << (a & 15))
          P2("v_pk_lshrrev_b16", b >> (a & 15))
              P2("v_pk_ashrrev_i16", (u32)((i32)(i16)b >> (a & 15)))
                  P2("v_pk_min_i16", (u32)std::min((i16)a, (i16)b))
                      P2("v_pk_max_i16", (u32)std::max((i16)a, (i16)b))
                          P2("v_pk_min_u16", std::min(a, b)) P2("v_pk_max_u16",
                                                                std::max(a, b))
#undef P2
                              T["v_pk_mad_u16"] = T["v_pk_mad_i16"] = pk16<3>(
                                  [](u32 a, u32 b, u32 c) { return a * b + c; },
                                  false);
  for (int kind = 0; kind < 3; kind++)
    T[kind == 0   ? "v_fma_mix_f32"
      : kind == 1 ? "v_fma_mixlo_f16"
                  : "v_fma_mixhi_f16"] = [kind](Wave& w, const Inst& I) {
      Src s[3];
      float f[3];
      Vec r;
      for (int k = 0; k < 3; k++)
        fetch(w, I, 1 + k, s[k], (I.op_sel_hi >> k & 1) ? 16 : 32, nullptr);
      for (int i = 0; i < L; i++) {
        for (int k = 0; k < 3; k++) {
          u32 x = s[k].p[i];
          f[k] = I.op_sel_hi >> k & 1 ? h2f(I.op_sel >> k & 1 ? x >> 16 : x)
                                      : F(x);
          if (I.o[1 + k].abs || (I.neg_hi >> k & 1)) f[k] = std::fabs(f[k]);
          if (I.o[1 + k].neg || (I.neg_lo >> k & 1)) f[k] = -f[k];
        }
        float x = omodf(I, std::fma(f[0], f[1], f[2]));
        u32 o = w.v[I.o[0].idx][i];
        r[i] = kind == 0   ? U(x)
               : kind == 1 ? (o & 0xffff0000) | f2h(x)
                           : (o & 0xffff) | f2h(x) << 16;
      }
      w.put(I.o[0].idx, r, w.exec());
    };
  // ---- dot products
  auto dot2 = [](float (*c)(u32)) {
    return [c](Wave& w, const Inst& I) {  // two 16-bit products summed onto an
                                          // f32 (one rounding)
      bool acc = I.o.size() == 3;
      Src s[3];
      Vec r;
      for (int k = 0; k < (acc ? 2 : 3); k++)
        fetch(w, I, 1 + k, s[k], k == 2 ? 32 : 16, nullptr);
      u32 osh = I.has_osh ? I.op_sel_hi : 7;
      for (int i = 0; i < L; i++) {
        float z = acc ? F(w.v[I.o[0].idx][i]) : F(s[2].p[i]);
        if (I.neg_hi & 4) z = std::fabs(z);
        if (I.neg_lo & 4) z = -z;
        double d = z;
        for (int h = 0; h < 2; h++) {
          float x[2];
          for (int q = 0; q < 2; q++) {
            bool up = (h ? osh : I.op_sel) >> q & 1;
            x[q] = c((up ? s[q].p[i] >> 16 : s[q].p[i]) & 0xffff);
            if ((h ? I.neg_hi : I.neg_lo) >> q & 1) x[q] = -x[q];
          }
          d += (double)x[0] * x[1];
        }
        r[i] = U((float)d);
      }
      w.put(I.o[0].idx, r, w.exec());
    };
  };
  T["v_dot2_f32_f16"] = T["v_dot2acc_f32_f16"] = T["v_dot2c_f32_f16"] =
      dot2([](u32 x) { return h2f(x & 0xffff); });
  T["v_dot2_f32_bf16"] = T["v_dot2acc_f32_bf16"] =
      dot2([](u32 x) { return b2f(x); });
  auto dotn = [](int bits, bool mixed) {
    return [bits, mixed](Wave& w, const Inst& I) {
      Src s[3];
      Vec r;
      for (int k = 0; k < 3; k++) fetch(w, I, 1 + k, s[k], 32, nullptr);
      u32 mk = (1u << bits) - 1;
      for (int i = 0; i < L; i++) {
        i64 d = mixed ? (i64)(i32)s[2].p[i] : (i64)s[2].p[i];
        for (int j = 0; j < 32; j += bits) {
          i64 x[2];
          for (int q = 0; q < 2; q++) {
            x[q] = s[q].p[i] >> j & mk;
            if (mixed && (I.neg_lo >> q & 1) && x[q] >> (bits - 1))
              x[q] -= 1 << bits;
          }
          d += x[0] * x[1];
        }
        r[i] = I.clamp ? (mixed ? (u32)std::clamp<i64>(d, INT32_MIN, INT32_MAX)
                                : (u32)std::min<i64>(d, 0xffffffffll))
                       : (u32)d;
      }
      w.put(I.o[0].idx, r, w.exec());
    };
  };
  T["v_dot4_i32_iu8"] = dotn(8, true);
  T["v_dot8_i32_iu4"] = dotn(4, true);
  T["v_dot4_u32_u8"] = dotn(8, false);
  T["v_dot8_u32_u4"] = dotn(4, false);
  for (bool a : {false, true})
    for (bool b : {false, true})
      T[string("v_dot4_f32_") + (a ? "bf8" : "fp8") + "_" +
        (b ? "bf8" : "fp8")] = [a, b](Wave& w, const Inst& I) {
        Src s[3];
        Vec r;
        for (int k = 0; k < 3; k++) fetch(w, I, 1 + k, s[k], 32, nullptr);
        for (int i = 0; i < L; i++) {
          double d = F(s[2].p[i]);
          for (int j = 0; j < 32; j += 8)
            d += (double)fp8(s[0].p[i] >> j & 255, a) *
                 fp8(s[1].p[i] >> j & 255, b);
          r[i] = U((float)d);
        }
        w.put(I.o[0].idx, r, w.exec());
      };
}

}  // namespace gfxemu
