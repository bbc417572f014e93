// What a wave has and what an instruction is: registers, operands, memory
// ranges, number formats. Internal to test/gfxemu.
#ifndef TEST_GFXEMU_MACHINE_H_
#define TEST_GFXEMU_MACHINE_H_

#include <immintrin.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gfxemu {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using std::string;
using std::vector;

[[noreturn]] inline void fail(const string& s) { throw std::runtime_error(s); }
inline float F(u32 x) { return std::bit_cast<float>(x); }
inline u32 U(float x) { return std::bit_cast<u32>(x); }
inline double D(u64 x) { return std::bit_cast<double>(x); }
inline u64 UD(double x) { return std::bit_cast<u64>(x); }
inline float h2f(u32 h) { return _cvtsh_ss((u16)h); }
inline u32 f2h(float f) { return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT); }
inline u32 f2h_rtz(float f) { return _cvtss_sh(f, _MM_FROUND_TO_ZERO); }
inline float b2f(u32 b) { return F((b & 0xffff) << 16); }
inline u32 f2b(float f) {
  u32 u = U(f);
  if ((u & 0x7fffffff) > 0x7f800000) return (u >> 16) | 0x40;
  return (u + 0x7fff + ((u >> 16) & 1)) >> 16;
}
// OCP fp8 e4m3 / bf8 e5m2
inline float fp8(u32 v, bool bf) {
  int eb = bf ? 5 : 4, mb = 7 - eb, bias = bf ? 15 : 7;
  u32 s = (v >> 7) & 1, e = (v >> mb) & ((1 << eb) - 1),
      m = v & ((1 << mb) - 1);
  float r;
  if (bf && e == 31)
    r = m ? NAN : INFINITY;
  else if (!bf && e == 15 && m == 7)
    r = NAN;
  else
    r = e ? std::ldexp(1.f + m / float(1 << mb), (int)e - bias)
          : std::ldexp(m / float(1 << mb), 1 - bias);
  return s ? -r : r;
}
inline u32 to_fp8(float f, bool bf) {  // RNE, overflow -> NaN(fp8) / Inf(bf8)
  u32 s = U(f) >> 31 << 7;
  float a = std::fabs(f);
  if (std::isnan(f)) return s | 0x7f;
  int mb = bf ? 2 : 3, bias = bf ? 15 : 7;
  float mx = bf ? 57344.f : 448.f;
  if (std::isinf(f)) return s | (bf ? 0x7c : 0x7f);
  int e;
  std::frexp(a, &e);
  e -= 1;
  if (e < 1 - bias) e = 1 - bias;
  float q = std::nearbyint(std::ldexp(a, mb - e));
  float v = std::ldexp(q, e - mb);
  if (v > mx) return s | (bf ? 0x7c : 0x7f);
  for (u32 c = 0; c < 0x80; c++)
    if (fp8(c, bf) == v) return s | c;
  return s;
}

constexpr int L = 32;
typedef u32 Vec[L];
enum : int {
  VCC = 106,
  TTMP = 108,
  SNULL = 124,
  M0 = 125,
  EXEC = 126,
  SCC = 253,
  SHBASE = 240,
  PRBASE = 241,
  SHLIM = 242,
  PRLIM = 243
};
constexpr u64 SH_APER = 0x1000000000000ull, PR_APER = 0x2000000000000ull;

struct Opnd {
  enum K : u8 { NONE, V, S, C, FC } k = NONE;
  bool neg = 0, abs = 0, hi = 0, half = 0;
  int idx = 0, n = 1;
  u64 c = 0;
  double fc = 0;
};
struct Inst;
struct Wave;
using Fn = std::function<void(Wave&, const Inst&)>;
struct Dpp {
  int kind = 0, arg = 0;
  u8 q[8] = {};
  int row = 15, bank = 15;
  bool bc = 0, fi = 0;
};
struct Inst {
  string text, name;
  Fn fn;
  u64 addr = 0;
  int size = 4;
  vector<Opnd> o;
  i64 offset = 0, offset0 = 0, offset1 = 0;
  bool clamp = 0, glc = 0, offen = 0, idxen = 0, bar = 0, end = 0,
       pause = 0;
  int omod = 0;
  u32 op_sel = 0, op_sel_hi = 0, neg_lo = 0, neg_hi = 0;
  bool has_osh = 0;
  Dpp dpp;
  string swz;
  std::unique_ptr<Inst> dual;
  mutable std::atomic<u64> hits{0};
};
struct Range {
  u64 lo, hi;
};
struct Group {
  vector<u8> lds;
  vector<Range> const* ranges;
  bool gfx12;
};
struct Wave {
  Group* g = nullptr;
  Vec v[256];
  u32 s[256] = {};
  u32 scc = 0;
  u64 pc = 0, n = 0;
  bool done = 0;
  vector<u8> scratch;
  u32 scr_sz = 0;
  bool defer = 0;
  Vec dres;
  u32 dmask = 0;
  int didx = -1;  // VOPD: X result committed after Y ran
  u32 exec() const { return s[EXEC]; }
  u32 rs(int i) const {
    if (i == SNULL) return 0;
    if (i == SCC) return scc;
    return s[i];
  }
  u64 rs64(int i) const {
    if (i == SHBASE) return SH_APER;
    if (i == PRBASE) return PR_APER;
    return rs(i) | (u64)rs(i == SNULL ? i : i + 1) << 32;
  }
  void ws(int i, u32 x) {
    if (i != SNULL) s[i] = x;
  }
  void ws64(int i, u64 x) {
    if (i != SNULL) {
      s[i] = (u32)x;
      s[i + 1] = x >> 32;
    }
  }
  void put(int r, const u32* x, u32 m) {
    if (defer) {
      memcpy(dres, x, sizeof dres);
      dmask = m;
      didx = r;
      return;
    }
    if (m == ~0u)
      memcpy(v[r], x, sizeof(Vec));
    else
      for (int i = 0; i < L; i++) v[r][i] = (m >> i & 1) ? x[i] : v[r][i];
  }
};

}  // namespace gfxemu

#endif  // TEST_GFXEMU_MACHINE_H_
