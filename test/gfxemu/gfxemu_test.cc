// The emulator itself: single instructions against recorded results, and what
// it must find.

#include "test/gfxemu/gfxemu.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gfxemu {
namespace {

using testing::HasSubstr;

std::unique_ptr<CodeObject> LoadFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::string error;
  auto object = CodeObject::Load(std::as_bytes(std::span(bytes)), &error);
  EXPECT_NE(object, nullptr) << path << ": " << error;
  return object;
}

const CodeObject& Probes() {
  static const CodeObject* const object = LoadFile(GFXEMU_PROBES).release();
  return *object;
}

template <class T>
uint64_t Address(const std::vector<T>& v) {
  return reinterpret_cast<uint64_t>(v.data());
}

template <class T>
MemoryRange All(const std::vector<T>& v) {
  return {Address(v), Address(v) + v.size() * sizeof(T)};
}

// Runs a probe on x; y begins as zeros. Empty, or what went wrong.
std::string Probe(const char* kernel, const std::vector<uint32_t>& x,
                  std::vector<uint32_t>& y, uint64_t seed,
                  uint32_t blocks = 1) {
  const uint64_t args[] = {Address(x), Address(y)};
  const MemoryRange memory[] = {All(x), All(y)};
  Launch launch;
  launch.kernel = kernel;
  launch.grid[0] = blocks;
  launch.args = args;
  launch.memory = memory;
  launch.seed = seed;
  launch.max_instructions = 1000000;
  std::string error;
  return Probes().Run(launch, &error) ? "" : error;
}

std::vector<uint32_t> Count(uint32_t n) {
  std::vector<uint32_t> v(n);
  for (uint32_t i = 0; i < n; ++i) v[i] = i + 1;
  return v;
}

bool IsReversed(const std::vector<uint32_t>& y) {
  for (uint32_t i = 0; i < 256; ++i) {
    if (y[i] != 256 - i) return false;
  }
  return true;
}

TEST(Gfxemu, BarriersHoldInEveryOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<uint32_t> y(256);
    ASSERT_EQ(Probe("reverse", Count(256), y, seed), "");
    EXPECT_TRUE(IsReversed(y)) << "seed " << seed;
  }
}

TEST(Gfxemu, FindsAMissingBarrier) {
  for (uint64_t seed : {0, 1, 2}) {
    std::vector<uint32_t> y(256);
    ASSERT_EQ(Probe("reverse_racing", Count(256), y, seed), "");
    EXPECT_FALSE(IsReversed(y)) << "seed " << seed;
  }
}

// Of seeds 0 to 19, those with which blocks 2 and 3 find what 0 and 1 left.
int PhasesThatHold(const char* kernel) {
  int hold = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<uint32_t> y(1024);
    EXPECT_EQ(Probe(kernel, {0}, y, seed, 4), "") << "seed " << seed;
    bool same = true;
    for (uint32_t i = 0; i < 512; ++i) same &= y[512 + i] == i;
    EXPECT_TRUE(same || seed != 0);
    hold += same;
  }
  return hold;
}

TEST(Gfxemu, BlocksWaitForEachOther) {
  EXPECT_EQ(PhasesThatHold("phases"), 20);
}

TEST(Gfxemu, FindsAMissingWaitBetweenBlocks) {
  EXPECT_LT(PhasesThatHold("phases_no_wait"), 15);
  EXPECT_LT(PhasesThatHold("phases_no_barrier"), 18);
}

TEST(Gfxemu, FindsADeadlock) {
  std::vector<uint32_t> y(1);
  for (uint64_t seed = 1; seed < 10; ++seed) {
    EXPECT_EQ(Probe("backwards", {0}, y, seed, 2), "") << "seed " << seed;
    EXPECT_THAT(Probe("backwards", {0}, y, seed, 1),
                HasSubstr("deadlock: at s_sleep for ever: block 0"));
  }
  EXPECT_THAT(Probe("backwards", {0}, y, 0, 2),
              HasSubstr("a block cannot wait for a later one"));
}

TEST(Gfxemu, FindsAccessOutsideOfMemory) {
  std::vector<uint32_t> y(256), short_y(255);
  EXPECT_EQ(Probe("copy", Count(256), y, 0), "");
  EXPECT_THAT(Probe("copy", Count(255), y, 0),
              testing::AllOf(HasSubstr("memory fault: global_load"),
                             HasSubstr("lane 31")));
  EXPECT_THAT(Probe("copy", Count(256), short_y, 0),
              HasSubstr("memory fault: global_store"));
}

TEST(Gfxemu, UnwrittenLdsIsNoZero) {
  std::vector<uint32_t> y(256);
  ASSERT_EQ(Probe("unwritten", Count(1), y, 0), "");
  for (uint32_t v : y) EXPECT_EQ(v, 0xcdcdcdcdu);
}

TEST(Gfxemu, EndlessLoopsEnd) {
  std::vector<uint32_t> y(1);
  EXPECT_THAT(Probe("endless", {0}, y, 0), HasSubstr("instruction limit"));
}

TEST(Gfxemu, NamesWhatItCannotRun) {
  std::vector<uint32_t> y(1);
  EXPECT_THAT(Probe("absent", {0}, y, 0), HasSubstr("no kernel absent"));
  EXPECT_TRUE(Probes().Missing().empty());
  EXPECT_TRUE(Supports("v_wmma_f32_16x16x16_bf16"));
  EXPECT_FALSE(Supports("image_sample"));
  std::string error;
  const std::string text = "no code";
  EXPECT_EQ(CodeObject::Load(std::as_bytes(std::span(text)), &error), nullptr);
  EXPECT_THAT(error, HasSubstr("not an ELF64 file"));
}

// A transposed result would pass with symmetric input.
TEST(Gfxemu, WmmaKeepsRowsAndColumnsApart) {
  const auto bf16 = [](float v) {
    uint32_t bits;
    std::memcpy(&bits, &v, 4);
    return uint16_t(bits >> 16);
  };
  for (int probe = 0; probe < 3; ++probe) {
    std::vector<uint16_t> a(256), b(256);
    std::vector<float> d(256);
    float fa[16][16], fb[16][16];
    for (int r = 0; r < 16; ++r) {
      for (int k = 0; k < 16; ++k) {
        // Row numbers and ones, ones and column numbers, no symmetry at all.
        fa[r][k] = probe == 0   ? float(r)
                   : probe == 1 ? 1.0f
                                : float((7 * r + 3 * k) % 13 - 6);
        fb[r][k] = probe == 0   ? 1.0f
                   : probe == 1 ? float(r)
                                : float((5 * r + 11 * k) % 17 - 8);
        a[r * 16 + k] = bf16(fa[r][k]);
        b[r * 16 + k] = bf16(fb[r][k]);
      }
    }
    const uint64_t args[] = {Address(a), Address(b), Address(d)};
    const MemoryRange memory[] = {All(a), All(b), All(d)};
    Launch launch;
    launch.kernel = "wmma";
    launch.threads = 32;
    launch.args = args;
    launch.memory = memory;
    std::string error;
    ASSERT_TRUE(Probes().Run(launch, &error)) << error;
    for (int r = 0; r < 16; ++r) {
      for (int c = 0; c < 16; ++c) {
        float want = 0.0f;
        for (int k = 0; k < 16; ++k) want += fa[r][k] * fb[c][k];
        EXPECT_EQ(d[r * 16 + c], want) << probe << " " << r << " " << c;
      }
    }
  }
}

// ------------------------------------------------------------- instructions

std::vector<uint64_t> Lanes(const std::string& line) {
  std::istringstream text(line);
  std::vector<uint64_t> lanes;
  for (uint64_t v; text >> std::hex >> v;) lanes.push_back(v);
  return lanes;
}

TEST(Gfxemu, InstructionsGiveTheRecordedResults) {
  const auto object = LoadFile(GFXEMU_INSTRUCTIONS);
  ASSERT_NE(object, nullptr);
  std::ifstream file(GLM_SOURCE_DIR "/test/gfxemu/instructions.txt");
  int count = 0;
  for (std::string name, text, line; std::getline(file, name); ++count) {
    std::getline(file, text);
    std::getline(file, line);
    std::istringstream words(line);
    std::string result, sources, rule;
    words >> result >> sources >> rule;
    std::vector<std::vector<uint64_t>> x(3, std::vector<uint64_t>(32));
    for (size_t i = 0; i < sources.size(); ++i) {
      std::getline(file, line);
      x[i] = Lanes(line);
      ASSERT_EQ(x[i].size(), 32u) << name;
    }
    std::getline(file, line);
    const std::vector<uint64_t> want = Lanes(line);
    std::vector<uint64_t> got(32);
    const uint64_t args[] = {Address(x[0]), Address(x[1]), Address(x[2]),
                             Address(got)};
    const MemoryRange memory[] = {All(x[0]), All(x[1]), All(x[2]), All(got)};
    Launch launch;
    launch.kernel = "t_" + name;
    launch.threads = 32;
    launch.args = args;
    launch.memory = memory;
    std::string error;
    ASSERT_TRUE(object->Run(launch, &error)) << error;
    for (int lane = 0; lane < 32; ++lane) {
      const int64_t off = int64_t(got[lane]) - int64_t(want[lane]);
      // The C library may differ in the last bit.
      EXPECT_LE(std::abs(off), rule == "loose" ? 2 : 0)
          << name << " lane " << lane << std::hex << " got " << got[lane]
          << " want " << want[lane];
    }
  }
  EXPECT_EQ(count, 275);
}

}  // namespace
}  // namespace gfxemu
