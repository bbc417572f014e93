// glm-check golden

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/status_macros.h"
#include "tools/device/expert_options.h"
#include "tools/device/open_runner.h"
#include "tools/glm-check/commands.h"
#include "tools/glm-check/golden_check.h"
#include "tools/options/option_checks.h"

namespace glm::check {
namespace {

struct Flags {
  std::string plan;
  std::string golden;
  std::vector<std::string> weights;
  tools::DeviceChoice device;
  ExpertOptions experts;
  GoldenBounds bounds;
  bool json = false;
  bool verbose = false;
};

void PrintText(bool verbose, const GoldenVerdict& verdict) {
  std::printf("%-12s%10s%16s%16s%14s%10s\n", "case", "tensors", "worst rel L2",
              "prefill rel L2", "step max |d|", "tokens");
  for (const CaseResult& r : verdict.cases) {
    double worst = 0;
    for (const TensorResult& t : r.tensors) worst = std::max(worst, t.rel_l2);
    std::printf("%-12s%10zu%16.3g%16.3g%14.3g%6lld/%lld\n", r.name.c_str(),
                r.tensors.size(), worst, r.prefill_rel_l2, r.step_max_abs,
                static_cast<long long>(r.tokens - r.wrong_tokens),
                static_cast<long long>(r.tokens));
    if (!verbose) continue;
    for (const TensorResult& t : r.tensors) {
      std::printf("  %-44s rel L2 %-10.3g max |d| %-10.3g at %s  wrong rows %lld\n",
                  t.name.c_str(), t.rel_l2, t.max_abs, t.worst.c_str(),
                  static_cast<long long>(t.wrong_rows));
    }
  }
  if (const TensorResult* worst = verdict.Worst()) {
    std::printf("worst tensor: %s, relative L2 %.3g, largest |d| %.3g at %s\n",
                worst->name.c_str(), worst->rel_l2, worst->max_abs,
                worst->worst.c_str());
  }
  std::printf("mean relative L2 %.3g, greedy tokens %.4g %%\n",
              verdict.mean_rel_l2, verdict.greedy_percent);
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(kShown, verdict.reasons.size()); ++i) {
    std::printf("outside the bound: %s\n", verdict.reasons[i].c_str());
  }
  if (verdict.reasons.size() > kShown) {
    std::printf("... and %zu more\n", verdict.reasons.size() - kShown);
  }
  std::printf("%s\n", verdict.pass() ? "PASS" : "FAIL");
}

void PrintJson(const GoldenVerdict& verdict) {
  nlohmann::ordered_json root;
  root["pass"] = verdict.pass();
  root["math"] = verdict.math;
  root["bound"] = verdict.bound;
  root["mean_rel_l2"] = verdict.mean_rel_l2;
  root["greedy_percent"] = verdict.greedy_percent;
  if (const TensorResult* worst = verdict.Worst()) {
    root["worst"] = {{"tensor", worst->name},
                     {"rel_l2", worst->rel_l2},
                     {"max_abs", worst->max_abs},
                     {"at", worst->worst}};
  }
  root["reasons"] = verdict.reasons;
  for (const CaseResult& r : verdict.cases) {
    nlohmann::ordered_json c = {{"name", r.name},
                                {"prefill_rel_l2", r.prefill_rel_l2},
                                {"step_max_abs", r.step_max_abs},
                                {"tokens", r.tokens},
                                {"wrong_tokens", r.wrong_tokens}};
    for (const TensorResult& t : r.tensors) {
      c["tensors"].push_back({{"name", t.name},
                              {"rel_l2", t.rel_l2},
                              {"max_abs", t.max_abs},
                              {"at", t.worst},
                              {"wrong_rows", t.wrong_rows}});
    }
    root["cases"].push_back(std::move(c));
  }
  std::printf("%s\n", root.dump(1).c_str());
}

absl::StatusOr<bool> Run(const Flags& flags) {
  GLM_ASSIGN_OR_RETURN(auto plan, PlanFile::Open(flags.plan));
  GLM_RETURN_IF_ERROR(tools::CheckExpertOptions(flags.experts, *plan));
  GLM_ASSIGN_OR_RETURN(const std::vector<GoldenCase> golden,
                       ReadGolden(flags.golden));
  GLM_ASSIGN_OR_RETURN(const tools::RankDevices devices,
                       tools::OpenDevices(flags.device, {}, *plan));
  if (devices.gpu) {
    std::fprintf(stderr, "device: %s\n", devices.Describe().c_str());
  }
  ExecutorOptions options;
  options.weights_dirs = flags.weights;
  options.experts = flags.experts;
  GLM_ASSIGN_OR_RETURN(auto runner, tools::OpenRunner(plan, devices, options));
  GLM_ASSIGN_OR_RETURN(
      const GoldenVerdict verdict,
      CheckGolden(*runner, golden, flags.golden, flags.bounds));
  if (flags.json) {
    PrintJson(verdict);
  } else {
    PrintText(flags.verbose, verdict);
  }
  return verdict.pass();
}

}  // namespace

void AddGolden(CLI::App& app, int& result) {
  auto flags = std::make_shared<Flags>();
  CLI::App* cmd = app.add_subcommand(
      "golden", "Compare a plan with the recorded tensors of a reference run");
  cmd->add_option("plan", flags->plan, "Plan file")->required();
  cmd->add_option("golden", flags->golden, "Golden .safetensors file")->required();
  cmd->add_option("--baseline", flags->bounds.baseline,
                  "bf16 plans: a golden file of the reference's own bf16 run; its mean "
                  "error becomes the bound");
  cmd->add_option("--weights", flags->weights,
                  "Folder to look for weight files in first; repeatable")
      ->allow_extra_args(false);
  tools::AddDeviceOption(*cmd, flags->device);
  tools::AddExpertOptions(*cmd, flags->experts);
  cmd->add_option("--rel-bound", flags->bounds.rel_l2,
                  "fp32 plans: relative L2 of each tensor (default 5e-5)")
      ->check(tools::NumberIn(0, 1e9));
  cmd->add_option("--step-bound", flags->bounds.step_max_abs,
                  "fp32 plans, files of greedy runs: largest difference of a step's "
                  "logits (default 1e-3)")
      ->check(tools::NumberIn(0, 1e9));
  cmd->add_flag("--mean", flags->bounds.mean,
                "Judge fp32 plans as bf16 ones: for weights that glmc quantised, "
                "which the golden file does not have");
  cmd->add_option("--mean-bound", flags->bounds.mean_rel_l2,
                  "bf16 plans without --baseline: mean relative L2 (default 0.15)")
      ->check(tools::NumberIn(0, 1e9));
  cmd->add_option("--min-greedy", flags->bounds.min_greedy,
                  "bf16 plans: percent of the greedy tokens that must agree, instead of "
                  "all in seven of eight cases")
      ->check(tools::NumberIn(0, 100));
  cmd->add_flag("--json", flags->json, "Print every tensor's result as JSON");
  cmd->add_flag("-v,--verbose", flags->verbose, "Print every tensor's result");
  cmd->footer(
      "fp32 plans: every tensor must be within its bound, router and index ids equal\n"
      "as sets, every greedy token equal. bf16 plans: the mean over cases of the\n"
      "relative L2 of the prefill logits (of the steps' logits in files of greedy\n"
      "runs) must be within the bound; --mean asks the same of fp32 plans.\n"
      "Exit code 0 within, 1 outside or error.");
  cmd->callback([flags, cmd, &result] {
    CheckValues(*cmd);
    result = ExitCode(Run(*flags));
  });
}

}  // namespace glm::check
