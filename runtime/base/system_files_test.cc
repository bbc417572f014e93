#include "runtime/base/system_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace glm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SystemFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/sys");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Put(const std::string& path, const std::string& text) {
    std::ofstream(root_ + path) << text;
  }
  const std::string root_ = ::testing::TempDir() + "system_files";
  const SystemFiles files_{root_};
};

TEST_F(SystemFilesTest, NumbersAreDecimalOrHexadecimal) {
  Put("/sys/a", "42 and more\n");
  Put("/sys/b", "0x1002\n");
  Put("/sys/c", "max\n");
  Put("/sys/d", "99999999999999999999\n");
  Put("/sys/e", "");
  EXPECT_EQ(files_.Number("/sys/a"), 42u);
  EXPECT_EQ(files_.Number("/sys/b"), 0x1002u);
  EXPECT_EQ(files_.Number("/sys/c"), std::nullopt);
  EXPECT_EQ(files_.Number("/sys/d"), std::nullopt) << "more than 64 bits";
  EXPECT_EQ(files_.Number("/sys/e"), std::nullopt);
  EXPECT_EQ(files_.Number("/sys/none"), std::nullopt);
  EXPECT_EQ(files_.Line("/sys"), std::nullopt) << "a folder";
}

TEST_F(SystemFilesTest, AValueStandsAfterItsWholeKey) {
  Put("/sys/info", "SwapTotals: 1\nSwapTotal:  2 kB \nmodel name\t: A B\nx:\n");
  EXPECT_EQ(files_.ValueOf("/sys/info", "SwapTotal"), "2 kB");
  EXPECT_EQ(files_.ValueOf("/sys/info", "model name"), "A B");
  EXPECT_EQ(files_.ValueOf("/sys/info", "x"), std::nullopt);
  EXPECT_EQ(files_.ValueOf("/sys/info", "y"), std::nullopt);
}

TEST_F(SystemFilesTest, LinksStayInTheRoot) {
  std::filesystem::create_directories(root_ + "/sys/devices/card");
  std::filesystem::create_symlink("devices/card", root_ + "/sys/link");
  std::filesystem::create_symlink("/", root_ + "/sys/out");
  std::filesystem::create_symlink("nowhere", root_ + "/sys/broken");
  EXPECT_EQ(files_.Resolve("/sys/link"), "/sys/devices/card");
  EXPECT_EQ(files_.Resolve("/sys/out"), std::nullopt);
  EXPECT_EQ(files_.Resolve("/sys/broken"), std::nullopt);
  EXPECT_THAT(files_.Names("/sys"),
              ElementsAre("broken", "devices", "link", "out"));
  EXPECT_THAT(files_.Names("/none"), IsEmpty());
}

TEST_F(SystemFilesTest, LongFilesAreCut) {
  Put("/sys/long", std::string(1 << 20, 'x'));
  EXPECT_EQ(files_.Bytes("/sys/long")->size(), size_t{64} << 10);
}

TEST(SystemFiles, OfThisMachine) {
  EXPECT_TRUE(SystemFiles().ValueOf("/proc/meminfo", "MemTotal").has_value());
}

}  // namespace
}  // namespace glm
