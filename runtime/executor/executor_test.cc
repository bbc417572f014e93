// The toy plan of runtime/plan/test_plan.h, executed on the host, on the host
// behaving as a device with memory of its own, and on a GPU that is a fake.
#include "runtime/executor/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/device/gpu/fake_driver.h"
#include "runtime/device/gpu/gpu_device.h"
#include "runtime/device/gpu/gpu_driver.h"
#include "runtime/device/gpu/kernel_compiler.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/synthetic_weights.h"
#include "runtime/plan/test_plan.h"
#include "runtime/safetensors/weight_fingerprint.h"

namespace glm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint32_t kDecode = 0, kPrefill = 1;

// The logits that the toy kernels give: sum * table[v] + expert[v], with
// table[v] = v and expert[v] = 100 + v.
std::vector<float> Expected(float sum) {
  std::vector<float> logits;
  for (uint32_t v = 0; v < plan::kToyVocab; ++v) {
    logits.push_back(sum * v + 100 + v);
  }
  return logits;
}

struct Mode {
  bool discrete = false;
  bool graphs = true;
  uint64_t table_offset = 0;  // 1: breaks the alignment of every piece
  bool gpu = false;           // implies discrete
};

class ExecutorTest : public ::testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    std::string name =
        ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : name) c = c == '/' ? '_' : c;
    folder_ = ::testing::TempDir() + "executor_" + name;
    std::filesystem::create_directories(folder_);
    std::string weights(GetParam().table_offset, '\0');
    const auto append = [&](float value) {
      weights.append(reinterpret_cast<const char*>(&value), 4);
    };
    for (uint32_t v = 0; v < plan::kToyVocab; ++v) append(v);
    // Pieces run from the last one back.
    for (uint32_t v = plan::kToyVocab; v-- > 0;) append(100 + v);
    plan::WriteBytes(folder_ + "/toy.bin", weights);

    plan_ = plan::MakeToyPlan("toy.bin", GetParam().table_offset);
    plan_.weight_files[0]->fingerprint = *FingerprintFile(folder_ + "/toy.bin");
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
    device_.reset();
    if (gpu_ != nullptr) {
      EXPECT_THAT(gpu_->Alive(), IsEmpty());
      EXPECT_THAT(gpu_->misuse, IsEmpty());
    }
    std::filesystem::remove_all(folder_);
  }

  absl::StatusOr<std::unique_ptr<Executor>> Create(
      ExecutorOptions options = {}) {
    std::ifstream file(GetParam().gpu ? GLM_TOY_KERNELS_PTX : GLM_TOY_KERNELS,
                       std::ios::binary);
    std::string image{std::istreambuf_iterator<char>(file), {}};
    if (GetParam().gpu) {
      // Groups of a GPU wait by themselves, so that the PTX has none: the fake's
      // run block by block.
      for (const auto& kernel : plan_.kernels) {
        if (kernel->op == "group") image += ".entry " + kernel->name + "(\n";
      }
      image.push_back(0);
    }
    plan::WriteBytes(path(), plan::PlanFileBytes(plan_, {image}));
    auto plan = PlanFile::Open(path());
    EXPECT_TRUE(plan.ok()) << plan.status();
    options.graphs = GetParam().graphs;
    return Executor::Create(*plan, *device_, options);
  }

  std::string path() const { return folder_ + "/toy.glmplan"; }

  std::string folder_;
  plan::PlanT plan_;
  std::unique_ptr<FakeGpu> gpu_;
  std::unique_ptr<Device> device_;
};

StepInputs Inputs(const std::vector<int32_t>& ids,
                  const std::vector<SequenceStep>& seqs,
                  const std::vector<int32_t>& rows) {
  return {ids, seqs, rows};
}

std::vector<float> Logits(const Executor& executor) {
  const auto logits = executor.logits(0);
  return {logits.begin(), logits.end()};
}

absl::Status Step(Executor& e, uint32_t entry, std::vector<int32_t> ids,
                  SequenceStep seq, int32_t row) {
  return e.Step(entry, Inputs(ids, {seq}, {row}));
}

TEST_P(ExecutorTest, StepsCarryStateFromPrefillToDecode) {
  auto created = Create();
  ASSERT_TRUE(created.ok()) << created.status();
  Executor& e = **created;
  ASSERT_TRUE(Step(e, kPrefill, {1, 2, 3, 4}, {0, 0, 4}, -1).ok());
  ASSERT_TRUE(Step(e, kPrefill, {5, 6, 0, 0}, {0, 4, 2}, 1).ok());
  EXPECT_EQ(Logits(e), Expected(21));
  for (uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(Step(e, kDecode, {1}, {0, 6 + i, 1}, 0).ok());
    EXPECT_EQ(Logits(e), Expected(22 + i));
  }
  ASSERT_TRUE(Step(e, kDecode, {3}, {0, 0, 1}, 0).ok());
  EXPECT_EQ(Logits(e), Expected(3)) << "position 0 starts afresh";
}

TEST_P(ExecutorTest, SlotsAreIndependent) {
  ExecutorOptions options;
  options.slots = 3;
  auto created = Create(options);
  ASSERT_TRUE(created.ok()) << created.status();
  Executor& e = **created;
  ASSERT_TRUE(Step(e, kDecode, {5}, {2, 0, 1}, 0).ok());
  ASSERT_TRUE(Step(e, kDecode, {1}, {0, 0, 1}, 0).ok());
  ASSERT_TRUE(Step(e, kDecode, {2}, {2, 1, 1}, 0).ok());
  EXPECT_EQ(Logits(e), Expected(7));
}

TEST_P(ExecutorTest, ObservedAndTimedStepsGiveTheSameValues) {
  auto created = Create();
  ASSERT_TRUE(created.ok()) << created.status();
  Executor& e = **created;
  const std::vector<int32_t> ids = {1, 2, 3, 0};
  const std::vector<SequenceStep> seqs = {{0, 0, 3}};
  const std::vector<int32_t> rows = {2};
  std::vector<uint32_t> seen;
  std::vector<std::byte> bytes;
  ASSERT_TRUE(
      e.StepObserved(kPrefill, Inputs(ids, seqs, rows),
                     [&](const OperationRange& done) {
                       EXPECT_EQ(done.count, 1u);
                       EXPECT_EQ(done.group, nullptr);
                       seen.push_back(done.first);
                       if (done.first > 0) return absl::OkStatus();
                       return e.ReadBuffer(kPrefill, 3, bytes);
                     })
          .ok());
  EXPECT_THAT(seen, ElementsAre(0, 1));
  EXPECT_EQ(Logits(e), Expected(6));
  float sums[3];
  std::memcpy(sums, bytes.data(), sizeof(sums));
  EXPECT_THAT(sums, ElementsAre(1, 3, 6));
  ASSERT_TRUE(e.ReadState(0, 0, bytes).ok());
  float state = 0;
  std::memcpy(&state, bytes.data(), 4);
  EXPECT_EQ(state, 6);

  std::vector<double> seconds;
  ASSERT_TRUE(e.StepTimed(kPrefill, Inputs(ids, seqs, rows), seconds).ok());
  EXPECT_EQ(seconds.size(), 2u);
  EXPECT_EQ(Logits(e), Expected(6));
}

// Both launches of an entry as a group of two phases, whose kernel is among the
// toy kernels.
void AddGroup(plan::PlanT& plan, plan::EntryT& entry) {
  plan::GroupT& group = plan::Add(entry.groups);
  group.chains = {plan::Chain(1, 0, 1, 1),
                  plan::Chain(1, 1, 1, plan::kToyVocab)};
  group.kernel = static_cast<uint32_t>(plan.kernels.size());
  plan::KernelT& kernel = plan::Add(plan.kernels);
  kernel.name = entry.tokens == 1 ? "group_25d756a9aa444d69"
                                  : "group_4ee69adc83862a5d";
  kernel.op = "group";
  kernel.threads = 1;
}

TEST_P(ExecutorTest, GroupIsOneLaunchOfTheDevice) {
  for (auto& entry : plan_.entries) AddGroup(plan_, *entry);
  MemoryPlan memory;
  ExecutorOptions options;
  options.on_memory_plan = [&](const MemoryPlan& plan) { memory = plan; };
  auto created = Create(options);
  ASSERT_TRUE(created.ok()) << created.status();
  Executor& e = **created;
  EXPECT_EQ(e.entries()[kDecode].launches, 1u);
  EXPECT_EQ(e.entries()[kDecode].operations, 2u);
  EXPECT_EQ(memory.arena, 5u * 256 + kCounterBytes);

  // toy_logits adds the counters to the logits: zero counters change nothing.
  ASSERT_TRUE(Step(e, kPrefill, {1, 2, 3, 4}, {0, 0, 4}, -1).ok());
  ASSERT_TRUE(Step(e, kPrefill, {5, 6, 0, 0}, {0, 4, 2}, 1).ok());
  EXPECT_EQ(Logits(e), Expected(21));
  for (uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(Step(e, kDecode, {1}, {0, 6 + i, 1}, 0).ok());
    EXPECT_EQ(Logits(e), Expected(22 + i));
  }
}

TEST_P(ExecutorTest, GroupsAndLaunchesAreObservedAndTimedAsTheyRun) {
  // A third launch, after the group: the logits once more.
  plan::EntryT& entry = *plan_.entries[kPrefill];
  AddGroup(plan_, entry);
  entry.launches.push_back(
      std::make_unique<plan::LaunchT>(*entry.launches[1]));
  for (auto& buffer : entry.buffers) buffer->last = 2;
  auto created = Create();
  ASSERT_TRUE(created.ok()) << created.status();
  Executor& e = **created;
  EXPECT_EQ(e.entries()[kPrefill].launches, 2u);
  EXPECT_EQ(e.entries()[kPrefill].operations, 3u);
  EXPECT_EQ(e.entries()[kDecode].launches, 2u);

  const std::vector<int32_t> ids = {1, 2, 3, 0};
  const std::vector<SequenceStep> seqs = {{0, 0, 3}};
  const std::vector<int32_t> rows = {2};
  std::vector<std::pair<uint32_t, uint32_t>> seen;
  std::vector<bool> groups;
  std::vector<std::byte> bytes;
  ASSERT_TRUE(e.StepObserved(kPrefill, Inputs(ids, seqs, rows),
                             [&](const OperationRange& done) {
                               seen.push_back({done.first, done.count});
                               groups.push_back(done.group != nullptr);
                               return e.ReadBuffer(kPrefill, 4, bytes);
                             })
                  .ok());
  EXPECT_THAT(seen, ElementsAre(Pair(0, 2), Pair(2, 1)));
  EXPECT_THAT(groups, ElementsAre(true, false));
  EXPECT_EQ(Logits(e), Expected(6));

  std::vector<double> seconds;
  ASSERT_TRUE(e.StepTimed(kPrefill, Inputs(ids, seqs, rows), seconds).ok());
  EXPECT_EQ(seconds.size(), 2u);
  EXPECT_EQ(Logits(e), Expected(6));
  ASSERT_TRUE(Step(e, kDecode, {1}, {0, 3, 1}, 0).ok());
  EXPECT_EQ(Logits(e), Expected(7)) << "an entry without groups";
}

TEST_P(ExecutorTest, StepAfterACancelledOneHasCleanCounters) {
  for (auto& entry : plan_.entries) AddGroup(plan_, *entry);
  auto e = *Create();
  const std::vector<int32_t> ids = {7}, rows = {0};
  const std::vector<SequenceStep> seqs = {{0, 0, 1}};
  const absl::Status cancelled =
      e->StepObserved(kDecode, Inputs(ids, seqs, rows),
                      [](const OperationRange&) {
                        return absl::CancelledError("by the observer");
                      });
  EXPECT_EQ(cancelled.code(), absl::StatusCode::kCancelled);
  ASSERT_TRUE(Step(*e, kPrefill, {2, 0, 0, 0}, {0, 0, 1}, 0).ok());
  EXPECT_EQ(Logits(*e), Expected(2));
}

TEST_P(ExecutorTest, StepAfterAFailedCallHasCleanCounters) {
  if (!GetParam().gpu) GTEST_SKIP();
  for (auto& entry : plan_.entries) AddGroup(plan_, *entry);
  auto e = *Create();
  int failures = 0;
  for (int call = 1; call < 100; ++call) {
    gpu_->fail_at = static_cast<int>(gpu_->calls.size()) + call;
    const absl::Status status = Step(*e, kDecode, {7}, {0, 0, 1}, 0);
    gpu_->fail_at = 0;
    if (status.ok()) break;
    ++failures;
    ASSERT_TRUE(Step(*e, kDecode, {2}, {0, 0, 1}, 0).ok()) << call;
    EXPECT_EQ(Logits(*e), Expected(2)) << "after call " << call;
  }
  EXPECT_GE(failures, 2) << "the launch and the wait at least";
}

TEST_P(ExecutorTest, GroupKernelThatTheCodeObjectLacksIsNamed) {
  AddGroup(plan_, *plan_.entries[kDecode]);
  plan::LaunchT& sum = *plan_.entries[kDecode]->launches[0];
  sum.grid = {2, 1, 1};
  plan_.kernels[2]->name = "group_6dd3d7bf16c99e31";
  EXPECT_THAT(std::string(Create().status().message()),
              HasSubstr("group_6dd3d7bf16c99e31"));
}

TEST_P(ExecutorTest, WrittenStateIsReadByTheNextStep) {
  auto e = *Create();
  std::vector<std::byte> bytes;
  ASSERT_TRUE(e->ReadState(0, 0, bytes).ok());
  const float value = 40;
  std::memcpy(bytes.data(), &value, 4);
  ASSERT_TRUE(e->WriteState(0, 0, bytes).ok());
  ASSERT_TRUE(Step(*e, kDecode, {2}, {0, 9, 1}, 0).ok());
  EXPECT_EQ(Logits(*e), Expected(42));
}

// A state of constant size, one with a row for 4 tokens and one with a row each.
TEST_P(ExecutorTest, SavedStatesHoldTheirTokensAndNoMore) {
  const auto add = [&](const char* name, std::vector<uint64_t> shape,
                       plan::DType dtype, uint32_t tokens_per_row) {
    plan::StateT& state = plan::Add(plan_.states);
    state.name = name;
    state.dtype = dtype;
    state.shape = std::move(shape);
    state.bytes_per_slot = 1024;
    state.tokens_per_row = tokens_per_row;
  };
  add("pools", {16, 3, 2}, plan::DType::BF16, 4);  // 12 bytes a row
  add("latent", {64, 5}, plan::DType::U8, 1);      // 5
  ExecutorOptions options;
  options.slots = 3;
  auto created = Create(options);
  ASSERT_TRUE(created.ok()) << created.status();
  Executor& e = **created;
  EXPECT_EQ(*e.StateBytes(1), 256u + 12 + 5);
  EXPECT_EQ(*e.StateBytes(4), 256u + 12 + 20);
  EXPECT_EQ(*e.StateBytes(5), 256u + 24 + 25);
  EXPECT_EQ(*e.StateBytes(64), 256u + 192 + 320);
  EXPECT_FALSE(e.StateBytes(0).ok());
  EXPECT_FALSE(e.StateBytes(65).ok());

  const auto filled = [](uint32_t seed, size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = std::byte(seed + 7 * i);
    return data;
  };
  for (uint32_t slot = 0; slot < 3; ++slot) {
    for (uint32_t state = 0; state < 3; ++state) {
      const auto data = filled(10 * slot + state, state == 0 ? 256 : 1024);
      ASSERT_TRUE(e.WriteState(state, slot, data).ok());
    }
  }
  std::vector<std::byte> saved(*e.StateBytes(5));
  ASSERT_TRUE(e.SaveState(1, 5, saved).ok());
  ASSERT_TRUE(e.RestoreState(2, 5, saved).ok());
  const size_t moved[] = {256, 24, 25};
  for (uint32_t slot = 0; slot < 3; ++slot) {
    for (uint32_t state = 0; state < 3; ++state) {
      auto expected = filled(10 * slot + state, state == 0 ? 256 : 1024);
      const auto from = filled(10 + state, expected.size());
      if (slot == 2) std::copy_n(from.begin(), moved[state], expected.begin());
      std::vector<std::byte> found;
      ASSERT_TRUE(e.ReadState(state, slot, found).ok());
      EXPECT_EQ(found, expected) << "slot " << slot << ", state " << state;
    }
  }
  const auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(e.SaveState(3, 5, saved).code(), kBad);
  EXPECT_EQ(e.SaveState(0, 4, saved).code(), kBad);
  EXPECT_EQ(e.RestoreState(0, 6, saved).code(), kBad);
  EXPECT_EQ(e.RestoreState(0, 0, {}).code(), kBad);
}

TEST_P(ExecutorTest, ARestoredSequenceGoesOn) {
  ExecutorOptions options;
  options.slots = 2;
  auto e = *Create(options);
  ASSERT_TRUE(Step(*e, kPrefill, {1, 2, 3, 4}, {0, 0, 4}, -1).ok());
  std::vector<std::byte> saved(*e->StateBytes(4));
  ASSERT_TRUE(e->SaveState(0, 4, saved).ok());
  ASSERT_TRUE(Step(*e, kDecode, {7}, {0, 4, 1}, 0).ok());
  ASSERT_TRUE(e->RestoreState(1, 4, saved).ok());
  ASSERT_TRUE(Step(*e, kDecode, {5}, {1, 4, 1}, 0).ok());
  EXPECT_EQ(Logits(*e), Expected(15));
}

TEST_P(ExecutorTest, InputsThatBreakTheContractAreRefused) {
  auto e = *Create();
  const auto code = [&](uint32_t entry, std::vector<int32_t> ids,
                        SequenceStep seq, int32_t row) {
    return Step(*e, entry, ids, seq, row).code();
  };
  const auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code(9, {1}, {0, 0, 1}, 0), kBad);
  EXPECT_EQ(code(kDecode, {1, 2}, {0, 0, 1}, 0), kBad);
  EXPECT_EQ(code(kDecode, {8}, {0, 0, 1}, 0), kBad);
  EXPECT_EQ(code(kDecode, {-1}, {0, 0, 1}, 0), kBad);
  EXPECT_EQ(code(kDecode, {1}, {1, 0, 1}, 0), kBad);
  EXPECT_EQ(code(kDecode, {1}, {0, 0, 2}, 0), kBad);
  EXPECT_EQ(code(kDecode, {1}, {0, 64, 1}, 0), kBad);
  EXPECT_EQ(code(kDecode, {1}, {0, 0xffffffff, 1}, 0), kBad);
  EXPECT_EQ(code(kPrefill, {1, 2, 0, 0}, {0, 0, 2}, 2), kBad);
  EXPECT_EQ(code(kPrefill, {1, 2, 0, 0}, {0, 0, 2}, -2), kBad);
  EXPECT_EQ(code(kDecode, {1}, {0, 63, 1}, 0), absl::StatusCode::kOk);
}

TEST_P(ExecutorTest, MemoryPlanIsExactAndShownFirst) {
  ExecutorOptions options;
  options.slots = 2;
  MemoryPlan shown;
  options.on_memory_plan = [&](const MemoryPlan& plan) { shown = plan; };
  ASSERT_TRUE(Create(options).ok());
  const bool copied = GetParam().discrete || GetParam().table_offset == 1;
  EXPECT_EQ(shown.weights_mapped, copied ? 0 : 64);
  EXPECT_EQ(shown.weights_copied, copied ? 9 * 256 : 0);
  EXPECT_EQ(shown.tables, 256u);
  EXPECT_EQ(shown.arena, 5u * 256);
  EXPECT_EQ(shown.states, 512u);
  EXPECT_EQ(shown.staging, GetParam().discrete ? 4 * 256 : 0);

  options.memory_limit = shown.Committed();
  EXPECT_TRUE(Create(options).ok());
  options.memory_limit -= 1;
  const absl::Status status = Create(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--memory-limit"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(FormatBytes(shown.Committed())));
}

TEST_P(ExecutorTest, ChangedWeightsAreRefusedUnlessTheCheckIsOff) {
  std::fstream file(folder_ + "/toy.bin");
  file.seekp(5);
  file.put('x');
  file.close();
  const absl::Status status = Create().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("toy.bin"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("compile"));
  ExecutorOptions options;
  options.check_weights = false;
  EXPECT_TRUE(Create(options).ok());
}

TEST_P(ExecutorTest, ReadingTheWeightsReportsItsProgress) {
  ExecutorOptions options;
  std::vector<uint64_t> seen;
  const uint64_t size = std::filesystem::file_size(folder_ + "/toy.bin");
  options.on_weights_read = [&](uint64_t done, uint64_t total) {
    EXPECT_EQ(total, size);
    seen.push_back(done);
  };
  ASSERT_TRUE(Create(options).ok());
  EXPECT_THAT(seen, ElementsAre(size));
  options.check_weights = false;
  ASSERT_TRUE(Create(options).ok());
  EXPECT_EQ(seen.size(), 1u) << "no fingerprint, nothing to show";
}

TEST_P(ExecutorTest, CutAndMissingWeightsAreRefusedWithTheRemedy) {
  std::filesystem::resize_file(folder_ + "/toy.bin", 30);
  EXPECT_THAT(std::string(Create().status().message()), HasSubstr("30 bytes"));
  std::filesystem::remove(folder_ + "/toy.bin");
  const absl::Status status = Create().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--weights"));
}

TEST_P(ExecutorTest, WeightsFolderCanBeNamed) {
  std::filesystem::create_directories(folder_ + "/elsewhere");
  std::filesystem::rename(folder_ + "/toy.bin", folder_ + "/elsewhere/toy.bin");
  ExecutorOptions options;
  options.weights_dirs = {folder_ + "/elsewhere"};
  EXPECT_TRUE(Create(options).ok());
}

TEST_P(ExecutorTest, EachWeightFileIsLookedForInEveryFolderThenBesideThePlan) {
  std::filesystem::create_directories(folder_ + "/none");
  ExecutorOptions options;
  options.weights_dirs = {folder_ + "/none"};
  EXPECT_TRUE(Create(options).ok()) << "the file lies beside the plan";
  std::filesystem::create_directories(folder_ + "/elsewhere");
  std::filesystem::rename(folder_ + "/toy.bin", folder_ + "/elsewhere/toy.bin");
  EXPECT_THAT(std::string(Create(options).status().message()),
              HasSubstr("in no folder of --weights either"));
  options.weights_dirs.push_back(folder_ + "/elsewhere");
  EXPECT_TRUE(Create(options).ok());
  options.weights_dirs.push_back(folder_ + "/absent");
  EXPECT_THAT(std::string(Create(options).status().message()),
              HasSubstr("absent: is not a folder"));
}

TEST_P(ExecutorTest, PlanWithoutWeightsSaysHowToGetThem) {
  for (auto& weight : plan_.weights) weight->pieces.clear();
  const absl::Status status = Create().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--weights none"));
}

TEST_P(ExecutorTest, SyntheticWeightsAreTheSameOnEveryDevice) {
  for (auto& weight : plan_.weights) weight->pieces.clear();
  plan_.weight_files.clear();
  ExecutorOptions options;
  options.synthetic = {.seed = 3};
  MemoryPlan shown;
  options.on_memory_plan = [&](const MemoryPlan& plan) { shown = plan; };
  auto e = *Create(options);
  EXPECT_EQ(shown.weights_copied, 9u * 256);
  EXPECT_EQ(shown.weights_mapped, 0u);
  ASSERT_TRUE(Step(*e, kDecode, {2}, {0, 0, 1}, 0).ok());
  float table[plan::kToyVocab];
  std::memcpy(table, e->weights().PieceBytes(0, 0)->data(), sizeof(table));
  for (uint32_t v = 0; v < plan::kToyVocab; ++v) {
    float expert;
    std::memcpy(&expert, e->weights().PieceBytes(1, v)->data(), 4);
    EXPECT_EQ(Logits(*e)[v], 2 * table[v] + expert);
    EXPECT_NEAR(table[v], 1, 0.5);
  }
}

TEST_P(ExecutorTest, SyntheticExpertsShareThoseInMemory) {
  ExecutorOptions options;
  options.synthetic = {.seed = 3, .experts = 3};
  MemoryPlan shown;
  options.on_memory_plan = [&](const MemoryPlan& plan) { shown = plan; };
  auto e = *Create(options);
  EXPECT_EQ(shown.weights_copied, 4u * 256);
  EXPECT_EQ(shown.tables, 256u) << "there is a table of all experts still";
  EXPECT_EQ(e->weights().DistinctExperts(1), 3u);
  ASSERT_TRUE(Step(*e, kDecode, {0}, {0, 0, 1}, 0).ok());
  const std::vector<float> logits = Logits(*e);
  for (uint32_t v = 3; v < plan::kToyVocab; ++v) {
    EXPECT_EQ(logits[v], logits[v % 3]);
    EXPECT_EQ(*e->weights().PieceBytes(1, v),
              *e->weights().PieceBytes(1, v % 3));
  }
  EXPECT_NE(logits[0], logits[1]);
  EXPECT_NE(logits[1], logits[2]);
}

// A toy token is its position plus the seed, modulo 8.
TEST_P(ExecutorTest, StepsFollowOnTokensThatNobodyHasTaken) {
  plan::AddSampling(plan_);
  ExecutorOptions options;
  options.slots = 2;
  MemoryPlan shown;
  options.on_memory_plan = [&](const MemoryPlan& plan) { shown = plan; };
  auto created = Create(options);
  ASSERT_TRUE(created.ok()) << created.status();
  Executor& e = **created;
  EXPECT_GT(shown.sampling, 2u * 4 * (16 + plan::kToyVocab));
  EXPECT_TRUE(e.Samples(kDecode));
  EXPECT_TRUE(e.Samples(kPrefill));
  ASSERT_TRUE(e.BeginSampling(1, {.seed = 5}, {}).ok());
  const std::vector<int32_t> ids = {1, 2, 3, 0}, none, row = {0}, last = {2};
  EXPECT_EQ(e.Enqueue(kDecode, Inputs(none, {{1, 0, 1}}, row)).code(),
            absl::StatusCode::kFailedPrecondition)
      << "no step whose token could follow";
  ASSERT_TRUE(e.Enqueue(kPrefill, Inputs(ids, {{1, 0, 3}}, last)).ok());
  // The last token is the 12th: 8, 9, ... modulo 8.
  for (uint32_t position = 3; position < 12; ++position) {
    ASSERT_TRUE(e.Enqueue(kDecode, Inputs(none, {{1, position, 1}}, row)).ok());
    EXPECT_EQ(e.Enqueue(kDecode, Inputs(none, {{1, 0, 1}}, row)).code(),
              absl::StatusCode::kFailedPrecondition)
        << "two steps are under way";
    const auto tokens = e.Take();
    ASSERT_TRUE(tokens.ok()) << tokens.status();
    EXPECT_THAT(*tokens, ElementsAre((position + 5) % 8));
  }
  EXPECT_THAT(*e.Take(), ElementsAre((12 + 5) % 8));
  EXPECT_EQ(e.Take().status().code(), absl::StatusCode::kFailedPrecondition);
  // The state holds 1 + 2 + 3 and the tokens of positions 3 to 11.
  ASSERT_TRUE(Step(e, kDecode, {1}, {1, 12, 1}, 0).ok());
  EXPECT_EQ(Logits(e), Expected(6 + 0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 0 + 1));
}

TEST_P(ExecutorTest, ARowWithoutAFiniteLogitIsAnError) {
  plan::AddSampling(plan_);
  // Logit 0 is expert 0's weight, the last one in the file.
  const uint64_t at = GetParam().table_offset + 4 * (2 * plan::kToyVocab - 1);
  std::fstream file(folder_ + "/toy.bin",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  const float negative = -1;
  file.write(reinterpret_cast<const char*>(&negative), sizeof negative);
  file.close();
  ExecutorOptions options;
  options.check_weights = false;
  auto e = *Create(options);
  ASSERT_TRUE(e->BeginSampling(0, {}, {}).ok());
  const std::vector<int32_t> id = {1}, row = {0}, no_row = {-1};
  ASSERT_TRUE(e->Enqueue(kDecode, Inputs(id, {{0, 0, 1}}, no_row)).ok());
  EXPECT_THAT(*e->Take(), ElementsAre(-1)) << "none was asked for";
  ASSERT_TRUE(e->Enqueue(kDecode, Inputs(id, {{0, 1, 1}}, row)).ok());
  const absl::Status status = e->Take().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("position 2"));
}

TEST_P(ExecutorTest, BeginningAgainForgetsWhatWasEnqueued) {
  plan::AddSampling(plan_);
  auto e = *Create();
  const std::vector<int32_t> id = {1}, row = {0};
  ASSERT_TRUE(e->BeginSampling(0, {}, {}).ok());
  ASSERT_TRUE(e->Enqueue(kDecode, Inputs(id, {{0, 0, 1}}, row)).ok());
  ASSERT_TRUE(e->BeginSampling(0, {}, {}).ok());
  EXPECT_FALSE(e->Take().ok());
  EXPECT_EQ(e->BeginSampling(0, {}, std::vector<int32_t>{99}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(e->BeginSampling(1, {}, {}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(ExecutorTest, PlanWithoutTheKernelsSamplesNothing) {
  auto e = *Create();
  EXPECT_FALSE(e->Samples(kDecode));
  const std::vector<int32_t> id = {1}, row = {0};
  EXPECT_FALSE(e->Enqueue(kDecode, Inputs(id, {{0, 0, 1}}, row)).ok());
  EXPECT_FALSE(e->BeginSampling(0, {}, {}).ok());
}

TEST_P(ExecutorTest, MadeUpStateIsWhatTheNextStepReads) {
  ExecutorOptions options;
  options.slots = 2;
  auto e = *Create(options);
  ASSERT_TRUE(e->FillStates(3).ok());
  std::vector<std::byte> expected(512), slot;
  FillSyntheticState(*e->plan_file().plan().states()->Get(0), 3, expected);
  for (uint32_t s = 0; s < 2; ++s) {
    ASSERT_TRUE(e->ReadState(0, s, slot).ok());
    EXPECT_EQ(std::memcmp(slot.data(), expected.data() + 256 * s, 256), 0);
  }
  float sum;
  std::memcpy(&sum, expected.data() + 256, 4);
  EXPECT_LT(std::abs(sum), 0.5);
  EXPECT_NE(sum, 0);
  ASSERT_TRUE(Step(*e, kDecode, {2}, {1, 9, 1}, 0).ok());
  EXPECT_EQ(Logits(*e), Expected(sum + 2));
}

TEST_P(ExecutorTest, LoadingTheWeightsReportsItsProgress) {
  ExecutorOptions options;
  uint64_t last = 0;
  options.on_weights_loaded = [&](uint64_t done, uint64_t total) {
    EXPECT_GT(done, last);
    EXPECT_LE(done, total);
    last = done;
  };
  MemoryPlan shown;
  options.on_memory_plan = [&](const MemoryPlan& plan) { shown = plan; };
  ASSERT_TRUE(Create(options).ok());
  EXPECT_EQ(last, shown.weights_copied);
}

TEST_P(ExecutorTest, LoadingCanBeInterrupted) {
  std::atomic<bool> cancel{true};
  ExecutorOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(Create(options).status().code(), absl::StatusCode::kCancelled);
  // Raised while the first weight is on its way.
  cancel = false;
  uint64_t loaded = 0;
  options.synthetic = {.seed = 3};
  options.on_weights_loaded = [&](uint64_t done, uint64_t) {
    loaded = done;
    cancel = true;
  };
  EXPECT_EQ(Create(options).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(loaded, 256u);
}

// What is asked for, what is there, and what to do, before a byte is taken.
TEST(ExecutorOnAGpu, MemoryThatIsNotThereIsRefusedWithTheNumbers) {
  const std::string path = ::testing::TempDir() + "executor_memory.glmplan";
  plan::PlanT tables = plan::MakeToyPlan();
  plan::CodeObjectT& object = plan::Add(tables.code_objects);
  object.target = "sm_90";
  std::ifstream file(GLM_TOY_KERNELS_PTX, std::ios::binary);
  std::string image{std::istreambuf_iterator<char>(file), {}};
  image.push_back(0);
  ExecutorOptions options;
  options.synthetic = {.seed = 1};
  const auto create = [&](FakeGpu& gpu) {
    plan::WriteBytes(path, plan::PlanFileBytes(tables, {image}));
    auto device = *CreateGpuDeviceOver(gpu.driver(), 0);
    const absl::Status status =
        Executor::Create(*PlanFile::Open(path), *device, options).status();
    device.reset();
    EXPECT_THAT(gpu.Alive(), IsEmpty());
    return status;
  };
  constexpr uint64_t kReserve = uint64_t{512} << 20;
  {
    FakeGpu gpu;
    gpu.memory_bytes = kReserve + 4096;
    const absl::Status status = create(gpu);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    for (const char* text : {"executor_memory.glmplan: needs 5.",
                             "4.0 KiB are available", "weights copied",
                             "--max-context"}) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    }
  }
  // It was free when it was counted, and no more when it was asked for.
  FakeGpu gpu;
  options.on_memory_plan = [&](const MemoryPlan&) {
    gpu.memory_bytes = kReserve + (uint64_t{1} << 20);
  };
  options.memory_limit = uint64_t{1} << 30;
  tables.entries[0]->arena_bytes = uint64_t{64} << 20;
  const absl::Status status = create(gpu);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const char* text : {"cannot allocate 67108864 bytes for activations",
                           "bytes are free on the", "other programs"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
  std::filesystem::remove(path);
}

// A fake GPU that the plan has no code for, and what compiles for it.
TEST(ExecutorOnAGpu, CodeThatThePlanLacksIsMadeFromItsSource) {
  const std::string path = ::testing::TempDir() + "executor_source.glmplan";
  plan::PlanT tables = plan::MakeToyPlan();
  plan::Add(tables.code_objects).target = "gfx1201";
  std::ifstream file(GLM_TOY_KERNELS_PTX, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  FakeGpu gpu;
  gpu.architecture = "gfx1200";
  GpuDriver driver = gpu.driver();
  const auto create = [&](const std::string& source) {
    plan::WriteBytes(path, plan::PlanFileBytes(tables, {"no code"}, source));
    auto device = *CreateGpuDeviceOver(driver, 0);
    ExecutorOptions options;
    options.synthetic = {.seed = 1};
    auto executor = Executor::Create(*PlanFile::Open(path), *device, options);
    if (!executor.ok()) return executor.status();
    const std::vector<int32_t> id = {2}, row = {0};
    return (*executor)->Step(kDecode, {id, std::vector<SequenceStep>{{0, 0, 1}},
                                       row});
  };
  // Nothing compiles for the device: the plan is refused as ever.
  absl::Status status = create(text);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("compiled for gfx1201, this"));
  // The compiler is missing.
  driver.compiler = []() -> absl::StatusOr<const KernelCompiler*> {
    return absl::UnavailableError("no compiler; install one");
  };
  status = create(text);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  for (const char* words : {"compile again with --target gfx1200",
                            "source was to be compiled", "install one"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
  // It is there: the toy kernels' source is their code.
  static std::string seen;
  static KernelCompiler compiler;
  compiler.create = {[](CompilerProgram*, const char* source, const char*, int,
                        const char**, const char**) {
                       seen = source;
                       return 0;
                     },
                     "create"};
  compiler.compile = {[](CompilerProgram, int, const char**) { return 0; },
                      "compile"};
  compiler.code_size = {[](CompilerProgram, size_t* size) {
                          *size = seen.size();
                          return 0;
                        },
                        "code_size"};
  compiler.code = {[](CompilerProgram, char* code) {
                     std::memcpy(code, seen.data(), seen.size());
                     return 0;
                   },
                   "code"};
  compiler.destroy = {[](CompilerProgram*) { return 0; }, "destroy"};
  driver.compiler = []() -> absl::StatusOr<const KernelCompiler*> {
    return &compiler;
  };
  EXPECT_EQ(create(text), absl::OkStatus());
  EXPECT_EQ(seen, text);
  tables.source = nullptr;
  EXPECT_FALSE(create("").ok()) << "a plan without source";
  std::filesystem::remove(path);
}

TEST_P(ExecutorTest, PlanForAnotherDeviceIsRefused) {
  const std::string target = plan_.code_objects[0]->target;
  plan_.code_objects[0]->target = "gfx1201";
  EXPECT_THAT(std::string(Create().status().message()),
              HasSubstr("holds code for gfx1201"));
  plan_.code_objects[0]->target = target;
  plan_.code_objects[0]->isa = "x86-64-v9";
  const absl::Status status = Create().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("x86-64-v9"));
}

TEST_P(ExecutorTest, KernelThatTheCodeObjectLacksIsNamed) {
  plan_.kernels[1]->name = "absent";
  EXPECT_THAT(std::string(Create().status().message()), HasSubstr("absent"));
}

INSTANTIATE_TEST_SUITE_P(Modes, ExecutorTest,
                         ::testing::Values(Mode{}, Mode{.graphs = false},
                                           Mode{.discrete = true},
                                           Mode{.table_offset = 1},
                                           Mode{.discrete = true, .gpu = true}),
                         [](const auto& info) {
                           return std::string(info.param.gpu        ? "gpu"
                                              : info.param.discrete ? "discrete"
                                              : !info.param.graphs  ? "eager"
                                              : info.param.table_offset
                                                  ? "unaligned"
                                                  : "mapped");
                         });

}  // namespace
}  // namespace glm
