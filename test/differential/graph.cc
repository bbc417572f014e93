#include "test/differential/graph.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "test/differential/function_text.h"

namespace glm::differential {
namespace {

constexpr double kLimit = 8;  // of what a rowwise operation stores

class Draws {
 public:
  explicit Draws(const Gene& gene) : gene_(gene) {}
  // 0 when the numbers have run out.
  uint32_t Below(uint32_t n) {
    return at_ < gene_.size() ? gene_[at_++] % n : 0;
  }
  template <typename T>
  T Of(std::initializer_list<T> choices) {
    return choices.begin()[Below(static_cast<uint32_t>(choices.size()))];
  }

 private:
  const Gene& gene_;
  size_t at_ = 0;
};

std::string I(size_t i) { return RowText::D(i); }

// A scalar of a row's body; uniform: the same for all columns.
struct Scalar {
  std::string name;
  bool uniform;
};

class RandomOps {
 public:
  RandomOps(const Genome& genome, Graph& graph, std::string& weights);
  void Add(const Gene& gene);
  void Finish();

 private:
  std::string Dtype(Draws& d) {
    return !graph_.f32 && d.Below(2) == 1 ? "bf16" : "f32";
  }
  // The last value of the chosen operation or of those before it: the choice
  // stays what it is when other operations are dropped.
  const Value& Pick(Draws& d) {
    const int op = static_cast<int>(d.Below(op_ + 1));
    size_t i = values_.size() - 1;
    while (i > 0 && made_by_[i] > op_ - op) --i;
    return values_[i];
  }
  Value Keep(Draws& d, const Value& value);

  Value LinearTo(Draws& d, const Value& x, const std::string& dtype, Dims row);
  Value Need(Draws& d, const std::string& dtype, Dims row,
             const std::string& function = "");
  std::string Apply(RowText& row, const std::string& function,
                    const std::string& x);
  Value ChooseIds(Draws& d);

  void Rowwise(Draws& d);
  std::vector<Scalar> Inputs(Draws& d, RowText& row, const Value& primary);
  void Body(Draws& d, RowText& row, std::vector<Scalar>& s);
  void Outs(Draws& d, RowText& row, const std::vector<Scalar>& s);
  void Linear(Draws& d);
  void LinearOfMany(Draws& d);
  void HeadLinear(Draws& d);
  void Experts(Draws& d);
  void Select(Draws& d);
  void Sinkhorn(Draws& d);
  void ShortConv(Draws& d);
  void DeltaRule(Draws& d);
  void Append(Draws& d);
  void Attention(Draws& d);

  Graph& graph_;
  int64_t rows_;
  Value seqs_;
  FunctionText f_;
  std::vector<Value> values_, ids_;
  std::vector<int> made_by_;  // of values_: number of the operation
  int op_ = 0;
  struct Window {
    std::string state, dtype;
    int64_t channels, kernel;
  };
  std::vector<Window> windows_, caches_;
};

RandomOps::RandomOps(const Genome& genome, Graph& graph, std::string& weights)
    : graph_(graph),
      rows_(0),
      f_(graph.name, weights) {
  Draws d(genome.step);
  const auto [s, n] = d.Of<std::pair<int64_t, int64_t>>(
      {{1, 1}, {1, 2}, {2, 1}, {3, 1}, {1, 5}, {2, 4}, {3, 3}, {4, 1}, {8, 1},
       {1, 16}, {1, 17}, {9, 1}});
  graph.sequences = s, graph.tokens = n;
  rows_ = s * n;
  graph.logit_rows = s;
  graph.f32 = d.Below(2) == 0;
  graph.whole = d.Below(4) == 1;
  const int64_t h = d.Of<int64_t>({64, 7, 33, 96, 256, 512, 130});
  seqs_ = {"%seqs", "i32", {s, 4}};
  const Value table = f_.Weight(d.Of<std::string>({"f32", "bf16"}), {kVocab, h}, 2);
  Keep(d, f_.Call("embed", {{"%ids", "i32", {rows_}}, table}, "", Dtype(d),
                  {rows_, h}));
}

// The value takes part in what follows; some are tapped.
Value RandomOps::Keep(Draws& d, const Value& value) {
  if (value.dtype == "i32") {
    ids_.push_back(value);
  } else {
    values_.push_back(value);
    made_by_.push_back(op_);
  }
  if (d.Below(3) == 1) f_.Tap(value);
  return value;
}

Value RandomOps::LinearTo(Draws& d, const Value& x, const std::string& dtype,
                          Dims row) {
  const int64_t n = Product(row), k = x.Width();
  const Value w =
      f_.Weight(d.Of<std::string>({"f32", "bf16", "f16"}), {n, k}, 1.7 / std::sqrt(k));
  row.insert(row.begin(), rows_);
  return f_.Call("linear", {x, w}, "", dtype, row);
}

std::string RandomOps::Apply(RowText& row, const std::string& function,
                             const std::string& x) {
  if (function == "gate") return row.Op("arith.negf", row.Op("glm.sigmoid", x));
  if (function == "unit") {
    return row.Op("arith.mulf", row.Op("glm.sigmoid", x),
                  row.Num(1 / std::sqrt(row.domain().back())));
  }
  if (function == "share") return row.Op("glm.sigmoid", x);
  return x;
}

// A value of this type and row: one that is there, a part of a larger one, or a
// product. `function` bounds it, see Apply.
Value RandomOps::Need(Draws& d, const std::string& dtype, Dims row,
                      const std::string& function) {
  const bool fresh = d.Below(4) == 1;
  if (!fresh && function.empty()) {
    for (size_t i = values_.size(); i-- > 0;) {
      if (values_[i].dtype == dtype && values_[i].Row() == row) return values_[i];
    }
  }
  Value x = Pick(d);
  const int64_t width = Product(row);
  if (x.dims.size() != 2 || x.Width() < width) {
    x = Keep(d, LinearTo(d, x, Dtype(d), {width}));
  }
  if (function.empty() && x.dims.size() == 2 && fresh) {
    return Keep(d, LinearTo(d, x, dtype, row));
  }
  Dims domain = row;
  domain.insert(domain.begin(), rows_);
  RowText text(domain);
  std::string index = "d0, ", own = "d0";
  int64_t stride = width;
  for (size_t i = 1; i < domain.size(); ++i) {
    stride /= domain[i];
    absl::StrAppend(&index, I(i), " * ", stride, " + ");
    absl::StrAppend(&own, ", ", I(i));
  }
  absl::StrAppend(&index, d.Below(static_cast<uint32_t>(x.Width() - width + 1)));
  text.Out(0, own, Apply(text, function, text.In(x, index)));
  return Keep(d, f_.Rowwise(text, {{"", dtype, domain}})[0]);
}

// ------------------------------------------------------------------ rowwise

// What a row reads beside `primary`: weights, other values, broadcasts.
std::vector<Scalar> RandomOps::Inputs(Draws& d, RowText& row,
                                      const Value& primary) {
  std::vector<Scalar> s;
  const Dims& domain = row.domain();
  const bool three = domain.size() == 3;
  const int64_t c = domain.back(), g = three ? domain[1] : 1;
  const std::string column = I(domain.size() - 1);
  const std::string flat =
      three ? absl::StrCat("d1 * ", c, " + d2") : std::string("d1");
  const auto read = [&](const Value& v, const std::string& t) {
    return absl::StrCat(t, ", ",
                        v.dims.size() == 3 ? "d1, d2" : flat.c_str());
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
      case 0: add("arith.addf", a, b); break;
      case 1: add("arith.mulf", a, b); break;
      case 2: add("arith.subf", a, b); break;
      case 3: add("arith.maximumf", a, b); break;
      case 4: add("arith.minimumf", a, b); break;
      case 5: one("arith.negf", a); break;
      case 6: one("glm.sigmoid", a); break;
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

// --------------------------------------------------------------- structured

void RandomOps::Linear(Draws& d) {
  const Value x = Pick(d);
  const Dims row = d.Of<Dims>({{32}, {4}, {64}, {20}, {24}, {40}, {96}, {256},
                               {2, 16}, {4, 32}, {3, 8}, {512}});
  Keep(d, LinearTo(d, x, Dtype(d), row));
}

// Few outputs of many columns, which glm-split-linear cuts.
void RandomOps::LinearOfMany(Draws& d) {
  const Dims from = d.Of<Dims>({{512}, {1024}, {4, 256}});
  const Value x = Need(d, Dtype(d), from);
  Keep(d, LinearTo(d, x, Dtype(d), d.Of<Dims>({{32}, {24}, {4, 8}})));
}

void RandomOps::HeadLinear(Draws& d) {
  const int64_t heads = d.Of<int64_t>({2, 3, 4}), k = d.Of<int64_t>({16, 32});
  const int64_t n = d.Of<int64_t>({16, 64, 24}), first = d.Below(3);
  const bool transposed = d.Below(2) == 1;
  const Value x = Need(d, Dtype(d), {heads, k});
  const int64_t rows = transposed ? k : n, stride = first + rows + d.Below(2);
  const Value w = f_.Weight(d.Of<std::string>({"f32", "bf16"}),
                            {heads * stride, transposed ? n : k},
                            1.7 / std::sqrt(k));
  Keep(d, f_.Call("head_linear", {x, w},
                  absl::StrCat(transposed ? " transposed" : "", " {first = ", first,
                               " : i64, stride = ", stride, " : i64}"),
                  Dtype(d), {rows_, heads, n}));
}

Value RandomOps::ChooseIds(Draws& d) {
  graph_.selects = true;
  if (!ids_.empty() && d.Below(2) == 0) return ids_.back();
  const Value scores = Need(d, "f32", {d.Of<int64_t>({8, 6, 20})});
  const int64_t k = d.Of<int64_t>({2, 1, 4});
  Value ids = f_.Call("top_k", {scores}, "", "i32", {rows_, k});
  ids.ids_below = scores.dims[1];
  return Keep(d, ids);
}

void RandomOps::Experts(Draws& d) {
  const Value ids = ChooseIds(d);
  const int64_t k = d.Of<int64_t>({32, 64, 33}), n = d.Of<int64_t>({32, 64, 40, 130});
  const std::string form = d.Of<std::string>({"i4", "bf16", "f32"});
  const Value w = f_.Experts(form, {ids.ids_below, n, k}, 1.7 / std::sqrt(k));
  const Dims row = d.Below(2) ? Dims{ids.dims[1], k} : Dims{k};
  const Value x = Need(d, Dtype(d), row);
  Keep(d, f_.Call("expert_linear", {x, ids, w}, "", Dtype(d),
                  {rows_, ids.dims[1], n}));
}

void RandomOps::Select(Draws& d) {
  const Value ids = ChooseIds(d);
  const Value x = Need(d, Dtype(d), {ids.ids_below});
  Keep(d, f_.Call("take_cols", {x, ids}, "", Dtype(d), ids.dims));
}

void RandomOps::Sinkhorn(Draws& d) {
  const int64_t n = d.Of<int64_t>({4, 2, 3});
  const Value x = Need(d, "f32", {n, n}, "unit");
  Keep(d, f_.Call("sinkhorn", {x},
                  absl::StrCat(" {iterations = ", 1 + d.Below(4),
                               " : i64, eps = 1.0e-6 : f32}"),
                  "f32", x.dims));
}

// Of a state of its own, or of an earlier one's: then their order matters, though
// neither reads what the other writes.
void RandomOps::ShortConv(Draws& d) {
  Window window;
  Value x;
  if (!windows_.empty() && d.Below(2) == 1) {
    window = windows_.back();
    x = Keep(d, LinearTo(d, Pick(d), window.dtype, {window.channels}));
    graph_.shares_state = true;
  } else {
    x = Pick(d);
    if (x.dims.size() != 2) {
      x = Need(d, x.dtype, {d.Of<int64_t>({64, 33, 512})});
    }
    window = {"", x.dtype, x.dims[1], d.Of<int64_t>({4, 2, 3})};
    window.state = f_.State(x.dtype, {window.channels, window.kernel - 1}, 0);
    windows_.push_back(window);
  }
  const Value w = f_.Weight(d.Of<std::string>({"f32", "bf16"}),
                            {window.channels, window.kernel}, 1);
  Keep(d, f_.Call("short_conv", {x, w, seqs_},
                  absl::StrCat(" state(", window.state, ")"), Dtype(d), x.dims));
}

void RandomOps::DeltaRule(Draws& d) {
  const int64_t heads = d.Of<int64_t>({2, 1, 3}), k = d.Of<int64_t>({16, 8, 24});
  const int64_t v = d.Of<int64_t>({16, 8});
  const std::string dtype = Dtype(d);
  const Value q = Need(d, dtype, {heads, k}, "unit");
  const Value key = Need(d, dtype, {heads, k}, "unit");
  const Value value = Need(d, dtype, {heads, v});
  const Value gate = Need(d, "f32", {heads, k}, "gate");
  const Value beta = Need(d, "f32", {heads}, "share");
  const std::string state = f_.State("f32", {heads, k, v}, 0);
  Keep(d, f_.Call("delta_rule", {q, key, value, gate, beta, seqs_},
                  absl::StrCat(" state(", state, ")"), Dtype(d),
                  {rows_, heads, v}));
}

void RandomOps::Append(Draws& d) {
  const Value x = Need(d, Dtype(d), {d.Of<int64_t>({32, 24})});
  const std::string cache = Dtype(d);
  const std::string state = f_.State(cache, {kContext, x.dims[1]}, 1);
  f_.Effect("latent_append", {x, seqs_}, absl::StrCat(" state(", state, ")"));
  caches_.push_back({state, cache, x.dims[1], 0});
}

// Pools of keys, their scores, the best of them, and attention over those.
void RandomOps::Attention(Draws& d) {
  graph_.selects = true;
  if (caches_.empty()) Append(d);
  const Window cache = caches_.back();
  const int64_t heads = d.Of<int64_t>({2, 4, 6}), width = 16, pools = kContext / kPool;
  const std::string dtype = Dtype(d);
  const std::string tail = f_.State(dtype, {kPool - 1, 2, width}, 0);
  const std::string state = f_.State(dtype, {pools, width}, kPool);
  const std::string math = Dtype(d);
  const Value key = Need(d, math, {width}), gate = Need(d, math, {width});
  const Value ape = f_.Weight("bf16", {kPool, width}, 1);
  const Value query = Need(d, math, {heads, width});
  const Value weights = Need(d, "f32", {heads});
  const Value q = Need(d, math, {heads, cache.channels});
  f_.Effect("kpool", {key, gate, ape, seqs_},
            absl::StrCat(" tail(", tail, ") state(", state, ")"));
  const std::string scale =
      absl::StrCat("pool = ", kPool, " : i64, scale = 2.5e-1 : f32}");
  const Value scores =
      f_.Call("index_scores", {query, weights, seqs_},
              absl::StrCat(" state(", state, ") {", scale), "f32", {rows_, pools});
  const Value ids = f_.CallWithSeqs("top_k", scores, seqs_,
                                    absl::StrCat(" {pool = ", kPool, " : i64}"),
                                    {rows_, d.Of<int64_t>({3, 5})});
  Keep(d, f_.Call("sparse_attention", {q, ids, seqs_},
                  absl::StrCat(" state(", cache.state, ") {", scale), Dtype(d),
                  q.dims));
}

void RandomOps::Add(const Gene& gene) {
  ++op_;
  if (gene.empty()) return;
  Draws d(gene);
  switch (d.Below(18)) {
    case 8: case 9: Linear(d); break;
    case 10: LinearOfMany(d); break;
    case 11: HeadLinear(d); break;
    case 12: Experts(d); break;
    case 13: d.Below(2) ? Sinkhorn(d) : Select(d); break;
    case 14: case 15: ShortConv(d); break;
    case 16: DeltaRule(d); break;
    case 17: d.Below(4) == 1 ? Append(d) : Attention(d); break;
    default: Rowwise(d); break;
  }
}

// What nothing reads is shown, or it would be no part of the step; then the
// logits.
void RandomOps::Finish() {
  const auto unread = [&](const Value& v) {
    const std::string& body = f_.body();
    for (size_t at = body.find(v.name); at != std::string::npos;
         at = body.find(v.name, at + 1)) {
      const char next = body[at + v.name.size()];
      if (!std::isdigit(next) && next != ':' && body.substr(at + v.name.size(), 3) != " = ") {
        return false;
      }
    }
    return true;
  };
  for (const std::vector<Value>* all : {&values_, &ids_}) {
    for (const Value& v : *all) {
      if (unread(v)) f_.Tap(v);
    }
  }
  Draws zero({});
  const Value last = values_.back();
  const Value flat = last.dims.size() == 2
                         ? last
                         : LinearTo(zero, last, "f32", {32});
  const Value picked =
      f_.Call("gather_rows", {flat, {"%rows", "i32", {graph_.logit_rows}}}, "",
              flat.dtype, {graph_.logit_rows, flat.dims[1]});
  RowText norm(picked.dims);
  const std::string x = norm.In(picked, "d0, d1");
  const std::string sum = norm.Reduce("add", norm.Op("arith.mulf", x, x));
  const std::string mean = norm.Op("arith.addf", sum, norm.Num(0.5));
  norm.Out(0, "d0, d1",
           norm.Op("arith.mulf", x, norm.Op("math.rsqrt", mean)));
  const Value head = f_.Rowwise(norm, {{"", "f32", picked.dims}})[0];
  const Value w = f_.Weight("bf16", {kVocab, head.dims[1]}, 1);
  const Value logits =
      f_.Call("linear", {head, w}, "", "f32", {graph_.logit_rows, kVocab});
  graph_.symbols = f_.symbols();
  graph_.function = absl::StrCat(
      "func.func @", graph_.name, "(%ids: tensor<", rows_, "xi32>, %seqs: ",
      seqs_.Type(), ", %rows: tensor<", graph_.logit_rows, "xi32>) -> ",
      logits.Type(), " attributes {glm.kind = \"",
      graph_.tokens == 1 ? "DECODE" : "PREFILL",
      "\", glm.sequences = ", graph_.sequences, " : i64, glm.tokens = ",
      graph_.tokens, " : i64} {\n", f_.body(), "  return ", logits.name, " : ",
      logits.Type(), "\n}\n");
}

}  // namespace

Genome RandomGenome(uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + 1);
  const auto gene = [&] {
    Gene g(48);
    for (uint32_t& n : g) n = static_cast<uint32_t>(random() >> 32);
    return g;
  };
  Genome genome;
  genome.step = gene();
  const size_t ops = 2 + random() % 9;
  for (size_t i = 0; i < ops; ++i) genome.ops.push_back(gene());
  return genome;
}

Graph BuildGraph(const Genome& genome, const std::string& name,
                 std::string& weights) {
  Graph graph;
  graph.name = name;
  RandomOps ops(genome, graph, weights);
  for (const Gene& gene : genome.ops) ops.Add(gene);
  ops.Finish();
  return graph;
}

std::string ModuleText(const std::vector<Graph>& graphs,
                       const std::string& weight_file, uint64_t size,
                       uint64_t fingerprint) {
  std::string text = absl::StrCat(
      "module attributes {glm.producer = \"test\", glm.math = \"fp32\", ",
      "glm.fuse = \"on\",\n  glm.model = {name = \"random\", layers = 1 : i64, ",
      "hidden = 8 : i64, vocab = ", kVocab, " : i64, pool_tokens = ", kPool,
      " : i64, max_context = ", kContext,
      " : i64, experts = 1 : i64, experts_per_token = 1 : i64},\n",
      "  glm.weight_files = [{path = \"", weight_file, "\", size = ", size,
      " : i64, fingerprint = ", static_cast<int64_t>(fingerprint),
      " : i64}]} {\n");
  for (const Graph& graph : graphs) text += graph.symbols;
  for (const Graph& graph : graphs) text += graph.function;
  return text + "}\n";
}

}  // namespace glm::differential
