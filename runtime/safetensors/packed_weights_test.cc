#include "runtime/safetensors/packed_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

namespace glm {
namespace {

using testing::HasSubstr;

constexpr char kData[] = "two blocks";

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

uint64_t HashOf(const std::string& text) {
  ByteHash hash;
  hash.Add(Bytes(text));
  return hash.Digest();
}

std::string FileOf(const PackedChecksums& checksums) {
  const std::vector<std::byte> end = SerializeChecksums(checksums);
  return std::string(kData) +
         std::string(reinterpret_cast<const char*>(end.data()), end.size());
}

PackedChecksums Checksums() {
  return {10, 77, 2, {{4, HashOf("two ")}, {6, HashOf("blocks")}}};
}

std::string Write(const std::string& bytes) {
  const std::string path =
      testing::TempDir() + "/packed-" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(PackedWeights, ChecksumsComeBack) {
  const auto read = ReadChecksums(Write(FileOf(Checksums())));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->data_bytes, 10u);
  EXPECT_EQ((*read)->identity, 77u);
  EXPECT_EQ((*read)->ranks, 2u);
  ASSERT_EQ((*read)->blocks.size(), 2u);
  EXPECT_EQ((*read)->blocks[1].size, 6u);
  EXPECT_EQ((*read)->blocks[1].xxh3, HashOf("blocks"));
}

TEST(PackedWeights, RanksOfAnotherPlanAreTold) {
  const std::string path = Write(FileOf(Checksums()));
  EXPECT_EQ(PackedForOthers(path, 2), "");
  EXPECT_EQ(PackedForOthers(path, 1),
            "its experts are packed for 2 ranks, the plan is for 1");
  PackedChecksums none = Checksums();
  none.ranks = 0;
  EXPECT_EQ(PackedForOthers(Write(FileOf(none)), 4), "");
  EXPECT_EQ(PackedForOthers(Write("no packed file"), 4), "");
}

TEST(PackedWeights, AFileOfALaterVersionIsRefused) {
  std::string bytes = FileOf(Checksums());
  const size_t footer = bytes.size() - 64;
  bytes[footer + 48] = 1;
  ByteHash hash;
  hash.Add(Bytes(bytes.substr(footer, 56)));
  const uint64_t digest = hash.Digest();
  std::memcpy(&bytes[footer + 56], &digest, 8);
  const absl::Status refusal = ReadChecksums(Write(bytes)).status();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refusal.message(), HasSubstr("packed by a later version"));
}

TEST(PackedWeights, OtherFilesHaveNone) {
  for (const std::string& bytes : {std::string(), std::string(200, 'x')}) {
    const auto read = ReadChecksums(Write(bytes));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_FALSE(read->has_value());
  }
  EXPECT_EQ(ReadChecksums("/nowhere/x").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(PackedWeights, EveryFlippedByteOfTheEndIsFound) {
  const std::string whole = FileOf(Checksums());
  for (size_t i = sizeof(kData) - 1; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] ^= 1;
    const auto read = ReadChecksums(Write(bytes));
    const bool magic = i >= whole.size() - 64 && i < whole.size() - 56;
    if (magic) {
      ASSERT_TRUE(read.ok());
      EXPECT_FALSE(read->has_value());
    } else {
      EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << i;
    }
  }
}

TEST(PackedWeights, BlocksThatDoNotFitTheDataAreRefused) {
  PackedChecksums beyond = Checksums();
  beyond.blocks[1].size = ~uint64_t{0};
  EXPECT_THAT(ReadChecksums(Write(FileOf(beyond))).status().message(),
              HasSubstr("beyond the data"));
  PackedChecksums less = Checksums();
  less.blocks[1].size = 5;
  EXPECT_THAT(ReadChecksums(Write(FileOf(less))).status().message(),
              HasSubstr("do not cover"));
  PackedChecksums other = Checksums();
  other.data_bytes = 9;
  EXPECT_THAT(ReadChecksums(Write(FileOf(other))).status().message(),
              HasSubstr("file's size"));
}

TEST(PackedWeights, PartsHashAsTheWhole) {
  ByteHash hash;
  hash.Add(Bytes("two "));
  hash.Add(Bytes("blocks"));
  EXPECT_EQ(hash.Digest(), HashOf(kData));
  hash.Reset();
  hash.AddNumber(0x3231);
  EXPECT_EQ(hash.Digest(), HashOf(std::string("12\0\0\0\0\0\0", 8)));
}

}  // namespace
}  // namespace glm
