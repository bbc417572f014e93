#include "runtime/paging/pager_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/paging/row_layout.h"

namespace glm::paging {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(RowLayout, PiecesFollowAt256AndRowsAt4096) {
  const uint64_t sizes[] = {1000, 10, 256, 3000};
  const RowLayout layout = RowLayout::Of(2, 2, sizes);
  EXPECT_EQ(layout.count(), 4u);
  EXPECT_THAT(layout.offsets, ElementsAre(0, 1024, 1280, 1536, 0, 0, 0, 0));
  EXPECT_EQ(layout.row_bytes, 8192u) << "1536 + 3000, rounded up";
}

TEST(RowLayout, OfTheReleasedModel) {
  // gate and up [2048, 4096], down [4096, 2048], int4 in groups of 128.
  const uint64_t codes = uint64_t{2048} * 4096 / 2;
  const uint64_t scales = uint64_t{2048} * 4096 / 128 * 2;
  const uint64_t sizes[] = {codes, scales, codes, scales, codes, scales};
  EXPECT_EQ(RowLayout::Of(3, 2, sizes).row_bytes, 3 * (codes + scales));
}

template <typename T>
std::vector<T> At(const std::vector<std::byte>& image, uint64_t offset,
                  size_t count) {
  std::vector<T> values(count);
  EXPECT_LE(offset + count * sizeof(T), image.size());
  std::memcpy(values.data(), image.data() + offset, count * sizeof(T));
  return values;
}

TEST(PagerImage, HoldsWhatTheKernelsRead) {
  auto cache = ExpertCache::Create({.shape = {3, 8, 2},
                                    .policy = *FindPolicy("quota-lfru"),
                                    .slots = 10,
                                    .step_tokens = 1});
  ASSERT_TRUE(cache.ok()) << cache.status();
  const uint64_t sizes[] = {4096, 100};
  const RowLayout layout = RowLayout::Of(2, 1, sizes);
  std::vector<uint64_t> sources, tables;
  for (uint64_t row = 0; row < 24; ++row) sources.push_back(1000 + row);
  for (uint64_t table = 0; table < 6; ++table) tables.push_back(5000 + table);
  const uint64_t address = uint64_t{7} << 40;
  const std::vector<std::byte> image =
      PagerImage(*cache, layout, {address, 0x123456000, sources, tables, 0x99});
  const PagerPlaces places = PagerPlaces::Of({3, 8, 2}, 2, 10);
  ASSERT_EQ(image.size(), places.bytes);

  const Pager pager = At<Pager>(image, 0, 1)[0];
  EXPECT_EQ(pager.slots, 0x123456000u);
  EXPECT_EQ(pager.row_bytes, 8192u);
  EXPECT_EQ(pager.bell, 0x99u);
  EXPECT_EQ(pager.trace, 0u);
  EXPECT_EQ(pager.layers, 3u);
  EXPECT_EQ(pager.experts, 8u);
  EXPECT_EQ(pager.slot_count, 10u);
  EXPECT_EQ(pager.rank, static_cast<uint32_t>(Rank::kExpected));
  EXPECT_EQ(pager.weights, 2u);
  EXPECT_EQ(pager.pieces, 1u);
  EXPECT_EQ(pager.step, 0u);
  EXPECT_EQ(pager.offsets[1], 4096u);
  EXPECT_EQ(At<uint64_t>(image, pager.sources - address, 24), sources);
  EXPECT_EQ(At<uint64_t>(image, pager.tables - address, 6), tables);
  EXPECT_THAT(At<uint32_t>(image, pager.slot_of_row - address, 24),
              Each(kNone));
  EXPECT_THAT(At<uint32_t>(image, pager.row_of_slot - address, 10),
              Each(kNone));
  EXPECT_THAT(At<uint32_t>(image, pager.row_uses - address, 72), Each(0));
  EXPECT_THAT(At<uint32_t>(image, pager.ranges - address, 8),
              ElementsAre(0, 3, 3, 6, 6, 10, 0, 10));
  EXPECT_THAT(At<uint64_t>(image, pager.counts - address, 12), Each(0));
}

TEST(PagerImage, PoliciesOfAllLayersShareTheSlots) {
  auto cache = ExpertCache::Create(
      {.shape = {2, 4, 1}, .policy = *FindPolicy("lru"), .slots = 99});
  ASSERT_TRUE(cache.ok()) << cache.status();
  const uint64_t sizes[] = {4};
  const std::vector<uint64_t> sources(8), tables(2);
  const auto image = PagerImage(*cache, RowLayout::Of(1, 1, sizes),
                                {4096, 0, sources, tables, 0});
  const Pager pager = At<Pager>(image, 0, 1)[0];
  EXPECT_EQ(pager.slot_count, 8u) << "no more slots than rows";
  EXPECT_THAT(At<uint32_t>(image, pager.ranges - 4096, 6),
              ElementsAre(0, 8, 0, 8, 0, 8));
}

}  // namespace
}  // namespace glm::paging
