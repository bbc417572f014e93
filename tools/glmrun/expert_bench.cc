#include "tools/glmrun/expert_bench.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <utility>

#include "runtime/base/status_macros.h"
#include "tools/glmrun/routing.h"
#include "tools/options/option_checks.h"

namespace glm::tools {

void AddExpertBenchOptions(CLI::App& command, ExpertBenchOptions& options) {
  command
      .add_option("--warm-up", options.warm_up,
                  "Decode steps before those that count; default: 3, with "
                  "--routing and --hit-rate as many as fill the slots")
      ->check(WholeNumber(1, 1 << 20));
  auto* routing =
      command
          .add_option("--routing", options.routing,
                      "Decode with the experts of this trace instead of those "
                      "that the model chooses, every sequence with the same: "
                      "from generate --routing-trace or glm-cachesim; it goes "
                      "in a circle")
          ->type_name("FILE");
  command
      .add_option("--hit-rate", options.hit_rate,
                  "Decode with experts made up so that this share of them, 0 "
                  "to 1, is in a slot when it is asked for")
      ->check(NumberIn(0, 1))
      ->excludes(routing);
  command.add_flag("--check-rows", options.check_rows,
                   "After the steps, compare every expert on the device with "
                   "its weights; it takes no time of theirs");
  AddExpertStatsOptions(command, options.stats);
}

absl::Status WatchExperts(const ExpertBenchOptions& options,
                          const std::vector<PagedExperts*>& ranks,
                          const std::string& entry, ExpertStats* stats,
                          MeasureOptions& measure, ExpertReport& report) {
  if (options.warm_up > 0) measure.warm_up = options.warm_up;
  const bool routed = !options.routing.empty() || options.hit_rate >= 0;
  if (ranks.empty()) {
    if (!routed && !options.check_rows) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "--routing, --hit-rate and --check-rows are for plans whose experts "
        "are paged; compile with --experts paged");
  }
  PagedExperts* const paging = ranks[0];
  report.budget = paging->budget();
  Routing routing;
  if (routed) {
    GLM_ASSIGN_OR_RETURN(const paging::ExpertCache cache, paging->NewCache());
    GLM_ASSIGN_OR_RETURN(
        routing, options.hit_rate >= 0
                     ? TuneRouting(options.hit_rate, cache, options.warm_up,
                                   measure.decode_steps, kTimedSteps)
                     : ReadRouting(options.routing, cache, options.warm_up,
                                   measure.decode_steps, kTimedSteps));
    measure.warm_up = static_cast<uint32_t>(routing.warm_up);
    report.simulated_hit_rate = routing.hit_rate;
  }
  measure.on_decode = [ranks, routing = std::move(routing)]() -> absl::Status {
    if (routing.choices.empty()) return absl::OkStatus();
    for (PagedExperts* rank : ranks) {
      GLM_RETURN_IF_ERROR(rank->SetRouting(routing.choices));
    }
    return absl::OkStatus();
  };
  if (stats != nullptr) {
    measure.on_step = [stats, entry](double seconds) {
      return stats->Add(entry, seconds, {});
    };
  }
  measure.on_warm = [paging, stats, &report]() -> absl::Status {
    if (stats != nullptr) GLM_RETURN_IF_ERROR(stats->Begin());
    GLM_ASSIGN_OR_RETURN(report.layers, paging->Counts());
    report.rows_read = paging->rows_read();
    report.seconds_read = paging->seconds_read();
    return absl::OkStatus();
  };
  measure.on_done = [ranks, paging, stats, check = options.check_rows,
                     &report]() -> absl::Status {
    if (stats != nullptr) GLM_RETURN_IF_ERROR(stats->Finish());
    GLM_ASSIGN_OR_RETURN(const auto counts, paging->Counts());
    report.layers = CountsSince(report.layers, counts);
    report.rows_read = paging->rows_read() - report.rows_read;
    report.seconds_read = paging->seconds_read() - report.seconds_read;
    if (!check) return absl::OkStatus();
    report.rows_checked = true;
    for (PagedExperts* rank : ranks) {
      GLM_RETURN_IF_ERROR(rank->CheckResidentRows());
    }
    return absl::OkStatus();
  };
  return absl::OkStatus();
}

absl::Status ExpertTimer::TimeMisses() {
  using Clock = std::chrono::steady_clock;
  if (ranks_.empty()) return absl::OkStatus();
  for (uint32_t i = 0; i < steps_; ++i) {
    const auto begin = Clock::now();
    GLM_ASSIGN_OR_RETURN(
        const auto step,
        TimeDecodeSteps(executor_, *ranks_[0], entry_, position_, 1));
    const std::chrono::duration<double> time = Clock::now() - begin;
    samples_.resize(step.size());
    std::vector<LayerSample> layers;
    for (size_t layer = 0; layer < step.size(); ++layer) {
      layers.push_back(step[layer][0]);
      samples_[layer].push_back(step[layer][0]);
    }
    if (stats_ == nullptr || layers.empty()) continue;
    GLM_RETURN_IF_ERROR(
        stats_->Add(executor_.entries()[entry_].name, time.count(), layers));
  }
  return absl::OkStatus();
}

absl::Status ExpertTimer::Complete(ExpertReport& report) {
  if (samples_.empty()) return absl::OkStatus();
  GLM_ASSIGN_OR_RETURN(
      const auto quiet,
      TimeRepeatedSteps(executor_, ranks_, entry_, position_, steps_ + 1));
  report.timed_steps = steps_;
  report.timings.clear();
  for (size_t layer = 0; layer < samples_.size(); ++layer) {
    report.timings.push_back(
        TimingOf(samples_[layer], quiet[layer], report.budget.row_bytes));
  }
  return absl::OkStatus();
}

}  // namespace glm::tools
