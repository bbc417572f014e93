// The paged toy plan (runtime/plan/test_paged_plan.h) with arenas of every
// size, rows in each of the three tiers, on the host, on the host as a device
// with memory of its own, and on a GPU that is a fake.
#include "runtime/executor/paged_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "runtime/device/gpu/fake_driver.h"
#include "runtime/device/gpu/gpu_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/executor.h"
#include "runtime/paging/expert_cache.h"
#include "runtime/plan/test_paged_plan.h"
#include "runtime/safetensors/weight_fingerprint.h"

namespace glm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint32_t kDecode = 0, kPrefill = 1;

// The staging ring and its bell, and nothing for rows.
uint64_t StagingAlone() {
  ExpertBudget budget;
  budget.row_bytes = plan::kPagedRowBytes;
  budget.ring = kStagingRows;
  return budget.StagingBytes();
}

struct Mode {
  const char* name;
  bool packed = false;
  bool discrete = false;
  bool gpu = false;
};

class PagedExpertsTest : public ::testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    std::string name =
        ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : name) c = c == '/' ? '_' : c;
    folder_ = ::testing::TempDir() + "paged_" + name;
    std::filesystem::create_directories(folder_);
    weights_ = plan::PagedWeightBytes(GetParam().packed);
    plan::WriteBytes(weight_path(), weights_);
    plan_ = plan::MakePagedToyPlan(GetParam().packed, "toy.bin");
    plan_.weight_files[0]->fingerprint = *FingerprintFile(weight_path());
    plan::CodeObjectT& object = plan::Add(plan_.code_objects);
    object.target = GetParam().gpu ? "sm_90" : "host";
    object.isa = GetParam().gpu ? "" : "x86-64";
    if (GetParam().gpu) {
      gpu_ = std::make_unique<FakeGpu>();
      device_ = *CreateGpuDeviceOver(gpu_->driver(), 0);
    } else {
      device_ =
          *CreateHostDevice({.threads = 2, .discrete = GetParam().discrete});
    }
  }
  void TearDown() override {
    executor_.reset();
    device_.reset();
    if (gpu_ != nullptr) {
      EXPECT_THAT(gpu_->Alive(), IsEmpty());
      EXPECT_THAT(gpu_->misuse, IsEmpty());
    }
    std::filesystem::remove_all(folder_);
  }

  std::string weight_path() const { return folder_ + "/toy.bin"; }

  absl::Status Create(ExecutorOptions options) {
    std::ifstream file(GetParam().gpu ? GLM_TOY_KERNELS_PTX : GLM_TOY_KERNELS,
                       std::ios::binary);
    std::string image{std::istreambuf_iterator<char>(file), {}};
    if (GetParam().gpu) {
      for (const auto& kernel : plan_.kernels) {
        image += ".entry " + kernel->name + "(\n";
      }
      image.push_back(0);
    }
    const std::string path = folder_ + "/toy.glmplan";
    plan::WriteBytes(path, plan::PlanFileBytes(plan_, {image}));
    auto plan = PlanFile::Open(path);
    if (!plan.ok()) return plan.status();
    executor_.reset();
    auto created = Executor::Create(*plan, *device_, options);
    if (!created.ok()) return created.status();
    executor_ = *std::move(created);
    return absl::OkStatus();
  }

  // Policy lru, which the toy kernels have.
  static ExecutorOptions Options(uint32_t slots, uint64_t host_bytes = 0) {
    ExecutorOptions options;
    options.experts.slots = slots;
    options.experts.host_bytes = host_bytes;
    options.experts.policy = "lru";
    options.experts.map_rows = host_bytes == 0;
    return options;
  }

  absl::Status Decode(int32_t id) {
    const std::vector<int32_t> ids = {id}, rows = {0};
    const std::vector<SequenceStep> seqs = {{0, 0, 1}};
    return executor_->Step(kDecode, {ids, seqs, rows});
  }

  // What the plan's kernels give for a prompt of `sum` that ends in `id`.
  static std::vector<float> Expected(float sum, uint32_t id) {
    std::vector<float> logits;
    for (uint32_t v = 0; v < plan::kToyVocab; ++v) {
      float value = sum * static_cast<float>(v);
      for (uint32_t layer = 0; layer < plan::kPagedLayers; ++layer) {
        for (const uint32_t k : {0, 1}) {
          if ((id + layer + 3 * k) % plan::kToyVocab != v) continue;
          value += plan::PagedSmall(layer, v);
          value += plan::PagedLarge(layer, v);
        }
      }
      logits.push_back(value);
    }
    return logits;
  }
  std::vector<float> Logits() const {
    const auto logits = executor_->logits(0);
    return {logits.begin(), logits.end()};
  }

  // Decodes `steps` ids by chance and compares everything.
  void RunSteps(uint32_t steps, uint32_t seed) {
    std::mt19937 random(seed);
    auto cache = executor_->paging()[0]->NewCache();
    ASSERT_TRUE(cache.ok()) << cache.status();
    std::vector<paging::Placement> placements(2);
    std::vector<uint64_t> misses(plan::kPagedLayers);
    for (uint32_t step = 0; step < steps; ++step) {
      const uint32_t id = random() % plan::kToyVocab;
      const absl::Status status = Decode(static_cast<int32_t>(id));
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(Logits(), Expected(static_cast<float>(id), id)) << step;
      cache->BeginStep();
      for (uint32_t layer = 0; layer < plan::kPagedLayers; ++layer) {
        std::vector<uint16_t> experts = {
            static_cast<uint16_t>((id + layer) % plan::kToyVocab),
            static_cast<uint16_t>((id + layer + 3) % plan::kToyVocab)};
        std::sort(experts.begin(), experts.end());
        ASSERT_TRUE(cache->Access(layer, experts, placements).ok());
        for (const auto& placement : placements) {
          misses[layer] += placement.loaded;
        }
      }
    }
    const auto counts = executor_->paging()[0]->Counts();
    ASSERT_TRUE(counts.ok()) << counts.status();
    for (uint32_t layer = 0; layer < plan::kPagedLayers; ++layer) {
      const ExpertCounts& c = (*counts)[layer];
      EXPECT_EQ(c.steps, steps);
      EXPECT_EQ(c.accesses, 2 * steps);
      EXPECT_EQ(c.misses, misses[layer]) << "as the simulator's cache";
      EXPECT_EQ(c.bytes(), c.misses * plan::kPagedRowBytes);
    }
    const absl::Status checked = executor_->paging()[0]->CheckResidentRows();
    EXPECT_TRUE(checked.ok()) << checked;
  }

  std::string folder_, weights_;
  plan::PlanT plan_;
  std::unique_ptr<FakeGpu> gpu_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executor> executor_;
};

TEST_P(PagedExpertsTest, EverySizeOfTheArenaGivesTheSameLogits) {
  plan_.entries.resize(1);
  for (uint32_t slots = 2; slots <= plan::kPagedRows; ++slots) {
    SCOPED_TRACE(slots);
    const absl::Status status = Create(Options(slots));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(executor_->paging()[0]->budget().slots, slots);
    RunSteps(60, slots);
  }
}

TEST_P(PagedExpertsTest, TenThousandStepsOfEvictionsLeaveEveryRowWhole) {
  plan_.entries.resize(1);
  ASSERT_EQ(Create(Options(5)), absl::OkStatus());
  std::mt19937 random(1);
  for (uint32_t step = 1; step <= 10000; ++step) {
    const uint32_t id = random() % plan::kToyVocab;
    ASSERT_EQ(Decode(static_cast<int32_t>(id)), absl::OkStatus());
    ASSERT_EQ(Logits(), Expected(static_cast<float>(id), id)) << step;
    if (step % 250 != 0) continue;
    ASSERT_EQ(executor_->paging()[0]->CheckResidentRows(), absl::OkStatus())
        << step;
  }
  EXPECT_GT((*executor_->paging()[0]->Counts())[0].misses, 5000u);
}

TEST_P(PagedExpertsTest, APrefillAsksForManyExpertsAtOnce) {
  ASSERT_EQ(Create(Options(8)), absl::OkStatus());
  const std::vector<int32_t> ids = {1, 2, 3, 4}, rows = {3};
  const std::vector<SequenceStep> seqs = {{0, 0, 4}};
  ASSERT_TRUE(executor_->Step(kPrefill, {ids, seqs, rows}).ok());
  EXPECT_EQ(Logits(), Expected(10, 4));
  EXPECT_EQ(executor_->paging()[0]->CheckResidentRows(), absl::OkStatus());
}

TEST_P(PagedExpertsTest, RowsWaitInTheTiersThatTheirModeAllows) {
  ASSERT_EQ(Create(Options(8)), absl::OkStatus());
  const bool in_place =
      GetParam().packed && !GetParam().discrete && !GetParam().gpu;
  const ExpertBudget& budget = executor_->paging()[0]->budget();
  EXPECT_EQ(budget.mapped_rows, in_place ? plan::kPagedRows : 0);
  EXPECT_EQ(budget.pinned_rows, in_place ? 0 : plan::kPagedRows);
  EXPECT_EQ(budget.file_rows, 0u);
  EXPECT_EQ(budget.ring, 0u);
  EXPECT_EQ(executor_->memory_plan().weights_copied,
            GetParam().discrete || GetParam().gpu ? 256u : 0u)
      << "the table alone, no expert";
}

TEST_P(PagedExpertsTest, RowsBeyondTheHostsMemoryComeFromTheirFile) {
  plan_.entries.resize(1);
  for (const uint32_t pinned : {0, 5, 7}) {
    SCOPED_TRACE(pinned);
    const uint64_t bytes = StagingAlone() + pinned * plan::kPagedRowBytes;
    ASSERT_EQ(Create(Options(4, bytes)), absl::OkStatus());
    const ExpertBudget& budget = executor_->paging()[0]->budget();
    EXPECT_EQ(budget.pinned_rows, pinned);
    EXPECT_EQ(budget.file_rows, plan::kPagedRows - pinned);
    RunSteps(15, pinned);
    uint64_t asked = 0, missed = 0;
    const auto counts = executor_->paging()[0]->Counts();
    for (const ExpertCounts& c : *counts) {
      asked += c.asked;
      missed += c.misses;
    }
    EXPECT_EQ(executor_->paging()[0]->rows_read(), asked);
    if (pinned == 0) {
      EXPECT_EQ(asked, missed);
    } else {
      EXPECT_GT(asked, 0u);
      EXPECT_LT(asked, missed);
    }
  }
}

TEST_P(PagedExpertsTest, AFileThatCannotBeReadEndsTheStepAndNotTheProgram) {
  plan_.entries.resize(1);
  ASSERT_EQ(Create(Options(4, StagingAlone())), absl::OkStatus());
  ASSERT_EQ(Decode(3), absl::OkStatus());
  ASSERT_EQ(::truncate(weight_path().c_str(), 8192), 0);
  absl::Status status;
  for (int32_t id = 0; id < 8 && status.ok(); ++id) status = Decode(id);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(weight_path()));
  EXPECT_THAT(std::string(status.message()), HasSubstr("offset"));
  // The file is back: what was computed with zeros is not in a slot any more.
  plan::WriteBytes(weight_path(), weights_);
  for (uint32_t id = 0; id < 8; ++id) {
    status = Decode(static_cast<int32_t>(id));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Logits(), Expected(static_cast<float>(id), id));
  }
  EXPECT_EQ(executor_->paging()[0]->CheckResidentRows(), absl::OkStatus());
}

TEST_P(PagedExpertsTest, AStepThatWasCancelledLeavesACacheThatIsRight) {
  plan_.entries.resize(1);
  ASSERT_EQ(Create(Options(6)), absl::OkStatus());
  ASSERT_EQ(Decode(1), absl::OkStatus());
  const std::vector<int32_t> ids = {5}, rows = {0};
  const std::vector<SequenceStep> seqs = {{0, 0, 1}};
  EXPECT_FALSE(executor_
                   ->StepObserved(kDecode, {ids, seqs, rows},
                                  [](const OperationRange& done) {
                                    return done.first == 1
                                               ? absl::CancelledError("here")
                                               : absl::OkStatus();
                                  })
                   .ok());
  for (uint32_t id = 0; id < 8; ++id) {
    ASSERT_EQ(Decode(static_cast<int32_t>(id)), absl::OkStatus());
    EXPECT_EQ(Logits(), Expected(static_cast<float>(id), id));
  }
  EXPECT_EQ(executor_->paging()[0]->CheckResidentRows(), absl::OkStatus());
}

TEST_P(PagedExpertsTest, StepsThatRunAheadAreServedToo) {
  plan_.entries.resize(1);
  plan::AddSampling(plan_);
  ASSERT_EQ(Create(Options(4, StagingAlone())), absl::OkStatus());
  ASSERT_TRUE(executor_->Samples(kDecode));
  ASSERT_EQ(executor_->BeginSampling(0, {.temperature = 0}, {}),
            absl::OkStatus());
  const std::vector<int32_t> ids = {1}, rows = {0};
  const std::vector<SequenceStep> seqs = {{0, 0, 1}};
  ASSERT_EQ(executor_->Enqueue(kDecode, {ids, seqs, rows}), absl::OkStatus());
  for (uint32_t step = 0; step < 12; ++step) {
    if (executor_->RunsAhead()) {
      ASSERT_EQ(executor_->Enqueue(kDecode, {{}, seqs, rows}),
                absl::OkStatus());
    }
    const auto taken = executor_->Take();
    ASSERT_TRUE(taken.ok()) << taken.status();
    if (!executor_->RunsAhead()) {
      ASSERT_EQ(executor_->Enqueue(kDecode, {{}, seqs, rows}),
                absl::OkStatus());
    }
  }
  ASSERT_TRUE(executor_->Take().ok());
  // An error of a step ahead is told by the one that is taken, or the next.
  ASSERT_EQ(::truncate(weight_path().c_str(), 64), 0);
  absl::Status status;
  for (uint32_t step = 0; step < 4 && status.ok(); ++step) {
    const std::vector<int32_t> next = {static_cast<int32_t>(2 * step)};
    status = executor_->Enqueue(kDecode, {next, seqs, rows});
    if (status.ok()) status = executor_->Take().status();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  plan::WriteBytes(weight_path(), weights_);
  ASSERT_EQ(Decode(6), absl::OkStatus());
  EXPECT_EQ(Logits(), Expected(6, 6));
}

TEST_P(PagedExpertsTest, ARoutingReplacesWhatStepsChoose) {
  plan_.entries.resize(1);
  ASSERT_EQ(Create(Options(6)), absl::OkStatus());
  PagedExperts& paging = *executor_->paging()[0];
  ASSERT_EQ(Decode(1), absl::OkStatus());
  // Two steps: experts 0 and 1 of each layer, then 0 and 2.
  const std::vector<int32_t> choices = {0, 1, 0, 1, 0, 2, 0, 2};
  ASSERT_EQ(paging.SetRouting(choices), absl::OkStatus());
  EXPECT_EQ((*paging.Counts())[0].steps, 0u) << "counts begin anew";
  for (int step = 0; step < 6; ++step) {
    ASSERT_EQ(Decode(7), absl::OkStatus());
  }
  const auto counts = *paging.Counts();
  EXPECT_EQ(counts[0].accesses, 12u);
  EXPECT_EQ(counts[0].misses, 3u) << "0, 1 and 2, once each";
  EXPECT_EQ(counts[1].misses, 3u);
  ASSERT_EQ(paging.SetRouting({}), absl::OkStatus());
  ASSERT_EQ(Decode(7), absl::OkStatus());
  EXPECT_EQ(Logits(), Expected(7, 7));

  for (const std::vector<int32_t>& bad :
       {std::vector<int32_t>{0, 1, 2}, {0, 1, 0, 8}, {0, -1, 0, 1}}) {
    EXPECT_EQ(paging.SetRouting(bad).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(PagedExpertsTest, MadeUpExpertsShareRows) {
  plan_.entries.resize(1);
  ExecutorOptions options = Options(6);
  options.synthetic = {.seed = 7, .experts = 6};
  ASSERT_EQ(Create(options), absl::OkStatus());
  const ExpertBudget& budget = executor_->paging()[0]->budget();
  EXPECT_EQ(budget.pinned_rows, 12u) << "6 of each layer";
  EXPECT_EQ(budget.shared_rows, 4u);
  EXPECT_THAT(budget.ToString(), HasSubstr("4 more share them"));
  for (int32_t id = 0; id < 8; ++id) ASSERT_EQ(Decode(id), absl::OkStatus());
  EXPECT_EQ(executor_->paging()[0]->CheckResidentRows(), absl::OkStatus());

  const std::vector<float> logits = Logits();
  options.experts.host_bytes = StagingAlone() + 2 * plan::kPagedRowBytes;
  ASSERT_EQ(Create(options), absl::OkStatus());
  EXPECT_EQ(executor_->paging()[0]->budget().file_rows, 10u);
  for (int32_t id = 0; id < 8; ++id) ASSERT_EQ(Decode(id), absl::OkStatus());
  EXPECT_EQ(Logits(), logits) << "made when they are asked for";
}

TEST_P(PagedExpertsTest, WrongBytesInASlotAreFound) {
  plan_.entries.resize(1);
  ASSERT_EQ(Create(Options(4)), absl::OkStatus());
  ASSERT_EQ(Decode(0), absl::OkStatus());
  ASSERT_EQ(executor_->paging()[0]->CheckResidentRows(), absl::OkStatus());
  // The file changes under the slots.
  std::string other = weights_;
  other[plan::PagedOffset(GetParam().packed, 3, 1) + 17] ^= 1;
  plan::WriteBytes(weight_path(), other);
  const absl::Status status = executor_->paging()[0]->CheckResidentRows();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("expert 3 of MoE layer 0, piece 1: byte 17"));
}

TEST_P(PagedExpertsTest, WhatCannotWorkIsRefusedWithTheNumbers) {
  // A prefill of 4 tokens may ask for all 8 experts of a layer.
  absl::Status status = Create(Options(7));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const char* text : {"toy.glmplan", "arena of 7 slots", "up to 8",
                           "--expert-slots", "64.0 KiB"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
  status = Create(Options(8, 4096));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--host-memory"));
  ExecutorOptions options = Options(16);
  options.memory_limit = 100000;
  status = Create(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), ::testing::ContainsRegex("expert.slots"));
}

TEST_P(PagedExpertsTest, ThePlanIsShownBeforeAnythingIsTaken) {
  std::string text;
  ExecutorOptions options = Options(8, StagingAlone());
  options.on_memory_plan = [&](const MemoryPlan& memory) {
    text = memory.ToString();
  };
  ASSERT_EQ(Create(options), absl::OkStatus());
  for (const char* line : {"expert slots", "8 of 16 rows", "policy lru",
                           "rows from files", "row staging", "host memory"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("pinned rows")));
}

INSTANTIATE_TEST_SUITE_P(Modes, PagedExpertsTest,
                         ::testing::Values(Mode{"mapped"}, Mode{"packed", true},
                                           Mode{"discrete", false, true},
                                           Mode{"gpu", true, true, true}),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace glm
