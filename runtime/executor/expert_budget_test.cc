#include "runtime/executor/expert_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/executor/expert_rows.h"

namespace glm {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20, kGiB = uint64_t{1} << 30;

// 42 layers of 288 experts, 8 a token, rows of 6 MiB.
ExpertRows Rows(uint32_t step_tokens = 1, uint32_t decode_tokens = 1) {
  ExpertRows rows;
  rows.shape = {42, 288, 8};
  const uint64_t sizes[] = {2 * kMiB, 2 * kMiB, 2 * kMiB};
  rows.layout = paging::RowLayout::Of(3, 1, sizes);
  rows.step_tokens = step_tokens;
  rows.decode_tokens = decode_tokens;
  return rows;
}

ExpertSurroundings Around(uint64_t device, uint64_t host) {
  ExpertSurroundings around;
  around.device_free = device;
  around.host.machine = host;
  around.distinct_rows = 42 * 288;
  around.plan_path = "x.glmplan";
  return around;
}

TEST(ExpertBudget, FillsTheDeviceAndPinsAllRows) {
  const auto budget = PlanExperts(Rows(), {}, Around(16 * kGiB, 128 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->policy, "quota-lfru");
  EXPECT_EQ(budget->slots, 2666u)
      << "16 GiB less 384 MiB and the pager, by 6 MiB";
  EXPECT_LE(budget->DeviceBytes(), 16 * kGiB);
  EXPECT_EQ(budget->pinned_rows, 12096u);
  EXPECT_EQ(budget->file_rows, 0u);
  EXPECT_EQ(budget->StagingBytes(), 0u);
}

// Half of a memory that rows share, but what a step may ask for.
TEST(ExpertBudget, ShortSharedMemoryHoldsTheLeastThatAStepNeeds) {
  ExpertSurroundings around = Around(80 * kMiB, 100 * kMiB);
  around.unified = true;
  around.mapped_rows = around.distinct_rows;
  around.distinct_rows = 0;
  const auto budget = PlanExperts(Rows(), {}, around);
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->slots, 8u) << "where half of 80 MiB holds 6";
  EXPECT_EQ(budget->policy, "lfru");
  around.device_free = 40 * kMiB;
  EXPECT_THAT(PlanExperts(Rows(), {}, around).status().message(),
              HasSubstr("8 slots take 48.0 MiB, 40.0 MiB are free"));
}

TEST(ExpertBudget, AllRowsNeedNoMoreSlots) {
  const auto budget = PlanExperts(Rows(), {}, Around(900 * kGiB, 128 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->slots, 12096u);
}

TEST(ExpertBudget, ShortMemoryLeavesRowsInTheirFiles) {
  const auto budget = PlanExperts(Rows(), {}, Around(16 * kGiB, 40 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  // 36 GiB after the reserve, 48 MiB and the bell of them for staging.
  EXPECT_EQ(budget->host_budget, 36 * kGiB);
  EXPECT_EQ(budget->ring, kStagingRows);
  EXPECT_EQ(budget->pinned_rows, 6135u);
  EXPECT_EQ(budget->file_rows, 12096u - 6135u);
  EXPECT_LE(budget->HostBytes(), budget->host_budget);
  EXPECT_THAT(budget->ToString(), HasSubstr("rows from files"));
}

TEST(ExpertBudget, WhatElseTheProgramTakesIsLeftFree) {
  const auto budget = PlanExperts(Rows(), {.host_taken = 10 * kGiB},
                                  Around(16 * kGiB, 50 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->host_budget, 36 * kGiB) << "as of 40 GiB";
  EXPECT_EQ(PlanExperts(Rows(), {.host_taken = 60 * kGiB},
                        Around(16 * kGiB, 50 * kGiB))
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(ExpertBudget, AControlGroupLimitsAsTheMachineDoes) {
  ExpertSurroundings around = Around(16 * kGiB, 256 * kGiB);
  around.host.group = 40 * kGiB;
  around.host.group_limit = 64 * kGiB;
  around.host.lock = 64 << 10;
  const auto budget = PlanExperts(Rows(), {}, around);
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->pinned_rows, 6135u);
  EXPECT_THAT(budget->ToString(),
              HasSubstr("control group's limit of 64.0 GiB"));
  EXPECT_THAT(budget->ToString(), HasSubstr("memlock limit 64.0 KiB"));
}

TEST(ExpertBudget, WhatAmdsDriversMayTakeLimitsWhatIsTakenByItself) {
  ExpertSurroundings around = Around(16 * kGiB, 128 * kGiB);
  around.host.amd = 64 * kGiB;
  auto budget = PlanExperts(Rows(), {}, around);
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->host_budget, 56 * kGiB);
  EXPECT_GT(budget->file_rows, 0u);
  EXPECT_THAT(budget->ToString(), HasSubstr("64.0 GiB (ttm.pages_limit)"));
  budget = PlanExperts(Rows(), {.host_bytes = 80 * kGiB}, around);
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->file_rows, 0u) << "a person may know better";
}

TEST(ExpertBudget, OneMemoryIsShared) {
  ExpertSurroundings around = Around(100 * kGiB, 100 * kGiB);
  around.unified = true;
  const auto budget = PlanExperts(Rows(), {}, around);
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->slots, 8533u) << "half of it";
  EXPECT_LE(budget->DeviceBytes() + budget->HostBytes(), 100 * kGiB);
  EXPECT_GT(budget->file_rows, 0u);
}

TEST(ExpertBudget, ExecutorsOfOneMachineShareIt) {
  const auto budget =
      PlanExperts(Rows(), {.sharers = 2}, Around(16 * kGiB, 80 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->slots, 2666u) << "each has a device of its own";
  EXPECT_EQ(budget->host_budget, 36 * kGiB);
  EXPECT_FALSE(PlanExperts(Rows(), {.host_bytes = 50 * kGiB, .sharers = 2},
                           Around(16 * kGiB, 80 * kGiB))
                   .ok());
}

TEST(ExpertBudget, SlotsAreAsManyAsAPersonSays) {
  auto budget =
      PlanExperts(Rows(), {.slots = 2383}, Around(16 * kGiB, 128 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->slots, 2383u);
  budget = PlanExperts(Rows(), {.slot_bytes = 3 * kGiB},
                       Around(16 * kGiB, 128 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->slots, 512u);
}

TEST(ExpertBudget, SharesAreTheDefaultWhereDecodingFitsThem) {
  // 8 of 42 layers are 336 slots; of all layers 8 are enough.
  auto budget =
      PlanExperts(Rows(), {.slots = 335}, Around(16 * kGiB, 128 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->policy, "lfru");
  EXPECT_EQ(budget->least_slots, 8u);
  budget = PlanExperts(Rows(), {.slots = 336}, Around(16 * kGiB, 128 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->policy, "quota-lfru");
  EXPECT_EQ(budget->least_slots, 8u);
  // A prompt that asks for all 288 changes nothing, wide decoding does.
  budget =
      PlanExperts(Rows(2048), {.slots = 2383}, Around(16 * kGiB, 128 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->policy, "quota-lfru");
  EXPECT_EQ(budget->least_slots, 288u);
  for (const uint32_t batch : {7, 8}) {
    budget = PlanExperts(Rows(2048, batch), {.slots = 2383},
                         Around(16 * kGiB, 128 * kGiB));
    ASSERT_TRUE(budget.ok()) << budget.status();
    EXPECT_EQ(budget->policy, batch == 7 ? "quota-lfru" : "lfru")
        << "56 slots a layer at least";
  }
}

TEST(ExpertBudget, EveryPolicyNeedsWhatOneLayerAsksFor) {
  for (const paging::Policy& policy : paging::Policies()) {
    if (policy.pinned) continue;
    auto budget = PlanExperts(Rows(), {.slots = 8, .policy = policy.name},
                              Around(16 * kGiB, 128 * kGiB));
    EXPECT_TRUE(budget.ok()) << budget.status();
    budget = PlanExperts(Rows(), {.slots = 7, .policy = policy.name},
                         Around(16 * kGiB, 128 * kGiB));
    EXPECT_EQ(budget.status().code(), absl::StatusCode::kResourceExhausted);
    for (const char* text :
         {"x.glmplan", "7 slots", policy.name, "8 slots or more",
          "8 slots take 48.0 MiB", "raise --expert-slots"}) {
      EXPECT_THAT(std::string(budget.status().message()), HasSubstr(text));
    }
  }
}

TEST(ExpertBudget, ADeviceThatHoldsNotOneLayerIsRefused) {
  // A prefill of 256 tokens may ask for all experts of a layer.
  const absl::Status status =
      PlanExperts(Rows(256), {}, Around(kGiB, 128 * kGiB)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const char* text :
       {"170 slots", "a step of 256 tokens asks for up to 288",
        "288 slots take 1.7 GiB", "1.0 GiB are free on the device",
        "--max-context"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

TEST(ExpertBudget, NoMemoryForStagingIsRefused) {
  absl::Status status =
      PlanExperts(Rows(), {}, Around(16 * kGiB, 20 * kMiB)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const char* text :
       {"12096 rows of 6.0 MiB", "the host's 20.0 MiB", "ring of 8 rows",
        "48.0 MiB", "20.0 MiB are available", "end other programs"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
  status = PlanExperts(Rows(), {.host_bytes = 10 * kGiB},
                       Around(16 * kGiB, 8 * kGiB))
               .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("8.0 GiB are available; lower --host-memory"));
}

// Host and device are one, under a limit far below what there is.
ExpertSurroundings Limited(uint64_t free) {
  ExpertSurroundings around = Around(free, 100 * kGiB);
  around.unified = true;
  return around;
}

TEST(ExpertBudget, ASmallLimitHoldsSlotsAndRowsTogether) {
  const auto budget = PlanExperts(Rows(), {}, Limited(4 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->slots, 341u) << "half of it";
  EXPECT_LE(budget->DeviceBytes() + budget->HostBytes(), 4 * kGiB);
  EXPECT_GT(budget->pinned_rows, 300u) << "the other half";
}

TEST(ExpertBudget, AutomaticSlotsAreNoFewerThanAStepNeeds) {
  // 288 slots are 1.7 GiB, more than half of 2 GiB; the ring takes 48 MiB.
  const auto budget = PlanExperts(Rows(256), {}, Limited(2 * kGiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->slots, 288u);
  EXPECT_EQ(budget->policy, "lfru");
  EXPECT_EQ(budget->ring, kStagingRows);
  EXPECT_LE(budget->DeviceBytes() + budget->HostBytes(), 2 * kGiB);
  // A card whose slack is more than what it has beside the least.
  const auto card = PlanExperts(Rows(256), {}, Around(1800 * kMiB, 128 * kGiB));
  ASSERT_TRUE(card.ok()) << card.status();
  EXPECT_EQ(card->slots, 288u);
}

TEST(ExpertBudget, NoSlackIsLeftOfAnArtificialLimit) {
  ExpertSurroundings around = Around(3 * kGiB, 128 * kGiB);
  EXPECT_EQ(PlanExperts(Rows(), {}, around)->slots, 447u);
  around.device_spare = kGiB;
  EXPECT_EQ(PlanExperts(Rows(), {}, around)->slots, 511u);
}

TEST(ExpertBudget, TheRingIsTakenFromTheReserve) {
  const auto budget =
      PlanExperts(Rows(), {}, Around(16 * kGiB, 2 * kGiB + 20 * kMiB));
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->pinned_rows, 0u);
  EXPECT_EQ(budget->HostBytes(), budget->StagingBytes());
}

TEST(ExpertBudget, WhatALimitDoesNotHoldIsRefusedWithTheNumbers) {
  absl::Status status =
      PlanExperts(Rows(256), {}, Limited(1760 * kMiB)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const char* text : {"288 slots take 1.7 GiB", "1.7 GiB are free",
                           "--expert-slots", "raise --memory-limit"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
  status =
      PlanExperts(Rows(), {.slots = 300, .host_bytes = kGiB}, Limited(2 * kGiB))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const char* text :
       {"the arena takes 1.8 GiB for 300 slots of the 2.0 GiB",
        "lower --host-memory, lower --expert-slots (8 at least)"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
  EXPECT_TRUE(PlanExperts(Rows(), {.host_bytes = kGiB}, Limited(2 * kGiB)).ok())
      << "slots get the rest";
}

TEST(ExpertBudget, PoliciesThatThereAreNotAreRefused) {
  for (const char* policy : {"best", "pinned-lru"}) {
    const absl::Status status =
        PlanExperts(Rows(), {.policy = policy}, Around(16 * kGiB, 128 * kGiB))
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("quota-lfru, lfru"));
  }
}

}  // namespace
}  // namespace glm
