#include "tools/glmrun/session.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_generated.h"
#include "tools/device/expert_options.h"
#include "tools/glmrun/plan_tokenizer.h"
#include "tools/options/option_checks.h"

namespace glm::tools {

void AddSessionOptions(CLI::App& command, SessionOptions& options) {
  command.add_option("plan", options.plan_path, "The .glmplan file")
      ->required()
      ->type_name("PLAN");
  command
      .add_option("--weights", options.weights_dirs,
                  "Folder to look for weight files in before the places that "
                  "the plan names; repeatable, for a plan whose files lie in "
                  "several")
      ->type_name("DIR")
      ->allow_extra_args(false);
  AddDeviceOption(command, options.device);
  command
      .add_option("--threads", options.device.threads,
                  "Threads of the host, 0: one for each physical core")
      ->check(WholeNumber(0, 1024));
  command
      .add_option("--memory-limit", options.memory_limit,
                  "Refuse to start when more memory would be committed, for "
                  "example 8GiB; default: what is available")
      ->transform(ByteSize());
  AddExpertOptions(command, options.experts);
  command.add_flag("--no-weight-check", options.no_weight_check,
                   "Do not compare the weight files' fingerprints");
  command.add_flag("--no-graphs", options.no_graphs,
                   "Enqueue each step's launches one by one");
  command.add_flag("-v,--verbose", options.verbose,
                   "Show device and memory plan on stderr");
}

void AddSamplingOptions(CLI::App& command, SamplingOptions& options) {
  command
      .add_option("--max-tokens", options.max_tokens,
                  "Stop after this many tokens, 0: when the context is full")
      ->capture_default_str()
      ->check(WholeNumber(0, UINT32_MAX));
  auto* greedy = command.add_flag("--greedy", options.greedy,
                                  "Always take the likeliest token");
  command
      .add_option("--temperature", options.temperature,
                  "Sampling temperature, 0 is greedy; default: the model's")
      ->check(NumberIn(0.0, 100.0))
      ->excludes(greedy);
  command
      .add_option("--top-p", options.top_p,
                  "Sample from the likeliest tokens that together have this "
                  "probability; default: the model's")
      ->check(NumberIn(1e-6, 1.0))
      ->excludes(greedy);
  command
      .add_option("--top-k", options.top_k,
                  "Sample from this many of the likeliest tokens, 0: all")
      ->check(WholeNumber(0, 1 << 24))
      ->excludes(greedy);
  command
      .add_option(
          "--repetition-penalty", options.repetition_penalty,
          "Scale down the logits of tokens in prompt and answer; 1: off")
      ->check(NumberIn(0.01, 100.0));
  command
      .add_option("--presence-penalty", options.presence_penalty,
                  "Take this from the logits of tokens in the answer; 0: off")
      ->check(NumberIn(-100.0, 100.0));
  command
      .add_option("--frequency-penalty", options.frequency_penalty,
                  "The same, for each time that a token is there")
      ->check(NumberIn(-100.0, 100.0));
  command.add_flag("--host-sampling", options.on_host,
                   "Choose tokens on the host, where plan and device could do "
                   "it; the tokens are the same");
  command
      .add_option("--seed", options.seed,
                  "Seed of the random numbers; the same seed gives the same "
                  "text")
      ->check(WholeNumber(0, INT64_MAX));
  command.add_flag("--ignore-eos", options.ignore_eos,
                   "Go on when the model would stop");
}

absl::StatusOr<std::unique_ptr<Session>> Session::Open(
    const SessionOptions& options, const Interrupts& interrupts) {
  GLM_ASSIGN_OR_RETURN(auto session, Prepare(options));
  GLM_RETURN_IF_ERROR(session->Load(options, interrupts));
  return session;
}

absl::StatusOr<std::unique_ptr<Session>> Session::Prepare(
    const SessionOptions& options) {
  auto session = std::make_unique<Session>();
  GLM_ASSIGN_OR_RETURN(session->plan, PlanFile::Open(options.plan_path));
  GLM_RETURN_IF_ERROR(CheckExpertOptions(options.experts, *session->plan));
  GLM_ASSIGN_OR_RETURN(session->tokenizer, LoadTokenizer(*session->plan));
  GLM_ASSIGN_OR_RETURN(
      session->devices,
      OpenDevices(options.device, options.simulate, *session->plan));
  return session;
}

absl::Status Session::Load(const SessionOptions& options,
                           const Interrupts& interrupts) {
  ExecutorOptions executor_options;
  executor_options.weights_dirs = options.weights_dirs;
  executor_options.memory_limit = options.memory_limit;
  executor_options.check_weights = !options.no_weight_check;
  executor_options.graphs = !options.no_graphs;
  executor_options.synthetic = options.synthetic;
  executor_options.experts = options.experts;
  executor_options.slots = options.slots;
  executor_options.cancel = interrupts.flag();
  if (options.verbose || devices.gpu || devices.simulated != nullptr) {
    std::fprintf(stderr, "device: %s\n", devices.Describe().c_str());
  }
  if (devices.gpu && devices.group != nullptr && options.device.peer) {
    std::fprintf(stderr,
                 "warning: --p2p lets the cards read each other's memory, "
                 "which has hung whole machines\n");
  }
  if (options.verbose) {
    const size_t ranks = devices.devices.size();
    executor_options.on_memory_plan = [ranks](const MemoryPlan& memory) {
      std::fprintf(stderr, "memory%s:\n%s",
                   ranks == 1
                       ? ""
                       : absl::StrCat(" of each of ", ranks, " ranks").c_str(),
                   memory.ToString().c_str());
    };
  }
  ProgressBar checking("checking weights", uint64_t{1} << 20, " MiB");
  executor_options.on_weights_read = [&](uint64_t done, uint64_t total) {
    checking(done, total);
  };
  ProgressBar loading("loading weights", uint64_t{1} << 20, " MiB");
  executor_options.on_weights_loaded = [&](uint64_t done, uint64_t total) {
    checking.Clear();
    loading(done, total);
  };
  ProgressBar experts("loading experts", uint64_t{1} << 20, " MiB");
  executor_options.on_experts_loaded = [&](uint64_t done, uint64_t total) {
    checking.Clear();
    loading.Clear();
    experts(done, total);
  };
  auto created = OpenRunner(plan, devices, executor_options);
  checking.Clear();
  loading.Clear();
  experts.Clear();
  GLM_ASSIGN_OR_RETURN(executor, std::move(created));
  for (const PagedExperts* paging : executor->paging()) {
    if (paging->budget().note.empty()) continue;
    std::fprintf(stderr, "%s\n", paging->budget().note.c_str());
  }
  if (interrupts.raised()) return absl::CancelledError("interrupted");
  return absl::OkStatus();
}

absl::Status Session::NeedTokenizer() const {
  if (tokenizer != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(plan->path(),
                   ": holds no tokenizer; use generate --prompt-ids, or "
                   "compile it from a checkpoint with a tokenizer.json"));
}

GenerateOptions Session::Generation(const SamplingOptions& options) const {
  GenerateOptions generation;
  generation.max_tokens = options.max_tokens;
  SamplerOptions& sampling = generation.sampling;
  if (const plan::Generation* defaults = plan->plan().generation()) {
    sampling.temperature = defaults->temperature();
    sampling.top_p = defaults->top_p();
    if (defaults->stop_ids() != nullptr && !options.ignore_eos) {
      generation.stop_ids.assign(defaults->stop_ids()->begin(),
                                 defaults->stop_ids()->end());
    }
  }
  if (options.temperature >= 0) sampling.temperature = options.temperature;
  if (options.top_p >= 0) sampling.top_p = options.top_p;
  if (options.greedy) sampling.temperature = 0;
  sampling.top_k = options.top_k;
  sampling.repetition_penalty = options.repetition_penalty;
  sampling.presence_penalty = options.presence_penalty;
  sampling.frequency_penalty = options.frequency_penalty;
  generation.on_host = options.on_host;
  sampling.seed = options.seed >= 0 ? static_cast<uint64_t>(options.seed)
                                    : std::random_device()();
  return generation;
}

}  // namespace glm::tools
