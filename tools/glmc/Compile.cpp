// glmc compile

#include "tools/glmc/Commands.h"
#include "tools/glmc/PlanFlags.h"
#include "tools/glmc/ProgressLine.h"

#include "compiler/driver/Driver.h"
#include "compiler/plan/PlanSummary.h"
#include "runtime/plan/plan_reader.h"
#include "runtime/text/tokenizer.h"

#include <CLI/CLI.hpp>

#include <memory>

using namespace glm;

namespace {

struct Flags {
  driver::DriverOptions options;
  glmc::PlanFlags plan;
  std::string weights = "checkpoint", phase = "emit", targets = "host";
  bool quiet = false, json = false;
};

int fail(const llvm::Twine &text, int code) {
  llvm::errs() << "glmc: " << text << "\n";
  return code;
}

/// Turns the flags' text into options; an error text when they do not fit.
std::string finishFlags(Flags &flags) {
  driver::DriverOptions &o = flags.options;
  if (o.checkpoint.empty() == o.config.empty())
    return "give either a checkpoint folder or --config FILE --weights none";
  if (!o.config.empty() && flags.weights != "none")
    return "--config compiles a plan without weights; say --weights none";
  if (!o.checkpoint.empty() && flags.weights == "none")
    return "--weights none goes with --config FILE, not with a checkpoint";
  if (o.pack && !o.config.empty())
    return "--pack needs a checkpoint";
  auto phase = pipeline::phaseByName(flags.phase);
  if (!phase)
    return "--compile-to=" + flags.phase + ": phases are " + pipeline::phaseNames();
  o.last = *phase;
  if (o.last == pipeline::Phase::Emit && o.output.empty())
    return "-o FILE is missing";
  o.targets = glmc::splitList(flags.targets);
  if (o.targets.empty())
    return "--target is empty";
  return flags.plan.apply(o);
}

/// Checks a tokenizer.json as glmrun will read it; gives the ids of the markers of
/// the chat format that end an assistant's turn.
llvm::Expected<std::vector<int32_t>> readTokenizer(llvm::StringRef text,
                                                   llvm::StringRef path) {
  auto tokenizer = text::Tokenizer::FromJson({text.data(), text.size()},
                                             {path.data(), path.size()});
  if (!tokenizer.ok())
    return llvm::createStringError(std::string(tokenizer.status().message()));
  std::vector<int32_t> ids;
  for (const char *marker : {"<|endoftext|>", "<|user|>", "<|observation|>"})
    if (auto id = (*tokenizer)->TokenId(marker); id && (*tokenizer)->IsAdded(*id))
      ids.push_back(*id);
  return ids;
}

int run(Flags &flags) {
  if (std::string text = finishFlags(flags); !text.empty())
    return fail(text, 2);
  driver::DriverOptions &o = flags.options;
  glmc::ProgressLine line;
  o.progress = [&](llvm::StringRef stage, uint64_t done, uint64_t total) {
    line.show(stage, done, total);
  };
  o.warn = [&](llvm::StringRef text) {
    if (flags.quiet)
      return;
    line.clear();
    llvm::errs() << "glmc: warning: " << text << "\n";
  };
  o.readTokenizer = readTokenizer;
  llvm::Error error = driver::compile(o, llvm::outs());
  line.clear();
  if (error)
    return fail(llvm::toString(std::move(error)), 1);
  if (o.last != pipeline::Phase::Emit)
    return 0;
  auto file = PlanFile::Open(o.output);
  if (!file.ok())
    return fail(std::string(file.status().message()), 1);
  planfile::PlanSummary summary = planfile::summarise((*file)->plan());
  if (flags.json)
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  llvm::json::Value(planfile::toJson(summary)));
  else if (!flags.quiet)
    llvm::outs() << "wrote " << o.output << "\n"
                 << planfile::toText(summary);
  return 0;
}

} // namespace

void glmc::addCompile(CLI::App &app, int &result) {
  auto flags = std::make_shared<Flags>();
  driver::DriverOptions &o = flags->options;
  CLI::App *cmd = app.add_subcommand(
      "compile", "Compile a checkpoint (or a bare config.json) into a plan file");
  cmd->add_option("checkpoint", o.checkpoint,
                  "Folder with config.json and *.safetensors");
  cmd->add_option("-o,--output", o.output, "Plan file to write (.glmplan)");
  cmd->add_option("--config", o.config,
                  "config.json to plan for without weights (with --weights none)");
  cmd->add_option("--weights", flags->weights, "checkpoint or none")
      ->check(CLI::IsMember({"checkpoint", "none"}));
  flags->plan.add(*cmd);
  cmd->add_option("--target", flags->targets,
                  "Comma-separated code targets: host, host:x86-64-v3, host:x86-64-v4, "
                  "gfx1201, sm_90");
  cmd->add_flag("--pack", o.pack,
                "Copy the weights into one .glmweights file beside the plan");
  cmd->add_option("--compile-to", flags->phase,
                  "Stop after a phase and print it instead of writing a plan: " +
                      pipeline::phaseNames());
  cmd->add_option("--disable-pass", o.disabledPasses, "Leave a pass out (repeatable)");
  cmd->add_flag("--print-ir-after-all", o.printAfterAll, "Print the IR after each pass");
  cmd->add_flag("--timing", o.timing, "Print the time of each pass");
  cmd->add_flag("--remarks", o.remarks, "Print what was fused and what was not, and why");
  cmd->add_option("--clang", o.clang.clang, "The clang++ 22 that compiles the kernels");
  cmd->add_flag("!--no-cache", o.clang.useCache, "Do not use the cache of code objects");
  cmd->add_flag("-q,--quiet", flags->quiet, "Print errors only");
  cmd->add_flag("--json", flags->json, "Print the summary as JSON");
  cmd->footer("A plan without --pack refers to the checkpoint's files: keep them.\n"
              "--dense never touches router, mHC maps, norms, convolutions, kv_b_proj or\n"
              "the embedding, nor weights that are stored packed.\n"
              "Kernels are cached in $XDG_CACHE_HOME/glmc by hash of their source.");
  cmd->callback([flags, &result] {
    flags->options.commandLine = "glmc 0.1.0";
    result = run(*flags);
  });
}
