// glmrun doctor: what of this machine stands in a plan's way.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/plan/plan_reader.h"
#include "tools/glmrun/command.h"
#include "tools/glmrun/doctor_checks.h"

namespace glm::tools {
namespace {

struct Options {
  std::string plan_path;
  std::vector<std::string> weights_dirs;
  std::string root;
  bool json = false;
};

// Shows what is new, so that a driver that hangs is known by what it follows.
void Show(const Options& options, const Report& report, size_t& shown) {
  if (!options.json) {
    std::fputs(report.ToString(shown).c_str(), stdout);
    std::fflush(stdout);
  }
  shown = report.findings().size();
}

void CheckPlan(const Options& options, const Machine& machine,
               const PlanFile& plan, const std::vector<DriverSurvey>& drivers,
               Report& report) {
  const auto host = SurveyHost();
  if (!host.ok()) {
    report.Problem("plan code", std::string(host.status().message()), "");
    return;
  }
  CheckTokenizer(plan, report);
  const auto devices = CheckCode(plan, drivers, **host, report);
  const uint64_t from_files = CheckFit(plan, devices, machine.limits, report);
  CheckDisk(machine, plan, options.weights_dirs, from_files, report);
}

absl::Status Doctor(const Options& options) {
  Report report;
  size_t shown = 0;
  const Machine machine = Machine::Read(options.root);
  PlanNeeds needs;
  std::shared_ptr<const PlanFile> plan;
  if (!options.plan_path.empty()) {
    auto opened = PlanFile::Open(options.plan_path);
    if (opened.ok()) {
      plan = *std::move(opened);
      needs = PlanNeeds::Of(*plan);
    } else {
      report.Problem("plan", std::string(opened.status().message()),
                     "name a plan that is whole, or make it with glmc compile");
    }
  }
  CheckProcessor(machine, report);
  CheckMemory(machine, report);
  CheckGroups(machine, needs, report);
  CheckLocking(machine, needs, report);
  CheckAmdLimit(machine, needs, report);
  CheckHugePages(machine, report);
  CheckEnvironment(machine, report);
  CheckKernelDrivers(machine, report);
  Show(options, report, shown);
  const std::vector<DriverSurvey> drivers = SurveyGpus();
  CheckDrivers(machine, drivers, report);
  CheckRocm(machine, drivers, report);
  Show(options, report, shown);
  // Devices are in use from here on, so that links are not at rest.
  Machine awake = machine;
  awake.cards = ReadPciCards(machine.files);
  CheckLinks(awake, report);
  CheckNuma(awake, report);
  CheckPeers(awake, report);
  Show(options, report, shown);
  if (plan != nullptr) {
    CheckPlan(options, machine, *plan, drivers, report);
    Show(options, report, shown);
  }
  if (options.json) {
    std::printf("%s\n", report.ToJson().c_str());
  } else {
    std::printf("\n%s%s\n", report.Summary().c_str(),
                options.plan_path.empty()
                    ? "; glmrun doctor PLAN looks at a plan, too"
                    : "");
  }
  if (report.Count(Verdict::kProblem) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("doctor: ", report.Summary(), "; what to do is below each"));
}

}  // namespace

void AddDoctor(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Say what of this machine stands in a plan's way");
  command->footer(
      "Looks at drivers, links, limits and memory, and with a plan at its "
      "code,\n"
      "its fit and the disk of its weights, which it reads for a second. Each\n"
      "line is ok, a note or a problem, with what to do below it "
      "(docs/serving-operation.md).\n"
      "\n"
      "Exit codes: 0 no problem, 1 a problem, 2 wrong usage.\n"
      "\n"
      "Examples:\n"
      "  glmrun doctor\n"
      "  glmrun doctor model.glmplan --json\n");
  command->add_option("plan", options->plan_path, "The .glmplan file")
      ->type_name("PLAN");
  command
      ->add_option("--weights", options->weights_dirs,
                   "Folder to look for weight files in before the places that "
                   "the plan names; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command
      ->add_option("--system-root", options->root,
                   "Read /proc, /sys, /dev, /opt and /usr below this folder, "
                   "as copied from another machine; drivers are this one's")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback(
      [options, &run] { run = [options] { return Doctor(*options); }; });
}

}  // namespace glm::tools
