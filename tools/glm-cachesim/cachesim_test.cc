// The program as its users meet it: arguments in, streams and exit codes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace glm::cachesim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Outcome {
  int code = -1;
  std::string output;  // stdout, or stderr when it was asked for
};

Outcome RunTool(const std::string& arguments, bool errors = false) {
  const std::string command = GLM_CACHESIM_BINARY " " + arguments +
                              (errors ? " 2>&1 >/dev/null" : " 2>/dev/null");
  std::FILE* pipe = popen(command.c_str(), "r");
  Outcome outcome;
  for (int c; (c = std::fgetc(pipe)) != EOF;)
    outcome.output += static_cast<char>(c);
  outcome.code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

constexpr char kSmall[] =
    " --layers 3 --experts 32 --top-k 4 --steps 200 --warmup 50 --slots 40 ";

class CachesimTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ =
      ::testing::TempDir() + "cachesim_" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name() +
      ".trace";
};

TEST_F(CachesimTest, TheTableHasEveryPolicyAndTheBound) {
  const Outcome run = RunTool(std::string("--zipf") + kSmall + "--per-layer");
  EXPECT_EQ(run.code, 0);
  for (const char* text :
       {"\nlru ", "\nquota-lru ", "\nlfu ", "\npinned-lru ", "\nquota-lfru ",
        "\nlfru ", "\nbound ", "150 steps counted", "hit % by layer"}) {
    EXPECT_THAT(run.output, HasSubstr(text));
  }
}

TEST_F(CachesimTest, JsonSumsUp) {
  const Outcome run =
      RunTool(std::string("--zipf") + kSmall +
              "--policy lru,lfru --json --row-bytes 1e6 --link-gbs 1");
  ASSERT_EQ(run.code, 0);
  const auto json = nlohmann::json::parse(run.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << run.output;
  ASSERT_EQ(json["results"].size(), 2);
  for (const auto& r : json["results"]) {
    const double misses = r["misses"];
    EXPECT_EQ(r["hits"].get<double>() + misses, 150 * 3 * 4);
    EXPECT_NEAR(r["gb_per_token"].get<double>(), misses * 1e-3 / 150, 1e-9);
    EXPECT_NEAR(r["stall_ms_per_token"].get<double>(), misses / 150, 1e-6);
    EXPECT_EQ(r["layer_hit_rates"].size(), 3);
  }
}

TEST_F(CachesimTest, AWrittenTraceGivesTheSameNumbers) {
  const std::string rest =
      "--slots 40 --warmup 50 --policy lru,pinned-lru,bound";
  const Outcome made = RunTool(
      "--zipf --layers 3 --experts 32 --top-k 4 --steps 200 "
      "--write " +
      path_ + " " + rest);
  const Outcome read = RunTool(path_ + " " + rest);
  EXPECT_EQ(made.code, 0);
  EXPECT_EQ(read.code, 0);
  EXPECT_EQ(made.output, read.output);
}

TEST_F(CachesimTest, SeveralSlots) {
  const Outcome run =
      RunTool(std::string("--cyclic 48 --policy lru") +
              " --layers 3 --experts 32 --top-k 4 --steps 200 --warmup 50 "
              "--slots 40,48 --json");
  ASSERT_EQ(run.code, 0);
  const auto json = nlohmann::json::parse(run.output, nullptr, false);
  EXPECT_EQ(json["results"][0]["slots"], 40);
  EXPECT_EQ(json["results"][1]["hit_rate"], 1.0);
}

TEST_F(CachesimTest, WrongUsageIsTwo) {
  for (const char* arguments : {"",
                                "--zipf --cyclic 9",
                                "trace --zipf",
                                "trace --steps 9",
                                "--cyclic 9 --seed 2",
                                "--zipf --policy best",
                                "--zipf --slots 0",
                                "--zipf --steps 10",
                                "--zipf --fly",
                                "--zipf --link-gbs 0",
                                "--zipf --pinned 101",
                                "--zipf --top-k 300",
                                "trace --write other",
                                "--zipf --row-bytes many",
                                "--zipf --seed -1",
                                "--zipf --warmup -1",
                                "--zipf --jump-steps -1",
                                "--zipf --seed 18446744073709551616",
                                "--zipf --overlap-us nan",
                                "--zipf --link-gbs inf",
                                "--zipf --compute-ms nan",
                                "--zipf --write \"\"",
                                "\"\""}) {
    EXPECT_EQ(RunTool(arguments).code, 2) << arguments;
  }
  EXPECT_THAT(RunTool("", true).output,
              HasSubstr("give --zipf or --cyclic ROWS"));
  EXPECT_THAT(RunTool("--zipf --steps 10", true).output,
              HasSubstr("--warmup 512 leaves none of 10 steps"));
}

TEST_F(CachesimTest, WhatIsWrongWithTheInputIsOne) {
  EXPECT_EQ(RunTool(path_).code, 1);
  std::ofstream(path_) << "GLMTRACK";
  const Outcome damaged = RunTool(path_, true);
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.output, AllOf(HasSubstr("glm-cachesim: " + path_),
                                    HasSubstr("not a routing trace")));
  const Outcome small =
      RunTool("--zipf --steps 600 --slots 7 --policy lru", true);
  EXPECT_EQ(small.code, 1);
  EXPECT_THAT(small.output, AllOf(HasSubstr("an arena of 7 slots is too small"),
                                  HasSubstr("give it 8 slots or more")));
}

TEST_F(CachesimTest, AllLeavesOutWhatDoesNotFit) {
  const std::string arguments =
      "--zipf --layers 3 --experts 32 --top-k 4 --steps 200 --warmup 50 "
      "--slots 6,40 --pinned 50";
  const Outcome run = RunTool(arguments + " --json");
  ASSERT_EQ(run.code, 0);
  const auto json = nlohmann::json::parse(run.output, nullptr, false);
  ASSERT_EQ(json["results"].size(), 6 + 7) << "but pinned-lru";
  for (size_t i = 0; i < 13; ++i) {
    EXPECT_EQ(json["results"][i]["slots"], i < 6 ? 6 : 40);
  }
  EXPECT_THAT(RunTool(arguments, true).output,
              HasSubstr("left out: an arena of 6 slots"));
  EXPECT_EQ(RunTool(arguments + " --policy pinned-lru").code, 1);
}

TEST_F(CachesimTest, HelpTeaches) {
  const Outcome help = RunTool("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("quota-lru"),
                                 HasSubstr("Exit codes"), HasSubstr("53.3")));
}

}  // namespace
}  // namespace glm::cachesim
