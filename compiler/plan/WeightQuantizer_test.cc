// The rule that every form keeps: a value is within half a scale of its code.

#include "compiler/plan/WeightQuantizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace llvm;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

namespace glm::planfile {
namespace {

constexpr CodeForm forms[] = {CodeForm::Int8, CodeForm::Int4};

/// Quantises `values` as one group and checks the rule; gives the scale.
double checkGroup(CodeForm form, const std::vector<float> &values) {
  std::vector<int8_t> codes(values.size());
  Expected<uint16_t> bits = quantizeGroup(form, values, codes);
  if (!bits) {
    ADD_FAILURE() << toString(bits.takeError());
    return 0;
  }
  double scale = halfValue(*bits);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(std::fabs(scale * codes[i] - values[i]), std::fabs(scale) / 2)
        << "element " << i << ", " << values[i] << " as " << int(codes[i])
        << " x " << scale;
    EXPECT_GE(codes[i], form == CodeForm::Int8 ? -127 : -8);
    EXPECT_LE(codes[i], form == CodeForm::Int8 ? 127 : 7);
  }
  return scale;
}

std::string faultOf(Expected<QuantizedRows> made) {
  return made ? "accepted" : toString(made.takeError());
}

// From far below the smallest f16 to near the largest scale, one side, both,
// and one outlier.
TEST(WeightQuantizer, ValuesAreWithinHalfAScale) {
  std::mt19937 random(1);
  for (CodeForm form : forms)
    for (int exponent = -40; exponent <= 16; ++exponent)
      for (int kind = 0; kind < 20; ++kind) {
        float reach = std::ldexp(1.0f, exponent);
        std::uniform_real_distribution<float> value(
            kind % 3 == 1 ? 0.1f * reach : -reach,
            kind % 3 == 2 ? 0.0f : reach);
        std::vector<float> values(kind % 4 == 0 ? 75 : 128);
        for (float &v : values)
          v = value(random);
        if (kind % 5 == 0)
          values[values.size() / 2] *= 7;
        checkGroup(form, values);
      }
}

TEST(WeightQuantizer, ScalesAreAsSmallAsTheRuleAllows) {
  EXPECT_EQ(checkGroup(CodeForm::Int8, {127, -3, 0}), 1);
  EXPECT_EQ(checkGroup(CodeForm::Int8, {-254, 0}), 2);
  // The larger side reaches -8.5 steps, the other 7.5.
  EXPECT_EQ(checkGroup(CodeForm::Int4, {-8.5, 1}), 1);
  EXPECT_EQ(checkGroup(CodeForm::Int4, {8.5, 7.5, -7.5}), -1);
  EXPECT_EQ(checkGroup(CodeForm::Int4, {7.5, -7.5}), 1);
}

TEST(WeightQuantizer, ZerosStayZeros) {
  for (CodeForm form : forms) {
    EXPECT_EQ(checkGroup(form, std::vector<float>(128, 0.0f)), 0);
    EXPECT_EQ(checkGroup(form, {-0.0f, 0.0f}), 0);
  }
  std::vector<float> zeros(2 * 20);
  auto bytes = cantFail(quantizeRows(CodeForm::Int8, StoredFloat::F32,
                                     reinterpret_cast<char *>(zeros.data()), 2,
                                     20, 16, 0));
  EXPECT_THAT(bytes.codes, Each(0));
  auto words = cantFail(quantizeRows(CodeForm::Int4, StoredFloat::F32,
                                     reinterpret_cast<char *>(zeros.data()), 2,
                                     20, 16, 0));
  EXPECT_THAT(words.codes, Each(0x88)); // the padding of the last words too
}

TEST(WeightQuantizer, DenormalsAreWithinTheSmallestScale) {
  for (CodeForm form : forms) {
    float tiny = std::numeric_limits<float>::denorm_min();
    // Int4's larger side is the negative one here: no turned sign.
    EXPECT_EQ(checkGroup(form, {tiny, -1000 * tiny}), 0x1p-24);
  }
}

TEST(WeightQuantizer, HalvesAreRoundedAwayFromZero) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    double value = halfValue(bits);
    EXPECT_EQ(halfAwayFromZero(value), bits);
    if (bits > 0) {
      EXPECT_EQ(halfAwayFromZero(-value), bits | 0x8000);
    }
    if (bits + 1 < 0x7c00) {
      EXPECT_EQ(halfAwayFromZero(std::nextafter(value, 1e6)), bits + 1);
    }
  }
}

TEST(WeightQuantizer, WhatIsNotFiniteIsNamed) {
  for (CodeForm form : forms)
    for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                      std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity()}) {
      std::vector<float> values(3 * 200, 0.5f);
      values[2 * 200 + 130] = bad;
      EXPECT_THAT(faultOf(quantizeRows(form, StoredFloat::F32,
                                       reinterpret_cast<char *>(values.data()),
                                       3, 200, 128, 40)),
                  AllOf(HasSubstr("row 42, columns 128 to 199"),
                        HasSubstr("column 2 "),
                        HasSubstr(std::isnan(bad) ? "nan" : "inf")));
    }
}

TEST(WeightQuantizer, ScalesThatAreTooLargeAreRefused) {
  std::vector<float> values(16, 1e8f);
  for (CodeForm form : forms)
    EXPECT_THAT(faultOf(quantizeRows(form, StoredFloat::F32,
                                     reinterpret_cast<char *>(values.data()), 1,
                                     16, 16, 0)),
                HasSubstr("too large for an f16 scale"));
}

// Rows of 20 columns in groups of 16: places of codes and scales, from bf16.
TEST(WeightQuantizer, Layouts) {
  const int64_t rows = 3, columns = 20, group = 16;
  std::mt19937 random(2);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<uint16_t> stored(rows * columns);
  std::vector<float> values;
  for (uint16_t &bits : stored) {
    float v = value(random);
    bits = static_cast<uint16_t>(llvm::bit_cast<uint32_t>(v) >> 16);
    values.push_back(llvm::bit_cast<float>(uint32_t(bits) << 16));
  }
  const char *data = reinterpret_cast<char *>(stored.data());
  auto bytes = cantFail(quantizeRows(CodeForm::Int8, StoredFloat::BF16, data,
                                     rows, columns, group, 0));
  auto words = cantFail(quantizeRows(CodeForm::Int4, StoredFloat::BF16, data,
                                     rows, columns, group, 0));
  ASSERT_EQ(bytes.codes.size(), 60u);
  ASSERT_EQ(bytes.scales.size(), 6u);
  ASSERT_EQ(words.codes.size(), 3u * 3 * 4);
  ASSERT_EQ(words.scales.size(), 6u);
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t k = 0; k < columns; ++k) {
      double want = values[n * columns + k];
      double scale = halfValue(bytes.scales[n * 2 + k / group]);
      int code = static_cast<int8_t>(bytes.codes[n * columns + k]);
      EXPECT_LE(std::fabs(scale * code - want), scale / 2);
      uint32_t word = 0;
      std::memcpy(&word, &words.codes[(k / 8 * rows + n) * 4], 4);
      scale = halfValue(words.scales[k / group * rows + n]);
      code = static_cast<int>(word >> (4 * (k % 8)) & 15) - 8;
      EXPECT_LE(std::fabs(scale * code - want), std::fabs(scale) / 2);
    }
}

} // namespace
} // namespace glm::planfile
