// glmc explain

#include "tools/glmc/Commands.h"

#include "compiler/plan/PlanSummary.h"
#include "runtime/plan/plan_reader.h"

#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

#include <memory>

using namespace glm;

void glmc::addExplain(CLI::App &app, int &result) {
  struct Flags {
    std::string plan;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *cmd = app.add_subcommand(
      "explain", "Show what a plan launches, reads and needs, kernel by kernel");
  cmd->add_option("plan", flags->plan, "Plan file")->required();
  cmd->add_flag("--json", flags->json,
                "JSON with launches, weight_bytes, state_bytes_per_sequence and "
                "state_bytes_per_token of one decoded token");
  cmd->callback([flags, &result] {
    auto file = PlanFile::Open(flags->plan);
    if (!file.ok()) {
      llvm::errs() << "glmc: " << std::string(file.status().message()) << "\n";
      result = 1;
      return;
    }
    planfile::PlanSummary summary = planfile::summarise((*file)->plan());
    llvm::outs() << (flags->json ? planfile::toJson(summary) + "\n"
                                 : planfile::toText(summary));
  });
}
