// weight.h - how the elements W[n][k] of a matrix lie in memory.
#pragma once

#include "glm/number.h"

namespace glm::kernel {

// Codes of plan.fbs WeightForm for stacked experts.
inline constexpr int kExpertsDense = 1;
inline constexpr int kExpertsGptq4 = 2;

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

}  // namespace glm::kernel
