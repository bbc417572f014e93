// Matrix instructions of a wave.
#include "test/gfxemu/memory.h"
#include "test/gfxemu/table.h"

namespace gfxemu {

// gfx12: A lane l holds row l&15, its element e of K/2 is k = e + (K/2)*(l>>4);
// B the same with columns; D vgpr r, lane l -> row r+8*(l>>4), col l&15,
//        16-bit D packed two rows a vgpr.  gfx11: both lane halves hold all 16
//        k; D vgpr r, lane l -> row 2r+(l>>4); 16-bit D in the half chosen by
//        op_sel[2].
Fn wmma(const string& nm) {  // e.g. f32_16x16x16_bf16, i32_16x16x16_iu8,
                             // i32_16x16x32_iu4, f32_16x16x16_fp8_bf8
  auto x = nm.find('_');
  string od = nm.substr(0, x);
  string rest = nm.substr(x + 1);
  auto y = rest.find('_');
  int K = atoi(rest.substr(6, y - 6).c_str());
  string it = rest.substr(y + 1);
  string ia = it, ib = it;
  if (it.size() == 7 && it[3] == '_') {
    ia = it.substr(0, 3);
    ib = it.substr(4);
  }
  enum { F16, BF16, FP8, BF8, INT };
  auto ty = [](const string& t) {
    return t == "f16"    ? F16
           : t == "bf16" ? BF16
           : t == "fp8"  ? FP8
           : t == "bf8"  ? BF8
                         : INT;
  };
  int ta = ty(ia), tb = ty(ib), bits = ta <= BF16 ? 16 : ia == "iu4" ? 4 : 8;
  bool o16 = od == "f16" || od == "bf16", oi = od == "i32", obf = od == "bf16";
  return [=](Wave& w, const Inst& I) {
    if (w.exec() != ~0u) fail("WMMA with partial exec: " + I.text);
    bool g12 = w.g->gfx12;
    int per = 32 / bits, ne = g12 ? K / 2 : K;  // elements of A (B) in a lane
    alignas(64) double A[16][32],
        B[32][16];  // exact products; sums in double, one rounding at the end
    for (int q = 0; q < 2; q++)
      for (int l = 0; l < (g12 ? 32 : 16); l++)
        for (int e = 0; e < ne; e++) {
          u32 v = w.v[I.o[1 + q].idx + e / per][l] >> (e % per * bits);
          int k = e + (g12 ? ne * (l >> 4) : 0), r = l & 15, t = q ? tb : ta;
          double d;
          if (t == F16)
            d = h2f(v & 0xffff);
          else if (t == BF16)
            d = b2f(v);
          else if (t == FP8)
            d = fp8(v & 255, false);
          else if (t == BF8)
            d = fp8(v & 255, true);
          else {
            u32 n = v & ((1u << bits) - 1);
            d = n;
            if ((I.neg_lo >> q & 1) && n >> (bits - 1)) d -= 1 << bits;
          }
          if (t != INT && q == 0 && (e & 1 ? I.neg_hi : I.neg_lo) & 1) d = -d;
          if (t != INT && q == 1 && (e & 1 ? I.neg_hi : I.neg_lo) & 2) d = -d;
          (q ? B[k][r] : A[r][k]) = d;
        }
    Vec out[8];
    const Opnd& c = I.o[3];
    bool osh = I.op_sel >> 2 & 1;
    if (o16)
      for (int r = 0; r < 8; r++)
        memcpy(out[r], w.v[I.o[0].idx + r], sizeof(Vec));
    for (int row = 0; row < 16; row++) {
      int r = g12 ? row & 7 : row >> 1, hb = g12 ? row >> 3 : row & 1;
      double acc[16];
      for (int col = 0; col < 16; col++) {
        int l = col + 16 * hb;
        u32 cv = c.k == Opnd::V ? w.v[c.idx + (o16 && g12 ? r / 2 : r)][l]
                                : cst(c, o16 ? 16 : 32);
        if (o16 && c.k == Opnd::V)
          cv = (g12 ? r & 1 : osh) ? cv >> 16 : cv & 0xffff;
        double z = oi     ? (double)(i32)cv
                   : !o16 ? F(cv)
                   : obf  ? b2f(cv)
                          : h2f(cv);
        if (!oi) {
          if (I.neg_hi >> 2 & 1) z = std::fabs(z);
          if (I.neg_lo >> 2 & 1) z = -z;
        }
        acc[col] = z;
      }
      for (int k = 0; k < K; k++) {
        double a = A[row][k];
        for (int col = 0; col < 16; col++) acc[col] += a * B[k][col];
      }
      for (int col = 0; col < 16; col++) {
        int l = col + 16 * hb;
        double z = acc[col];
        if (oi) {
          i64 n = (i64)z;
          if (I.clamp) n = std::clamp<i64>(n, INT32_MIN, INT32_MAX);
          out[r][l] = (u32)n;
        } else if (!o16)
          out[r][l] = U((float)z);
        else {
          u32 h = obf ? f2b((float)z) : f2h((float)z);
          bool up = g12 ? r & 1 : osh;
          u32& d = out[g12 ? r / 2 : r][l];
          d = up ? (d & 0xffff) | h << 16 : (d & 0xffff0000) | h;
        }
      }
    }
    for (int r = 0; r < (o16 && g12 ? 4 : 8); r++)
      memcpy(w.v[I.o[0].idx + r], out[r], sizeof(Vec));
  };
}

}  // namespace gfxemu
