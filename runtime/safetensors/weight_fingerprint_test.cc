#include "runtime/safetensors/weight_fingerprint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace glm {
namespace {

constexpr uint64_t kMiB = 1u << 20;

class WeightFingerprintTest : public testing::Test {
 protected:
  ~WeightFingerprintTest() override { std::filesystem::remove(path_); }

  uint64_t Fingerprint() const {
    const auto result = FingerprintFile(path_);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(0);
  }
  void Resize(uint64_t size) const {
    std::ofstream(path_, std::ios::app).close();
    std::filesystem::resize_file(path_, size);
  }
  void Poke(uint64_t offset) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put('!');
  }

  const std::string path_ = testing::TempDir() + "/fingerprint.bin";
};

TEST_F(WeightFingerprintTest, IsXxh3OfSizeAndContent) {
  std::ofstream(path_, std::ios::binary) << "abc";
  const std::string expected = std::string("\3\0\0\0\0\0\0\0", 8) + "abc";
  EXPECT_EQ(Fingerprint(), XXH3_64bits(expected.data(), expected.size()));
}

TEST_F(WeightFingerprintTest, SmallFilesAreReadWhole) {
  Resize(20 * kMiB);
  const uint64_t before = Fingerprint();
  Poke(17 * kMiB + 5);
  EXPECT_NE(Fingerprint(), before);
}

TEST_F(WeightFingerprintTest, LargeFilesAreSampled) {
  const uint64_t size = 300 * kMiB + 3;
  Resize(size);
  const uint64_t empty = Fingerprint();
  const uint64_t step = (size - 4096) / 1023;
  // Between two samples nothing is read.
  Poke(500 * step + 4096);
  EXPECT_EQ(Fingerprint(), empty);
  uint64_t last = empty;
  for (const uint64_t offset : {uint64_t{0}, 16 * kMiB - 1, 500 * step,
                                500 * step + 4095, 1022 * step, size - 1}) {
    Poke(offset);
    const uint64_t now = Fingerprint();
    EXPECT_NE(now, last) << offset;
    last = now;
  }
  Resize(size + 1);
  EXPECT_NE(Fingerprint(), last);
}

TEST_F(WeightFingerprintTest, SaysWhatIsWrong) {
  EXPECT_EQ(FingerprintFile(path_ + ".none").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(FingerprintFile(testing::TempDir()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace glm
