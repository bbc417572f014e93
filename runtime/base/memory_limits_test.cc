#include "runtime/base/memory_limits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace glm {
namespace {

class MemoryLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "memory_limits";
    std::filesystem::remove_all(root_);
    Put("/proc/meminfo",
        "MemTotal:  4000000 kB\nMemFree: 1 kB\nMemAvailable:    3000 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Put(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  std::string root_;
};

TEST_F(MemoryLimitsTest, WithoutGroupsTheMachineLimits) {
  const MemoryLimits limits = ReadMemoryLimits(root_);
  EXPECT_EQ(limits.machine, 3000u << 10);
  EXPECT_EQ(limits.group, kNoLimit);
  EXPECT_EQ(limits.Available(), 3000u << 10);
}

TEST_F(MemoryLimitsTest, TheTightestGroupOfVersion2Counts) {
  Put("/proc/self/cgroup", "0::/a/b\n");
  Put("/sys/fs/cgroup/a/b/memory.max", "max\n");
  Put("/sys/fs/cgroup/a/b/memory.current", "900000\n");
  Put("/sys/fs/cgroup/a/memory.max", "1000000\n");
  Put("/sys/fs/cgroup/a/memory.current", "900000\n");
  Put("/sys/fs/cgroup/a/memory.stat", "file 9\ninactive_file 300000\n");
  Put("/sys/fs/cgroup/memory.max", "5000000\n");
  const MemoryLimits limits = ReadMemoryLimits(root_);
  EXPECT_EQ(limits.group_limit, 1000000u);
  EXPECT_EQ(limits.group, 400000u) << "limit - (current - inactive_file)";
  EXPECT_EQ(limits.Available(), 400000u);
}

TEST_F(MemoryLimitsTest, GroupsOfVersion1AreReadWhereTheyAre) {
  Put("/proc/self/cgroup", "7:cpu,cpuacct:/x\n4:memory:/x\n0::/\n");
  Put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2000000");
  Put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "500000");
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  const MemoryLimits limits = ReadMemoryLimits(root_);
  EXPECT_EQ(limits.group, 1500000u);
  EXPECT_EQ(limits.group_limit, 2000000u);
}

TEST_F(MemoryLimitsTest, AGroupThatUsesMoreThanItsLimitLeavesNothing) {
  Put("/proc/self/cgroup", "0::/\n");
  Put("/sys/fs/cgroup/memory.max", "100\n");
  Put("/sys/fs/cgroup/memory.current", "200\n");
  EXPECT_EQ(ReadMemoryLimits(root_).Available(), 0u);
}

TEST_F(MemoryLimitsTest, AmdsDriversHaveALimitOfTheirOwn) {
  Put("/sys/module/ttm/parameters/pages_limit", "1000\n");
  EXPECT_EQ(ReadMemoryLimits(root_).amd, kNoLimit) << "no device of theirs";
  Put("/dev/kfd", "");
  EXPECT_EQ(ReadMemoryLimits(root_).amd, 4096000u);
}

TEST(MemoryLimits, OfThisMachineAreNotZero) {
  EXPECT_GT(ReadMemoryLimits().Available(), 0u);
}

}  // namespace
}  // namespace glm
