//===- WeightQuantizer.h - Floats to codes with group scales ----*- C++ -*-===//
//
// Symmetric quantisation of a weight [N, K], rows of any number at a time. Each
// group of `group` columns of a row has a scale; a last group may be shorter.
// Codes and scales are those of plan.fbs:
//
//   Int8  codes int8 [N, K], -127 .. 127; scales F16 [N, ceil(K / group)]
//   Int4  words uint32 [ceil(K / 8), N], code i of word r is column 8 r + i and
//         stands for code - 8; scales F16 [ceil(K / group), N], of either sign
//
// Codes are rounded to nearest even. Scales are rounded away from zero, so that
// no value of a group lies outside its codes: every value is within half a
// scale of its code. Int8 maps the largest magnitude of a group to 127. Int4
// maps the side of the larger magnitude to -8, beyond which half a step is
// rounded down to it: the smallest scale that keeps the rule above. A group of
// zeros has scale 0.
//
// This is no calibration: it looks at one group of one weight at a time.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PLAN_WEIGHTQUANTIZER_H
#define GLM_COMPILER_PLAN_WEIGHTQUANTIZER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace glm::planfile {

enum class CodeForm { Int8, Int4 };
enum class StoredFloat { F32, BF16, F16 };

/// The f16 of smallest magnitude that is at least as far from zero as `value`,
/// which is at most 65504 away.
uint16_t halfAwayFromZero(double value);
double halfValue(uint16_t bits);

/// Quantises one group: `codes` gets as many values of the form's range, int4
/// ones as -8 .. 7. Returns the bits of the scale. Fails on a value that is not
/// finite or too large for a scale, saying where and what.
llvm::Expected<uint16_t> quantizeGroup(CodeForm form,
                                       llvm::ArrayRef<float> values,
                                       llvm::MutableArrayRef<int8_t> codes);

/// Codes and scales of some rows, in the layouts above with N = rows.
struct QuantizedRows {
  std::vector<uint8_t> codes;
  std::vector<uint16_t> scales;
};

/// Quantises `rows` rows of `columns` elements of `type` at `data`. `firstRow`
/// is the number of the first in its weight, for errors.
llvm::Expected<QuantizedRows> quantizeRows(CodeForm form, StoredFloat type,
                                           const char *data, int64_t rows,
                                           int64_t columns, int64_t group,
                                           int64_t firstRow);

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_WEIGHTQUANTIZER_H
