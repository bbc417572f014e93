//===- PlanSummary.cpp - The numbers of a plan ----------------------------===//

#include "compiler/plan/PlanSummary.h"

#include "runtime/plan/element_bytes.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/weight_forms.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace glm;
using namespace glm::planfile;

static uint64_t weightBytes(const plan::Weight &w) {
  uint64_t n = 1;
  for (uint64_t d : *w.shape())
    n *= d;
  if (w.group() == 0)
    return n * plan::ElementBytes(w.dtype());
  uint64_t k = w.shape()->Get(w.shape()->size() - 1);
  uint64_t codes = w.form() == plan::WeightForm::DENSE_INT8 ? k : (k + 7) / 8 * 4;
  return n / k * (codes + (k + w.group() - 1) / w.group() * 2);
}

/// Bytes of one expert of `w` as pieces of a row, each at the next multiple of 256.
static uint64_t pieceBytes(const plan::Weight &w, uint64_t experts) {
  uint64_t n = 1, k = w.shape()->Get(w.shape()->size() - 1);
  for (uint64_t d : *w.shape())
    n *= d;
  n /= experts;
  if (w.group() == 0)
    return llvm::alignTo(n * plan::ElementBytes(w.dtype()), 256);
  return llvm::alignTo(n / k * ((k + 7) / 8 * 4), 256) +
         llvm::alignTo(n / k * ((k + w.group() - 1) / w.group() * 2), 256);
}

static std::optional<PagedSummary> summarisePaged(const plan::Plan &plan) {
  const auto *layers = plan.expert_rows();
  if (!layers || layers->size() == 0)
    return std::nullopt;
  const uint64_t experts = plan.model()->experts();
  const uint64_t topK = plan.model()->experts_per_token();
  PagedSummary s;
  s.layers = layers->size();
  s.rows = s.layers * experts;
  s.rowsPerToken = s.layers * topK;
  for (uint32_t w : *layers->Get(0)->weights())
    s.rowBytes += pieceBytes(*plan.weights()->Get(w), experts);
  s.rowBytes = llvm::alignTo(s.rowBytes, 4096);
  for (const plan::Entry *entry : *plan.entries())
    s.stepTokens =
        std::max(s.stepTokens, uint64_t(entry->sequences()) * entry->tokens());
  s.leastSlots = std::min(experts, s.stepTokens * topK);
  return s;
}

std::string planfile::grouped(uint64_t n) {
  std::string digits = std::to_string(n), out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % 3 == 0)
      out += ',';
    out += digits[i];
  }
  return out;
}

const EntrySummary *PlanSummary::decode() const {
  for (const EntrySummary &e : entries)
    if (llvm::StringRef(e.name) == "decode_b1")
      return &e;
  return nullptr;
}

static EntrySummary summariseEntry(const plan::Plan &plan, const plan::Entry &entry) {
  EntrySummary s;
  s.name = entry.name()->str();
  s.arenaBytes = entry.arena_bytes();
  llvm::MapVector<llvm::StringRef, KernelRow> rows;
  for (const plan::Launch *launch : *entry.launches()) {
    const plan::Kernel *kernel = plan.kernels()->Get(launch->kernel());
    KernelRow &row = rows[kernel->op()->c_str()];
    row.op = kernel->op()->str();
    ++row.launches, ++s.operations;
    row.weightBytes += launch->weight_bytes();
    row.memoryBytes += launch->memory_bytes();
    row.flops += launch->flops();
  }
  s.launches = s.operations;
  if (entry.groups())
    for (const plan::Group *group : *entry.groups()) {
      for (const plan::Chain *chain : *group->chains())
        s.launches -= chain->launches();
      ++s.launches;
    }
  for (auto &[op, row] : rows) {
    s.weightBytes += row.weightBytes;
    s.memoryBytes += row.memoryBytes;
    s.flops += row.flops;
    s.ops.push_back(row);
  }
  llvm::sort(s.ops, [](const KernelRow &a, const KernelRow &b) {
    uint64_t left = a.weightBytes + a.memoryBytes;
    uint64_t right = b.weightBytes + b.memoryBytes;
    return left != right ? left > right : a.op < b.op;
  });
  return s;
}

/// The tables of a vector; an empty one may be absent from a plan.
template <typename T>
static llvm::SmallVector<const T *>
tables(const flatbuffers::Vector<flatbuffers::Offset<T>> *vector) {
  if (!vector)
    return {};
  return llvm::SmallVector<const T *>(vector->begin(), vector->end());
}

PlanSummary planfile::summarise(const plan::Plan &plan) {
  PlanSummary s;
  s.math = plan.math()->str();
  s.fuse = plan.fuse()->str();
  s.maxContext = plan.model()->max_context();
  s.ranks = plan.ranks();
  s.hasWeights = plan::WeightWithoutData(plan) == nullptr;
  for (const plan::Weight *w : tables(plan.weights())) {
    s.weightTotal += weightBytes(*w);
    s.expertTotal += plan::IsExperts(w->form()) ? weightBytes(*w) : 0;
  }
  s.paged = summarisePaged(plan);
  for (const plan::State *state : tables(plan.states())) {
    uint64_t n = plan::ElementBytes(state->dtype());
    for (uint64_t d : *state->shape())
      n *= d;
    if (state->tokens_per_row() == 0)
      s.stateBytesPerSequence += n;
    else
      s.stateBytesPerToken +=
          double(n) / state->shape()->Get(0) / state->tokens_per_row();
  }
  for (const plan::Entry *entry : *plan.entries())
    s.entries.push_back(summariseEntry(plan, *entry));
  return s;
}

static llvm::json::Object entryJson(const EntrySummary &e) {
  llvm::json::Array ops;
  for (const KernelRow &row : e.ops)
    ops.push_back(llvm::json::Object{{"op", row.op},
                                     {"launches", row.launches},
                                     {"weight_bytes", row.weightBytes},
                                     {"memory_bytes", row.memoryBytes},
                                     {"flops", row.flops}});
  return llvm::json::Object{{"name", e.name},
                            {"launches", e.launches},
                            {"operations", e.operations},
                            {"weight_bytes", e.weightBytes},
                            {"memory_bytes", e.memoryBytes},
                            {"flops", e.flops},
                            {"arena_bytes", e.arenaBytes},
                            {"ops", std::move(ops)}};
}

llvm::json::Object planfile::toJson(const PlanSummary &s) {
  llvm::json::Array entries;
  for (const EntrySummary &e : s.entries)
    entries.push_back(entryJson(e));
  llvm::json::Value paged = nullptr;
  if (s.paged)
    paged = llvm::json::Object{{"layers", s.paged->layers},
                               {"rows", s.paged->rows},
                               {"row_bytes", s.paged->rowBytes},
                               {"bytes", s.paged->rows * s.paged->rowBytes},
                               {"rows_per_token", s.paged->rowsPerToken},
                               {"bytes_per_token",
                                s.paged->rowsPerToken * s.paged->rowBytes},
                               {"least_slots", s.paged->leastSlots}};
  const EntrySummary *decode = s.decode();
  return llvm::json::Object{
      {"launches", decode ? decode->launches : 0},
      {"weight_bytes", decode ? decode->weightBytes : 0},
      {"state_bytes_per_sequence", s.stateBytesPerSequence},
      {"state_bytes_per_token", s.stateBytesPerToken},
      {"weight_bytes_total", s.weightTotal},
      {"weight_bytes_experts", s.expertTotal},
      {"paged_experts", std::move(paged)},
      {"has_weights", s.hasWeights},
      {"max_context", s.maxContext},
      {"ranks", s.ranks},
      {"math", s.math},
      {"fuse", s.fuse},
      {"entries", std::move(entries)}};
}

std::string planfile::toText(const PlanSummary &s) {
  std::string out;
  llvm::raw_string_ostream os(out);
  os << "math " << s.math << ", fuse " << s.fuse << ", context up to "
     << grouped(s.maxContext) << " tokens\n";
  if (s.ranks > 1)
    os << "for " << s.ranks << " ranks; of each of them:\n";
  if (const EntrySummary *d = s.decode())
    os << "one decoded token: " << grouped(d->launches) << " launches, "
       << grouped(d->weightBytes) << " B of weights ("
       << llvm::formatv("{0:f2}", d->weightBytes / 1e9) << " GB)\n";
  os << "weights " << grouped(s.weightTotal) << " B; state "
     << grouped(s.stateBytesPerSequence) << " B a sequence + "
     << llvm::formatv("{0:f0}", s.stateBytesPerToken) << " B a token\n";
  if (const auto &p = s.paged)
    os << "paged experts: " << grouped(p->rows) << " rows of " << grouped(p->rowBytes)
       << " B in " << p->layers << " layers, " << grouped(p->rows * p->rowBytes)
       << " B; a token chooses " << grouped(p->rowsPerToken) << ", "
       << grouped(p->rowsPerToken * p->rowBytes) << " B; " << grouped(p->leastSlots)
       << " slots or more (steps of " << grouped(p->stepTokens) << " tokens), "
       << grouped(p->leastSlots * p->rowBytes) << " B\n";
  if (!s.hasWeights)
    os << "without weights: glmrun inspect, glmrun bench --synthetic and glmc explain take "
          "it\n";
  return out;
}
