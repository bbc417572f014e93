// glmc explain

#include "tools/glmc/Commands.h"
#include "tools/glmc/PlanFlags.h"
#include "tools/glmc/ProgressLine.h"

#include "compiler/UsageError.h"
#include "compiler/explain/Report.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/plan/plan_reader.h"

#include "llvm/Support/FormatVariadic.h"

#include <CLI/CLI.hpp>

#include <memory>

using namespace glm;

namespace {

struct Flags {
  std::string plan, config, entry, machine = "r9700x2";
  glmc::PlanFlags shape;
  double hitRate = 1;
  bool hitRateGiven = false;
  explain::TextOptions text;
  bool all = false, json = false, machines = false;
  std::string shaped; // an option of PlanFlags that was given
};

/// A plan from a file or from the compiler; `plan` points into one of the others.
struct OpenedPlan {
  std::shared_ptr<const PlanFile> file;
  std::string tables;
  const plan::Plan *plan = nullptr;
};

llvm::Error open(const Flags &flags, const driver::DriverOptions &options,
                 OpenedPlan &opened) {
  if (flags.config.empty()) {
    auto file = PlanFile::Open(flags.plan);
    if (!file.ok())
      return llvm::createStringError(std::string(file.status().message()));
    opened.file = *file;
    opened.plan = &opened.file->plan();
    return llvm::Error::success();
  }
  glmc::ProgressLine line;
  driver::DriverOptions withProgress = options;
  withProgress.progress = [&](llvm::StringRef stage, uint64_t done, uint64_t total) {
    line.show(stage, done, total);
  };
  auto tables = driver::compileTables(withProgress);
  if (!tables)
    return tables.takeError();
  opened.tables = std::move(*tables);
  opened.plan = plan::GetPlan(opened.tables.data());
  return llvm::Error::success();
}

/// An error when the flags ask what a plan cannot do, or a machine cannot run.
llvm::Error checkFits(const Flags &flags, const plan::Plan &plan,
                      const explain::Machine &machine) {
  const std::string name = flags.config.empty() ? flags.plan : flags.config;
  if (flags.hitRateGiven && (!plan.expert_rows() || plan.expert_rows()->size() == 0))
    return usageError("--hit-rate: the experts of " + name +
                      " are resident, none comes over a link; " +
                      (flags.config.empty() ? "compile it with --experts paged"
                                            : "add --experts paged"));
  if (plan.ranks() > machine.cards)
    return usageError(llvm::formatv("{0} is for {1} ranks, machine {2} has {3} card{4}; "
                                    "name a machine of {1} cards or more with --machine, "
                                    "or compile with a smaller --tp",
                                    name, plan.ranks(), machine.name, machine.cards,
                                    machine.cards == 1 ? "" : "s")
                          .str());
  return llvm::Error::success();
}

llvm::Error run(const Flags &flags) {
  if (flags.machines) {
    if (flags.json)
      llvm::outs() << explain::builtinMachineText();
    else
      explain::printMachines(llvm::outs());
    return llvm::Error::success();
  }
  if (flags.plan.empty() == flags.config.empty())
    return usageError("give either a plan file or --config FILE");
  if (flags.config.empty() && !flags.shaped.empty())
    return usageError(flags.shaped + " is of a compilation; it goes with --config FILE");
  if (!(flags.hitRate >= 0 && flags.hitRate <= 1))
    return usageError("--hit-rate " + llvm::formatv("{0}", flags.hitRate).str() +
                      ": expected 0 (every expert comes over the link) to 1 (none does)");
  auto machine = explain::findMachine(flags.machine);
  if (!machine)
    return machine.takeError();
  driver::DriverOptions options;
  options.config = flags.config;
  options.commandLine = "glmc " GLM_VERSION;
  if (llvm::Error e = flags.shape.apply(options))
    return e;
  OpenedPlan opened;
  if (llvm::Error e = open(flags, options, opened))
    return e;
  if (llvm::Error e = checkFits(flags, *opened.plan, *machine))
    return e;
  auto report = explain::Report::of(*opened.plan, {*machine, flags.hitRate});
  if (!report)
    return report.takeError();
  auto chosen = report->find(flags.entry);
  if (!chosen)
    return chosen.takeError();
  llvm::raw_ostream &os = llvm::outs();
  if (flags.json) {
    os << llvm::formatv("{0:2}\n",
                        llvm::json::Value(explain::toJson(*report, flags.text.launches)));
    return llvm::Error::success();
  }
  for (size_t i = 0; i < report->entries.size(); ++i) {
    if (!flags.all && i != *chosen)
      continue;
    explain::printEntry(os, *report, i, flags.text);
    os << "\n";
  }
  if (llvm::Error e = explain::printElsewhere(os, *report, *chosen))
    return e;
  if (report->entries.size() > 1) {
    os << "\n";
    explain::printEntries(os, *report);
  }
  return llvm::Error::success();
}

} // namespace

void glmc::addExplain(CLI::App &app, int &result) {
  auto flags = std::make_shared<Flags>();
  CLI::App *cmd = app.add_subcommand(
      "explain", "Predict what a step of a plan costs: launches, bytes, time, and why");
  cmd->add_option("plan", flags->plan, "Plan file");
  cmd->add_option("--config", flags->config,
                  "Instead of a plan: config.json to compile in memory, without weights "
                  "and without kernels");
  cmd->add_option(
      "--machine", flags->machine,
      "r9700x2 (default), r9700, h200, or FILE.json with machines of your own");
  cmd->add_option("--hit-rate", flags->hitRate,
                  "Of a plan whose experts are paged: share of the routed experts' bytes "
                  "found in the cards' memory, 0 to 1 (default 1); the rest comes over the "
                  "link");
  cmd->add_option("--entry", flags->entry, "Which step (default decode_b1)");
  cmd->add_flag("--all", flags->all, "Every step in full");
  cmd->add_flag("--kernels", flags->text.kernels, "A row a kernel instead of one an op");
  cmd->add_flag("--ops", flags->text.ops, "The kernels of each kind of layer");
  cmd->add_flag("--launches", flags->text.launches,
                "Every device launch in order: blocks, phases, bytes, time, origin");
  cmd->add_flag("--json", flags->json,
                "All of it as JSON; --launches adds launch_list to the prediction of each entry");
  cmd->add_flag("--machines", flags->machines,
                "Print the machines that are known, each number with its source; with "
                "--json as a file to start from");
  flags->shape.add(*cmd);
  cmd->footer(
      "Examples:\n"
      "  glmc explain nano.glmplan                        # one token: where its time "
      "goes\n"
      "  glmc explain full.glmplan --machine h200\n"
      "  glmc explain paged.glmplan --hit-rate 0.6        # 40 % of expert bytes are "
      "paged in\n"
      "  glmc explain full.glmplan --launches | less      # the step, launch by launch\n"
      "  glmc explain --config config.json --fuse off     # no plan, no weights: what "
      "if?\n"
      "  glmc explain --config config.json --batch 1,2,4,8\n"
      "  glmc explain --machines --json > mine.json       # then edit, and\n"
      "  glmc explain full.glmplan --machine mine.json:h200\n"
      "\n"
      "Times are predictions of a simple model, docs/explain.md; the options of group "
      "Plan\n"
      "go with --config.");
  cmd->callback([flags, cmd, &result] {
    for (const CLI::Option *option : cmd->get_options())
      if (option->get_group() == glmc::PlanFlags::kGroup && option->count() > 0)
        flags->shaped = option->get_name();
    flags->hitRateGiven = cmd->count("--hit-rate") > 0;
    llvm::Error error = glmc::refuseEmptyValues(*cmd);
    result = glmc::exitCode(error ? std::move(error) : run(*flags));
  });
}
