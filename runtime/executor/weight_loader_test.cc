// Ranges larger and smaller than the loader's buffers, on devices whose memory
// the host reaches or does not.
#include "runtime/executor/weight_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "runtime/device/gpu/fake_driver.h"
#include "runtime/device/gpu/gpu_device.h"
#include "runtime/device/host/host_device.h"

namespace glm {
namespace {

struct Range {
  uint64_t offset, bytes;
};

// Byte i of the memory, whoever makes it.
std::byte ByteAt(uint64_t i) {
  return static_cast<std::byte>(1 + (i * 2654435761u >> 13) % 251);
}

void CheckLoads(Device& device) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const std::vector<Range> ranges = {{0, 40},
                                     {256, 300},
                                     {768, 9 * kMiB + 77},
                                     {10 * kMiB, 1},
                                     {11 * kMiB, 8 * kMiB},
                                     {19 * kMiB, 256},
                                     {40 * kMiB, 3 * kMiB},
                                     {30 * kMiB, 100}};
  const uint64_t size = 44 * kMiB;
  auto memory = *device.Allocate(size, MemoryKind::kDevice, "test");
  WeightLoader loader(device);
  std::vector<std::byte> expected(size);
  for (const Range& range : ranges) {
    ASSERT_TRUE(loader
                    .Write(*memory, range.offset, range.bytes,
                           [&](uint64_t first, std::span<std::byte> to) {
                             EXPECT_EQ(first % 256, 0u);
                             for (uint64_t i = 0; i < to.size(); ++i) {
                               to[i] = ByteAt(range.offset + first + i);
                             }
                             return absl::OkStatus();
                           })
                    .ok());
    for (uint64_t i = 0; i < range.bytes; ++i) {
      expected[range.offset + i] = ByteAt(range.offset + i);
    }
  }
  ASSERT_TRUE(loader.Finish().ok());
  auto queue = *device.CreateQueue();
  auto shared = *device.Allocate(size, MemoryKind::kShared, "test");
  ASSERT_TRUE(queue->Copy(*shared, 0, *memory, 0, size).ok());
  ASSERT_TRUE(queue->Finish().ok());
  EXPECT_EQ(std::memcmp(shared->host_data(), expected.data(), size), 0);
}

TEST(WeightLoader, FillsMemoryOfTheHost) {
  CheckLoads(**CreateHostDevice({.threads = 1}));
}

TEST(WeightLoader, FillsMemoryOutOfTheHostsReach) {
  CheckLoads(**CreateHostDevice({.threads = 1, .discrete = true}));
}

TEST(WeightLoader, AnErrorOfAPartEndsTheLoad) {
  auto device = *CreateHostDevice({.threads = 1, .discrete = true});
  auto memory =
      *device->Allocate(uint64_t{3} << 20, MemoryKind::kDevice, "test");
  WeightLoader loader(*device);
  EXPECT_EQ(loader.Write(*memory, 0, memory->size(),
                         [](uint64_t first, std::span<std::byte>) {
                           return first < 1 << 20
                                      ? absl::OkStatus()
                                      : absl::DataLossError("cut off");
                         }),
            absl::DataLossError("cut off"));
}

// Whose copies run late.
TEST(WeightLoader, FillsMemoryOfAGpuInFewCopies) {
  FakeGpu fake;
  CheckLoads(**CreateGpuDeviceOver(fake.driver(), 0));
  EXPECT_THAT(fake.misuse, ::testing::IsEmpty());
  EXPECT_THAT(fake.calls, ::testing::Contains("copy").Times(7 + 1));
}

}  // namespace
}  // namespace glm
