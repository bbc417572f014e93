#include "runtime/grammar/key_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace glm::grammar {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

KeyTracker After(std::string_view text) {
  KeyTracker keys;
  keys.Push(text);
  return keys;
}

TEST(KeyTrackerTest, KnowsTheKeysOfTheOpenObject) {
  KeyTracker keys = After(R"({"ab":1,"a)");
  EXPECT_TRUE(keys.Repeats("b\""));
  EXPECT_TRUE(keys.Repeats("b\":2}"));
  EXPECT_FALSE(keys.Repeats("\""));
  EXPECT_FALSE(keys.Repeats("bc\""));
  EXPECT_THAT(keys.ForbiddenRests(10), ElementsAre("b\""));
  EXPECT_THAT(keys.ForbiddenRests(2), ElementsAre("b\""));
  EXPECT_THAT(keys.ForbiddenRests(1), IsEmpty());
  EXPECT_THAT(After(R"({"x":1,"xy":2,"xz":[{"q":1}],")").ForbiddenRests(9),
              UnorderedElementsAre("x\"", "xy\"", "xz\""));
  EXPECT_THAT(After(R"({"x":"y)").ForbiddenRests(9), IsEmpty());
}

// A key that began before the bytes, and one that begins in them.
TEST(KeyTrackerTest, FindsRepeatsWithinTheBytes) {
  EXPECT_TRUE(After(R"({"a)").Repeats(R"(b":1,"ab")"));
  EXPECT_FALSE(After(R"({"a)").Repeats(R"(b":1,"b")"));
  EXPECT_TRUE(After(R"({"a":1)").Repeats(R"(,"b":1,"b")"));
  EXPECT_TRUE(After(R"({"a":1)").Repeats(R"(,"b":{"c":1,"c")"));
  EXPECT_FALSE(After(R"({"a":1)").Repeats(R"(,"b":{"a":1})"));
  EXPECT_TRUE(After(R"({"a":{"b":1)").Repeats(R"(},"a")"));
}

// As a plain list of keys says, whatever the cut.
TEST(KeyTrackerTest, EqualsAListOfKeys) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    // An object of keys of a and b, some of which come twice.
    std::string text = "{";
    size_t repeat_at = std::string::npos;
    std::set<std::string> seen;
    for (int i = 0; i < 8; ++i) {
      std::string key;
      for (size_t n = 1 + random() % 4; n > 0; --n) key += "ab"[random() % 2];
      if (i > 0) text += ',';
      text += '"' + key + "\":{\"" + key + "\":[]}";
      if (!seen.insert(key).second) {
        repeat_at = text.rfind("\":{\"");
        break;
      }
    }
    KeyTracker keys;
    size_t at = 0;
    while (at < text.size()) {
      size_t size = 1 + random() % 9;
      std::string piece = text.substr(at, size);
      const bool wants = repeat_at != std::string::npos && at <= repeat_at &&
                         repeat_at < at + piece.size();
      ASSERT_EQ(keys.Repeats(piece), wants) << text << " at " << at;
      if (wants) break;
      keys.Push(piece);
      at += piece.size();
    }
  }
}

// A megabyte of key, asked about at each of its bytes: by the square of its
// length this would be 10^12 steps.
TEST(KeyTrackerTest, LongKeysCostNoMoreThanShortOnes) {
  const std::string key(1 << 20, 'k');
  KeyTracker keys = After("{\"" + key + "\":1,\"");
  for (char c : key) {
    ASSERT_FALSE(keys.Repeats("x\""));
    ASSERT_LE(keys.ForbiddenRests(16).size(), 1u);
    keys.Push({&c, 1});
  }
  EXPECT_TRUE(keys.Repeats("\""));
}

}  // namespace
}  // namespace glm::grammar
