// The nano model's plan on this machine's GPU, whichever driver it has: every
// launch beside its reference function, the same bits with and without graphs
// and in every run, and the reference implementation's tokens. Skipped without
// a GPU. Arguments: the plan, and the repository's folder when it has moved.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/device/gpu/gpu_device.h"
#include "test/plans/plan_run.h"

namespace glm {
namespace {

std::string plan_path;
std::string source_dir = GLM_SOURCE_DIR;

class GpuPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto device = CreateGpuDevice({}); !device.ok()) {
      GTEST_SKIP() << device.status().message();
    }
  }

  static PlanRun Run(bool graphs) {
    auto device = CreateGpuDevice({});
    EXPECT_TRUE(device.ok()) << device.status();
    ExecutorOptions options;
    options.graphs = graphs;
    // The plan may have been copied away from the files that it names.
    options.weights_dirs = {
        std::filesystem::absolute(source_dir + "/models/glm53/nano/checkpoint")
            .string()};
    return PlanRun(plan_path, std::move(*device), options);
  }
};

TEST_F(GpuPlan, EveryLaunchIsWithinItsBound) {
  PlanRun run = Run(false);
  ASSERT_NE(run.executor, nullptr);
  EXPECT_GE(run.CheckEveryLaunch(), 15u);
}

// Drivers have replayed graphs wrongly, and not in every process.
TEST_F(GpuPlan, GraphsChangeNoBit) {
  PlanRun eager = Run(false);
  PlanRun graphs = Run(true);
  ASSERT_NE(eager.executor, nullptr);
  ASSERT_NE(graphs.executor, nullptr);
  const std::vector<float> expected = eager.Logits();
  ASSERT_FALSE(expected.empty());
  for (int run = 0; run < 20; ++run) {
    EXPECT_EQ(graphs.Logits(), expected) << "run " << run;
  }
  EXPECT_EQ(
      eager.Logits([](const OperationRange&) { return absl::OkStatus(); }),
      expected)
      << "launch by launch";
}

TEST_F(GpuPlan, ChoosesTheGoldenTokens) {
  PlanRun run = Run(true);
  ASSERT_NE(run.executor, nullptr);
  run.CheckGoldenTokens(
      source_dir + "/models/glm53/nano/checkpoint/golden-greedy.safetensors",
      16);
}

}  // namespace
}  // namespace glm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s PLAN [REPOSITORY]\n", argv[0]);
    return 2;
  }
  glm::plan_path = argv[1];
  if (argc == 3) glm::source_dir = argv[2];
  return RUN_ALL_TESTS();
}
