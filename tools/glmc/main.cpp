// glmc: checkpoint in, plan file out. Exit codes: 0 done, 1 bad input or no output, 2 usage,
// 130 interrupted.

#include "tools/glmc/Commands.h"

#include "compiler/InterruptedError.h"
#include "compiler/UsageError.h"
#include "runtime/base/standard_streams.h"

#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

int glm::glmc::exitCode(llvm::Error error) {
  if (!error)
    return 0;
  const int code = error.isA<UsageError>() ? 2 : error.isA<InterruptedError>() ? 130 : 1;
  llvm::errs() << "glmc: " << llvm::toString(std::move(error)) << "\n";
  return code;
}

int main(int argc, char **argv) {
  glm::OpenStandardStreams();
  CLI::App app{"glmc compiles a GLM-5.3 checkpoint into a plan that glmrun executes.\n"
               "\n"
               "  glmc compile models/glm53/nano/checkpoint -o nano.glmplan\n"
               "  glmc explain nano.glmplan          # what a token costs, and why\n"
               "  glmc compile --config config.json --weights none -o full.glmplan\n"
               "\n"
               "Exit codes: 0 done, 1 bad input or no output, 2 usage: an option, its value or\n"
               "what options ask for together, 130 interrupted (Ctrl-C)."};
  app.set_version_flag("--version", "glmc " GLM_VERSION);
  app.require_subcommand(1);
  int result = 0;
  glm::glmc::addCompile(app, result);
  glm::glmc::addExplain(app, result);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::errs() << "glmc: standard output: " << llvm::outs().error().message()
                 << "; some of the output is lost\n";
    llvm::outs().clear_error();
    return 1;
  }
  return result;
}
