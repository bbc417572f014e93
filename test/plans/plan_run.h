// A plan on a device and the steps that tests of whole plans take: prefill,
// then two steps of decoding, on random tokens.
#ifndef GLM_TEST_PLANS_PLAN_RUN_H_
#define GLM_TEST_PLANS_PLAN_RUN_H_

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/device/device.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/observable_runner.h"
#include "tools/glm-check/golden_file.h"
#include "tools/glm-check/launch_check.h"
#include "tools/glm-check/replay.h"

namespace glm {

// The steps, whatever runs them.
struct PlanSteps {
  ObservableRunner* runner = nullptr;  // that of who derives from this

  // Entries of one sequence: prefill, which makes the state that decoding goes
  // on from, then two steps of decoding.
  std::vector<uint32_t> Entries() const {
    std::vector<uint32_t> prefill, decode;
    for (uint32_t e = 0; e < runner->entries().size(); ++e) {
      const EntryInfo& info = runner->entries()[e];
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

  // One step on random tokens; moves `position` on. Without an observer as
  // Executor::Step, with its graphs.
  absl::Status Step(uint32_t entry, uint32_t& position,
                    const ObservableRunner::Observer& observer = {}) {
    // A shorter prompt than the entry takes, so that rows that are not valid
    // are met too.
    constexpr uint32_t kPromptTokens = 37;
    const EntryInfo& info = runner->entries()[entry];
    const uint32_t length = std::min(info.tokens, kPromptTokens);
    std::mt19937_64 random(position + 1);
    std::vector<int32_t> ids(info.tokens, 0);
    for (uint32_t i = 0; i < length; ++i) {
      ids[i] = int32_t(random() % runner->model().vocab);
    }
    std::vector<int32_t> rows(info.logit_rows, -1);
    rows[0] = int32_t(length) - 1;
    const SequenceStep sequence = {0, position, length};
    position += length;
    const StepInputs inputs = {ids, {&sequence, 1}, rows};
    return observer ? runner->StepObserved(entry, inputs, observer)
                    : runner->Step(entry, inputs);
  }

  // The logits of all steps.
  std::vector<float> Logits(const ObservableRunner::Observer& observer = {}) {
    uint32_t position = 0;
    std::vector<float> logits;
    for (const uint32_t entry : Entries()) {
      const absl::Status status = Step(entry, position, observer);
      EXPECT_TRUE(status.ok()) << status;
      const auto row = runner->logits(0);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
  }
};

// A plan of one rank on a device.
struct PlanRun : PlanSteps {
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor>
      executor;  // null, with a failure, when it cannot be

  PlanRun(const std::string& plan_path, std::unique_ptr<Device> on,
          const ExecutorOptions& options = {})
      : device(std::move(on)) {
    auto plan = PlanFile::Open(plan_path);
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return;
    auto made = Executor::Create(*plan, *device, options);
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) executor = std::move(*made);
    runner = executor.get();
  }

  // Compares each launch with its reference function. The number of ops met.
  size_t CheckEveryLaunch() {
    uint32_t position = 0;
    std::map<std::string, int> launches;
    for (const uint32_t entry : Entries()) {
      const EntryInfo& info = executor->entries()[entry];
      check::LaunchCheck check(*executor, entry);
      uint32_t launch = 0;
      EXPECT_TRUE(check.Prepare(launch).ok());
      const absl::Status status =
          Step(entry, position, [&](const OperationRange&) -> absl::Status {
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
      EXPECT_TRUE(status.ok()) << status;
    }
    for (const auto& [op, count] : launches) {
      ::testing::Test::RecordProperty(op, count);
    }
    return launches.size();
  }

  // Feeds the first `steps` tokens that the reference implementation chose for
  // a prompt of the golden file and expects the plan to choose them too.
  void CheckGoldenTokens(const std::string& golden_path, size_t steps) {
    auto golden = check::ReadGolden(golden_path);
    ASSERT_TRUE(golden.ok()) << golden.status();
    ASSERT_FALSE(golden->empty());
    check::GoldenCase& one = golden->front();
    ASSERT_GE(one.step_tokens.size(), steps);
    one.step_tokens.resize(steps);
    auto replay = check::RunTokens(
        *executor, one.input_ids,
        {one.step_tokens.begin(), one.step_tokens.end() - 1}, 1);
    ASSERT_TRUE(replay.ok()) << replay.status();
    ASSERT_GE(replay->step_logits.size(), steps);
    for (size_t step = 0; step < steps; ++step) {
      const std::vector<double>& logits = replay->step_logits[step];
      EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(),
                one.step_tokens[step])
          << one.name << " step " << step;
    }
  }
};

}  // namespace glm

#endif  // GLM_TEST_PLANS_PLAN_RUN_H_
