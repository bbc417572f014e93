// glmc compile

#include "tools/glmc/Commands.h"
#include "tools/glmc/Interrupts.h"
#include "tools/glmc/PlanFlags.h"
#include "tools/glmc/ProgressLine.h"

#include "compiler/UsageError.h"
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
  bool quiet = false, json = false, noCache = false;
};

/// Turns the flags' text into options. Errors: UsageError, when they do not fit.
llvm::Error finishFlags(Flags &flags) {
  driver::DriverOptions &o = flags.options;
  if (o.checkpoint.empty() == o.config.empty())
    return usageError("give either a checkpoint folder or --config FILE --weights none");
  if (!o.config.empty() && flags.weights != "none")
    return usageError("--config compiles a plan without weights; say --weights none");
  if (!o.checkpoint.empty() && flags.weights == "none")
    return usageError("--weights none goes with --config FILE, not with a checkpoint");
  if (o.pack && !o.config.empty())
    return usageError("--pack needs a checkpoint");
  auto phase = pipeline::phaseByName(flags.phase);
  if (!phase)
    return usageError("--compile-to=" + flags.phase + ": phases are " +
                      pipeline::phaseNames());
  o.last = *phase;
  if (o.last == pipeline::Phase::Emit && o.output.empty())
    return usageError("-o FILE is missing");
  for (auto [given, name] : {std::pair(!o.output.empty(), "-o"),
                             std::pair(o.pack, "--pack"), std::pair(flags.json, "--json")})
    if (given && o.last != pipeline::Phase::Emit)
      return usageError(llvm::Twine(name) + " is of the plan file, which --compile-to=" +
                        flags.phase + " does not write; its text goes to standard output");
  auto targets = glmc::splitList("--target", flags.targets);
  if (!targets)
    return targets.takeError();
  o.targets = std::move(*targets);
  o.clang.useCache = !flags.noCache;
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

llvm::Error run(Flags &flags) {
  if (llvm::Error e = finishFlags(flags))
    return e;
  driver::DriverOptions &o = flags.options;
  glmc::ProgressLine line;
  glmc::Interrupts interrupts;
  o.cancel = interrupts.flag();
  if (!flags.quiet) {
    o.progress = [&](llvm::StringRef stage, uint64_t done, uint64_t total) {
      line.show(stage, done, total);
    };
    o.warn = [&](llvm::StringRef text) {
      line.clear();
      llvm::errs() << "glmc: warning: " << text << "\n";
    };
    o.note = [&](llvm::StringRef text) {
      line.clear();
      llvm::errs() << "glmc: " << text << "\n";
    };
  }
  o.readTokenizer = readTokenizer;
  llvm::Error error = driver::compile(o, llvm::outs());
  line.clear();
  if (error || o.last != pipeline::Phase::Emit)
    return error;
  auto file = PlanFile::Open(o.output);
  if (!file.ok())
    return llvm::createStringError(std::string(file.status().message()));
  planfile::PlanSummary summary = planfile::summarise((*file)->plan());
  if (flags.json)
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  llvm::json::Value(planfile::toJson(summary)));
  else if (!flags.quiet)
    llvm::outs() << "wrote " << o.output << "\n"
                 << planfile::toText(summary);
  return llvm::Error::success();
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
                "Copy the weights into one .glmweights file beside the plan, with checksums; "
                "with --tp, experts as the rows of each rank. What an earlier call left to do "
                "is gone on with");
  cmd->add_option("--compile-to", flags->phase,
                  "Stop after a phase and print it instead of writing a plan: " +
                      pipeline::phaseNames());
  cmd->add_option("--disable-pass", o.disabledPasses, "Leave a pass out (repeatable)");
  cmd->add_flag("--print-ir-after-all", o.printAfterAll, "Print the IR after each pass");
  cmd->add_flag("--timing", o.timing,
                "Print the time of each stage and pass, kernel compilation included");
  cmd->add_flag("--remarks", o.remarks, "Print what was fused and what was not, and why");
  cmd->add_option("--clang", o.clang.clang, "The clang++ 22 that compiles the kernels");
  cmd->add_flag("--no-cache", flags->noCache, "Do not use the cache of code objects");
  cmd->add_flag("-q,--quiet", flags->quiet, "Print errors only");
  cmd->add_flag("--json", flags->json, "Print the summary as JSON");
  cmd->footer("A plan without --pack refers to the checkpoint's files: keep them.\n"
              "--pack that was interrupted, or found the disk full, leaves MODEL.glmweights.partial\n"
              "and .journal; the same command goes on from there. To start over, remove them. A\n"
              ".glmweights that holds the same weights already is kept; to pack anew, remove it.\n"
              "Packed experts are those of the plan's --tp: another number packs anew.\n"
              "`glm-check weights PLAN` reads it all and compares checksums.\n"
              "--dense never touches router, mHC maps, norms, convolutions, kv_b_proj or\n"
              "the embedding, nor weights that are stored packed.\n"
              "Kernels are cached in $XDG_CACHE_HOME/glmc by hash of their source.");
  cmd->callback([flags, cmd, &result] {
    flags->options.commandLine = "glmc " GLM_VERSION;
    llvm::Error error = glmc::refuseEmptyValues(*cmd);
    result = glmc::exitCode(error ? std::move(error) : run(*flags));
  });
}
