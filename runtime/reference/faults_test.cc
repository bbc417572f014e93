// Numeric faults that implementations of this model are known to have had.

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/reference/program_builder.h"
#include "runtime/reference/reference.h"

namespace glm::reference {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

Argument F(Floats& values) { return {.f32 = values}; }
Argument I(Ints& values) { return {.i32 = values}; }
Argument N(int64_t value) { return {.integer = value}; }
Argument R(float value) { return {.real = value}; }

void Do(std::string_view op, std::vector<int64_t> params,
        std::vector<Argument> arguments, const RowProgram* program = nullptr) {
  std::string error;
  ASSERT_TRUE(Run({op, params, arguments, program}, &error)) << error;
}

std::string ErrorOf(std::string_view op, std::vector<int64_t> params,
                    std::vector<Argument> arguments) {
  std::string error;
  EXPECT_FALSE(Run({op, params, arguments}, &error));
  return error;
}

// Standard normal values, the same on every machine.
class Normal {
 public:
  double Next() {
    const double u = Uniform(), v = Uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

 private:
  double Uniform() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (static_cast<double>(state_ >> 11) + 0.5) * 0x1p-53;
  }
  uint64_t state_ = 7;
};

Ints TopK(Floats scores, int64_t k) {
  Ints ids(k);
  const int64_t columns = std::ssize(scores);
  Do("top_k", {k, 0}, {{}, N(1), N(1), F(scores), N(columns), I(ids)});
  return ids;
}

TEST(Faults, C01RouterBiasInFp32ChoosesTheExpertsOfFp64) {
  constexpr int kExperts = 288, kTokens = 400, kChosen = 8;
  Normal normal;
  int changed_by_bf16 = 0;
  for (int token = 0; token < kTokens; ++token) {
    std::vector<double> exact(kExperts);
    Floats biased(kExperts), coarse(kExperts);
    for (int e = 0; e < kExperts; ++e) {
      const float logit = static_cast<float>(normal.Next());
      const float bias = 6.817f + (7.063f - 6.817f) * e / (kExperts - 1);
      const double score = 1.0 / (1.0 + std::exp(-double{logit}));
      exact[e] = score + bias;
      biased[e] = static_cast<float>(score) + bias;
      coarse[e] = static_cast<float>(score) + Rounded(bias, 1);
    }
    Ints order(kExperts);
    for (int e = 0; e < kExperts; ++e) order[e] = e;
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return exact[a] > exact[b]; });
    const std::set<int32_t> want(order.begin(), order.begin() + kChosen);
    const auto set_of = [](const Ints& ids) {
      return std::set<int32_t>(ids.begin(), ids.end());
    };
    EXPECT_EQ(set_of(TopK(biased, kChosen)), want) << "token " << token;
    changed_by_bf16 += set_of(TopK(coarse, kChosen)) != want;
  }
  EXPECT_GT(changed_by_bf16, kTokens / 3) << "the input no longer shows it";
}

TEST(Faults, C03SinkhornRowsSumToOne) {
  Normal normal;
  constexpr int kMaps = 20;
  Floats z(kMaps * 16), comb(z.size());
  for (int i = 0; i < std::ssize(z); ++i) {
    const bool equal = i < 16;
    const bool extreme = i < 32;  // a permutation of +30 in a field of -30
    z[i] = equal     ? 3.0f
           : extreme ? ((i % 16) % 5 == 0 ? 30.0f : -30.0f)
                     : static_cast<float>(normal.Next());
  }
  Do("sinkhorn", {4, 20}, {{}, N(kMaps), N(kMaps), F(z), R(1e-6f), F(comb)});
  for (int row = 0; row < kMaps * 4; ++row) {
    double sum = 0.0;
    for (int i = 0; i < 4; ++i) sum += comb[row * 4 + i];
    EXPECT_NEAR(sum, 1.0, 1e-5) << "row " << row;
  }
}

TEST(Faults, C04GateIsAScaledSigmoid) {
  const RowProgram gate = DecayGate(3);
  Floats raw = {-3, 0, 3}, bias = {0, 0, 0}, rate = {0}, g(3);
  Do("rowwise", {}, {{}, N(1), N(1), F(raw), F(bias), F(rate), F(g)}, &gate);
  EXPECT_NEAR(g[0], -0.2371, 1e-4);
  EXPECT_NEAR(g[1], -2.5, 1e-6);
  EXPECT_NEAR(g[2], -4.7629, 1e-4);
  rate = {20};
  Do("rowwise", {}, {{}, N(1), N(1), F(raw), F(bias), F(rate), F(g)}, &gate);
  EXPECT_THAT(g, ElementsAre(-0.0f, -2.5f, -5.0f));
}

TEST(Faults, C06RowsThatAreNotValidReachNothing) {
  constexpr int64_t kTokens = 64, kLength = 17, kDim = 4;
  Floats first;
  for (float rubbish : {1e30f, NAN}) {
    Floats q(kTokens * kDim, rubbish), beta(kTokens, rubbish);
    for (int64_t i = 0; i < kLength * kDim; ++i) q[i] = 0.1f * (i % 7);
    for (int64_t i = 0; i < kLength; ++i) beta[i] = 0.5f;
    Floats k = q, v = q, g(kTokens * kDim, rubbish);
    std::fill_n(g.begin(), kLength * kDim, -4.5f);
    Floats state(kDim * kDim, NAN), o(kTokens * kDim, 77.0f);
    Ints seqs = {0, 0, kLength, 0};
    Do("delta_rule", {0, 0, 1, kDim, kDim},
       {I(seqs), N(kTokens), N(kTokens), N(1), F(q), F(k), F(v), F(g), F(beta),
        F(state), N(kDim * kDim), F(o)});
    for (int64_t i = 0; i < std::ssize(o); ++i) {
      if (i < kLength * kDim) {
        EXPECT_TRUE(std::isfinite(o[i]));
      } else {
        EXPECT_EQ(o[i], 77.0f);
      }
    }
    EXPECT_TRUE(std::isfinite(state[0]));
    if (first.empty()) first = o;
    EXPECT_EQ(o, first);
  }
}

class Attention : public ::testing::Test {
 protected:
  // One row at `position` over latents of `value`.
  Floats Run(int32_t position, Ints pools, float value, float query) {
    Floats cache(16 * 2, value), q = {query, query}, out(2, NAN);
    Ints seqs = {0, position, 1, 0};
    Do("sparse_attention", {0, 0, 0, 1, 2, std::ssize(pools), 4},
       {I(seqs), N(1), N(1), F(q), F(cache), N(std::ssize(cache)), I(pools),
        R(1.0f), F(out)});
    return out;
  }
};

TEST_F(Attention, C12NothingVisibleGivesZero) {
  EXPECT_THAT(Run(3, {-1, -1}, 1.0f, 1.0f), Each(0.0f));
}

TEST_F(Attention, C12VeryLowScoresAreStillASoftmax) {
  EXPECT_THAT(Run(10, {0, 1}, 1.0f, -3.5e4f), Each(1.0f));
}

TEST_F(Attention, C12AbsentPoolsMayStandAnywhere) {
  EXPECT_EQ(Run(10, {1, -1, 0}, 0.5f, 1.0f), Run(10, {1, 0}, 0.5f, 1.0f));
}

TEST(Faults, C13EqualScoresKeepTheLowerColumns) {
  const Ints ids = TopK(Floats(700, 0.0f), 512);
  for (int i = 0; i < 512; ++i) EXPECT_EQ(ids[i], i);
  EXPECT_THAT(TopK({1, 5, 5, 3, 0.0f, -0.0f}, 6),
              ElementsAre(1, 2, 3, 0, 4, 5));
  EXPECT_THAT(TopK({-0.0f, 0.0f, NAN, -INFINITY, INFINITY}, 7),
              ElementsAre(4, 0, 1, 3, 2, -1, -1));
}

TEST(Faults, C13ColumnsOfCompletePoolsAreInOrder) {
  Floats scores = {1, 5, 5, 3, 8, 5, 9};
  const auto chosen = [&](int32_t position) {
    Ints seqs = {0, position, 1, 0}, ids(3, 7);
    Do("top_k", {3, 4}, {I(seqs), N(1), N(1), F(scores), N(7), I(ids)});
    return ids;
  };
  EXPECT_THAT(chosen(4 * 6 - 1), ElementsAre(1, 2, 4));
  EXPECT_THAT(chosen(4 * 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(chosen(4 * 2), ElementsAre(0, 1, -1));
}

TEST(Faults, C14SwigluClampsBeforeSilu) {
  Floats gate = {50}, up = {-50}, out(1);
  const RowProgram program = ClampedSwiglu(1);
  Do("rowwise", {}, {{}, N(1), N(1), F(gate), F(up), F(out)}, &program);
  EXPECT_FLOAT_EQ(out[0], -10.0 * 10.0 / (1.0 + std::exp(-10.0)));
}

TEST(Reference, RefusesWhatDoesNotFit) {
  Floats x(3), w(6), y(1);
  EXPECT_THAT(
      ErrorOf("linear", {0, 0, 0, 2, 3}, {{}, N(1), N(1), F(x), F(w), F(y)}),
      ::testing::HasSubstr("argument 5"));
  EXPECT_THAT(ErrorOf("fft", {}, {{}, N(1), N(1)}),
              ::testing::HasSubstr("not an op"));
  EXPECT_THAT(ErrorOf("linear", {}, {{}, N(0), N(1)}),
              ::testing::HasSubstr("N is 0"));
  Ints seqs = {5, 0, 1, 0};
  EXPECT_THAT(ErrorOf("latent_append", {0, 0, 3},
                      {I(seqs), N(1), N(1), F(x), F(w), N(3)}),
              ::testing::HasSubstr("argument 4"));
}

TEST(Reference, RoundsAsMemoryDoes) {
  EXPECT_EQ(Rounded(1.0 + 0x1p-8, 1), 1.0f);  // tie to even
  EXPECT_EQ(Rounded(1.0 + 3 * 0x1p-8, 1), 1.015625f);
  EXPECT_EQ(Rounded(3.4e38, 1), INFINITY);
  EXPECT_EQ(Rounded(0x1p-133, 1), 0x1p-133f);  // least subnormal
  EXPECT_EQ(Rounded(65504.0, 2), 65504.0f);
  EXPECT_EQ(Rounded(65520.0, 2), INFINITY);
  EXPECT_EQ(Rounded(0x1p-24, 2), 0x1p-24f);
  EXPECT_TRUE(std::isnan(Rounded(NAN, 1)));
}

}  // namespace
}  // namespace glm::reference
