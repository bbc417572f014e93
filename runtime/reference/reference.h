// -----------------------------------------------------------------------------
// File: reference.h
// -----------------------------------------------------------------------------
//
// One plain function per op of docs/spec/kernels.md: what its formula says, in
// loops over double, written for reading. Kernels, folded constants and whole
// plans are compared with it. It is not fast, and it knows no plan files,
// devices or bf16 memory: the caller widens buffers to fp32 before a call, and
// what a kernel would store as bf16 or f16 is rounded on store but kept as
// fp32.
//
// Example: y = W x for two rows,
//
//   std::vector<float> x(2 * 3), w(4 * 3), y(2 * 4);
//   const int64_t params[] = {0, 0, 0, 4, 3};
//   const Argument arguments[] = {
//       {}, {.integer = 2}, {.integer = 2}, {.f32 = x}, {.f32 = w}, {.f32 =
//       y}};
//   std::string error;
//   if (!Run({"linear", params, arguments}, &error)) { /* error says why */ }
//
// Functions may run in several threads at once on disjoint results.

#ifndef RUNTIME_REFERENCE_REFERENCE_H_
#define RUNTIME_REFERENCE_REFERENCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/reference/row_program.h"

namespace glm::reference {

// One argument of a launch, at its position in docs/spec/kernels.md.
//
// A buffer, weight or state sets one of the spans; a state's covers all slots.
// A scalar sets `integer` or `real`; the stride of a state is in elements of
// its span, not bytes. A weight is its values, [Nout, K] or stacked [E, Nout,
// K], whatever its form (see DequantizeGptq4, DequantizeInt8); where experts
// repeat, those of the first period are enough. Absent `seqs` is an empty
// argument.
struct Argument {
  std::span<float> f32 = {};
  std::span<int32_t> i32 = {};
  int64_t integer = 0;
  float real = 0.0f;
  int64_t distinct_experts = 0;  // n > 0: expert e is expert e mod n of f32
};

struct Call {
  std::string_view op;
  std::span<const int64_t> params;
  std::span<const Argument> arguments;
  const RowProgram* program = nullptr;  // op "rowwise" only
};

// Computes the call's results into its arguments. False, with the reason in
// `error`, when the op is unknown, an argument is too short, or an index leads
// outside an argument; results are then unspecified.
bool Run(const Call& call, std::string* error);

// Allowed difference of one result element from the reference:
// |got - want| <= of_value * |want| + of_largest * max |want| over the result.
// Both are 0 for ops that only move or choose.
struct Bound {
  double of_value;
  double of_largest;
};

// The bound of `op` for results of `dtype` (0 F32, 1 BF16, 2 F16), as stated
// with its reasons in docs/spec/numerics.md. A op that is not known gets zeros.
Bound BoundOf(std::string_view op, int dtype);

// One [N, K] weight of form EXPERTS_GPTQ4 or DENSE_GPTQ4: `words` [ceil(K / 8),
// N], `scales` [ceil(K / group), N] as fp32; `values` [N, K].
void DequantizeGptq4(std::span<const int32_t> words,
                     std::span<const float> scales, int64_t rows,
                     int64_t columns, int64_t group, std::span<float> values);

// One [N, K] weight of form DENSE_INT8: `codes` [N, K], `scales` [N, ceil(K /
// group)] as fp32; `values` [N, K].
void DequantizeInt8(std::span<const int8_t> codes,
                    std::span<const float> scales, int64_t rows,
                    int64_t columns, int64_t group, std::span<float> values);

// The value that memory of `dtype` holds after a store.
float Rounded(double value, int dtype);

}  // namespace glm::reference

#endif  // RUNTIME_REFERENCE_REFERENCE_H_
