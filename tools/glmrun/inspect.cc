// glmrun inspect: what a plan holds and needs. Opens no weight file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "runtime/base/status_macros.h"
#include "runtime/executor/describe.h"
#include "runtime/executor/expert_rows.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_reader.h"
#include "runtime/plan/weight_forms.h"
#include "tools/glmrun/command.h"
#include "tools/options/option_checks.h"

namespace glm::tools {
namespace {

struct Options {
  std::string plan_path;
  uint32_t slots = 1;
  bool launches = false;
};

const char* Text(const flatbuffers::String* string) {
  return string == nullptr ? "" : string->c_str();
}

void PrintModel(const plan::Plan& plan) {
  const plan::Model& model = *plan.model();
  std::printf("model        %s, %u layers, hidden %u, vocab %u, context %u\n",
              Text(model.name()), model.layers(), model.hidden(), model.vocab(),
              model.max_context());
  if (model.experts() > 0) {
    std::printf("experts      %u, %u a token\n", model.experts(),
                model.experts_per_token());
  }
  std::printf("compiled     by %s, math %s, fusion %s\n", Text(plan.producer()),
              Text(plan.math()), Text(plan.fuse()));
  if (plan.ranks() > 1) {
    std::printf(
        "ranks        %u, each on a device of its own; what follows is "
        "of one\n",
        plan.ranks());
  }
  if (const plan::Generation* generation = plan.generation()) {
    std::printf("sampling     temperature %g, top_p %g, stop ids",
                generation->temperature(), generation->top_p());
    if (generation->stop_ids() != nullptr) {
      for (const int32_t id : *generation->stop_ids()) std::printf(" %d", id);
    }
    std::printf("\n");
  }
  if (plan.code_objects() != nullptr) {
    for (const plan::CodeObject* object : *plan.code_objects()) {
      const char* isa = Text(object->isa());
      std::printf("code         %s%s%s, %s\n", Text(object->target()),
                  *isa != 0 ? " " : "", isa,
                  FormatBytes(object->segment()->size()).c_str());
    }
  }
  const plan::Segment* tokenizer = plan.tokenizer();
  std::printf("tokenizer    %s\n",
              tokenizer == nullptr || tokenizer->size() == 0
                  ? "none"
                  : FormatBytes(tokenizer->size()).c_str());
  if (plan::WeightWithoutData(plan) != nullptr) {
    std::printf(
        "weights      none: compiled with --weights none; of the "
        "commands that run plans,\n             bench --synthetic alone "
        "takes it\n");
  }
  if (plan.weight_files() != nullptr) {
    for (const plan::WeightFile* file : *plan.weight_files()) {
      std::printf("weights      %s, %s\n", Text(file->path()),
                  FormatBytes(file->size()).c_str());
    }
  }
}

// What of the experts is paged, and what steps ask for.
void PrintPaging(const plan::Plan& plan) {
  const auto rows = ExpertRowsOf(plan);
  if (!rows) return;
  const paging::TraceShape& shape = rows->shape;
  const uint64_t bytes = rows->layout.row_bytes;
  const uint64_t chosen = uint64_t{shape.layers} * shape.top_k;
  const uint64_t least = std::min<uint64_t>(
      shape.experts, uint64_t{rows->step_tokens} * shape.top_k);
  std::printf(
      "paged        %u rows of %s in %u layers, %s; a row is an expert of "
      "a layer\n",
      shape.rows(), FormatBytes(bytes).c_str(), shape.layers,
      FormatBytes(shape.rows() * bytes).c_str());
  std::printf("             a token chooses %llu, %s\n",
              static_cast<unsigned long long>(chosen),
              FormatBytes(chosen * bytes).c_str());
  std::printf("             %llu slots or more, %s, for steps of %u token%s\n",
              static_cast<unsigned long long>(least),
              FormatBytes(least * bytes).c_str(), rows->step_tokens,
              rows->step_tokens == 1 ? "" : "s");
}

void PrintEntries(const plan::Plan& plan) {
  std::printf("\n%-16s %6s %9s %10s %12s %12s %12s %10s\n", "entry", "rows",
              "launches", "operations", "weights", "memory", "arena", "GFLOP");
  for (const plan::Entry* entry : *plan.entries()) {
    const EntryInfo info = DescribeEntry(*entry);
    std::printf("%-16s %6u %9u %10u %12s %12s %12s %10.3f\n", info.name.c_str(),
                info.sequences * info.tokens, info.launches, info.operations,
                FormatBytes(info.weight_bytes).c_str(),
                FormatBytes(info.memory_bytes).c_str(),
                FormatBytes(entry->arena_bytes()).c_str(), 1e-9 * info.flops);
  }
}

// A launch of many operations: its chains, phase by phase.
void PrintGroup(const plan::Plan& plan, const plan::Entry& entry,
                const OperationRange& range) {
  std::printf("%6u %s\n", range.first,
              Text(plan.kernels()->Get(range.group->kernel())->name()));
  uint32_t next = range.first;
  for (uint32_t c = 0; c < range.group->chains()->size(); ++c) {
    const plan::Chain* chain = range.group->chains()->Get(c);
    const auto* slack = range.group->slack();
    std::printf("       phase %u", chain->phase());
    if (slack != nullptr && slack->size() > 0 && slack->Get(c) > 0) {
      std::printf(" to %u", chain->phase() + slack->Get(c));
    }
    std::printf(", %u x %u blocks\n", chain->rows(), chain->columns());
    for (uint32_t i = 0; i < chain->launches(); ++i) {
      const plan::Launch& launch = *entry.launches()->Get(next++);
      std::printf("         %-54s %s\n",
                  Text(plan.kernels()->Get(launch.kernel())->name()),
                  Text(launch.origin()));
    }
  }
}

void PrintLaunches(const plan::Plan& plan) {
  for (const plan::Entry* entry : *plan.entries()) {
    std::printf("\n%s\n", Text(entry->name()));
    for (const OperationRange& range : OperationRanges(*entry)) {
      if (range.group != nullptr) PrintGroup(plan, *entry, range);
      if (range.group != nullptr) continue;
      const plan::Launch& launch = *entry->launches()->Get(range.first);
      std::printf("%6u %-40s grid %u %u %u  %s\n", range.first,
                  Text(plan.kernels()->Get(launch.kernel())->name()),
                  launch.grid()->Get(0), launch.grid()->Get(1),
                  launch.grid()->Get(2), Text(launch.origin()));
    }
  }
}

absl::Status Inspect(const Options& options) {
  GLM_ASSIGN_OR_RETURN(const auto file, PlanFile::Open(options.plan_path));
  const plan::Plan& plan = file->plan();
  PrintModel(plan);
  PrintPaging(plan);
  PrintEntries(plan);
  std::printf("\nmemory on the host\n%s",
              PlanMemory(plan, {.slots = options.slots}).ToString().c_str());
  if (options.launches) PrintLaunches(plan);
  return absl::OkStatus();
}

}  // namespace

void AddInspect(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Show what a plan holds and how much memory it needs");
  command->footer(
      "Examples:\n"
      "  glmrun inspect model.glmplan\n"
      "  glmrun inspect model.glmplan --slots 4 --launches\n");
  command->add_option("plan", options->plan_path, "The .glmplan file")
      ->required()
      ->type_name("PLAN");
  command->add_option("--slots", options->slots, "Sequences to plan for")
      ->capture_default_str()
      ->check(WholeNumber(1, 4096));
  command->add_flag("--launches", options->launches, "List every launch");
  command->callback(
      [options, &run] { run = [options] { return Inspect(*options); }; });
}

}  // namespace glm::tools
