// Options of paged experts, routings, and the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/paging/expert_cache.h"
#include "runtime/paging/trace.h"
#include "tools/device/expert_options.h"
#include "tools/glmrun/expert_report.h"
#include "tools/glmrun/routing.h"

namespace glm::tools {
namespace {

using ::testing::HasSubstr;

TEST(ExpertOptions, SlotsAreANumberOrASize) {
  ExpertOptions options;
  ASSERT_TRUE(ParseSlots("2383", options).ok());
  EXPECT_EQ(options.slots, 2383u);
  EXPECT_EQ(options.slot_bytes, 0u);
  options = {};
  ASSERT_TRUE(ParseSlots("14GiB", options).ok());
  EXPECT_EQ(options.slots, 0u);
  EXPECT_EQ(options.slot_bytes, uint64_t{14} << 30);
  for (const char* bad :
       {"", "0", "-3", "many", "12parsecs", "99999999999", "GiB"}) {
    EXPECT_EQ(ParseSlots(bad, options).code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
  }
}

paging::ExpertCache Cache(uint32_t slots) {
  return *paging::ExpertCache::Create({.shape = {4, 32, 4},
                                       .policy = *paging::FindPolicy("lfru"),
                                       .slots = slots,
                                       .step_tokens = 1});
}

TEST(Routing, IsTunedToTheRate) {
  for (const double rate : {0.0, 0.4, 0.6, 0.8, 1.0}) {
    const auto routing = TuneRouting(rate, Cache(40), 0, 100);
    ASSERT_TRUE(routing.ok()) << routing.status();
    EXPECT_NEAR(routing->hit_rate, rate, 0.01);
    EXPECT_EQ(routing->warm_up, 3u + 16);
    EXPECT_EQ(routing->choices.size(), (3u + 16 + 100) * 4 * 4);
  }
}

TEST(Routing, ARateThatCannotBeIsRefusedWithTheNearest) {
  const absl::Status status = TuneRouting(0.5, Cache(128), 0, 100).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("hit rate 0.5 for 128 slots of policy lfru"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the nearest is 1"));
}

TEST(Routing, TheNearestIsLookedForBothWays) {
  // One step of 16 choices: 8 of them hit where 8.8 should, 9 are nearer.
  const absl::Status status = TuneRouting(0.55, Cache(40), 0, 1).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("nearest is 0.5625"));
  const auto exact = TuneRouting(0.5625, Cache(40), 0, 1, 5);
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_EQ(exact->choices.size(), (3u + 16 + 1 + 5) * 4 * 4) << "with a tail";
}

class RoutingFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void Write(const paging::TraceShape& shape, uint32_t steps,
             uint32_t tokens = 1) {
    auto writer = paging::TraceWriter::Create(path_, shape);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (uint32_t i = 0; i < steps; ++i) {
      paging::RoutingStep step;
      step.tokens = tokens;
      for (uint32_t layer = 0; layer < shape.layers; ++layer) {
        step.layers.push_back({});
        for (uint32_t k = 0; k < shape.top_k; ++k) {
          step.layers.back().push_back(
              static_cast<uint16_t>((5 * i + 3 - k + layer) % shape.experts));
        }
      }
      ASSERT_TRUE(writer->Add(step).ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
  }
  std::string path_ = ::testing::TempDir() + "routing.trace";
};

TEST_F(RoutingFile, IsReadAndGoesInACircle) {
  Write({4, 32, 4}, 2);
  const auto routing = ReadRouting(path_, Cache(64), 10, 50);
  ASSERT_TRUE(routing.ok()) << routing.status();
  EXPECT_EQ(routing->choices.size(), 2u * 4 * 4);
  EXPECT_EQ(routing->choices[0], 3);
  EXPECT_EQ(routing->warm_up, 10u);
  EXPECT_EQ(routing->hit_rate, 1.0) << "8 experts of each layer, all cached";
}

TEST_F(RoutingFile, OfAnotherModelOrOfManyTokensIsRefused) {
  Write({4, 32, 2}, 2);
  absl::Status status = ReadRouting(path_, Cache(64), 0, 5).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("2 of 32 experts in 4 layers, the plan has 4"));
  Write({4, 32, 4}, 2, 3);
  status = ReadRouting(path_, Cache(64), 0, 5).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("has 3 tokens"));
  Write({4, 32, 4}, 0);
  EXPECT_FALSE(ReadRouting(path_, Cache(64), 0, 5).ok());
}

ExpertReport Report() {
  ExpertReport report;
  report.budget.slots = 40;
  report.budget.rows = 128;
  report.budget.row_bytes = 1 << 20;
  report.budget.policy = "lfru";
  const std::vector<ExpertCounts> before = {{5, 20, 20, 0, 20 << 20, 0},
                                            {5, 20, 20, 0, 20 << 20, 0}};
  const std::vector<ExpertCounts> after = {{15, 60, 36, 6, 30 << 20, 6 << 20},
                                           {15, 60, 20, 0, 20 << 20, 0}};
  report.layers = CountsSince(before, after);
  report.seconds = 0.04;
  report.link_bytes_per_second = 1 << 30;
  report.simulated_hit_rate = 0.8;
  return report;
}

TEST(ExpertReport, CountsWhatCameBetween) {
  const ExpertReport report = Report();
  EXPECT_EQ(report.steps(), 10u);
  EXPECT_EQ(report.Total().misses, 16u);
  EXPECT_EQ(report.Total().bytes(), uint64_t{16} << 20);
  EXPECT_DOUBLE_EQ(report.HitRate(), 0.8);
  EXPECT_DOUBLE_EQ(report.LinkSeconds(), 1.6 / 1024);
}

TEST(ExpertReport, SaysItToPeopleAndPrograms) {
  const ExpertReport report = Report();
  const std::string text = report.ToText();
  for (const char* part :
       {"0.800 hits", "0.800 in the simulator", "1.6 of 8.0 rows a step",
        "1.6 MiB over the link", "40 slots", "1562 us", "39.1 % of it",
        "1.07 GB/s", "      0        24        16         6      0.600"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const auto json = report.ToJson();
  EXPECT_EQ(json["hits"], 64);
  EXPECT_EQ(json["from_files"], 6);
  EXPECT_EQ(json["bytes_per_step"], (16 << 20) / 10);
  EXPECT_EQ(json["layers"].size(), 2u);
  EXPECT_EQ(json["layers"][0]["misses"], 16);
  EXPECT_DOUBLE_EQ(json["link"]["us_per_step"], 1.6e6 / 1024);
}

TEST(ExpertTiming, StallIsWhatMissesAdd) {
  const std::vector<LayerSample> samples = {{2, 5e-3}, {0, 1e-3}, {4, 9e-3}};
  const LayerTiming timing = TimingOf(samples, {{0, 3e-3}, {1, 50e-3}}, 1000);
  EXPECT_DOUBLE_EQ(timing.bytes, 2000);
  EXPECT_DOUBLE_EQ(timing.seconds, 5e-3);
  EXPECT_DOUBLE_EQ(timing.stall_seconds, 3e-3) << "2 ms without a miss";
  EXPECT_DOUBLE_EQ(timing.BytesPerSecond(), 4e5);
  EXPECT_EQ(TimingOf({{1, 1e-3}}, {{1, 1e-3}}, 1000).stall_seconds, -1)
      << "never without a miss";
  EXPECT_EQ(TimingOf({{0, 1e-3}}, {}, 1000).stall_seconds, 0);
}

TEST(ExpertReport, SaysWhichLayersAreFasterThanTheLinkCanBe) {
  ExpertReport report = Report();
  report.timed_steps = 16;
  // The link gives 1.07 GB/s.
  report.timings = {{2e6, 1e-3, 0.5e-3}, {1e6, 2e-3, 0.25e-3}};
  EXPECT_TRUE(report.BeyondLink(0));
  EXPECT_FALSE(report.BeyondLink(1));
  EXPECT_DOUBLE_EQ(report.StallSeconds(), 0.75e-3);
  const std::string text = report.ToText();
  for (const char* part :
       {"stall             750 us", "1000.0      500.0      2.00 *\n",
        "2000.0      250.0      0.50\n", "which no copy over it can be"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  auto json = report.ToJson();
  EXPECT_DOUBLE_EQ(json["stall_us_per_step"], 750);
  EXPECT_EQ(json["layers"][0]["beyond_link"], true);
  EXPECT_EQ(json["layers"][1]["beyond_link"], false);
  EXPECT_EQ(json["layers"][0]["bytes_slots"], 24 << 20);
  report.timings[1].stall_seconds = -1;
  json = report.ToJson();
  EXPECT_FALSE(json.contains("stall_us_per_step"));
  EXPECT_FALSE(json["layers"][1].contains("stall_us"));
  report.link_bytes_per_second = 0;
  EXPECT_FALSE(report.BeyondLink(0)) << "not known";
}

}  // namespace
}  // namespace glm::tools
