// glmrun: runs plans that glmc compiled.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "runtime/base/standard_streams.h"
#include "runtime/plan/plan_format.h"
#include "tools/glmrun/command.h"
#include "tools/options/option_checks.h"

namespace {

enum ExitCode {
  kOk = 0,
  kInput = 1,
  kUsage = 2,
  kEnvironment = 3,
  kInterrupted = 130
};

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
      return kInput;
    case absl::StatusCode::kCancelled:
      return kInterrupted;
    default:
      return kEnvironment;
  }
}

constexpr char kFooter[] =
    "Examples:\n"
    "  glmrun generate model.glmplan --prompt \"Once upon a time\" --greedy\n"
    "  glmrun generate model.glmplan --chat \"What is the capital of France?\" "
    "--json\n"
    "  glmrun chat model.glmplan\n"
    "  glmrun bench model.glmplan --profile\n"
    "  glmrun inspect model.glmplan\n"
    "  glmrun serve model.glmplan\n"
    "  glmrun doctor model.glmplan\n"
    "\n"
    "Exit codes: 0 done, 1 the plan, weights or prompt are at fault, 2 wrong\n"
    "usage, 3 this machine is at fault (memory, processor, device), 130\n"
    "interrupted: the first Ctrl-C ends after the step that runs, with the "
    "text\n"
    "so far, the second at once.\n";

std::string Version() {
  const auto number = [](uint32_t version) { return std::to_string(version); };
  return "glmrun " GLM_VERSION "\nplan files of version " +
         number(glm::plan::kOldestFileVersion) + " to " +
         number(glm::plan::kFileVersion) +
         "\ndevices: host (x86-64), cuda and hip through the driver that is "
         "installed";
}

}  // namespace

int main(int argc, char** argv) {
  glm::OpenStandardStreams();
  CLI::App app("Runs a plan that `glmc compile` made.", "glmrun");
  app.footer(kFooter);
  app.set_version_flag("--version", Version(),
                       "Print version, plan versions and devices, and exit");
  app.require_subcommand(1);
  glm::tools::Run run;
  glm::tools::AddGenerate(app, run);
  glm::tools::AddChat(app, run);
  glm::tools::AddBench(app, run);
  glm::tools::AddInspect(app, run);
  glm::tools::AddServe(app, run);
  glm::tools::AddDoctor(app, run);
  if (const std::string wrong = glm::tools::UnknownCommand(app, argc, argv);
      !wrong.empty()) {
    std::fprintf(stderr, "glmrun: %s\n", wrong.c_str());
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  if (const std::string name = glm::tools::EmptyValue(app); !name.empty()) {
    std::fprintf(stderr, "glmrun: %s: the value is empty\n", name.c_str());
    return kUsage;
  }
  absl::Status status = run();
  if (status.ok()) status = glm::FlushStandardOutput();
  if (!status.ok()) {
    std::fflush(stdout);
    std::fprintf(stderr, "glmrun: %s\n", std::string(status.message()).c_str());
  }
  return ExitCodeOf(status);
}
