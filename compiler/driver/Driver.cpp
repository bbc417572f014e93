//===- Driver.cpp - From a checkpoint to a plan file ----------------------===//

#include "compiler/driver/Driver.h"

#include "compiler/plan/PlanWriter.h"
#include "compiler/plan/WeightPacker.h"
#include "passes/Passes.h"
#include "runtime/plan/plan_reader.h"
#include "runtime/safetensors/checkpoint.h"
#include "runtime/safetensors/weight_fingerprint.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "mlir/IR/Remarks.h"

#include <filesystem>

using namespace mlir;
using namespace glm;
using namespace glm::driver;
using llvm::Error;

namespace {

Error fail(const Twine &text) { return llvm::createStringError(text); }

Error fromStatus(const absl::Status &status) {
  return fail(std::string(status.message()));
}

/// One compilation: the steps share what they read.
class Compilation {
public:
  Compilation(const DriverOptions &options, llvm::raw_ostream &out)
      : options(options), out(out),
        diagnostics(&context, [&](Diagnostic &d) { return take(d); }) {
    context.loadDialect<model::GlmDialect, kern::KernDialect, planir::PlanDialect>();
  }

  ~Compilation() {
    if (!packedTemp.empty())
      llvm::sys::fs::remove(packedTemp);
  }

  Error run() {
    std::vector<codegen::CodeTarget> targets;
    for (const std::string &text : options.targets) {
      auto target = codegen::CodeTarget::parse(text);
      if (!target)
        return target.takeError();
      targets.push_back(*target);
    }
    if (Error e = lower())
      return e;
    if (options.last < pipeline::Phase::Source) {
      module->print(out);
      out << "\n";
      return Error::success();
    }
    return emitPlan(targets);
  }

  llvm::Expected<std::string> tables() {
    if (Error e = lower())
      return e;
    return planfile::planTables(*module->getOps<planir::PlanOp>().begin());
  }

private:
  /// Everything up to the last pass of options.last.
  Error lower() {
    if (Error e = checkOutput())
      return e;
    if (Error e = readModel())
      return e;
    if (Error e = checkSizes())
      return e;
    report("build", 0, 0);
    build.math = options.math;
    build.prefillChunk = options.prefillChunk;
    module = glm53::buildModule(&context, *config, *weights, build);
    if (!module)
      return irError("the frontend made IR that does not verify");
    module.get()->setAttr("glm.fuse", StringAttr::get(&context,
                                                      options.fuse ? "on" : "off"));
    module.get()->setAttr("glm.producer",
                          StringAttr::get(&context, options.commandLine));
    if (options.last == pipeline::Phase::Emit)
      if (Error e = recordWeightFiles())
        return e;
    return runPasses();
  }

  LogicalResult take(Diagnostic &d) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << d;
    if (auto name = d.getLocation()->findInstanceOf<NameLoc>())
      os << " (at " << name.getName().getValue() << ")";
    if (d.getSeverity() == DiagnosticSeverity::Error) {
      (errors += errors.empty() ? "" : "\n") += text;
    } else if (d.getSeverity() == DiagnosticSeverity::Remark) {
      llvm::errs() << "remark: " << text << "\n";
    } else if (options.warn) {
      options.warn(text);
    }
    return success();
  }
  Error irError(StringRef what) {
    return fail(what + (errors.empty() ? "" : ": ") + errors);
  }
  void report(StringRef stage, uint64_t done, uint64_t total) {
    if (options.progress)
      options.progress(stage, done, total);
  }

  /// True for the configuration and for every file of the checkpoint's folder.
  bool isInput(StringRef path) {
    bool same = false;
    if (!options.config.empty())
      return !llvm::sys::fs::equivalent(options.config, path, same) && same;
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator it(options.checkpoint, ec), end;
         it != end && !ec; it.increment(ec)) {
      StringRef name = llvm::sys::path::filename(it->path());
      bool ours = name.ends_with(".glmplan") || name.ends_with(".glmweights");
      if (!ours && !llvm::sys::fs::equivalent(it->path(), path, same) && same)
        return true;
    }
    return false;
  }

  /// Long work should not end at a folder that is not there.
  Error checkOutput() {
    if (options.last != pipeline::Phase::Emit)
      return Error::success();
    SmallString<256> folder(options.output);
    llvm::sys::path::remove_filename(folder);
    if (!folder.empty() && !llvm::sys::fs::is_directory(folder))
      return fail(options.output + ": the folder " + folder +
                  " does not exist; create it or choose another -o");
    if (llvm::sys::fs::is_directory(options.output))
      return fail(options.output + ": is a folder; -o names the plan file");
    if (llvm::sys::fs::exists(options.output)) {
      if (!llvm::sys::fs::is_regular_file(options.output))
        return fail(options.output + ": is not a regular file; -o names the plan file");
      if (isInput(options.output))
        return fail(options.output + ": is an input of this compilation; choose "
                                     "another -o");
    }
    if (llvm::sys::fs::access(folder.empty() ? Twine(".") : Twine(folder),
                              llvm::sys::fs::AccessMode::Write))
      return fail(options.output + ": the folder is not writable");
    return Error::success();
  }

  Error readModel() {
    report("read", 0, 0);
    if (options.checkpoint.empty()) {
      auto parsed = glm53::Config::parseFile(options.config);
      if (!parsed)
        return parsed.takeError();
      config = std::move(*parsed);
      weights = glm53::Weights::declare(*config, weightOptions());
      return Error::success();
    }
    auto loaded = glm53::Config::load(options.checkpoint);
    if (!loaded)
      return loaded.takeError();
    config = std::move(*loaded);
    auto checkpoint = Checkpoint::Open(options.checkpoint);
    if (!checkpoint.ok())
      return fromStatus(checkpoint.status());
    auto resolved = glm53::Weights::resolve(*config, *checkpoint, weightOptions());
    if (!resolved)
      return resolved.takeError();
    weights = std::move(*resolved);
    if (options.warn)
      for (const std::string &text : weights->warnings())
        options.warn(text);
    return readTokenizer();
  }

  glm53::WeightOptions weightOptions() const {
    glm53::WeightOptions wanted;
    wanted.dense = options.dense;
    wanted.denseHead = options.denseHead;
    return wanted;
  }

  Error readTokenizer() {
    SmallString<256> path(options.checkpoint);
    llvm::sys::path::append(path, "tokenizer.json");
    if (!llvm::sys::fs::exists(path)) {
      if (options.warn)
        options.warn((path + ": not found; the plan takes token ids only").str());
      return Error::success();
    }
    uint64_t size = 0;
    if (!llvm::sys::fs::is_regular_file(path) || llvm::sys::fs::file_size(path, size))
      return fail(path + ": not a regular file");
    if (size > kMaxTokenizerBytes)
      return fail(path + ": " + Twine(size) + " bytes are more than the " +
                  Twine(kMaxTokenizerBytes) + " that are allowed");
    auto text = llvm::MemoryBuffer::getFile(path);
    if (!text)
      return fail(path + ": " + text.getError().message());
    tokenizer = (*text)->getBuffer().str();
    if (!options.readTokenizer)
      return Error::success();
    auto ids = options.readTokenizer(tokenizer, path);
    if (!ids)
      return ids.takeError();
    for (int32_t id : *ids)
      if (!llvm::is_contained(config->generation.stopIds, id))
        config->generation.stopIds.push_back(id);
    return Error::success();
  }

  Error checkSizes() {
    const int64_t limit = config->maxPositionEmbeddings, pool = config->indexKpool;
    int64_t context = options.maxContext;
    if (context == 0)
      context = std::min(limit, kDefaultContext);
    if (context < pool || context > limit)
      return fail("--max-context " + Twine(context) + ": the model takes " +
                  Twine(pool) + " to " + Twine(limit) + " tokens");
    build.maxContext = context;
    build.decodeBatches.clear();
    if (options.prefillChunk < 1 || options.prefillChunk > 65536)
      return fail("--prefill-chunk " + Twine(options.prefillChunk) +
                  ": expected 1 to 65536 tokens");
    for (int64_t tokens : options.verify) {
      if (tokens < 2 || tokens > 64)
        return fail("--verify " + Twine(tokens) + ": expected 2 to 64 tokens");
      if (!llvm::is_contained(build.verifyTokens, tokens))
        build.verifyTokens.push_back(tokens);
    }
    for (int64_t batch : options.batches) {
      if (batch < 1 || batch > 256)
        return fail("--batch " + Twine(batch) + ": expected 1 to 256 sequences");
      if (!llvm::is_contained(build.decodeBatches, batch))
        build.decodeBatches.push_back(batch);
    }
    if (build.decodeBatches.empty())
      return fail("--batch names no batch size");
    // Every plan can decode one sequence.
    if (!llvm::is_contained(build.decodeBatches, 1))
      build.decodeBatches.insert(build.decodeBatches.begin(), 1);
    return Error::success();
  }

  /// Fingerprints the files that the pieces lie in; first packs and quantises what
  /// is to lie beside the plan.
  Error recordWeightFiles() {
    std::vector<std::string> paths;
    for (const glm53::Weights::File &file : weights->files())
      paths.push_back(file.path);
    std::vector<std::string> names = paths; // as the plan records them
    if (!paths.empty() && (options.pack || planfile::hasSources(*module))) {
      SmallString<256> packed(options.output);
      llvm::sys::path::replace_extension(packed, "glmweights");
      if (packed == options.output)
        return fail(options.output + ": is the name of the packed weights; give the "
                                     "plan another one (.glmplan)");
      planfile::PackProgress progress{[&](uint64_t done, uint64_t total) {
        report(options.pack ? "pack" : "quantise", done, total);
      }};
      // Under its own name only when the plan is complete.
      packedFinal = packed.str().str();
      packedTemp = packedFinal + ".new";
      llvm::sys::RemoveFileOnSignal(packedTemp);
      using planfile::PackWhat;
      if (Error e = planfile::packWeights(
              *module, paths, packedTemp,
              options.pack ? PackWhat::All : PackWhat::Quantised, progress))
        return e;
      paths.push_back(packedTemp);
      names.push_back(packedFinal);
      keepUsedFiles(paths, names);
    }
    Builder b(&context);
    SmallVector<Attribute> files;
    for (auto [i, path] : llvm::enumerate(paths)) {
      report("fingerprint", i, paths.size());
      auto print = FingerprintFile(path);
      if (!print.ok())
        return fromStatus(print.status());
      uint64_t size = 0;
      if (std::error_code ec = llvm::sys::fs::file_size(path, size))
        return fail(path + ": " + ec.message());
      files.push_back(b.getDictionaryAttr(
          {b.getNamedAttr("path", b.getStringAttr(relativeToOutput(names[i]))),
           b.getNamedAttr("size", b.getI64IntegerAttr(size)),
           b.getNamedAttr("fingerprint",
                          b.getI64IntegerAttr(static_cast<int64_t>(*print)))}));
    }
    module.get()->setAttr("glm.weight_files", b.getArrayAttr(files));
    return Error::success();
  }

  /// Leaves out the files that no piece lies in any more.
  void keepUsedFiles(std::vector<std::string> &paths,
                     std::vector<std::string> &names) {
    std::vector<int64_t> number(paths.size(), -1);
    std::vector<std::string> usedPaths, usedNames;
    for (auto weight : module->getOps<model::WeightOp>()) {
      if (!weight.getPieces())
        continue;
      SmallVector<int64_t> pieces(*weight.getPieces());
      for (size_t i = 0; i < pieces.size(); i += 3) {
        int64_t &fresh = number[pieces[i]];
        if (fresh < 0) {
          fresh = static_cast<int64_t>(usedPaths.size());
          usedPaths.push_back(paths[pieces[i]]);
          usedNames.push_back(names[pieces[i]]);
        }
        pieces[i] = fresh;
      }
      weight.setPieces(ArrayRef(pieces));
    }
    paths = std::move(usedPaths);
    names = std::move(usedNames);
  }

  /// Plan and weights may move together, so paths are kept relative. Names stay as
  /// they were given: the target of a link may have a name that says nothing.
  std::string relativeToOutput(StringRef path) {
    std::error_code ec;
    auto full = std::filesystem::absolute(path.str(), ec).lexically_normal();
    auto base = std::filesystem::absolute(options.output, ec)
                    .lexically_normal()
                    .parent_path();
    auto relative = full.lexically_relative(base);
    return relative.empty() ? full.string() : relative.string();
  }

  Error runPasses() {
    report("passes", 0, 0);
    pipeline::PipelineOptions pass;
    pass.fuse = options.fuse;
    pass.last = options.last;
    pass.disabled = options.disabledPasses;
    PassManager pm(&context);
    if (options.printAfterAll) {
      context.disableMultithreading();
      pm.enableIRPrinting([](Pass *, Operation *) { return false; },
                          [](Pass *, Operation *) { return true; },
                          /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/true,
                          /*printAfterOnlyOnFailure=*/false, llvm::errs());
    }
    if (options.timing)
      pm.enableTiming();
    if (options.remarks) {
      // `all` alone enables no kind of remark.
      mlir::remark::RemarkCategories ours;
      ours.passed = ours.missed = "glm-.*";
      if (failed(mlir::remark::enableOptimizationRemarks(
              context, nullptr,
              std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), ours,
              /*printAsEmitRemarks=*/true)))
        return fail("remarks cannot be enabled");
    }
    if (failed(pipeline::buildPipeline(pm, pass)) || failed(pm.run(*module)))
      return irError("compilation stopped");
    return Error::success();
  }

  Error emitPlan(ArrayRef<codegen::CodeTarget> targets) {
    // The plan carries one complete source; the host's is compiled in halves.
    auto whole = codegen::emitKernels(*module, /*parts=*/1);
    auto halves = codegen::emitKernels(*module, /*parts=*/2);
    if (failed(whole) || failed(halves))
      return irError("kernel generation stopped");
    planfile::Attachments attachments;
    for (const codegen::KernelSource &source : *whole)
      attachments.source += source.text;
    if (options.last == pipeline::Phase::Source) {
      out << attachments.source;
      return Error::success();
    }
    for (const codegen::CodeTarget &target : targets) {
      const auto &sources = target.isHost() ? *halves : *whole;
      report("kernels", 0, sources.size());
      codegen::CompileOptions clang = options.clang;
      clang.progress = [&](size_t done, size_t total) {
        report("kernels", done, total);
      };
      auto code = codegen::compileKernels(sources, target, clang);
      if (!code)
        return code.takeError();
      attachments.code.push_back({target.name, target.isa, std::move(*code)});
    }
    attachments.tokenizer = tokenizer;
    PassManager pm(&context);
    pm.addPass(passes::createLowerKernToPlanPass());
    if (failed(pm.run(*module)))
      return irError("compilation stopped");
    report("write", 0, 0);
    auto plan = *module->getOps<planir::PlanOp>().begin();
    return publish(plan, attachments);
  }

  /// Writes the plan beside its name, reads it back as glmrun will, and only then
  /// lets it and the packed weights replace what had their names.
  Error publish(planir::PlanOp plan, const planfile::Attachments &attachments) {
    std::string temp = options.output + ".new";
    llvm::scope_exit cleanup([&] { llvm::sys::fs::remove(temp); });
    if (Error e = planfile::writePlan(plan, attachments, temp))
      return e;
    if (auto file = PlanFile::Open(temp); !file.ok())
      return fail("internal error, the plan does not pass its own check: " +
                  std::string(file.status().message()));
    if (!packedTemp.empty())
      if (std::error_code ec = llvm::sys::fs::rename(packedTemp, packedFinal))
        return fail(packedFinal + ": " + ec.message());
    if (!packedTemp.empty())
      llvm::sys::DontRemoveFileOnSignal(packedTemp);
    if (std::error_code ec = llvm::sys::fs::rename(temp, options.output))
      return fail(options.output + ": " + ec.message());
    packedTemp.clear();
    return Error::success();
  }

  const DriverOptions &options;
  llvm::raw_ostream &out;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  ScopedDiagnosticHandler diagnostics;
  std::string errors;
  std::string tokenizer;               // text of tokenizer.json
  std::string packedTemp, packedFinal; // with --pack
  std::optional<glm53::Config> config;
  std::optional<glm53::Weights> weights;
  glm53::BuildOptions build;
  OwningOpRef<ModuleOp> module;
};

} // namespace

llvm::Expected<std::string> driver::compileTables(const DriverOptions &options) {
  DriverOptions tables = options;
  tables.last = pipeline::Phase::Plan;
  return Compilation(tables, llvm::nulls()).tables();
}

Error driver::compile(const DriverOptions &options, llvm::raw_ostream &out) {
  return Compilation(options, out).run();
}
