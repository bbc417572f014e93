// glm-check weights

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status_macros.h"
#include "tools/glm-check/commands.h"
#include "tools/glm-check/weight_check.h"

namespace glm::check {
namespace {

struct Flags {
  std::string plan;
  std::vector<std::string> weights;
  bool quiet = false;
};

// How far reading has come, on stderr: one line that is rewritten on a
// terminal, a line every ten seconds elsewhere.
class Progress {
 public:
  explicit Progress(bool quiet)
      : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() { Clear(); }

  void operator()(uint64_t done, uint64_t total) {
    const auto now = Clock::now();
    const auto wait = std::chrono::milliseconds(terminal_ ? 100 : 10000);
    if (quiet_ || now - told_ < wait) return;
    told_ = now;
    const double seconds = std::chrono::duration<double>(now - begun_).count();
    const double rate = static_cast<double>(done) / seconds;
    std::fprintf(stderr,
                 "%sglm-check: %.0f %%, %.2f of %.2f GB, %.2f GB/s, "
                 "%.0f s left%s",
                 terminal_ ? "\r\033[K" : "",
                 100 * static_cast<double>(done) / static_cast<double>(total),
                 static_cast<double>(done) / 1e9,
                 static_cast<double>(total) / 1e9, rate / 1e9,
                 static_cast<double>(total - done) / rate,
                 terminal_ ? "" : "\n");
    shown_ = terminal_;
  }

  void Clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  const bool quiet_, terminal_;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point told_ = begun_;
  bool shown_ = false;
};

void Print(const WeightFileVerdict& verdict) {
  std::printf("%s: %.2f GB: ", verdict.path.c_str(),
              static_cast<double>(verdict.bytes) / 1e9);
  if (!verdict.damaged.empty()) {
    std::printf("%zu of %llu blocks are damaged\n", verdict.damaged.size(),
                static_cast<unsigned long long>(verdict.blocks));
  } else if (!verdict.is_the_plans) {
    std::printf("is not the file that the plan was compiled with%s%s\n",
                verdict.others.empty() ? "" : ": ", verdict.others.c_str());
  } else if (verdict.packed) {
    std::printf("all %llu blocks are as they were packed\n",
                static_cast<unsigned long long>(verdict.blocks));
  } else {
    std::printf("has no checksums; size and fingerprint are the plan's\n");
  }
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(kShown, verdict.damaged.size()); ++i) {
    const DamagedBlock& block = verdict.damaged[i];
    std::printf("  damaged: %s (bytes %llu to %llu)\n", block.holds.c_str(),
                static_cast<unsigned long long>(block.offset),
                static_cast<unsigned long long>(block.offset + block.size));
  }
  if (verdict.damaged.size() > kShown) {
    std::printf("  ... and %zu more\n", verdict.damaged.size() - kShown);
  }
}

absl::StatusOr<bool> Run(const Flags& flags) {
  GLM_ASSIGN_OR_RETURN(const auto plan, PlanFile::Open(flags.plan));
  Progress progress(flags.quiet);
  GLM_ASSIGN_OR_RETURN(
      const std::vector<WeightFileVerdict> verdicts,
      CheckWeights(*plan, flags.weights, [&](uint64_t done, uint64_t total) {
        progress(done, total);
      }));
  progress.Clear();
  bool pass = true;
  for (const WeightFileVerdict& verdict : verdicts) {
    Print(verdict);
    pass &= verdict.pass();
  }
  if (verdicts.empty()) std::printf("the plan has no weight files\n");
  std::printf("%s\n", pass ? "PASS" : "FAIL");
  return pass;
}

}  // namespace

void AddWeights(CLI::App& app, int& result) {
  auto flags = std::make_shared<Flags>();
  CLI::App* cmd = app.add_subcommand(
      "weights", "Read the weight files of a plan and compare their checksums");
  cmd->add_option("plan", flags->plan, "Plan file")->required();
  cmd->add_option("--weights", flags->weights,
                  "Folder to look for weight files in first; repeatable")
      ->allow_extra_args(false);
  cmd->add_flag("-q,--quiet", flags->quiet, "Do not tell how far it has come");
  cmd->footer(
      "Files that glmc wrote (--pack, --dense) are read to their last byte, "
      "and what is\n"
      "damaged is named: the layer and expert, or the weight. Of a "
      "checkpoint's files,\n"
      "which have no checksums, size and fingerprint are compared.\n"
      "Exit code 0 all right, 1 damaged or error.");
  cmd->callback([flags, cmd, &result] {
    CheckValues(*cmd);
    result = ExitCode(Run(*flags));
  });
}

}  // namespace glm::check
