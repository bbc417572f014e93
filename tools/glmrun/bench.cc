// glmrun bench: speed of prefill and decode, and where the time goes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/memory_plan.h"
#include "runtime/plan/plan_generated.h"
#include "tools/glmrun/bandwidth.h"
#include "tools/glmrun/command.h"
#include "tools/glmrun/expert_bench.h"
#include "tools/glmrun/expert_report.h"
#include "tools/glmrun/measure.h"
#include "tools/glmrun/prediction.h"
#include "tools/glmrun/profile.h"
#include "tools/glmrun/session.h"
#include "tools/glmrun/step_bytes.h"
#include "tools/glmrun/terminal.h"
#include "tools/options/option_checks.h"

namespace glm::tools {
namespace {

struct Options {
  SessionOptions session;
  MeasureOptions measure;
  std::string prediction;
  ExpertBenchOptions experts;
  bool synthetic = false;
  uint64_t synthetic_seed = 1;
  uint32_t synthetic_experts = 0;
  bool json = false;
  bool profile = false;
};

struct Statistics {
  double median = 0, min = 0, max = 0;
};

Statistics Summarise(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

// `count` of something in each of `seconds`, as a rate.
Statistics RateOf(double count, std::vector<double> seconds) {
  for (double& value : seconds) value = value > 0 ? count / value : 0;
  return Summarise(std::move(seconds));
}

struct Results {
  Measurement measured;
  std::optional<Statistics> prefill;   // tokens a second
  Statistics decode;                   // tokens a second, all sequences
  Statistics step;                     // seconds
  std::optional<Statistics> sampling;  // seconds a step, on the host
  EntryInfo entry;                     // the decode entry
  uint64_t bytes = 0;                  // that one step moves
  double bandwidth = 0;                // bytes a second; 0: not measured
  const char* bandwidth_of = "";       // what was measured
  std::optional<Prediction> prediction;
  std::optional<ExpertReport> experts;  // of a plan that pages them
  // Of each entry that was asked for, with its name.
  std::vector<std::pair<std::string, std::vector<KernelProfile>>> profiles;

  double BytesPerSecond() const {
    return step.median > 0 ? static_cast<double>(bytes) / step.median : 0;
  }
};

nlohmann::ordered_json ToJson(const Statistics& s, double unit = 1) {
  return {{"median", unit * s.median},
          {"min", unit * s.min},
          {"max", unit * s.max}};
}

nlohmann::ordered_json ToJson(const std::vector<KernelProfile>& kernels) {
  auto json = nlohmann::ordered_json::array();
  for (const KernelProfile& kernel : kernels) {
    json.push_back({{"kernel", kernel.kernel},
                    {"op", kernel.op},
                    {"launches", kernel.launches},
                    {"us", 1e6 * kernel.seconds},
                    {"bytes", kernel.bytes},
                    {"flops", kernel.flops}});
  }
  return json;
}

nlohmann::ordered_json ToJson(const Options& options, const Session& session,
                              const Results& r) {
  nlohmann::ordered_json json;
  json["device"] = session.devices.Describe();
  json["ranks"] = session.plan->plan().ranks();
  json["entry"] = r.entry.name;
  json["batch"] = options.measure.batch;
  json["context"] = r.measured.context;
  if (r.prefill) {
    json["prompt_tokens"] = options.measure.prompt_tokens;
    json["prefills"] = r.measured.prefill.size();
    json["prefill_tokens_per_second"] = ToJson(*r.prefill);
  }
  json["decode_tokens"] = r.measured.decode.size();
  json["decode_tokens_per_second"] = ToJson(r.decode);
  json["step_us"] = ToJson(r.step, 1e6);
  json["sampling"] = r.sampling ? "host" : "device";
  if (r.sampling) json["sampling_us"] = ToJson(*r.sampling, 1e6);
  json["bytes_per_step"] = r.bytes;
  json["launches_per_step"] = r.entry.launches;
  json["bytes_per_second"] = r.BytesPerSecond();
  if (r.bandwidth > 0) {
    json["bandwidth"] = {{"of", r.bandwidth_of},
                         {"bytes_per_second", r.bandwidth},
                         {"fraction", r.BytesPerSecond() / r.bandwidth}};
  }
  if (r.prediction) {
    json["prediction"] = {
        {"machine", r.prediction->machine},
        {"step_us", 1e6 * r.prediction->seconds},
        {"floor_us", 1e6 * r.prediction->floor_seconds},
        {"measured_to_predicted", r.step.median / r.prediction->seconds}};
  }
  if (r.experts) json["experts"] = r.experts->ToJson();
  for (const auto& [entry, kernels] : r.profiles) {
    json["profile"][entry] = ToJson(kernels);
  }
  return json;
}

void PrintText(const Options& options, const Session& session,
               const Results& r) {
  std::printf("device     %s", session.devices.Describe().c_str());
  if (r.bandwidth > 0) {
    std::printf(", %s %.2f GB/s", r.bandwidth_of, 1e-9 * r.bandwidth);
  }
  std::printf("\n");
  if (r.prefill) {
    std::printf(
        "prefill    %10.1f tok/s  (min %.1f, max %.1f; %u tokens, %zu "
        "times)\n",
        r.prefill->median, r.prefill->min, r.prefill->max,
        options.measure.prompt_tokens, r.measured.prefill.size());
  }
  std::printf(
      "decode     %10.1f tok/s  (min %.1f, max %.1f; %zu steps of %u, "
      "context %u)\n",
      r.decode.median, r.decode.min, r.decode.max, r.measured.decode.size(),
      options.measure.batch, r.measured.context);
  std::printf("a step     %10.0f us     %s in %u launches, %.2f GB/s",
              1e6 * r.step.median, FormatBytes(r.bytes).c_str(),
              r.entry.launches, 1e-9 * r.BytesPerSecond());
  if (r.bandwidth > 0) {
    std::printf(", %.1f %% of what the device %s",
                100 * r.BytesPerSecond() / r.bandwidth, r.bandwidth_of);
  }
  std::printf("\n");
  if (!r.sampling) {
    std::printf("  sampling                   in 3 launches more\n");
  } else {
    std::printf("  sampling %10.0f us     of it, on the host\n",
                1e6 * r.sampling->median);
  }
  if (r.prediction) {
    std::printf(
        "predicted  %10.0f us     on %s, at least %.0f us; measured is "
        "%.2f times that\n",
        1e6 * r.prediction->seconds, r.prediction->machine.c_str(),
        1e6 * r.prediction->floor_seconds,
        r.step.median / r.prediction->seconds);
  }
  if (r.experts) std::printf("%s", r.experts->ToText().c_str());
  for (const auto& [entry, kernels] : r.profiles) {
    std::printf("\n%s\n%s", entry.c_str(),
                ProfileTable(kernels, r.bandwidth).c_str());
  }
}

absl::Status MeasureBandwidth(const Options& options, const Session& session,
                              Results& results) {
  if (session.devices.gpu) {
    GLM_ASSIGN_OR_RETURN(results.bandwidth,
                         MeasureCopyBandwidth(session.devices.first()));
    results.bandwidth_of = "copies";
  } else {
    results.bandwidth = MeasureReadBandwidth(options.session.device.threads);
    results.bandwidth_of = "reads";
  }
  return absl::OkStatus();
}

// Entries of one sequence, kernel by kernel.
absl::Status Profile(const Options& options, ObservableRunner& executor,
                     Results& results) {
  for (uint32_t i = 0; i < executor.entries().size(); ++i) {
    const EntryInfo& entry = executor.entries()[i];
    if (entry.sequences != 1 || entry.tokens > executor.model().max_context) {
      continue;
    }
    const uint32_t position =
        entry.prefill ? 0
                      : std::min(results.measured.context - 1,
                                 executor.model().max_context - entry.tokens);
    GLM_ASSIGN_OR_RETURN(auto kernels,
                         ProfileEntry(executor, i, position,
                                      std::max(3u, options.measure.prefills)));
    results.profiles.emplace_back(entry.name, std::move(kernels));
  }
  return absl::OkStatus();
}

absl::StatusOr<Results> RunAll(const Options& options, Session& session,
                               const Interrupts& interrupts) {
  ObservableRunner& executor = *session.executor;
  Results results;
  // What can be refused is refused before anything is measured.
  GLM_ASSIGN_OR_RETURN(const uint32_t decode,
                       FindDecodeEntry(executor, options.measure.batch));
  results.entry = executor.entries()[decode];
  if (!options.prediction.empty()) {
    GLM_ASSIGN_OR_RETURN(results.prediction,
                         ReadPrediction(options.prediction, results.entry));
  }
  MeasureOptions measure = options.measure;
  measure.seed = options.synthetic_seed;
  measure.cancel = interrupts.flag();
  ExpertReport experts;
  std::unique_ptr<ExpertStats> stats;
  if (!options.experts.stats.path.empty()) {
    GLM_ASSIGN_OR_RETURN(
        stats, ExpertStats::Create(options.experts.stats, executor.paging(),
                                   options.json));
  }
  GLM_RETURN_IF_ERROR(WatchExperts(options.experts, executor.paging(),
                                   results.entry.name, stats.get(), measure,
                                   experts));
  GLM_ASSIGN_OR_RETURN(results.measured, Measure(executor, measure));
  ExpertTimer timer(executor, executor.paging(), results.measured, stats.get());
  GLM_RETURN_IF_ERROR(timer.TimeMisses());
  if (options.profile) {
    GLM_RETURN_IF_ERROR(Profile(options, executor, results));
  }
  if (!executor.paging().empty()) {
    for (const double seconds : results.measured.decode) {
      experts.seconds += seconds;
    }
    GLM_RETURN_IF_ERROR(timer.Complete(experts));
    GLM_ASSIGN_OR_RETURN(experts.link_bytes_per_second,
                         MeasureLinkBandwidth(session.devices.first()));
    results.experts = std::move(experts);
  }
  if (!results.measured.prefill.empty()) {
    results.prefill = RateOf(measure.prompt_tokens, results.measured.prefill);
  }
  results.decode = RateOf(measure.batch, results.measured.decode);
  results.step = Summarise(results.measured.decode);
  if (!results.measured.sampling.empty()) {
    results.sampling = Summarise(results.measured.sampling);
  }
  const plan::Plan& plan = session.plan->plan();
  results.bytes = BytesAtContext(plan, *plan.entries()->Get(decode),
                                 results.measured.context);
  GLM_RETURN_IF_ERROR(MeasureBandwidth(options, session, results));
  return results;
}

absl::Status Bench(const Options& options) {
  SessionOptions opening = options.session;
  opening.slots = options.measure.batch;
  if (options.synthetic) {
    opening.synthetic = {options.synthetic_seed, options.synthetic_experts};
  }
  Interrupts interrupts;
  GLM_ASSIGN_OR_RETURN(auto session, Session::Open(opening, interrupts));
  GLM_ASSIGN_OR_RETURN(const Results results,
                       RunAll(options, *session, interrupts));
  if (!options.json) {
    PrintText(options, *session, results);
    return absl::OkStatus();
  }
  std::printf("%s\n", ToJson(options, *session, results).dump().c_str());
  return absl::OkStatus();
}

}  // namespace

void AddBench(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure prefill and decode, and where the time goes");
  command->footer(
      "Examples:\n"
      "  glmrun bench model.glmplan\n"
      "  glmrun bench model.glmplan --prompt-tokens 1000 --repeat 3 --json\n"
      "  glmrun bench model.glmplan --profile --threads 1\n"
      "  glmrun bench sizes.glmplan --synthetic --synthetic-experts 8\n"
      "  glmrun bench sizes.glmplan --synthetic --context 100000 --batch 4\n"
      "  glmc explain sizes.glmplan --machine h200 --json > said.json\n"
      "  glmrun bench sizes.glmplan --synthetic --prediction said.json\n"
      "  glmrun bench paged.glmplan --synthetic --synthetic-experts 8 "
      "--context 1000 \\\n"
      "      --expert-slots 2383 --hit-rate 0.6\n"
      "  glmrun bench paged.glmplan --expert-stats steps.jsonl\n"
      "  glmrun bench two.glmplan --synthetic --simulate-rank 0/2\n"
      "\n"
      "Rates are medians: of --repeat prefills, and of --decode-tokens steps.\n"
      "Bytes of a step are what the plan says, at the context it was run "
      "with.\n");
  AddSessionOptions(*command, options->session);
  AddSimulateRankOption(*command, options->session.simulate);
  MeasureOptions& measure = options->measure;
  auto* prompt = command
                     ->add_option("--prompt-tokens", measure.prompt_tokens,
                                  "Length of the prompt")
                     ->capture_default_str()
                     ->check(WholeNumber(1, 1 << 24));
  command
      ->add_option("--decode-tokens", measure.decode_steps,
                   "Decode steps after it, a token of each sequence")
      ->capture_default_str()
      ->check(WholeNumber(1, 1 << 24));
  command
      ->add_option("--repeat", measure.prefills,
                   "Measured prefills, after one that warms up")
      ->capture_default_str()
      ->check(WholeNumber(1, 1000));
  command
      ->add_option("--batch", measure.batch,
                   "Sequences of a decode step; the plan must have such a step")
      ->capture_default_str()
      ->check(WholeNumber(1, 4096));
  AddExpertBenchOptions(*command, options->experts);
  command
      ->add_option("--prediction", options->prediction,
                   "What `glmc explain --json` said of this plan, to stand "
                   "beside what is measured")
      ->type_name("FILE");
  auto* synthetic =
      command
          ->add_option("--synthetic", options->synthetic_seed,
                       "Make the weights up instead of reading them, from a "
                       "seed, 1 when none is given; also for plans that were "
                       "compiled with --weights none")
          ->expected(0, 1)
          ->type_name("[SEED]")
          ->check([](const std::string& text) -> std::string {
            // What comes next may be the plan.
            const bool number =
                text.size() <= 18 &&
                text.find_first_not_of("0123456789") == std::string::npos;
            return number ? ""
                          : absl::StrCat("'", text,
                                         "' is no seed; write --synthetic 1, "
                                         "or give the plan first");
          });
  command
      ->add_option("--synthetic-experts", options->synthetic_experts,
                   "Experts in memory, of each weight; the others are the same "
                   "ones again, so that a large model fits")
      ->check(WholeNumber(1, 1 << 20))
      ->needs(synthetic);
  command
      ->add_option("--context", measure.context,
                   "No prompt: decode as if each sequence had this many "
                   "tokens, the decoded one included, over made-up state")
      ->check(WholeNumber(1, 1 << 24))
      ->needs(synthetic)
      ->excludes(prompt);
  command->add_flag("--host-sampling", measure.on_host,
                    "Choose tokens on the host, where plan and device could do "
                    "it");
  command->add_flag("--profile", options->profile,
                    "Add a table of kernels for each step of one sequence");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback([options, synthetic, &run] {
    options->synthetic = synthetic->count() > 0;
    run = [options] { return Bench(*options); };
  });
}

}  // namespace glm::tools
