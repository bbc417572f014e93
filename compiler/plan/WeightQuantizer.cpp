//===- WeightQuantizer.cpp - Floats to codes with group scales ------------===//

#include "compiler/plan/WeightQuantizer.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llvm;

namespace glm::planfile {

static constexpr double kLargestHalf = 65504.0;

double halfValue(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 0)
    return sign * std::ldexp(mantissa, -24);
  if (exponent == 31)
    return mantissa ? NAN : sign * HUGE_VAL;
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

uint16_t halfAwayFromZero(double value) {
  double magnitude = std::fabs(value);
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (magnitude == 0)
    return 0;
  // Steps of 2^-24 below 2^-14, of 2^(e - 10) from 2^e on.
  int exponent = std::max(std::ilogb(magnitude), -14);
  auto steps =
      static_cast<uint16_t>(std::ceil(std::ldexp(magnitude, 10 - exponent)));
  // A full mantissa carries into the exponent, as it should.
  return sign | static_cast<uint16_t>((exponent + 14) * 1024 + steps);
}

static Error badValue(ArrayRef<float> values, size_t column, const Twine &why) {
  return createStringError("column " + Twine(column) + " of its group holds " +
                           Twine(std::to_string(values[column])) + why);
}

Expected<uint16_t> quantizeGroup(CodeForm form, ArrayRef<float> values,
                                 MutableArrayRef<int8_t> codes) {
  double low = 0, high = 0;
  size_t largest = 0;
  for (auto [i, value] : enumerate(values)) {
    if (!std::isfinite(value))
      return badValue(values, i, "");
    if (std::fabs(value) > std::max(-low, high))
      largest = i;
    low = std::min<double>(low, value);
    high = std::max<double>(high, value);
  }
  double scale;
  int least, most;
  if (form == CodeForm::Int8) {
    scale = std::max(-low, high) / 127;
    least = -127, most = 127;
  } else {
    // The code -8 takes the larger side, so the scale has its sign turned.
    bool turned = high > -low;
    double large = turned ? high : -low, small = turned ? -low : high;
    scale = std::max(large / 8.5, small / 7.5);
    scale = turned ? -scale : scale;
    least = -8, most = 7;
  }
  if (std::fabs(scale) > kLargestHalf)
    return badValue(values, largest, ", too large for an f16 scale");
  uint16_t bits = halfAwayFromZero(scale);
  double step = halfValue(bits);
  for (auto [i, value] : enumerate(values)) {
    // nearbyint rounds to even.
    double code = step == 0 ? 0 : std::nearbyint(value / step);
    codes[i] = static_cast<int8_t>(std::clamp<double>(code, least, most));
  }
  return bits;
}

static float widen(StoredFloat type, const char *at) {
  if (type == StoredFloat::F32) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  if (type == StoredFloat::BF16)
    return llvm::bit_cast<float>(uint32_t(bits) << 16);
  return static_cast<float>(halfValue(bits));
}

Expected<QuantizedRows> quantizeRows(CodeForm form, StoredFloat type,
                                     const char *data, int64_t rows,
                                     int64_t columns, int64_t group,
                                     int64_t firstRow) {
  const int64_t size = type == StoredFloat::F32 ? 4 : 2;
  const int64_t groups = divideCeil(columns, group);
  const int64_t words = divideCeil(columns, 8);
  const bool bytes = form == CodeForm::Int8;
  QuantizedRows result;
  // Words of int4 begin as zeros of value 8 everywhere, padding included.
  result.codes.assign(rows * (bytes ? columns : 4 * words), bytes ? 0 : 0x88);
  result.scales.resize(rows * groups);
  std::vector<float> values(std::min(group, columns));
  std::vector<int8_t> codes(values.size());
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t first = g * group, count = std::min(group, columns - first);
      for (int64_t i = 0; i < count; ++i)
        values[i] = widen(type, data + (n * columns + first + i) * size);
      auto scale =
          quantizeGroup(form, ArrayRef(values).take_front(count), codes);
      if (!scale)
        return createStringError("row " + Twine(firstRow + n) + ", columns " +
                                 Twine(first) + " to " +
                                 Twine(first + count - 1) + ": " +
                                 toString(scale.takeError()));
      result.scales[bytes ? n * groups + g : g * rows + n] = *scale;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t k = first + i;
        if (bytes) {
          result.codes[n * columns + k] = static_cast<uint8_t>(codes[i]);
          continue;
        }
        uint8_t &byte = result.codes[(k / 8 * rows + n) * 4 + k % 8 / 2];
        const int shift = 4 * (k % 2);
        const int code = codes[i] + 8;
        byte = static_cast<uint8_t>((byte & ~(15 << shift)) | code << shift);
      }
    }
  return result;
}

} // namespace glm::planfile
