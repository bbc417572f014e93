// -----------------------------------------------------------------------------
// File: program_builder.h
// -----------------------------------------------------------------------------
//
// `ProgramBuilder` writes RowPrograms over [rows, columns] for tests: each call
// appends one instruction and returns the number of its value.
//
//   ProgramBuilder b(4);
//   const auto x = b.LoadRow(0);
//   b.StoreRow(0, b.Mul(x, b.Const(2.0f)));
//   RowProgram twice = b.Build();

#ifndef RUNTIME_REFERENCE_PROGRAM_BUILDER_H_
#define RUNTIME_REFERENCE_PROGRAM_BUILDER_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/reference/row_program.h"

namespace glm::reference {

class ProgramBuilder {
 public:
  using Value = uint32_t;

  explicit ProgramBuilder(int64_t columns) : columns_(columns) {
    program_.dims = {-1, columns};
  }

  Value Const(float v) { return Add({.op = RowOp::kConst, .imm = v}); }
  // Operand of shape [rows, columns], [columns], or [rows].
  Value LoadRow(uint32_t operand) { return Load(operand, columns_, 1); }
  Value LoadColumns(uint32_t operand) { return Load(operand, 0, 1); }
  Value LoadScalar(uint32_t operand) { return Load(operand, 1, 0); }
  Value Load(uint32_t operand, int64_t row_factor, int64_t column_factor,
             int64_t offset = 0) {
    program_.operand_count = std::max(program_.operand_count, operand + 1);
    return Add({.op = RowOp::kLoad,
                .a = operand,
                .coeff = {row_factor, column_factor},
                .offset = offset});
  }
  void StoreRow(uint32_t result, Value v) { Store(result, v, columns_, 1); }
  void Store(uint32_t result, Value v, int64_t row_factor,
             int64_t column_factor) {
    program_.result_count = std::max(program_.result_count, result + 1);
    Add({.op = RowOp::kStore,
         .a = result,
         .b = v,
         .coeff = {row_factor, column_factor}});
  }

  Value Plus(Value a, Value b) { return Two(RowOp::kAdd, a, b); }
  Value Minus(Value a, Value b) { return Two(RowOp::kSub, a, b); }
  Value Mul(Value a, Value b) { return Two(RowOp::kMul, a, b); }
  Value Div(Value a, Value b) { return Two(RowOp::kDiv, a, b); }
  Value Min(Value a, Value b) { return Two(RowOp::kMin, a, b); }
  Value Max(Value a, Value b) { return Two(RowOp::kMax, a, b); }
  Value Neg(Value a) { return Two(RowOp::kNeg, a, 0); }
  Value Exp(Value a) { return Two(RowOp::kExp, a, 0); }
  Value Rsqrt(Value a) { return Two(RowOp::kRsqrt, a, 0); }
  Value Sigmoid(Value a) { return Two(RowOp::kSigmoid, a, 0); }
  Value Sum(Value a) { return Two(RowOp::kReduceAdd, a, 0); }
  Value Most(Value a) { return Two(RowOp::kReduceMax, a, 0); }
  Value RoundBf16(Value a) { return Two(RowOp::kRoundBf16, a, 0); }
  Value Silu(Value a) { return Mul(a, Sigmoid(a)); }

  RowProgram Build() { return std::move(program_); }

 private:
  Value Two(RowOp op, Value a, Value b) {
    return Add({.op = op, .a = a, .b = b});
  }
  Value Add(RowInst inst) {
    program_.code.push_back(std::move(inst));
    return static_cast<Value>(program_.code.size() - 1);
  }

  int64_t columns_;
  RowProgram program_;
};

// y = silu(min(gate, 10)) * max(-10, min(up, 10)); operands gate, up.
inline RowProgram ClampedSwiglu(int64_t columns) {
  ProgramBuilder b(columns);
  const auto gate = b.Min(b.LoadRow(0), b.Const(10.0f));
  const auto up = b.Max(b.Min(b.LoadRow(1), b.Const(10.0f)), b.Const(-10.0f));
  b.StoreRow(0, b.Mul(b.Silu(gate), up));
  return b.Build();
}

// g = -5 sigmoid(exp(A_log) (raw + bias)); operands raw, bias [columns], A_log
// [1].
inline RowProgram DecayGate(int64_t columns) {
  ProgramBuilder b(columns);
  const auto raw = b.Plus(b.LoadRow(0), b.LoadColumns(1));
  const auto rate = b.Exp(b.Load(2, 0, 0));
  b.StoreRow(0, b.Mul(b.Const(-5.0f), b.Sigmoid(b.Mul(rate, raw))));
  return b.Build();
}

}  // namespace glm::reference

#endif  // RUNTIME_REFERENCE_PROGRAM_BUILDER_H_
