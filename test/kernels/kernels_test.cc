// The vocabulary's numbers, and the kernels that move and balance rows.

#include <cmath>
#include <vector>

#include "glm/rows.h"
#include "glm/sinkhorn.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/reference/program_builder.h"
#include "test/kernels/kernel_case.h"

namespace glm {
namespace {

using kernel::BF16;
using kernel::F16;
using kernel::F32;

#include "test/kernels/row_kernels.inc"

// ------------------------------------------------------------------ numbers

double UlpsFrom(float got, double want) {
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(want), -126) - 23);
  return std::fabs(got - want) / ulp;
}

TEST(Numbers, ExpIsWithinTwoUlps) {
  double worst = 0.0;
  for (int i = -104000; i <= 88722; ++i) {
    const float x = float(i) * 0.001f;
    const float got = kernel::Exp(x);
    const double want = std::exp(double{x});
    if (want < 0x1p-149) continue;
    worst = std::max(worst, UlpsFrom(got, want));
  }
  EXPECT_LE(worst, 2.0);
}

TEST(Numbers, ExpAtItsEnds) {
  EXPECT_EQ(kernel::Exp(0.0f), 1.0f);
  EXPECT_EQ(kernel::Exp(-INFINITY), 0.0f);
  EXPECT_EQ(kernel::Exp(-200.0f), 0.0f);
  EXPECT_EQ(kernel::Exp(88.8f), INFINITY);
  EXPECT_EQ(kernel::Exp(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(kernel::Exp(NAN)));
  EXPECT_EQ(kernel::Sigmoid(-INFINITY), 0.0f);
  EXPECT_EQ(kernel::Sigmoid(-200.0f), 0.0f);
  EXPECT_EQ(kernel::Sigmoid(200.0f), 1.0f);
  EXPECT_EQ(kernel::Rsqrt(4.0f), 0.5f);
}

TEST(Numbers, StoresRoundAsTheReferenceDoes) {
  std::minstd_rand random(3);
  for (int i = 0; i < 200000; ++i) {
    const float v = kernel::FromBits(uint32_t(random()) * 2654435761u);
    for (int dtype : {BF16, F16}) {
      Memory memory(dtype, 1, v);
      const float want = reference::Rounded(v, dtype);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(memory.Get(0)));
      } else {
        ASSERT_EQ(memory.Get(0), want) << v << " dtype " << dtype;
      }
    }
  }
}

// --------------------------------------------------------------------- rows

TEST(Rows, Embed) {
  const Batch batch = Batch::Ragged(3, 4);
  std::vector<int32_t> ids(batch.rows());
  for (int64_t t = 0; t < batch.rows(); ++t) ids[t] = int32_t(t * 5 % 33) - 1;
  KernelCase("embed", embed, embed_params, {batch.rows()})
      .Rows(batch)
      .Ints(ids)
      .Tensor(Random(BF16, 30 * 50, 1))
      .Tensor(Memory(F32, batch.rows() * 50))
      .Check();
}

TEST(Rows, GatherRows) {
  KernelCase("gather_rows", gather, gather_params, {4})
      .Rows(Batch::Whole(4))
      .Tensor(Random(F32, 9 * 50, 1))
      .Ints({8, -1, 0, 3})
      .Tensor(Memory(BF16, 4 * 50))
      .Check();
}

TEST(Rows, TakeCols) {
  const Batch batch = Batch::Ragged(2, 2);
  std::vector<int32_t> ids(batch.rows() * 6);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(i * 11 % 21) - 1;
  KernelCase("take_cols", take, take_params, {batch.rows()})
      .Rows(batch)
      .Tensor(batch.Poisoned(Random(F32, batch.rows() * 20, 1)))
      .Integer(20)
      .Ints(ids)
      .Tensor(Memory(F32, batch.rows() * 6))
      .Check();
}

// ----------------------------------------------------------------- sinkhorn

TEST(Sinkhorn, Maps) {
  const Batch batch = Batch::Ragged(3, 6);
  for (float reach : {0.0f, 1.0f, 30.0f}) {
    KernelCase("sinkhorn", balance, balance_params, {batch.rows()})
        .Rows(batch)
        .Tensor(batch.Poisoned(
            Random(F32, batch.rows() * 16, 1, -reach, reach + 1e-3f)))
        .Real(1e-6f)
        .Tensor(Memory(F32, batch.rows() * 16))
        .Check();
    KernelCase("sinkhorn", balance_odd, balance_odd_params, {batch.rows()})
        .Rows(batch)
        .Tensor(batch.Poisoned(
            Random(F32, batch.rows() * 25, 1, -reach, reach + 1e-3f)))
        .Real(1e-6f)
        .Tensor(Memory(F32, batch.rows() * 25))
        .Check();
  }
  // Nothing but the map keeps its sums from zero.
  KernelCase("sinkhorn", balance_odd, balance_odd_params, {batch.rows()})
      .Rows(batch)
      .Tensor(batch.Poisoned(Random(F32, batch.rows() * 25, 2)))
      .Real(0.0f)
      .Tensor(Memory(F32, batch.rows() * 25))
      .Check();
}

// ------------------------------------------------------------------ rowwise

TEST(Rowwise, NormAndMax) {
  reference::ProgramBuilder b(75);
  const auto x = b.LoadRow(0);
  const auto mean = b.Mul(b.Sum(b.Mul(x, x)), b.Const(1.0f / 75));
  const auto inverse = b.Rsqrt(b.Plus(mean, b.Const(1e-5f)));
  b.StoreRow(0, b.Mul(b.RoundBf16(b.Mul(x, inverse)), b.LoadColumns(1)));
  b.Store(1, b.Most(x), 1, 0);
  const reference::RowProgram program = b.Build();
  const Batch batch = Batch::Ragged(3, 5);
  KernelCase("rowwise", norm_and_max, {}, {batch.rows()})
      .Rows(batch)
      .Tensor(batch.Poisoned(Random(BF16, batch.rows() * 75, 1)))
      .Tensor(Random(BF16, 75, 2))
      .Tensor(Memory(F32, batch.rows() * 75))
      .Tensor(Memory(F32, batch.rows()))
      .Check(&program);
}

TEST(Rowwise, TiledGate) {
  using reference::RowOp;
  reference::RowProgram program;
  program.dims = {-1, 3, 150};
  program.operand_count = 2;
  program.result_count = 1;
  program.code = {
      {.op = RowOp::kLoad, .a = 0, .coeff = {450, 150, 1}},
      {.op = RowOp::kSigmoid, .a = 0},
      {.op = RowOp::kLoad, .a = 1, .coeff = {0, 0, 1}},
      {.op = RowOp::kMul, .a = 1, .b = 2},
      {.op = RowOp::kStore, .a = 0, .b = 3, .coeff = {450, 150, 1}},
  };
  for (const Batch& batch :
       {Batch::Ragged(1, 1), Batch::Ragged(3, 5), Batch::Whole(4)}) {
    KernelCase("rowwise", tiled_gate, {}, {batch.rows() * 3 * 3})
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(BF16, batch.rows() * 450, 1)))
        .Tensor(Random(BF16, 150, 2))
        .Tensor(Memory(F32, batch.rows() * 450))
        .Check(&program);
  }
}

TEST(Rowwise, ShortRows) {
  using reference::RowOp;
  const std::vector<int64_t> all = {2048, 128, 1};
  reference::RowProgram program;
  program.dims = {-1, 16, 128};
  program.operand_count = 1;
  program.result_count = 3;
  program.code = {
      {.op = RowOp::kLoad, .a = 0, .coeff = all},
      {.op = RowOp::kStore, .a = 0, .b = 0, .coeff = all},
      {.op = RowOp::kMul, .a = 0, .b = 0},
      {.op = RowOp::kReduceAdd, .a = 2},
      {.op = RowOp::kConst, .imm = 1.0f / 128},
      {.op = RowOp::kMul, .a = 3, .b = 4},
      {.op = RowOp::kConst, .imm = 1e-5f},
      {.op = RowOp::kAdd, .a = 5, .b = 6},
      {.op = RowOp::kRsqrt, .a = 7},
      {.op = RowOp::kMul, .a = 0, .b = 8},
      {.op = RowOp::kReduceMax, .a = 9},
      {.op = RowOp::kStore, .a = 1, .b = 9, .coeff = all, .dtype = BF16},
      {.op = RowOp::kStore, .a = 2, .b = 10, .coeff = {16, 1, 0}},
  };
  for (const Batch& batch :
       {Batch::Ragged(1, 1), Batch::Ragged(3, 5), Batch::Whole(4)}) {
    KernelCase("rowwise", short_norm, {}, {batch.rows() * 2})
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(BF16, batch.rows() * 2048, 1)))
        .Tensor(Memory(F32, batch.rows() * 2048))
        .Tensor(Memory(BF16, batch.rows() * 2048))
        .Tensor(Memory(F32, batch.rows() * 16))
        .Check(&program);
  }
}

}  // namespace
}  // namespace glm
