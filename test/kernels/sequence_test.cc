// Kernels that read or advance the state of a sequence.

#include <vector>

#include "glm/index_scores.h"
#include "glm/kpool.h"
#include "glm/latent_append.h"
#include "glm/short_conv.h"
#include "glm/sparse_attention.h"
#include "gtest/gtest.h"
#include "test/kernels/kernel_case.h"

namespace glm {
namespace {

using kernel::BF16;
using kernel::CeilDiv;
using kernel::F32;

#include "test/kernels/sequence_kernels.inc"

// At position 0 and later, one token and many, ragged.
std::vector<Batch> Batches() {
  return {Batch::Ragged(1, 1),      Batch::Ragged(1, 1, 6),
          Batch::Ragged(3, 1, 3),   Batch::Ragged(3, 8),
          Batch::Ragged(3, 17, 11), Batch::Ragged(1, 130, 5)};
}

std::string Name(const Batch& batch) {
  return std::to_string(batch.sequences) + " x " +
         std::to_string(batch.tokens) + " at " + std::to_string(batch.table[1]);
}

// Rows at and after `known` of each sequence's slot hold NaN.
Memory Cache(int dtype, const Batch& batch, int64_t rows, int64_t width,
             int64_t tokens_per_row, bool after_step) {
  Memory cache = Random(dtype, batch.slots() * rows * width, 9);
  for (int64_t s = 0; s < batch.sequences; ++s) {
    const int32_t* sequence = &batch.table[4 * s];
    const int64_t known =
        (sequence[1] + (after_step ? sequence[2] : 0)) / tokens_per_row;
    for (int64_t i = known * width; i < rows * width; ++i) {
      cache.Set(sequence[0] * rows * width + i, NAN);
    }
  }
  return cache;
}

// --------------------------------------------------------------- short_conv

void CheckConv(KernelCase::Entry entry, const std::vector<int64_t>& p) {
  for (const Batch& batch : Batches()) {
    SCOPED_TRACE(Name(batch));
    const int64_t channels = p[3], past = p[4] - 1;
    const Memory state =
        batch.table[1] == 0 ? Memory(p[0], batch.slots() * channels * past, NAN)
                            : Random(p[0], batch.slots() * channels * past, 3);
    KernelCase("short_conv", entry, p,
               {p[5], batch.sequences, CeilDiv(batch.tokens, 64)})
        .Rows(batch)
        .Integer(batch.sequences)
        .Tensor(batch.Poisoned(Random(p[0], batch.rows() * channels, 1)))
        .Tensor(Random(p[1], channels * p[4], 2))
        .State(state, batch.slots())
        .Tensor(Memory(p[2], batch.rows() * channels))
        .Check();
  }
}

TEST(ShortConv, OddChannels) { CheckConv(conv_odd, conv_odd_params); }
TEST(ShortConv, LastColumnIsSmaller) {
  CheckConv(conv_uneven, conv_uneven_params);
}
TEST(ShortConv, ColumnOfAHead) { CheckConv(conv_head, conv_head_params); }
TEST(ShortConv, ColumnOfOneChannel) {
  CheckConv(conv_single, conv_single_params);
}
TEST(ShortConv, Bf16) { CheckConv(conv_bf16, conv_bf16_params); }

// ------------------------------------------------------------ latent_append

TEST(LatentAppend, WritesOnlyItsRows) {
  for (const Batch& batch : Batches()) {
    SCOPED_TRACE(Name(batch));
    KernelCase("latent_append", append, append_params, {batch.rows()})
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(F32, batch.rows() * 50, 1)))
        .State(Memory(BF16, batch.slots() * 160 * 50), batch.slots())
        .Check();
  }
}

// -------------------------------------------------------------------- kpool

TEST(KPool, AnyPositionAndLength) {
  for (const Batch& batch : Batches()) {
    SCOPED_TRACE(Name(batch));
    KernelCase("kpool", pool_bf16, pool_bf16_params,
               {batch.sequences, CeilDiv(CeilDiv(batch.tokens, 4), 16)})
        .Rows(batch)
        .Integer(batch.sequences)
        .Tensor(batch.Poisoned(Random(F32, batch.rows() * 36, 1)))
        .Tensor(batch.Poisoned(Random(F32, batch.rows() * 36, 2, -4, 4)))
        .Tensor(Random(BF16, 4 * 36, 3))
        .State(Random(BF16, batch.slots() * 3 * 2 * 36, 4), batch.slots())
        .State(Memory(BF16, batch.slots() * 40 * 36), batch.slots())
        .Check();
  }
}

// A prompt in chunks gives the pools of the whole prompt, bit for bit.
TEST(KPool, ChunksDoNotMatter) {
  constexpr int64_t kTokens = 653, kDim = 36, kPools = kTokens / 4;
  const Memory k = Random(F32, kTokens * kDim, 1);
  const Memory g = Random(F32, kTokens * kDim, 2, -4, 4);
  const Memory ape = Random(BF16, 4 * kDim, 3);
  const auto pools_of = [&](const std::vector<int32_t>& chunks) {
    Memory tail(F32, 3 * 2 * kDim, NAN), pools(F32, kPools * kDim, NAN);
    int32_t position = 0;
    for (size_t i = 0; position < kTokens; ++i) {
      const int32_t length =
          std::min<int32_t>(chunks[i % chunks.size()], kTokens - position);
      const int32_t seqs[] = {0, position, length, 0};
      const int64_t first = position * kDim * 4;
      const std::vector<uint64_t> words = {
          reinterpret_cast<uint64_t>(seqs),
          uint64_t(length),
          uint64_t(length),
          1,
          reinterpret_cast<uint64_t>(k.bytes.data() + first),
          reinterpret_cast<uint64_t>(g.bytes.data() + first),
          reinterpret_cast<uint64_t>(ape.bytes.data()),
          reinterpret_cast<uint64_t>(tail.bytes.data()),
          0,
          reinterpret_cast<uint64_t>(pools.bytes.data()),
          0};
      const uint32_t grid[] = {1, uint32_t(CeilDiv(CeilDiv(length, 4), 16)), 1};
      Visible visible;
      visible.Add(seqs, sizeof seqs);
      for (const Memory* m :
           std::initializer_list<const Memory*>{&k, &g, &ape, &tail, &pools}) {
        visible.Add(m->bytes.data(), m->bytes.size());
      }
      LaunchKernel(pool_f32, words, grid, 0, grid[1], visible,
                   uint32_t(position));
      position += length;
    }
    return pools.bytes;
  };
  const auto whole = pools_of({kTokens});
  EXPECT_EQ(pools_of({1}), whole);
  EXPECT_EQ(pools_of({3}), whole);
  EXPECT_EQ(pools_of({640, 2, 5}), whole);
}

// ------------------------------------------------------------- index_scores

void CheckScores(KernelCase::Entry entry, const std::vector<int64_t>& p) {
  for (Batch batch : Batches()) {
    SCOPED_TRACE(Name(batch));
    const int64_t heads = p[3], depth = p[4], columns = 110;
    // Far enough for a second tile of pools.
    if (batch.tokens == 17) batch = Batch::Ragged(3, 17, 400);
    KernelCase("index_scores", entry, p,
               {CeilDiv(columns, 64), CeilDiv(batch.rows(), 32)})
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(p[0], batch.rows() * heads * depth, 1)))
        .Tensor(batch.Poisoned(Random(p[1], batch.rows() * heads, 2)))
        .State(Cache(p[2], batch, columns, depth, 4, true), batch.slots())
        .Real(0.17f)
        .Tensor(Memory(F32, batch.rows() * columns))
        .Integer(columns)
        .Check();
  }
}

TEST(IndexScores, Nano) { CheckScores(scores_nano, scores_nano_params); }
TEST(IndexScores, ManyHeads) { CheckScores(scores_wide, scores_wide_params); }

// --------------------------------------------------------- sparse_attention

// Complete pools in no order, with absent ones between them.
std::vector<int32_t> Pools(const Batch& batch, int64_t k) {
  std::vector<int32_t> pools(batch.rows() * k, -1);
  for (int64_t t = 0; t < batch.rows(); ++t) {
    const int64_t complete = batch.Valid(t) ? batch.Context(t) / 4 : 0;
    for (int64_t j = 0; j < k; ++j) {
      const int64_t pool = complete - 1 - j;
      if (j % 5 != 3 && pool >= 0) pools[t * k + j] = int32_t(pool);
    }
  }
  return pools;
}

void CheckAttention(KernelCase::Entry entry, const std::vector<int64_t>& p,
                    float scale) {
  for (const Batch& batch : Batches()) {
    SCOPED_TRACE(Name(batch));
    const int64_t heads = p[3], width = p[4], k = p[5];
    KernelCase("sparse_attention", entry, p, {CeilDiv(heads, 16), batch.rows()})
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(p[0], batch.rows() * heads * width, 1)))
        .State(Cache(p[1], batch, 160, width, 1, true), batch.slots())
        .Ints(Pools(batch, k))
        .Real(scale)
        .Tensor(Memory(p[2], batch.rows() * heads * width))
        .Check();
  }
}

TEST(SparseAttention, OddSizes) {
  CheckAttention(attention_odd, attention_odd_params, 0.3f);
}
TEST(SparseAttention, Bf16) {
  CheckAttention(attention_bf16, attention_bf16_params, 0.0625f);
}
TEST(SparseAttention, LatentsAsReleased) {
  CheckAttention(attention_wide, attention_wide_params, 0.04f);
}
TEST(SparseAttention, HeadsOfSeveralBlocks) {
  CheckAttention(attention_many, attention_many_params, 0.06f);
}
TEST(SparseAttention, SharpScores) {
  CheckAttention(attention_odd, attention_odd_params, 10.0f);
  CheckAttention(attention_many, attention_many_params, 3.0f);
}

TEST(SparseAttention, NothingVisibleGivesZero) {
  Batch batch{1, 1, {0, 3, 1, 0}};
  KernelCase("sparse_attention", attention_odd, attention_odd_params, {1, 1})
      .Rows(batch)
      .Tensor(Random(F32, 6 * 50, 1))
      .State(Memory(BF16, 2 * 160 * 50, NAN), 2)
      .Ints(std::vector<int32_t>(16, -1))
      .Real(1.0f)
      .Tensor(Memory(F32, 6 * 50))
      .Check();
}

// ------------------------------------------- attention_parts and merge_parts

void CheckParts(KernelCase::Entry entry, const std::vector<int64_t>& p,
                float scale) {
  for (const Batch& batch : Batches()) {
    SCOPED_TRACE(Name(batch));
    const int64_t heads = p[2], width = p[3], k = p[4], parts = p[6];
    const int64_t results = batch.rows() * parts * heads;
    KernelCase("attention_parts", entry, p,
               {parts, CeilDiv(heads, 16), batch.rows()})
        .Rows(batch)
        .Tensor(batch.Poisoned(Random(p[0], batch.rows() * heads * width, 1)))
        .State(Cache(p[1], batch, 160, width, 1, true), batch.slots())
        .Ints(Pools(batch, k))
        .Real(scale)
        .Tensor(Memory(F32, results * width))
        .Tensor(Memory(F32, results * 2))
        .Check();
  }
}

TEST(AttentionParts, OddSizes) {
  CheckParts(attend_parts_odd, attend_parts_odd_params, 0.3f);
}
TEST(AttentionParts, Bf16) {
  CheckParts(attend_parts_bf16, attend_parts_bf16_params, 0.06f);
}
TEST(AttentionParts, SharpScores) {
  CheckParts(attend_parts_odd, attend_parts_odd_params, 10.0f);
  CheckParts(attend_parts_bf16, attend_parts_bf16_params, 3.0f);
}
TEST(AttentionParts, AsReleased) {
  const std::vector<int64_t>& p = attend_parts_wide_params;
  const Batch batch = Batch::Ragged(1, 3, 2500);
  std::vector<int32_t> pools;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    for (int32_t j = 0; j < 512; ++j) pools.push_back((j * 77 + 5) % 625);
  }
  const int64_t results = batch.rows() * 32 * 20;
  KernelCase("attention_parts", attend_parts_wide, p, {32, 2, batch.rows()})
      .Rows(batch)
      .Tensor(Random(BF16, batch.rows() * 20 * 512, 1))
      .State(Cache(BF16, batch, 2520, 512, 1, true), batch.slots())
      .Ints(pools)
      .Real(0.0625f)
      .Tensor(Memory(F32, results * 512))
      .Tensor(Memory(F32, results * 2))
      .Check();
}

// Parts without tokens among others, and a row that has none at all.
void CheckMerge(KernelCase::Entry entry, const std::vector<int64_t>& p) {
  const Batch batch = Batch::Ragged(2, 4, 5);
  const int64_t heads = p[1], width = p[2], parts = p[3];
  const int64_t results = batch.rows() * parts * heads;
  Memory mixed = Random(F32, results * width, 1);
  Memory stats = Random(F32, results * 2, 2, 0.5f, 9.0f);
  for (int64_t i = 0; i < results; ++i) {
    const int64_t part = i / heads % parts, row = i / heads / parts;
    if (part % 3 != 1 && row != 2) continue;
    stats.Set(2 * i, -INFINITY);
    stats.Set(2 * i + 1, 0.0f);
    for (int64_t c = 0; c < width; ++c) mixed.Set(i * width + c, 0.0f);
  }
  KernelCase("merge_parts", entry, p, {p[4], batch.rows()})
      .Rows(batch)
      .Tensor(batch.Poisoned(mixed))
      .Tensor(batch.Poisoned(stats))
      .Tensor(Memory(p[0], batch.rows() * heads * width))
      .Check();
}

TEST(MergeParts, SeveralHeadsABlock) {
  CheckMerge(merge_odd, merge_odd_params);
}
TEST(MergeParts, AsReleased) { CheckMerge(merge_bf16, merge_bf16_params); }

}  // namespace
}  // namespace glm
