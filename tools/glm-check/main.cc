// glm-check: is what a plan computes, and reads, right? Exit codes: 0 yes, 1
// no, 2 usage.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "runtime/base/standard_streams.h"
#include "tools/glm-check/commands.h"
#include "tools/options/option_checks.h"

namespace glm::check {

int ExitCode(const absl::StatusOr<bool>& pass) {
  if (!pass.ok()) {
    std::fprintf(stderr, "glm-check: %s\n",
                 std::string(pass.status().message()).c_str());
  }
  return pass.ok() && *pass ? 0 : 1;
}

void CheckValues(const CLI::App& command) {
  const std::string name = tools::EmptyValue(command);
  if (!name.empty()) throw CLI::ValidationError(name, "the value is empty");
}

}  // namespace glm::check

int main(int argc, char** argv) {
  glm::OpenStandardStreams();
  CLI::App app{
      "glm-check compares a plan with a reference, and its weights with their\n"
      "checksums.\n"
      "\n"
      "  glm-check golden nano.glmplan golden.safetensors   recorded tensors\n"
      "  glm-check ops nano.glmplan                         each launch on its "
      "own\n"
      "  glm-check weights nano.glmplan                     packed weights"};
  app.require_subcommand(1);
  int result = 0;
  glm::check::AddGolden(app, result);
  glm::check::AddOps(app, result);
  glm::check::AddWeights(app, result);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (const absl::Status status = glm::FlushStandardOutput(); !status.ok()) {
    std::fprintf(stderr, "glm-check: %s\n",
                 std::string(status.message()).c_str());
    return 1;
  }
  return result;
}
