#include "tools/options/option_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

namespace glm::tools {
namespace {

using ::testing::HasSubstr;

TEST(WholeNumber, IsDecimalDigitsInItsRange) {
  const CLI::Validator check = WholeNumber(2, 1000);
  for (std::string text : {"2", "17", "1000"}) EXPECT_EQ(check(text), "");
  for (std::string text : {"1", "1001", "-3", "+3", "", "3.5", "0x10", "010",
                           "1e2", " 3", "nan", "99999999999999999999999"}) {
    EXPECT_THAT(check(text),
                HasSubstr("expected a whole number from 2 to 1000"))
        << text;
  }
  std::string most = "18446744073709551615", more = "18446744073709551616";
  EXPECT_EQ(WholeNumber(0, UINT64_MAX)(most), "");
  EXPECT_NE(WholeNumber(0, UINT64_MAX)(more), "");
}

TEST(NumberIn, IsNeitherNanNorInfinity) {
  const CLI::Validator check = NumberIn(-1, 1e6);
  for (std::string text : {"-1", "0.25", "1e6", "1000000"}) {
    EXPECT_EQ(check(text), "") << text;
  }
  for (std::string text :
       {"nan", "-nan", "inf", "-inf", "1e999", "1e7", "", "one", "0.5x"}) {
    EXPECT_NE(check(text), "") << text;
  }
}

TEST(ByteSize, TakesUnitsOf1024AndRefusesWhatWouldWrap) {
  const CLI::Validator size = ByteSize();
  const auto bytes = [&size](std::string text) {
    const std::string wrong = size(text);
    return wrong.empty() ? text : wrong;
  };
  EXPECT_EQ(bytes("0"), "0");
  EXPECT_EQ(bytes("4096"), "4096");
  EXPECT_EQ(bytes("14GiB"), "15032385536");
  EXPECT_EQ(bytes("64 kb"), "65536");
  EXPECT_EQ(bytes("3m"), "3145728");
  EXPECT_EQ(bytes("9223372036854775807"), "9223372036854775807");
  for (const char* text : {"9223372036854775808", "8EiB", "9007199254740992KiB",
                           "99999999999999999999999"}) {
    EXPECT_THAT(bytes(text), HasSubstr("less than 2^63 bytes")) << text;
  }
  for (const char* text : {"", "GiB", "-1", "-1GiB", "12parsecs", "0x10", "010",
                           "1.5GiB", "1GiBs", "nan"}) {
    EXPECT_THAT(bytes(text), HasSubstr("expected a size")) << text;
  }
}

TEST(EmptyValue, IsOfAnyOptionButATextToContinue) {
  CLI::App app;
  std::string file, chat, in_group;
  int seed = 0;
  bool flag = false;
  CLI::App* command = app.add_subcommand("run");
  command->add_option("--file", file);
  command->add_option("--chat", chat);
  command->add_flag("--flag", flag);
  command->add_option("--seed", seed)->expected(0, 1);
  command->add_option_group("Group", "")->add_option("--ids", in_group);
  app.parse("run --file x --chat \"\" --flag --seed");
  EXPECT_EQ(EmptyValue(app), "");
  const char* empty[] = {"tool", "run", "--file", ""};
  app.parse(4, empty);
  EXPECT_EQ(EmptyValue(app), "--file");
  const char* grouped[] = {"tool", "run", "--ids", ""};
  app.parse(4, grouped);
  EXPECT_EQ(EmptyValue(app), "--ids");
}

TEST(OptionChecksTest, WordsThatAreNoCommandGetTheNearOnes) {
  CLI::App app;
  app.add_subcommand("serve", "");
  app.add_subcommand("chat", "");
  const auto of = [&app](const char* word) {
    const char* const arguments[] = {"tool", word};
    return UnknownCommand(app, 2, arguments);
  };
  EXPECT_EQ(of("serve"), "");
  EXPECT_EQ(of("--help"), "");
  EXPECT_EQ(of("sevre"),
            "there is no command 'sevre'; did you mean serve? commands: serve, "
            "chat");
  EXPECT_NE(of("se").find("did you mean serve?"), std::string::npos);
  EXPECT_EQ(of("x"), "there is no command 'x'; commands: serve, chat");
  EXPECT_EQ(UnknownCommand(app, 1, nullptr), "");
}

}  // namespace
}  // namespace glm::tools
