// The nano model's plan on an emulated gfx1201: every launch of a prefill and
// of decode steps beside its reference function, and the same logits in every
// order of waves. Argument: the plan.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/plans/emulator_device.h"
#include "test/plans/plan_argument.h"
#include "test/plans/plan_run.h"

namespace glm {
namespace {

TEST(Gfx1201Plan, EveryLaunchIsWithinItsBound) {
  PlanRun run(plan_path, CreateEmulatorDevice(0));
  ASSERT_NE(run.executor, nullptr);
  // Every op of docs/spec/kernels.md but for those that no model needs.
  EXPECT_GE(run.CheckEveryLaunch(), 15u);
}

TEST(Gfx1201Plan, OrderOfWavesDoesNotMatter) {
  std::vector<float> first;
  for (uint64_t seed : {0, 1, 2}) {
    PlanRun run(plan_path, CreateEmulatorDevice(seed));
    ASSERT_NE(run.executor, nullptr);
    const std::vector<float> logits =
        run.Logits([](const OperationRange&) { return absl::OkStatus(); });
    ASSERT_FALSE(logits.empty());
    if (seed == 0) first = logits;
    EXPECT_EQ(logits, first) << "seed " << seed;
  }
}

// The first tokens that the reference implementation chose for a prompt.
TEST(Gfx1201Plan, ChoosesTheGoldenTokens) {
  PlanRun run(plan_path, CreateEmulatorDevice(0));
  ASSERT_NE(run.executor, nullptr);
  run.CheckGoldenTokens(
      GLM_SOURCE_DIR "/models/glm53/nano/checkpoint/golden-greedy.safetensors",
      4);
}

}  // namespace
}  // namespace glm
