// Files that become shorter while they are mapped.
#include "runtime/base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace glm {
namespace {

using ::testing::HasSubstr;

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_, std::ios::binary) << std::string(5000, 'a') + "bcd";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ = ::testing::TempDir() + "mapped_file";
};

TEST_F(MappedFileTest, ReadsWhatTheMappingHas) {
  const auto file = MappedFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 5003u);
  EXPECT_EQ(file->bytes()[5002], std::byte{'d'});
  std::vector<std::byte> bytes(4);
  ASSERT_TRUE(file->Read(4999, bytes).ok());
  EXPECT_EQ(bytes, std::vector<std::byte>(file->bytes().begin() + 4999,
                                          file->bytes().end()));
  EXPECT_TRUE(file->Read(5003, {}).ok());
}

TEST_F(MappedFileTest, WhatIsCutOffIsAnErrorThatNamesTheFile) {
  const auto file = MappedFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(::truncate(path_.c_str(), 4098), 0);
  EXPECT_FALSE(file->StillWhole());
  std::vector<std::byte> bytes(2);
  EXPECT_TRUE(file->Read(4096, bytes).ok());
  for (const uint64_t offset : {4097, 5001}) {
    const absl::Status status = file->Read(offset, bytes);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
    EXPECT_THAT(std::string(status.message()), HasSubstr("became shorter"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("5003 bytes"));
  }
}

}  // namespace
}  // namespace glm
