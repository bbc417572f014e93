// glmrun bench: speed of prefill and decode, and where the time goes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/executor/memory_plan.h"
#include "tools/glmrun/command.h"
#include "tools/glmrun/profile.h"
#include "tools/glmrun/session.h"
#include "tools/glmrun/terminal.h"

namespace glm::tools {
namespace {

struct Options {
  SessionOptions session;
  uint32_t prompt_tokens = 128;
  uint32_t decode_tokens = 128;
  uint32_t repeat = 5;
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

struct Results {
  Statistics prefill, decode;  // tokens a second
  EntryInfo entry;             // the decode entry
  double bandwidth = 0;        // of the host, bytes a second; 0: not measured
};

// Ids that are spread over the vocabulary, the same in each run.
std::vector<int32_t> MakePrompt(uint32_t count, uint32_t vocab) {
  std::vector<int32_t> ids;
  uint32_t state = 1;
  for (uint32_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    ids.push_back(static_cast<int32_t>((state >> 8) % vocab));
  }
  return ids;
}

// The entry that Generator decodes with.
uint32_t DecodeEntry(const Executor& executor) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < executor.entries().size(); ++i) {
    const EntryInfo& entry = executor.entries()[i];
    if (!entry.prefill && entry.sequences == 1 && entry.tokens == 1) found = i;
  }
  return found;
}

absl::Status CheckLengths(const Options& options, const ModelInfo& model) {
  const uint64_t needed =
      uint64_t{options.prompt_tokens} + options.decode_tokens;
  if (needed <= model.max_context) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "--prompt-tokens ", options.prompt_tokens, " + --decode-tokens ",
      options.decode_tokens, " exceed the context of ", model.max_context));
}

absl::StatusOr<Results> Measure(const Options& options, Session& session,
                                const Interrupts& interrupts) {
  Executor& executor = *session.executor;
  GLM_ASSIGN_OR_RETURN(Generator generator, Generator::Create(executor, 0));
  const auto prompt = MakePrompt(options.prompt_tokens, executor.model().vocab);
  GenerateOptions generation;
  generation.sampling.temperature = 0;
  generation.cancel = interrupts.flag();
  std::vector<double> prefill, decode;
  // One more round than asked for: the first one warms up and is not counted.
  for (uint32_t i = 0; i <= options.repeat; ++i) {
    generator.Reset();
    // The first token comes from the prompt's logits and needs no decode step.
    generation.max_tokens = options.decode_tokens + 1;
    GLM_ASSIGN_OR_RETURN(const GenerateResult result,
                         generator.Generate(prompt, generation));
    if (interrupts.raised()) return absl::CancelledError("interrupted");
    if (i == 0) continue;
    prefill.push_back(PrefillTokensPerSecond(result));
    decode.push_back(DecodeTokensPerSecond(result));
  }
  Results results;
  results.prefill = Summarise(prefill);
  results.decode = Summarise(decode);
  results.entry = executor.entries()[DecodeEntry(executor)];
  return results;
}

nlohmann::ordered_json ToJson(const Statistics& s) {
  return {{"median", s.median}, {"min", s.min}, {"max", s.max}};
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

uint64_t BytesPerToken(const Results& results) {
  return results.entry.weight_bytes + results.entry.memory_bytes;
}

void PrintText(const Options& options, const Session& session,
               const Results& r) {
  std::printf("device     %s", session.device->Describe().c_str());
  if (r.bandwidth > 0) std::printf(", reads %.2f GB/s", 1e-9 * r.bandwidth);
  std::printf("\n");
  std::printf("prefill    %10.1f tok/s  (min %.1f, max %.1f; %u tokens)\n",
              r.prefill.median, r.prefill.min, r.prefill.max,
              options.prompt_tokens);
  std::printf("decode     %10.1f tok/s  (min %.1f, max %.1f; %u tokens)\n",
              r.decode.median, r.decode.min, r.decode.max,
              options.decode_tokens);
  std::printf("a token    %s in %u launches, %.2f GB/s, %.0f us\n",
              FormatBytes(BytesPerToken(r)).c_str(), r.entry.launches,
              1e-9 * BytesPerToken(r) * r.decode.median, 1e6 / r.decode.median);
}

absl::Status Bench(const Options& options) {
  SessionOptions opening = options.session;
  if (options.synthetic) {
    opening.synthetic = {options.synthetic_seed, options.synthetic_experts};
  }
  GLM_ASSIGN_OR_RETURN(auto session, Session::Open(opening));
  Executor& executor = *session->executor;
  GLM_RETURN_IF_ERROR(CheckLengths(options, executor.model()));
  Interrupts interrupts;
  GLM_ASSIGN_OR_RETURN(Results results, Measure(options, *session, interrupts));
  if (!session->gpu) {
    results.bandwidth = MeasureReadBandwidth(options.session.device.threads);
  }

  nlohmann::ordered_json json;
  json["device"] = session->device->Describe();
  json["prompt_tokens"] = options.prompt_tokens;
  json["decode_tokens"] = options.decode_tokens;
  json["prefill_tokens_per_second"] = ToJson(results.prefill);
  json["decode_tokens_per_second"] = ToJson(results.decode);
  json["bytes_per_token"] = BytesPerToken(results);
  json["launches_per_token"] = results.entry.launches;
  json["bytes_per_second"] = BytesPerToken(results) * results.decode.median;
  if (results.bandwidth > 0) {
    json["measured_read_bytes_per_second"] = results.bandwidth;
  }
  if (!options.json) PrintText(options, *session, results);

  for (uint32_t i = 0; options.profile && i < executor.entries().size(); ++i) {
    const EntryInfo& entry = executor.entries()[i];
    if (entry.sequences != 1 || entry.tokens > executor.model().max_context) {
      continue;
    }
    const uint32_t position =
        entry.prefill ? 0
                      : std::min(options.prompt_tokens,
                                 executor.model().max_context - entry.tokens);
    GLM_ASSIGN_OR_RETURN(
        const auto kernels,
        ProfileEntry(executor, i, position, std::max(3u, options.repeat)));
    if (options.json) {
      json["profile"][entry.name] = ToJson(kernels);
    } else {
      std::printf("\n%s\n%s", entry.name.c_str(),
                  ProfileTable(kernels, results.bandwidth).c_str());
    }
  }
  if (options.json) std::printf("%s\n", json.dump().c_str());
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
      "  glmrun bench sizes.glmplan --synthetic --synthetic-experts 8\n");
  AddSessionOptions(*command, options->session);
  command
      ->add_option("--prompt-tokens", options->prompt_tokens,
                   "Length of the prompt")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  command
      ->add_option("--decode-tokens", options->decode_tokens,
                   "Tokens decoded after it")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  command
      ->add_option("--repeat", options->repeat,
                   "Measured rounds, after one that warms up")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
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
      ->check(CLI::Range(1, 1 << 20))
      ->needs(synthetic);
  command->add_flag("--profile", options->profile,
                    "Add a table of kernels for each step of one sequence");
  command->add_flag("--json", options->json, "One JSON object on stdout");
  command->callback([options, synthetic, &run] {
    options->synthetic = synthetic->count() > 0;
    run = [options] { return Bench(*options); };
  });
}

}  // namespace glm::tools
