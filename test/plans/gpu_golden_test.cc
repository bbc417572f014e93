// The numbers of whole models on this machine's GPU: nano and tiny-a against
// what the reference implementation recorded, in fp32 and in bf16, and the same
// bits from graphs as without them over 200 decode steps, of one sequence and
// of several. gpu_plan_test compares launch by launch.
//
// Arguments: the folder with nano-bf16, nano-fp32, tiny-a-bf16 and tiny-a-fp32
// (.glmplan), the repository's folder when it has moved, and `--device host`
// to run the same on the host. Skipped without a GPU. A line that begins with
// "measured:" tells what each comparison found.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/device/gpu/gpu_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/executor.h"
#include "tools/glm-check/golden_check.h"
#include "tools/glm-check/golden_file.h"

namespace glm {
namespace {

std::string plans_dir;
std::string source_dir = GLM_SOURCE_DIR;
bool on_host = false;

absl::StatusOr<std::unique_ptr<Device>> MakeDevice() {
  // Memory of its own, as a GPU has.
  return on_host ? CreateHostDevice({.discrete = true}) : CreateGpuDevice({});
}

struct Comparison {
  const char* plan;
  const char* folder;  // of the weights and the recordings
  const char* golden;
  const char* baseline;  // the reference's own bf16 run, or none
};

void PrintTo(const Comparison& one, std::ostream* out) { *out << one.plan; }

constexpr char kNano[] = "/models/glm53/nano/checkpoint/";
constexpr char kTiny[] = "/test/oracle/tiny-a/";
constexpr Comparison kComparisons[] = {
    {"nano-fp32", kNano, "golden-greedy.safetensors", ""},
    {"nano-bf16", kNano, "golden-greedy.safetensors", ""},
    {"tiny-a-fp32", kTiny, "golden-w4a16-fp32math.safetensors", ""},
    {"tiny-a-bf16", kTiny, "golden-w4a16-fp32math.safetensors",
     "golden-w4a16-bf16math.safetensors"},
};

std::string PlanName(const ::testing::TestParamInfo<Comparison>& info) {
  std::string name = info.param.plan;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// A plan on a device of its own.
struct LoadedPlan {
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor;  // null, with a failure, when it cannot

  LoadedPlan(const std::string& name, const char* folder, bool graphs,
             uint32_t slots = 1) {
    const std::string path = plans_dir + "/" + name + ".glmplan";
    auto plan = PlanFile::Open(path);
    EXPECT_TRUE(plan.ok()) << plan.status();
    auto made = MakeDevice();
    EXPECT_TRUE(made.ok()) << made.status();
    if (!plan.ok() || !made.ok()) return;
    device = *std::move(made);
    ExecutorOptions options;
    options.graphs = graphs;
    options.slots = slots;
    // The plan may have been copied away from the files that it names.
    options.weights_dirs = {
        std::filesystem::absolute(source_dir + folder).string()};
    auto created = Executor::Create(*plan, *device, options);
    EXPECT_TRUE(created.ok()) << created.status();
    if (created.ok()) executor = *std::move(created);
  }
};

class GpuGolden : public ::testing::TestWithParam<Comparison> {
 protected:
  void SetUp() override {
    if (auto device = MakeDevice(); !device.ok()) {
      GTEST_SKIP() << device.status().message();
    }
  }
};

TEST_P(GpuGolden, IsWithinTheBounds) {
  const Comparison& one = GetParam();
  const std::string folder = source_dir + one.folder;
  auto golden = check::ReadGolden(folder + one.golden);
  ASSERT_TRUE(golden.ok()) << golden.status();
  LoadedPlan run(one.plan, one.folder, true);
  ASSERT_NE(run.executor, nullptr);
  check::GoldenBounds bounds;
  if (*one.baseline != '\0') bounds.baseline = folder + one.baseline;
  auto verdict = check::CheckGolden(*run.executor, *golden, one.golden, bounds);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  for (const std::string& reason : verdict->reasons) ADD_FAILURE() << reason;
  const bool exact = std::string_view(one.plan).ends_with("fp32");
  EXPECT_EQ(verdict->math, exact ? "fp32" : "bf16");

  double largest = 0;
  int64_t wrong_ids = 0;
  for (const check::CaseResult& result : verdict->cases) {
    for (const check::TensorResult& tensor : result.tensors) {
      largest = std::max(largest, tensor.rel_l2);
      wrong_ids += tensor.wrong_rows;
    }
  }
  // Of greedy runs too, whose logits are bounded one by one.
  if (exact) EXPECT_LE(largest, bounds.rel_l2);
  std::printf(
      "measured: %s: relative L2 mean %.3g, largest %.3g, bound %.3g; "
      "rows with other ids %lld; greedy tokens %.4g %%\n",
      one.plan, verdict->mean_rel_l2, largest, verdict->bound,
      static_cast<long long>(wrong_ids), verdict->greedy_percent);
}

INSTANTIATE_TEST_SUITE_P(Models, GpuGolden, ::testing::ValuesIn(kComparisons),
                         PlanName);

// The same steps of `entry` on both: a prompt of another length in each slot,
// then `steps` tokens of each sequence.
class SameSteps {
 public:
  SameSteps(Executor& one, Executor& other, uint32_t sequences)
      : one_(one), other_(other), positions_(sequences, 0) {}

  void Prefill(uint32_t entry) {
    const EntryInfo& info = one_.entries()[entry];
    for (uint32_t slot = 0; slot < positions_.size(); ++slot) {
      const uint32_t length = std::min<uint32_t>(info.tokens, 21 + 16 * slot);
      std::vector<int32_t> ids(info.tokens, 0);
      for (uint32_t i = 0; i < length; ++i) ids[i] = Token();
      std::vector<int32_t> rows(info.logit_rows, -1);
      rows[0] = static_cast<int32_t>(length) - 1;
      const SequenceStep step = {slot, 0, length};
      Both(entry, {ids, {&step, 1}, rows}, 1);
      positions_[slot] = length;
    }
  }

  void Decode(uint32_t entry) {
    std::vector<int32_t> ids, rows;
    std::vector<SequenceStep> steps;
    for (uint32_t slot = 0; slot < positions_.size(); ++slot) {
      ids.push_back(Token());
      rows.push_back(static_cast<int32_t>(slot));
      steps.push_back({slot, positions_[slot]++, 1});
    }
    Both(entry, {ids, steps, rows}, positions_.size());
  }

 private:
  int32_t Token() {
    return static_cast<int32_t>(random_() % one_.model().vocab);
  }

  // Compares bits, so that NaN equals NaN and 0 is not -0.
  void Both(uint32_t entry, const StepInputs& inputs, size_t rows) {
    const absl::Status status = one_.Step(entry, inputs);
    ASSERT_TRUE(status.ok()) << status;
    const absl::Status other = other_.Step(entry, inputs);
    ASSERT_TRUE(other.ok()) << other;
    for (size_t row = 0; row < rows; ++row) {
      const auto a = one_.logits(row), b = other_.logits(row);
      ASSERT_EQ(a.size(), b.size());
      ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0)
          << "row " << row;
    }
  }

  Executor& one_;
  Executor& other_;
  std::vector<uint32_t> positions_;
  std::mt19937_64 random_{1};
};

class GpuGraphs : public GpuGolden {};

// Drivers have replayed graphs wrongly, and not at the first step.
TEST_P(GpuGraphs, TwoHundredStepsGiveTheBitsOfEagerOnes) {
  constexpr int kSteps = 200;
  LoadedPlan eager(GetParam().plan, GetParam().folder, false, 4);
  LoadedPlan graphs(GetParam().plan, GetParam().folder, true, 4);
  ASSERT_NE(eager.executor, nullptr);
  ASSERT_NE(graphs.executor, nullptr);
  const std::vector<EntryInfo>& entries = eager.executor->entries();
  const auto prefill =
      std::find_if(entries.begin(), entries.end(), [](const EntryInfo& entry) {
        return entry.prefill && entry.sequences == 1;
      });
  ASSERT_NE(prefill, entries.end());
  std::string batches;
  for (uint32_t e = 0; e < entries.size(); ++e) {
    const uint32_t sequences = entries[e].sequences;
    if (entries[e].prefill || entries[e].tokens != 1 || sequences > 4) continue;
    SameSteps steps(*graphs.executor, *eager.executor, sequences);
    steps.Prefill(static_cast<uint32_t>(prefill - entries.begin()));
    for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
      SCOPED_TRACE(entries[e].name + " step " + std::to_string(step));
      steps.Decode(e);
    }
    ASSERT_FALSE(HasFatalFailure());
    batches += (batches.empty() ? "" : ", ") + std::to_string(sequences);
  }
  ASSERT_FALSE(batches.empty()) << "no decode step of at most 4 sequences";
  std::printf(
      "measured: %s: %d steps of %s sequences, graphs = eager in all "
      "bits\n",
      GetParam().plan, kSteps, batches.c_str());
}

INSTANTIATE_TEST_SUITE_P(Models, GpuGraphs,
                         ::testing::Values(kComparisons[0], kComparisons[1]),
                         PlanName);

int Usage(const char* program) {
  std::fprintf(stderr, "usage: %s PLANS [REPOSITORY] [--device gpu|host]\n",
               program);
  return 2;
}

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--device") {
      const std::string name = ++i < argc ? argv[i] : "";
      if (name != "gpu" && name != "host") return Usage(argv[0]);
      on_host = name == "host";
    } else if (argument.starts_with("-")) {
      return Usage(argv[0]);
    } else {
      places.push_back(argument);
    }
  }
  if (places.empty() || places.size() > 2) return Usage(argv[0]);
  plans_dir = places[0];
  if (places.size() == 2) source_dir = places[1];
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace glm

int main(int argc, char** argv) { return glm::Main(argc, argv); }
