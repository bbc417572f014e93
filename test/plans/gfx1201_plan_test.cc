// The nano model's plan on an emulated gfx1201: every launch of a prefill and
// of decode steps beside its reference function, and the same logits in every
// order of waves. Argument: the plan.

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/executor/executor.h"
#include "test/plans/emulator_device.h"
#include "tools/glm-check/golden_file.h"
#include "tools/glm-check/launch_check.h"
#include "tools/glm-check/replay.h"

namespace glm {
namespace {

std::string plan_path;

// A shorter prompt than the entry takes, so that rows that are not valid are
// met too.
constexpr uint32_t kPromptTokens = 37;

// The plan on a device whose waves run in the order of `seed`.
struct PlanRun {
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor;

  explicit PlanRun(uint64_t seed) : device(CreateEmulatorDevice(seed)) {
    auto plan = PlanFile::Open(plan_path);
    EXPECT_TRUE(plan.ok()) << plan.status();
    auto made = Executor::Create(*plan, *device, {});
    EXPECT_TRUE(made.ok()) << made.status();
    executor = std::move(*made);
  }

  // Entries of one sequence: prefill, which makes the state that decoding goes
  // on from, then two steps of decoding.
  std::vector<uint32_t> Entries() const {
    std::vector<uint32_t> prefill, decode;
    for (uint32_t e = 0; e < executor->entries().size(); ++e) {
      const EntryInfo& info = executor->entries()[e];
      if (info.sequences != 1) continue;
      if (info.tokens > 1) {
        prefill.push_back(e);
      } else {
        decode.insert(decode.end(), 2, e);
      }
    }
    prefill.insert(prefill.end(), decode.begin(), decode.end());
    return prefill;
  }

  // One step on random tokens; moves `position` on.
  absl::Status Step(uint32_t entry, uint32_t& position,
                    const Executor::Observer& observer) {
    const EntryInfo& info = executor->entries()[entry];
    const uint32_t length = std::min(info.tokens, kPromptTokens);
    std::mt19937_64 random(position + 1);
    std::vector<int32_t> ids(info.tokens, 0);
    for (uint32_t i = 0; i < length; ++i) {
      ids[i] = int32_t(random() % executor->model().vocab);
    }
    std::vector<int32_t> rows(info.logit_rows, -1);
    rows[0] = int32_t(length) - 1;
    const SequenceStep sequence = {0, position, length};
    position += length;
    return executor->StepObserved(entry, {ids, {&sequence, 1}, rows}, observer);
  }
};

TEST(Gfx1201Plan, EveryLaunchIsWithinItsBound) {
  PlanRun run(0);
  ASSERT_NE(run.executor, nullptr);
  uint32_t position = 0;
  std::map<std::string, int> launches;
  for (uint32_t entry : run.Entries()) {
    const EntryInfo& info = run.executor->entries()[entry];
    check::LaunchCheck check(*run.executor, entry);
    uint32_t launch = 0;
    ASSERT_TRUE(check.Prepare(launch).ok());
    const absl::Status status =
        run.Step(entry, position, [&](const OperationRange&) -> absl::Status {
          auto results = check.Check();
          if (!results.ok()) return results.status();
          for (const check::LaunchResult& result : *results) {
            EXPECT_LE(result.share, 1.0)
                << info.name << " " << result.origin << " (" << result.kernel
                << ") " << result.where;
            ++launches[result.op];
          }
          if (++launch == check.launches()) return absl::OkStatus();
          return check.Prepare(launch);
        });
    ASSERT_TRUE(status.ok()) << status;
  }
  // Every op of docs/spec/kernels.md but for those that no model needs.
  EXPECT_GE(launches.size(), 15u);
  for (const auto& [op, count] : launches) RecordProperty(op, count);
}

TEST(Gfx1201Plan, OrderOfWavesDoesNotMatter) {
  std::vector<float> first;
  for (uint64_t seed : {0, 1, 2}) {
    PlanRun run(seed);
    ASSERT_NE(run.executor, nullptr);
    uint32_t position = 0;
    std::vector<float> logits;
    for (uint32_t entry : run.Entries()) {
      const absl::Status status =
          run.Step(entry, position,
                   [](const OperationRange&) { return absl::OkStatus(); });
      ASSERT_TRUE(status.ok()) << status;
      const auto row = run.executor->logits(0);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    ASSERT_FALSE(logits.empty());
    if (seed == 0) first = logits;
    ASSERT_EQ(logits.size(), first.size());
    EXPECT_EQ(
        std::memcmp(logits.data(), first.data(), logits.size() * sizeof(float)),
        0)
        << "seed " << seed;
  }
}

// The first tokens that the reference implementation chose for a prompt.
TEST(Gfx1201Plan, ChoosesTheGoldenTokens) {
  constexpr size_t kSteps = 4;
  auto golden = check::ReadGolden(
      GLM_SOURCE_DIR "/models/glm53/nano/checkpoint/golden-greedy.safetensors");
  ASSERT_TRUE(golden.ok()) << golden.status();
  ASSERT_FALSE(golden->empty());
  PlanRun run(0);
  ASSERT_NE(run.executor, nullptr);
  check::GoldenCase& one = golden->front();
  ASSERT_GE(one.step_tokens.size(), kSteps);
  one.step_tokens.resize(kSteps);
  auto replay =
      check::RunTokens(*run.executor, one.input_ids,
                       {one.step_tokens.begin(), one.step_tokens.end() - 1}, 1);
  ASSERT_TRUE(replay.ok()) << replay.status();
  ASSERT_GE(replay->step_logits.size(), kSteps);
  for (size_t step = 0; step < kSteps; ++step) {
    const std::vector<double>& logits = replay->step_logits[step];
    EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(),
              one.step_tokens[step])
        << one.name << " step " << step;
  }
}

}  // namespace
}  // namespace glm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s PLAN\n", argv[0]);
    return 2;
  }
  glm::plan_path = argv[1];
  return RUN_ALL_TESTS();
}
