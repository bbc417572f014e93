// Values of the generator, from an independent program after the formulas of
// the header; they must never change, or measurements cannot be repeated.
#include "runtime/executor/synthetic_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/executor/weight_layout.h"
#include "runtime/plan/plan_generated.h"

namespace glm {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kSeed = 7;

// A weight as it stands in a plan.
class Stored {
 public:
  Stored(plan::WeightForm form, plan::DType dtype, std::vector<uint64_t> shape,
         uint32_t group = 0, const std::string& name = "layers.0.q") {
    plan::WeightT weight;
    weight.name = name;
    weight.form = form;
    weight.dtype = dtype;
    weight.shape = std::move(shape);
    weight.group = group;
    builder_.Finish(plan::Weight::Pack(builder_, &weight));
  }
  const plan::Weight& get() const {
    return *flatbuffers::GetRoot<plan::Weight>(builder_.GetBufferPointer());
  }

  template <typename T>
  std::vector<T> Piece(uint32_t piece, uint64_t seed = kSeed) const {
    std::vector<T> values(PieceSize(get(), piece) / sizeof(T));
    FillSynthetic(get(), piece, seed, 0,
                  std::as_writable_bytes(std::span(values)));
    return values;
  }
  template <typename T>
  std::vector<T> First(uint32_t piece, size_t count) const {
    std::vector<T> values = Piece<T>(piece);
    values.resize(count);
    return values;
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

TEST(SyntheticWeights, MatricesHaveTheirGoldenValues) {
  const Stored f32(plan::WeightForm::DENSE, plan::DType::F32, {4, 96});
  EXPECT_THAT(f32.First<uint32_t>(0, 4),
              ElementsAre(0xbdd23e24, 0xbde82b27, 0x3e3637d5, 0x3d625cd0));
  const Stored bf16(plan::WeightForm::DENSE, plan::DType::BF16, {4, 96});
  EXPECT_THAT(bf16.First<uint16_t>(0, 4),
              ElementsAre(0xbdd2, 0xbde8, 0x3e36, 0x3d62));
  // So many columns that elements are subnormal in F16.
  const Stored f16(plan::WeightForm::DENSE, plan::DType::F16, {1, 1 << 20});
  EXPECT_THAT(f16.First<uint16_t>(0, 8),
              ElementsAre(0x9406, 0x9471, 0x16f9, 0x1055, 0x9306, 0x987c,
                          0x944f, 0x973d));
}

TEST(SyntheticWeights, VectorsAreNearOne) {
  const Stored norm(plan::WeightForm::DENSE, plan::DType::F32, {4096});
  EXPECT_THAT(norm.First<uint32_t>(0, 4),
              ElementsAre(0x3f6d6ac0, 0x3f6b7aa0, 0x3f901b20, 0x3f850080));
}

TEST(SyntheticWeights, Int4ExpertsHaveTheirGoldenValues) {
  const Stored experts(plan::WeightForm::EXPERTS_GPTQ4, plan::DType::BF16,
                       {3, 4, 96}, 32);
  EXPECT_THAT(experts.First<uint32_t>(2, 4),
              ElementsAre(0x65926e73, 0xbc1a996b, 0x1858d3c1, 0xd1cbe678));
  EXPECT_THAT(experts.First<uint16_t>(3, 4),
              ElementsAre(0x27c8, 0x27cd, 0x2513, 0x2772));
}

TEST(SyntheticWeights, ProductsKeepTheirScale) {
  const Stored matrix(plan::WeightForm::DENSE, plan::DType::F32, {256, 256});
  double sum = 0, squares = 0;
  for (const float value : matrix.Piece<float>(0)) {
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 256, 0, 5);
  EXPECT_NEAR(squares / 256, 1, 0.02);
}

TEST(SyntheticWeights, AnyPartCanBeMadeOnItsOwn) {
  const Stored matrix(plan::WeightForm::EXPERTS_DENSE, plan::DType::BF16,
                      {3, 40, 96});
  const std::vector<uint16_t> whole = matrix.Piece<uint16_t>(1);
  std::vector<uint16_t> part(77);
  FillSynthetic(matrix.get(), 1, kSeed, 2 * 1000,
                std::as_writable_bytes(std::span(part)));
  EXPECT_EQ(std::memcmp(part.data(), whole.data() + 1000, 2 * part.size()), 0);
  // Experts go on where the one before ends.
  const Stored flat(plan::WeightForm::DENSE, plan::DType::BF16, {120, 96});
  EXPECT_EQ(flat.Piece<uint16_t>(0)[2 * 40 * 96], matrix.Piece<uint16_t>(2)[0]);
}

TEST(SyntheticWeights, SeedAndNameBothMatter) {
  const Stored one(plan::WeightForm::DENSE, plan::DType::F32, {8, 8});
  const Stored other(plan::WeightForm::DENSE, plan::DType::F32, {8, 8}, 0,
                     "layers.0.k");
  EXPECT_EQ(one.Piece<float>(0), one.Piece<float>(0));
  EXPECT_NE(one.Piece<float>(0), one.Piece<float>(0, kSeed + 1));
  EXPECT_NE(one.Piece<float>(0), other.Piece<float>(0));
}

TEST(SyntheticWeights, OtherTypesAreRefusedByName) {
  const Stored bytes(plan::WeightForm::DENSE, plan::DType::U8, {8, 8});
  const absl::Status status = CheckSynthetic(bytes.get());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("layers.0.q"));
}

}  // namespace
}  // namespace glm
