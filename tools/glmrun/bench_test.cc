// What `glmrun bench` holds a measurement against.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/device/gpu/fake_driver.h"
#include "runtime/device/gpu/gpu_device.h"
#include "runtime/executor/describe.h"
#include "runtime/plan/test_ops_plan.h"
#include "tools/glmrun/bandwidth.h"
#include "tools/glmrun/prediction.h"
#include "tools/glmrun/step_bytes.h"
#include "tools/glmrun/terminal.h"

namespace glm::tools {
namespace {

using ::testing::HasSubstr;

TEST(StepBytes, TakeOffWhatAShortContextDoesNotReach) {
  plan::PlanT tables = plan::MakeOpsPlan();
  for (auto& launch : tables.entries[0]->launches) launch->memory_bytes = 4096;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Plan::Pack(builder, &tables));
  const auto& plan =
      *flatbuffers::GetRoot<plan::Plan>(builder.GetBufferPointer());
  const plan::Entry& entry = *plan.entries()->Get(0);
  const uint64_t sequences = entry.sequences();
  const uint64_t rows = sequences * entry.tokens();
  const EntryInfo info = DescribeEntry(entry);
  const uint64_t full = info.weight_bytes + info.memory_bytes;
  // Four pools of 4 tokens in 256 bytes; 3 pools and 3 more tokens attended to,
  // of 16 in 256 bytes, by two kernels.
  EXPECT_EQ(BytesAtContext(plan, entry, 16), full);
  EXPECT_EQ(BytesAtContext(plan, entry, 15), full - sequences * 64);
  EXPECT_EQ(BytesAtContext(plan, entry, 5),
            full - sequences * 3 * 64 - 2 * rows * 10 * 16);
}

TEST(CopyBandwidth, TakesWhatRoomThereIs) {
  constexpr uint64_t kReserve = uint64_t{512} << 20, kMiB = uint64_t{1} << 20;
  FakeGpu gpu;
  gpu.memory_bytes = kReserve + 40 * kMiB;
  const auto device = *CreateGpuDeviceOver(gpu.driver(), 0);
  auto rate = MeasureCopyBandwidth(*device);
  ASSERT_TRUE(rate.ok()) << rate.status();
  EXPECT_GT(*rate, 0);
  gpu.memory_bytes = kReserve + 30 * kMiB;
  rate = MeasureCopyBandwidth(*device);
  ASSERT_TRUE(rate.ok()) << rate.status();
  EXPECT_EQ(*rate, 0) << "no room is no fault";
}

TEST(Interrupts, FirstAsksSecondEnds) {
  EXPECT_EXIT(
      {
        Interrupts interrupts;
        raise(SIGINT);
        if (!interrupts.raised()) _exit(1);
        raise(SIGINT);
        _exit(2);
      },
      ::testing::ExitedWithCode(130), "");
}

class PredictionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "prediction.json";
    entry_.name = "decode_b1";
    entry_.launches = 223;
  }
  void TearDown() override { std::filesystem::remove(path_); }
  absl::StatusOr<Prediction> Read(const std::string& text) {
    plan::WriteBytes(path_, text);
    return ReadPrediction(path_, entry_);
  }
  std::string path_;
  EntryInfo entry_;
};

constexpr char kGood[] = R"({"machine": {"name": "h200"}, "entries": [
  {"name": "prefill_n256"},
  {"name": "decode_b1", "prediction": {"us": {"total": 5000.0},
   "floor_us": 4000, "device_launches": 223}}]})";

TEST_F(PredictionTest, IsThatOfTheEntry) {
  const auto prediction = Read(kGood);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_EQ(prediction->machine, "h200");
  EXPECT_DOUBLE_EQ(prediction->seconds, 5e-3);
  EXPECT_DOUBLE_EQ(prediction->floor_seconds, 4e-3);
}

TEST_F(PredictionTest, OfAnotherPlanOrNoneIsRefused) {
  for (const char* text :
       {"", "[1, 2]", "{\"entries\": 3}", "{\"entries\": []}",
        R"({"machine": {"name": 7}, "entries": []})",
        R"({"machine": {"name": "x"}, "entries": [{"name": "decode_b1"}]})"}) {
    const absl::Status status = Read(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("glmc explain"));
  }
  entry_.launches = 300;
  EXPECT_THAT(std::string(Read(kGood).status().message()),
              HasSubstr("223 launches there, 300 here"));
  entry_.name = "decode_b2";
  EXPECT_THAT(std::string(Read(kGood).status().message()),
              HasSubstr("no entry decode_b2"));
  EXPECT_EQ(ReadPrediction(path_ + ".absent", entry_).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace glm::tools
