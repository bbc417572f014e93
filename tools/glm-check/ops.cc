// glm-check ops

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_generated.h"
#include "tools/device/expert_options.h"
#include "tools/device/open_runner.h"
#include "tools/glm-check/commands.h"
#include "tools/glm-check/launch_check.h"
#include "tools/options/option_checks.h"

namespace glm::check {
namespace {

struct Flags {
  std::string plan;
  std::vector<std::string> weights;
  tools::DeviceChoice device;
  tools::RankChoice rank;
  ExpertOptions experts;
  int64_t steps = 2;
  uint64_t seed = 1;
  std::optional<uint64_t> synthetic;  // seed
  uint32_t synthetic_experts = 0;
  bool verbose = false;
};

// The worst launch of an op.
struct OpRow {
  int64_t launches = 0;
  int64_t elements = 0;
  LaunchResult worst;
};

// The inputs of one step on random tokens. Sequences stand at different
// positions; in the last step they are shorter, and every second takes no part,
// so that rows that are not valid are met too.
struct Step {
  std::vector<int32_t> ids;
  std::vector<int32_t> rows;
  std::vector<SequenceStep> sequences;
};

Step MakeStep(const EntryInfo& info, const ModelInfo& model, bool last,
              std::vector<uint32_t>& positions, std::mt19937_64& random) {
  Step step;
  step.ids.assign(info.sequences * info.tokens, 0);
  step.rows.assign(info.logit_rows, -1);
  for (uint32_t s = 0; s < info.sequences; ++s) {
    uint32_t length = info.tokens;
    if (last) length = s % 2 == 1 ? 0 : (length + 1) * 2 / 3;
    length = std::min(length, model.max_context - positions[s]);
    for (uint32_t i = 0; i < length; ++i) {
      step.ids[s * info.tokens + i] = random() % model.vocab;
    }
    if (length > 0 && s < info.logit_rows) {
      step.rows[s] = s * info.tokens + length - 1;
    }
    step.sequences.push_back({s, positions[s], length});
    positions[s] += length;
  }
  return step;
}

void Note(const EntryInfo& info, int64_t step, const LaunchResult& result,
          bool verbose, std::map<std::string, OpRow>& ops) {
  if (verbose || result.share > 1) {
    std::printf("%s step %lld operation %u %s (%s): %.3g of the bound, %s\n",
                info.name.c_str(), static_cast<long long>(step), result.launch,
                result.origin.c_str(), result.kernel.c_str(), result.share,
                result.where.empty() ? "equal" : result.where.c_str());
  }
  OpRow& row = ops[result.op];
  ++row.launches;
  row.elements += result.elements;
  if (row.launches == 1 || result.share > row.worst.share) row.worst = result;
}

absl::Status CheckEntry(Executor& executor, uint32_t entry, const Flags& flags,
                        std::map<std::string, OpRow>& ops) {
  const EntryInfo& info = executor.entries()[entry];
  std::mt19937_64 random(flags.seed);
  LaunchCheck check(executor, entry);
  std::vector<uint32_t> positions;
  for (uint32_t s = 0; s < info.sequences; ++s) {
    positions.push_back(s * 3 % executor.model().max_context);
  }
  for (int64_t number = 0; number < flags.steps; ++number) {
    const Step step = MakeStep(info, executor.model(), number + 1 == flags.steps,
                               positions, random);
    if (step.rows[0] < 0) break;  // the context is full
    // The observer runs after a launch: the states of the next are copied then.
    uint32_t launch = 0;
    GLM_RETURN_IF_ERROR(check.Prepare(launch));
    GLM_RETURN_IF_ERROR(executor.StepObserved(
        entry, {step.ids, step.sequences, step.rows},
        [&](const OperationRange&) -> absl::Status {
          GLM_ASSIGN_OR_RETURN(const std::vector<LaunchResult> results,
                               check.Check());
          for (const LaunchResult& result : results) {
            Note(info, number, result, flags.verbose, ops);
          }
          if (++launch < check.launches()) return check.Prepare(launch);
          return absl::OkStatus();
        }));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Run(const Flags& flags) {
  GLM_ASSIGN_OR_RETURN(auto plan, PlanFile::Open(flags.plan));
  GLM_RETURN_IF_ERROR(tools::CheckExpertOptions(flags.experts, *plan));
  // Of several ranks one runs alone: its launches are what is checked.
  tools::RankChoice rank = flags.rank;
  if (rank.ranks == 0 && plan->plan().ranks() > 1) {
    rank.ranks = plan->plan().ranks();
  }
  GLM_ASSIGN_OR_RETURN(const tools::RankDevices devices,
                       tools::OpenDevices(flags.device, rank, *plan));
  if (devices.gpu || devices.simulated != nullptr) {
    std::fprintf(stderr, "device: %s\n", devices.Describe().c_str());
  }
  ExecutorOptions options;
  options.collective = devices.simulated.get();
  options.weights_dirs = flags.weights;
  options.experts = flags.experts;
  if (flags.synthetic) {
    options.synthetic = {*flags.synthetic, flags.synthetic_experts};
  }
  for (const plan::Entry* entry : *plan->plan().entries()) {
    options.slots = std::max(options.slots, entry->sequences());
  }
  GLM_ASSIGN_OR_RETURN(auto executor,
                       Executor::Create(plan, devices.first(), options));
  std::map<std::string, OpRow> ops;
  for (uint32_t entry = 0; entry < executor->entries().size(); ++entry) {
    GLM_RETURN_IF_ERROR(CheckEntry(*executor, entry, flags, ops));
  }
  bool pass = true;
  std::printf("%-18s%10s%14s%16s  %s\n", "op", "launches", "elements",
              "worst / bound", "where");
  for (const auto& [op, row] : ops) {
    pass &= row.worst.share <= 1;
    std::printf("%-18s%10lld%14lld%16.3g  %s\n", op.c_str(),
                static_cast<long long>(row.launches),
                static_cast<long long>(row.elements), row.worst.share,
                row.worst.origin.c_str());
  }
  std::printf("%s\n", pass ? "PASS" : "FAIL");
  return pass;
}

}  // namespace

void AddOps(CLI::App& app, int& result) {
  auto flags = std::make_shared<Flags>();
  CLI::App* cmd = app.add_subcommand(
      "ops", "Run every launch beside its fp32 reference function");
  cmd->add_option("plan", flags->plan, "Plan file")->required();
  cmd->add_option("--weights", flags->weights,
                  "Folder to look for weight files in first; repeatable")
      ->allow_extra_args(false);
  tools::AddDeviceOption(*cmd, flags->device);
  tools::AddExpertOptions(*cmd, flags->experts);
  tools::AddSimulateRankOption(*cmd, flags->rank);
  cmd->add_option("--steps", flags->steps, "Steps of each entry (default 2)")
      ->check(tools::WholeNumber(1, 1000));
  cmd->add_option("--seed", flags->seed, "Seed of the random tokens (default 1)")
      ->check(tools::WholeNumber(0, UINT64_MAX));
  auto* synthetic =
      cmd->add_option("--synthetic", flags->synthetic,
                      "Make the weights up from this seed; for plans that were "
                      "compiled with --weights none")
          ->check(tools::WholeNumber(0, UINT64_MAX));
  cmd->add_option("--synthetic-experts", flags->synthetic_experts,
                  "Experts in memory, of each weight; the others are the same ones "
                  "again (default all)")
      ->check(tools::WholeNumber(1, 1 << 20))
      ->needs(synthetic);
  cmd->add_flag("-v,--verbose", flags->verbose, "Print every launch");
  cmd->footer(
      "Each launch gets the inputs that the plan gave it; bounds are those of\n"
      "docs/spec/numerics.md. Of a plan of several ranks the launches of one "
      "are\n"
      "checked, 0/N unless --simulate-rank says another; collectives are not.\n"
      "Exit code 0 when all are within.");
  cmd->callback([flags, cmd, &result] {
    CheckValues(*cmd);
    result = ExitCode(Run(*flags));
  });
}

}  // namespace glm::check
