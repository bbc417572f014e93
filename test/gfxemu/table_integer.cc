// Vector moves, integers, lanes and comparisons.
#include "test/gfxemu/memory.h"
#include "test/gfxemu/table.h"

namespace gfxemu {

void AddVectorInteger() {
  T["v_mov_b32"] = v32<1, false>([](u32 a) { return a; });
  T["v_mov_b16"] = v16<1, false>([](u32 a) { return a; });
  T["v_not_b32"] = v32<1, false>([](u32 a) { return ~a; });
  T["v_bfrev_b32"] = v32<1, false>([](u32 a) {
    u32 r = 0;
    for (int i = 0; i < 32; i++) r |= (a >> i & 1) << (31 - i);
    return r;
  });
  T["v_clz_i32_u32"] =
      v32<1, false>([](u32 a) { return a ? (u32)std::countl_zero(a) : ~0u; });
  T["v_ctz_i32_b32"] =
      v32<1, false>([](u32 a) { return a ? (u32)std::countr_zero(a) : ~0u; });
  T["v_cls_i32"] = v32<1, false>([](u32 a) {
    u32 x = (i32)a < 0 ? ~a : a;
    return x ? (u32)std::countl_zero(x) : ~0u;
  });
#define I2(nm, e) T[nm] = v32<2, false>([](u32 a, u32 b) -> u32 { return e; });
#define I3(nm, e) \
  T[nm] = v32<3, false>([](u32 a, u32 b, u32 c) -> u32 { return e; });
  I2("v_sub_nc_u32", a - b)
  I2("v_subrev_nc_u32", b - a) I2("v_and_b32", a & b) I2("v_or_b32", a | b)
      I2("v_xor_b32", a ^ b) I2("v_xnor_b32", ~(a ^ b)) T["v_add_nc_u32"] =
          [f = v32<2, false>([](u32 a, u32 b) { return a + b; }),
           g = v32<2, false>([](u32 a, u32 b) {
             u32 r = a + b;
             return r < a ? ~0u : r;
           })](Wave& w, const Inst& I) { (I.clamp ? g : f)(w, I); };
  T["v_sub_nc_u32"] = [f = v32<2, false>([](u32 a, u32 b) { return a - b; }),
                       g = v32<2, false>([](u32 a, u32 b) {
                         return b > a ? 0 : a - b;
                       })](Wave& w, const Inst& I) { (I.clamp ? g : f)(w, I); };
  I2("v_add_nc_i32", a + b)
  I2("v_sub_nc_i32", a - b) I2("v_lshlrev_b32", b << (a & 31)) I2(
      "v_lshrrev_b32", b >> (a & 31)) I2("v_ashrrev_i32",
                                         (u32)((i32)b >> (a & 31)))
      I2("v_mul_lo_u32", a * b) I2("v_mul_hi_u32", (u32)((u64)a * b >> 32)) I2(
          "v_mul_hi_i32", (u32)((i64)(i32)a * (i32)b >> 32))
          I2("v_mul_u32_u24", (a & 0xffffff) * (b & 0xffffff)) I2(
              "v_mul_i32_i24",
              (u32)((i32)(a << 8) >> 8) *
                  (u32)((i32)(b << 8) >>
                        8)) I2("v_mul_hi_i32_i24",
                               (u32)((i64)((i32)(a << 8) >> 8) *
                                         ((i32)(b << 8) >> 8) >>
                                     32)) I2("v_mul_hi_u32_u24",
                               (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >>
                                     32)) I2("v_min_i32",
                                             (
                                                 u32)std::min((i32)a, (i32)b))
              I2("v_max_i32", (u32)std::max((i32)a, (i32)b)) I2(
                  "v_min_u32", std::min(a, b)) I2("v_max_u32", std::max(a, b))
                  I2("v_bcnt_u32_b32", (u32)std::popcount(a) + b) I2(
                      "v_bfm_b32",
                      ((1u << (a & 31)) - 1)
                          << (b & 31)) I3("v_add3_u32", a + b + c)
                      I3("v_lshl_add_u32", (a << (b & 31)) + c)
                          I3("v_add_lshl_u32", (a + b) << (c & 31)) I3(
                              "v_lshl_or_b32",
                              (a << (b & 31)) |
                                  c) I3("v_and_or_b32", (a & b) | c)
                              I3("v_or3_b32", a | b | c) I3(
                                  "v_xor3_b32",
                                  a ^ b ^
                                      c) I3("v_xad_u32", (a ^ b) + c)
                                  I3("v_bfi_b32", (a & b) | (~a & c)) I3(
                                      "v_mad_u32_u24",
                                      (a & 0xffffff) * (b & 0xffffff) + c)
                                      I3("v_mad_i32_i24",
                                         (u32)((i32)(a << 8) >> 8) *
                                                 (u32)((i32)(b << 8) >> 8) +
                                             c) I3("v_bfe_u32",
                                                   (c & 31)
                                                       ? (a >> (b & 31)) &
                                                             ((1u << (c & 31)) -
                                                              1)
                                                       : 0) T["v_bfe_i32"] =
                                          v32<3, false>([](u32 a, u32 b,
                                                           u32 c) -> u32 {
                                            u32 o = b & 31, n = c & 31;
                                            if (!n) return 0;
                                            if (o + n > 32)
                                              return (u32)((i32)a >> o);
                                            return (
                                                u32)((i32)(a << (32 - o - n)) >>
                                                     (32 - n));
                                          });
  I3("v_alignbit_b32", (u32)((((u64)a << 32) | b) >> (c & 31)))
  I3("v_alignbyte_b32", (u32)((((u64)a << 32) | b) >> (8 * (c & 3))))
      T["v_perm_b32"] = v32<3, false>([](u32 a, u32 b, u32 c) -> u32 {
        u64 d = (u64)a << 32 | b;
        u32 r = 0;
        for (int i = 0; i < 4; i++) {
          u32 s = c >> (8 * i) & 255, x;
          x = s >= 13   ? 255
              : s == 12 ? 0
              : s >= 8  ? ((d >> (16 * (s - 8) + 15)) & 1 ? 255 : 0)
                        : (d >> (8 * s)) & 255;
          r |= x << (8 * i);
        }
        return r;
      });
  I3("v_min3_i32", (u32)std::min({(i32)a, (i32)b, (i32)c}))
  I3("v_max3_i32", (u32)std::max({(i32)a, (i32)b, (i32)c})) I3(
      "v_min3_u32", std::min({a, b, c})) I3("v_max3_u32", std::max({a, b, c}))
      I3("v_med3_i32",
         (u32)std::max(std::min((i32)a, (i32)b),
                       std::min(std::max((i32)a, (i32)b), (i32)c)))
          I3("v_med3_u32",
             std::max(std::min(a, b), std::min(std::max(a, b), c)))
              I3("v_maxmin_i32",
                 (u32)std::min(std::max((i32)a, (i32)b), (i32)c))
                  I3("v_minmax_i32",
                     (u32)std::max(std::min((i32)a, (i32)b), (i32)c))
                      I3("v_maxmin_u32", std::min(std::max(a, b), c))
                          I3("v_minmax_u32", std::max(std::min(a, b), c))
                              T["v_sad_u8"] =
                                  v32<3, false>([](u32 a, u32 b, u32 c) -> u32 {
                                    for (int i = 0; i < 4; i++)
                                      c += std::abs((int)(a >> 8 * i & 255) -
                                                    (int)(b >> 8 * i & 255));
                                    return c;
                                  });
  I3("v_sad_u32", (a > b ? a - b : b - a) + c)
#undef I2
#undef I3
  T["v_mbcnt_lo_u32_b32"] = [](Wave& w, const Inst& I) {
    Vec r;
    Src a, b;
    fetch(w, I, 1, a, 32, nullptr);
    fetch(w, I, 2, b, 32, nullptr);
    for (int i = 0; i < L; i++)
      r[i] = std::popcount(a.p[i] & ((1u << i) - 1)) + b.p[i];
    w.put(I.o[0].idx, r, w.exec());
  };
  T["v_mbcnt_hi_u32_b32"] = [](Wave& w, const Inst& I) {
    Vec r;
    Src b;
    fetch(w, I, 2, b, 32, nullptr);
    for (int i = 0; i < L; i++) r[i] = b.p[i];
    w.put(I.o[0].idx, r, w.exec());
  };
  for (int sub = 0; sub < 3; sub++) {  // carry chains: dst, sdst, a, b [, cin]
    const char *n0[] = {"v_add_co_u32", "v_sub_co_u32", "v_subrev_co_u32"},
               *n1[] = {"v_add_co_ci_u32", "v_sub_co_ci_u32",
                        "v_subrev_co_ci_u32"};
    for (int ci = 0; ci < 2; ci++)
      T[ci ? n1[sub] : n0[sub]] = [sub, ci](Wave& w, const Inst& I) {
        Src a, b;
        Vec r;
        u32 ex = w.exec();
        fetch(w, I, 2, a, 32, &ex);
        fetch(w, I, 3, b, 32, nullptr);
        u32 cin = ci ? sread(w, I.o[4]) : 0, co = 0;
        for (int i = 0; i < L; i++) {
          u64 x = sub == 2 ? b.p[i] : a.p[i], y = sub == 2 ? a.p[i] : b.p[i],
              c = cin >> i & 1, t = sub ? x - y - c : x + y + c;
          r[i] = (u32)t;
          if (t >> 32) co |= 1u << i;
        }
        w.put(I.o[0].idx, r, ex);
        w.ws(I.o[1].idx, co & ex);
      };
  }
  auto sh64 = [](auto f) {
    return [f](Wave& w, const Inst& I) {
      u64 r[L];
      for (int i = 0; i < L; i++)
        r[i] = f(rd64(w, I.o[2], i),
                 I.o[1].k == Opnd::V ? w.v[I.o[1].idx][i] : sread(w, I.o[1]));
      put64(w, I.o[0].idx, r, w.exec());
    };
  };
  T["v_lshlrev_b64"] = sh64([](u64 a, u32 b) { return a << (b & 63); });
  T["v_lshrrev_b64"] = sh64([](u64 a, u32 b) { return a >> (b & 63); });
  T["v_ashrrev_i64"] =
      sh64([](u64 a, u32 b) { return (u64)((i64)a >> (b & 63)); });
  for (bool sg : {false, true})
    T[sg ? "v_mad_co_i64_i32" : "v_mad_co_u64_u32"] =
        T[sg ? "v_mad_i64_i32" : "v_mad_u64_u32"] =
            [sg](Wave& w, const Inst& I) {
              u64 r[L];
              Src a, b;
              fetch(w, I, 2, a, 32, nullptr);
              fetch(w, I, 3, b, 32, nullptr);
              u32 co = 0;
              for (int i = 0; i < L; i++) {
                u64 p = sg ? (u64)((i64)(i32)a.p[i] * (i32)b.p[i])
                           : (u64)a.p[i] * b.p[i],
                    c = rd64(w, I.o[4], i);
                r[i] = p + c;
                if (r[i] < c) co |= 1u << i;
              }
              put64(w, I.o[0].idx, r, w.exec());
              w.ws(I.o[1].idx, co & w.exec());
            };
  T["v_cndmask_b32"] = [](Wave& w, const Inst& I) {
    Src a, b;
    Vec r;
    u32 m = w.exec();
    fetch(w, I, 1, a, 32, &m);
    fetch(w, I, 2, b, 32, nullptr);
    modf(a, I.o[1], 32);
    modf(b, I.o[2], 32);
    u32 c = I.o.size() > 3 ? sread(w, I.o[3]) : w.s[VCC];
    for (int i = 0; i < L; i++) r[i] = c >> i & 1 ? b.p[i] : a.p[i];
    w.put(I.o[0].idx, r, m);
  };
  T["v_cndmask_b16"] = [](Wave& w, const Inst& I) {
    Src a, b;
    Vec r;
    fetch(w, I, 1, a, 16, nullptr);
    fetch(w, I, 2, b, 16, nullptr);
    half(a, I, 1, 0);
    half(b, I, 2, 1);
    modf(a, I.o[1], 16);
    modf(b, I.o[2], 16);
    u32 c = I.o.size() > 3 ? sread(w, I.o[3]) : w.s[VCC];
    for (int i = 0; i < L; i++) r[i] = c >> i & 1 ? b.p[i] : a.p[i];
    store16(w, I, r, w.exec(), 3);
  };
  T["v_readlane_b32"] = [](Wave& w, const Inst& I) {
    w.ws(I.o[0].idx, w.v[I.o[1].idx][sread(w, I.o[2]) & 31]);
  };
  T["v_readfirstlane_b32"] = [](Wave& w, const Inst& I) {
    w.ws(I.o[0].idx, sread(w, I.o[1]));
  };
  T["v_writelane_b32"] = [](Wave& w, const Inst& I) {
    w.v[I.o[0].idx][sread(w, I.o[2]) & 31] = sread(w, I.o[1]);
  };
  T["v_swap_b32"] = [](Wave& w, const Inst& I) {
    lanes(w, [&](int i) { std::swap(w.v[I.o[0].idx][i], w.v[I.o[1].idx][i]); });
  };
  for (bool x : {false, true})
    for (bool var : {false, true})
      T[string("v_permlane") + (x ? "x16" : "16") +
        (var ? "_var_b32" : "_b32")] = [x, var](Wave& w, const Inst& I) {
        Vec r;
        u32 m = 0, ex = w.exec();
        bool fi = I.op_sel & 1, bc = I.op_sel & 2;
        u64 sel = var ? 0 : sread(w, I.o[2]) | (u64)sread(w, I.o[3]) << 32;
        for (int i = 0; i < L; i++) {
          u32 s = var ? w.v[I.o[2].idx][i] & 15 : sel >> (4 * (i & 15)) & 15;
          int j = ((i & 16) ^ (x ? 16 : 0)) + s;
          bool act = fi || (ex >> j & 1);
          r[i] = act ? w.v[I.o[1].idx][j] : 0;
          if (act || bc) m |= 1u << i;
        }
        w.put(I.o[0].idx, r, ex & m);
      };
  // ---- compares
  for (string o : {"f", "lt", "eq", "le", "gt", "ne", "lg", "ge", "o", "u",
                   "nge", "nlg", "ngt", "nle", "neq", "nlt", "t"})
    for (string t :
         {"f16", "f32", "f64", "i16", "i32", "i64", "u16", "u32", "u64"})
      for (bool x : {false, true}) {
        auto gen = [x, t](auto f, auto rd) -> Fn {
          return [=](Wave& w, const Inst& I) {
            int b = x ? 0 : 1;
            if (x && I.o.size() == 3) b = 1;
            u32 r = 0, m = w.exec();
            Src A, B;
            bool w64 = t[1] == '6';
            if (!w64) {
              int bits = t[1] == '1' ? 16 : 32;
              fetch(w, I, b, A, bits, &m);
              fetch(w, I, b + 1, B, bits, nullptr);
              if (bits == 16) {
                half(A, I, b, 0);
                half(B, I, b + 1, 1);
              }
              if (t[0] == 'f') {
                modf(A, I.o[b], bits);
                modf(B, I.o[b + 1], bits);
              }
            }
            for (int i = 0; i < L; i++)
              r |= (u32)(w64 ? f(rd(w, I.o[b], i, nullptr),
                                 rd(w, I.o[b + 1], i, nullptr))
                             : f(rd(w, I.o[b], i, A.p),
                                 rd(w, I.o[b + 1], i, B.p)))
                   << i;
            r &= m;
            if (x)
              w.s[EXEC] = r;
            else
              w.ws(I.o[0].idx, r);
          };
        };
        Fn f;
        if (t == "f32")
          f = gen(cmpfn<float>(o), [](Wave&, const Opnd&, int i, const u32* p) {
            return F(p[i]);
          });
        else if (t == "f16")
          f = gen(cmpfn<float>(o), [](Wave&, const Opnd&, int i, const u32* p) {
            return h2f(p[i]);
          });
        else if (t == "f64")
          f = gen(cmpfn<double>(o), [](Wave& w, const Opnd& q, int i,
                                       const u32*) { return rdD(w, q, i); });
        else if (t == "i32")
          f = gen(cmpfn<i32>(o), [](Wave&, const Opnd&, int i, const u32* p) {
            return (i32)p[i];
          });
        else if (t == "u32")
          f = gen(cmpfn<u32>(o),
                  [](Wave&, const Opnd&, int i, const u32* p) { return p[i]; });
        else if (t == "i16")
          f = gen(cmpfn<i32>(o), [](Wave&, const Opnd&, int i, const u32* p) {
            return (i32)(i16)p[i];
          });
        else if (t == "u16")
          f = gen(cmpfn<u32>(o), [](Wave&, const Opnd&, int i, const u32* p) {
            return p[i] & 0xffff;
          });
        else if (t == "i64")
          f = gen(cmpfn<i64>(o), [](Wave& w, const Opnd& q, int i, const u32*) {
            return (i64)rd64(w, q, i);
          });
        else
          f = gen(cmpfn<u64>(o), [](Wave& w, const Opnd& q, int i, const u32*) {
            return rd64(w, q, i);
          });
        T[(x ? "v_cmpx_" : "v_cmp_") + o + "_" + t] = f;
      }
  for (bool x : {false, true})
    T[x ? "v_cmpx_class_f32" : "v_cmp_class_f32"] = [x](Wave& w,
                                                        const Inst& I) {
      int b = x ? 0 : 1;
      Src A, B;
      fetch(w, I, b, A, 32, nullptr);
      fetch(w, I, b + 1, B, 32, nullptr);
      modf(A, I.o[b], 32);
      u32 r = 0;
      for (int i = 0; i < L; i++) {
        u32 u = A.p[i], e = u >> 23 & 255, m = u & 0x7fffff;
        bool s = u >> 31;
        int c;
        if (e == 255)
          c = m ? (m >> 22 ? 1 : 0) : s ? 2 : 9;
        else if (e == 0)
          c = m ? (s ? 4 : 7) : (s ? 5 : 6);
        else
          c = s ? 3 : 8;
        r |= (B.p[i] >> c & 1) << i;
      }
      r &= w.exec();
      if (x)
        w.s[EXEC] = r;
      else
        w.ws(I.o[0].idx, r);
    };
}

}  // namespace gfxemu
