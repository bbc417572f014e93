// The toy plan with experts that are paged: two layers of eight, two weights
// each, of which a token with id x chooses (x + layer) and (x + layer + 3)
// modulo 8. Its kernels are toy_page and toy_paged_logits of toy_kernels.c.
#ifndef GLM_RUNTIME_PLAN_TEST_PAGED_PLAN_H_
#define GLM_RUNTIME_PLAN_TEST_PAGED_PLAN_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/plan/test_plan.h"

namespace glm::plan {

inline constexpr uint32_t kPagedLayers = 2;
inline constexpr uint32_t kPagedRows = kPagedLayers * kToyVocab;
inline constexpr uint64_t kPagedSmall = 4, kPagedLarge = 4800;  // bytes
inline constexpr uint64_t kPagedRowBytes = 8192;  // 256 + 4800, rounded up

// The only element of an expert's first weight; the last one of its second.
inline float PagedSmall(uint32_t layer, uint32_t e) {
  return 100.0f * static_cast<float>(layer + 1) + static_cast<float>(e);
}
inline float PagedLarge(uint32_t layer, uint32_t e) {
  return 10000.0f * static_cast<float>(layer + 1) +
         1000.0f * static_cast<float>(e);
}

// Where the two pieces of a row lie in its file: as in a slot, from 4096 on, or
// all small ones before all large ones.
inline uint64_t PagedOffset(bool packed, uint32_t row, uint32_t piece) {
  if (packed) return 4096 + row * kPagedRowBytes + piece * 256;
  return piece == 0 ? 36 + row * kPagedSmall : 100 + row * kPagedLarge;
}

inline std::string PagedWeightBytes(bool packed) {
  std::string bytes(PagedOffset(packed, kPagedRows - 1, 1) + kPagedLarge, 0);
  const auto put = [&](uint64_t at, float value) {
    std::memcpy(bytes.data() + at, &value, 4);
  };
  for (uint32_t v = 0; v < kToyVocab; ++v) {
    put(4 * v, static_cast<float>(v));
  }
  for (uint32_t row = 0; row < kPagedRows; ++row) {
    const uint32_t layer = row / kToyVocab, e = row % kToyVocab;
    put(PagedOffset(packed, row, 0), PagedSmall(layer, e));
    const uint64_t large = PagedOffset(packed, row, 1);
    for (uint32_t i = 0; i < kPagedLarge / 4; ++i) {
      put(large + 4 * i,
          PagedLarge(layer, e) + static_cast<float>((i + 1) % 1200));
    }
  }
  return bytes;
}

// `file` holds PagedWeightBytes(packed).
inline PlanT MakePagedToyPlan(bool packed, const std::string& file) {
  PlanT plan = MakeToyPlan(file);
  plan.model->layers = kPagedLayers;
  plan.model->experts = kToyVocab;
  plan.model->experts_per_token = 2;
  plan.weight_files[0]->size = PagedWeightBytes(packed).size();
  plan.weights.resize(1);  // the table
  for (uint32_t layer = 0; layer < kPagedLayers; ++layer) {
    ExpertRowsT& rows = Add(plan.expert_rows);
    for (uint32_t piece = 0; piece < 2; ++piece) {
      rows.weights.push_back(static_cast<uint32_t>(plan.weights.size()));
      WeightT& weight = Add(plan.weights);
      weight.name =
          "layer" + std::to_string(layer) + (piece ? ".large" : ".small");
      weight.form = WeightForm::EXPERTS_DENSE;
      weight.dtype = DType::F32;
      weight.shape = {kToyVocab, 1, 1};
      if (piece == 1) weight.shape = {kToyVocab, 3, 400};
      for (uint32_t e = 0; e < kToyVocab; ++e) {
        weight.pieces.push_back(
            Piece(PagedOffset(packed, layer * kToyVocab + e, piece),
                  piece == 0 ? kPagedSmall : kPagedLarge, 0));
      }
    }
  }
  plan.kernels[1]->name = "toy_paged_logits";
  plan.kernels[1]->op = "toy_paged_logits";
  KernelT& page = Add(plan.kernels);
  page.name = "toy_page";
  page.op = "toy_page";
  page.threads = 1;
  for (auto& entry : plan.entries) {
    const Arg pager(0, 0, ArgKind::PAGER);
    const Arg ids(0, entry->ids, ArgKind::BUFFER);
    const Arg values(0, static_cast<uint32_t>(entry->buffers.size()),
                     ArgKind::BUFFER);
    BufferT& buffer = Add(entry->buffers);
    buffer.name = "values";
    buffer.dtype = DType::F32;
    buffer.shape = {kPagedLayers, entry->tokens, 2};
    buffer.offset = entry->arena_bytes;
    buffer.size = uint64_t{kPagedLayers} * entry->tokens * 2 * 4;
    entry->arena_bytes += 256;
    for (uint32_t layer = 0; layer < kPagedLayers; ++layer) {
      auto launch = std::make_unique<LaunchT>();
      launch->kernel = 2;
      launch->grid = {1, 1, 1};
      const auto& leading = entry->launches[0]->args;
      launch->args = {leading[0],
                      leading[1],
                      leading[2],
                      pager,
                      Arg(layer, 0, ArgKind::SCALAR),
                      ids,
                      values};
      entry->launches.insert(entry->launches.end() - 1, std::move(launch));
    }
    LaunchT& logits = *entry->launches.back();
    // seqs, N, T, sums, rows, table, pager, ids, values, logits
    logits.args[6] = pager;
    logits.args.insert(logits.args.begin() + 7, {ids, values});
    for (auto& alive : entry->buffers) alive->last = 3;
  }
  return plan;
}

}  // namespace glm::plan

#endif  // GLM_RUNTIME_PLAN_TEST_PAGED_PLAN_H_
