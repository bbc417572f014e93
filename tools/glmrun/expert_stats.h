// What steps ask of paged experts, as they run: a line of JSON for every so
// many steps (docs/paging.md, A stream of steps).
#ifndef GLM_TOOLS_GLMRUN_EXPERT_STATS_H_
#define GLM_TOOLS_GLMRUN_EXPERT_STATS_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/observable_runner.h"
#include "runtime/executor/paged_experts.h"
#include "tools/glmrun/expert_timing.h"

namespace CLI {
class App;
}

namespace glm::tools {

struct ExpertStatsOptions {
  std::string path;    // a file, - for standard output; empty: none
  uint32_t every = 1;  // steps a line
};

// Adds --expert-stats and --expert-stats-every.
void AddExpertStatsOptions(CLI::App& command, ExpertStatsOptions& options);

// Where the lines go. They are there as soon as Add returns.
class ExpertStats {
 public:
  // A regular file is written anew when it is empty or holds such lines; a pipe
  // or a terminal is written to. `paging` (the first rank's) outlives the
  // result.
  //
  // Errors: kInvalidArgument (another file), kFailedPrecondition (`json` false
  // where the lines would stand amid other text on standard output; experts
  // that are resident), kInternal naming the file.
  static absl::StatusOr<std::unique_ptr<ExpertStats>> Create(
      const ExpertStatsOptions& options,
      const std::vector<PagedExperts*>& paging, bool json);
  ~ExpertStats();

  PagedExperts& paging() { return paging_; }
  // Whether the next step completes a line.
  bool Due() const { return steps_ + 1 >= every_; }

  // Forgets what was counted until now, as before the first step.
  absl::Status Begin();
  // A step of `entry` is done and none runs. `timed` is what each layer did in
  // it, which completes a line, or empty.
  absl::Status Add(const std::string& entry, double seconds,
                   const std::vector<LayerSample>& timed);
  // The line of the steps that none has yet.
  absl::Status Finish();

 private:
  ExpertStats(const ExpertStatsOptions& options, PagedExperts& paging,
              std::FILE* file)
      : path_(options.path),
        every_(options.every),
        paging_(paging),
        file_(file) {}
  absl::Status Write(const std::vector<LayerSample>& timed);

  std::string path_;
  uint32_t every_;
  PagedExperts& paging_;
  std::FILE* file_;
  std::vector<ExpertCounts> before_;
  std::string entry_;       // of the steps that no line has
  uint64_t all_steps_ = 0;  // since Begin
  uint32_t steps_ = 0;      // that no line has
  double seconds_ = 0;      // they took
};

// A runner whose steps are counted. The last step of each line is run launch by
// launch; tokens are chosen on the host.
class CountedRunner : public StepRunner {
 public:
  // Both outlive this.
  CountedRunner(ObservableRunner& executor, ExpertStats& stats);

  const ModelInfo& model() const override { return executor_.model(); }
  const std::vector<EntryInfo>& entries() const override {
    return executor_.entries();
  }
  uint32_t slots() const override { return executor_.slots(); }
  absl::Status Step(uint32_t entry, const StepInputs& inputs) override;
  std::span<const float> logits(uint32_t row) const override {
    return executor_.logits(row);
  }

 private:
  ObservableRunner& executor_;
  ExpertStats& stats_;
  std::vector<std::vector<uint32_t>> launches_;  // CopyLaunches, by entry
};

}  // namespace glm::tools

#endif  // GLM_TOOLS_GLMRUN_EXPERT_STATS_H_
