#include "tools/glmrun/expert_stats.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_macros.h"
#include "runtime/plan/plan_generated.h"
#include "tools/glmrun/expert_report.h"
#include "tools/options/option_checks.h"

namespace glm::tools {
namespace {

constexpr std::string_view kBegin = "{\"step\":";

// Stats take the place of stats, or of nothing: never of a plan that was named
// by mistake.
absl::Status CheckTarget(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size == 0) {
    return absl::OkStatus();
  }
  std::string begin(kBegin.size(), 0);
  std::ifstream(path, std::ios::binary)
      .read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin == kBegin) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      ": is there and holds no lines of --expert-stats; name another "
      "file"));
}

}  // namespace

void AddExpertStatsOptions(CLI::App& command, ExpertStatsOptions& options) {
  auto* stats =
      command
          .add_option("--expert-stats", options.path,
                      "Of a plan whose experts are paged: a line of JSON a "
                      "step to this file, or - for standard output: hits, "
                      "misses, bytes by tier and the time of the copies, layer "
                      "by layer; slower")
          ->type_name("FILE|-");
  command
      .add_option("--expert-stats-every", options.every,
                  "A line for so many steps together; those between are run "
                  "as fast as without")
      ->capture_default_str()
      ->check(WholeNumber(1, 1 << 20))
      ->needs(stats);
}

absl::StatusOr<std::unique_ptr<ExpertStats>> ExpertStats::Create(
    const ExpertStatsOptions& options, const std::vector<PagedExperts*>& paging,
    bool json) {
  if (paging.empty()) {
    return absl::FailedPreconditionError(
        "--expert-stats is for plans whose experts are paged; compile with "
        "--experts paged");
  }
  std::FILE* file = stdout;
  if (options.path != "-") {
    GLM_RETURN_IF_ERROR(CheckTarget(options.path));
    file = std::fopen(options.path.c_str(), "we");
    if (file == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--expert-stats ", options.path, ": ", std::strerror(errno)));
    }
  } else if (!json) {
    return absl::FailedPreconditionError(
        "--expert-stats - writes amid other text on standard output; give "
        "--json too, or name a file");
  }
  std::unique_ptr<ExpertStats> stats(
      new ExpertStats(options, *paging[0], file));
  GLM_RETURN_IF_ERROR(stats->Begin());
  return stats;
}

ExpertStats::~ExpertStats() {
  if (file_ != stdout) std::fclose(file_);
}

absl::Status ExpertStats::Begin() {
  all_steps_ = steps_ = 0;
  seconds_ = 0;
  GLM_ASSIGN_OR_RETURN(before_, paging_.Counts());
  return absl::OkStatus();
}

absl::Status ExpertStats::Add(const std::string& entry, double seconds,
                              const std::vector<LayerSample>& timed) {
  ++steps_;
  ++all_steps_;
  seconds_ += seconds;
  entry_ = entry;
  const bool due = steps_ >= every_ || !timed.empty();
  return due ? Write(timed) : absl::OkStatus();
}

absl::Status ExpertStats::Finish() {
  return steps_ == 0 ? absl::OkStatus() : Write({});
}

absl::Status ExpertStats::Write(const std::vector<LayerSample>& timed) {
  GLM_ASSIGN_OR_RETURN(auto counts, paging_.Counts());
  const std::vector<ExpertCounts> since = CountsSince(before_, counts);
  before_ = std::move(counts);
  const uint64_t row_bytes = paging_.budget().row_bytes;
  nlohmann::ordered_json json = {{"step", all_steps_},
                                 {"steps", steps_},
                                 {"entry", entry_},
                                 {"us", 1e6 * seconds_}};
  json.update(CountsJson(SumOf(since), row_bytes));
  json["layers"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < since.size(); ++i) {
    nlohmann::ordered_json layer = CountsJson(since[i], row_bytes);
    if (i < timed.size()) {
      layer["copied_bytes"] = timed[i].misses * row_bytes;
      layer["copy_us"] = 1e6 * timed[i].seconds;
    }
    json["layers"].push_back(std::move(layer));
  }
  steps_ = 0;
  seconds_ = 0;
  if (std::fprintf(file_, "%s\n", json.dump().c_str()) < 0 ||
      std::fflush(file_) != 0) {
    return absl::InternalError(
        absl::StrCat("--expert-stats ", path_, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

CountedRunner::CountedRunner(ObservableRunner& executor, ExpertStats& stats)
    : executor_(executor), stats_(stats) {
  const plan::Plan& plan = executor.plan_file().plan();
  for (const plan::Entry* entry : *plan.entries()) {
    launches_.push_back(CopyLaunches(plan, *entry));
  }
}

absl::Status CountedRunner::Step(uint32_t entry, const StepInputs& inputs) {
  using Clock = std::chrono::steady_clock;
  std::vector<LayerSample> timed;
  const auto begin = Clock::now();
  if (stats_.Due()) {
    GLM_RETURN_IF_ERROR(TimeStep(executor_, stats_.paging(), entry, inputs,
                                 launches_[entry], timed));
  } else {
    GLM_RETURN_IF_ERROR(executor_.Step(entry, inputs));
  }
  return stats_.Add(executor_.entries()[entry].name,
                    std::chrono::duration<double>(Clock::now() - begin).count(),
                    timed);
}

}  // namespace glm::tools
