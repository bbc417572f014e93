#include "runtime/grammar/pattern.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "runtime/grammar/code_points.h"
#include "runtime/text/utf8.h"

namespace glm::grammar {
namespace {

absl::StatusOr<CodePointSet> ParsePattern(std::string_view pattern) {
  PatternWork work;
  return grammar::ParsePattern(pattern, work);
}

std::optional<CodePointSet> Both(const CodePointSet& a, const CodePointSet& b) {
  PatternWork work;
  return grammar::Both(a, b, work);
}

bool Contains(const CodePointSet& set, std::string_view text) {
  PatternWork work;
  return grammar::Contains(set, text, work);
}

// All strings over `letters` of up to `most` letters.
void ForEachText(std::string_view letters, size_t most,
                 const std::function<void(const std::string&)>& visit) {
  std::string text;
  auto extend = [&](auto& self) -> void {
    visit(text);
    if (text.size() < most) {
      for (char letter : letters) {
        text += letter;
        self(self);
        text.pop_back();
      }
    }
  };
  extend(extend);
}

TEST(PatternTest, MeansWhatAnotherEngineSaysOfAllShortTexts) {
  for (const char* pattern : {"^a*$",
                              "^a+b?$",
                              "^(a|b)*1$",
                              "a",
                              "^a",
                              "a$",
                              "^a|b$",
                              "",
                              "^(?:ab){2}$",
                              "^[a-b]{1,2}1{0,2}$",
                              "^[^a]+$",
                              "^\\d+\\w?$",
                              "^(a|(b|1)+)?$",
                              "^a{2,}$",
                              "^.b.$",
                              "^(a*)*b$",
                              "^\\D$",
                              "^(?<name>a)b$",
                              "^a+?1$",
                              "^[\\d-]+$",
                              "^\\x61\\u0062$",
                              "b|^1$",
                              "^(a{0}b|1)$",
                              "^[]?$",
                              "^[^]$",
                              "^(|a)$"}) {
    auto set = ParsePattern(pattern);
    ASSERT_TRUE(set.ok()) << pattern << ": " << set.status();
    std::string plain = pattern;
    if (plain == "^(?<name>a)b$") {
      plain = "^(a)b$";
    }
    if (plain == "^[]?$") {  // an empty class, which is optional
      plain = "^$";
    }
    if (plain == "^[^]$") {
      plain = "^[\\s\\S]$";
    }
    std::regex regex(plain, std::regex::ECMAScript);
    ForEachText("ab1-", 4, [&](const std::string& text) {
      EXPECT_EQ(Contains(*set, text), std::regex_search(text, regex))
          << pattern << " of '" << text << "'";
    });
  }
}

TEST(PatternTest, CountsCodePointsNotBytes) {
  EXPECT_TRUE(Contains(*ParsePattern("^.{2}$"), "ä😀"));
  EXPECT_TRUE(Contains(*ParsePattern("^[α-ω]+$"), "λογος"));
  EXPECT_FALSE(Contains(*ParsePattern("^[α-ω]+$"), "logos"));
  EXPECT_TRUE(Contains(*ParsePattern("^\\u{1F600}$"), "😀"));
  EXPECT_FALSE(Contains(*ParsePattern("^.$"), "\u2028"));
}

TEST(PatternTest, RefusesWithTheOffset) {
  for (const char* pattern :
       {"a(?=b)",      "(?<!a)b", "\\bword", "(a)\\1", "a^b", "(a$)",
        "a$b",         "(",       ")",       "a)",     "[a",  "[b-a]",
        "a**",         "*",       "a{2",     "a{3,2}", "\\",  "\\p{L}",
        "\\u12",       "\\xzz",   "\\ud800", "{",      "]",   "\xFF",
        "\\u{110000}", "(?<a"}) {
    auto set = ParsePattern(pattern);
    EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument)
        << pattern;
    EXPECT_NE(set.status().message().find("at byte"), absl::string_view::npos);
  }
}

TEST(PatternTest, StopsAtItsLimits) {
  for (const std::string& pattern :
       {std::string("((a{100}){100}){100}"), std::string("(){100000}"),
        std::string(1000, '(') + std::string(1000, ')'),
        std::string("[\\W\\W\\W\\W\\W\\W\\W\\W]{9000}")}) {
    EXPECT_EQ(ParsePattern(pattern).status().code(),
              absl::StatusCode::kResourceExhausted)
        << pattern.substr(0, 40);
  }
}

bool HasFormat(std::string_view format, std::string_view text) {
  return Contains(*ParsePattern(*PatternOfFormat(format)), text);
}

TEST(PatternTest, DatesAreDaysThatExist) {
  EXPECT_TRUE(HasFormat("date", "2026-11-30"));
  EXPECT_TRUE(HasFormat("date", "2024-02-29"));
  EXPECT_TRUE(HasFormat("date", "2000-02-29"));
  EXPECT_FALSE(HasFormat("date", "1900-02-29"));
  EXPECT_FALSE(HasFormat("date", "2026-02-29"));
  EXPECT_FALSE(HasFormat("date", "2026-11-31"));
  EXPECT_FALSE(HasFormat("date", "2026-13-01"));
  EXPECT_TRUE(HasFormat("date-time", "2026-11-30T23:59:59.25Z"));
  EXPECT_TRUE(HasFormat("date-time", "2026-11-30T00:00:00+05:30"));
  EXPECT_FALSE(HasFormat("date-time", "2026-11-30T24:00:00Z"));
  EXPECT_FALSE(HasFormat("date-time", "2026-11-30T10:00:00"));
}

TEST(PatternTest, OtherFormats) {
  EXPECT_TRUE(HasFormat("uuid", "123e4567-e89b-12d3-a456-426614174000"));
  EXPECT_FALSE(HasFormat("uuid", "123e4567e89b12d3a456426614174000"));
  EXPECT_TRUE(HasFormat("email", "first.last+tag@mail.example.org"));
  EXPECT_FALSE(HasFormat("email", "first..last@example.org"));
  EXPECT_FALSE(HasFormat("email", "a@b"));
  EXPECT_TRUE(HasFormat("ipv4", "192.168.0.255"));
  EXPECT_FALSE(HasFormat("ipv4", "192.168.0.256"));
  EXPECT_FALSE(PatternOfFormat("color").has_value());
}

TEST(CodePointsTest, BothIsTheIntersection) {
  auto a = *ParsePattern("^[ab]*$");
  auto b = *ParsePattern("^.*b1?$");
  auto both = *Both(*Both(a, b), *Lengths(2, 3));
  ForEachText("ab1", 4, [&](const std::string& text) {
    EXPECT_EQ(Contains(both, text), Contains(a, text) && Contains(b, text) &&
                                        text.size() >= 2 && text.size() <= 3)
        << text;
  });
  EXPECT_FALSE(Lengths(0, 1'000'000).has_value());
}

// Each of these would take minutes: copies of a long class, values against a
// pattern that is in thousands of states, classes that meet classes.
TEST(PatternTest, TheWorkOfAllPatternsIsBounded) {
  PatternWork work;
  const std::string letters(4'000, 'a');
  EXPECT_TRUE(absl::IsResourceExhausted(
      grammar::ParsePattern("^[^" + letters + "]{9000}$", work).status()));
  EXPECT_TRUE(work.exhausted());
  EXPECT_TRUE(
      absl::IsResourceExhausted(grammar::ParsePattern("a", work).status()));

  const auto many = *ParsePattern("(.|..|...|....|.....){200}");
  work = PatternWork();
  EXPECT_FALSE(grammar::Contains(many, std::string(1 << 20, 'a'), work));
  EXPECT_TRUE(work.exhausted());

  std::string classes = "^[";
  for (int i = 0; i < 1'000; ++i) {
    text::AppendUtf8(static_cast<char32_t>(0x4E00 + 2 * i), classes);
  }
  const auto wide = *ParsePattern(classes + "]{60}$");
  work = PatternWork();
  EXPECT_FALSE(grammar::Both(wide, wide, work).has_value());
}

}  // namespace
}  // namespace glm::grammar
