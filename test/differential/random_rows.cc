// Rowwise operations of random bodies, accesses and results.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "test/differential/random_ops.h"

namespace glm::differential {
namespace {

constexpr double kLimit = 8;  // of what a rowwise operation stores

}  // namespace

// What a row reads beside `primary`: weights, other values, broadcasts.
std::vector<Scalar> RandomOps::Inputs(Draws& d, RowText& row,
                                      const Value& primary) {
  std::vector<Scalar> s;
  const Dims& domain = row.domain();
  const bool three = domain.size() == 3;
  const int64_t c = domain.back(), g = three ? domain[1] : 1;
  const std::string column = RowText::D(domain.size() - 1);
  const std::string flat =
      three ? absl::StrCat("d1 * ", c, " + d2") : std::string("d1");
  const auto read = [&](const Value& v, const std::string& t) {
    return absl::StrCat(t, ", ", v.dims.size() == 3 ? "d1, d2" : flat.c_str());
  };
  const auto whole = [&](const Value& v) {
    return v.Width() == g * c && (v.dims.size() == 2 || v.dims == domain);
  };
  if (whole(primary)) {
    s.push_back({row.In(primary, read(primary, "d0")), false});
  } else if (primary.dims.size() == 3) {  // all of the middle, one by one
    for (int64_t j = 0; j < primary.dims[1]; ++j) {
      s.push_back({row.In(primary, absl::StrCat("d0, ", j, ", d1")), false});
    }
  } else {  // two halves of a wider row
    s.push_back({row.In(primary, absl::StrCat("d0, ", flat)), false});
    s.push_back({row.In(primary, absl::StrCat("d0, ", flat, " + ",
                                              primary.Width() - g * c)),
                 false});
  }
  const uint32_t more = d.Below(4);
  for (uint32_t i = 0; i < more; ++i) {
    const uint32_t kind = d.Below(6);
    const Value& other = Pick(d);
    const std::string dtype = d.Of<std::string>({"f32", "bf16", "f16"});
    if (kind == 0) {
      s.push_back({row.In(f_.Weight(dtype, {c}, 1), column), false});
    } else if (kind == 1) {
      s.push_back({row.In(f_.Weight(dtype, {g}, 1), three ? "d1" : "0"), true});
    } else if (kind == 2 && whole(other)) {
      s.push_back({row.In(other, read(other, "d0")), false});
    } else if (kind == 3 && graph_.whole && whole(other)) {
      const std::string row_of =
          d.Below(2) ? absl::StrCat("d0 * -1 + ", rows_ - 1) : std::string("0");
      s.push_back({row.In(other, read(other, row_of)), false});
    } else if (other.dims.size() == 2 && other.Width() >= c && d.Below(2)) {
      s.push_back({row.In(other, absl::StrCat("d0, ", column, " + ",
                                              other.Width() - c)),
                   false});
    } else if (other.dims.size() == 2 && other.Width() >= g) {
      s.push_back({row.In(other, three ? "d0, d1" : "d0, 0"), true});
    }
  }
  return s;
}

void RandomOps::Body(Draws& d, RowText& row, std::vector<Scalar>& s) {
  const auto pick = [&] { return s[s.size() - 1 - d.Below(s.size())]; };
  const auto add = [&](const std::string& op, Scalar a, Scalar b) {
    s.push_back({row.Op(op, a.name, b.name), a.uniform && b.uniform});
  };
  const auto one = [&](const std::string& op, Scalar a) {
    s.push_back({row.Op(op, a.name), a.uniform});
  };
  const auto number = [&](double v) { return Scalar{row.Num(v), true}; };
  const uint32_t steps = d.Below(7);
  for (uint32_t i = 0; i < steps; ++i) {
    const Scalar a = pick(), b = pick();
    switch (d.Below(10)) {
      case 0:
        add("arith.addf", a, b);
        break;
      case 1:
        add("arith.mulf", a, b);
        break;
      case 2:
        add("arith.subf", a, b);
        break;
      case 3:
        add("arith.maximumf", a, b);
        break;
      case 4:
        add("arith.minimumf", a, b);
        break;
      case 5:
        one("arith.negf", a);
        break;
      case 6:
        one("glm.sigmoid", a);
        break;
      case 7:
        add("arith.minimumf", a, number(1));
        one("math.exp", s.back());
        break;
      case 8:
        add("arith.mulf", a, a);
        add("arith.addf", s.back(), number(0.5));
        one("math.rsqrt", s.back());
        break;
      case 9:
        one("glm.sigmoid", b);
        add("arith.addf", s.back(), number(0.5));
        add("arith.divf", a, s.back());
        break;
    }
  }
  const uint32_t reduce = d.Below(5);
  if (reduce == 0 || reduce > 3) return;
  Scalar x = pick();
  if (x.uniform) x = s.front();
  const auto sum = [&](const char* kind, Scalar a) {
    s.push_back({row.Reduce(kind, a.name), true});
  };
  if (reduce == 3) {
    sum("max", x);
    return;
  }
  if (reduce == 1) {  // norm
    add("arith.mulf", x, x);
    sum("add", s.back());
    add("arith.mulf", s.back(), number(1.0 / row.domain().back()));
    add("arith.addf", s.back(), number(1e-5));
    one("math.rsqrt", s.back());
    add("arith.mulf", x, s.back());
    return;
  }
  sum("max", x);  // softmax
  add("arith.subf", x, s.back());
  one("math.exp", s.back());
  const Scalar e = s.back();
  sum("add", e);
  add("arith.divf", e, s.back());
}

void RandomOps::Outs(Draws& d, RowText& row, const std::vector<Scalar>& s) {
  const Dims& domain = row.domain();
  const bool three = domain.size() == 3;
  const int64_t c = domain.back(), g = three ? domain[1] : 1;
  const auto clamped = [&](const Scalar& x) {
    return row.Op("arith.maximumf",
                  row.Op("arith.minimumf", x.name, row.Num(kLimit)),
                  row.Num(-kLimit));
  };
  const auto pick = [&] { return s[s.size() - 1 - d.Below(s.size())]; };
  std::vector<Value> types;
  const auto result = [&](Dims dims) {
    types.push_back({"", Dtype(d), std::move(dims)});
    return types.size() - 1;
  };
  const std::string x = clamped(s.back());
  const uint32_t form = d.Below(8);
  if (form == 1 && three) {
    row.Out(result({rows_, g * c}), absl::StrCat("d0, d1 * ", c, " + d2"), x);
  } else if (form == 2 && three) {
    row.Out(result({rows_, c, g}), "d0, d2, d1", x);
  } else if (form == 3 && !three) {
    const size_t target = result({rows_, 2, c});
    row.Out(target, "d0, 0, d1", x);
    row.Out(target, "d0, 1, d1", clamped(pick()));
  } else {
    row.Out(result(domain), three ? "d0, d1, d2" : "d0, d1", x);
  }
  if (d.Below(4) == 1) {
    row.Out(result(domain), three ? "d0, d1, d2" : "d0, d1", clamped(pick()));
  }
  for (const Scalar& u : s) {
    if (!u.uniform || d.Below(4) != 1) continue;
    row.Out(result({rows_, g}), three ? "d0, d1" : "d0, 0", clamped(u));
    break;
  }
  for (const Value& v : f_.Rowwise(row, types)) Keep(d, v);
}

void RandomOps::Rowwise(Draws& d) {
  const Value primary = Pick(d);
  Dims domain = primary.dims;
  const int64_t width = primary.Width();
  const uint32_t form = d.Below(4);
  if (domain.size() == 2 && form == 1) {
    const int64_t g = d.Of<int64_t>({2, 3, 4, 7});
    if (width % g == 0) domain = {rows_, g, width / g};
  } else if (domain.size() == 2 && form == 2) {
    domain = {rows_, (width + 1) / 2};
  } else if (domain.size() == 2 && form == 3 && width <= 128) {
    domain = {rows_, 4, width};
  } else if (domain.size() == 3 && form == 1) {
    if (domain[1] <= 8) domain = {rows_, domain[2]};
  }
  RowText row(domain);
  std::vector<Scalar> s;
  if (form == 3 && domain.size() == 3 && primary.dims.size() == 2) {
    s.push_back({row.In(primary, "d0, d2"), false});  // to each of the middle
    s.push_back({row.In(f_.Weight("f32", {domain[1]}, 1), "d1"), true});
  } else {
    s = Inputs(d, row, primary);
  }
  Body(d, row, s);
  Outs(d, row, s);
}

}  // namespace glm::differential
