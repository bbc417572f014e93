#include "test/differential/random_ops.h"

#include <cctype>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace glm::differential {

RandomOps::RandomOps(const Genome& genome, Graph& graph, std::string& weights)
    : graph_(graph), rows_(0), f_(graph.name, weights) {
  Draws d(genome.step);
  const auto [s, n] = d.Of<std::pair<int64_t, int64_t>>({{1, 1},
                                                         {1, 2},
                                                         {2, 1},
                                                         {3, 1},
                                                         {1, 5},
                                                         {2, 4},
                                                         {3, 3},
                                                         {4, 1},
                                                         {8, 1},
                                                         {1, 16},
                                                         {1, 17},
                                                         {9, 1}});
  graph.sequences = s, graph.tokens = n;
  rows_ = s * n;
  graph.logit_rows = s;
  graph.f32 = d.Below(2) == 0;
  graph.whole = d.Below(4) == 1;
  const int64_t h = d.Of<int64_t>({64, 7, 33, 96, 256, 512, 130});
  seqs_ = {"%seqs", "i32", {s, 4}};
  const Value table =
      f_.Weight(d.Of<std::string>({"f32", "bf16"}), {kVocab, h}, 2);
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
  const Value w = f_.Weight(d.Of<std::string>({"f32", "bf16", "f16"}), {n, k},
                            1.7 / std::sqrt(k));
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
      if (values_[i].dtype == dtype && values_[i].Row() == row)
        return values_[i];
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
    absl::StrAppend(&index, RowText::D(i), " * ", stride, " + ");
    absl::StrAppend(&own, ", ", RowText::D(i));
  }
  absl::StrAppend(&index,
                  d.Below(static_cast<uint32_t>(x.Width() - width + 1)));
  text.Out(0, own, Apply(text, function, text.In(x, index)));
  return Keep(d, f_.Rowwise(text, {{"", dtype, domain}})[0]);
}

// --------------------------------------------------------------- structured

void RandomOps::Linear(Draws& d) {
  const Value x = Pick(d);
  const Dims row = d.Of<Dims>({{32},
                               {4},
                               {64},
                               {20},
                               {24},
                               {40},
                               {96},
                               {256},
                               {2, 16},
                               {4, 32},
                               {3, 8},
                               {512}});
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
  const Value w =
      f_.Weight(d.Of<std::string>({"f32", "bf16"}),
                {heads * stride, transposed ? n : k}, 1.7 / std::sqrt(k));
  Keep(d, f_.Call("head_linear", {x, w},
                  absl::StrCat(transposed ? " transposed" : "", " {first = ",
                               first, " : i64, stride = ", stride, " : i64}"),
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
  const int64_t k = d.Of<int64_t>({32, 64, 33}),
                n = d.Of<int64_t>({32, 64, 40, 130});
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

// Of a state of its own, or of an earlier one's: then their order matters,
// though neither reads what the other writes.
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
  Keep(d,
       f_.Call("short_conv", {x, w, seqs_},
               absl::StrCat(" state(", window.state, ")"), Dtype(d), x.dims));
}

void RandomOps::DeltaRule(Draws& d) {
  const int64_t heads = d.Of<int64_t>({2, 1, 3}),
                k = d.Of<int64_t>({16, 8, 24});
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
  const int64_t heads = d.Of<int64_t>({2, 4, 6}), width = 16,
                pools = kContext / kPool;
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
  const Value scores = f_.Call("index_scores", {query, weights, seqs_},
                               absl::StrCat(" state(", state, ") {", scale),
                               "f32", {rows_, pools});
  const Value ids = f_.CallWithSeqs("top_k", scores, seqs_,
                                    absl::StrCat(" {pool = ", kPool, " : i64}"),
                                    {rows_, d.Of<int64_t>({3, 19})});
  Keep(d, f_.Call("sparse_attention", {q, ids, seqs_},
                  absl::StrCat(" state(", cache.state, ") {", scale), Dtype(d),
                  q.dims));
}

void RandomOps::Add(const Gene& gene) {
  ++op_;
  if (gene.empty()) return;
  Draws d(gene);
  switch (d.Below(18)) {
    case 8:
    case 9:
      Linear(d);
      break;
    case 10:
      LinearOfMany(d);
      break;
    case 11:
      HeadLinear(d);
      break;
    case 12:
      Experts(d);
      break;
    case 13:
      d.Below(2) ? Sinkhorn(d) : Select(d);
      break;
    case 14:
    case 15:
      ShortConv(d);
      break;
    case 16:
      DeltaRule(d);
      break;
    case 17:
      d.Below(4) == 1 ? Append(d) : Attention(d);
      break;
    default:
      Rowwise(d);
      break;
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
      if (!std::isdigit(next) && next != ':' &&
          body.substr(at + v.name.size(), 3) != " = ") {
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
  const Value flat =
      last.dims.size() == 2 ? last : LinearTo(zero, last, "f32", {32});
  const Value picked =
      f_.Call("gather_rows", {flat, {"%rows", "i32", {graph_.logit_rows}}}, "",
              flat.dtype, {graph_.logit_rows, flat.dims[1]});
  RowText norm(picked.dims);
  const std::string x = norm.In(picked, "d0, d1");
  const std::string sum = norm.Reduce("add", norm.Op("arith.mulf", x, x));
  const std::string mean = norm.Op("arith.addf", sum, norm.Num(0.5));
  norm.Out(0, "d0, d1", norm.Op("arith.mulf", x, norm.Op("math.rsqrt", mean)));
  const Value head = f_.Rowwise(norm, {{"", "f32", picked.dims}})[0];
  const Value w = f_.Weight("bf16", {kVocab, head.dims[1]}, 1);
  const Value logits =
      f_.Call("linear", {head, w}, "", "f32", {graph_.logit_rows, kVocab});
  graph_.symbols = f_.symbols();
  graph_.function = absl::StrCat(
      "func.func @", graph_.name, "(%ids: tensor<", rows_,
      "xi32>, %seqs: ", seqs_.Type(), ", %rows: tensor<", graph_.logit_rows,
      "xi32>) -> ", logits.Type(), " attributes {glm.kind = \"",
      graph_.tokens == 1 ? "DECODE" : "PREFILL",
      "\", glm.sequences = ", graph_.sequences,
      " : i64, glm.tokens = ", graph_.tokens, " : i64} {\n", f_.body(),
      "  return ", logits.name, " : ", logits.Type(), "\n}\n");
}

}  // namespace glm::differential
