// glm-cachesim: what would an expert cache of this size and policy cost?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/standard_streams.h"
#include "runtime/base/status_macros.h"
#include "runtime/paging/simulator.h"
#include "tools/glm-cachesim/options.h"
#include "tools/glm-cachesim/report.h"
#include "tools/options/option_checks.h"

namespace glm::cachesim {
namespace {

enum ExitCode { kOk = 0, kInput = 1, kUsage = 2 };

// What a first reading of the trace tells.
struct Survey {
  paging::UseCounts all;
  paging::UseCounts warmup;
  uint64_t steps = 0;
  uint64_t rows = 0;  // asked for, those of every step
  uint32_t most_tokens = 1;
};

// The bound holds the trace in memory, some 20 bytes a row asked for.
constexpr uint64_t kMostBoundRows = 100'000'000;

absl::StatusOr<Survey> ReadThrough(const Options& options) {
  GLM_ASSIGN_OR_RETURN(const auto source, OpenSource(options));
  Survey survey = {paging::UseCounts(source->shape()),
                   paging::UseCounts(source->shape())};
  paging::RoutingStep step;
  while (true) {
    GLM_ASSIGN_OR_RETURN(const bool more, source->Next(step));
    if (!more) break;
    survey.all.Add(step);
    if (survey.steps < options.warmup) survey.warmup.Add(step);
    survey.most_tokens = std::max(survey.most_tokens, step.tokens);
    for (const auto& experts : step.layers) survey.rows += experts.size();
    ++survey.steps;
  }
  if (survey.steps <= options.warmup) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.trace, ": --warmup ", options.warmup, " leaves none of ",
        survey.steps, " steps; lower it or record a longer trace"));
  }
  if (WantsBound(options) && survey.rows > kMostBoundRows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the trace asks for ", survey.rows,
        " rows; the bound holds it in memory and takes ", kMostBoundRows,
        " at most: name policies with --policy, without bound"));
  }
  return survey;
}

absl::StatusOr<paging::Simulator> MakeSimulator(const Options& options,
                                                const paging::Policy& policy,
                                                uint32_t slots,
                                                const paging::TraceShape& shape,
                                                const Survey& survey) {
  paging::CacheOptions cache = {shape, policy, slots, survey.most_tokens, {}};
  if (policy.pinned) {
    cache.pinned_rows = survey.warmup.MostUsed();
    const auto pinned =
        static_cast<size_t>(slots * options.pinned_percent / 100);
    if (pinned < cache.pinned_rows.size()) cache.pinned_rows.resize(pinned);
  }
  GLM_ASSIGN_OR_RETURN(paging::ExpertCache made,
                       paging::ExpertCache::Create(std::move(cache)));
  return paging::Simulator(std::move(made), options.link, options.warmup);
}

absl::StatusOr<Report> Simulate(const Options& options) {
  GLM_ASSIGN_OR_RETURN(const Survey survey, ReadThrough(options));
  GLM_ASSIGN_OR_RETURN(const auto source, OpenSource(options));
  const paging::TraceShape shape = source->shape();
  Report report;
  report.shape = shape;
  for (int i = 0; i < 4; ++i)
    report.pinned_coverage[i] = survey.all.Coverage(16u << i);

  std::vector<paging::Simulator> simulators;
  absl::Status too_small;
  for (const uint32_t slots : options.slots) {
    for (const paging::Policy& policy : ChosenPolicies(options)) {
      auto simulator = MakeSimulator(options, policy, slots, shape, survey);
      if (simulator.ok()) {
        simulators.push_back(*std::move(simulator));
        continue;
      }
      too_small = simulator.status();
      if (!WantsAll(options) || !absl::IsResourceExhausted(too_small)) {
        return too_small;
      }
      std::fprintf(stderr, "glm-cachesim: left out: %s\n",
                   std::string(too_small.message()).c_str());
    }
  }
  if (simulators.empty() && !too_small.ok()) return too_small;
  paging::ClairvoyantBound bound(shape);
  paging::RoutingStep step;
  while (true) {
    GLM_ASSIGN_OR_RETURN(const bool more, source->Next(step));
    if (!more) break;
    for (paging::Simulator& simulator : simulators) {
      GLM_RETURN_IF_ERROR(simulator.Add(step));
    }
    if (WantsBound(options)) bound.Add(step);
  }
  size_t at = 0;
  for (const uint32_t slots : options.slots) {
    for (; at < simulators.size(); ++at) {
      const paging::CacheOptions& cache = simulators[at].cache().options();
      if (cache.slots != std::min(slots, shape.rows())) break;
      report.outcomes.push_back(
          {cache.policy.name, slots, simulators[at].result()});
    }
    if (WantsBound(options)) {
      report.outcomes.push_back(
          {"bound", slots, bound.Run(slots, options.link, options.warmup)});
    }
  }
  return report;
}

absl::Status WriteTrace(const Options& options) {
  GLM_ASSIGN_OR_RETURN(const auto source, OpenSource(options));
  GLM_ASSIGN_OR_RETURN(
      auto writer, paging::TraceWriter::Create(options.write, source->shape()));
  paging::RoutingStep step;
  while (true) {
    GLM_ASSIGN_OR_RETURN(const bool more, source->Next(step));
    if (!more) return writer.Finish();
    GLM_RETURN_IF_ERROR(writer.Add(step));
  }
}

absl::Status Run(const Options& options) {
  if (!options.write.empty()) GLM_RETURN_IF_ERROR(WriteTrace(options));
  GLM_ASSIGN_OR_RETURN(const Report report, Simulate(options));
  if (options.json) {
    PrintJson(options, report);
  } else {
    PrintTable(options, report);
  }
  return FlushStandardOutput();
}

int Fail(const absl::Status& status, ExitCode code) {
  std::fprintf(stderr, "glm-cachesim: %s\n",
               std::string(status.message()).c_str());
  return code;
}

}  // namespace
}  // namespace glm::cachesim

int main(int argc, char** argv) {
  using namespace glm::cachesim;
  glm::OpenStandardStreams();
  CLI::App app(
      "Runs a trace of expert routing through caches of several policies and "
      "prints what "
      "each would cost.",
      "glm-cachesim");
  Options options;
  AddOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  if (const std::string name = glm::tools::EmptyValue(app); !name.empty()) {
    return Fail(absl::InvalidArgumentError(name + ": the value is empty"),
                kUsage);
  }
  if (const absl::Status usage = CheckOptions(options); !usage.ok()) {
    return Fail(usage, kUsage);
  }
  const absl::Status status = Run(options);
  return status.ok() ? kOk : Fail(status, kInput);
}
