#include "runtime/executor/memory_plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/executor/token_sampler.h"
#include "runtime/executor/weight_layout.h"
#include "runtime/plan/plan_format.h"
#include "runtime/plan/plan_generated.h"

namespace glm {
namespace {

std::string Line(const char* name, uint64_t bytes, const std::string& note) {
  std::array<char, 160> line;
  std::snprintf(line.data(), line.size(), "  %-16s %12s%s%s\n", name,
                FormatBytes(bytes).c_str(), note.empty() ? "" : "  ",
                note.c_str());
  return line.data();
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s",
                value, kUnits[unit]);
  return text.data();
}

std::string MemoryPlan::ToString() const {
  std::string text;
  if (weights_mapped > 0) {
    text += Line("weights", weights_mapped, "used in place, from their files");
  }
  if (weights_copied > 0) text += Line("weights copied", weights_copied, "");
  if (tables > 0) text += Line("address tables", tables, "");
  text += Line("activations", arena, "");
  text +=
      Line("state", states,
           absl::StrCat(slots, slots == 1 ? " sequence of " : " sequences of ",
                        FormatBytes(state_per_slot), ", ", state_per_token,
                        " B a token of it"));
  if (sampling > 0) text += Line("sampling", sampling, "");
  if (staging > 0) text += Line("staging", staging, "");
  if (experts) text += experts->ToString();
  text += Line("committed", Committed(), "");
  return text;
}

MemoryPlan PlanMemory(const plan::Plan& plan, const PlacementOptions& options) {
  MemoryPlan memory;
  memory.slots = options.slots;
  const std::vector<bool> paged = PagedWeights(plan);
  if (const auto* weights = plan.weights()) {
    for (uint32_t w = 0; w < weights->size(); ++w) {
      const WeightLayout layout = LayOut(
          *weights->Get(w),
          {options.map_weights, options.synthetic, options.rank}, paged[w]);
      memory.weights_mapped += layout.mapped_bytes;
      memory.weights_copied += layout.copied_bytes;
      memory.tables += layout.table_bytes;
    }
  }
  for (const plan::Entry* entry : *plan.entries()) {
    memory.arena = std::max(memory.arena, entry->arena_bytes());
    memory.groups |= entry->groups() != nullptr && entry->groups()->size() > 0;
    if (!options.staging) continue;
    uint64_t staging = 0;
    for (const uint32_t buffer :
         {entry->ids(), entry->seqs(), entry->rows(), entry->logits()}) {
      staging += AlignCopy(entry->buffers()->Get(buffer)->size());
    }
    memory.staging = std::max(memory.staging, staging);
  }
  if (memory.groups) memory.arena += kCounterBytes;
  if (const auto* states = plan.states()) {
    for (const plan::State* state : *states) {
      memory.state_per_slot += state->bytes_per_slot();
      if (state->tokens_per_row() > 0) {
        memory.state_per_token +=
            state->bytes_per_slot() /
            std::max<uint64_t>(1, state->shape()->Get(0)) /
            state->tokens_per_row();
      }
    }
  }
  memory.states = memory.state_per_slot * options.slots;
  if (const auto sampler = SamplerLayout::Of(plan)) {
    memory.sampling =
        sampler->DeviceBytes(options.slots) + sampler->PinnedBytes();
  }
  return memory;
}

absl::Status CheckMemoryLimit(const MemoryPlan& memory, uint64_t limit,
                              const std::string& plan_path) {
  if (memory.Committed() <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      plan_path, ": needs ", FormatBytes(memory.Committed()), " of memory, ",
      FormatBytes(limit), " are available\n", memory.ToString(),
      !memory.experts ? ""
      : memory.experts->unified
          ? "give experts fewer slots with --expert-slots, their rows less "
            "with "
            "--host-memory, "
          : "give experts fewer slots with --expert-slots, ",
      "compile with a smaller --max-context, run fewer sequences, or raise "
      "--memory-limit"));
}

}  // namespace glm
