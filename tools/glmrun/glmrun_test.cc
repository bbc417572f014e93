// The program as its users meet it: arguments in, streams and exit codes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/plan/test_paged_plan.h"
#include "runtime/plan/test_plan.h"
#include "runtime/safetensors/weight_fingerprint.h"

namespace glm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int code = -1;
  std::string output;  // stdout, or stderr when it was asked for
};

class GlmrunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "glmrun_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    plan::WriteBytes(folder_ + "/toy.bin", std::string(64, '\0'));
    plan_ = plan::MakeToyPlan();
    plan_.weight_files[0]->fingerprint = *FingerprintFile(folder_ + "/toy.bin");
    plan::CodeObjectT& object = plan::Add(plan_.code_objects);
    object.target = "host";
    object.isa = "x86-64";
    // With weights of zero all logits are equal: greedy takes id 0.
    plan_.generation->stop_ids = {0};
    WritePlan();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void WritePlan() {
    std::ifstream file(GLM_TOY_KERNELS, std::ios::binary);
    const std::string image{std::istreambuf_iterator<char>(file), {}};
    plan::WriteBytes(plan(), plan::PlanFileBytes(plan_, {image}));
  }

  std::string plan() const { return folder_ + "/toy.glmplan"; }

  Outcome Run(const std::string& arguments, bool errors = false,
              const std::string& input = "") {
    const std::string command = "printf '" + input + "' | " GLMRUN_BINARY " " +
                                arguments +
                                (errors ? " 2>&1 >/dev/null" : " 2>/dev/null");
    std::FILE* pipe = popen(command.c_str(), "r");
    Outcome outcome;
    for (int c; (c = std::fgetc(pipe)) != EOF;) {
      outcome.output += static_cast<char>(c);
    }
    outcome.code = WEXITSTATUS(pclose(pipe));
    return outcome;
  }

  std::string folder_;
  plan::PlanT plan_;
};

TEST_F(GlmrunTest, GenerateJsonHasTheIdsAndCounts) {
  const Outcome run =
      Run("generate " + plan() +
          " --prompt-ids 1,2,3,4,5 --greedy --ignore-eos --max-tokens 3 "
          "--json --threads 2");
  ASSERT_EQ(run.code, 0) << run.output;
  const auto json = nlohmann::json::parse(run.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << run.output;
  EXPECT_EQ(json["ids"], nlohmann::json({0, 0, 0}));
  EXPECT_EQ(json["finish_reason"], "length");
  EXPECT_EQ(json["prompt_tokens"], 5);
  EXPECT_EQ(json["completion_tokens"], 3);
  EXPECT_GE(json["prefill_ms"], 0);
}

TEST_F(GlmrunTest, StopIdEndsTheAnswer) {
  const Outcome run =
      Run("generate " + plan() + " --prompt-ids 1 --greedy --json");
  const auto json = nlohmann::json::parse(run.output, nullptr, false);
  EXPECT_EQ(json["finish_reason"], "stop");
  EXPECT_EQ(json["stop_id"], 0);
  EXPECT_EQ(json["completion_tokens"], 0);
}

TEST_F(GlmrunTest, SameSeedGivesTheSameText) {
  const std::string command = "generate " + plan() +
                              " --prompt-ids 1,2 --max-tokens 20 --ignore-eos "
                              "--temperature 1 --seed ";
  const Outcome first = Run(command + "5");
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.output, HasSubstr(" "));
  EXPECT_EQ(first.output, Run(command + "5").output);
  EXPECT_NE(first.output, Run(command + "6").output);
}

TEST_F(GlmrunTest, TextGoesToStdoutAndTheSummaryToStderr) {
  const std::string command = "generate " + plan() +
                              " --prompt-ids 1,2 --greedy --ignore-eos "
                              "--max-tokens 2";
  EXPECT_EQ(Run(command).output, "0 0\n");
  const Outcome errors = Run(command, /*errors=*/true);
  EXPECT_THAT(errors.output, HasSubstr("2 prompt tokens"));
  EXPECT_THAT(errors.output, HasSubstr("tok/s"));
  EXPECT_THAT(errors.output, Not(HasSubstr("\033"))) << "no terminal here";
}

TEST_F(GlmrunTest, NoTraceOfAModelWithoutRouters) {
  const std::string trace = folder_ + "/routing.trace";
  const Outcome run = Run(
      "generate " + plan() + " --prompt-ids 1 --routing-trace " + trace, true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("shows no router's choice"));
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST_F(GlmrunTest, WrongUsageIsTwo) {
  for (const std::string& arguments :
       {std::string(),
        std::string("generate"),
        std::string("fly"),
        "generate " + plan(),
        "generate " + plan() + " --prompt a --chat b",
        "generate " + plan() + " --prompt-ids 1 --top-p 2",
        "generate " + plan() + " --prompt-ids 1 --greedy --temperature 1",
        "generate " + plan() + " --prompt-ids 1 --effort low",
        "generate " + plan() + " --prompt-ids 1 --memory-limit -1",
        "generate " + plan() + " --prompt-ids 1 --memory-limit -1GiB",
        "generate " + plan() + " --prompt-ids 1 --memory-limit 16EiB",
        "generate " + plan() + " --prompt-ids 1 --seed -1",
        "generate " + plan() + " --prompt-ids 1 --seed 9223372036854775808",
        "generate " + plan() + " --prompt-ids 1 --max-tokens 4294967296",
        "generate " + plan() + " --prompt-ids 1 --temperature inf",
        "generate " + plan() + " --prompt-ids 1 --routing-trace \"\"",
        "bench " + plan() + " --warm-up -1",
        "bench " + plan() + " --repeat 0",
        "bench " + plan() + " --hit-rate nan",
        "serve " + plan() + " --drain-seconds nan",
        "serve " + plan() + " --drain-seconds inf",
        "serve " + plan() + " --drain-seconds -1",
        "serve " + plan() + " --port 65536",
        "serve " + plan() + " --parallel 0",
        "serve " + plan() + " --stall-seconds 0",
        "serve " + plan() + " --cors-origin example.com",
        "serve " + plan() + " --cors-origin https://example.com/",
        "serve " + plan() + " --cors-origin https://Example.com",
        "serve " + plan() + " --cors-origin https://example.com:0",
        "serve " + plan() + " --cors-origin null",
        std::string("inspect \"\"")}) {
    EXPECT_EQ(Run(arguments).code, 2) << arguments;
  }
}

TEST_F(GlmrunTest, AWordThatIsNoCommandGetsTheNearOnes) {
  EXPECT_THAT(Run("srve x", /*errors=*/true).output,
              HasSubstr("no command 'srve'; did you mean serve?"));
  EXPECT_THAT(Run("dance", /*errors=*/true).output, HasSubstr("doctor"));
}

TEST_F(GlmrunTest, VersionNamesPlansAndDevices) {
  const Outcome run = Run("--version");
  EXPECT_EQ(run.code, 0);
  for (const char* text : {"glmrun " GLM_VERSION, "plan files", "cuda"}) {
    EXPECT_THAT(run.output, HasSubstr(text));
  }
}

// What is at fault is said before the port is open.
TEST_F(GlmrunTest, ServeLooksAtThePlanFirst) {
  const auto refused = [this](const std::string& arguments, int code,
                              const std::string& why) {
    const Outcome run = Run("serve --port 0 " + arguments, /*errors=*/true);
    EXPECT_EQ(run.code, code) << run.output;
    EXPECT_THAT(run.output, HasSubstr(why));
    EXPECT_THAT(run.output, Not(HasSubstr("listening")));
  };
  refused(folder_ + "/absent.glmplan", 1, "absent.glmplan");
  refused(folder_ + "/toy.bin", 1, "toy.bin");
  refused(plan(), 1, "holds no tokenizer");
  refused(plan() + " --device cuda:9", 3, "--device cuda:9");
  refused(plan() + " --expert-slots 9", 1, "--experts paged");
}

TEST_F(GlmrunTest, KeysThatAreWrongAreNamedByTheirLine) {
  const std::string keys = folder_ + "/keys";
  const std::string serve = "serve " + plan() + " --api-key-file " + keys;
  plan::WriteBytes(keys, "# ours\n\nsk-one\nsk two\n");
  EXPECT_THAT(Run(serve, /*errors=*/true).output,
              HasSubstr("keys:4: the key holds characters other than"));
  plan::WriteBytes(keys, "# none\n");
  EXPECT_THAT(Run(serve, /*errors=*/true).output,
              HasSubstr("holds no key in 1 line"));
  plan::WriteBytes(keys, "# ours\n\nsk-one\n");
  EXPECT_THAT(Run(serve, /*errors=*/true).output,
              HasSubstr("holds no tokenizer"));
}

TEST_F(GlmrunTest, HelpTeachesWithExamples) {
  for (const std::string command :
       {"", "generate", "chat", "bench", "inspect", "serve", "doctor"}) {
    const Outcome run = Run(command + " --help");
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.output, HasSubstr("Examples:")) << command;
  }
}

TEST_F(GlmrunTest, FaultyInputIsOne) {
  EXPECT_EQ(Run("inspect " + folder_ + "/absent.glmplan").code, 1);
  EXPECT_EQ(Run("inspect " + folder_ + "/toy.bin").code, 1);
  EXPECT_EQ(Run("generate " + plan() + " --prompt-ids 99").code, 1);
  std::string list = "1";
  for (uint32_t i = 0; i < plan::kToyContext; ++i) list += ",1";
  const Outcome run =
      Run("generate " + plan() + " --prompt-ids " + list, /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("has 65 tokens, the context holds 64"));
}

TEST_F(GlmrunTest, IncompletePlanOrWeightsAreOneWithTheRemedy) {
  Outcome run = Run("generate " + plan() + " --prompt hello", /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("--prompt-ids"));
  std::filesystem::remove(folder_ + "/toy.bin");
  run = Run("generate " + plan() + " --prompt-ids 1", /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("--weights"));
}

TEST_F(GlmrunTest, UnfitMachineIsThreeWithTheRemedy) {
  const std::string command = "generate " + plan() + " --prompt-ids 1";
  Outcome run = Run(command + " --memory-limit 1KiB", /*errors=*/true);
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.output, HasSubstr("--max-context"));
  plan_.code_objects[0]->isa = "x86-64-v9";
  WritePlan();
  run = Run(command, /*errors=*/true);
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.output, HasSubstr("--target host:"));
}

TEST_F(GlmrunTest, DeviceThatIsNotThereIsThreeWithTheRemedy) {
  // The plan has code for the host alone, should there be a GPU.
  for (const std::string device : {"gpu", "cuda", "hip", "hip:7"}) {
    const Outcome run =
        Run("generate " + plan() + " --prompt-ids 1 --device " + device,
            /*errors=*/true);
    EXPECT_EQ(run.code, 3);
    EXPECT_THAT(run.output, HasSubstr("--device " + device + ":"));
    EXPECT_THAT(run.output, ::testing::AnyOf(HasSubstr("install"),
                                             HasSubstr("has no code for"),
                                             HasSubstr("no device")));
  }
}

TEST_F(GlmrunTest, PlanForAnotherTargetIsThreeAndSaysWhatItHolds) {
  plan_.code_objects[0]->target = "gfx1201";
  plan_.code_objects[0]->isa = "";
  WritePlan();
  const Outcome run =
      Run("generate " + plan() + " --prompt-ids 1 --device host",
          /*errors=*/true);
  EXPECT_EQ(run.code, 3);
  for (const char* text : {"toy.glmplan", "holds code for gfx1201",
                           "the device is host", "--target"}) {
    EXPECT_THAT(run.output, HasSubstr(text));
  }
}

TEST_F(GlmrunTest, InspectNeedsNoWeights) {
  std::filesystem::remove(folder_ + "/toy.bin");
  const Outcome run = Run("inspect " + plan() + " --slots 2 --launches");
  EXPECT_EQ(run.code, 0);
  for (const char* text : {"toy", "decode_b1", "prefill_n4", "stop ids 0",
                           "toy_logits", "2 sequences of 256 B"}) {
    EXPECT_THAT(run.output, HasSubstr(text));
  }
}

TEST_F(GlmrunTest, BenchCountsBytesAndLaunches) {
  const Outcome run = Run("bench " + plan() +
                          " --prompt-tokens 9 --decode-tokens 5 --repeat 2 "
                          "--profile --json");
  ASSERT_EQ(run.code, 0);
  const auto json = nlohmann::json::parse(run.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << run.output;
  EXPECT_EQ(json["launches_per_step"], 2);
  EXPECT_EQ(json["bytes_per_step"], 8 * plan::kToyVocab + 8);
  EXPECT_EQ(json["prefills"], 2);
  EXPECT_EQ(json["decode_tokens"], 5);
  EXPECT_EQ(json["context"], 14);
  EXPECT_GT(json["decode_tokens_per_second"]["median"], 0);
  EXPECT_EQ(json["bandwidth"]["of"], "reads");
  EXPECT_GT(json["bandwidth"]["fraction"], 0);
  EXPECT_FALSE(json.contains("prediction"));
  EXPECT_EQ(json["profile"]["prefill_n4"].size(), 2u);
  EXPECT_EQ(Run("bench " + plan()).code, 1) << "256 tokens exceed the context";
}

TEST_F(GlmrunTest, BenchDecodesAtAContextWithoutAPrompt) {
  const std::string bench = "bench " + plan() + " --synthetic --context ";
  const Outcome run = Run(bench + "64 --json");
  ASSERT_EQ(run.code, 0);
  const auto json = nlohmann::json::parse(run.output, nullptr, false);
  EXPECT_EQ(json["context"], 64);
  EXPECT_EQ(json["decode_tokens"], 128) << "each of them at that context";
  EXPECT_FALSE(json.contains("prefill_tokens_per_second"));
  const Outcome far = Run(bench + "65", /*errors=*/true);
  EXPECT_EQ(far.code, 1);
  EXPECT_THAT(far.output, HasSubstr("--max-context"));
  EXPECT_EQ(Run("bench " + plan() + " --context 9").code, 2)
      << "made-up state goes with made-up weights";
}

TEST_F(GlmrunTest, AnEmptyNameIsNotNone) {
  const Outcome run =
      Run("bench " + plan() + " --prediction \"\"", /*errors=*/true);
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.output, HasSubstr("--prediction: the value is empty"));
}

TEST_F(GlmrunTest, ADirectPathBetweenNoGpusIsRefused) {
  const Outcome run = Run("bench " + plan() + " --p2p", /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("--p2p: is for plans of several ranks"));
}

TEST_F(GlmrunTest, BenchOfABatchNeedsAStepOfIt) {
  const Outcome run = Run("bench " + plan() + " --batch 3", /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output,
              HasSubstr("no decode step of 3 sequences, only of 1"));
  EXPECT_THAT(run.output, HasSubstr("--batch 3"));
}

// The toy plan whose experts are paged: 16 rows of 8 KiB.
class PagedGlmrunTest : public GlmrunTest {
 protected:
  void SetUp() override {
    GlmrunTest::SetUp();
    const std::string weights = folder_ + "/paged.bin";
    plan::WriteBytes(weights, plan::PagedWeightBytes(false));
    plan_ = plan::MakePagedToyPlan(false, "paged.bin");
    plan_.weight_files[0]->fingerprint = *FingerprintFile(weights);
    plan_.entries.resize(1);
    plan::CodeObjectT& object = plan::Add(plan_.code_objects);
    object.target = "host";
    object.isa = "x86-64";
    WritePlan();
  }
  std::string Bench(const std::string& options) const {
    return "bench " + plan() + " --threads 1 --expert-policy lru " + options;
  }
};

TEST_F(PagedGlmrunTest, BenchDecodesAtAHitRate) {
  const Outcome run =
      Run(Bench("--synthetic --context 9 --decode-tokens 50 --expert-slots 9 "
                "--hit-rate 0.6 --check-rows --json"));
  ASSERT_EQ(run.code, 0) << run.output;
  const auto json = nlohmann::json::parse(run.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << run.output;
  const auto& experts = json["experts"];
  EXPECT_EQ(experts["steps"], 50);
  EXPECT_EQ(experts["accesses"], 200);
  EXPECT_EQ(experts["slots"], 9);
  EXPECT_NEAR(experts["hit_rate"], 0.6, 0.01);
  EXPECT_EQ(experts["hit_rate"], experts["simulated_hit_rate"])
      << "the kernels do what the simulator does";
  EXPECT_EQ(experts["bytes_pinned"],
            experts["misses"].get<uint64_t>() * plan::kPagedRowBytes);
  EXPECT_GT(experts["link"]["bytes_per_second"], 0);
  EXPECT_EQ(experts["layers"].size(), 2u);
  EXPECT_EQ(experts["rows_checked"], true);
}

// Lines of --expert-stats.
std::vector<nlohmann::json> Lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(nlohmann::json::parse(line, nullptr, false));
  }
  return lines;
}

TEST_F(PagedGlmrunTest, BenchTellsOfTheStepsThatCount) {
  const std::string stats = folder_ + "/steps.jsonl";
  const Outcome run =
      Run(Bench("--synthetic --context 9 --decode-tokens 10 --expert-slots 9 "
                "--hit-rate 0.5 --json --expert-stats ") +
          stats);
  ASSERT_EQ(run.code, 0) << run.output;
  const auto experts = nlohmann::json::parse(run.output)["experts"];
  // This plan's kernel finds and copies in one, for which there are no times.
  EXPECT_FALSE(experts.contains("timed_steps"));
  EXPECT_FALSE(experts["layers"][0].contains("copy_us"));
  std::ifstream file(stats);
  const auto lines = Lines({std::istreambuf_iterator<char>(file), {}});
  ASSERT_EQ(lines.size(), 10u) << "those that count";
  uint64_t misses = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["step"], i + 1);
    EXPECT_EQ(lines[i]["entry"], "decode_b1");
    EXPECT_EQ(lines[i]["accesses"], 4);
    EXPECT_EQ(lines[i]["layers"].size(), 2u);
    misses += lines[i]["misses"].get<uint64_t>();
  }
  EXPECT_EQ(misses, experts["misses"]) << "of the steps that count";
}

TEST_F(PagedGlmrunTest, GenerateTellsOfItsSteps) {
  const std::string generate =
      "generate " + plan() +
      " --prompt-ids 3 --greedy --ignore-eos --max-tokens 5 --expert-policy "
      "lru --expert-slots 9 ";
  const std::string text = Run(generate).output;
  const Outcome run = Run(generate + "--json --expert-stats -");
  ASSERT_EQ(run.code, 0) << run.output;
  auto lines = Lines(run.output);
  ASSERT_EQ(lines.size(), 6u) << "a line a step, and the answer";
  std::string ids;
  for (const int id : lines[5]["ids"]) ids += " " + std::to_string(id);
  EXPECT_EQ(ids.substr(1) + "\n", text) << "the text is the same";
  EXPECT_EQ(lines[0]["misses"], 4);
  EXPECT_EQ(lines[4]["step"], 5);
  EXPECT_EQ(lines[4]["bytes_slots"].get<uint64_t>() +
                lines[4]["bytes_pinned"].get<uint64_t>() +
                lines[4]["bytes_file"].get<uint64_t>(),
            4 * plan::kPagedRowBytes);

  lines = Lines(Run(generate + "--json --expert-stats - "
                               "--expert-stats-every 2")
                    .output);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["steps"], 2);
  EXPECT_EQ(lines[2]["steps"], 1) << "the rest";
  EXPECT_EQ(lines[2]["step"], 5);
}

TEST_F(PagedGlmrunTest, StatsTakeNoOtherFilesPlace) {
  const std::string generate = "generate " + plan() + " --prompt-ids 3 ";
  Outcome run = Run(generate + "--expert-stats " + plan(), /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("holds no lines of --expert-stats"));
  run = Run(generate + "--expert-stats -", /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("give --json too"));
  run = Run(generate + "--expert-stats x --routing-trace y", /*errors=*/true);
  EXPECT_EQ(run.code, 2);
  const std::string stats = folder_ + "/steps.jsonl";
  EXPECT_EQ(Run(generate + "--expert-stats " + stats).code, 0);
  EXPECT_EQ(Run(generate + "--expert-stats " + stats).code, 0) << "its own";
}

TEST_F(PagedGlmrunTest, BenchPrintsWhatExpertsCost) {
  // 72 KiB hold the staging ring and its bell, and no row.
  const Outcome run =
      Run(Bench("--prompt-tokens 1 --repeat 1 --decode-tokens 20 "
                "--expert-slots 32KiB --host-memory 72KiB --host-sampling"));
  ASSERT_EQ(run.code, 0) << run.output;
  for (const char* text : {"4 slots     of 16 rows, policy lru", " hits ",
                           "link ", "files ", "  layer "}) {
    EXPECT_THAT(run.output, HasSubstr(text));
  }
}

TEST_F(PagedGlmrunTest, GenerateSaysHowExpertsDid) {
  const Outcome run =
      Run("generate " + plan() +
              " --prompt-ids 3 --greedy --ignore-eos --max-tokens 4 "
              "--expert-policy lru -v",
          /*errors=*/true);
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("expert slots"));
  EXPECT_THAT(run.output, HasSubstr("accesses were in a slot"));
}

TEST_F(PagedGlmrunTest, WhatCannotWorkIsRefused) {
  const std::string paged = plan();
  Outcome run = Run(Bench("--expert-slots 1"), /*errors=*/true);
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.output, HasSubstr("give it 2 slots or more"));
  EXPECT_THAT(run.output, HasSubstr("--expert-slots"));
  run = Run(Bench("--host-memory 4KiB"), /*errors=*/true);
  EXPECT_THAT(run.output, HasSubstr("raise --host-memory"));
  run = Run("bench " + paged + " --expert-policy best", /*errors=*/true);
  EXPECT_EQ(run.code, 2);
  run = Run("bench " + paged + " --expert-slots none", /*errors=*/true);
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.output, HasSubstr("neither a number of slots"));
  run = Run(Bench("--hit-rate 0.5 --synthetic --context 9"), /*errors=*/true);
  EXPECT_EQ(run.code, 1) << "all experts have a slot";
  EXPECT_THAT(run.output, HasSubstr("the nearest is 1"));
}

TEST_F(GlmrunTest, ExpertOptionsOfAPlanWithoutPagingAreRefused) {
  Outcome run = Run("bench " + plan() + " --expert-slots 100", /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("--experts paged"));
  run = Run("generate " + plan() + " --prompt-ids 1 --expert-stats x",
            /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("--experts paged"));
  run = Run("bench " + plan() + " --synthetic --context 9 --hit-rate 0.5",
            /*errors=*/true);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("--experts paged"));
}

}  // namespace
}  // namespace glm
