#include "runtime/paging/row_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/scarce_threads.h"

namespace glm::paging {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kRing = 4;
constexpr uint64_t kRowBytes = 512;
constexpr uint32_t kRows = 1000;

// A doorbell, and the end of it that kernels have.
class RowServerTest : public ::testing::Test {
 protected:
  RowServerTest()
      : memory_(static_cast<std::byte*>(
            ::operator new(BellBytes(kRing), std::align_val_t{kBellLine}))),
        bell_(new (memory_) Doorbell()),
        staging_(kRing * kRowBytes) {}
  ~RowServerTest() override {
    server_.reset();
    ::operator delete(memory_, std::align_val_t{kBellLine});
  }

  void Serve(RowServer::ReadRow read) {
    server_ =
        *RowServer::Create(RowServerOptions{bell_, staging_.data(), 0x5000,
                                            kRing, kRowBytes, kRows},
                           std::move(read));
  }

  static std::atomic_ref<uint32_t> Word(uint32_t& word) {
    return std::atomic_ref<uint32_t>(word);
  }

  // One request, as copy_rows makes it; whether all bytes are `value`.
  void Ask(uint32_t row) {
    reinterpret_cast<uint32_t*>(memory_ + kBellRows)[asked_ % kRing] = row;
    Word(bell_->requested).store(++asked_, std::memory_order_release);
  }
  bool TakeIs(uint8_t value) {
    while (Word(bell_->served).load(std::memory_order_acquire) == taken_) {
      std::this_thread::yield();
    }
    const std::byte* row = staging_.data() + taken_ % kRing * kRowBytes;
    bool same = true;
    for (uint64_t i = 0; i < kRowBytes; ++i) {
      same &= row[i] == std::byte{value};
    }
    Word(bell_->taken).store(++taken_, std::memory_order_release);
    return same;
  }

  std::byte* memory_;
  Doorbell* bell_;
  std::vector<std::byte> staging_;
  uint32_t asked_ = 0, taken_ = 0;
  std::unique_ptr<RowServer> server_;
};

absl::Status FillWithRow(uint32_t row, std::span<std::byte> to) {
  std::memset(to.data(), static_cast<int>(row % 251), to.size());
  return absl::OkStatus();
}

TEST_F(RowServerTest, ServesManyRequestsInOrderThroughASmallRing) {
  Serve(FillWithRow);
  EXPECT_EQ(bell_->staging, 0x5000u);
  EXPECT_EQ(bell_->ring, kRing);
  server_->StepBegins();
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < 20000; ++i) {
    // As many ahead as the ring holds.
    while (asked_ - taken_ < kRing && asked_ < 20000) Ask(asked_ * 7 % kRows);
    wrong += !TakeIs(static_cast<uint8_t>(i * 7 % kRows % 251));
  }
  server_->StepEnds();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(server_->rows_read(), 20000u);
  EXPECT_TRUE(server_->TakeStatus().ok());
}

TEST_F(RowServerTest, ARowThatCannotBeReadIsZerosAndAStatus) {
  Serve([](uint32_t row, std::span<std::byte> to) -> absl::Status {
    if (row == 9) return absl::DataLossError("x.bin: at offset 9");
    if (row == 10) return absl::DataLossError("the second");
    return FillWithRow(row, to);
  });
  server_->StepBegins();
  for (const uint32_t row : {8, 9, 10, 11}) Ask(row);
  EXPECT_TRUE(TakeIs(8));
  EXPECT_TRUE(TakeIs(0));
  EXPECT_TRUE(TakeIs(0));
  EXPECT_TRUE(TakeIs(11));
  server_->StepEnds();
  const absl::Status status = server_->TakeStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("at offset 9"));
  EXPECT_TRUE(server_->TakeStatus().ok()) << "told once";
}

TEST_F(RowServerTest, ARowThatThereIsNotIsRefused) {
  Serve(FillWithRow);
  server_->StepBegins();
  Ask(kRows);
  EXPECT_TRUE(TakeIs(0));
  server_->StepEnds();
  EXPECT_THAT(std::string(server_->TakeStatus().message()),
              HasSubstr("row 1000 of 1000"));
}

TEST_F(RowServerTest, AStepAfterAPauseIsServed) {
  Serve(FillWithRow);
  for (uint32_t step = 0; step < 50; ++step) {
    server_->StepBegins();
    Ask(step);
    EXPECT_TRUE(TakeIs(static_cast<uint8_t>(step)));
    server_->StepEnds();
  }
}

TEST_F(RowServerTest, RestartForgetsWhatAFailedStepAsked) {
  Serve([](uint32_t, std::span<std::byte>) {
    return absl::DataLossError("lost");
  });
  server_->StepBegins();
  Ask(1);
  Ask(2);
  while (Word(bell_->served).load() < 2) std::this_thread::yield();
  server_->StepEnds();
  server_->Restart();
  EXPECT_TRUE(server_->TakeStatus().ok());
  EXPECT_EQ(Word(bell_->requested).load(), 0u);
  EXPECT_EQ(Word(bell_->served).load(), 0u);
  asked_ = taken_ = 0;
  server_->StepBegins();
  Ask(6);
  EXPECT_TRUE(TakeIs(0));
  server_->StepEnds();
}

TEST_F(RowServerTest, EndsWhileAStepRuns) {
  Serve(FillWithRow);
  server_->StepBegins();
  server_.reset();
}

TEST_F(RowServerTest, AThreadThatTheSystemRefusesIsAnError) {
  if (!kThreadsCanBeScarce) GTEST_SKIP();
  const RowServerOptions options = {bell_, staging_.data(), 0x5000,
                                    kRing, kRowBytes,       kRows};
  const auto fill = [&options] {
    MakeThreadsScarce();
    std::vector<std::unique_ptr<RowServer>> servers;
    absl::Status status;
    while (status.ok() && servers.size() < 4096) {
      auto server = RowServer::Create(options, FillWithRow);
      status = server.status();
      if (server.ok()) servers.push_back(*std::move(server));
    }
    std::fputs(std::string(status.message()).c_str(), stderr);
    _exit(absl::IsResourceExhausted(status) ? 0 : 1);
  };
  EXPECT_EXIT(fill(), ::testing::ExitedWithCode(0),
              "no thread for reading rows of experts");
}

}  // namespace
}  // namespace glm::paging
