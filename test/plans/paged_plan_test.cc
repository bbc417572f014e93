// Plans with paged experts beside the same plans with resident ones, on the
// host: the same logits, to the bit, with every policy, arenas from the least
// to one of all rows, and rows in mapped files, in copies and behind the
// doorbell. Arguments: pairs of plans, resident and paged.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/paged_experts.h"
#include "runtime/paging/cache_policy.h"
#include "test/plans/plan_run.h"

namespace glm {
namespace {

struct Pair {
  std::string resident;
  std::string paged;
};
std::vector<Pair> pairs;

constexpr uint32_t kDecodeSteps = 12;  // after those of PlanRun
constexpr int kRounds = 2;             // the second finds the first's slots

PlanRun Open(const std::string& path, const ExpertOptions& experts) {
  auto device = CreateHostDevice({});
  EXPECT_TRUE(device.ok()) << device.status();
  ExecutorOptions options;
  options.experts = experts;
  options.check_weights = false;  // once a plan is enough, and not for this
  return PlanRun(path, std::move(*device), options);
}

// The logits of a prompt and of the steps after it.
std::vector<float> Logits(PlanRun& run) {
  std::vector<float> logits = run.Logits();
  const uint32_t decode = run.Entries().back();
  uint32_t position = 39;  // of the prompt, and two steps
  for (uint32_t step = 0; step < kDecodeSteps; ++step) {
    const absl::Status status = run.Step(decode, position);
    EXPECT_TRUE(status.ok()) << status;
    const auto row = run.executor->logits(0);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

struct Tier {
  const char* name;
  bool map;
  uint32_t host_rows;  // 0: memory for all
};
constexpr Tier kTiers[] = {
    {"mapped", true, 0}, {"copied", false, 0}, {"from files", false, 10}};

class PagedPlan : public ::testing::TestWithParam<Pair> {};

TEST_P(PagedPlan, GivesTheBitsOfResidentExperts) {
  PlanRun resident = Open(GetParam().resident, {});
  ASSERT_NE(resident.executor, nullptr);
  const std::vector<float> expected = Logits(resident);
  ASSERT_FALSE(expected.empty());
  int runs = 0;
  for (const paging::Policy& policy : paging::Policies()) {
    if (policy.pinned) continue;
    PlanRun all = Open(GetParam().paged, {.policy = policy.name});
    ASSERT_NE(all.executor, nullptr);
    const ExpertBudget budget = all.executor->paging()[0]->budget();
    const uint32_t least = budget.least_slots, rows = budget.rows;
    ASSERT_LE(least, rows);
    std::vector<uint32_t> sizes = {least};
    for (const uint32_t slots :
         {least + 1, (least + rows) / 2, rows - 1, rows}) {
      if (slots > sizes.back() && slots <= rows) sizes.push_back(slots);
    }
    for (const uint32_t slots : sizes) {
      for (const Tier& tier : kTiers) {
        SCOPED_TRACE(std::string(policy.name) + ", " + std::to_string(slots) +
                     " slots, " + tier.name);
        PlanRun paged = Open(GetParam().paged,
                             {.slots = slots,
                              .host_bytes = tier.host_rows * budget.row_bytes,
                              .policy = policy.name,
                              .map_rows = tier.map});
        ASSERT_NE(paged.executor, nullptr);
        PagedExperts& experts = *paged.executor->paging()[0];
        ASSERT_EQ(experts.budget().slots, slots);
        ASSERT_EQ(experts.budget().file_rows > 0, tier.host_rows > 0);
        for (int round = 0; round < kRounds; ++round) {
          // Not EXPECT_EQ, which would print them all.
          ASSERT_TRUE(Logits(paged) == expected) << "round " << round;
        }
        const absl::Status rows_are_right = experts.CheckResidentRows();
        ASSERT_TRUE(rows_are_right.ok()) << rows_are_right;
        ++runs;
      }
    }
  }
  RecordProperty("runs", runs);
  EXPECT_GE(runs, 30);
}

INSTANTIATE_TEST_SUITE_P(Plans, PagedPlan, ::testing::ValuesIn(pairs),
                         [](const auto& info) {
                           return "pair_" + std::to_string(info.index);
                         });

}  // namespace
}  // namespace glm

int main(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("--")) continue;
    glm::pairs.push_back({argv[i], argv[i + 1]});
    ++i;
  }
  ::testing::InitGoogleTest(&argc, argv);
  if (glm::pairs.empty()) {
    std::fprintf(stderr, "usage: paged_plan_test RESIDENT PAGED ...\n");
    return 2;
  }
  return RUN_ALL_TESTS();
}
