// Rows on a device that refuses memory.
#include "runtime/executor/row_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/plan/test_paged_plan.h"
#include "runtime/safetensors/weight_fingerprint.h"

namespace glm {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// Has memory of its own, and shared memory for so many ranges alone.
class ScarceDevice : public Device {
 public:
  explicit ScarceDevice(int ranges)
      : host_(*CreateHostDevice({.threads = 1, .discrete = true})),
        ranges_(ranges) {}

  std::string Describe() const override { return host_->Describe(); }
  absl::Status CheckCodeObject(std::string_view target,
                               std::string_view isa) const override {
    return host_->CheckCodeObject(target, isa);
  }
  bool SupportsMappedWeights() const override { return false; }
  bool RunsAhead() const override { return false; }
  uint64_t AvailableBytes() const override { return host_->AvailableBytes(); }
  absl::StatusOr<std::unique_ptr<Memory>> Allocate(
      uint64_t bytes, MemoryKind kind, std::string_view purpose) override {
    if (kind == MemoryKind::kShared && ranges_-- <= 0) {
      return absl::ResourceExhaustedError("no more");
    }
    return host_->Allocate(bytes, kind, purpose);
  }
  absl::StatusOr<std::unique_ptr<Memory>> MapHostMemory(
      std::span<const std::byte> bytes) override {
    return host_->MapHostMemory(bytes);
  }
  absl::StatusOr<std::unique_ptr<Module>> LoadModule(
      std::span<const std::byte> image, std::string_view name) override {
    return host_->LoadModule(image, name);
  }
  absl::StatusOr<std::unique_ptr<Queue>> CreateQueue() override {
    return host_->CreateQueue();
  }
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override {
    return host_->CreateEvent();
  }
  absl::StatusOr<double> SecondsBetween(const Event& begin,
                                        const Event& end) override {
    return host_->SecondsBetween(begin, end);
  }

 private:
  std::unique_ptr<Device> host_;
  int ranges_;
};

class RowStoreTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "row_store";
    std::filesystem::create_directories(folder_);
    const std::string weights = folder_ + "/toy.bin";
    plan::WriteBytes(weights, plan::PagedWeightBytes(GetParam()));
    plan::PlanT tables = plan::MakePagedToyPlan(GetParam(), weights);
    tables.weight_files[0]->fingerprint = *FingerprintFile(weights);
    const std::string path = folder_ + "/toy.glmplan";
    plan::WriteBytes(path, plan::PlanFileBytes(tables));
    plan_ = *PlanFile::Open(path);
    weights_ = *WeightStore::Open(plan_, {}, true);
    rows_ = *ExpertRowsOf(plan_->plan());
    kinds_ = RowKinds::Of(plan_->plan(), rows_, std::nullopt, false);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<std::unique_ptr<RowStore>> Create(Device& device,
                                                   uint32_t pinned) {
    budget_ = {};
    budget_.rows = plan::kPagedRows;
    budget_.row_bytes = plan::kPagedRowBytes;
    budget_.pinned_rows = pinned;
    budget_.file_rows = plan::kPagedRows - pinned;
    budget_.limits.lock = 65536;
    return RowStore::Create(*plan_, rows_, kinds_, *weights_, device, {},
                            budget_);
  }

  // Whether the row's pieces are in `bytes`.
  static void ExpectRow(uint32_t row, const std::byte* bytes) {
    const uint32_t layer = row / plan::kToyVocab, e = row % plan::kToyVocab;
    float small, large;
    std::memcpy(&small, bytes, 4);
    std::memcpy(&large, bytes + 256 + plan::kPagedLarge - 4, 4);
    EXPECT_EQ(small, plan::PagedSmall(layer, e)) << row;
    EXPECT_EQ(large, plan::PagedLarge(layer, e)) << row;
  }

  std::string folder_;
  std::shared_ptr<const PlanFile> plan_;
  std::unique_ptr<WeightStore> weights_;
  ExpertRows rows_;
  RowKinds kinds_;
  ExpertBudget budget_;
};

TEST_P(RowStoreTest, LayoutIsThatOfTheSpecification) {
  EXPECT_EQ(rows_.layout.row_bytes, plan::kPagedRowBytes);
  EXPECT_EQ(rows_.layout.offsets[1], 256u);
  EXPECT_EQ(rows_.shape, (paging::TraceShape{2, 8, 2}));
  EXPECT_EQ(rows_.step_tokens, 4u);
  EXPECT_EQ(rows_.decode_tokens, 1u);
  const auto place = RowInFile(plan_->plan(), rows_, 3);
  EXPECT_EQ(place.has_value(), GetParam());
  if (place) EXPECT_EQ(place->offset, 4096 + 3 * plan::kPagedRowBytes);
}

TEST_P(RowStoreTest, PinnedRowsAreSpreadAndTheOthersRead) {
  ScarceDevice device(1);
  auto store = Create(device, 4);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(budget_.note, "");
  std::vector<uint32_t> pinned;
  std::vector<std::byte> bytes(plan::kPagedRowBytes);
  for (uint32_t row = 0; row < plan::kPagedRows; ++row) {
    if (const uint64_t source = (*store)->sources()[row]) {
      pinned.push_back(row);
      ExpectRow(row, reinterpret_cast<const std::byte*>(source));
      continue;
    }
    ASSERT_EQ((*store)->ReadRow(row, bytes), absl::OkStatus());
    ExpectRow(row, bytes.data());
  }
  EXPECT_THAT(pinned, ::testing::ElementsAre(3, 7, 11, 15));
}

TEST_P(RowStoreTest, MemoryThatIsRefusedLeavesRowsInTheirFile) {
  ScarceDevice device(0);
  auto store = Create(device, plan::kPagedRows);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_THAT((*store)->sources(), Each(0u));
  EXPECT_EQ(budget_.pinned_rows, 0u);
  EXPECT_EQ(budget_.file_rows, plan::kPagedRows);
  EXPECT_EQ(budget_.ring, kStagingRows);
  for (const char* text :
       {"only 0 B of 128.0 KiB", "no more", "memlock limit is 64.0 KiB"}) {
    EXPECT_THAT(budget_.note, HasSubstr(text));
  }
  std::vector<std::byte> bytes(plan::kPagedRowBytes);
  ASSERT_EQ((*store)->ReadRow(9, bytes), absl::OkStatus());
  ExpectRow(9, bytes.data());
}

TEST_P(RowStoreTest, ARowThatHasASourceIsNotAskedFor) {
  ScarceDevice device(1);
  auto store = Create(device, plan::kPagedRows);
  ASSERT_TRUE(store.ok()) << store.status();
  std::vector<std::byte> bytes(plan::kPagedRowBytes);
  EXPECT_EQ((*store)->ReadRow(2, bytes).code(), absl::StatusCode::kDataLoss);
}

TEST_P(RowStoreTest, FillingCanBeCancelled) {
  ScarceDevice device(1);
  std::atomic<bool> cancel{true};
  budget_ = {};
  budget_.rows = plan::kPagedRows;
  budget_.row_bytes = plan::kPagedRowBytes;
  budget_.pinned_rows = plan::kPagedRows;
  EXPECT_EQ(RowStore::Create(*plan_, rows_, kinds_, *weights_, device,
                             {{}, &cancel}, budget_)
                .status()
                .code(),
            absl::StatusCode::kCancelled);
}

TEST_P(RowStoreTest, AFileThatBecomesShorterIsAnErrorThatNamesIt) {
  ScarceDevice device(1000);
  const std::string weights = folder_ + "/toy.bin";
  std::filesystem::resize_file(weights, 64);
  const absl::Status status = Create(device, plan::kPagedRows).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(weights));
  EXPECT_THAT(std::string(status.message()), HasSubstr("became shorter"));
  EXPECT_EQ(weights_->PieceBytes(2, 0).status().code(),
            absl::StatusCode::kDataLoss);
}

INSTANTIATE_TEST_SUITE_P(Files, RowStoreTest, ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "packed" : "scattered";
                         });

}  // namespace
}  // namespace glm
