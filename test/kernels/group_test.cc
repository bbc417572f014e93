// Launches that run as one grid: chains beside each other, launches that run on
// in a block, and blocks that wait for those of the phase before.

#include <span>
#include <string>
#include <vector>

#include "glm/linear.h"
#include "glm/phases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/reference/program_builder.h"
#include "test/kernels/kernel_case.h"

namespace glm {
namespace {

using kernel::BF16;
using kernel::F32;
using ::testing::Each;

#include "test/kernels/group_kernels.inc"

constexpr int64_t kRows = 3;

// What op leaves in the last of `tensors` for `kRows` rows of one sequence.
void Reference(const std::string& op, const std::vector<int64_t>& params,
               std::vector<std::vector<float>*> tensors,
               const reference::RowProgram* program = nullptr) {
  std::vector<reference::Argument> arguments = {
      {}, {.integer = kRows}, {.integer = kRows}};
  for (std::vector<float>* tensor : tensors) {
    arguments.push_back({.f32 = *tensor});
  }
  std::string error;
  ASSERT_TRUE(reference::Run({op, params, arguments, program}, &error))
      << error;
}

void ExpectNear(const char* name, const Memory& got,
                const std::vector<float>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got.Get(int64_t(i)), want[i], 1e-4) << name << " element " << i;
  }
}

class GroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sigmoid_.Store(0, sigmoid_.Sigmoid(sigmoid_.LoadRow(0)), 128, 1);
    const reference::RowProgram program = sigmoid_.Build();
    std::vector<float> x = x_.Wide(), w = w_.Wide(), y(kRows * 128);
    Reference("linear", {F32, BF16, F32, 128, 40}, {&x, &w, &y});
    std::vector<float> z(kRows * 128), v = v_.Wide();
    Reference("rowwise", {}, {&y, &z}, &program);
    for (int i = 0; i < 2; ++i) {
      std::vector<float> u = u_[i].Wide(), p(kRows * 5 * 7);
      Reference("linear_parts", {F32, BF16, 7, 40, 1, 5}, {&x, &u, &p});
      sums_[i].resize(kRows * 7);
      Reference("sum_parts", {F32, 5, 7}, {&p, &sums_[i]});
    }
    product_.resize(kRows * 8);
    Reference("linear", {F32, BF16, F32, 8, 128}, {&z, &v, &product_});
  }

  // One launch, with results that nothing of an earlier one is left in.
  void RunAndCheck(std::vector<uint32_t>& counters, uint32_t seed) {
    Memory y(F32, kRows * 128), z(F32, kRows * 128), o(F32, kRows * 8);
    std::vector<Memory> p(2, Memory(F32, kRows * 5 * 7));
    std::vector<Memory> s(2, Memory(F32, kRows * 7));
    std::vector<uint64_t> words = {reinterpret_cast<uint64_t>(counters.data())};
    Visible visible;
    visible.Add(counters.data(), counters.size() * 4);
    const auto launch = [&](std::vector<const Memory*> tensors) {
      words.insert(words.end(), {0, kRows, kRows});
      for (const Memory* m : tensors) {
        words.push_back(reinterpret_cast<uint64_t>(m->bytes.data()));
      }
    };
    for (const Memory* m : std::initializer_list<const Memory*>{
             &x_, &w_, &v_, &u_[0], &u_[1], &y, &z, &o, &p[0], &p[1], &s[0],
             &s[1]}) {
      visible.Add(m->bytes.data(), m->bytes.size());
    }
    launch({&x_, &w_, &y});
    launch({&y, &z});
    launch({&x_, &u_[0], &p[0]});
    launch({&x_, &u_[1], &p[1]});
    launch({&p[0], &s[0]});
    launch({&p[1], &s[1]});
    launch({&z, &v_, &o});
    ASSERT_EQ(words.size(), 40u);
    const uint32_t grid[] = {19, 1, 1};
    LaunchKernel(two_phases, words, grid, 0, 19, visible, seed);
    ExpectNear("first sums", s[0], sums_[0]);
    ExpectNear("second sums", s[1], sums_[1]);
    ExpectNear("product", o, product_);
    EXPECT_THAT(counters, Each(0u));
  }

  Memory x_ = Random(F32, kRows * 40, 1);
  Memory w_ = Random(BF16, 128 * 40, 2);
  Memory v_ = Random(BF16, 8 * 128, 3);
  std::vector<Memory> u_ = {Random(BF16, 7 * 40, 4), Random(BF16, 7 * 40, 5)};
  reference::ProgramBuilder sigmoid_{128};
  std::vector<float> sums_[2], product_;
};

// Twice with the same counters, in every order of waves that the case has.
TEST_F(GroupTest, PhasesWaitAndLeaveTheCountersZero) {
  std::vector<uint32_t> counters(64, 0);
  for (uint32_t seed = 0; seed < 32; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RunAndCheck(counters, seed);
    RunAndCheck(counters, seed);
  }
}

}  // namespace
}  // namespace glm
