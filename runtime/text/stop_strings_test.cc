#include "runtime/text/stop_strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace glm::text {
namespace {

using ::testing::HasSubstr;

TEST(StopStringsTest, HoldsWhatMayBeginOne) {
  StopStrings stop = *StopStrings::Create({"XYZ", "é"});
  std::string out;
  EXPECT_FALSE(stop.Push("abX", out));
  EXPECT_EQ(out, "ab");
  EXPECT_FALSE(stop.Push("Y", out));
  EXPECT_EQ(out, "ab");
  EXPECT_FALSE(stop.Push("XY", out));
  EXPECT_EQ(out, "abXY");
  EXPECT_TRUE(stop.Push("Zq", out));
  EXPECT_EQ(out, "abXY");
}

TEST(StopStringsTest, GivesBackWhatWasNone) {
  StopStrings stop = *StopStrings::Create({"XYZ"});
  std::string out;
  EXPECT_FALSE(stop.Push("abXY", out));
  stop.Flush(out);
  EXPECT_EQ(out, "abXY");
  EXPECT_FALSE(stop.Push("Z", out));  // a new text
  EXPECT_EQ(out, "abXYZ");
}

TEST(StopStringsTest, OverlapsFindTheFirstEndAndTheLongest) {
  const auto until_stop = [](std::vector<std::string> strings,
                             std::string_view text) {
    StopStrings stop = *StopStrings::Create(std::move(strings));
    std::string out;
    return stop.Push(text, out) ? out : "none";
  };
  EXPECT_EQ(until_stop({"aab"}, "aaab"), "a");
  EXPECT_EQ(until_stop({"abcd", "bc"}, "xabcd"), "xa");
  EXPECT_EQ(until_stop({"bc", "abc"}, "xabcd"), "x");
  EXPECT_EQ(until_stop({"abab", "abac"}, "abababac"), "");
  EXPECT_EQ(until_stop({}, "abc"), "none");
}

TEST(StopStringsTest, EveryCutFindsWhatFindFinds) {
  std::mt19937 random(3);
  const auto letters = [&](int size) {
    std::string text;
    while (size-- > 0) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    const std::string pattern = letters(1 + random() % 5);
    const std::string text = letters(random() % 20);
    StopStrings stop = *StopStrings::Create({pattern});
    std::string out;
    bool met = false;
    for (size_t at = 0; at < text.size() && !met;) {
      const size_t size = 1 + random() % 4;
      met = stop.Push(std::string_view(text).substr(at, size), out);
      at += size;
    }
    if (!met) stop.Flush(out);
    ASSERT_EQ(met, text.find(pattern) != std::string::npos);
    ASSERT_EQ(out, text.substr(0, text.find(pattern)));
  }
}

TEST(StopStringsTest, NamesTheStringThatCanNeverMatch) {
  auto empty = StopStrings::Create({"a", ""});
  EXPECT_EQ(empty.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(empty.status().message()), HasSubstr("stop[1]"));
  EXPECT_FALSE(StopStrings::Create({"a\xC3"}).ok());
}

}  // namespace
}  // namespace glm::text
