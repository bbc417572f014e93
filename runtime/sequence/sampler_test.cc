#include "runtime/sequence/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace glm {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<int32_t> Draw(const SamplerOptions& options,
                          const std::vector<float>& logits, int count) {
  Sampler sampler = *Sampler::Create(options);
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back(*sampler.Sample(logits, i));
  return ids;
}

TEST(SamplerTest, GreedyTakesTheLargestAndTheLowerIdOfEqualOnes) {
  EXPECT_EQ(Draw({.temperature = 0}, {1, 5, 5, -2}, 1).front(), 1);
  EXPECT_EQ(Draw({.temperature = 0}, {-kInf, -8, -8}, 1).front(), 1);
  EXPECT_EQ(Draw({.temperature = 0}, {0, -0.0f}, 1).front(), 0);
}

TEST(SamplerTest, FrequenciesFollowTheSoftmax) {
  // Probabilities 0.1, 0.2, 0.7.
  const std::vector<float> logits = {std::log(0.1f), std::log(0.2f),
                                     std::log(0.7f)};
  std::vector<int> counts(3);
  for (const int32_t id : Draw({.seed = 5}, logits, 20000)) ++counts[id];
  EXPECT_NEAR(counts[0] / 20000.0, 0.1, 0.01);
  EXPECT_NEAR(counts[1] / 20000.0, 0.2, 0.01);
  EXPECT_NEAR(counts[2] / 20000.0, 0.7, 0.01);
}

TEST(SamplerTest, TemperatureSharpens) {
  const std::vector<float> logits = {0, 1};
  int ones = 0;
  for (const int32_t id : Draw({.temperature = 0.25f}, logits, 20000)) {
    ones += id;
  }
  EXPECT_NEAR(ones / 20000.0, 1 / (1 + std::exp(-4.0)), 0.01);
}

TEST(SamplerTest, TopPKeepsTheShortestPrefixThatReachesIt) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f),
                                     std::log(0.2f)};
  for (const auto& [top_p, largest] :
       {std::pair<float, int32_t>{0.01f, 0}, {0.4f, 0}, {0.6f, 1}, {1, 2}}) {
    int32_t seen = 0;
    for (const int32_t id : Draw({.top_p = top_p}, logits, 2000)) {
      seen = std::max(seen, id);
    }
    EXPECT_EQ(seen, largest) << top_p;
  }
}

// More candidates than one sorted part holds.
TEST(SamplerTest, FlatDistributionReachesEveryId) {
  const std::vector<float> logits(500, 0.5f);
  std::vector<int> counts(500);
  for (const int32_t id : Draw({.seed = 1}, logits, 10000)) ++counts[id];
  int missed = 0;
  for (const int count : counts) missed += count == 0;
  EXPECT_EQ(missed, 0);
}

TEST(SamplerTest, TopKKeepsThatManyAndTheLowerIdOfEqualOnes) {
  for (const int32_t id : Draw({.top_k = 3}, {0, 2, 1, 2, 2, 1}, 500)) {
    EXPECT_TRUE(id == 1 || id == 3 || id == 4) << id;
  }
  for (const int32_t id : Draw({.top_k = 2}, {0, 2, 1, 2, 2, 1}, 500)) {
    EXPECT_TRUE(id == 1 || id == 3) << id;
  }
}

TEST(SamplerTest, PenaltiesLookAtPromptAndAnswer) {
  const std::vector<float> logits = {3, 2.9f, 2.8f, -1};
  // 3 / 1.1 = 2.73: the prompt's token falls behind the others.
  Sampler repeats = *Sampler::Create(
      {.temperature = 0, .repetition_penalty = 1.1f}, std::vector<int32_t>{0});
  EXPECT_EQ(*repeats.Sample(logits, 0), 1);
  EXPECT_EQ(*repeats.Sample(logits, 1), 2);
  EXPECT_EQ(*repeats.Sample(logits, 2), 0) << "all are penalised now";
  // Presence and frequency do not see the prompt.
  Sampler present = *Sampler::Create(
      {.temperature = 0, .presence_penalty = 0.15f}, std::vector<int32_t>{0});
  EXPECT_EQ(*present.Sample(logits, 0), 0);
  EXPECT_EQ(*present.Sample(logits, 1), 1);
  EXPECT_EQ(*present.Sample(logits, 2), 0) << "once, however often";
  Sampler often = *Sampler::Create(
      {.temperature = 0, .frequency_penalty = 0.15f});
  EXPECT_EQ(*often.Sample(logits, 0), 0);
  EXPECT_EQ(*often.Sample(logits, 1), 1);
  EXPECT_EQ(*often.Sample(logits, 2), 0);
  EXPECT_EQ(*often.Sample(logits, 3), 2) << "2.7, 2.75, 2.8";
}

TEST(SamplerTest, SameSeedSameIdsOtherSeedOtherIds) {
  const std::vector<float> logits(100, 0);
  EXPECT_EQ(Draw({.seed = 9}, logits, 50), Draw({.seed = 9}, logits, 50));
  EXPECT_NE(Draw({.seed = 9}, logits, 50), Draw({.seed = 10}, logits, 50));
}

// The documented algorithm, of position 0: SplitMix64 of seed 0 starts with e220a8397b1dcdaf.
TEST(SamplerTest, FirstDrawIsTheDocumentedOne) {
  const std::vector<float> logits(1000, 0);
  const double u = static_cast<double>(0xe220a839) * 0x1p-32;
  EXPECT_EQ(Draw({.seed = 0}, logits, 1).front(),
            static_cast<int32_t>(u * 1000));
}

TEST(SamplerTest, ImpossibleTokensAreNeverDrawn) {
  for (const int32_t id : Draw({}, {-kInf, 0, -kInf, 0}, 500)) {
    EXPECT_TRUE(id == 1 || id == 3);
  }
}

TEST(SamplerTest, DamagedLogitsAreAnErrorThatNamesTheId) {
  Sampler greedy = *Sampler::Create({.temperature = 0});
  const float bad[] = {std::nanf(""), kInf};
  for (const float value : bad) {
    const std::vector<float> logits = {0, 1, value};
    const auto id = greedy.Sample(logits, 0);
    EXPECT_EQ(id.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(id.status().message()), HasSubstr("id 2"));
  }
  const std::vector<float> none = {-kInf, -kInf};
  EXPECT_FALSE(greedy.Sample(none, 0).ok());
}

TEST(SamplerTest, OptionsOutOfRangeAreRefused) {
  const float nan = std::nanf("");
  for (const SamplerOptions& options :
       {SamplerOptions{.temperature = -1}, SamplerOptions{.temperature = nan},
        SamplerOptions{.top_p = 0}, SamplerOptions{.top_p = 1.5f},
        SamplerOptions{.top_p = nan}, SamplerOptions{.repetition_penalty = 0},
        SamplerOptions{.presence_penalty = nan},
        SamplerOptions{.frequency_penalty = 101}}) {
    EXPECT_EQ(Sampler::Create(options).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace glm
