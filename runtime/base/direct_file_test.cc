#include "runtime/base/direct_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace glm {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytes = (uint64_t{2} << 20) + 1234;

class DirectFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "direct_file.bin";
    for (uint64_t i = 0; i < kBytes; ++i) {
      bytes_.push_back(static_cast<char>(i * 31 + (i >> 12)));
    }
    std::ofstream(path_, std::ios::binary)
        .write(bytes_.data(), static_cast<std::streamsize>(kBytes));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_;
  std::vector<char> bytes_;
};

TEST_F(DirectFileTest, ReadsAnyRange) {
  auto file = DirectFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  std::byte* memory = static_cast<std::byte*>(
      std::aligned_alloc(kDirectAlignment, uint64_t{4} << 20));
  const struct {
    uint64_t offset, size, shift;
  } cases[] = {{0, kBytes, 0},           {4096, 8192, 0},
               {4096, 8192, 1},          {1, 1, 0},
               {4095, 4098, 7},          {kBytes - 1, 1, 0},
               {kBytes - 5000, 5000, 0}, {77, kBytes - 77, 3},
               {8192, 5000, 0},          {0, 0, 0}};
  for (const auto& c : cases) {
    std::byte* const to = memory + c.shift;
    std::memset(memory, 0xee, uint64_t{4} << 20);
    const absl::Status status = file->Read(c.offset, {to, c.size});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(std::memcmp(to, bytes_.data() + c.offset, c.size), 0)
        << c.offset << " + " << c.size;
    EXPECT_EQ(to[c.size], std::byte{0xee}) << c.offset << " + " << c.size;
  }
  std::free(memory);
}

TEST_F(DirectFileTest, AFileThatBecameShorterIsNamedWithTheOffset) {
  auto file = DirectFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(::truncate(path_.c_str(), 10000), 0);
  std::vector<std::byte> to(5000);
  EXPECT_TRUE(file->Read(5000, to).ok());
  const absl::Status status = file->Read(8192, to);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  EXPECT_THAT(std::string(status.message()), HasSubstr("at offset 10000"));
}

TEST_F(DirectFileTest, AFileThatIsNotThereIsNotFound) {
  EXPECT_EQ(DirectFile::Open(path_ + ".absent").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace glm
