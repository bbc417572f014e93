#include "tools/glm-cachesim/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/options/option_checks.h"

namespace glm::cachesim {
namespace {

using tools::NumberIn;
using tools::WholeNumber;

constexpr char kBound[] = "bound";
constexpr char kAll[] = "all";

bool Asked(const Options& options, const std::string& name) {
  const std::vector<std::string>& asked = options.policies;
  return WantsAll(options) ||
         std::find(asked.begin(), asked.end(), name) != asked.end();
}

std::string Footer() {
  std::string text = "Policies:\n";
  for (const paging::Policy& policy : paging::Policies()) {
    std::string name = policy.name;
    name.resize(12, ' ');
    absl::StrAppend(&text, "  ", name, policy.what, "\n");
  }
  absl::StrAppend(
      &text,
      "  bound       not a policy: what knowing the whole trace could reach\n"
      "A step that asks a layer for more rows than its share takes slots of "
      "all layers.\n"
      "\n"
      "Columns: hit % of the rows asked for; GB a token over the link of one "
      "card; stall\n"
      "ms a token, time that experts wait for rows; tok/s, what that leaves "
      "when the rest\n"
      "of a token takes --compute-ms. A row is one expert of one layer.\n"
      "\n"
      "Made-up traces have the shape of the released model and its measured "
      "shares of\n"
      "popular experts and repetition (--zipf), or are made to hurt "
      "(--cyclic,\n"
      "--jump-steps).\n"
      "\n"
      "Examples:\n"
      "  glm-cachesim --zipf\n"
      "  glm-cachesim --zipf --slots 1500,2383,3000 --policy lru,lfru\n"
      "  glm-cachesim --zipf --compute-ms 16.6 --overlap-us 150\n"
      "  glm-cachesim --cyclic 2436 --policy lru,lfru,bound\n"
      "  glm-cachesim --zipf --steps 100 --write made.trace\n"
      "  glm-cachesim made.trace --warmup 20 --json\n"
      "  glmrun generate model.glmplan --chat \"Name three moons\" "
      "--routing-trace real.trace\n"
      "\n"
      "Exit codes: 0 done, 1 the trace or the arena is at fault, 2 wrong "
      "usage.\n");
  return text;
}

std::vector<std::string> PolicyNames() {
  std::vector<std::string> names = {kAll, kBound};
  for (const paging::Policy& policy : paging::Policies())
    names.push_back(policy.name);
  return names;
}

}  // namespace

void AddOptions(CLI::App& app, Options& options) {
  app.footer(Footer());
  const std::string source = "Trace (one of these)";
  CLI::Option* trace = app.add_option(
      "trace", options.trace, "Trace file, recorded or written by --write");
  CLI::Option* zipf =
      app.add_flag("--zipf", options.zipf, "Made up, like the released model")
          ->group(source);
  CLI::Option* cyclic =
      app.add_option(
             "--cyclic", options.cyclic,
             "Made up: a circle through so many rows, an equal share a layer")
          ->check(WholeNumber(1u, paging::kMaxLayers * paging::kMaxExperts))
          ->group(source);
  trace->excludes(zipf)->excludes(cyclic);
  zipf->excludes(cyclic);

  const std::string made_up = "Made-up traces";
  std::vector<CLI::Option*> shape = {
      app.add_option("--layers", options.made_up.shape.layers, "MoE layers")
          ->check(WholeNumber(1u, paging::kMaxLayers)),
      app.add_option("--experts", options.made_up.shape.experts,
                     "Experts a layer")
          ->check(WholeNumber(1u, paging::kMaxExperts)),
      app.add_option("--top-k", options.made_up.shape.top_k,
                     "Experts a token chooses in a layer")
          ->check(WholeNumber(1u, paging::kMaxExperts)),
      app.add_option("--steps", options.made_up.steps,
                     "Steps, warm-up included")
          ->check(WholeNumber(1, 10'000'000))};
  std::vector<CLI::Option*> of_zipf = {
      app.add_option("--step-tokens", options.made_up.step_tokens,
                     "Tokens a step, as verification of drafts has")
          ->check(WholeNumber(1u, paging::kMaxStepTokens)),
      app.add_option("--seed", options.made_up.seed,
                     "Another one, another trace")
          ->check(WholeNumber(0, UINT64_MAX)),
      app.add_option("--kept", options.made_up.kept,
                     "How probably an expert of the token before is kept")
          ->check(NumberIn(0, 0.99)),
      app.add_option("--jump-steps", options.made_up.jump_steps,
                     "New popular experts every so many steps; 0: never")
          ->check(WholeNumber(0, UINT32_MAX))};
  for (CLI::Option* option : shape) option->excludes(trace)->group(made_up);
  for (CLI::Option* option : of_zipf) option->needs(zipf)->group(made_up);
  for (CLI::Option* option : shape) option->capture_default_str();
  for (CLI::Option* option : of_zipf) option->capture_default_str();
  app.add_option("--write", options.write, "Write the trace to this file too")
      ->excludes(trace)
      ->group(made_up);

  const std::string cache = "Cache and link";
  app.add_option("--slots", options.slots,
                 "Rows that the arena of a card holds; several "
                 "with commas")
      ->delimiter(',')
      ->check(WholeNumber(1u, paging::kMaxLayers * paging::kMaxExperts))
      ->capture_default_str()
      ->group(cache);
  app.add_option("--policy", options.policies,
                 "all that the arena is large enough for, or some with commas")
      ->delimiter(',')
      ->check(CLI::IsMember(PolicyNames()))
      ->capture_default_str()
      ->group(cache);
  app.add_option(
         "--warmup", options.warmup,
         "First steps that fill the cache, choose pinned rows and do not count")
      ->check(WholeNumber(0, 10'000'000))
      ->capture_default_str()
      ->group(cache);
  app.add_option("--pinned", options.pinned_percent,
                 "Percent of the slots that pinned-lru pins")
      ->check(NumberIn(0, 100.0))
      ->capture_default_str()
      ->group(cache);
  app.add_option(
         "--row-bytes", options.link.row_bytes,
         "Bytes of a row that cross to one card (half a row with two cards)")
      ->check(NumberIn(1, 1e12))
      ->capture_default_str()
      ->group(cache);
  app.add_option("--link-gbs", options.link.gb_per_s,
                 "10^9 bytes a second: 53.3 by copy engine, 49.4 by gather")
      ->check(NumberIn(1e-3, 1e6))
      ->capture_default_str()
      ->group(cache);
  app.add_option(
         "--overlap-us", options.link.overlap_us,
         "Microseconds of a layer's work that need none of its missing rows")
      ->check(NumberIn(0, 1e9))
      ->capture_default_str()
      ->group(cache);
  app.add_option("--compute-ms", options.compute_ms,
                 "Milliseconds of a token beside stalls, for tok/s")
      ->check(NumberIn(0, 1e9))
      ->capture_default_str()
      ->group(cache);
  app.add_flag("--per-layer", options.per_layer, "Hit rates of each layer too");
  app.add_flag("--json", options.json, "Print JSON, with the layers");
}

absl::Status CheckOptions(const Options& options) {
  if (options.trace.empty() && !options.zipf && options.cyclic == 0) {
    return absl::InvalidArgumentError(
        "name a trace file, or give --zipf or --cyclic ROWS");
  }
  if (!options.trace.empty()) return absl::OkStatus();
  if (options.warmup >= options.made_up.steps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--warmup ", options.warmup, " leaves none of ", options.made_up.steps,
        " steps; lower it or raise --steps"));
  }
  return options.zipf ? options.made_up.Check()
                      : options.made_up.shape.Check("--cyclic");
}

absl::StatusOr<std::unique_ptr<paging::StepSource>> OpenSource(
    const Options& options) {
  if (!options.trace.empty()) return paging::TraceReader::Open(options.trace);
  if (options.zipf) return std::make_unique<paging::ZipfTrace>(options.made_up);
  return std::make_unique<paging::CyclicTrace>(
      options.made_up.shape, options.made_up.steps, options.cyclic);
}

std::vector<paging::Policy> ChosenPolicies(const Options& options) {
  std::vector<paging::Policy> chosen;
  for (const paging::Policy& policy : paging::Policies()) {
    if (Asked(options, policy.name)) chosen.push_back(policy);
  }
  return chosen;
}

bool WantsAll(const Options& options) {
  return std::find(options.policies.begin(), options.policies.end(), kAll) !=
         options.policies.end();
}

bool WantsBound(const Options& options) { return Asked(options, kBound); }

}  // namespace glm::cachesim
