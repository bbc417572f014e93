// Costs worked out by hand, and sums that must close.
#include "compiler/explain/CostModel.h"

#include <string>

#include "compiler/explain/LayerKinds.h"
#include "compiler/plan/PlanSummary.h"
#include "runtime/plan/test_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glm::explain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 1,000 B/us with 8 blocks, 10 B/us over the link, one flop a microsecond.
Machine handMachine() {
  Machine m;
  m.memoryGiB = {1, "estimate"};
  m.memoryGBs = {2, "estimate"};
  m.memoryAchievable = {0.5, "estimate"};
  m.saturatingBlocks = {8, "estimate"};
  m.linkCopyGBs = {0.04, "estimate"};
  m.linkGatherGBs = {0.01, "estimate"};
  m.matrixTflops = m.vectorTflops = {1e-6, "estimate"};
  m.matrixAchievable = m.vectorAchievable = {1, "estimate"};
  m.launchUs = {2, "estimate"};
  m.barrierUs = {3, "estimate"};
  m.stepUs = {7, "estimate"};
  m.allReduceUs = {5, "estimate"};
  return m;
}

// The toy plan: toy_sum moves 8 B of state in one block; toy_logits reads 64 B
// of weights, one argument being a table of experts, in 8 blocks.
class CostModelTest : public testing::Test {
protected:
  plan::EntryT &decode() { return *tables.entries[0]; }

  const plan::Plan &built() {
    builder.Clear();
    builder.Finish(plan::Plan::Pack(builder, &tables), plan::PlanIdentifier());
    return *plan::GetPlan(builder.GetBufferPointer());
  }

  EntryCost decodeCost(const Assumptions &assumptions) {
    const plan::Plan &plan = built();
    auto cost = costOf(plan, *plan.entries()->Get(0), assumptions);
    EXPECT_TRUE(!!cost);
    return cost ? std::move(*cost) : EntryCost();
  }

  std::string errorText() {
    const plan::Plan &plan = built();
    auto cost = costOf(plan, *plan.entries()->Get(0), {handMachine()});
    return cost ? "" : llvm::toString(cost.takeError());
  }

  // Both launches as one grid, the second after a barrier.
  void groupBoth() {
    plan::GroupT &group = plan::Add(decode().groups);
    group.chains = {plan::Chain(1, 0, 1, 1), plan::Chain(1, 1, 8, 1)};
  }

  plan::PlanT tables = plan::MakeToyPlan();
  flatbuffers::FlatBufferBuilder builder;
};

TEST_F(CostModelTest, LaunchesAreBytesOverBandwidthPlusOverhead) {
  const EntryCost cost = decodeCost({handMachine()});
  ASSERT_EQ(cost.devices.size(), 2u);
  // 8 B with one of eight blocks: 8 / (1000 / 8).
  EXPECT_NEAR(cost.devices[0].time.total(), 2 + 0.064, 1e-9);
  EXPECT_NEAR(cost.devices[1].time.total(), 2 + 0.064, 1e-9);
  EXPECT_NEAR(cost.time.memory, 0.008 + 0.064, 1e-9);
  EXPECT_NEAR(cost.time.smallGrid, 0.056, 1e-9);
  EXPECT_NEAR(cost.time.launch, 4, 1e-9);
  EXPECT_NEAR(cost.floorUs, 72.0 / 1000, 1e-9);
  EXPECT_NEAR(cost.tokensPerSecond(), 1e6 / 4.128, 1e-3);
}

TEST_F(CostModelTest, GroupPaysOneLaunchAndItsBarriers) {
  groupBoth();
  const EntryCost cost = decodeCost({handMachine()});
  ASSERT_EQ(cost.devices.size(), 1u);
  EXPECT_EQ(cost.devices[0].phases, 2u);
  EXPECT_EQ(cost.devices[0].blocks, 8u);
  EXPECT_EQ(cost.launches[1].phase, 1u);
  EXPECT_NEAR(cost.time.total(), 2 + 3 + 0.128, 1e-9);
  EXPECT_NEAR(cost.time.barrier, 3, 1e-9);
}

// Few blocks wait for each launch that they run after another; many hide it.
TEST_F(CostModelTest, BlocksPayTheirSteps) {
  plan::Add(decode().groups).chains = {plan::Chain(2, 0, 1, 1)};
  EXPECT_NEAR(decodeCost({handMachine()}).time.step, 7, 1e-9);
  decode().groups[0]->chains = {plan::Chain(1, 0, 1, 1), plan::Chain(1, 1, 1, 1)};
  EXPECT_NEAR(decodeCost({handMachine()}).time.step, 7, 1e-9);
  decode().groups[0]->chains = {plan::Chain(2, 0, 8, 1)};
  EXPECT_NEAR(decodeCost({handMachine()}).time.step, 0, 1e-9);
}

TEST_F(CostModelTest, ChainsOfAPhaseRunTogether) {
  plan::GroupT &group = plan::Add(decode().groups);
  group.chains = {plan::Chain(1, 0, 4, 1), plan::Chain(1, 0, 2, 2)};
  const EntryCost cost = decodeCost({handMachine()});
  // 72 B in eight blocks.
  EXPECT_NEAR(cost.time.total(), 2 + 0.072, 1e-9);
}

TEST_F(CostModelTest, MissingExpertsCrossTheLink) {
  const EntryCost cost = decodeCost({handMachine(), 0.5});
  EXPECT_EQ(cost.work.expertBytes, 64u);
  EXPECT_NEAR(cost.time.link, 32 / 10.0, 1e-9);
  EXPECT_NEAR(cost.devices[1].time.memory, 0, 1e-9);
  EXPECT_NEAR(cost.floorUs, 3.2, 1e-9);
}

TEST_F(CostModelTest, LongestOfMemoryAndComputeCounts) {
  decode().launches[1]->flops = 100;
  const EntryCost cost = decodeCost({handMachine()});
  EXPECT_NEAR(cost.devices[1].time.compute, 100, 1e-9);
  EXPECT_NEAR(cost.devices[1].time.memory, 0, 1e-9);
}

TEST_F(CostModelTest, CardsShareWhatHasWeightsOrStateAndAgreeTwiceALayer) {
  decode().launches[0]->origin = "layers.0.self_attn.sum";
  decode().launches[1]->origin = "layers.1.mlp.logits";
  tables.model->hidden = 10;
  Machine two = handMachine();
  two.cards = 2;
  const EntryCost cost = decodeCost({two});
  // 4 B with one block, 32 B with four.
  EXPECT_NEAR(cost.time.memory + cost.time.smallGrid, 0.032 + 0.064, 1e-9);
  // Four times 5 us and 40 B of fp32 at 40 B/us.
  EXPECT_NEAR(cost.time.allReduce, 4 * (5 + 1), 1e-9);
}

TEST_F(CostModelTest, RowwiseWorkIsNotShared) {
  tables.kernels[0]->op = "rowwise";
  Machine two = handMachine();
  two.cards = 2;
  const EntryCost cost = decodeCost({two});
  EXPECT_NEAR(cost.time.memory + cost.time.smallGrid, 0.064 + 0.064, 1e-9);
}

TEST_F(CostModelTest, SumsClose) {
  for (bool grouped : {false, true}) {
    if (grouped)
      groupBoth();
    decode().launches[0]->origin = "layers.0.sum";
    Machine two = handMachine();
    two.cards = 2;
    const EntryCost cost = decodeCost({two, 0.25});
    const plan::Plan &plan = built();
    const planfile::PlanSummary summary = planfile::summarise(plan);
    EXPECT_EQ(cost.work.weightBytes, summary.decode()->weightBytes);
    EXPECT_EQ(cost.work.memoryBytes, summary.decode()->memoryBytes);
    EXPECT_EQ(cost.work.flops, summary.decode()->flops);
    EXPECT_EQ(cost.launches.size(), summary.decode()->operations);

    const double reduces = (cost.perLayer * cost.layers.size()).total();
    double devices = reduces, launches = reduces, ops = reduces, kinds = 0;
    uint64_t bytes = 0, counted = 0;
    for (const auto &d : cost.devices)
      devices += d.time.total();
    for (const auto &l : cost.launches)
      launches += l.time.total();
    for (const auto &row : costsByOp(plan, cost, false)) {
      ops += row.time.total();
      bytes += row.work.bytes();
    }
    for (const auto &kind : layerKinds(plan, cost)) {
      kinds += kind.time.total();
      counted += kind.launches;
    }
    for (double sum : {devices, launches, ops, kinds}) {
      EXPECT_NEAR(sum, cost.time.total(), 1e-9);
    }
    EXPECT_EQ(bytes, cost.work.bytes());
    EXPECT_EQ(counted, cost.launches.size());
  }
}

TEST_F(CostModelTest, LayersWithTheSameKernelsAreOneKind) {
  // Layers 0, 1, 3 launch toy_sum, layer 2 launches both; toy_logits is
  // outside.
  const plan::LaunchT sum = *decode().launches[0];
  const plan::LaunchT logits = *decode().launches[1];
  decode().launches.clear();
  const auto add = [&](const plan::LaunchT &launch, const char *origin) {
    decode().launches.push_back(std::make_unique<plan::LaunchT>(launch));
    decode().launches.back()->origin = origin;
  };
  for (const char *origin : {"layers.0.a", "layers.1.b", "layers.2.c", "layers.3.d"}) {
    add(sum, origin);
  }
  add(logits, "layers.2.e");
  add(logits, "head");
  const EntryCost cost = decodeCost({handMachine()});
  const plan::Plan &plan = built();
  const auto kinds = layerKinds(plan, cost);
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[0].name(), "3 layers: 0, 1, 3");
  EXPECT_EQ(kinds[0].launches, 3u);
  EXPECT_EQ(kinds[0].kernels.at("toy_sum"), 1u);
  EXPECT_EQ(kinds[1].name(), "1 layer: 2");
  EXPECT_EQ(kinds[1].launches, 2u);
  EXPECT_EQ(kinds[2].name(), "outside layers");
  // Every kind has toy_sum; only one has toy_logits.
  EXPECT_THAT(distinctOps(plan, cost, kinds),
              ElementsAre(IsEmpty(), ElementsAre("toy_logits"), IsEmpty()));
}

TEST(LayerKindTest, NameJoinsRuns) {
  LayerKind kind;
  kind.stack = "blocks";
  kind.layers = {0, 1, 2, 4, 6, 7};
  EXPECT_EQ(kind.name(), "6 blocks: 0-2, 4, 6, 7");
  kind.layers = {0, 2, 4, 6, 8, 9, 10};
  EXPECT_EQ(kind.name(), "7 blocks: 0, 2, ..., 8-10");
  EXPECT_EQ(kind.name(/*all=*/true), "7 blocks: 0, 2, 4, 6, 8-10");
}

TEST(LayerOfOriginTest, TakesTheFirstNumberAfterAName) {
  EXPECT_EQ(layerOfOrigin("layers.31.mlp.experts.7.up"), (Layer{"layers", 31}));
  EXPECT_EQ(layerOfOrigin("model.blocks.2.norm"), (Layer{"blocks", 2}));
  EXPECT_EQ(layerOfOrigin("lm_head"), std::nullopt);
  EXPECT_EQ(layerOfOrigin("3.q"), std::nullopt);
  EXPECT_EQ(layerOfOrigin(""), std::nullopt);
  EXPECT_EQ(layerOfOrigin("layers.99999999999.q"), std::nullopt);
}

TEST_F(CostModelTest, GroupsOutsideTheEntryAreRefused) {
  groupBoth();
  plan::GroupT &group = *decode().groups[0];
  group.first = 5;
  EXPECT_EQ(errorText(),
            "entry decode_b1: groups[0]: begins at launch 5, expected one from "
            "0 to 2");
  group.first = 1;
  EXPECT_THAT(errorText(), HasSubstr("groups[0]: covers more launches than the 2"));
  group.first = 0;
  group.chains = {plan::Chain(1, 1, 1, 1), plan::Chain(1, 0, 1, 1)};
  EXPECT_THAT(errorText(), HasSubstr("phase 0 after 1"));
  group.chains = {};
  EXPECT_THAT(errorText(), HasSubstr("has no launch"));
  group.kernel = 9;
  EXPECT_THAT(errorText(), HasSubstr("kernel 9 of 2"));
}

// A plan of two ranks is what one card runs; its sum is a launch of a fixed time
// and of 16 B over 40 B/us.
TEST_F(CostModelTest, PlansOfRanksAreNotDividedAgain) {
  Machine two = handMachine();
  two.cards = 2;
  EXPECT_EQ(forPlan(built(), {two}).machine.cards, 2u);
  tables.ranks = 2;
  plan::KernelT &kernel = plan::Add(tables.kernels);
  kernel.name = "AllReduce_0_4", kernel.op = "all_reduce";
  kernel.threads = 256, kernel.params = {0, 4};
  auto reduce = std::make_unique<plan::LaunchT>(*decode().launches[0]);
  reduce->kernel = tables.kernels.size() - 1;
  reduce->memory_bytes = 32;
  decode().launches.push_back(std::move(reduce));
  const Assumptions one = forPlan(built(), {two});
  EXPECT_EQ(one.machine.cards, 1u);
  EntryCost cost = decodeCost(one);
  ASSERT_EQ(cost.devices.size(), 3u);
  EXPECT_NEAR(cost.devices[2].time.allReduce, 5, 1e-9);
  EXPECT_NEAR(cost.devices[2].time.link, 0.4, 1e-9);
  EXPECT_NEAR(cost.devices[2].time.total(), 5.4, 1e-9);
  EXPECT_EQ(cost.perLayer.total(), 0);
}

} // namespace
} // namespace glm::explain
