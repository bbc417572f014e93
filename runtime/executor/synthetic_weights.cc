#include "runtime/executor/synthetic_weights.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/executor/weight_layout.h"
#include "runtime/plan/plan_generated.h"

namespace glm {
namespace {

constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
constexpr uint64_t kScalesKey = 0x5ca1e5;
constexpr double kRootOf3 = 1.7320508075688772;
constexpr double kCodeDeviation = 4.18;
constexpr double kInt8Deviation = 73.3;

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t Fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

uint64_t Word(uint64_t key, uint64_t i) { return Mix(key + (i + 1) * kStep); }

// The eight codes of a word, 0 made 8.
uint32_t Codes(uint64_t word) {
  const uint32_t codes = static_cast<uint32_t>(word);
  const uint32_t any = codes | codes >> 1 | codes >> 2 | codes >> 3;
  return codes | (~any & 0x11111111) << 3;
}

// Z(i) * 65536 / sqrt(3).
int32_t Sum(uint64_t word) {
  return static_cast<int32_t>((word & 0xffff) + (word >> 16 & 0xffff) +
                              (word >> 32 & 0xffff) + (word >> 48)) -
         131070;
}

uint16_t Bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// To nearest, ties to even; for finite values within the range of F16.
uint16_t F16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = bits >> 16 & 0x8000;
  const float size = std::fabs(value);
  if (size < 0x1p-14f) {  // subnormal: multiples of 2^-24
    return sign | static_cast<uint16_t>(std::nearbyint(size * 0x1p24f));
  }
  const uint32_t magnitude = (bits & 0x7fffffff) - (uint32_t{112} << 23);
  return sign | static_cast<uint16_t>(
                    (magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

template <typename T, typename Element>
void Fill(uint64_t first, std::span<std::byte> to, Element element) {
  const uint64_t count = to.size() / sizeof(T);
  for (uint64_t i = 0; i < count; ++i) {
    const T value = element(first + i);
    std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
  }
}

// Floating-point elements, `first` the number of the first.
template <typename Element>
void FillReal(plan::DType dtype, uint64_t first, std::span<std::byte> to,
              Element element) {
  switch (dtype) {
    case plan::DType::F32:
      return Fill<float>(first, to, element);
    case plan::DType::BF16:
      return Fill<uint16_t>(first, to,
                            [&](uint64_t i) { return Bf16(element(i)); });
    default:
      return Fill<uint16_t>(first, to,
                            [&](uint64_t i) { return F16(element(i)); });
  }
}

}  // namespace

absl::Status CheckSynthetic(const plan::Weight& weight) {
  const plan::DType dtype = weight.dtype();
  if (weight.group() > 0 || dtype == plan::DType::F32 ||
      dtype == plan::DType::BF16 || dtype == plan::DType::F16) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "weight ", weight.name()->str(), ": no synthetic elements of type ",
      plan::EnumNameDType(dtype), "; run the plan with its weights"));
}

void FillSynthetic(const plan::Weight& weight, uint32_t piece, uint64_t seed,
                   uint64_t first, std::span<std::byte> to) {
  const uint64_t key = Mix(seed ^ Fnv1a(weight.name()->c_str()));
  const uint32_t rank = weight.shape()->size();
  const double k = static_cast<double>(weight.shape()->Get(rank - 1));
  if (weight.group() > 0) {
    const uint64_t expert = piece / 2;
    const uint64_t bytes = PieceSize(weight, piece);
    const bool int8 = weight.form() == plan::WeightForm::DENSE_INT8;
    if (piece % 2 == 0 && int8) {
      return Fill<int8_t>(first, to, [=](uint64_t i) {
        const auto code = static_cast<int8_t>(Word(key, i) >> 56);
        return code == -128 ? int8_t{0} : code;
      });
    }
    if (piece % 2 == 0) {
      return Fill<uint32_t>(expert * (bytes / 4) + first / 4, to,
                            [=](uint64_t i) { return Codes(Word(key, i)); });
    }
    const double deviation = int8 ? kInt8Deviation : kCodeDeviation;
    const double scale = 2.0 / 3.0 / (deviation * std::sqrt(k));
    return FillReal(plan::DType::F16, expert * (bytes / 2) + first / 2, to,
                    [=](uint64_t i) {
                      const uint64_t word = Word(key ^ kScalesKey, i) >> 48;
                      return static_cast<float>(
                          (1 + static_cast<double>(word) / 65536) * scale);
                    });
  }
  const uint64_t size = ElementBytes(weight.dtype());
  const uint64_t start =
      piece * (PieceSize(weight, piece) / size) + first / size;
  if (rank == 1) {
    // Sums are multiples of 2^-19: no rounding before the last.
    return FillReal(weight.dtype(), start, to, [=](uint64_t i) {
      return 1.0f + static_cast<float>(Sum(Word(key, i))) * 0x1p-19f;
    });
  }
  const float scale = static_cast<float>(kRootOf3 / 65536 / std::sqrt(k));
  FillReal(weight.dtype(), start, to, [=](uint64_t i) {
    return static_cast<float>(Sum(Word(key, i))) * scale;
  });
}

void FillSyntheticState(const plan::State& state, uint64_t seed,
                        std::span<std::byte> to) {
  const uint64_t key = Mix(seed ^ Fnv1a(state.name()->c_str()));
  const float scale = static_cast<float>(kRootOf3 / 65536 / 8);
  FillReal(state.dtype(), 0, to, [=](uint64_t i) {
    return static_cast<float>(Sum(Word(key, i))) * scale;
  });
}

}  // namespace glm
