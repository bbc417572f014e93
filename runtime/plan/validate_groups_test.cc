// Groups of the plan that launches every op, and tiles of its rowwise kernel,
// with one number changed: what is wrong and where must be in the error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan_validator.h"
#include "runtime/plan/test_ops_plan.h"

namespace glm {
namespace {

using plan::Chain;
using plan::EntryT;
using plan::GroupT;
using plan::KernelT;
using plan::PlanT;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status Validate(const PlanT& plan) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Plan::Pack(builder, &plan), plan::PlanIdentifier());
  return ValidatePlan("p.glmplan", *plan::GetPlan(builder.GetBufferPointer()),
                      5000, 100'000);
}

EntryT& Decode(PlanT& plan) { return *plan.entries[0]; }
EntryT& Prefill(PlanT& plan) { return *plan.entries[1]; }
GroupT& Group(PlanT& plan) { return *Prefill(plan).groups[0]; }

plan::BufferT& Buffer(PlanT& plan, const std::string& name) {
  for (auto& buffer : Prefill(plan).buffers) {
    if (buffer->name == name) return *buffer;
  }
  ADD_FAILURE() << "no buffer " << name;
  return *Prefill(plan).buffers[0];
}

plan::RowProgramT& Program(PlanT& plan) {
  for (auto& kernel : plan.kernels) {
    if (kernel->program != nullptr) return *kernel->program;
  }
  ADD_FAILURE() << "no rowwise kernel";
  return *plan.kernels[0]->program;
}

// The kernel of the group gets the name of what the group is now.
void Rename(PlanT& plan) {
  plan.kernels[Group(plan).kernel]->name =
      plan::GroupKernelName(plan, Prefill(plan), Group(plan));
}

struct Case {
  const char* name;
  std::function<void(PlanT&)> damage;
  const char* where;
  const char* text;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class GroupValidatorTest : public ::testing::TestWithParam<Case> {};

TEST_P(GroupValidatorTest, DamageIsNamed) {
  PlanT plan = plan::MakeOpsPlan();
  GetParam().damage(plan);
  const absl::Status status = Validate(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("p.glmplan"), HasSubstr(GetParam().where),
                    HasSubstr(GetParam().text)));
}

// Phase by phase, a grid may find, copy and read rows.
TEST(GroupValidatorSampleTest, PagerPhaseByPhase) {
  PlanT plan = plan::MakeOpsPlan();
  Group(plan).first = 21;
  Group(plan).chains = {Chain(1, 0, 1, 1), Chain(1, 1, 1, 64),
                        Chain(1, 2, 1, 5)};
  Rename(plan);
  const absl::Status status = Validate(plan);
  EXPECT_TRUE(status.ok()) << status;
}

// A further group, of a decode step.
void Join(PlanT& plan, uint32_t first, std::vector<Chain> chains,
          std::vector<uint32_t> slack = {}) {
  Decode(plan).groups.push_back(std::make_unique<GroupT>());
  GroupT& group = *Decode(plan).groups.back();
  group.first = first;
  group.chains = std::move(chains);
  group.slack = std::move(slack);
  group.kernel = static_cast<uint32_t>(plan.kernels.size());
  plan.kernels.push_back(std::make_unique<KernelT>());
  plan.kernels.back()->name = GroupKernelName(plan, Decode(plan), group);
  plan.kernels.back()->op = "group";
  plan.kernels.back()->threads = 256;
}

// Find, then products beside the copies that they wait for.
void Beside(PlanT& plan, Chain copies, Chain products) {
  Join(plan, 21, {Chain(1, 0, 1, 1), copies, products},
       {0, products.phase() - copies.phase(), 0});
}

TEST(GroupValidatorSampleTest, ProductsBesideTheirCopies) {
  PlanT plan = plan::MakeOpsPlan();
  Beside(plan, Chain(1, 1, 1, 64), Chain(1, 2, 1, 2));
  const absl::Status status = Validate(plan);
  EXPECT_TRUE(status.ok()) << status;
}

// Their blocks might be there first, and the copies' never.
TEST(GroupValidatorSampleTest, ProductsAtOnceWithTheirCopies) {
  PlanT plan = plan::MakeOpsPlan();
  Beside(plan, Chain(1, 1, 1, 64), Chain(1, 1, 1, 2));
  EXPECT_THAT(std::string(Validate(plan).message()),
              HasSubstr("touches buffer arrivals0"));
}

// A block would wait for blocks of its own chain.
TEST(GroupValidatorSampleTest, ProductsInTheChainOfTheirCopies) {
  PlanT plan = plan::MakeOpsPlan();
  Join(plan, 22, {Chain(2, 0, 1, 2)});
  EXPECT_THAT(std::string(Validate(plan).message()),
              HasSubstr("waits for the counts of blocks"));
}

// Rows that one chain reads may be another's victims.
TEST(GroupValidatorSampleTest, ProductsBesideTheNextAccess) {
  PlanT plan = plan::MakeOpsPlan();
  Join(plan, 23, {Chain(1, 0, 1, 2), Chain(1, 0, 1, 1)});
  EXPECT_THAT(std::string(Validate(plan).message()),
              HasSubstr("read rows of experts and move them"));
}

// Of the launches 6 (12 x 2 places, or 5 experts), 7 (3 parts), 8 (12 rows).
const Case kCases[] = {
    {"first_beyond", [](PlanT& p) { Group(p).first = 29; },
     "prefill_n12: groups[0]", "begins at launch 29, expected 0 to 28"},
    {"first_wraps", [](PlanT& p) { Group(p).first = ~0u; }, "groups[0]",
     "begins at launch 4294967295"},
    {"overlap",
     [](PlanT& p) {
       auto& groups = Prefill(p).groups;
       groups.push_back(std::make_unique<GroupT>(*groups[0]));
       groups[1]->first = 8;
     },
     "groups[1]", "begins at launch 8, expected 9 to 28"},
    {"no_chains", [](PlanT& p) { Group(p).chains.clear(); }, "groups[0]",
     "no chains"},
    {"first_phase_1", [](PlanT& p) { Group(p).chains[0] = Chain(1, 1, 1, 1); },
     "groups[0]: chains[0]", "phase 1 after phase 0"},
    {"phase_left_out",
     [](PlanT& p) { Group(p).chains[2] = Chain(1, 2, 12, 1); },
     "groups[0]: chains[2]", "phase 2 after phase 0"},
    {"phase_back",
     [](PlanT& p) {
       Group(p).chains[1] = Chain(1, 1, 1, 3);
       Group(p).chains[2] = Chain(1, 0, 12, 1);
     },
     "groups[0]: chains[2]", "phase 0 after phase 1"},
    {"phases_too_many",
     [](PlanT& p) {
       Group(p).first = 0;
       Group(p).chains.clear();
       for (uint32_t i = 0; i <= plan::kMaxPhases; ++i) {
         Group(p).chains.push_back(Chain(1, i, 1, 1));
       }
     },
     "groups[0]: chains[8]", "phase 8 after phase 7"},
    {"rows_none", [](PlanT& p) { Group(p).chains[1] = Chain(1, 0, 0, 3); },
     "groups[0]: chains[1]", "0 x 3 parts"},
    {"columns_none", [](PlanT& p) { Group(p).chains[1] = Chain(1, 0, 1, 0); },
     "groups[0]: chains[1]", "1 x 0 parts"},
    {"blocks_too_many",
     [](PlanT& p) { Group(p).chains[1] = Chain(1, 0, 1u << 16, 1u << 15); },
     "groups[0]: chains[1]", "65536 x 32768 parts"},
    {"blocks_wrap",
     [](PlanT& p) { Group(p).chains[1] = Chain(1, 0, ~0u, ~0u); },
     "groups[0]: chains[1]", "4294967295 x 4294967295 parts"},
    {"launches_none", [](PlanT& p) { Group(p).chains[1] = Chain(0, 0, 1, 3); },
     "groups[0]: chains[1]", "0 launches from 7 on, the step has 29"},
    {"launches_beyond",
     [](PlanT& p) { Group(p).chains[2] = Chain(22, 1, 1, 1); },
     "groups[0]: chains[2]", "22 launches from 8 on, the step has 29"},
    {"launches_wrap",
     [](PlanT& p) { Group(p).chains[2] = Chain(~0u, 1, 1, 1); },
     "groups[0]: chains[2]", "4294967295 launches"},
    {"sums_beside_their_parts",
     [](PlanT& p) {
       Group(p).chains[2] = Chain(1, 0, 12, 1);
       Rename(p);
     },
     "groups[0]", "chain 2 touches buffer p, which chain 1 of the same phase"},
    {"slacks_too_few", [](PlanT& p) { Group(p).slack = {0, 0}; }, "groups[0]",
     "2 slacks of 3 chains"},
    {"slack_beyond_the_last_phase",
     [](PlanT& p) { Group(p).slack = {2, 0, 0}; }, "groups[0]: chains[0]",
     "phase 0 with a slack of 2, the last phase is 1"},
    {"slack_of_the_last_phase", [](PlanT& p) { Group(p).slack = {0, 0, 1}; },
     "groups[0]: chains[2]", "phase 1 with a slack of 1, the last phase is 1"},
    {"slack_wraps", [](PlanT& p) { Group(p).slack = {~0u, 0, 0}; },
     "groups[0]: chains[0]", "slack of 4294967295"},
    {"slack_of_what_is_read",
     [](PlanT& p) {
       Group(p).slack = {0, 1, 0};
       Rename(p);
     },
     "groups[0]", "chain 2 touches buffer p, which chain 1 of the same phase"},
    {"kernel_of_other_slack", [](PlanT& p) { Group(p).slack = {1, 0, 0}; },
     "groups[0]", ", the one of these launches"},
    {"undivided", [](PlanT& p) { Group(p).chains[1] = Chain(1, 0, 1, 2); },
     "groups[0]: chains[1]",
     "launch 7 has 3 blocks, which 1 x 2 parts do not divide"},
    {"arguments",
     [](PlanT& p) {
       auto& launches = Prefill(p).launches;
       for (int i = 0; i < 103; ++i) {
         launches.push_back(std::make_unique<plan::LaunchT>(*launches[8]));
       }
       for (auto& buffer : Prefill(p).buffers) buffer->last = 131;
       Group(p).first = 29;
       Group(p).chains = {Chain(103, 0, 1, 1)};
     },
     "groups[0]", "516 arguments, at most 512"},
    // Launch 21 is find_rows of one layer, 24 that of the next.
    {"pager_beside_pager",
     [](PlanT& p) {
       auto& launches = Prefill(p).launches;
       *launches[22] = *launches[24];
       *launches[23] = *launches[24] = *launches[6];
       Group(p).first = 21;
       Group(p).chains = {Chain(1, 0, 1, 1), Chain(1, 0, 1, 1)};
       Rename(p);
     },
     "groups[0]", "chains 0 and 1 of one phase use the pager"},
    {"buffer_begins_inside", [](PlanT& p) { Buffer(p, "p").first = 7; },
     "groups[0]", "buffer p lives from 7 to 28, a part of the group only"},
    {"buffer_ends_inside", [](PlanT& p) { Buffer(p, "e").last = 7; },
     "groups[0]", "buffer e lives from 0 to 7, a part of the group only"},
    {"kernel_beyond", [](PlanT& p) { Group(p).kernel = 999; }, "groups[0]",
     "kernel 999 of "},
    {"kernel_of_another_op", [](PlanT& p) { Group(p).kernel = 0; }, "groups[0]",
     "kernel Embed_1_0_6_8 is not group_"},
    {"kernel_of_other_launches",
     [](PlanT& p) { Group(p).chains[2] = Chain(1, 1, 6, 1); }, "groups[0]",
     ", the one of these launches"},
    {"kernel_of_other_chains",
     [](PlanT& p) { Group(p).chains = {Chain(1, 0, 1, 1), Chain(1, 0, 1, 3)}; },
     "groups[0]", ", the one of these launches"},
    {"kernel_named_group",
     [](PlanT& p) { p.kernels[Group(p).kernel]->op = "sum_parts"; }, "kernels[",
     "the name is not one of op sum_parts"},
    {"op_group_of_another_name", [](PlanT& p) { p.kernels[0]->op = "group"; },
     "kernels[0]", "the name is not one of op group"},
    {"launched_outside",
     [](PlanT& p) { Prefill(p).launches[0]->kernel = Group(p).kernel; },
     "launches[0] group_", "a launch of a group's kernel outside of groups"},
    {"tiles_none", [](PlanT& p) { Program(p).tiles = 0; }, "kernels[",
     "0 tiles of 3 columns"},
    {"tiles_undivided", [](PlanT& p) { Program(p).tiles = 2; }, "kernels[",
     "2 tiles of 3 columns"},
    {"tiles_of_the_grid", [](PlanT& p) { Program(p).tiles = 3; }, "launches[1]",
     "grid 4 x 1 x 1, the kernel needs 12 x 1 x 1"},
    {"tiles_of_a_reduced_row",
     [](PlanT& p) {
       auto& reduce = plan::Add(Program(p).code);
       reduce.op = plan::RowOp::REDUCE_MAX;
       Program(p).tiles = 3;
     },
     "kernels[", "3 tiles of a row that is reduced"},
    {"none_together", [](PlanT& p) { Program(p).together = 0; }, "kernels[",
     "0 rows together"},
    {"undivided_together", [](PlanT& p) { Program(p).together = 3; },
     "kernels[", "3 rows together"},
    {"tiles_together",
     [](PlanT& p) { Program(p).tiles = 3, Program(p).together = 2; },
     "kernels[", "2 rows together"},
    {"together_of_the_grid", [](PlanT& p) { Program(p).together = 2; },
     "launches[1]", "grid 4 x 1 x 1, the kernel needs 2 x 1 x 1"},
};

INSTANTIATE_TEST_SUITE_P(Damage, GroupValidatorTest,
                         ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(GroupValidatorSampleTest, BuffersMayEndAndBeginWithTheGroup) {
  PlanT plan = plan::MakeOpsPlan();
  Buffer(plan, "p").first = 6;
  Buffer(plan, "p").last = 8;
  Buffer(plan, "e").first = 6;
  Buffer(plan, "e").last = 8;
  Buffer(plan, "c").first = 9;
  Buffer(plan, "c").last = 20;
  const absl::Status status = Validate(plan);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(GroupValidatorSampleTest, WhatNobodyReadsMayHaveSlack) {
  PlanT plan = plan::MakeOpsPlan();
  Group(plan).slack = {1, 0, 0};
  Rename(plan);
  const absl::Status status = Validate(plan);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(GroupValidatorSampleTest, GroupsFollowEachOther) {
  PlanT plan = plan::MakeOpsPlan();
  auto& groups = Prefill(plan).groups;
  Group(plan).chains.pop_back();
  Rename(plan);
  GroupT& second = plan::Add(groups);
  second.first = 8;
  second.chains = {Chain(1, 0, 4, 1), Chain(1, 0, 1, 2)};
  second.kernel = static_cast<uint32_t>(plan.kernels.size());
  plan::KernelT& kernel = plan::Add(plan.kernels);
  kernel = *plan.kernels[Group(plan).kernel];
  kernel.name = plan::GroupKernelName(plan, Prefill(plan), second);
  const absl::Status status = Validate(plan);
  EXPECT_TRUE(status.ok()) << status;
  Buffer(plan, "ps").last = 8;
  EXPECT_THAT(std::string(Validate(plan).message()),
              HasSubstr("groups[1]: buffer ps lives from 0 to 8"));
}

TEST(GroupValidatorSampleTest, TilesMultiplyTheGrid) {
  PlanT plan = plan::MakeOpsPlan();
  Program(plan).tiles = 3;
  for (auto& entry : plan.entries) {
    for (auto& launch : entry->launches) {
      if (plan.kernels[launch->kernel]->op == "rowwise") launch->grid[0] *= 3;
    }
  }
  const absl::Status status = Validate(plan);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(GroupValidatorSampleTest, RowsTogetherDivideTheGrid) {
  PlanT plan = plan::MakeOpsPlan();
  Program(plan).together = 2;
  for (auto& entry : plan.entries) {
    for (auto& launch : entry->launches) {
      if (plan.kernels[launch->kernel]->op == "rowwise") launch->grid[0] /= 2;
    }
  }
  const absl::Status status = Validate(plan);
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace glm
