// Every call of a driver may fail. Whichever does, the caller gets a status
// that names it and nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>

#include "runtime/base/status_macros.h"
#include "runtime/device/gpu/fake_driver.h"
#include "runtime/device/gpu/gpu_device.h"

namespace glm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Image() {
  std::ifstream file(GLM_TOY_KERNELS_PTX, std::ios::binary);
  std::string image{std::istreambuf_iterator<char>(file), {}};
  image.push_back(0);
  return image;
}

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

// What an executor does: memory, code, a captured step, replays, times.
absl::Status Scenario(const FakeGpu& fake) {
  GLM_ASSIGN_OR_RETURN(auto device, CreateGpuDeviceOver(fake.driver(), 0));
  GLM_ASSIGN_OR_RETURN(auto queue, device->CreateQueue());
  const std::string image = Image();
  GLM_ASSIGN_OR_RETURN(
      auto module,
      device->LoadModule(std::as_bytes(std::span(image)), "p.glmplan"));
  GLM_ASSIGN_OR_RETURN(const Kernel* kernel, module->Find("test_add"));
  GLM_ASSIGN_OR_RETURN(auto counter,
                       device->Allocate(64, MemoryKind::kDevice, "counter"));
  GLM_ASSIGN_OR_RETURN(auto staging,
                       device->Allocate(64, MemoryKind::kShared, "staging"));
  GLM_RETURN_IF_ERROR(queue->BeginCapture());
  const std::array<uint64_t, 2> args = {counter->address(), 3};
  const LaunchPhase phases[] = {{1, 0}, {2, 0}};
  const absl::Status recorded = [&]() -> absl::Status {
    GLM_RETURN_IF_ERROR(queue->Copy(*counter, 0, *staging, 0, 4));
    return queue->Launch(
        {.kernel = kernel, .grid = {2, 1, 1}, .args = args, .phases = phases});
  }();
  GLM_ASSIGN_OR_RETURN(const auto graph, queue->EndCapture());
  GLM_RETURN_IF_ERROR(recorded);
  GLM_ASSIGN_OR_RETURN(auto begin, device->CreateEvent());
  GLM_ASSIGN_OR_RETURN(auto end, device->CreateEvent());
  GLM_RETURN_IF_ERROR(queue->Record(*begin));
  for (uint32_t i = 0; i < 2; ++i) {
    std::memcpy(staging->host_data(), &i, 4);
    GLM_RETURN_IF_ERROR(queue->Replay(*graph));
    GLM_RETURN_IF_ERROR(queue->Finish());
  }
  GLM_RETURN_IF_ERROR(queue->Record(*end));
  GLM_RETURN_IF_ERROR(device->SecondsBetween(*begin, *end).status());
  GLM_RETURN_IF_ERROR(queue->Copy(*staging, 8, *counter, 0, 4));
  GLM_RETURN_IF_ERROR(queue->Finish());
  uint32_t value = 0;
  std::memcpy(&value, staging->host_data() + 8, 4);
  return value == 1 + 3 ? absl::OkStatus()
                        : absl::DataLossError("the kernel did not run");
}

TEST(GpuFaults, NothingIsLeftWhenNothingFails) {
  FakeGpu fake;
  EXPECT_EQ(Scenario(fake), absl::OkStatus());
  EXPECT_THAT(fake.Alive(), IsEmpty());
  EXPECT_THAT(fake.misuse, IsEmpty());
}

// How many calls the scenario makes when all is well.
int CallsOfScenario() {
  FakeGpu fake;
  EXPECT_EQ(Scenario(fake), absl::OkStatus());
  return static_cast<int>(fake.calls.size());
}

TEST(GpuFaults, AnyCallMayFail) {
  const int calls = CallsOfScenario();
  ASSERT_GT(calls, 50);
  int statuses = 0;
  for (int n = 1; n <= calls; ++n) {
    FakeGpu fake;
    fake.fail_at = n;
    const absl::Status status = Scenario(fake);
    ASSERT_GE(static_cast<int>(fake.calls.size()), n);
    const std::string failed = fake.calls[n - 1];
    SCOPED_TRACE("call " + std::to_string(n) + ", " + failed);
    EXPECT_THAT(fake.Alive(), IsEmpty());
    EXPECT_THAT(fake.misuse, IsEmpty());
    if (status.ok()) continue;  // in a destructor, see below
    ++statuses;
    EXPECT_THAT(Message(status), HasSubstr("Fake " + failed));
    EXPECT_THAT(Message(status), HasSubstr("made to fail (error 999)"));
  }
  // The rest are calls of destructors, which have nobody to tell.
  EXPECT_GT(statuses, calls / 2);
}

TEST(GpuFaults, FailureWhileAGraphIsCapturedIsWhatEndCaptureReports) {
  FakeGpu fake;
  auto device = *CreateGpuDeviceOver(fake.driver(), 0);
  auto queue = *device->CreateQueue();
  auto memory = *device->Allocate(64, MemoryKind::kDevice, "test");
  ASSERT_TRUE(queue->BeginCapture().ok());
  fake.fail_at = static_cast<int>(fake.calls.size()) + 2;
  EXPECT_FALSE(queue->Copy(*memory, 0, *memory, 32, 8).ok());
  EXPECT_THAT(Message(queue->EndCapture().status()), HasSubstr("Fake copy"));
  EXPECT_TRUE(queue->BeginCapture().ok()) << "the queue can be used again";
  EXPECT_TRUE(queue->EndCapture().ok());
}

// 24 blocks of which 16 wait, on devices that hold about as many.
TEST(GpuFaults, BlocksThatWaitAreFewerThanTheDeviceHolds) {
  constexpr LaunchPhase kPhases[] = {{8, 0}, {20, 0}, {24, 0}};
  for (const auto& [units, blocks, fits] : {std::tuple{4, 3, false},
                                            {8, 2, false},
                                            {64, 0, false},
                                            {17, 1, true},
                                            {6, 3, true}}) {
    SCOPED_TRACE(units);
    FakeGpu fake;
    fake.units = units;
    fake.blocks_per_unit = blocks;
    auto device = *CreateGpuDeviceOver(fake.driver(), 0);
    auto queue = *device->CreateQueue();
    const std::string image = Image();
    auto module = *device->LoadModule(std::as_bytes(std::span(image)), "p");
    auto memory = *device->Allocate(4 * 24, MemoryKind::kDevice, "test");
    const std::array<uint64_t, 2> args = {memory->address(), 3};
    LaunchCall call = {
        .kernel = *module->Find("test_add"), .grid = {24, 1, 1}, .args = args};
    EXPECT_TRUE(queue->Launch(call).ok()) << "no block waits";
    EXPECT_THAT(fake.calls, Not(Contains("occupancy")));
    call.phases = kPhases;
    ASSERT_TRUE(queue->BeginCapture().ok());
    const absl::Status recorded = queue->Launch(call);
    EXPECT_EQ(queue->EndCapture().status(), recorded);
    const absl::Status run = queue->Launch(call);
    EXPECT_EQ(run, recorded);
    EXPECT_THAT(fake.calls, Contains("occupancy").Times(1));
    EXPECT_THAT(fake.calls, Contains("launch").Times(fits ? 3 : 1));
    EXPECT_EQ(run.ok(), fits);
    if (fits) continue;
    EXPECT_EQ(run.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(run), HasSubstr("kernel test_add: 16 blocks wait"));
    EXPECT_THAT(Message(run),
                HasSubstr("the " + std::to_string(units * blocks) + " that"));
    EXPECT_THAT(Message(run),
                HasSubstr("compile with --disable-pass glm-fuse-phases"));
  }
}

TEST(GpuFaults, QueueThatGoesWhileCapturingLeavesNothing) {
  FakeGpu fake;
  {
    auto device = *CreateGpuDeviceOver(fake.driver(), 0);
    auto queue = *device->CreateQueue();
    ASSERT_TRUE(queue->BeginCapture().ok());
  }
  EXPECT_THAT(fake.Alive(), IsEmpty());
  EXPECT_THAT(fake.misuse, IsEmpty());
}

TEST(GpuFaults, LastBytesOfTheDeviceAreLeftToTheDriver) {
  FakeGpu fake;
  fake.memory_bytes = uint64_t{600} << 20;
  auto device = *CreateGpuDeviceOver(fake.driver(), 0);
  EXPECT_EQ(device->AvailableBytes(), uint64_t{88} << 20);
  EXPECT_TRUE(device->Allocate(80 << 20, MemoryKind::kDevice, "arena").ok());
  const absl::Status status =
      device->Allocate(90 << 20, MemoryKind::kDevice, "arena").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("arena"));
  EXPECT_THAT(fake.calls, Contains("allocate").Times(1));
}

TEST(GpuFaults, CodeThatTheDriverRefusesComesWithTheAssemblersWords) {
  FakeGpu fake;
  auto device = *CreateGpuDeviceOver(fake.driver(), 0);
  const std::string image("no code at all", 15);
  const absl::Status status =
      device->LoadModule(std::as_bytes(std::span(image)), "p.glmplan").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("fake assembler: no entry"));
  EXPECT_THAT(Message(status), HasSubstr("p.glmplan"));
}

TEST(GpuFaults, ImagesWithoutAnEndNeverReachTheDriver) {
  FakeGpu fake;
  auto device = *CreateGpuDeviceOver(fake.driver(), 0);
  for (const std::string& image : {std::string("text without its NUL"),
                                   std::string("\x7f"
                                               "ELF\0",
                                               5),
                                   std::string()}) {
    EXPECT_EQ(device->LoadModule(std::as_bytes(std::span(image)), "p")
                  .status()
                  .code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_THAT(fake.calls, Not(Contains("load_module")));
}

TEST(GpuFaults, CodeForAnotherGenerationIsRefused) {
  for (const auto& [mine, plan, code] :
       {std::tuple{"sm_90", "sm_90", absl::StatusCode::kOk},
        {"sm_80", "sm_90", absl::StatusCode::kFailedPrecondition},
        {"sm_100", "sm_90", absl::StatusCode::kFailedPrecondition},
        {"sm_90", "sm_100", absl::StatusCode::kFailedPrecondition},
        {"sm_90", "gfx1201", absl::StatusCode::kNotFound},
        {"sm_90", "host", absl::StatusCode::kNotFound},
        {"gfx1201", "gfx1201", absl::StatusCode::kOk},
        {"gfx1200", "gfx1201", absl::StatusCode::kFailedPrecondition},
        {"gfx1201", "sm_90", absl::StatusCode::kNotFound}}) {
    FakeGpu fake;
    fake.architecture = mine;
    auto device = *CreateGpuDeviceOver(fake.driver(), 0);
    EXPECT_EQ(device->CheckCodeObject(plan, "").code(), code)
        << plan << " on " << mine;
  }
}

TEST(GpuFaults, DeviceThatTheDriverLacksIsNamed) {
  FakeGpu fake;
  const auto device = CreateGpuDeviceOver(fake.driver(), 3);
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(device.status()), HasSubstr("no device 3"));
}

}  // namespace
}  // namespace glm
