// Speed of the products and the delta rule on one core. GB/s counts weights
// (for the delta rule: state) once a call; nothing is asserted.

#include <cstdint>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"
#include "glm/delta_rule.h"
#include "glm/delta_rule_chunk.h"
#include "glm/expert_linear.h"
#include "glm/linear.h"
#include "glm/top_k.h"

namespace {

using glm::kernel::CeilDiv;

GLM_KERNEL(linear, 256, 6, glm::kernel::Linear<0, 1, 0, 2048, 1024>)
GLM_KERNEL(linear_tile, 256, 6, glm::kernel::LinearTile<0, 1, 0, 2048, 1024>)
GLM_KERNEL(experts, 256, 7,
           glm::kernel::ExpertLinear<0, 2, 1, 0, 8, 8, 1024, 1024, 128, 0>)
GLM_KERNEL(experts_tile, 256, 7,
           glm::kernel::ExpertLinearTile<0, 2, 1, 0, 8, 8, 1024, 1024, 128, 0>)
GLM_KERNEL(delta, 256, 12, glm::kernel::DeltaRule<0, 0, 64, 128, 128>)
GLM_KERNEL(delta_chunk, 256, 12,
           glm::kernel::DeltaRuleChunk<0, 0, 64, 128, 128>)
GLM_KERNEL(top_pools, 256, 6, glm::kernel::TopK<512, 0>)
GLM_KERNEL(top_experts, 256, 6, glm::kernel::TopK<8, 0>)

using Entry = void (*)(const uint64_t*, const uint32_t*, uint64_t, uint64_t);

uint64_t Word(const void* p) { return reinterpret_cast<uint64_t>(p); }

std::vector<float> Random(size_t count) {
  std::vector<float> values(count);
  std::minstd_rand random(1);
  for (float& v : values) v = float(random()) * 0x1p-31f - 0.5f;
  return values;
}

void Time(benchmark::State& state, Entry entry,
          const std::vector<uint64_t>& words, std::vector<uint32_t> grid,
          double bytes, double flops) {
  grid.resize(3, 1);
  for (auto _ : state) {
    entry(words.data(), grid.data(), 0, uint64_t{grid[0]} * grid[1] * grid[2]);
    benchmark::ClobberMemory();
  }
  using benchmark::Counter;
  const auto rate = Counter::kIsIterationInvariantRate;
  state.counters["GB/s"] = Counter(bytes * 1e-9, rate);
  state.counters["GFLOP/s"] = Counter(flops * 1e-9, rate);
}

void Linear(benchmark::State& state, Entry entry, bool tile) {
  const uint64_t rows = state.range(0);
  constexpr uint32_t kOutputs = 2048, kColumns = 1024;
  const auto x = Random(rows * kColumns);
  const std::vector<uint16_t> w(kOutputs * kColumns, 0x3e80);
  std::vector<float> y(rows * kOutputs);
  Time(state, entry,
       {0, rows, rows, Word(x.data()), Word(w.data()), Word(y.data())},
       tile ? std::vector<uint32_t>{uint32_t(CeilDiv(rows, 128)),
                                    kOutputs / 128}
            : std::vector<uint32_t>{kOutputs / 32},
       2.0 * kOutputs * kColumns, 2.0 * rows * kOutputs * kColumns);
}
BENCHMARK_CAPTURE(Linear, gemv, linear, false)->Arg(1)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK_CAPTURE(Linear, tile, linear_tile, true)
    ->Arg(9)
    ->Arg(32)
    ->Arg(128)
    ->Arg(256);

void Experts(benchmark::State& state, Entry entry, bool tile) {
  const uint64_t rows = state.range(0);
  constexpr uint32_t kSize = 1024, kExperts = 8, kTopK = 8;
  const auto x = Random(rows * kSize);
  const std::vector<uint32_t> codes(kExperts * kSize / 8 * kSize, 0x7a3c51e9);
  const std::vector<uint16_t> scales(kSize / 128 * kSize, 0x2c00);
  std::vector<uint64_t> table;
  for (uint32_t e = 0; e < kExperts; ++e) {
    table.push_back(Word(codes.data() + e * kSize / 8 * kSize));
    table.push_back(Word(scales.data()));
  }
  std::vector<int32_t> ids(rows * kTopK);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(i % kExperts);
  std::vector<float> y(rows * kTopK * kSize);
  Time(state, entry,
       {0, rows, rows, Word(x.data()), Word(ids.data()), Word(table.data()),
        Word(y.data())},
       {kSize / (tile ? 128 : 64),
        tile ? kExperts : uint32_t(rows * kTopK)},
       0.5 * kExperts * kSize * kSize, 2.0 * rows * kTopK * kSize * kSize);
}
BENCHMARK_CAPTURE(Experts, gemv, experts, false)->Arg(1);
BENCHMARK_CAPTURE(Experts, tile, experts_tile, true)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->Arg(64)
    ->Arg(128);

void Delta(benchmark::State& state, Entry entry, uint32_t blocks) {
  const uint64_t rows = state.range(0);
  constexpr uint32_t kHeads = 64, kDim = 128;
  auto q = Random(rows * kHeads * kDim);
  for (float& v : q) v *= 0.25f;  // keys of length 1, about
  std::vector<float> g(q.size(), -0.1f), beta(rows * kHeads, 0.5f);
  std::vector<float> memory(kHeads * kDim * kDim), o(q.size());
  const int32_t seqs[] = {0, 1, int32_t(rows), 0};
  Time(state, entry,
       {Word(seqs), rows, rows, 1, Word(q.data()), Word(q.data()),
        Word(q.data()), Word(g.data()), Word(beta.data()), Word(memory.data()),
        memory.size() * 4, Word(o.data())},
       {kHeads * blocks, 1}, 8.0 * memory.size(), 7.0 * rows * memory.size());
}
BENCHMARK_CAPTURE(Delta, tokens, delta, 1)->Arg(1)->Arg(32)->Arg(256);
BENCHMARK_CAPTURE(Delta, chunks, delta_chunk, 2)->Arg(32)->Arg(256);

void TopK(benchmark::State& state, Entry entry, uint64_t k) {
  const uint64_t columns = state.range(0);
  const auto scores = Random(columns);
  std::vector<int32_t> ids(k);
  Time(state, entry, {0, 1, 1, Word(scores.data()), columns, Word(ids.data())},
       {1}, 4.0 * columns, 0.0);
}
BENCHMARK_CAPTURE(TopK, experts, top_experts, 8)->Arg(288);
BENCHMARK_CAPTURE(TopK, pools, top_pools, 512)->Arg(1024)->Arg(32768);

}  // namespace

BENCHMARK_MAIN();
