#include "runtime/engine/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace glm {
namespace {

using ::testing::ElementsAre;
using Tokens = std::vector<int32_t>;

absl::Status Keep(PrefixCache& cache, const Tokens& tokens, uint64_t bytes,
                  int value = 0) {
  return cache.Keep(tokens, bytes, [&](std::span<std::byte> to) {
    EXPECT_EQ(to.size(), bytes);
    std::memset(to.data(), value, to.size());
    return absl::OkStatus();
  });
}

TEST(PrefixCacheTest, TheLongestBeginningOfAPromptIsFound) {
  PrefixCache cache(1000);
  ASSERT_TRUE(Keep(cache, {1, 2}, 8, 1).ok());
  ASSERT_TRUE(Keep(cache, {1, 2, 3, 4}, 8, 2).ok());
  ASSERT_TRUE(Keep(cache, {1, 9, 3}, 8, 3).ok());
  EXPECT_EQ(cache.Find(Tokens{2, 1, 3}), nullptr);
  EXPECT_EQ(cache.Find(Tokens{1}), nullptr);
  EXPECT_EQ(cache.Find(Tokens{}), nullptr);
  const auto* entry = cache.Find(Tokens{1, 2, 3, 4, 5});
  ASSERT_NE(entry, nullptr);
  EXPECT_THAT(entry->tokens, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(entry->state[7], std::byte{2});
  // At least one token is to be fed.
  entry = cache.Find(Tokens{1, 2, 3, 4});
  ASSERT_NE(entry, nullptr);
  EXPECT_THAT(entry->tokens, ElementsAre(1, 2));
  EXPECT_EQ(cache.Find(Tokens{1, 2}), nullptr);
}

TEST(PrefixCacheTest, WhoWasUsedLongestAgoGoesAndBytesAreExact) {
  PrefixCache cache(3 * (100 + 4));
  for (int32_t i = 0; i < 3; ++i) ASSERT_TRUE(Keep(cache, {i}, 100).ok());
  EXPECT_EQ(cache.bytes(), 312u);
  EXPECT_NE(cache.Find(Tokens{0, 7}), nullptr);
  EXPECT_TRUE(cache.Holds(Tokens{1}));
  ASSERT_TRUE(Keep(cache, {3}, 100).ok());
  EXPECT_FALSE(cache.Holds(Tokens{2}));
  EXPECT_TRUE(cache.Holds(Tokens{0}));
  EXPECT_EQ(cache.entries(), 3u);
  EXPECT_EQ(cache.bytes(), 312u);
  // Room for a large one is made of several.
  ASSERT_TRUE(Keep(cache, {5, 6}, 200).ok());
  EXPECT_EQ(cache.entries(), 2u);
  EXPECT_EQ(cache.bytes(), 208u + 104u);
  // What cannot fit at all lets nobody go.
  ASSERT_TRUE(Keep(cache, {5, 6, 7}, 301).ok());
  EXPECT_EQ(cache.entries(), 2u);
  cache.Clear();
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(cache.Find(Tokens{5, 6, 7}), nullptr);
}

TEST(PrefixCacheTest, AStateThatCannotBeReadIsNotKept) {
  PrefixCache cache(1000);
  const auto status = cache.Keep(Tokens{1}, 10, [](std::span<std::byte>) {
    return absl::InternalError("lost");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_FALSE(cache.Holds(Tokens{1}));
}

TEST(PrefixCacheTest, AKeptStateIsNotReadAgain) {
  PrefixCache cache(1000);
  ASSERT_TRUE(Keep(cache, {1, 2}, 10).ok());
  EXPECT_TRUE(cache
                  .Keep(Tokens{1, 2}, 10,
                        [](std::span<std::byte>) {
                          return absl::InternalError("again");
                        })
                  .ok());
  EXPECT_EQ(cache.entries(), 1u);
}

// Beside a list that is searched from end to end.
TEST(PrefixCacheTest, AgreesWithAPlainList) {
  std::mt19937 random(3);
  PrefixCache cache(2000);
  std::vector<Tokens> plain;  // used last at the end
  const auto bytes_of = [](const Tokens& t) { return 20 + 4 * t.size(); };
  for (int round = 0; round < 5000; ++round) {
    Tokens tokens(1 + random() % 6);
    for (int32_t& token : tokens) token = random() % 3;
    if (random() % 2 == 0) {
      ASSERT_TRUE(Keep(cache, tokens, 20).ok());
      std::erase(plain, tokens);
      plain.push_back(tokens);
      size_t total = 0;
      for (const Tokens& t : plain) total += bytes_of(t);
      while (total > 2000) {
        total -= bytes_of(plain.front());
        plain.erase(plain.begin());
      }
      ASSERT_EQ(cache.bytes(), total);
      ASSERT_EQ(cache.entries(), plain.size());
      continue;
    }
    const Tokens* best = nullptr;
    for (const Tokens& t : plain) {
      if (t.size() < tokens.size() &&
          std::equal(t.begin(), t.end(), tokens.begin()) &&
          (best == nullptr || t.size() > best->size())) {
        best = &t;
      }
    }
    const auto* found = cache.Find(tokens);
    ASSERT_EQ(found != nullptr, best != nullptr);
    if (found == nullptr) continue;
    const Tokens used = *best;
    ASSERT_EQ(found->tokens, used);
    std::erase(plain, used);
    plain.push_back(used);
  }
}

}  // namespace
}  // namespace glm
