// -----------------------------------------------------------------------------
// File: kernel_case.h
// -----------------------------------------------------------------------------
//
// `KernelCase` runs one kernel of the templates and the reference function of
// its op on equal memory and compares everything that either could write. The
// blocks of the kernel run in random ranges in random order, and on an emulator
// its waves do, several times: the bytes must be equal each time. The seeds are
// the same in every run of a test; --gtest_shuffle draws others, and
// --gtest_random_seed beside it, which it prints, draws those again.
//
//   KERNEL(linear_odd, Linear, F32, BF16, F32, 37, 83)
//   KernelCase c("linear", linear_odd, linear_odd_params, {2});
//   c.Rows(batch).Tensor(x).Tensor(w).Tensor(y).Check();

#ifndef TEST_KERNELS_KERNEL_CASE_H_
#define TEST_KERNELS_KERNEL_CASE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "glm/block.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"

// What `KERNEL` makes of a kernel, and how it is launched: compiled in place,
// or a name in a code object that an emulator runs.
#ifdef GLM_TEST_GFX1201
#include "test/kernels/gfx1201_launch.h"
#elif defined(GLM_TEST_SM_90)
#include "test/kernels/sm_90_launch.h"
#else
#include "test/kernels/host_launch.h"
#endif

namespace glm {

inline constexpr float kUntouched = -0.25f;

// Elements of one dtype as a kernel sees them.
struct Memory {
  int dtype;
  std::vector<uint8_t> bytes;

  Memory(int dtype, int64_t count, float value = kUntouched)
      : dtype(dtype), bytes(count * kernel::ElementSize(dtype)) {
    for (int64_t i = 0; i < count; ++i) Set(i, value);
  }
  int64_t size() const { return bytes.size() / kernel::ElementSize(dtype); }
  void Set(int64_t i, float value) {
    dtype == 0   ? kernel::Store<0>(bytes.data(), i, value)
    : dtype == 1 ? kernel::Store<1>(bytes.data(), i, value)
                 : kernel::Store<2>(bytes.data(), i, value);
  }
  float Get(int64_t i) const {
    return dtype == 0   ? kernel::Load<0>(bytes.data(), i)
           : dtype == 1 ? kernel::Load<1>(bytes.data(), i)
                        : kernel::Load<2>(bytes.data(), i);
  }
  std::vector<float> Wide() const {
    std::vector<float> wide(size());
    for (int64_t i = 0; i < size(); ++i) wide[i] = Get(i);
    return wide;
  }
};

inline Memory Random(int dtype, int64_t count, uint32_t seed, float low = -1.0f,
                     float high = 1.0f) {
  Memory memory(dtype, count);
  std::minstd_rand random(seed + 17);
  std::uniform_real_distribution<float> value(low, high);
  for (int64_t i = 0; i < count; ++i) memory.Set(i, value(random));
  return memory;
}

// S sequences of N tokens with lengths N, N / 2, 0, N, ... in slots S, S - 1,
// ...
struct Batch {
  int64_t sequences;
  int64_t tokens;
  std::vector<int32_t> table;  // empty: every row is valid

  static Batch Ragged(int64_t sequences, int64_t tokens, int32_t position = 0) {
    Batch batch{sequences, tokens, {}};
    for (int64_t s = 0; s < sequences; ++s) {
      const int64_t length = s % 3 == 0 ? tokens : s % 3 == 1 ? tokens / 2 : 0;
      batch.table.insert(
          batch.table.end(),
          {int32_t(sequences - s), int32_t(position == 0 ? 0 : position + s),
           int32_t(length), 0});
    }
    return batch;
  }
  static Batch Whole(int64_t rows) { return {1, rows, {}}; }

  int64_t rows() const { return sequences * tokens; }
  int64_t slots() const { return sequences + 1; }
  bool Valid(int64_t row) const {
    return table.empty() || row % tokens < table[row / tokens * 4 + 2];
  }
  int64_t Context(int64_t row) const {
    return table[row / tokens * 4 + 1] + row % tokens + 1;
  }
  // Rows that are not valid hold NaN.
  Memory Poisoned(Memory rows_of) const {
    const int64_t width = rows_of.size() / rows();
    for (int64_t i = 0; i < rows_of.size(); ++i) {
      if (!Valid(i / width)) rows_of.Set(i, NAN);
    }
    return rows_of;
  }
};

class KernelCase {
 public:
  using Entry = KernelEntry;

  KernelCase(std::string op, Entry entry, std::vector<int64_t> params,
             std::vector<int64_t> grid)
      : op_(std::move(op)), entry_(entry), params_(std::move(params)) {
    grid.resize(3, 1);
    for (int d = 0; d < 3; ++d) grid_[d] = uint32_t(grid[d]);
  }

  KernelCase& Rows(const Batch& batch) {
    Ints(batch.table);
    if (batch.table.empty()) arguments_.back().absent = true;
    return Integer(batch.tokens).Integer(batch.rows());
  }
  KernelCase& Tensor(const Memory& memory) {
    arguments_.push_back(
        {.bytes = memory.bytes, .dtype = memory.dtype, .wide = memory.Wide()});
    return *this;
  }
  KernelCase& Ints(const std::vector<int32_t>& values) {
    Given given{.ints = values};
    given.bytes.resize(values.size() * 4);
    if (!values.empty()) {
      memcpy(given.bytes.data(), values.data(), given.bytes.size());
    }
    arguments_.push_back(std::move(given));
    return *this;
  }
  // Memory of all slots; the stride argument follows.
  KernelCase& State(const Memory& memory, int64_t slots) {
    const int64_t stride = memory.size() / slots;
    Tensor(memory).Integer(stride);
    arguments_.back().word =
        uint64_t(stride * kernel::ElementSize(memory.dtype));
    return *this;
  }
  KernelCase& Integer(int64_t value) {
    arguments_.push_back({.scalar = true,
                          .word = uint64_t(value),
                          .reference = {.integer = value}});
    return *this;
  }
  KernelCase& Real(float value) {
    arguments_.push_back({.scalar = true,
                          .word = kernel::Bits(value),
                          .reference = {.real = value}});
    return *this;
  }
  // Memory that the kernel reaches through a table.
  KernelCase& Reachable(const void* data, size_t bytes) {
    visible_.Add(data, bytes);
    return *this;
  }
  // Addresses that the kernel reads, and the values that they stand for.
  KernelCase& Table(const std::vector<uint64_t>& addresses,
                    const std::vector<float>& values) {
    Given given{.constant = true, .wide = values};
    given.bytes.resize(addresses.size() * 8);
    memcpy(given.bytes.data(), addresses.data(), given.bytes.size());
    arguments_.push_back(std::move(given));
    return *this;
  }

  void Check(const reference::RowProgram* program = nullptr) {
    // 1. The reference.
    std::vector<Given> want = arguments_;
    std::vector<reference::Argument> arguments;
    for (Given& a : want) {
      a.reference.f32 = a.wide;
      a.reference.i32 = a.ints;
      arguments.push_back(a.reference);
    }
    std::string error;
    ASSERT_TRUE(reference::Run({op_, params_, arguments, program}, &error))
        << error;

    // 2. The kernel, in several orders.
    const std::vector<Given> got = RunInOrder(0);
    for (size_t i = 0; i < got.size(); ++i) {
      if (!got[i].scalar && !got[i].constant) Compare(i, got[i], want[i]);
    }
    const uint32_t base =
        GTEST_FLAG_GET(shuffle)
            ? uint32_t(testing::UnitTest::GetInstance()->random_seed())
            : 0;
    for (uint32_t order = 1; order < kLaunchOrders; ++order) {
      const uint32_t seed = base * kLaunchOrders + order;
      const std::vector<Given> again = RunInOrder(seed);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].bytes, again[i].bytes)
            << "argument " << i << " depends on the order, seed " << seed;
      }
    }
  }

 private:
  struct Given {
    std::vector<uint8_t> bytes = {};
    int dtype = 0;
    bool scalar = false;
    bool constant = false;
    bool absent = false;
    uint64_t word = 0;
    std::vector<float> wide = {};
    std::vector<int32_t> ints = {};
    reference::Argument reference = {};
  };

  std::vector<Given> RunInOrder(uint32_t seed) const {
    std::vector<Given> arguments = arguments_;
    std::vector<uint64_t> words;
    Visible visible = visible_;
    for (Given& a : arguments) {
      if (!a.bytes.empty()) visible.Add(a.bytes.data(), a.bytes.size());
      words.push_back(a.scalar   ? a.word
                      : a.absent ? 0
                                 : reinterpret_cast<uint64_t>(a.bytes.data()));
    }
    std::minstd_rand random(seed + 1);
    const uint64_t blocks = uint64_t{grid_[0]} * grid_[1] * grid_[2];
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (uint64_t begin = 0; begin < blocks;) {
      const uint64_t end = std::min(blocks, begin + 1 + random() % 7);
      ranges.push_back({begin, end});
      begin = end;
    }
    std::shuffle(ranges.begin(), ranges.end(), random);
    for (auto [begin, end] : ranges) {
      LaunchKernel(entry_, words, grid_, begin, end, visible, seed);
    }
    return arguments;
  }

  void Compare(size_t index, const Given& got, const Given& want) const {
    if (!want.ints.empty()) {
      std::vector<int32_t> ints(want.ints.size());
      memcpy(ints.data(), got.bytes.data(), got.bytes.size());
      EXPECT_EQ(ints, want.ints) << "argument " << index;
      return;
    }
    Memory memory(got.dtype, 0);
    memory.bytes = got.bytes;
    const reference::Bound bound = reference::BoundOf(op_, got.dtype);
    double largest = 0.0;
    for (float w : want.wide) {
      if (std::isfinite(w)) largest = std::max(largest, std::fabs(double{w}));
    }
    int shown = 0;
    for (size_t i = 0; i < want.wide.size() && shown < 4; ++i) {
      const double w = want.wide[i];
      const double g = memory.Get(int64_t(i));
      const double allowed =
          bound.of_value * std::fabs(w) + bound.of_largest * largest;
      const bool same = (std::isnan(w) && std::isnan(g)) || w == g;
      if (same || std::fabs(g - w) <= allowed) continue;
      ++shown;
      ADD_FAILURE() << op_ << " argument " << index << " element " << i
                    << ": got " << g << ", want " << w << ", allowed "
                    << allowed;
    }
  }

  std::string op_;
  Entry entry_;
  std::vector<int64_t> params_;
  uint32_t grid_[3];
  std::vector<Given> arguments_;
  Visible visible_;
};

}  // namespace glm

#endif  // TEST_KERNELS_KERNEL_CASE_H_
