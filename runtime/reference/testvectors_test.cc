// Every vector of test/numerics/glm53-testvectors.json against the reference.

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/reference/image_geometry.h"
#include "runtime/reference/program_builder.h"
#include "runtime/reference/reference.h"

namespace glm::reference {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

const nlohmann::json& Vectors() {
  static const auto* vectors = [] {
    std::ifstream file(GLM_SOURCE_DIR "/test/numerics/glm53-testvectors.json");
    return new nlohmann::json(nlohmann::json::parse(file, nullptr, false));
  }();
  return *vectors;
}

void Flatten(const nlohmann::json& json, Floats* out) {
  if (json.is_array()) {
    for (const auto& item : json) Flatten(item, out);
  } else {
    out->push_back(json.get<float>());
  }
}

Floats Flat(const nlohmann::json& json) {
  Floats out;
  Flatten(json, &out);
  return out;
}

Argument F(Floats& values) { return {.f32 = values}; }
Argument I(Ints& values) { return {.i32 = values}; }
Argument N(int64_t value) { return {.integer = value}; }
Argument R(float value) { return {.real = value}; }

void Do(std::string_view op, std::vector<int64_t> params,
        std::vector<Argument> arguments, const RowProgram* program = nullptr) {
  std::string error;
  ASSERT_TRUE(Run({op, params, arguments, program}, &error)) << error;
}

void DoRows(int64_t rows, const RowProgram& program,
            std::vector<Argument> tensors) {
  tensors.insert(tensors.begin(), {{}, N(rows), N(rows)});
  Do("rowwise", {}, tensors, &program);
}

void ExpectNear(const Floats& got, const Floats& want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], bound) << "element " << i;
  }
}

// rows / sqrt(sum + 1e-6) * scale, row by row.
Floats L2Normalised(Floats x, int64_t columns, float scale) {
  ProgramBuilder b(columns);
  const auto v = b.LoadRow(0);
  const auto sum = b.Plus(b.Sum(b.Mul(v, v)), b.Const(1e-6f));
  b.StoreRow(0, b.Mul(b.Mul(v, b.Rsqrt(sum)), b.Const(scale)));
  Floats y(x.size());
  DoRows(std::ssize(x) / columns, b.Build(), {F(x), F(y)});
  return y;
}

TEST(TestVectors, AreThere) { ASSERT_TRUE(Vectors().is_object()); }

TEST(TestVectors, MhcMapAndUpdate) {
  const auto& v = Vectors()["mhc"];
  Floats x = Flat(v["X"]), fn = Flat(v["fn"]), base = Flat(v["base"]);
  const Floats scale = Flat(v["scale"]);
  Floats product(24);
  Do("linear", {0, 0, 0, 24, 16}, {{}, N(1), N(1), F(x), F(fn), F(product)});

  // Inverse root mean square of all streams.
  Floats inverse(1);
  {
    ProgramBuilder b(16);
    const auto e = b.LoadRow(0);
    const auto mean = b.Mul(b.Sum(b.Mul(e, e)), b.Const(1.0f / 16));
    const auto r = b.Rsqrt(b.Plus(mean, b.Const(1e-5f)));
    b.StoreRow(0, r);
    Floats all(16);
    DoRows(1, b.Build(), {F(x), F(all)});
    inverse[0] = all[0];
  }
  // m * scale[s] + base, for the columns of one part of m.
  const auto part = [&](int64_t offset, int64_t count, float factor,
                        auto finish) {
    ProgramBuilder b(count);
    const auto m = b.Mul(b.Load(0, 0, 1, offset), b.LoadScalar(1));
    const auto z = b.Plus(b.Mul(m, b.Const(factor)), b.Load(2, 0, 1, offset));
    b.StoreRow(0, finish(b, z));
    Floats out(count);
    DoRows(1, b.Build(), {F(product), F(inverse), F(base), F(out)});
    return out;
  };
  Floats pre = part(0, 4, scale[0], [](ProgramBuilder& b, auto z) {
    return b.Plus(b.Sigmoid(z), b.Const(1e-6f));
  });
  Floats post = part(4, 4, scale[1], [](ProgramBuilder& b, auto z) {
    return b.Mul(b.Const(2.0f), b.Sigmoid(z));
  });
  Floats z = part(8, 16, scale[2], [](ProgramBuilder&, auto z) { return z; });
  Floats comb(16);
  Do("sinkhorn", {4, 20}, {{}, N(1), N(1), F(z), R(1e-6f), F(comb)});
  ExpectNear(pre, Flat(v["pre"]), 1e-6);
  ExpectNear(post, Flat(v["post"]), 1e-6);
  ExpectNear(comb, Flat(v["comb"]), 1e-6);

  Floats row_sums(4), column_sums(4);
  for (int i = 0; i < 16; ++i) {
    row_sums[i / 4] += comb[i];
    column_sums[i % 4] += comb[i];
  }
  ExpectNear(row_sums, Flat(v["comb_row_sums"]), 1e-6);
  ExpectNear(column_sums, Flat(v["comb_col_sums"]), 1e-6);

  // x = sum_s pre[s] X[s];  X'[j] = post[j] y + sum_s comb[s][j] X[s].
  Floats y = Flat(v["y"]), collapsed(4), next(16);
  ProgramBuilder collapse(4);
  auto sum = collapse.Const(0.0f);
  for (int s = 0; s < 4; ++s) {
    sum = collapse.Plus(sum, collapse.Mul(collapse.Load(0, 0, 0, s),
                                          collapse.Load(1, 0, 1, 4 * s)));
  }
  collapse.StoreRow(0, sum);
  DoRows(1, collapse.Build(), {F(pre), F(x), F(collapsed)});
  ExpectNear(collapsed, Flat(v["collapsed"]), 2e-6);

  ProgramBuilder update(4);  // rows are the streams j
  auto stream = update.Mul(update.LoadScalar(0), update.LoadColumns(1));
  for (int s = 0; s < 4; ++s) {
    stream = update.Plus(stream, update.Mul(update.Load(2, 1, 0, 4 * s),
                                            update.Load(3, 0, 1, 4 * s)));
  }
  update.StoreRow(0, stream);
  DoRows(4, update.Build(), {F(post), F(y), F(comb), F(x), F(next)});
  ExpectNear(next, Flat(v["X_next"]), 2e-6);
}

TEST(TestVectors, Kda) {
  const auto& v = Vectors()["kda"];
  constexpr int64_t kTokens = 11, kDim = 4;
  Floats q = L2Normalised(Flat(v["q"]), kDim, 0.5f);
  Floats k = L2Normalised(Flat(v["k"]), kDim, 1.0f);
  Floats value = Flat(v["v"]), beta = Flat(v["beta"]);
  Floats raw = Flat(v["raw_gate"]), bias = Flat(v["dt_bias"]);
  Floats a_log = {v["A_log"].get<float>()}, g(kTokens * kDim);
  DoRows(kTokens, DecayGate(kDim), {F(raw), F(bias), F(a_log), F(g)});
  ExpectNear(g, Flat(v["g"]), 2e-6);

  // The state of position 0 counts as zero, so the vector's S0 is at 1.
  Floats state = Flat(v["S0"]), o(kTokens * kDim);
  Ints seqs = {0, 1, kTokens, 0};
  Do("delta_rule", {0, 0, 1, kDim, kDim},
     {I(seqs), N(kTokens), N(kTokens), N(1), F(q), F(k), F(value), F(g),
      F(beta), F(state), N(kDim * kDim), F(o)});
  ExpectNear(o, Flat(v["o"]), 2e-6);
  ExpectNear(state, Flat(v["S_final"]), 2e-6);
  EXPECT_LT(v["chunk_vs_recurrent_max_err"].get<double>(), 1e-12);
}

TEST(TestVectors, ShortConv) {
  const auto& v = Vectors()["short_conv"];
  constexpr int64_t kTokens = 5, kChannels = 2;
  Floats x = Flat(v["x"]), w = Flat(v["w"]), y(kTokens * kChannels);
  Floats state(kChannels * 3, NAN);
  Ints seqs = {0, 0, kTokens, 0};
  Do("short_conv", {0, 0, 0, kChannels, 4},
     {I(seqs), N(kTokens), N(kTokens), N(1), F(x), F(w), F(state),
      N(kChannels * 3), F(y)});
  ProgramBuilder silu(kChannels);
  silu.StoreRow(0, silu.Silu(silu.LoadRow(0)));
  Floats out(y.size());
  DoRows(kTokens, silu.Build(), {F(y), F(out)});
  ExpectNear(out, Flat(v["y"]), 1e-6);

  const Floats after = Flat(v["state_after"]);  // [3][C]; ours is [C][3]
  for (int64_t j = 0; j < 3; ++j) {
    for (int64_t c = 0; c < kChannels; ++c) {
      EXPECT_FLOAT_EQ(state[c * 3 + j], after[j * kChannels + c]);
    }
  }
}

TEST(TestVectors, Indexer) {
  const auto& v = Vectors()["indexer"];
  constexpr int64_t kTokens = 11, kDim = 4, kHeads = 3, kPools = 3;
  Floats keys = Flat(v["keys"]), gates = Flat(v["gates"]);
  Floats ape = Flat(v["ape"]), tail(3 * 2 * kDim), pools(kPools * kDim);
  Ints all = {0, 0, kTokens, 0};
  Do("kpool", {0, 0, 0, kDim, 4},
     {I(all), N(kTokens), N(kTokens), N(1), F(keys), F(gates), F(ape), F(tail),
      N(std::ssize(tail)), F(pools), N(std::ssize(pools))});
  ExpectNear(Floats(pools.begin(), pools.begin() + 2 * kDim), Flat(v["pools"]),
             1e-6);

  Floats q = Flat(v["q"]), w = Flat(v["weights_proj"]);
  for (float& weight : w) weight /= std::sqrt(3.0f);
  for (const auto& [place, want] : v["per_pos"].items()) {
    SCOPED_TRACE("position " + place);
    const int32_t position = std::stoi(place);
    Ints seqs = {0, position, 1, 0}, ids(1);
    Floats scores(kPools, -1.0f);
    Do("index_scores", {0, 0, 0, kHeads, kDim, 4},
       {I(seqs), N(1), N(1), F(q), F(w), F(pools), N(std::ssize(pools)),
        R(0.5f), F(scores), N(kPools)});
    Do("top_k", {v["topk_pools"].get<int64_t>(), 4},
       {I(seqs), N(1), N(1), F(scores), N(kPools), I(ids)});
    const Floats want_scores = Flat(want["scores"]);
    ExpectNear(Floats(scores.begin(), scores.begin() + want_scores.size()),
               want_scores, 1e-6);
    Ints tokens;
    for (int i = 0; i < 4 && ids[0] >= 0; ++i) tokens.push_back(4 * ids[0] + i);
    for (int t = (position + 1) / 4 * 4; t <= position; ++t) {
      tokens.push_back(t);
    }
    EXPECT_EQ(tokens, want["tokens"].get<Ints>());
  }
}

TEST(TestVectors, AbsorbedMla) {
  const auto& v = Vectors()["mla_one_head"];
  constexpr int64_t kRank = 6;
  Floats q = Flat(v["q"]), wk = Flat(v["Wk"]), wv = Flat(v["Wv"]);
  Floats latents = Flat(v["latents"]), absorbed(kRank), mixed(kRank), out(3);
  Do("head_linear", {0, 0, 0, 1, kRank, 4, 0, 1, kRank, 0},
     {{}, N(1), N(1), F(q), F(wk), F(absorbed)});
  Ints seqs = {0, 4, 1, 0}, pools = {0};  // pool 0 and the tail: all 5 tokens
  Do("sparse_attention", {0, 0, 0, 1, kRank, 1, 4},
     {I(seqs), N(1), N(1), F(absorbed), F(latents), N(std::ssize(latents)),
      I(pools), R(v["scale"].get<float>()), F(mixed)});
  Do("linear", {0, 0, 0, 3, kRank}, {{}, N(1), N(1), F(mixed), F(wv), F(out)});
  ExpectNear(out, Flat(v["out"]), 1e-6);
}

TEST(TestVectors, Router) {
  const auto& v = Vectors()["router_top4_of_12"];
  Floats logits = Flat(v["logits"]), bias = Flat(v["bias"]);
  Floats scores(12), biased(12), chosen(4), weights(4);
  Ints ids(4);
  ProgramBuilder b(12);
  const auto s = b.Sigmoid(b.LoadRow(0));
  b.StoreRow(0, s);
  b.StoreRow(1, b.Plus(s, b.LoadColumns(1)));
  DoRows(1, b.Build(), {F(logits), F(bias), F(scores), F(biased)});
  Do("top_k", {4, 0}, {{}, N(1), N(1), F(biased), N(12), I(ids)});
  Do("take_cols", {0, 0, 4},
     {{}, N(1), N(1), F(scores), N(12), I(ids), F(chosen)});
  ProgramBuilder n(4);
  const auto c = n.LoadRow(0);
  n.StoreRow(0,
             n.Mul(n.Div(c, n.Plus(n.Sum(c), n.Const(1e-20f))), n.Const(2.5f)));
  DoRows(1, n.Build(), {F(chosen), F(weights)});
  EXPECT_EQ(ids, v["experts"].get<Ints>());
  ExpectNear(weights, Flat(v["weights"]), 1e-6);
}

TEST(TestVectors, ClampedSwiglu) {
  ASSERT_EQ(Vectors()["swiglu"].size(), 4);
  for (const auto& v : Vectors()["swiglu"]) {
    Floats gate = {v["gate"]}, up = {v["up"]}, out(1);
    DoRows(1, ClampedSwiglu(1), {F(gate), F(up), F(out)});
    EXPECT_FLOAT_EQ(out[0], v["out"].get<float>());
  }
}

TEST(TestVectors, ImageGeometry) {
  ASSERT_EQ(Vectors()["image_geometry"].size(), 5);
  for (const auto& [size, want] : Vectors()["image_geometry"].items()) {
    SCOPED_TRACE(size);
    const int64_t height = std::stoll(size);
    const int64_t width = std::stoll(size.substr(size.find('x') + 1));
    const ImageGeometry got = FitImage(height, width);
    EXPECT_EQ(got.canvas_height, want["canvas"][0]);
    EXPECT_EQ(got.canvas_width, want["canvas"][1]);
    EXPECT_EQ(got.content_height, want["content"][0]);
    EXPECT_EQ(got.content_width, want["content"][1]);
    EXPECT_EQ(got.patches, want["patches"]);
    EXPECT_EQ(got.tokens, want["tokens"]);
  }
}

}  // namespace
}  // namespace glm::reference
