// A small valid plan for tests: a "model" that adds up the ids of a sequence.
//
// Its two kernels are in runtime/device/conformance/toy_kernels.c:
//   toy_sum     sums[t] = sum of the ids up to row t (state: one F32 a slot)
//   toy_logits  logits[r][v] = sums[rows[r]] * table[v] + bias[expert v]
// Tests break one field of `MakeToyPlan` and look at what happens.
#ifndef GLM_RUNTIME_PLAN_TEST_PLAN_H_
#define GLM_RUNTIME_PLAN_TEST_PLAN_H_

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/plan/plan_format.h"
#include "runtime/plan/plan_generated.h"

namespace glm::plan {

inline constexpr uint32_t kToyVocab = 8;
inline constexpr uint32_t kToyContext = 64;

template <typename T>
T& Add(std::vector<std::unique_ptr<T>>& list) {
  return *list.emplace_back(std::make_unique<T>());
}

inline std::unique_ptr<EntryT> MakeToyEntry(const std::string& name,
                                            EntryKind kind, uint32_t tokens) {
  auto entry = std::make_unique<EntryT>();
  entry->name = name;
  entry->kind = kind;
  entry->sequences = 1;
  entry->tokens = tokens;
  entry->logit_rows = 1;
  uint64_t offset = 0;
  const auto buffer = [&](const char* label, DType dtype,
                          std::vector<uint64_t> shape) {
    uint64_t bytes = 4;
    for (const uint64_t extent : shape) bytes *= extent;
    BufferT& b = Add(entry->buffers);
    b.name = label;
    b.dtype = dtype;
    b.shape = std::move(shape);
    b.offset = offset;
    b.size = bytes;
    b.first = 0;
    b.last = 1;
    offset +=
        (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    return static_cast<uint32_t>(entry->buffers.size() - 1);
  };
  entry->ids = buffer("ids", DType::I32, {tokens});
  entry->seqs = buffer("seqs", DType::I32, {1, 4});
  entry->rows = buffer("rows", DType::I32, {1});
  const uint32_t sums = buffer("sums", DType::F32, {tokens});
  entry->logits = buffer("logits", DType::F32, {1, kToyVocab});
  entry->arena_bytes = offset;

  const auto buf = [](uint32_t i) { return Arg(0, i, ArgKind::BUFFER); };
  const auto scalar = [](uint64_t v) { return Arg(v, 0, ArgKind::SCALAR); };
  LaunchT& sum = Add(entry->launches);
  sum.kernel = 0;
  sum.grid = {1, 1, 1};
  sum.args = {buf(entry->seqs),
              scalar(tokens),
              scalar(tokens),
              buf(entry->ids),
              Arg(0, 0, ArgKind::STATE),
              scalar(256),
              buf(sums)};
  sum.memory_bytes = 8 * tokens;
  LaunchT& logits = Add(entry->launches);
  logits.kernel = 1;
  logits.grid = {kToyVocab, 1, 1};
  logits.args = {buf(entry->seqs),
                 scalar(tokens),
                 scalar(tokens),
                 buf(sums),
                 buf(entry->rows),
                 Arg(0, 0, ArgKind::WEIGHT),
                 Arg(0, 1, ArgKind::WEIGHT),
                 buf(entry->logits)};
  logits.weight_bytes = 8 * kToyVocab;
  TapT& tap = Add(entry->taps);
  tap.name = "sums";
  tap.buffer = sums;
  tap.after = 0;
  return entry;
}

// Weights in `weight_path`: F32 table [V] at `table_offset`, then V "experts"
// of one F32 each, in reverse order.
inline PlanT MakeToyPlan(const std::string& weight_path = "toy.bin",
                         uint64_t table_offset = 0) {
  PlanT plan;
  plan.producer = "test";
  plan.math = "fp32";
  plan.fuse = "off";
  plan.model = std::make_unique<ModelT>();
  plan.model->name = "toy";
  plan.model->layers = 1;
  plan.model->vocab = kToyVocab;
  plan.model->max_context = kToyContext;
  plan.generation = std::make_unique<GenerationT>();
  plan.generation->stop_ids = {7};

  WeightFileT& file = Add(plan.weight_files);
  file.path = weight_path;
  file.size = table_offset + 8 * kToyVocab;
  WeightT& table = Add(plan.weights);
  table.name = "table";
  table.dtype = DType::F32;
  table.shape = {kToyVocab};
  table.pieces = {Piece(table_offset, 4 * kToyVocab, 0)};
  WeightT& experts = Add(plan.weights);
  experts.name = "experts";
  experts.form = WeightForm::EXPERTS_DENSE;
  experts.dtype = DType::F32;
  experts.shape = {kToyVocab, 1, 1};
  for (uint64_t e = 0; e < kToyVocab; ++e) {
    experts.pieces.push_back(
        Piece(table_offset + 4 * (2 * kToyVocab - 1 - e), 4, 0));
  }

  StateT& state = Add(plan.states);
  state.name = "sum";
  state.dtype = DType::F32;
  state.shape = {1};
  state.bytes_per_slot = 256;

  KernelT& sum = Add(plan.kernels);
  sum.name = "toy_sum";
  sum.op = "toy_sum";
  sum.threads = 1;
  KernelT& logits = Add(plan.kernels);
  logits.name = "toy_logits";
  logits.op = "toy_logits";
  logits.threads = 1;

  plan.entries.push_back(MakeToyEntry("decode_b1", EntryKind::DECODE, 1));
  plan.entries.push_back(MakeToyEntry("prefill_n4", EntryKind::PREFILL, 4));
  return plan;
}

// The kernels that choose tokens, as the toy kernels have them.
inline void AddSampling(PlanT& plan) {
  for (const auto& [op, name] : {std::pair("sample_best", "SampleBest_8_1"),
                                 {"sample_weigh", "SampleWeigh_8_1"},
                                 {"sample_pick", "SamplePick_8_1"}}) {
    KernelT& kernel = Add(plan.kernels);
    kernel.name = name;
    kernel.op = op;
    kernel.threads = 1;
    kernel.params = {kToyVocab, 1};
  }
}

// The bytes of a plan file. Each code object of `plan` gets the bytes in
// `images` of the same index; the list may be empty. So gets its source.
inline std::string PlanFileBytes(PlanT& plan,
                                 const std::vector<std::string>& images = {},
                                 const std::string& source = "") {
  const auto build = [&] {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(Plan::Pack(builder, &plan), PlanIdentifier());
    return std::string(
        reinterpret_cast<const char*>(builder.GetBufferPointer()),
        builder.GetSize());
  };
  // Structs are stored whole, so the sizes do not depend on the values.
  std::vector<std::pair<Segment*, const std::string*>> segments;
  for (size_t i = 0; i < images.size(); ++i) {
    plan.code_objects[i]->segment = std::make_unique<Segment>();
    segments.emplace_back(plan.code_objects[i]->segment.get(), &images[i]);
  }
  if (!source.empty()) {
    plan.source = std::make_unique<Segment>();
    segments.emplace_back(plan.source.get(), &source);
  }
  uint64_t offset = AlignSegment(kFlatbufferOffset + build().size());
  for (const auto& [segment, text] : segments) {
    *segment =
        Segment(offset, text->size(), XXH3_64bits(text->data(), text->size()));
    offset = AlignSegment(offset + text->size());
  }
  const std::string buffer = build();
  std::string bytes(kFlatbufferOffset, '\0');
  bytes += buffer;
  for (const auto& [segment, text] : segments) {
    bytes.resize(segment->offset());
    bytes += *text;
  }
  const FileHeader header = MakeFileHeader(
      buffer.size(), bytes.size(), XXH3_64bits(buffer.data(), buffer.size()),
      FileVersion(!plan.expert_rows.empty()));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace glm::plan

#endif  // GLM_RUNTIME_PLAN_TEST_PLAN_H_
