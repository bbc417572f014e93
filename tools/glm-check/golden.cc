// glm-check golden

#include <algorithm>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_generated.h"
#include "tools/device/device_choice.h"
#include "tools/glm-check/commands.h"
#include "tools/glm-check/comparison.h"

namespace glm::check {
namespace {

struct Flags {
  std::string plan;
  std::string golden;
  std::string baseline;
  std::vector<std::string> weights;
  tools::DeviceChoice device;
  double rel_bound = 5e-5;
  double step_bound = 1e-3;
  double mean_bound = 0.15;
  double min_greedy = -1;  // percent; -1: the rule of cases
  bool mean = false;
  bool json = false;
  bool verbose = false;
};

struct Verdict {
  bool pass = true;
  std::vector<std::string> reasons;
  void Fail(std::string reason) {
    pass = false;
    reasons.push_back(std::move(reason));
  }
};

std::string Number(double v) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", v);
  return text;
}

// fp32: every tensor on its own, ids as sets, every greedy choice.
void JudgeExact(const Flags& flags, const GoldenCase& golden,
                const CaseResult& result, Verdict& verdict) {
  // Files of greedy runs record logits alone, bounded absolutely.
  const bool greedy = golden.tensors.contains("greedy");
  for (const TensorResult& t : result.tensors) {
    if (t.ids) {
      if (t.wrong_rows > 0) {
        verdict.Fail(t.name + ": ids of " + std::to_string(t.wrong_rows) + " of " +
                     std::to_string(t.rows) + " rows differ, first " + t.worst);
      }
    } else if (greedy ? !(t.max_abs <= flags.step_bound)
                      : !(t.rel_l2 <= flags.rel_bound)) {
      verdict.Fail(t.name + ": relative L2 " + Number(t.rel_l2) + ", largest |d| " +
                   Number(t.max_abs) + " at " + t.worst);
    }
  }
  if (result.wrong_tokens > 0) {
    verdict.Fail(result.name + ": " + std::to_string(result.wrong_tokens) + " of " +
                 std::to_string(result.tokens) +
                 " greedy tokens differ, first at step " +
                 std::to_string(result.first_wrong));
  }
}

double MeanError(const std::vector<CaseResult>& results) {
  double sum = 0;
  int64_t cases = 0;  // that have logits
  for (const CaseResult& r : results) {
    double steps = 0;
    int64_t count = 0;
    for (const TensorResult& t : r.tensors) {
      if (t.name.find(".step") == std::string::npos) continue;
      steps += t.rel_l2;
      ++count;
    }
    if (r.prefill_rel_l2 == 0 && count == 0) continue;
    sum += r.prefill_rel_l2 > 0 ? r.prefill_rel_l2 : steps / count;
    ++cases;
  }
  return cases == 0 ? 0 : sum / cases;
}

// Choices that agree with the recorded token, all cases together.
double GreedyPercent(const std::vector<CaseResult>& results) {
  int64_t tokens = 0, wrong = 0;
  for (const CaseResult& r : results) {
    tokens += r.tokens;
    wrong += r.wrong_tokens;
  }
  return tokens == 0 ? 100 : 100.0 * (tokens - wrong) / tokens;
}

// What the reference's own bf16 run differs from its fp32 run, as MeanError.
absl::StatusOr<double> BaselineError(const std::string& path,
                                     const std::vector<GoldenCase>& golden) {
  GLM_ASSIGN_OR_RETURN(const std::vector<GoldenCase> other, ReadGolden(path));
  double sum = 0;
  int64_t count = 0;
  for (const GoldenCase& g : golden) {
    for (const GoldenCase& o : other) {
      const auto want = g.tensors.find("prefill.logits");
      const auto got = o.tensors.find("prefill.logits");
      if (o.name != g.name || want == g.tensors.end() || got == o.tensors.end() ||
          got->second.values.size() != want->second.values.size()) {
        continue;
      }
      sum += RelL2(got->second.values, want->second.values);
      ++count;
    }
  }
  if (count == 0) {
    return absl::InvalidArgumentError(
        path + ": has no case with the prefill logits of the golden file");
  }
  return sum / count;
}

// bf16 and quantised weights: the network amplifies rounding, so the mean over
// cases is judged.
absl::Status JudgeRounded(const Flags& flags, const std::vector<GoldenCase>& golden,
                          const std::vector<CaseResult>& results, double& bound,
                          Verdict& verdict) {
  bound = flags.mean_bound;
  if (!flags.baseline.empty()) {
    GLM_ASSIGN_OR_RETURN(bound, BaselineError(flags.baseline, golden));
  }
  const double mean = MeanError(results);
  if (!(mean <= bound)) {
    verdict.Fail("mean relative L2 over cases is " + Number(mean) + ", bound " +
                 Number(bound));
  }
  if (flags.min_greedy >= 0) {
    const double share = GreedyPercent(results);
    if (!(share >= flags.min_greedy)) {
      verdict.Fail(Number(share) + " % of the greedy tokens agree, at least " +
                   Number(flags.min_greedy) + " % must");
    }
    return absl::OkStatus();
  }
  int64_t wrong = 0;
  bool greedy = false;
  for (size_t i = 0; i < golden.size(); ++i) {
    greedy |= golden[i].tensors.contains("greedy");
    wrong += results[i].wrong_tokens > 0;
  }
  // One case in eight may choose another token somewhere.
  if (greedy && wrong * 8 > static_cast<int64_t>(results.size())) {
    verdict.Fail(std::to_string(wrong) + " of " + std::to_string(results.size()) +
                 " cases have another greedy token, one in eight may");
  }
  return absl::OkStatus();
}

const TensorResult* WorstTensor(const std::vector<CaseResult>& results) {
  const TensorResult* worst = nullptr;
  for (const CaseResult& r : results) {
    for (const TensorResult& t : r.tensors) {
      if (!t.ids && (worst == nullptr || t.rel_l2 > worst->rel_l2)) worst = &t;
    }
  }
  return worst;
}

void PrintText(const Flags& flags, const std::vector<CaseResult>& results,
               const Verdict& verdict) {
  std::printf("%-12s%10s%16s%16s%14s%10s\n", "case", "tensors", "worst rel L2",
              "prefill rel L2", "step max |d|", "tokens");
  for (const CaseResult& r : results) {
    double worst = 0;
    for (const TensorResult& t : r.tensors) worst = std::max(worst, t.rel_l2);
    std::printf("%-12s%10zu%16.3g%16.3g%14.3g%6lld/%lld\n", r.name.c_str(),
                r.tensors.size(), worst, r.prefill_rel_l2, r.step_max_abs,
                static_cast<long long>(r.tokens - r.wrong_tokens),
                static_cast<long long>(r.tokens));
    if (!flags.verbose) continue;
    for (const TensorResult& t : r.tensors) {
      std::printf("  %-44s rel L2 %-10.3g max |d| %-10.3g at %s  wrong rows %lld\n",
                  t.name.c_str(), t.rel_l2, t.max_abs, t.worst.c_str(),
                  static_cast<long long>(t.wrong_rows));
    }
  }
  if (const TensorResult* worst = WorstTensor(results)) {
    std::printf("worst tensor: %s, relative L2 %.3g, largest |d| %.3g at %s\n",
                worst->name.c_str(), worst->rel_l2, worst->max_abs,
                worst->worst.c_str());
  }
  std::printf("mean relative L2 %.3g, greedy tokens %.4g %%\n",
              MeanError(results), GreedyPercent(results));
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(kShown, verdict.reasons.size()); ++i) {
    std::printf("outside the bound: %s\n", verdict.reasons[i].c_str());
  }
  if (verdict.reasons.size() > kShown) {
    std::printf("... and %zu more\n", verdict.reasons.size() - kShown);
  }
  std::printf("%s\n", verdict.pass ? "PASS" : "FAIL");
}

void PrintJson(const std::string& math, double bound,
               const std::vector<CaseResult>& results, const Verdict& verdict) {
  nlohmann::ordered_json root;
  root["pass"] = verdict.pass;
  root["math"] = math;
  root["bound"] = bound;
  root["mean_rel_l2"] = MeanError(results);
  root["greedy_percent"] = GreedyPercent(results);
  if (const TensorResult* worst = WorstTensor(results)) {
    root["worst"] = {{"tensor", worst->name},
                     {"rel_l2", worst->rel_l2},
                     {"max_abs", worst->max_abs},
                     {"at", worst->worst}};
  }
  root["reasons"] = verdict.reasons;
  for (const CaseResult& r : results) {
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
  GLM_ASSIGN_OR_RETURN(const std::vector<GoldenCase> golden,
                       ReadGolden(flags.golden));
  GLM_ASSIGN_OR_RETURN(const tools::OpenedDevice opened,
                       tools::OpenDevice(flags.device, *plan));
  Device& device = *opened.device;
  if (opened.gpu) std::fprintf(stderr, "device: %s\n", device.Describe().c_str());
  ExecutorOptions options;
  options.weights_dirs = flags.weights;
  GLM_ASSIGN_OR_RETURN(auto executor, Executor::Create(plan, device, options));
  const uint32_t vocab = executor->model().vocab;

  std::vector<CaseResult> results;
  for (const GoldenCase& c : golden) {
    std::vector<int32_t> ids = c.input_ids;
    ids.insert(ids.end(), c.step_tokens.begin(), c.step_tokens.end());
    for (int32_t id : ids) {
      if (id < 0 || static_cast<uint32_t>(id) >= vocab) {
        return absl::InvalidArgumentError(
            flags.golden + ": case " + c.name + " holds token " +
            std::to_string(id) + ", the vocabulary has " + std::to_string(vocab) +
            " entries; is the golden file of this model?");
      }
    }
    int64_t positions = 1;
    for (const auto& [name, tensor] : c.tensors) {
      if (name.starts_with("prefill.")) {
        positions = std::max(positions, tensor.rows());
      }
    }
    positions = std::min<int64_t>(positions, c.input_ids.size());
    const size_t fed = c.step_tokens.empty() ? 0 : c.step_tokens.size() - 1;
    GLM_ASSIGN_OR_RETURN(
        const Replay replay,
        RunTokens(*executor, c.input_ids,
                  {c.step_tokens.begin(), c.step_tokens.begin() + fed},
                  positions));
    GLM_ASSIGN_OR_RETURN(
        CaseResult result,
        Compare(c, replay, plan->plan().model()->pool_tokens()));
    if (result.tensors.empty() && result.tokens == 0) {
      return absl::InvalidArgumentError(
          flags.golden + ": case " + c.name +
          " has no tensor that glm-check knows; nothing was compared");
    }
    results.push_back(std::move(result));
  }

  Verdict verdict;
  const std::string math = plan->plan().math()->str();
  double bound = flags.rel_bound;
  if (math == "fp32" && !flags.mean) {
    for (size_t i = 0; i < golden.size(); ++i) {
      JudgeExact(flags, golden[i], results[i], verdict);
    }
  } else {
    GLM_RETURN_IF_ERROR(JudgeRounded(flags, golden, results, bound, verdict));
  }
  if (flags.json) {
    PrintJson(math, bound, results, verdict);
  } else {
    PrintText(flags, results, verdict);
  }
  return verdict.pass;
}

}  // namespace

void AddGolden(CLI::App& app, int& result) {
  auto flags = std::make_shared<Flags>();
  CLI::App* cmd = app.add_subcommand(
      "golden", "Compare a plan with the recorded tensors of a reference run");
  cmd->add_option("plan", flags->plan, "Plan file")->required();
  cmd->add_option("golden", flags->golden, "Golden .safetensors file")->required();
  cmd->add_option("--baseline", flags->baseline,
                  "bf16 plans: a golden file of the reference's own bf16 run; its mean "
                  "error becomes the bound");
  cmd->add_option("--weights", flags->weights,
                  "Folder to look for weight files in first; repeatable")
      ->allow_extra_args(false);
  tools::AddDeviceOption(*cmd, flags->device);
  cmd->add_option("--rel-bound", flags->rel_bound,
                  "fp32 plans: relative L2 of each tensor (default 5e-5)");
  cmd->add_option("--step-bound", flags->step_bound,
                  "fp32 plans, files of greedy runs: largest difference of a step's "
                  "logits (default 1e-3)");
  cmd->add_flag("--mean", flags->mean,
                "Judge fp32 plans as bf16 ones: for weights that glmc quantised, "
                "which the golden file does not have");
  cmd->add_option("--mean-bound", flags->mean_bound,
                  "bf16 plans without --baseline: mean relative L2 (default 0.15)");
  cmd->add_option("--min-greedy", flags->min_greedy,
                  "bf16 plans: percent of the greedy tokens that must agree, instead of "
                  "all in seven of eight cases")
      ->check(CLI::Range(0.0, 100.0));
  cmd->add_flag("--json", flags->json, "Print every tensor's result as JSON");
  cmd->add_flag("-v,--verbose", flags->verbose, "Print every tensor's result");
  cmd->footer(
      "fp32 plans: every tensor must be within its bound, router and index ids equal\n"
      "as sets, every greedy token equal. bf16 plans: the mean over cases of the\n"
      "relative L2 of the prefill logits (of the steps' logits in files of greedy\n"
      "runs) must be within the bound; --mean asks the same of fp32 plans.\n"
      "Exit code 0 within, 1 outside or error.");
  cmd->callback([flags, &result] {
    const absl::StatusOr<bool> pass = Run(*flags);
    if (!pass.ok()) {
      std::fprintf(stderr, "glm-check: %s\n",
                   std::string(pass.status().message()).c_str());
    }
    result = pass.ok() && *pass ? 0 : 1;
  });
}

}  // namespace glm::check
