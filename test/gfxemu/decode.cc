// Text of llvm-objdump to instructions.
#include "test/gfxemu/decode.h"

#include <cstdlib>
#include <map>

#include "test/gfxemu/memory.h"
#include "test/gfxemu/table.h"

namespace gfxemu {

string trim(string s) {
  size_t a = s.find_first_not_of(" \t"), b = s.find_last_not_of(" \t\r\n");
  return a == string::npos ? "" : s.substr(a, b - a + 1);
}
bool parse_reg(const string& t, Opnd& o) {
  static const std::map<string, int> sp = {{"vcc_lo", VCC},
                                           {"vcc_hi", VCC + 1},
                                           {"exec_lo", EXEC},
                                           {"exec_hi", EXEC + 1},
                                           {"m0", M0},
                                           {"null", SNULL},
                                           {"scc", SCC},
                                           {"src_scc", SCC},
                                           {"src_shared_base", SHBASE},
                                           {"src_private_base", PRBASE},
                                           {"src_shared_limit", SHLIM},
                                           {"src_private_limit", PRLIM},
                                           {"vcc", VCC},
                                           {"exec", EXEC}};
  auto it = sp.find(t);
  if (it != sp.end()) {
    o.k = Opnd::S;
    o.idx = it->second;
    o.n = t == "vcc" || t == "exec" || t.find("_base") != string::npos ||
                  t == "null"
              ? 2
              : 1;
    return true;
  }
  string b = t;
  int base = 0;
  Opnd::K k;
  if (b.rfind("ttmp", 0) == 0) {
    k = Opnd::S;
    base = TTMP;
    b = b.substr(4);
  } else if (b[0] == 'v') {
    k = Opnd::V;
    b = b.substr(1);
  } else if (b[0] == 's') {
    k = Opnd::S;
    b = b.substr(1);
  } else
    return false;
  if (b.empty()) return false;
  if (b.size() > 2 &&
      (b.substr(b.size() - 2) == ".l" || b.substr(b.size() - 2) == ".h")) {
    o.half = true;
    o.hi = b.back() == 'h';
    b = b.substr(0, b.size() - 2);
  }
  int x, y;
  if (b[0] == '[') {
    if (sscanf(b.c_str(), "[%d:%d]", &x, &y) != 2) {
      if (sscanf(b.c_str(), "[%d]", &x) != 1) return false;
      y = x;
    }
  } else {
    if (!isdigit((unsigned char)b[0])) return false;
    x = y = atoi(b.c_str());
  }
  o.k = k;
  o.idx = base + x;
  o.n = y - x + 1;
  return true;
}
Opnd parse_opnd(string t, const Inst& I) {
  Opnd o;
  t = trim(t);
  if (t == "off") return o;
  if (t.rfind("neg(", 0) == 0) {
    o.neg = true;
    t = t.substr(4, t.size() - 5);
  }
  if (t.rfind("abs(", 0) == 0) {
    o.abs = true;
    t = t.substr(4, t.size() - 5);
  }
  if (t.rfind("lit64(", 0) == 0 || t.rfind("lit(", 0) == 0) {
    auto p = t.find('(');
    t = t.substr(p + 1, t.size() - p - 2);
  }
  if (t.size() > 1 && t[0] == '-' && !isdigit((unsigned char)t[1])) {
    o.neg = true;
    t = t.substr(1);
  }
  if (t[0] == '|') {
    o.abs = true;
    t = t.substr(1, t.size() - 2);
  }
  if (parse_reg(t, o)) return o;
  if (t.find('.') != string::npos && t.find("0x") == string::npos) {
    o.k = Opnd::FC;
    o.fc = strtod(t.c_str(), nullptr);
    if (t.find("0.15915494") == 0) o.fc = 0.15915494309189532;
    return o;
  }
  char* e;
  i64 v = t.rfind("0x", 0) == 0 ? (i64)strtoull(t.c_str(), &e, 16)
                                : strtoll(t.c_str(), &e, 0);
  if (e == t.c_str() || *e) {
    if (I.name.rfind("s_wait", 0) == 0 || I.name.rfind("s_delay", 0) == 0 ||
        I.name.rfind("s_sendmsg", 0) == 0 || I.name.rfind("s_setreg", 0) == 0 ||
        I.name.rfind("s_getreg", 0) == 0 ||
        I.name.rfind("s_prefetch", 0) == 0 || I.name == "s_clause") {
      o.k = Opnd::C;
      return o;
    }
    fail("operand '" + t + "' in: " + I.text);
  }
  o.k = Opnd::C;
  o.c = (u64)v;
  return o;
}
vector<string> split_top(const string& s,
                         char sep) {  // split at sep outside brackets
  vector<string> r;
  int d = 0;
  string c;
  for (char ch : s) {
    if (ch == '[' || ch == '(') d++;
    if (ch == ']' || ch == ')') d--;
    if (ch == sep && !d) {
      r.push_back(c);
      c.clear();
    } else
      c += ch;
  }
  if (!trim(c).empty()) r.push_back(c);
  return r;
}
u32 bitlist(const string& v) {
  u32 r = 0;
  int k = 0;
  for (char c : v)
    if (c == '0' || c == '1') {
      r |= (u32)(c - '0') << k;
      k++;
    }
  return r;
}
void modifier(Inst& I, const string& m) {
  auto c = m.find(':');
  string k = m.substr(0, c), v = c == string::npos ? "" : m.substr(c + 1);
  i64 n = v.empty() ? 0 : strtoll(v.c_str(), nullptr, 0);
  if (k == "offset") {
    if (v.rfind("swizzle(", 0) == 0) {
      string a = v.substr(8, v.size() - 9);
      auto p = split_top(a, ',');
      string ty = trim(p[0]);
      auto num = [&](int i) { return atoi(trim(p[i]).c_str()); };
      if (ty == "QUAD_PERM")
        I.offset = 0x8000 | num(1) | num(2) << 2 | num(3) << 4 | num(4) << 6;
      else if (ty == "SWAP")
        I.offset = num(1) << 10 | 31;
      else if (ty == "REVERSE")
        I.offset = (num(1) - 1) << 10 | 31;
      else if (ty == "BROADCAST")
        I.offset = (31 & ~(num(1) - 1)) | num(2) << 5;
      else if (ty == "BITMASK_PERM") {
        string b;
        for (char ch : p[1])
          if (strchr("01pi", ch)) b += ch;
        u32 an = 0, orr = 0, x = 0;
        for (int i = 0; i < 5; i++) {
          int bit = 4 - i;
          if (b[i] == '1') orr |= 1 << bit;
          if (b[i] == 'p') an |= 1 << bit;
          if (b[i] == 'i') an |= 1 << bit, x |= 1 << bit;
        }
        I.offset = an | orr << 5 | x << 10;
      } else
        fail("swizzle " + m);
    } else
      I.offset = n;
  } else if (k == "offset0")
    I.offset0 = n;
  else if (k == "offset1")
    I.offset1 = n;
  else if (k == "clamp")
    I.clamp = true;
  else if (k == "mul")
    I.omod = n == 2 ? 1 : 2;
  else if (k == "div")
    I.omod = 3;
  else if (k == "op_sel")
    I.op_sel = bitlist(v);
  else if (k == "op_sel_hi") {
    I.op_sel_hi = bitlist(v);
    I.has_osh = true;
  } else if (k == "neg_lo")
    I.neg_lo = bitlist(v);
  else if (k == "neg_hi")
    I.neg_hi = bitlist(v);
  else if (k == "row_mask")
    I.dpp.row = (int)n;
  else if (k == "bank_mask")
    I.dpp.bank = (int)n;
  else if (k == "bound_ctrl")
    I.dpp.bc = true;
  else if (k == "fi")
    I.dpp.fi = n != 0;
  else if (k == "quad_perm" || k == "dpp8") {
    I.dpp.kind = k == "dpp8" ? 9 : 1;
    int q = 0;
    for (char ch : v)
      if (isdigit((unsigned char)ch) && q < 8) I.dpp.q[q++] = ch - '0';
    if (k == "dpp8") I.dpp.row = I.dpp.bank = 15;
  } else if (k == "row_shl")
    I.dpp.kind = 2, I.dpp.arg = (int)n;
  else if (k == "row_shr")
    I.dpp.kind = 3, I.dpp.arg = (int)n;
  else if (k == "row_ror")
    I.dpp.kind = 4, I.dpp.arg = (int)n;
  else if (k == "row_mirror")
    I.dpp.kind = 5;
  else if (k == "row_half_mirror")
    I.dpp.kind = 6;
  else if (k == "row_share")
    I.dpp.kind = 7, I.dpp.arg = (int)n;
  else if (k == "row_xmask")
    I.dpp.kind = 8, I.dpp.arg = (int)n;
  else if (k == "offen")
    I.offen = true;
  else if (k == "idxen")
    I.idxen = true;
  else if (k == "glc")
    I.glc = true;
  else if (k == "th") {
    if (v.find("ATOMIC_RETURN") != string::npos) I.glc = true;
  } else if (k == "scope" || k == "slc" || k == "dlc" || k == "wait_exp" ||
             k == "wait_va_vdst" || k == "nv" || k == "gds" ||
             k == "byte_sel") {
    if (k == "byte_sel") I.op_sel = (u32)((n & 1) << 1 | n >> 1);
  } else
    fail("modifier '" + m + "' in: " + I.text);
}
void parse_one(Inst& I, const string& text) {
  I.text = text;
  auto sp = text.find(' ');
  string n = text.substr(0, sp),
         rest = sp == string::npos ? "" : text.substr(sp + 1);
  if (n.rfind("v_dual_", 0) == 0) n = "v_" + n.substr(7);
  for (const char* suf : {"_e64_dpp", "_e32_dpp", "_dpp", "_e32", "_e64"}) {
    size_t k = strlen(suf);
    if (n[0] == 'v' && n.size() > k && n.compare(n.size() - k, k, suf) == 0) {
      n.resize(n.size() - k);
      break;
    }
  }
  I.name = n;
  I.end = n == "s_endpgm";
  I.bar = n == "s_barrier_wait" || n == "s_barrier";
  I.pause = n == "s_sleep";
  static const vector<string> skip = {"s_wait",   "s_delay_alu", "s_sendmsg",
                                      "s_setreg", "s_code_end",  "s_set_inst",
                                      "s_clause"};
  for (auto& k : skip)
    if (n.rfind(k, 0) == 0) {
      I.fn = T["s_nop"];
      return;
    }
  auto parts = split_top(rest, ',');
  for (size_t i = 0; i < parts.size(); i++) {
    auto ws = split_top(trim(parts[i]),
                        ' ');  // last operand may carry modifiers after spaces
    bool first = true;
    for (auto& x : ws) {
      string t = trim(x);
      if (t.empty()) continue;
      bool mod = t.find(':') != string::npos && t.find('[') != 0 &&
                 !(t[0] == 'v' && t[1] == '[') &&
                 !(t[0] == 's' && t[1] == '[') &&
                 !(t[0] == 't' && t.rfind("ttmp[", 0) == 0) && t[0] != '-' &&
                 t[0] != '|';
      static const vector<string> flags = {
          "clamp", "offen",      "idxen",           "glc", "slc",
          "dlc",   "row_mirror", "row_half_mirror", "gds", "nv"};
      for (auto& fl : flags)
        if (t == fl) mod = true;
      if (mod)
        modifier(I, t);
      else if (first) {
        I.o.push_back(parse_opnd(t, I));
        first = false;
      } else
        fail("parse '" + t + "' in: " + text);
    }
  }
  I.fn = lookup(n);
  if (!I.fn) {
    string msg = "unimplemented instruction: " + text;
    I.fn = [msg](Wave& w, const Inst&) {
      fail(msg + " (reached)");
      (void)w;
    };
  }
}

}  // namespace gfxemu
