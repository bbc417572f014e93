// Pieces of quantised weights: what may stay in the file, and what each costs.
#include "runtime/executor/weight_layout.h"

#include <gtest/gtest.h>

namespace glm {
namespace {

// A weight of 2 x 64 with its two pieces at these offsets.
WeightLayout LayoutOf(plan::WeightForm form, uint64_t codes, uint64_t scales,
                      bool map_weights) {
  const bool bytes = form == plan::WeightForm::DENSE_INT8;
  plan::WeightT weight;
  weight.name = "w";
  weight.form = form;
  weight.shape = {2, 64};
  weight.group = 16;
  weight.pieces = {plan::Piece(codes, bytes ? 128 : 64, 0),
                   plan::Piece(scales, 16, 0)};
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Weight::Pack(builder, &weight));
  return LayOut(*flatbuffers::GetRoot<plan::Weight>(builder.GetBufferPointer()),
                {.map = map_weights});
}

TEST(WeightLayoutTest, CodesOfInt8StartAtSixteenBytes) {
  WeightLayout layout = LayoutOf(plan::WeightForm::DENSE_INT8, 48, 178, true);
  EXPECT_EQ(layout.mapped_bytes, 128 + 16);
  EXPECT_EQ(layout.copied_bytes, 0);
  EXPECT_EQ(layout.table_bytes, 256);
  layout = LayoutOf(plan::WeightForm::DENSE_INT8, 56, 178, true);
  EXPECT_EQ(layout.mapped_bytes, 16);
  EXPECT_EQ(layout.copied_bytes, 256);
}

TEST(WeightLayoutTest, WordsOfInt4StartAtFourBytes) {
  WeightLayout layout = LayoutOf(plan::WeightForm::DENSE_GPTQ4, 4, 178, true);
  EXPECT_EQ(layout.mapped_bytes, 64 + 16);
  layout = LayoutOf(plan::WeightForm::DENSE_GPTQ4, 6, 177, true);
  EXPECT_EQ(layout.mapped_bytes, 0);
  EXPECT_EQ(layout.copied_bytes, 2 * 256);
  layout = LayoutOf(plan::WeightForm::DENSE_GPTQ4, 4, 178, false);
  EXPECT_EQ(layout.copied_bytes, 2 * 256);
}

}  // namespace
}  // namespace glm
