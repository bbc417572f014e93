// number.h - element types, their loads and stores, and fp32 functions.
//
// All arithmetic is fp32. `Load` widens exactly; `Store` rounds once, to
// nearest even. Every function is plain arithmetic, so that loops over it
// vectorise and all targets give the same values but for the contraction of a *
// b + c.
#pragma once

#if defined(__HIP__) || defined(__CUDA__)
// No headers: there are none where a plan's source is compiled at run time.
namespace glm::kernel {
using size_t = __SIZE_TYPE__;
using uintptr_t = __UINTPTR_TYPE__;
using int8_t = __INT8_TYPE__;
using uint8_t = __UINT8_TYPE__;
using int16_t = __INT16_TYPE__;
using uint16_t = __UINT16_TYPE__;
using int32_t = __INT32_TYPE__;
using uint32_t = __UINT32_TYPE__;
using int64_t = __INT64_TYPE__;
using uint64_t = __UINT64_TYPE__;
}  // namespace glm::kernel

#define GLM_GPU 1
#define GLM_FN inline __attribute__((device, always_inline))
// Behind the parameters of a large lambda: a body that is called, not inlined,
// loses the register bound of its kernel.
#define GLM_INLINE __attribute__((always_inline))
// In front of a loop whose private arrays live in registers.
#define GLM_UNROLL _Pragma("unroll")
// Memory that all blocks see. Without the word, a pointer could lead anywhere,
// and accesses through it would be slower.
#define GLM_GLOBAL __attribute__((address_space(1)))
#else
#include <stddef.h>
#include <stdint.h>

#define GLM_FN inline __attribute__((always_inline))
#define GLM_INLINE
#define GLM_UNROLL
#define GLM_GLOBAL
#endif

namespace glm::kernel {

// Codes of plan.fbs DType, as they stand in Kernel.params.
inline constexpr int F32 = 0;
inline constexpr int BF16 = 1;
inline constexpr int F16 = 2;

constexpr int64_t ElementSize(int dtype) { return dtype == F32 ? 4 : 2; }

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t Most(int64_t a, int64_t b) { return a < b ? b : a; }

GLM_FN uint32_t Bits(float v) { return __builtin_bit_cast(uint32_t, v); }
GLM_FN float FromBits(uint32_t v) { return __builtin_bit_cast(float, v); }

// The bf16 nearest to v, ties to even; a NaN stays a (quiet) NaN.
GLM_FN uint16_t Bf16Bits(float v) {
  const uint32_t bits = Bits(v);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return uint16_t(nan ? ((bits >> 16) | 0x40u) : rounded);
}

GLM_FN float RoundBf16(float v) {
  return FromBits(uint32_t(Bf16Bits(v)) << 16);
}

// Element `index` of memory that holds `DType` elements.
template <int DType>
GLM_FN float Load(const void* memory, int64_t index) {
  if constexpr (DType == F32) {
    return static_cast<const float*>(memory)[index];
  } else if constexpr (DType == BF16) {
    return FromBits(uint32_t(static_cast<const uint16_t*>(memory)[index])
                    << 16);
  } else {
    return float(static_cast<const _Float16*>(memory)[index]);
  }
}

template <int DType>
GLM_FN void Store(void* memory, int64_t index, float value) {
  if constexpr (DType == F32) {
    static_cast<float*>(memory)[index] = value;
  } else if constexpr (DType == BF16) {
    static_cast<uint16_t*>(memory)[index] = Bf16Bits(value);
  } else {
    static_cast<_Float16*>(memory)[index] = _Float16(value);
  }
}

// Memory at an address that came as a number.
GLM_FN void* Address(uint64_t address) {
  return (void*)reinterpret_cast<GLM_GLOBAL char*>(address);
}

// Address of element `index`.
template <int DType>
GLM_FN const void* At(const void* memory, int64_t index) {
  return static_cast<const char*>(memory) + index * ElementSize(DType);
}
template <int DType>
GLM_FN void* At(void* memory, int64_t index) {
  return static_cast<char*>(memory) + index * ElementSize(DType);
}

// A NaN in `a` is the result; a NaN in `b` alone is ignored.
GLM_FN float Min(float a, float b) { return b < a ? b : a; }
GLM_FN float Max(float a, float b) { return b > a ? b : a; }

// e^x, within 2 ulp; overflow gives inf, underflow is gradual, NaN stays NaN.
GLM_FN float Exp(float x) {
  // 1. x = n ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2^23 rounds to an
  //    integer. The two constants of ln 2 keep n * high exact.
  constexpr float kRound = 12582912.0f;
  float c = x < -104.0f ? -104.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const float shifted = c * 1.44269504088896341f + kRound;
  const float n = shifted - kRound;
  const float r = (c - n * 0.693359375f) + n * 2.12194440054690583e-4f;

  // 2. e^r by its series; the first dropped term is below 6e-9.
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;

  // 3. Times 2^n in two factors, which reach both ends of the exponent range.
  const uint32_t whole = Bits(shifted) - Bits(kRound);
  const uint32_t half = uint32_t(int32_t(whole) >> 1);
  return p * FromBits((half + 127u) << 23) *
         FromBits((whole - half + 127u) << 23);
}

GLM_FN float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

// 1 / sqrt(x), both operations correctly rounded.
GLM_FN float Rsqrt(float x) { return 1.0f / __builtin_elementwise_sqrt(x); }

}  // namespace glm::kernel
