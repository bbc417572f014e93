// Scalar instructions and scalar loads.
#include "test/gfxemu/memory.h"
#include "test/gfxemu/table.h"

namespace gfxemu {

namespace {

template <class FN>
Fn sop(FN f, bool scc_nz = false) {  // 32-bit SALU, dst + up to 2 sources
  return [f, scc_nz](Wave& w, const Inst& I) {
    u32 a = sread(w, I.o[1]), b = I.o.size() > 2 ? sread(w, I.o[2]) : 0;
    u32 r = f(w, a, b);
    w.ws(I.o[0].idx, r);
    if (scc_nz) w.scc = r != 0;
  };
}
template <class FN>
Fn sop64(FN f, bool scc_nz = false) {
  return [f, scc_nz](Wave& w, const Inst& I) {
    u64 a = sread64(w, I.o[1]), b = I.o.size() > 2 ? sread64(w, I.o[2]) : 0;
    u64 r = f(w, a, b);
    w.ws64(I.o[0].idx, r);
    if (scc_nz) w.scc = r != 0;
  };
}
template <class FN>
Fn scmp(FN f) {
  return [f](Wave& w, const Inst& I) {
    w.scc = f(sread64(w, I.o[0]), sread64(w, I.o[1]));
  };
}
float sfl(Wave& w, const Opnd& o) {
  float x = F(sread(w, o));
  if (o.abs) x = std::fabs(x);
  if (o.neg) x = -x;
  return x;
}
template <class FN>
Fn sf(FN f) {
  return [f](Wave& w, const Inst& I) {
    w.ws(I.o[0].idx,
         U(omodf(I, f(sfl(w, I.o[1]), I.o.size() > 2 ? sfl(w, I.o[2]) : 0))));
  };
}
void branch(Wave& w, const Inst& I, bool c) {
  if (c) w.pc += (i64)(i16)(u16)I.o[0].c * 4;
}

}  // namespace

void AddScalar() {
  auto nop = [](Wave&, const Inst&) {};
  for (auto n : {"s_nop",
                 "s_delay_alu",
                 "s_wait_alu",
                 "s_wait_loadcnt",
                 "s_wait_storecnt",
                 "s_wait_dscnt",
                 "s_wait_kmcnt",
                 "s_wait_loadcnt_dscnt",
                 "s_wait_storecnt_dscnt",
                 "s_wait_samplecnt",
                 "s_wait_bvhcnt",
                 "s_wait_expcnt",
                 "s_wait_idle",
                 "s_wait_event",
                 "s_waitcnt",
                 "s_waitcnt_depctr",
                 "s_waitcnt_vscnt",
                 "s_waitcnt_lgkmcnt",
                 "s_clause",
                 "s_sleep",
                 "s_sendmsg",
                 "s_setprio",
                 "s_code_end",
                 "s_dcache_inv",
                 "s_setreg_b32",
                 "s_setreg_imm32_b32",
                 "s_round_mode",
                 "s_denorm_mode",
                 "s_set_inst_prefetch_distance",
                 "s_prefetch_inst",
                 "s_prefetch_data",
                 "s_prefetch_inst_pc_rel",
                 "s_icache_inv",
                 "global_inv",
                 "global_wb",
                 "global_wbinv",
                 "buffer_gl0_inv",
                 "buffer_gl1_inv",
                 "v_nop",
                 "s_barrier_signal",
                 "s_singleuse_vdst",
                 "global_prefetch_b8",
                 "s_wakeup",
                 "s_version"})
    T[n] = nop;
  // ---- SALU
  T["s_mov_b32"] = sop([](Wave&, u32 a, u32) { return a; });
  T["s_mov_b64"] = sop64([](Wave&, u64 a, u64) { return a; });
  T["s_cmov_b32"] = [](Wave& w, const Inst& I) {
    if (w.scc) w.ws(I.o[0].idx, sread(w, I.o[1]));
  };
  T["s_cmov_b64"] = [](Wave& w, const Inst& I) {
    if (w.scc) w.ws64(I.o[0].idx, sread64(w, I.o[1]));
  };
  T["s_movk_i32"] = sop([](Wave&, u32 a, u32) { return (u32)(i32)(i16)a; });
  T["s_not_b32"] = sop([](Wave&, u32 a, u32) { return ~a; }, true);
  T["s_not_b64"] = sop64([](Wave&, u64 a, u64) { return ~a; }, true);
  T["s_brev_b32"] = sop([](Wave&, u32 a, u32) {
    u32 r = 0;
    for (int i = 0; i < 32; i++) r |= (a >> i & 1) << (31 - i);
    return r;
  });
  auto narrow = [](auto f) {
    return [f](Wave& w, const Inst& I) {
      w.ws(I.o[0].idx, f(w, sread64(w, I.o[1])));
    };
  };
  T["s_bcnt1_i32_b32"] =
      sop([](Wave&, u32 a, u32) { return (u32)std::popcount(a); }, true);
  T["s_bcnt1_i32_b64"] = narrow([](Wave& w, u64 a) {
    u32 r = std::popcount(a);
    w.scc = r != 0;
    return r;
  });
  T["s_bcnt0_i32_b32"] =
      sop([](Wave&, u32 a, u32) { return (u32)std::popcount(~a); }, true);
  T["s_ctz_i32_b32"] =
      sop([](Wave&, u32 a, u32) { return a ? (u32)std::countr_zero(a) : ~0u; });
  T["s_ctz_i32_b64"] =
      narrow([](Wave&, u64 a) { return a ? (u32)std::countr_zero(a) : ~0u; });
  T["s_clz_i32_u32"] =
      sop([](Wave&, u32 a, u32) { return a ? (u32)std::countl_zero(a) : ~0u; });
  T["s_clz_i32_u64"] =
      narrow([](Wave&, u64 a) { return a ? (u32)std::countl_zero(a) : ~0u; });
  T["s_cls_i32"] = sop([](Wave&, u32 a, u32) {
    u32 x = (i32)a < 0 ? ~a : a;
    return x ? (u32)std::countl_zero(x) : ~0u;
  });
  T["s_sext_i32_i8"] = sop([](Wave&, u32 a, u32) { return (u32)(i32)(i8)a; });
  T["s_sext_i32_i16"] = sop([](Wave&, u32 a, u32) { return (u32)(i32)(i16)a; });
  T["s_abs_i32"] =
      sop([](Wave&, u32 a, u32) { return (i32)a < 0 ? 0u - a : a; }, true);
  T["s_absdiff_i32"] = sop(
      [](Wave&, u32 a, u32 b) {
        u32 d = a - b;
        return (i32)d < 0 ? 0u - d : d;
      },
      true);
  T["s_bitset0_b32"] = [](Wave& w, const Inst& I) {
    w.ws(I.o[0].idx, w.rs(I.o[0].idx) & ~(1u << (sread(w, I.o[1]) & 31)));
  };
  T["s_bitset1_b32"] = [](Wave& w, const Inst& I) {
    w.ws(I.o[0].idx, w.rs(I.o[0].idx) | 1u << (sread(w, I.o[1]) & 31));
  };
#define LOG(nm, e)                                                             \
  T["s_" nm "_b32"] = sop([](Wave&, u32 a, u32 b) -> u32 { return e; }, true); \
  T["s_" nm "_b64"] = sop64([](Wave&, u64 a, u64 b) -> u64 { return e; }, true);
  LOG("and", a & b)
  LOG("or", a | b) LOG("xor", a ^ b) LOG("nand", ~(a & b)) LOG("nor", ~(a | b))
      LOG("xnor", ~(a ^ b)) LOG("and_not1", a & ~b) LOG("or_not1", a | ~b)
          LOG("andn2", a & ~b) LOG("orn2", a | ~b)
#undef LOG
              auto shs = [](auto f) {
                return [f](Wave& w, const Inst& I) {
                  u64 r = f(sread64(w, I.o[1]), sread(w, I.o[2]));
                  w.ws64(I.o[0].idx, r);
                  w.scc = r != 0;
                };
              };
  T["s_lshl_b32"] =
      sop([](Wave&, u32 a, u32 b) { return a << (b & 31); }, true);
  T["s_lshr_b32"] =
      sop([](Wave&, u32 a, u32 b) { return a >> (b & 31); }, true);
  T["s_ashr_i32"] =
      sop([](Wave&, u32 a, u32 b) { return (u32)((i32)a >> (b & 31)); }, true);
  T["s_lshl_b64"] = shs([](u64 a, u32 b) { return a << (b & 63); });
  T["s_lshr_b64"] = shs([](u64 a, u32 b) { return a >> (b & 63); });
  T["s_ashr_i64"] = shs([](u64 a, u32 b) { return (u64)((i64)a >> (b & 63)); });
  T["s_bfm_b32"] = sop(
      [](Wave&, u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); });
  T["s_bfe_u32"] = sop(
      [](Wave&, u32 a, u32 b) {
        u32 o = b & 31, n = b >> 16 & 127;
        return n ? (a >> o) & (n >= 32 ? ~0u : (1u << n) - 1) : 0;
      },
      true);
  T["s_bfe_i32"] = sop(
      [](Wave&, u32 a, u32 b) {
        u32 o = b & 31, n = b >> 16 & 127;
        if (!n) return 0u;
        if (n + o > 32) n = 32 - o;
        return (u32)((i32)(a << (32 - n - o)) >> (32 - n));
      },
      true);
  T["s_bfe_u64"] = sop64(
      [](Wave&, u64 a, u64 b) {
        u32 o = b & 63, n = b >> 16 & 127;
        return n ? (a >> o) & (n >= 64 ? ~0ull : (1ull << n) - 1) : 0ull;
      },
      true);
  T["s_add_co_u32"] = T["s_add_u32"] = sop([](Wave& w, u32 a, u32 b) {
    u32 r = a + b;
    w.scc = r < a;
    return r;
  });
  T["s_sub_co_u32"] = T["s_sub_u32"] = sop([](Wave& w, u32 a, u32 b) {
    w.scc = b > a;
    return a - b;
  });
  T["s_add_co_i32"] = T["s_add_i32"] = sop([](Wave& w, u32 a, u32 b) {
    u32 r = a + b;
    w.scc = (~(a ^ b) & (a ^ r)) >> 31;
    return r;
  });
  T["s_sub_co_i32"] = T["s_sub_i32"] = sop([](Wave& w, u32 a, u32 b) {
    u32 r = a - b;
    w.scc = ((a ^ b) & (a ^ r)) >> 31;
    return r;
  });
  T["s_add_co_ci_u32"] = T["s_addc_u32"] = sop([](Wave& w, u32 a, u32 b) {
    u64 r = (u64)a + b + w.scc;
    w.scc = r >> 32;
    return (u32)r;
  });
  T["s_sub_co_ci_u32"] = T["s_subb_u32"] = sop([](Wave& w, u32 a, u32 b) {
    u64 t = (u64)b + w.scc;
    w.scc = t > a;
    return (u32)(a - t);
  });
  T["s_add_nc_u64"] = T["s_add_u64"] =
      sop64([](Wave&, u64 a, u64 b) { return a + b; });
  T["s_sub_nc_u64"] = T["s_sub_u64"] =
      sop64([](Wave&, u64 a, u64 b) { return a - b; });
  T["s_mul_u64"] = sop64([](Wave&, u64 a, u64 b) { return a * b; });
  T["s_mul_i32"] = sop([](Wave&, u32 a, u32 b) { return a * b; });
  T["s_mul_hi_u32"] =
      sop([](Wave&, u32 a, u32 b) { return (u32)((u64)a * b >> 32); });
  T["s_mul_hi_i32"] = sop(
      [](Wave&, u32 a, u32 b) { return (u32)((i64)(i32)a * (i32)b >> 32); });
  T["s_addk_co_i32"] = T["s_addk_i32"] = [](Wave& w, const Inst& I) {
    u32 a = w.rs(I.o[0].idx), b = (u32)(i32)(i16)I.o[1].c, r = a + b;
    w.scc = (~(a ^ b) & (a ^ r)) >> 31;
    w.ws(I.o[0].idx, r);
  };
  T["s_mulk_i32"] = [](Wave& w, const Inst& I) {
    w.ws(I.o[0].idx, w.rs(I.o[0].idx) * (u32)(i32)(i16)I.o[1].c);
  };
  for (int k = 1; k <= 4; k++)
    T["s_lshl" + std::to_string(k) + "_add_u32"] =
        sop([k](Wave& w, u32 a, u32 b) {
          u64 r = ((u64)a << k) + b;
          w.scc = r >> 32 != 0;
          return (u32)r;
        });
#define MM(nm, ty, op)                         \
  T["s_" nm] = sop([](Wave& w, u32 a, u32 b) { \
    bool c = (ty)a op(ty) b;                   \
    w.scc = c;                                 \
    return c ? a : b;                          \
  });
  MM("min_i32", i32, <)
  MM("min_u32", u32, <) MM("max_i32", i32, >) MM("max_u32", u32, >)
#undef MM
      T["s_cselect_b32"] =
          sop([](Wave& w, u32 a, u32 b) { return w.scc ? a : b; });
  T["s_cselect_b64"] =
      sop64([](Wave& w, u64 a, u64 b) { return w.scc ? a : b; });
  T["s_pack_ll_b32_b16"] =
      sop([](Wave&, u32 a, u32 b) { return (a & 0xffff) | b << 16; });
  T["s_pack_lh_b32_b16"] =
      sop([](Wave&, u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); });
  T["s_pack_hh_b32_b16"] =
      sop([](Wave&, u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); });
  T["s_pack_hl_b32_b16"] =
      sop([](Wave&, u32 a, u32 b) { return a >> 16 | b << 16; });
  for (string o : {"lt", "le", "gt", "ge", "eq", "lg"}) {
    T["s_cmp_" + o + "_i32"] = [f = cmpfn<i32>(o)](Wave& w, const Inst& I) {
      w.scc = f(sread(w, I.o[0]), sread(w, I.o[1]));
    };
    T["s_cmp_" + o + "_u32"] = [f = cmpfn<u32>(o)](Wave& w, const Inst& I) {
      w.scc = f(sread(w, I.o[0]), sread(w, I.o[1]));
    };
    T["s_cmp_" + o + "_u64"] = scmp(cmpfn<u64>(o));
    T["s_cmpk_" + o + "_i32"] = [f = cmpfn<i32>(o)](Wave& w, const Inst& I) {
      w.scc = f(sread(w, I.o[0]), (i32)(i16)I.o[1].c);
    };
    T["s_cmpk_" + o + "_u32"] = [f = cmpfn<u32>(o)](Wave& w, const Inst& I) {
      w.scc = f(sread(w, I.o[0]), (u16)I.o[1].c);
    };
  }
  for (string o : {"lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg",
                   "ngt", "nle", "neq", "nlt"}) {
    T["s_cmp_" + o + "_f32"] = [f = cmpfn<float>(o)](Wave& w, const Inst& I) {
      w.scc = f(sfl(w, I.o[0]), sfl(w, I.o[1]));
    };
  }
  T["s_bitcmp0_b32"] = [](Wave& w, const Inst& I) {
    w.scc = !(sread(w, I.o[0]) >> (sread(w, I.o[1]) & 31) & 1);
  };
  T["s_bitcmp1_b32"] = [](Wave& w, const Inst& I) {
    w.scc = sread(w, I.o[0]) >> (sread(w, I.o[1]) & 31) & 1;
  };
  T["s_getreg_b32"] = [](Wave& w, const Inst& I) { w.ws(I.o[0].idx, 0); };
  T["s_getpc_b64"] = [](Wave& w, const Inst& I) { w.ws64(I.o[0].idx, w.pc); };
  T["s_setpc_b64"] = [](Wave& w, const Inst& I) { w.pc = sread64(w, I.o[0]); };
  T["s_swappc_b64"] = [](Wave& w, const Inst& I) {
    u64 t = sread64(w, I.o[1]);
    w.ws64(I.o[0].idx, w.pc);
    w.pc = t;
  };
  T["s_call_b64"] = [](Wave& w, const Inst& I) {
    w.ws64(I.o[0].idx, w.pc);
    w.pc += (i64)(i16)(u16)I.o[1].c * 4;
  };
  T["s_branch"] = [](Wave& w, const Inst& I) { branch(w, I, true); };
  T["s_cbranch_scc0"] = [](Wave& w, const Inst& I) { branch(w, I, !w.scc); };
  T["s_cbranch_scc1"] = [](Wave& w, const Inst& I) { branch(w, I, w.scc); };
  T["s_cbranch_vccz"] = [](Wave& w, const Inst& I) { branch(w, I, !w.s[VCC]); };
  T["s_cbranch_vccnz"] = [](Wave& w, const Inst& I) { branch(w, I, w.s[VCC]); };
  T["s_cbranch_execz"] = [](Wave& w, const Inst& I) {
    branch(w, I, !w.exec());
  };
  T["s_cbranch_execnz"] = [](Wave& w, const Inst& I) {
    branch(w, I, w.exec());
  };
  T["s_endpgm"] = [](Wave& w, const Inst&) { w.done = true; };
  T["s_trap"] = [](Wave&, const Inst& I) {
    fail("s_trap at pc " + std::to_string(I.addr));
  };
  T["s_barrier_wait"] = T["s_barrier"] = nop;
#define SX(nm, e)                                           \
  T["s_" nm "_saveexec_b32"] = [](Wave& w, const Inst& I) { \
    u32 s = sread(w, I.o[1]), x = w.exec();                 \
    w.ws(I.o[0].idx, x);                                    \
    w.s[EXEC] = e;                                          \
    w.scc = w.s[EXEC] != 0;                                 \
  };
  SX("and", s & x)
  SX("or", s | x) SX("xor", s ^ x) SX("and_not0", ~s & x) SX("and_not1", s & ~x)
      SX("or_not0", ~s | x) SX("or_not1", s | ~x) SX("nand", ~(s & x))
          SX("nor", ~(s | x)) SX("xnor", ~(s ^ x))
#undef SX
              T["s_and_not0_wrexec_b32"] = [](Wave& w, const Inst& I) {
                w.s[EXEC] = ~sread(w, I.o[1]) & w.exec();
                w.ws(I.o[0].idx, w.exec());
                w.scc = w.exec() != 0;
              };
  T["s_and_not1_wrexec_b32"] = [](Wave& w, const Inst& I) {
    w.s[EXEC] = sread(w, I.o[1]) & ~w.exec();
    w.ws(I.o[0].idx, w.exec());
    w.scc = w.exec() != 0;
  };
  T["s_add_f32"] = sf([](float a, float b) { return a + b; });
  T["s_sub_f32"] = sf([](float a, float b) { return a - b; });
  T["s_mul_f32"] = sf([](float a, float b) { return a * b; });
  T["s_min_num_f32"] = sf(fmin_);
  T["s_max_num_f32"] = sf(fmax_);
  T["s_minimum_f32"] = sf(fminimum);
  T["s_maximum_f32"] = sf(fmaximum);
  T["s_ceil_f32"] = sf([](float a, float) { return std::ceil(a); });
  T["s_floor_f32"] = sf([](float a, float) { return std::floor(a); });
  T["s_trunc_f32"] = sf([](float a, float) { return std::trunc(a); });
  T["s_rndne_f32"] = sf([](float a, float) { return std::nearbyint(a); });
  T["s_fmac_f32"] = [](Wave& w, const Inst& I) {
    w.ws(I.o[0].idx,
         U(std::fma(sfl(w, I.o[1]), sfl(w, I.o[2]), F(w.rs(I.o[0].idx)))));
  };
  T["s_fmaak_f32"] = T["s_fmamk_f32"] = nullptr;
  T["s_fmaak_f32"] = [](Wave& w, const Inst& I) {
    w.ws(I.o[0].idx,
         U(std::fma(sfl(w, I.o[1]), sfl(w, I.o[2]), sfl(w, I.o[3]))));
  };
  T["s_fmamk_f32"] = [](Wave& w, const Inst& I) {
    w.ws(I.o[0].idx,
         U(std::fma(sfl(w, I.o[1]), sfl(w, I.o[2]), sfl(w, I.o[3]))));
  };
  T["s_cvt_f32_i32"] = sop([](Wave&, u32 a, u32) { return U((float)(i32)a); });
  T["s_cvt_f32_u32"] = sop([](Wave&, u32 a, u32) { return U((float)a); });
  T["s_cvt_i32_f32"] = sop([](Wave&, u32 a, u32) { return (u32)cvt_i(F(a)); });
  T["s_cvt_u32_f32"] = sop([](Wave&, u32 a, u32) { return cvt_u(F(a)); });
  T["s_cvt_f16_f32"] = sop([](Wave&, u32 a, u32) { return f2h(F(a)); });
  T["s_cvt_f32_f16"] = sop([](Wave&, u32 a, u32) { return U(h2f(a)); });
  T["s_cvt_hi_f32_f16"] =
      sop([](Wave&, u32 a, u32) { return U(h2f(a >> 16)); });
  T["v_s_exp_f32"] = sf([](float a, float) { return std::exp2(a); });
  T["v_s_log_f32"] = sf([](float a, float) { return std::log2(a); });
  T["v_s_rcp_f32"] = sf([](float a, float) { return 1.f / a; });
  T["v_s_rsq_f32"] =
      sf([](float a, float) { return (float)(1. / std::sqrt((double)a)); });
  T["v_s_sqrt_f32"] = sf([](float a, float) { return std::sqrt(a); });
  // ---- SMEM
  for (auto [t, n] :
       std::initializer_list<std::pair<const char*, int>>{{"b32", 1},
                                                          {"b64", 2},
                                                          {"b96", 3},
                                                          {"b128", 4},
                                                          {"b256", 8},
                                                          {"b512", 16},
                                                          {"u8", -1},
                                                          {"i8", -2},
                                                          {"u16", -3},
                                                          {"i16", -4}})
    for (string pre : {"s_load_", "s_buffer_load_"})
      T[pre + t] = [n = n, buf = pre == "s_buffer_load_"](Wave& w,
                                                          const Inst& I) {
        u64 a = w.rs64(I.o[1].idx);
        if (buf) a &= 0xffffffffffffull;
        a += I.offset;
        if (I.o.size() > 2) {
          const Opnd& o = I.o[2];
          a += o.k == Opnd::S ? (u64)w.rs(o.idx) : (u64)(i64)o.c;
        }
        int b = n > 0 ? n * 4 : n >= -2 ? 1 : 2;
        if (n > 0) a &= ~3ull;
        const u8* p = gmem(w, I, a, b, -1);
        if (n > 0) {
          u32 t[16];
          memcpy(t, p, b);
          for (int k = 0; k < n; k++) w.ws(I.o[0].idx + k, t[k]);
        } else
          w.ws(I.o[0].idx, n == -1   ? *p
                           : n == -2 ? (u32)(i32)(i8)*p
                           : n == -3 ? *(u16*)p
                                     : (u32)(i32) * (i16*)p);
      };
}

}  // namespace gfxemu
