// Plans with paged experts beside the same plans with resident ones, on the
// host: the same logits, to the bit, with every policy, arenas from the least
// to one of all rows, and rows in mapped files, in copies and behind the
// doorbell. Those of several ranks are also held beside one rank, whose sums
// have another order. Arguments: RESIDENT,PAGED or RESIDENT,PAGED,ONE_RANK;
// plans whose name has "packed" in it have their rows in a packed file.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "runtime/device/host/host_collective.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/paged_experts.h"
#include "runtime/executor/parallel_executor.h"
#include "runtime/paging/cache_policy.h"
#include "test/plans/plan_run.h"
#include "tools/glm-check/comparison.h"
#include "tools/glm-check/golden_check.h"

namespace glm {
namespace {

struct Plans {
  std::string resident;
  std::string paged;
  std::string one_rank;  // "": they are of one rank
};
std::vector<Plans> all_plans;

constexpr uint32_t kDecodeSteps = 12;  // after those of PlanSteps
constexpr int kRounds = 2;             // the second finds the first's slots

// A plan on devices of the host, one for each of its ranks.
struct HostRun : PlanSteps {
  std::vector<std::unique_ptr<Device>> devices;
  std::unique_ptr<CollectiveGroup> group;      // null: one rank
  std::unique_ptr<ObservableRunner> executor;  // null, with a failure

  HostRun(const std::string& path, const ExpertOptions& experts) {
    ExecutorOptions options;
    options.experts = experts;
    options.check_weights = false;  // once a plan is enough, and not for this
    auto plan = PlanFile::Open(path);
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return;
    const uint32_t ranks = (*plan)->plan().ranks();
    std::vector<Device*> each;
    for (uint32_t r = 0; r < ranks; ++r) {
      auto device = CreateHostDevice({.threads = ranks == 1 ? 0 : 1});
      EXPECT_TRUE(device.ok()) << device.status();
      devices.push_back(std::move(*device));
      each.push_back(devices.back().get());
    }
    if (ranks == 1) {
      Take(Executor::Create(*plan, *each[0], options));
    } else {
      group = CreateHostGroup(ranks);
      Take(ParallelExecutor::Create(*plan, each, *group, options));
    }
  }

  template <typename Made>
  void Take(Made made) {
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) executor = std::move(*made);
    runner = executor.get();
  }
};

// The logits of a prompt and of the steps after it.
std::vector<float> Logits(HostRun& run) {
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

// Several ranks take longer, and try three policies.
bool Tried(const paging::Policy& policy, bool ranks) {
  const std::string_view name = policy.name;
  return !policy.pinned &&
         (!ranks || name == "lru" || name == "lfru" || name == "quota-lfru");
}

class PagedPlan : public ::testing::TestWithParam<Plans> {};

TEST_P(PagedPlan, GivesTheBitsOfResidentExperts) {
  HostRun resident(GetParam().resident, {});
  ASSERT_NE(resident.executor, nullptr);
  const std::vector<float> expected = Logits(resident);
  ASSERT_FALSE(expected.empty());
  const bool packed = absl::StrContains(GetParam().paged, "packed");
  int runs = 0;
  for (const paging::Policy& policy : paging::Policies()) {
    if (!Tried(policy, !GetParam().one_rank.empty())) continue;
    HostRun all(GetParam().paged, {.policy = policy.name});
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
        HostRun paged(GetParam().paged,
                      {.slots = slots,
                       .host_bytes = tier.host_rows * budget.row_bytes,
                       .policy = policy.name,
                       .map_rows = tier.map});
        ASSERT_NE(paged.executor, nullptr);
        for (PagedExperts* experts : paged.executor->paging()) {
          ASSERT_EQ(experts->budget().slots, slots);
          ASSERT_EQ(experts->budget().mapped_rows,
                    packed && tier.map ? rows : 0);
          ASSERT_EQ(experts->budget().file_rows > 0, tier.host_rows > 0);
        }
        for (int round = 0; round < kRounds; ++round) {
          // Not EXPECT_EQ, which would print them all.
          ASSERT_TRUE(Logits(paged) == expected) << "round " << round;
        }
        for (PagedExperts* experts : paged.executor->paging()) {
          const absl::Status rows_are_right = experts->CheckResidentRows();
          ASSERT_TRUE(rows_are_right.ok()) << rows_are_right;
        }
        ++runs;
      }
    }
  }
  RecordProperty("runs", runs);
  EXPECT_GE(runs, 27);
}

// docs/spec/numerics.md, Several ranks: the bounds of one.
TEST_P(PagedPlan, IsWithinTheBoundsOfOneRank) {
  if (GetParam().one_rank.empty()) GTEST_SKIP() << "is of one rank";
  HostRun one(GetParam().one_rank, {}), ranks(GetParam().paged, {});
  ASSERT_NE(one.executor, nullptr);
  ASSERT_NE(ranks.executor, nullptr);
  ASSERT_EQ(ranks.executor->paging().size(), ranks.devices.size());
  const std::vector<float> want = Logits(one), got = Logits(ranks);
  ASSERT_EQ(got.size(), want.size());
  const bool exact = ranks.executor->plan_file().plan().math()->str() == "fp32";
  const check::GoldenBounds bounds;
  const double distance =
      check::RelL2({got.begin(), got.end()}, {want.begin(), want.end()});
  RecordProperty("distance", std::to_string(distance));
  EXPECT_LE(distance, exact ? bounds.rel_l2 : bounds.mean_rel_l2);
}

INSTANTIATE_TEST_SUITE_P(All, PagedPlan, ::testing::ValuesIn(all_plans),
                         [](const auto& info) {
                           return "plans_" + std::to_string(info.index);
                         });

}  // namespace
}  // namespace glm

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("--")) continue;
    std::vector<std::string> paths = absl::StrSplit(argv[i], ',');
    if (paths.size() < 2) continue;
    paths.resize(3);
    glm::all_plans.push_back({paths[0], paths[1], paths[2]});
  }
  ::testing::InitGoogleTest(&argc, argv);
  if (glm::all_plans.empty()) {
    std::fprintf(stderr,
                 "usage: paged_plan_test RESIDENT,PAGED[,ONE_RANK] ...\n");
    return 2;
  }
  return RUN_ALL_TESTS();
}
