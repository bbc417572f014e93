// What every device must do, whatever it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/conformance/backend.h"

namespace glm {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeviceTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    std::string test =
        ::testing::UnitTest::GetInstance()->current_test_info()->name();
    test = test.substr(0, test.find('/'));
    if (const auto it = GetParam().skipped.find(test);
        it != GetParam().skipped.end()) {
      GTEST_SKIP() << GetParam().name << ": " << it->second;
    }
    auto device = GetParam().create();
    if (GetParam().optional && absl::IsUnavailable(device.status())) {
      GTEST_SKIP() << device.status().message();
    }
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    queue_ = *device_->CreateQueue();
    shared_ = Allocate(4096, MemoryKind::kShared);
  }

  std::unique_ptr<Memory> Allocate(uint64_t bytes, MemoryKind kind) {
    auto memory = device_->Allocate(bytes, kind, "test");
    EXPECT_TRUE(memory.ok()) << memory.status();
    return *std::move(memory);
  }

  std::string Image() {
    std::ifstream file(GetParam().image_path, std::ios::binary);
    std::string image{std::istreambuf_iterator<char>(file), {}};
    if (GetParam().text) image.push_back(0);
    return image;
  }

  Module& Toys() {
    if (module_ == nullptr) {
      const std::string image = Image();
      module_ = *device_->LoadModule(std::as_bytes(std::span(image)), "toy");
    }
    return *module_;
  }

  bool Has(const char* name) { return Toys().Find(name).ok(); }

  const Kernel* Find(const char* name) {
    auto kernel = Toys().Find(name);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    return *kernel;
  }

  // Copies to the host; `memory` may be out of its reach.
  std::vector<uint32_t> Read(const Memory& memory, uint64_t count) {
    auto staging = Allocate(4 * count, MemoryKind::kShared);
    EXPECT_TRUE(queue_->Copy(*staging, 0, memory, 0, 4 * count).ok());
    EXPECT_TRUE(queue_->Finish().ok());
    std::vector<uint32_t> values(count);
    std::memcpy(values.data(), staging->host_data(), 4 * count);
    return values;
  }

  absl::Status LaunchAdd(const Memory& counters, uint32_t blocks,
                         uint32_t value, uint64_t cost_ns = 0) {
    const uint64_t args[] = {counters.address(), value};
    return queue_->Launch({.kernel = Find("test_add"),
                           .grid = {blocks, 1, 1},
                           .args = args,
                           .cost_ns = cost_ns});
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Memory> shared_;
};

TEST_P(DeviceTest, MemoryIsZeroAlignedAndVisibleAsPromised) {
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kShared}) {
    auto memory = Allocate(10'000, kind);
    EXPECT_EQ(memory->address() % 4096, 0u);
    EXPECT_EQ(memory->size(), 10'000u);
    EXPECT_THAT(Read(*memory, 2500), Each(0u));
    if (kind == MemoryKind::kShared) EXPECT_NE(memory->host_data(), nullptr);
  }
  EXPECT_GT(device_->AvailableBytes(), 0u);
}

TEST_P(DeviceTest, AllocationOfNothingIsRefused) {
  EXPECT_EQ(device_->Allocate(0, MemoryKind::kDevice, "bank").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(DeviceTest, AllocationOfTooMuchIsRefusedWithItsPurpose) {
  const auto memory =
      device_->Allocate(uint64_t{1} << 62, MemoryKind::kDevice, "latents");
  EXPECT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(memory.status().message()), HasSubstr("latents"));
}

TEST_P(DeviceTest, CopyOutsideItsMemoryIsRefused) {
  auto memory = Allocate(100, MemoryKind::kDevice);
  for (const auto [offset, bytes] :
       {std::pair<uint64_t, uint64_t>{0, 101}, {100, 1}, {~uint64_t{0}, 2}}) {
    EXPECT_EQ(queue_->Copy(*memory, offset, *shared_, 0, bytes).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(queue_->Copy(*shared_, 0, *memory, offset, bytes).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(DeviceTest, EveryBlockRunsOnceWithItsCoordinates) {
  auto out = Allocate(4 * 3 * 5 * 4 * 3, MemoryKind::kDevice);
  const uint64_t args[] = {out->address()};
  ASSERT_TRUE(queue_
                  ->Launch({.kernel = Find("test_coordinates"),
                            .grid = {5, 4, 3},
                            .args = args})
                  .ok());
  const std::vector<uint32_t> values = Read(*out, 180);
  for (uint32_t i = 0; i < 60; ++i) {
    EXPECT_EQ(values[3 * i], i % 5);
    EXPECT_EQ(values[3 * i + 1], i / 5 % 4);
    EXPECT_EQ(values[3 * i + 2], i / 20);
  }
}

TEST_P(DeviceTest, LaunchesRunInOrderWhateverTheirCost) {
  auto counters = Allocate(4 * 1000, MemoryKind::kDevice);
  for (uint32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(LaunchAdd(*counters, 1000, i, i % 2 ? 1 : 1'000'000).ok());
  }
  EXPECT_THAT(Read(*counters, 1000), Each(49u * 50 / 2));
}

TEST_P(DeviceTest, CaptureRunsNothingAndReplayRunsAll) {
  auto counters = Allocate(4 * 8, MemoryKind::kDevice);
  ASSERT_TRUE(queue_->BeginCapture().ok());
  ASSERT_TRUE(LaunchAdd(*counters, 8, 2).ok());
  ASSERT_TRUE(LaunchAdd(*counters, 8, 3).ok());
  const auto graph = queue_->EndCapture();
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(Read(*counters, 8), Each(0u));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue_->Replay(**graph).ok());
  EXPECT_THAT(Read(*counters, 8), Each(20u));
}

// What phases are for, for each phase's cost: 0 is not known, 1 too little to
// spread, the other enough.
TEST_P(DeviceTest, PhasesSeeWhatEarlierPhasesStored) {
  // A GPU's kernels wait by themselves: test/kernels/group_test.cc.
  if (!Has("test_phases")) GTEST_SKIP();
  constexpr uint32_t kFirst = 300, kSecond = 340, kAll = 345;
  auto values = Allocate(4 * kAll, MemoryKind::kDevice);
  uint32_t seed = 1;
  for (const uint64_t cost : {0, 1, 1'000'000}) {
    for (const uint64_t other : {0, 1, 1'000'000}) {
      const LaunchPhase phases[] = {
          {kFirst, cost}, {kSecond, other}, {kAll, cost}};
      for (int i = 0; i < 20; ++i, ++seed) {
        const uint64_t args[] = {values->address(), kFirst, kSecond, seed};
        ASSERT_TRUE(queue_
                        ->Launch({.kernel = Find("test_phases"),
                                  .grid = {kAll, 1, 1},
                                  .args = args,
                                  .phases = phases})
                        .ok());
        const uint32_t first = kFirst * seed + kFirst * (kFirst - 1) / 2;
        uint32_t second = 0;
        const std::vector<uint32_t> got = Read(*values, kAll);
        for (uint32_t b = kFirst; b < kSecond; ++b) {
          ASSERT_EQ(got[b], first + b) << cost << " " << other;
          second += first + b;
        }
        for (uint32_t b = kSecond; b < kAll; ++b) ASSERT_EQ(got[b], second);
      }
    }
  }
}

TEST_P(DeviceTest, PhasesAreCopiedAndReplayed) {
  if (!Has("test_phases")) GTEST_SKIP();
  auto values = Allocate(4 * 12, MemoryKind::kDevice);
  ASSERT_TRUE(queue_->BeginCapture().ok());
  {
    std::vector<LaunchPhase> phases = {{8, 0}, {10, 0}, {12, 0}};
    std::vector<uint64_t> args = {values->address(), 8, 10, 5};
    ASSERT_TRUE(queue_
                    ->Launch({.kernel = Find("test_phases"),
                              .grid = {12, 1, 1},
                              .args = args,
                              .phases = phases})
                    .ok());
    phases.assign(3, LaunchPhase{});
    args.assign(4, 0);
  }
  const auto graph = queue_->EndCapture();
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(LaunchAdd(*values, 12, 1000).ok());
  ASSERT_TRUE(queue_->Replay(**graph).ok());
  EXPECT_THAT(Read(*values, 12),
              ElementsAre(5, 6, 7, 8, 9, 10, 11, 12, 76, 77, 153, 153));
}

// Long graphs and values that change between replays: both have gone wrong on
// real drivers.
TEST_P(DeviceTest, ReplayReadsInputsWrittenJustBefore) {
  for (const int nodes : {1, 50, 199, 201, 500}) {
    auto input = Allocate(4, MemoryKind::kDevice);
    auto pointer = Allocate(8, MemoryKind::kShared);
    auto total = Allocate(4, MemoryKind::kDevice);
    const uint64_t address = input->address();
    std::memcpy(pointer->host_data(), &address, 8);
    ASSERT_TRUE(queue_->BeginCapture().ok());
    ASSERT_TRUE(queue_->Copy(*input, 0, *shared_, 0, 4).ok());
    const uint64_t args[] = {total->address(), pointer->address()};
    for (int i = 0; i < nodes; ++i) {
      ASSERT_TRUE(
          queue_->Launch({.kernel = Find("test_indirect"), .args = args}).ok());
    }
    const auto graph = queue_->EndCapture();
    ASSERT_TRUE(graph.ok());
    uint32_t expected = 0;
    for (uint32_t step = 1; step <= 20; ++step) {
      std::memcpy(shared_->host_data(), &step, 4);
      ASSERT_TRUE(queue_->Replay(**graph).ok());
      ASSERT_TRUE(queue_->Finish().ok());
      expected += step * nodes;
      EXPECT_THAT(Read(*total, 1), ElementsAre(expected));
    }
  }
}

TEST_P(DeviceTest, CallsThatCannotBeRecordedAreRefusedDuringCapture) {
  auto event = *device_->CreateEvent();
  ASSERT_TRUE(queue_->BeginCapture().ok());
  EXPECT_EQ(queue_->BeginCapture().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(queue_->Record(*event).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(queue_->Finish().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(queue_->Wait(*event).code(), absl::StatusCode::kFailedPrecondition);
  const auto graph = queue_->EndCapture();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(queue_->EndCapture().status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_P(DeviceTest, EventsMeasureWhatLiesBetween) {
  auto begin = *device_->CreateEvent();
  auto end = *device_->CreateEvent();
  auto counters = Allocate(4 * 1000, MemoryKind::kDevice);
  EXPECT_EQ(device_->SecondsBetween(*begin, *end).status().code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(queue_->Record(*begin).ok());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(LaunchAdd(*counters, 1000, 1).ok());
  ASSERT_TRUE(queue_->Record(*end).ok());
  const auto seconds = device_->SecondsBetween(*begin, *end);
  ASSERT_TRUE(seconds.ok());
  EXPECT_GT(*seconds, 0);
  EXPECT_LT(*seconds, 10);
}

TEST_P(DeviceTest, WaitingForAnEventWaitsForWhatCameBeforeIt) {
  auto event = *device_->CreateEvent();
  auto counters = Allocate(4, MemoryKind::kDevice);
  auto shared = Allocate(4, MemoryKind::kShared);
  EXPECT_EQ(queue_->Wait(*event).code(), absl::StatusCode::kFailedPrecondition)
      << "never recorded";
  for (uint32_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(LaunchAdd(*counters, 1, 5).ok());
    ASSERT_TRUE(queue_->Copy(*shared, 0, *counters, 0, 4).ok());
    ASSERT_TRUE(queue_->Record(*event).ok());
    ASSERT_TRUE(queue_->Wait(*event).ok());
    uint32_t value = 0;
    std::memcpy(&value, shared->host_data(), 4);
    EXPECT_EQ(value, 5 * i);
  }
}

TEST_P(DeviceTest, MissingKernelIsNamed) {
  Find("test_add");
  const auto kernel = module_->Find("no_such_kernel");
  EXPECT_EQ(kernel.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(kernel.status().message()),
              HasSubstr("no_such_kernel"));
}

TEST_P(DeviceTest, DamagedImageIsRefused) {
  std::string image = Image();
  image.resize(image.size() / 3);
  const auto module =
      device_->LoadModule(std::as_bytes(std::span(image)), "p.glmplan");
  EXPECT_EQ(module.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("p.glmplan"));
}

TEST_P(DeviceTest, TwoModulesFromTheSameImageBothWork) {
  const std::string image = Image();
  const auto bytes = std::as_bytes(std::span(image));
  auto first = *device_->LoadModule(bytes, "first");
  auto second = *device_->LoadModule(bytes, "second");
  first.reset();
  EXPECT_TRUE(second->Find("test_add").ok());
}

TEST_P(DeviceTest, CodeObjectsOfOthersAreRefusedWithTheRemedy) {
  EXPECT_TRUE(device_->CheckCodeObject(GetParam().target, GetParam().isa).ok());
  EXPECT_EQ(device_->CheckCodeObject("another", "").code(),
            absl::StatusCode::kNotFound);
  const absl::Status status =
      device_->CheckCodeObject(GetParam().target, "x86-64-v9");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("compile again"));
}

TEST_P(DeviceTest, MappedMemoryIsSeenByKernels) {
  const uint32_t value = 7;
  auto mapped = device_->MapHostMemory(std::as_bytes(std::span(&value, 1)));
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  auto total = Allocate(4, MemoryKind::kDevice);
  const uint64_t address = (*mapped)->address();
  std::memcpy(shared_->host_data(), &address, 8);
  const uint64_t args[] = {total->address(), shared_->address()};
  ASSERT_TRUE(
      queue_->Launch({.kernel = Find("test_indirect"), .args = args}).ok());
  EXPECT_THAT(Read(*total, 1), ElementsAre(7u));
}

INSTANTIATE_TEST_SUITE_P(Backends, DeviceTest, ::testing::ValuesIn(Backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace glm
