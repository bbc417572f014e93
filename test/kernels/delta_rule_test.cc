// The delta rule, token by token and in chunks, against its definition.

#include "glm/delta_rule.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "glm/delta_rule_chunk.h"
#include "gtest/gtest.h"
#include "test/kernels/kernel_case.h"

namespace glm {
namespace {

using kernel::BF16;
using kernel::CeilDiv;
using kernel::F32;

#include "test/kernels/delta_rule_kernels.inc"

struct Variant {
  KernelCase::Entry entry;
  std::vector<int64_t> params;
  bool chunked;
};

// Values between two bounds, or all the same.
struct Range {
  float low;
  float high;

  Memory Fill(int dtype, int64_t count, uint32_t seed) const {
    return low == high ? Memory(dtype, count, low)
                       : Random(dtype, count, seed, low, high);
  }
};

constexpr Range kSomeBeta = {0.0f, 1.0f};

void CheckDelta(const Variant& variant, const Batch& batch, Range gate,
                Range beta = kSomeBeta) {
  SCOPED_TRACE(std::to_string(batch.sequences) + " x " +
               std::to_string(batch.tokens) + " at " +
               std::to_string(batch.table[1]) + ", gate " +
               std::to_string(gate.low) + ", beta " + std::to_string(beta.low));
  const std::vector<int64_t>& p = variant.params;
  const int64_t heads = p[2], depth = p[3], width = p[4];
  const int64_t rows = batch.rows() * heads;
  const int64_t state_size = batch.slots() * heads * depth * width;
  const float unit = 1.0f / std::sqrt(float(depth));
  KernelCase(
      "delta_rule", variant.entry, p,
      {heads * (variant.chunked ? CeilDiv(width, 64) : 1), batch.sequences})
      .Rows(batch)
      .Integer(batch.sequences)
      .Tensor(batch.Poisoned(Random(p[0], rows * depth, 1, -unit, unit)))
      .Tensor(batch.Poisoned(Random(p[0], rows * depth, 2, -unit, unit)))
      .Tensor(batch.Poisoned(Random(p[0], rows * width, 3)))
      .Tensor(batch.Poisoned(gate.Fill(F32, rows * depth, 4)))
      .Tensor(batch.Poisoned(beta.Fill(F32, rows, 5)))
      .State(batch.table[1] == 0 ? Memory(F32, state_size, NAN)
                                 : Random(F32, state_size, 6),
             batch.slots())
      .Tensor(Memory(p[1], rows * width))
      .Check();
}

// At position 0 and later, one token and many, ragged; lengths of 0, of whole
// chunks, and one to either side.
std::vector<Batch> Batches() {
  return {Batch::Ragged(1, 1),      Batch::Ragged(1, 1, 6),
          Batch::Ragged(3, 1, 3),   Batch::Ragged(3, 8),
          Batch::Ragged(2, 17, 11), Batch::Ragged(2, 32),
          Batch::Ragged(3, 34, 7),  Batch::Ragged(1, 130, 5)};
}

void CheckBatches(const Variant& variant, Range gate) {
  for (const Batch& batch : Batches()) CheckDelta(variant, batch, gate);
}

TEST(DeltaRule, OddSizes) {
  CheckBatches({delta_odd, delta_odd_params, false}, {-0.5f, 0.0f});
}
TEST(DeltaRule, HeadsAsReleased) {
  CheckBatches({delta_wide, delta_wide_params, false}, {-1.0f, 0.0f});
}
TEST(DeltaRule, Bf16) {
  CheckBatches({delta_bf16, delta_bf16_params, false}, {-5.0f, 0.0f});
}

TEST(DeltaRuleChunk, Tiny) {
  CheckBatches({chunk_tiny, chunk_tiny_params, true}, {-0.1f, 0.0f});
}
TEST(DeltaRuleChunk, OddSizes) {
  CheckBatches({chunk_odd, chunk_odd_params, true}, {-0.5f, 0.0f});
}
TEST(DeltaRuleChunk, HeadsAsReleased) {
  CheckBatches({chunk_wide, chunk_wide_params, true}, {-1.0f, 0.0f});
}
TEST(DeltaRuleChunk, Bf16) {
  CheckBatches({chunk_bf16, chunk_bf16_params, true}, {-5.0f, 0.0f});
}

// Nothing decays, all decays at the lowest gate of a model, to less than the
// least float, and at once; nothing is learned, and all.
TEST(DeltaRuleChunk, ExtremeGatesAndBetas) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Variant variants[] = {{chunk_odd, chunk_odd_params, true},
                              {chunk_bf16, chunk_bf16_params, true}};
  for (const Variant& variant : variants) {
    for (const Batch& batch : {Batch::Ragged(2, 40), Batch::Ragged(1, 50, 3)}) {
      for (float gate : {0.0f, -5.0f, -30.0f, -200.0f, -kInfinity}) {
        CheckDelta(variant, batch, {gate, gate});
      }
      for (float beta : {0.0f, 1.0f}) {
        CheckDelta(variant, batch, {-5.0f, 0.0f}, {beta, beta});
      }
      CheckDelta(variant, batch, {0.0f, 0.0f}, {1.0f, 1.0f});
    }
  }
}

}  // namespace
}  // namespace glm
