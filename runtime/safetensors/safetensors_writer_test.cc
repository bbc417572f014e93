#include "runtime/safetensors/safetensors_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace glm {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

class SafetensorsWriterTest : public testing::Test {
 protected:
  ~SafetensorsWriterTest() override { std::filesystem::remove(path_); }
  const std::string path_ = testing::TempDir() + "/written.safetensors";
};

TEST_F(SafetensorsWriterTest, WhatItWritesTheReaderReads) {
  const std::string a = "abcdefgh";
  const std::string b = "x";
  SafetensorsWriter writer;
  writer.SetMetadata("format", "pt");
  writer.Add("layer.\"a\"", StDType::kF32, {1, 2}, Bytes(a));
  writer.Add("empty", StDType::kF32, {0}, {});
  writer.Add("b", StDType::kU8, {}, Bytes(b));
  writer.set_data_alignment(4096);
  ASSERT_TRUE(writer.Write(path_).ok());

  const auto file = SafetensorsFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->tensors().size(), 3u);
  const TensorEntry* entry = file->Find("layer.\"a\"");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->offset, 4096u);
  EXPECT_EQ(entry->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(file->Bytes(*entry)[3], std::byte{'d'});
  EXPECT_EQ(file->Bytes(*file->Find("b"))[0], std::byte{'x'});
}

TEST_F(SafetensorsWriterTest, RefusesWrongSizesAndEqualNames) {
  const std::string a = "abcd";
  SafetensorsWriter wrong;
  wrong.Add("a", StDType::kF32, {2}, Bytes(a));
  EXPECT_THAT(std::string(wrong.Write(path_).message()), HasSubstr("'a'"));
  EXPECT_FALSE(std::filesystem::exists(path_));

  SafetensorsWriter twice;
  twice.Add("a", StDType::kF32, {1}, Bytes(a));
  twice.Add("a", StDType::kF32, {1}, Bytes(a));
  EXPECT_THAT(std::string(twice.Write(path_).message()), HasSubstr("twice"));
}

TEST_F(SafetensorsWriterTest, SaysWhenItCannotWrite) {
  SafetensorsWriter writer;
  const auto status = writer.Write("/nowhere/at/all.safetensors");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace glm
