// The rule of top_k, exactly: score descending, or in order of column where the
// candidates are limited, the lower column first among equals, NaN below -inf,
// -0 equal to +0, -1 where candidates are missing.

#include "glm/top_k.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/kernels/kernel_case.h"

namespace glm {
namespace {

using kernel::F32;

#include "test/kernels/top_k_kernels.inc"

void CheckTopK(KernelCase::Entry entry, const std::vector<int64_t>& params,
               const Batch& batch, const Memory& scores) {
  const int64_t columns = scores.size() / batch.rows();
  SCOPED_TRACE("k " + std::to_string(params[0]) + " of " +
               std::to_string(columns));
  KernelCase("top_k", entry, params, {batch.rows()})
      .Rows(batch)
      .Tensor(scores)
      .Integer(columns)
      .Ints(std::vector<int32_t>(batch.rows() * params[0], 7))
      .Check();
}

template <size_t kCount>
Memory Drawn(const float (&kinds)[kCount], int64_t count, uint32_t seed) {
  Memory scores(F32, count);
  std::minstd_rand random(seed + 1);
  for (int64_t i = 0; i < count; ++i) {
    scores.Set(i, kinds[random() / 7 % kCount]);
  }
  return scores;
}

// -------------------------------------------------- pools of a whole context

constexpr int64_t kPools = 262144;  // 1,048,576 tokens, 4 a pool

void CheckPools(const Memory& scores) {
  CheckTopK(top_512, top_512_params, Batch::Whole(1), scores);
}

TEST(TopKOfAllPools, Random) {
  CheckPools(Random(F32, kPools, 1, -2.0f, 50.0f));
  CheckPools(Random(F32, kPools, 2, 1.0f, 1.0001f));
}

TEST(TopKOfAllPools, EqualScoresKeepTheFirst) {
  for (float score : {0.0f, -0.0f, 3.5f, -INFINITY, INFINITY, NAN}) {
    SCOPED_TRACE(score);
    CheckPools(Memory(F32, kPools, score));
  }
}

// Equals that are all chosen, the last of which is not, or most of which are
// not, spread over the row; below some that are larger, or so many that no
// equal is chosen.
TEST(TopKOfAllPools, EqualsAroundTheCut) {
  const std::pair<int64_t, int64_t> cases[] = {
      {200, 312}, {200, 313},  {511, 1}, {511, 2},
      {0, 513},   {3, 100000}, {512, 2}};
  for (const auto& [above, equals] : cases) {
    SCOPED_TRACE(std::to_string(above) + " above " + std::to_string(equals));
    Memory scores = Random(F32, kPools, 3, -2.0f, 0.5f);
    std::vector<int32_t> columns(kPools);
    for (int64_t i = 0; i < kPools; ++i) columns[i] = int32_t(i);
    std::shuffle(columns.begin(), columns.end(), std::minstd_rand(4));
    std::minstd_rand random(5);
    for (int64_t i = 0; i < above + equals; ++i) {
      scores.Set(columns[i], i < above
                                 ? 1.0f + float(1 + random() % 999) * 0x1p-23f
                                 : 1.0f);
    }
    CheckPools(scores);
  }
}

// Every digit of a score decides somewhere: scores that differ in the last bits
// alone.
TEST(TopKOfAllPools, NeighboursInTheLastBits) {
  for (uint32_t base : {0x3f800000u, 0x00000000u, 0xbf800000u, 0x7f7fff00u}) {
    Memory scores(F32, kPools);
    std::minstd_rand random(6);
    for (int64_t i = 0; i < kPools; ++i) {
      scores.Set(i, kernel::FromBits(base + random() / 7 % 256));
    }
    CheckPools(scores);
  }
}

TEST(TopKOfAllPools, Sorted) {
  Memory up(F32, kPools), down(F32, kPools), steps(F32, kPools);
  for (int64_t i = 0; i < kPools; ++i) {
    up.Set(i, float(i) - 1000.0f);
    down.Set(i, 1000.0f - float(i));
    steps.Set(i, float(i / 300));
  }
  CheckPools(up);
  CheckPools(down);
  CheckPools(steps);
}

TEST(TopKOfAllPools, NanInfinitiesAndDenormals) {
  const float all[] = {
      NAN,   -NAN,      INFINITY,   -INFINITY,        0.0f,
      -0.0f, 0x1p-149f, -0x1p-149f, 0x1.fffffcp-127f, -0x1.fffffcp-127f,
      3e38f, -3e38f};
  const float lowest[] = {NAN, -NAN, -INFINITY};
  const float zeros[] = {0.0f, -0.0f, 0x1p-149f, -0x1p-149f};
  CheckPools(Drawn(all, kPools, 1));
  CheckPools(Drawn(lowest, kPools, 2));
  CheckPools(Drawn(zeros, kPools, 3));

  // Fewer than 512 that are not NaN.
  Memory rare(F32, kPools, NAN);
  for (int64_t i = 0; i < 300; ++i) rare.Set(i * 871 + 5, all[2 + i % 10]);
  CheckPools(rare);
}

TEST(TopKOfAllPools, OnlyCompletePoolsAreCandidates) {
  for (int32_t position : {4 * 262144 - 1, 4 * 262144 - 2, 4 * 200000,
                           4 * 513 - 1, 4 * 512 - 1, 4 * 511 - 1}) {
    SCOPED_TRACE(position);
    CheckTopK(top_pools, top_pools_params, Batch::Ragged(1, 1, position),
              Random(F32, kPools, 7));
  }
}

// ------------------------------------------------------ pools of an indexer

// The first `count` of `columns` are candidates.
void CheckCandidates(int64_t count, int64_t columns, Memory scores) {
  for (int64_t i = count; i < columns; ++i) scores.Set(i, INFINITY);
  CheckTopK(top_pools, top_pools_params,
            Batch::Ragged(1, 1, int32_t(4 * count - 1)), scores);
}

#ifdef GLM_TEST_GFX1201
constexpr int64_t kCounts[] = {511, 513, 1027, 8192, 8193, 33000};
#else
constexpr int64_t kCounts[] = {1,    511,  512,   513,   700,   1023,
                               1024, 1025, 2048,  4095,  8191,  8192,
                               8193, 8200, 16384, 32767, 32768, 33000};
#endif

// Wide loads or not, and what is no candidate in the last one.
TEST(TopKOfCandidates, Random) {
  for (int64_t count : kCounts) {
    for (int64_t more : {0, 1, 4}) {
      CheckCandidates(count, count + more,
                      Random(F32, count + more, 1, -2.0f, 50.0f));
    }
    CheckCandidates(count, (count + 7) / 4 * 4,
                    Random(F32, (count + 7) / 4 * 4, 2, -1.0f, 0.0f));
  }
}

TEST(TopKOfCandidates, FewValuesAndAllKinds) {
  const float few[] = {0.5f, 0.25f, 0.75f};
  const float kinds[] = {0.0f, -0.0f, NAN,   -INFINITY, INFINITY,
                         1.0f, 1.0f,  -1.0f, 0x1p-149f, -0x1p-149f};
  const float lowest[] = {NAN, -INFINITY, -NAN};
  for (int64_t count : kCounts) {
    CheckCandidates(count, count, Drawn(few, count, 1));
    CheckCandidates(count, count, Drawn(kinds, count, 2));
    CheckCandidates(count, count, Drawn(lowest, count, 3));
    for (float score : {0.0f, -INFINITY, NAN}) {
      CheckCandidates(count, count, Memory(F32, count, score));
    }
  }
}

// The largest ones side by side, where one work-item of a GPU finds them all,
// or at the end of a rising row.
TEST(TopKOfCandidates, LargestOnesTogether) {
  for (int64_t count : kCounts) {
    Memory run = Random(F32, count, 4), stripes = run, up = run, few = run;
    for (int64_t i = 0; i < count; ++i) {
      const float large = run.Get(i) + 10.0f;
      if (i >= count / 3 && i < count / 3 + 600) run.Set(i, large);
      if (i % 1024 < 20) stripes.Set(i, large);
      if (i % 1024 < 4 && i / 1024 % 2 == 0) few.Set(i, large);
      up.Set(i, float(i));
    }
    CheckCandidates(count, count, run);
    CheckCandidates(count, count, stripes);
    CheckCandidates(count, count, few);
    CheckCandidates(count, count, up);
  }
}

// Equals at the cut: more than can be looked at closer, of which none, one or
// all but one are chosen.
TEST(TopKOfCandidates, EqualsAroundTheCut) {
  for (int64_t count : kCounts) {
    for (int64_t above : {1, 300, 511, 512, 520}) {
      Memory scores = Random(F32, count, 5);
      std::minstd_rand random(6);
      for (int64_t i = 0; i < count; ++i) {
        if (random() / 7 % 2 == 0) scores.Set(i, 1.5f);
      }
      for (int64_t i = 0; i < above; ++i) {
        scores.Set(random() / 7 % count, 2.0f + float(i % 99));
      }
      CheckCandidates(count, count, scores);
    }
  }
}

TEST(TopKOfCandidates, EveryRowHasItsOwn) {
  const Batch batch = Batch::Ragged(2, 6, 4 * 1030);
  for (int64_t columns : {1031, 1032}) {
    CheckTopK(top_pools, top_pools_params, batch,
              batch.Poisoned(Random(F32, batch.rows() * columns, 8)));
  }
}

// ------------------------------------------------------- experts of a router

// In an emulator some counts stand for all where k is not a router's.
#ifdef GLM_TEST_GFX1201
constexpr int64_t kStep = 13;
#else
constexpr int64_t kStep = 1;
#endif

// Every `step`-th count of experts from 1 to 1,024, each of the first ones.
void CheckRouter(KernelCase::Entry entry, const std::vector<int64_t>& params,
                 int64_t step = kStep) {
  // A sigmoid's scores, few values, and all kinds.
  const float few[] = {0.5f, 0.25f, 0.75f};
  const float kinds[] = {0.0f, -0.0f, NAN,   -INFINITY, INFINITY,
                         1.0f, 1.0f,  -1.0f, 0x1p-149f, -0x1p-149f};
  for (int64_t experts = 1; experts <= 1024;
       experts += experts < 20 ? 1 : step) {
    Memory scores = Random(F32, 3 * experts, uint32_t(experts), 0.0f, 1.0f);
    const Memory second = Drawn(few, experts, uint32_t(experts));
    const Memory third = Drawn(kinds, experts, uint32_t(experts));
    for (int64_t i = 0; i < experts; ++i) {
      scores.Set(experts + i, second.Get(i));
      scores.Set(2 * experts + i, third.Get(i));
    }
    CheckTopK(entry, params, Batch::Whole(3), scores);
  }
}

TEST(TopKOfExperts, One) { CheckRouter(top_1, top_1_params); }
TEST(TopKOfExperts, Four) { CheckRouter(top_4, top_4_params); }
TEST(TopKOfExperts, Eight) { CheckRouter(top_8, top_8_params, 1); }
TEST(TopKOfExperts, Sixteen) { CheckRouter(top_16, top_16_params); }

TEST(TopKOfExperts, RowsThatAreNotValidStayUntouched) {
  const Batch batch = Batch::Ragged(3, 8);
  CheckTopK(top_8, top_8_params, batch,
            batch.Poisoned(Random(F32, batch.rows() * 288, 1)));
}

TEST(TopKOfExperts, FewerCandidatesThanPlaces) {
  for (int32_t position : {0, 2, 3, 40, 63, 64, 65, 200}) {
    const Batch batch = Batch::Ragged(3, 3, position);
    CheckTopK(top_few, top_few_params, batch,
              Random(F32, batch.rows() * 60, 1));
  }
}

}  // namespace
}  // namespace glm
