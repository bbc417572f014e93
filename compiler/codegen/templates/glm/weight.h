// weight.h - how the elements W[n][k] of a matrix lie in memory.
#pragma once

#include "glm/number.h"

namespace glm::kernel {

// Columns whose products a matrix unit sums before they join the result, where
// no scale ends before: as many as keep its sums exact enough (an sm_90 cuts
// off what does not fit, so the error grows with every addition).
inline constexpr int64_t kColumnsTogether = 512;

// Outputs of a long row that a block of a GPU takes with all its waves.
inline constexpr int64_t kFewOutputs = 8;

// Codes of plan.fbs WeightForm.
inline constexpr int kDense = 0;
inline constexpr int kExpertsDense = 1;
inline constexpr int kExpertsGptq4 = 2;
inline constexpr int kDenseGptq4 = 3;
inline constexpr int kDenseInt8 = 4;

// W[n][k] = data[n * kRowStride + k * kColumnStride]; one of the two is 1.
template <int DType, int64_t kRowStride, int64_t kColumnStride>
struct DenseWeight {
  static_assert(kRowStride == 1 || kColumnStride == 1,
                "neighbours in memory along n or along k");
  const void* data;
};

// Symmetric int4: code i of words[k / 8][n] is column k = 8 (k / 8) + i, and
// W[n][k] = scales[k / kGroup][n] * (code - 8). Scales are f16 of either sign.
template <int64_t kOutputs, int64_t kColumns, int64_t kGroup>
struct Gptq4Weight {
  static_assert(kGroup % 8 == 0, "a word of codes has one scale");
  const uint32_t* words;  // [ceil(K / 8), N]
  const void* scales;     // F16 [ceil(K / group), N]
};

// Symmetric int8: W[n][k] = scales[n][k / kGroup] * codes[n][k]. The codes are
// 16-byte aligned.
template <int64_t kColumns, int64_t kGroup>
struct Int8Weight {
  static_assert(kGroup % 16 == 0, "16 neighbouring codes have one scale");
  static constexpr int64_t kGroups = CeilDiv(kColumns, kGroup);
  const int8_t* codes;  // [N, K]
  const void* scales;   // F16 [N, ceil(K / group)]
};

}  // namespace glm::kernel
