#include "tools/glm-check/elements.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/plan/element_bytes.h"
#include "runtime/plan/plan_generated.h"

namespace glm::check {
namespace {

template <typename T>
T Read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

double HalfToDouble(uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const int mantissa = h & 1023;
  const double sign = (h & 0x8000) ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : NAN;
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

}  // namespace

double Element(const std::byte* at, plan::DType dtype) {
  switch (dtype) {
    case plan::DType::I32:
      return Read<int32_t>(at);
    case plan::DType::BF16:
      return std::bit_cast<float>(uint32_t{Read<uint16_t>(at)} << 16);
    case plan::DType::F16:
      return HalfToDouble(Read<uint16_t>(at));
    default:
      return Read<float>(at);
  }
}

std::vector<float> Widen(std::span<const std::byte> bytes, plan::DType dtype) {
  const uint64_t size = ElementBytes(dtype);
  std::vector<float> out(bytes.size() / size);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(Element(bytes.data() + i * size, dtype));
  }
  return out;
}

}  // namespace glm::check
