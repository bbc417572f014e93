// Products of rows with weights: linear, head_linear, expert_linear.

#include <array>
#include <memory>
#include <vector>

#include "glm/expert_linear.h"
#include "glm/linear.h"
#include "glm/phases.h"
#include "gtest/gtest.h"
#include "test/kernels/kernel_case.h"

namespace glm {
namespace {

using kernel::BF16;
using kernel::CeilDiv;
using kernel::F16;
using kernel::F32;

#include "test/kernels/dense_kernels.inc"

// T = 1, 3, 8, 17, 130, and every row valid.
std::vector<Batch> Batches() {
  return {Batch::Ragged(1, 1),  Batch::Ragged(3, 1),  Batch::Ragged(2, 4),
          Batch::Ragged(1, 17), Batch::Ragged(5, 26), Batch::Whole(140)};
}

// ------------------------------------------------------------------- linear

std::vector<int64_t> LinearGrid(int64_t outputs, int64_t columns, int64_t rows,
                                bool tile, bool codes = false) {
  if (!tile) {
    const int64_t width =
        codes ? 32 : kernel::LinearWidth<kernel::kDense>(outputs, columns);
    return {CeilDiv(outputs, width)};
  }
  return {CeilDiv(rows, kernel::RowsOfTile(outputs)), CeilDiv(outputs, 128)};
}

void CheckLinear(KernelCase::Entry entry, const std::vector<int64_t>& p,
                 bool tile, const std::vector<Batch>& batches = Batches()) {
  for (const Batch& batch : batches) {
    SCOPED_TRACE("rows " + std::to_string(batch.rows()));
    const int64_t outputs = p[3], columns = p[4];
    const auto grid = LinearGrid(outputs, columns, batch.rows(), tile);
    KernelCase("linear", entry, p, grid)
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(p[0], batch.rows() * columns, 1)))
        .Tensor(Random(p[1], outputs * columns, 2))
        .Tensor(Memory(p[2], batch.rows() * outputs))
        .Check();
  }
}

TEST(Linear, OddSizes) {
  CheckLinear(linear_odd, linear_odd_params, false);
  CheckLinear(linear_odd_tile, linear_odd_tile_params, true);
}
TEST(Linear, Bf16Throughout) {
  CheckLinear(linear_bf16, linear_bf16_params, false);
  CheckLinear(linear_bf16_tile, linear_bf16_tile_params, true);
}
TEST(Linear, F16WeightsAndThreeTilesOfColumns) {
  CheckLinear(linear_f16, linear_f16_params, false);
  CheckLinear(linear_f16_tile, linear_f16_tile_params, true);
}
TEST(Linear, F32Weights) {
  CheckLinear(linear_f32, linear_f32_params, false);
  CheckLinear(linear_f32_tile, linear_f32_tile_params, true);
}

// Few long outputs: 8 or 16 a block.
TEST(Linear, FewLongOutputs) {
  CheckLinear(linear_narrow, linear_narrow_params, false);
  CheckLinear(linear_narrow_f32, linear_narrow_f32_params, false);
}

// As members of a group of few rows. `wide`: neighbours a block.
void CheckFewRows(KernelCase::Entry entry, const std::vector<int64_t>& p,
                  int64_t wide, const std::vector<Batch>& batches) {
  const int64_t outputs = p[3], columns = p[4];
  const int64_t width =
      kernel::LinearWidth<kernel::kDense>(outputs, columns) * wide;
  for (const Batch& batch : batches) {
    SCOPED_TRACE("rows " + std::to_string(batch.rows()));
    KernelCase("linear", entry, p, {CeilDiv(outputs, width)})
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(p[0], batch.rows() * columns, 1)))
        .Tensor(Random(p[1], outputs * columns, 2))
        .Tensor(Memory(p[2], batch.rows() * outputs))
        .Check();
  }
}

// Outputs of which a block of a GPU has 8, whose columns all its waves share.
TEST(Linear, FewLongOutputsOfFewRows) {
  const std::vector<Batch> one = {Batch::Ragged(1, 1)};
  CheckFewRows(linear_shared, {BF16, BF16, F32, 288, 2048}, 1, one);
  CheckFewRows(linear_shared_odd, {F32, BF16, BF16, 100, 2049}, 1, one);
  CheckFewRows(linear_shared_rows, {BF16, BF16, F32, 100, 2056}, 1,
               {Batch::Whole(1), Batch::Ragged(2, 1), Batch::Ragged(3, 1),
                Batch::Whole(4)});
}

// A row whose weight flows through a GPU's registers: in one round and in many,
// of whole rounds and not, up to the longest; and one of few columns.
TEST(Linear, OneRow) {
  const std::vector<Batch> one = {Batch::Ragged(1, 1)};
  CheckFewRows(linear_one_round, {BF16, BF16, F32, 37, 512}, 1, one);
  CheckFewRows(linear_rounds, {BF16, BF16, BF16, 1026, 1536}, 1, one);
  CheckFewRows(linear_rounds_f32, {F32, BF16, F32, 37, 1024}, 4, one);
  CheckFewRows(linear_long_rounds, {BF16, BF16, F32, 1027, 8192}, 1, one);
  CheckFewRows(linear_longest, {BF16, BF16, F32, 1025, 16384}, 1, one);
  CheckFewRows(linear_long_row, {BF16, BF16, F32, 96, 8200}, 4, one);
  CheckFewRows(linear_short_row, {F32, BF16, BF16, 256, 128}, 4, one);
}

// Tiles of 16 rows, whose columns the waves of a GPU share; of 64; of 128. Odd
// ends of rows, outputs and columns.
TEST(Linear, TilesOfFewOutputs) {
  CheckLinear(linear_narrow_tile, linear_narrow_tile_params, true);
}
TEST(Linear, TilesOfSomeOutputs) {
  CheckLinear(linear_mid_tile, linear_mid_tile_params, true);
  CheckLinear(linear_long_tile, linear_long_tile_params, true);
}
TEST(Linear, TilesOfManyOutputs) {
  CheckLinear(linear_wide_tile, linear_wide_tile_params, true);
}

// Tiles whose rows have several parts, the sums of which an sm_90 keeps aside;
// a gfx1201 does not.
#ifndef GLM_TEST_GFX1201
TEST(Linear, TilesOfManyRows) {
  CheckLinear(linear_large_tile, linear_large_tile_params, true,
              {Batch::Ragged(4, 75)});
}
#endif

// ------------------------------------------------------- linear, quantised

// Forms 3 (int4) and 4 (int8). Memory of codes, 16-byte aligned as the plan
// keeps it, and scales of both signs.
struct Coded {
  alignas(16) std::array<uint8_t, 256 << 10> codes;
  int64_t size;  // bytes of codes
  Memory scales;
  std::vector<float> values;
};

std::unique_ptr<Coded> MakeCoded(const std::vector<int64_t>& p) {
  const int64_t outputs = p[3], columns = p[4], group = p[6];
  const bool bytes = p[5] == kernel::kDenseInt8;
  const int64_t size =
      bytes ? outputs * columns : CeilDiv(columns, 8) * outputs * 4;
  auto made = std::make_unique<Coded>(
      Coded{{},
            size,
            Random(F16, CeilDiv(columns, group) * outputs, 9, -0.1f, 0.1f),
            std::vector<float>(outputs * columns)});
  std::minstd_rand random(5);
  for (int64_t i = 0; i < size; ++i) {
    const uint8_t code = uint8_t(uint32_t(random()) * 2654435761u >> 24);
    made->codes[i] = bytes && code == 128 ? 127 : code;  // -128 is no code
  }
  const std::vector<float> scales = made->scales.Wide();
  if (bytes) {
    const auto* codes = reinterpret_cast<const int8_t*>(made->codes.data());
    reference::DequantizeInt8({codes, size_t(size)}, scales, outputs, columns,
                              group, made->values);
  } else {
    std::vector<int32_t> words(size / 4);
    memcpy(words.data(), made->codes.data(), size);
    reference::DequantizeGptq4(words, scales, outputs, columns, group,
                               made->values);
  }
  return made;
}

void CheckCoded(KernelCase::Entry entry, const std::vector<int64_t>& p,
                bool tile) {
  const std::unique_ptr<Coded> coded = MakeCoded(p);
  const int64_t outputs = p[3], columns = p[4];
  for (const Batch& batch : Batches()) {
    SCOPED_TRACE("rows " + std::to_string(batch.rows()));
    const auto grid = LinearGrid(outputs, columns, batch.rows(), tile, true);
    KernelCase("linear", entry, p, grid)
        .Reachable(coded->codes.data(), coded->size)
        .Reachable(coded->scales.bytes.data(), coded->scales.bytes.size())
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(p[0], batch.rows() * columns, 1)))
        .Table({reinterpret_cast<uint64_t>(coded->codes.data()),
                reinterpret_cast<uint64_t>(coded->scales.bytes.data())},
               coded->values)
        .Tensor(Memory(p[2], batch.rows() * outputs))
        .Check();
  }
}

TEST(LinearInt4, WholeGroups) {
  CheckCoded(linear_q4, linear_q4_params, false);
  CheckCoded(linear_q4_tile, linear_q4_tile_params, true);
}
// More groups than a GPU's waves, not as many for each; groups in two
// stretches.
TEST(LinearInt4, ManyGroups) {
  CheckCoded(linear_q4_deep, linear_q4_deep_params, false);
}
TEST(LinearInt4, LongGroups) {
  CheckCoded(linear_q4_long, linear_q4_long_params, false);
}
TEST(LinearInt4, OddSizes) {
  CheckCoded(linear_q4_odd, linear_q4_odd_params, false);
  CheckCoded(linear_q4_odd_tile, linear_q4_odd_tile_params, true);
}
TEST(LinearInt4, SmallGroups) {
  CheckCoded(linear_q4_small, linear_q4_small_params, false);
  CheckCoded(linear_q4_small_tile, linear_q4_small_tile_params, true);
}
TEST(LinearInt4, TilesOfManyOutputs) {
  CheckCoded(linear_q4_wide_tile, linear_q4_wide_tile_params, true);
}
TEST(LinearInt8, TilesOfManyOutputs) {
  CheckCoded(linear_q8_wide_tile, linear_q8_wide_tile_params, true);
}
TEST(LinearInt8, WholeGroups) {
  CheckCoded(linear_q8, linear_q8_params, false);
  CheckCoded(linear_q8_tile, linear_q8_tile_params, true);
}
TEST(LinearInt8, OddSizes) {
  CheckCoded(linear_q8_odd, linear_q8_odd_params, false);
  CheckCoded(linear_q8_odd_tile, linear_q8_odd_tile_params, true);
}
TEST(LinearInt8, SmallGroups) {
  CheckCoded(linear_q8_small, linear_q8_small_params, false);
  CheckCoded(linear_q8_small_tile, linear_q8_small_tile_params, true);
}

// ------------------------------------------------- linear_parts, sum_parts

// T = 1, 3, 8, 12, and every row valid.
std::vector<Batch> FewRows() {
  return {Batch::Ragged(1, 1), Batch::Ragged(3, 1), Batch::Ragged(2, 4),
          Batch::Ragged(3, 4), Batch::Whole(12)};
}

void CheckParts(KernelCase::Entry entry, const std::vector<int64_t>& p) {
  for (const Batch& batch : FewRows()) {
    SCOPED_TRACE("rows " + std::to_string(batch.rows()));
    const int64_t outputs = p[2], columns = p[3], parts = p[5];
    KernelCase("linear_parts", entry, p, {parts})
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(p[0], batch.rows() * columns, 1)))
        .Tensor(Random(p[1], outputs * columns, 2))
        .Tensor(Memory(F32, batch.rows() * parts * outputs))
        .Check();
  }
}

TEST(LinearParts, OddOutputs) { CheckParts(parts_odd, parts_odd_params); }
TEST(LinearParts, ManyParts) { CheckParts(parts_wide, parts_wide_params); }
TEST(LinearParts, PartsOfEachHead) {
  CheckParts(parts_heads, parts_heads_params);
  CheckParts(parts_narrow, parts_narrow_params);
}

void CheckSums(KernelCase::Entry entry, const std::vector<int64_t>& p) {
  for (const Batch& batch : FewRows()) {
    SCOPED_TRACE("rows " + std::to_string(batch.rows()));
    KernelCase("sum_parts", entry, p, {batch.rows()})
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(F32, batch.rows() * p[1] * p[2], 1)))
        .Tensor(Memory(p[0], batch.rows() * p[2]))
        .Check();
  }
}

TEST(SumParts, OddSizes) { CheckSums(sums_odd, sums_odd_params); }
TEST(SumParts, ManyParts) { CheckSums(sums_wide, sums_wide_params); }
TEST(SumParts, OneOutput) { CheckSums(sums_one, sums_one_params); }

// -------------------------------------------------------------- head_linear

// Both slices of a stacked weight [3 heads * (24 + 70), 40] as absorbed MLA
// has.

void CheckHeadLinear(KernelCase::Entry entry, const std::vector<int64_t>& p,
                     bool tile) {
  for (const Batch& batch : Batches()) {
    SCOPED_TRACE("rows " + std::to_string(batch.rows()));
    const int64_t heads = p[3], outputs = p[4], columns = p[5];
    const auto grid = tile ? std::vector<int64_t>{CeilDiv(batch.rows(), 128),
                                                  CeilDiv(outputs, 128), heads}
                           : std::vector<int64_t>{CeilDiv(outputs, 64), heads};
    KernelCase("head_linear", entry, p, grid)
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(p[0], batch.rows() * heads * columns, 1)))
        .Tensor(Random(p[1], heads * p[6], 2))
        .Tensor(Memory(p[2], batch.rows() * heads * outputs))
        .Check();
  }
}

TEST(HeadLinear, RowsOfTheWeight) {
  CheckHeadLinear(head_rows, head_rows_params, false);
  CheckHeadLinear(head_rows_tile, head_rows_tile_params, true);
}
TEST(HeadLinear, ColumnsOfTheWeight) {
  CheckHeadLinear(head_columns, head_columns_params, false);
  CheckHeadLinear(head_columns_tile, head_columns_tile_params, true);
}

TEST(HeadLinear, TilesOfColumns) {
  CheckHeadLinear(head_wide_tile, head_wide_tile_params, true);
}

// ------------------------------------------------------------ expert_linear

// Form 2: int4. K = 192 leaves a group of 64 columns; 85 is no multiple of 8.

struct Experts {
  std::vector<std::vector<int32_t>> words;
  std::vector<Memory> scales;  // or the dense weights
  std::vector<uint64_t> table;
  std::vector<float> values;
};

Experts MakeExperts(const std::vector<int64_t>& p) {
  const int64_t experts = p[4], outputs = p[6], columns = p[7], group = p[8];
  Experts made;
  std::minstd_rand random(5);
  for (int64_t e = 0; e < experts; ++e) {
    if (p[1] == kernel::kExpertsDense) {
      made.scales.push_back(Random(p[2], outputs * columns, uint32_t(e)));
      const std::vector<float> wide = made.scales.back().Wide();
      made.values.insert(made.values.end(), wide.begin(), wide.end());
      continue;
    }
    // Scales of both signs.
    made.scales.push_back(Random(F16, CeilDiv(columns, group) * outputs,
                                 uint32_t(e), -0.1f, 0.1f));
    made.words.emplace_back(CeilDiv(columns, 8) * outputs);
    for (int32_t& word : made.words.back()) {
      word = int32_t(uint32_t(random()) * 2654435761u);
    }
    std::vector<float> wide(outputs * columns);
    reference::DequantizeGptq4(made.words.back(), made.scales.back().Wide(),
                               outputs, columns, group, wide);
    made.values.insert(made.values.end(), wide.begin(), wide.end());
  }
  for (int64_t e = 0; e < experts; ++e) {
    if (!made.words.empty()) {
      made.table.push_back(reinterpret_cast<uint64_t>(made.words[e].data()));
    }
    made.table.push_back(
        reinterpret_cast<uint64_t>(made.scales[e].bytes.data()));
  }
  return made;
}

// Mostly expert 1, some of each other, some of none.
std::vector<int32_t> MostlyOne(int64_t places, int64_t experts) {
  std::vector<int32_t> ids(places);
  for (int64_t i = 0; i < places; ++i) {
    ids[i] = i % 3 == 0 ? 1 : int32_t(i * 7 % (experts + 2)) - 1;
  }
  return ids;
}

void CheckExperts(KernelCase::Entry entry, const std::vector<int64_t>& p,
                  bool tile, const Experts& experts, const Batch& batch,
                  const std::vector<int32_t>& ids) {
  SCOPED_TRACE("rows " + std::to_string(batch.rows()));
  const int64_t top_k = p[5], outputs = p[6], columns = p[7];
  const int64_t places = batch.rows() * top_k;
  const int64_t width = tile ? 128 : kernel::ExpertWidth(columns);
  KernelCase c("expert_linear", entry, p,
               {CeilDiv(outputs, width), tile ? p[4] : places});
  for (const Memory& m : experts.scales) {
    c.Reachable(m.bytes.data(), m.bytes.size());
  }
  for (const std::vector<int32_t>& w : experts.words) {
    c.Reachable(w.data(), w.size() * sizeof(int32_t));
  }
  c.Rows(batch)
      .Tensor(batch.Poisoned(
          Random(p[0], (p[9] ? places : batch.rows()) * columns, 1)))
      .Ints(ids)
      .Table(experts.table, experts.values)
      .Tensor(Memory(p[3], places * outputs))
      .Check();
}

void CheckExperts(KernelCase::Entry entry, const std::vector<int64_t>& p,
                  bool tile, const std::vector<Batch>& batches = Batches()) {
  const Experts experts = MakeExperts(p);
  for (const Batch& batch : batches) {
    CheckExperts(entry, p, tile, experts, batch,
                 MostlyOne(batch.rows() * p[5], p[4]));
  }
}

// Experts with 0, 1, 65 and 364 rows, and 27 places of none beside 64 of the
// first: lists that take several tiles and end in ones of all sizes, at places
// beyond what one look at the ids finds.
void CheckLists(KernelCase::Entry entry, const std::vector<int64_t>& p) {
  const Experts experts = MakeExperts(p);
  for (const Batch& batch : {Batch::Whole(800), Batch::Ragged(4, 200)}) {
    std::vector<int32_t> ids(batch.rows() * p[5], -1);
    const auto choose = [&](int64_t from, int64_t count, int32_t expert) {
      for (int64_t i = 0; i < count; ++i) ids[from + i * 3] = expert;
    };
    choose(2399, 1, 1);
    choose(3, 65, 2);
    choose(1, 200, 3);
    choose(1201, 164, 3);
    choose(2, 64, 0);
    choose(2000, 27, int32_t(p[4]));
    CheckExperts(entry, p, true, experts, batch, ids);
  }
}
TEST(ExpertLinear, ListsOfManyLengths) {
  CheckLists(expert_many_tile, expert_many_tile_params);
}

TEST(ExpertLinear, Int4WithAPartialGroup) {
  CheckExperts(expert_q, expert_q_params, false);
  CheckExperts(expert_q_tile, expert_q_tile_params, true);
}
TEST(ExpertLinear, Int4OddSizesPerSlot) {
  CheckExperts(expert_q_slot, expert_q_slot_params, false);
  CheckExperts(expert_q_slot_tile, expert_q_slot_tile_params, true);
}
TEST(ExpertLinear, Int4AsReleased) {
  CheckExperts(expert_wide, expert_wide_params, false);
  CheckExperts(expert_wide_tile, expert_wide_tile_params, true);
}
// Long rows: 32 outputs a block.
TEST(ExpertLinear, LongRows) {
  const std::vector<Batch> few = {Batch::Whole(1), Batch::Ragged(3, 1)};
  CheckExperts(expert_deep, expert_deep_params, false, few);
  CheckExperts(expert_deep_d, expert_deep_d_params, false, few);
}
TEST(ExpertLinear, DenseBf16) {
  CheckExperts(expert_wide_d, expert_wide_d_params, false);
  CheckExperts(expert_wide_d_tile, expert_wide_d_tile_params, true);
}
TEST(ExpertLinear, DensePerSlot) {
  CheckExperts(expert_d, expert_d_params, false);
  CheckExperts(expert_d_tile, expert_d_tile_params, true);
}

}  // namespace
}  // namespace glm
