// The toy plan of runtime/plan/test_plan.h on two ranks: sums of ids are added
// over the ranks, and the table is a column of a stored matrix for each.
#include "runtime/executor/parallel_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/host/host_collective.h"
#include "runtime/device/host/host_device.h"
#include "runtime/plan/test_plan.h"
#include "runtime/safetensors/weight_fingerprint.h"

namespace glm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kDecode = 0, kPrefill = 1;

// After toy_sum, all_reduce; toy_logits reads what it leaves.
void AddSums(plan::PlanT& plan) {
  plan::KernelT& kernel = plan::Add(plan.kernels);
  kernel.name = "AllReduce_0_1";
  kernel.op = "all_reduce";
  kernel.threads = 256;
  kernel.params = {0, 1};
  for (auto& entry : plan.entries) {
    plan::BufferT& total = plan::Add(entry->buffers);
    total = *entry->buffers[3];
    total.name = "total";
    total.offset = entry->arena_bytes;
    entry->arena_bytes += 256;
    for (auto& buffer : entry->buffers) buffer->last = 2;
    auto reduce = std::make_unique<plan::LaunchT>();
    reduce->kernel = 2;
    reduce->grid = {1, 1, 1};
    const auto& sum = entry->launches[0]->args;
    reduce->args = {sum[0], sum[1], sum[2], sum[6],
                    plan::Arg(0, 5, plan::ArgKind::BUFFER)};
    entry->launches.insert(entry->launches.begin() + 1, std::move(reduce));
    entry->launches[2]->args[3] = plan::Arg(0, 5, plan::ArgKind::BUFFER);
  }
}

class ParallelExecutorTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string name =
        ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : name) c = c == '/' ? '_' : c;
    folder_ = ::testing::TempDir() + "parallel_" + name;
    std::filesystem::create_directories(folder_);
    // [V, 2]: rank r's table is column r, v + 10 r; then the experts.
    std::string weights;
    const auto append = [&](float value) {
      weights.append(reinterpret_cast<const char*>(&value), 4);
    };
    for (uint32_t v = 0; v < plan::kToyVocab; ++v) append(v), append(10 + v);
    for (uint32_t v = plan::kToyVocab; v-- > 0;) append(100 + v);
    plan::WriteBytes(folder_ + "/toy.bin", weights);

    plan_ = plan::MakeToyPlan("toy.bin", 4 * plan::kToyVocab);
    plan_.ranks = 2;
    plan_.weight_files[0]->fingerprint = *FingerprintFile(folder_ + "/toy.bin");
    plan::WeightT& table = *plan_.weights[0];
    const uint64_t span = 8 * (plan::kToyVocab - 1) + 4;
    table.cuts = {plan::Cut(plan::kToyVocab, 4, 8)};
    table.pieces = {plan::Piece(0, span, 0), plan::Piece(4, span, 0)};
    AddSums(plan_);
    plan::AddSampling(plan_);
    plan::CodeObjectT& object = plan::Add(plan_.code_objects);
    object.target = "host";
    object.isa = "x86-64";
    for (auto& device : devices_) {
      device = *CreateHostDevice({.threads = 1});
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<const PlanFile> Open() {
    std::ifstream file(GLM_TOY_KERNELS, std::ios::binary);
    const std::string image{std::istreambuf_iterator<char>(file), {}};
    const std::string path = folder_ + "/toy.glmplan";
    plan::WriteBytes(path, plan::PlanFileBytes(plan_, {image}));
    auto plan = PlanFile::Open(path);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *plan;
  }

  std::vector<Device*> Devices() {
    return {devices_[0].get(), devices_[1].get()};
  }

  absl::StatusOr<std::unique_ptr<ParallelExecutor>> Create() {
    ExecutorOptions options;
    options.graphs = GetParam();
    options.slots = 2;
    return ParallelExecutor::Create(Open(), Devices(), *group_, options);
  }

  std::string folder_;
  plan::PlanT plan_;
  std::unique_ptr<Device> devices_[2];
  std::unique_ptr<CollectiveGroup> group_ = CreateHostGroup(2);
};

// Both ranks have the same sum, so it comes out doubled.
std::vector<float> Expected(float sum, uint32_t rank) {
  std::vector<float> logits;
  for (uint32_t v = 0; v < plan::kToyVocab; ++v) {
    logits.push_back(2 * sum * (v + 10.0f * rank) + 100 + v);
  }
  return logits;
}

std::vector<float> Logits(const StepRunner& runner) {
  const auto logits = runner.logits(0);
  return {logits.begin(), logits.end()};
}

absl::Status Step(StepRunner& runner, uint32_t entry, std::vector<int32_t> ids,
                  SequenceStep seq, int32_t row) {
  const std::vector<SequenceStep> seqs = {seq};
  const std::vector<int32_t> rows = {row};
  return runner.Step(entry, {ids, seqs, rows});
}

TEST_P(ParallelExecutorTest, RanksSumAndHaveWeightsOfTheirOwn) {
  auto created = Create();
  ASSERT_TRUE(created.ok()) << created.status();
  ParallelExecutor& e = **created;
  ASSERT_TRUE(Step(e, kPrefill, {1, 2, 3, 4}, {0, 0, 4}, -1).ok());
  ASSERT_TRUE(Step(e, kPrefill, {5, 6, 0, 0}, {0, 4, 2}, 1).ok());
  EXPECT_EQ(Logits(e), Expected(21, 0));
  EXPECT_EQ(Logits(e.rank(1)), Expected(21, 1));
  ASSERT_TRUE(Step(e, kDecode, {1}, {0, 6, 1}, 0).ok());
  EXPECT_EQ(Logits(e), Expected(22, 0));
  EXPECT_EQ(Logits(e.rank(1)), Expected(22, 1));
}

TEST_P(ParallelExecutorTest, StatesOfAllRanksAreSaved) {
  auto created = Create();
  ASSERT_TRUE(created.ok()) << created.status();
  ParallelExecutor& e = **created;
  ASSERT_TRUE(Step(e, kPrefill, {1, 2, 3, 4}, {0, 0, 4}, -1).ok());
  const uint64_t bytes = *e.StateBytes(4);
  EXPECT_EQ(bytes, 2 * *e.rank(0).StateBytes(4));
  std::vector<std::byte> saved(bytes);
  ASSERT_TRUE(e.SaveState(0, 4, saved).ok());
  ASSERT_TRUE(Step(e, kDecode, {7}, {0, 4, 1}, 0).ok());
  ASSERT_TRUE(e.RestoreState(1, 4, saved).ok());
  ASSERT_TRUE(Step(e, kDecode, {5}, {1, 4, 1}, 0).ok());
  EXPECT_EQ(Logits(e), Expected(15, 0));
  EXPECT_EQ(Logits(e.rank(1)), Expected(15, 1));
  saved.pop_back();
  EXPECT_EQ(e.SaveState(0, 4, saved).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(ParallelExecutorTest, ObservedAndTimedStepsMeetToo) {
  auto created = Create();
  ASSERT_TRUE(created.ok()) << created.status();
  ParallelExecutor& e = **created;
  const std::vector<int32_t> ids = {3}, rows = {0};
  const std::vector<SequenceStep> seqs = {{0, 0, 1}};
  std::vector<uint32_t> seen;
  std::vector<std::byte> total;
  ASSERT_TRUE(e.StepObserved(kDecode, {ids, seqs, rows},
                             [&](const OperationRange& done) {
                               seen.push_back(done.first);
                               if (done.first != 1) return absl::OkStatus();
                               return e.ReadBuffer(kDecode, 5, total);
                             })
                  .ok());
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
  ASSERT_EQ(total.size(), 4u);
  EXPECT_EQ(*reinterpret_cast<const float*>(total.data()), 6);
  EXPECT_EQ(Logits(e), Expected(3, 0));
  std::vector<double> seconds;
  ASSERT_TRUE(e.StepTimed(kDecode, {ids, seqs, rows}, seconds).ok());
  EXPECT_EQ(seconds.size(), 3u);
}

// A group of the host with a limit, whose first rank comes late when told to.
class LateGroup : public CollectiveGroup {
 public:
  class LateRank : public Collective {
   public:
    explicit LateRank(Collective& own) : own_(own) {}
    uint32_t rank() const override { return own_.rank(); }
    uint32_t ranks() const override { return own_.ranks(); }
    absl::Status Enqueue(Queue& queue, const CollectiveCall& call) override {
      if (late) std::this_thread::sleep_for(std::chrono::milliseconds(400));
      return own_.Enqueue(queue, call);
    }
    std::atomic<bool> late = false;

   private:
    Collective& own_;
  };

  std::string Describe() const override { return group_->Describe(); }
  uint32_t ranks() const override { return 2; }
  Collective& rank(uint32_t r) override {
    return r == 0 ? first : group_->rank(r);
  }
  void Abort(const absl::Status& why) override { group_->Abort(why); }
  absl::Status Restart() override { return group_->Restart(); }
  std::chrono::milliseconds step_limit() const override {
    return std::chrono::milliseconds(100);
  }

 private:
  std::unique_ptr<CollectiveGroup> group_ = CreateHostGroup(2);

 public:
  LateRank first{group_->rank(0)};
};

TEST_P(ParallelExecutorTest, ObservedAndTimedStepsHaveTheLimitOfSteps) {
  LateGroup group;
  ExecutorOptions options;
  options.graphs = GetParam();
  auto created =
      ParallelExecutor::Create(Open(), Devices(), group, options);
  ASSERT_TRUE(created.ok()) << created.status();
  ParallelExecutor& e = **created;
  const std::vector<int32_t> ids = {3}, rows = {0};
  const std::vector<SequenceStep> seqs = {{0, 0, 1}};
  const StepInputs inputs = {ids, seqs, rows};
  std::vector<double> seconds;
  const auto observer = [](const OperationRange&) { return absl::OkStatus(); };
  group.first.late = true;
  for (const absl::Status& status :
       {e.StepTimed(kDecode, inputs, seconds),
        e.StepObserved(kDecode, inputs, observer)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the step did not end within 100 ms"));
  }
  group.first.late = false;
  EXPECT_TRUE(e.StepTimed(kDecode, inputs, seconds).ok());
}

TEST_P(ParallelExecutorTest, InputsThatAreRefusedChangeNothing) {
  auto created = Create();
  ASSERT_TRUE(created.ok()) << created.status();
  ParallelExecutor& e = **created;
  const absl::Status status = Step(e, kDecode, {99}, {0, 0, 1}, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(Step(e, kDecode, {4}, {0, 0, 1}, 0).ok());
  EXPECT_EQ(Logits(e), Expected(4, 0));
}

// A rank that stops in the middle does not leave the other waiting.
TEST_P(ParallelExecutorTest, ARankThatFailsEndsTheStepOfAll) {
  auto created = Create();
  ASSERT_TRUE(created.ok()) << created.status();
  ParallelExecutor& e = **created;
  const std::vector<int32_t> ids = {3}, rows = {0};
  const std::vector<SequenceStep> seqs = {{0, 0, 1}};
  const absl::Status status = e.StepObserved(
      kDecode, {ids, seqs, rows},
      [](const OperationRange&) { return absl::InternalError("seen enough"); });
  EXPECT_EQ(status, absl::InternalError("rank 0: seen enough"));
  ASSERT_TRUE(Step(e, kDecode, {4}, {0, 0, 1}, 0).ok());
  EXPECT_EQ(Logits(e), Expected(4, 0));
}

// The toy sampler's token is position + seed.
TEST_P(ParallelExecutorTest, DifferentTokensAreAnError) {
  auto created = Create();
  ASSERT_TRUE(created.ok()) << created.status();
  ParallelExecutor& e = **created;
  const std::vector<int32_t> ids = {1}, rows = {0};
  const std::vector<SequenceStep> seqs = {{0, 0, 1}};
  ASSERT_TRUE(e.BeginSampling(0, {.temperature = 1, .seed = 3}, {}).ok());
  ASSERT_TRUE(e.Enqueue(kDecode, {ids, seqs, rows}).ok());
  auto taken = e.Take();
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->size(), 1u);
  ASSERT_TRUE(
      e.rank(1).BeginSampling(0, {.temperature = 1, .seed = 4}, {}).ok());
  ASSERT_TRUE(e.Enqueue(kDecode, {ids, seqs, rows}).ok());
  EXPECT_THAT(e.Take().status().message(),
              HasSubstr("ranks 0 and 1 chose different tokens"));
}

TEST_P(ParallelExecutorTest, ASimulatedRankRunsAlone) {
  auto alone = SimulateRank(1, 2);
  ExecutorOptions options;
  options.graphs = GetParam();
  options.collective = alone.get();
  auto created = Executor::Create(Open(), *devices_[0], options);
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(Step(**created, kDecode, {4}, {0, 0, 1}, 0).ok());
  EXPECT_EQ(Logits(**created), Expected(2, 1)) << "its own sum alone";
}

TEST_P(ParallelExecutorTest, NumbersOfRanksMustAgree) {
  auto one = Executor::Create(Open(), *devices_[0], {});
  EXPECT_EQ(one.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(one.status().message(),
              HasSubstr("is for 2 devices, it was to run as one of 1"));
  auto few = ParallelExecutor::Create(Open(), {devices_[0].get()}, *group_, {});
  EXPECT_THAT(few.status().message(),
              HasSubstr("is of 2 ranks, not of 1 devices that meet as 2"));
  auto three = CreateHostGroup(3);
  ExecutorOptions options;
  options.collective = &three->rank(0);
  auto other = Executor::Create(Open(), *devices_[0], options);
  EXPECT_THAT(other.status().message(), HasSubstr("one of 3"));
}

TEST_P(ParallelExecutorTest, ARankThatFailsIsNamed) {
  devices_[1] = *CreateHostDevice({.threads = 1, .discrete = true});
  auto created = Create();
  // Graphs are recorded at the start, other work is enqueued by the step.
  const absl::Status status = created.ok()
                                  ? Step(**created, kDecode, {4}, {0, 0, 1}, 0)
                                  : created.status();
  EXPECT_THAT(status.message(),
              HasSubstr("rank 1: ranks of the host meet in memory"));
}

INSTANTIATE_TEST_SUITE_P(Graphs, ParallelExecutorTest, ::testing::Bool());

}  // namespace
}  // namespace glm
