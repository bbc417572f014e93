// -----------------------------------------------------------------------------
// File: row_program.h
// -----------------------------------------------------------------------------
//
// The meaning of a rowwise kernel: the RowProgram of runtime/plan/plan.fbs as
// plain values, so that the reference depends on no file format.

#ifndef RUNTIME_REFERENCE_ROW_PROGRAM_H_
#define RUNTIME_REFERENCE_ROW_PROGRAM_H_

#include <cstdint>
#include <vector>

namespace glm::reference {

// In the order of plan.fbs.
enum class RowOp : uint8_t {
  kConst,
  kLoad,
  kStore,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,
  kMax,
  kNeg,
  kExp,
  kRsqrt,
  kSigmoid,
  kReduceAdd,
  kReduceMax,
  kRoundBf16,
};

// Instruction i defines value i. kLoad: operand a. kStore: result a, value b.
// Others: values a (and b). Address = sum_d coeff[d] * index[d] + offset.
struct RowInst {
  RowOp op;
  uint32_t a = 0;
  uint32_t b = 0;
  float imm = 0.0f;
  std::vector<int64_t> coeff = {};  // as long as RowProgram::dims
  int64_t offset = 0;
  int dtype = 0;  // kStore: rounding of the result
};

struct RowProgram {
  std::vector<int64_t> dims;  // dims[0] = -1: rows of the launch
  std::vector<RowInst> code;
  uint32_t operand_count = 0;
  uint32_t result_count = 0;
};

}  // namespace glm::reference

#endif  // RUNTIME_REFERENCE_ROW_PROGRAM_H_
