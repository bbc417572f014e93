//===- Driver.cpp - From a checkpoint to a plan file ----------------------===//

#include "compiler/driver/Driver.h"

#include "compiler/plan/PlanWriter.h"
#include "compiler/plan/WeightPacker.h"
#include "passes/Passes.h"
#include "runtime/safetensors/checkpoint.h"
#include "runtime/safetensors/weight_fingerprint.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "mlir/IR/Remarks.h"

#include <filesystem>

using namespace mlir;
using namespace glm;
using namespace glm::driver;
using llvm::Error;
using llvm::Expected;

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

  Error run() {
    std::vector<codegen::CodeTarget> targets;
    for (const std::string &text : options.targets) {
      auto target = codegen::CodeTarget::parse(text);
      if (!target)
        return target.takeError();
      targets.push_back(*target);
    }
    if (Error e = readModel())
      return e;
    if (Error e = checkSizes())
      return e;
    report("build", 0, 0);
    build.math = options.math;
    build.decodeBatches = options.batches;
    build.prefillChunk = options.prefillChunk;
    module = glm53::buildModule(&context, *config, *weights, build);
    if (!module)
      return irError("the frontend made IR that does not verify");
    module.get()->setAttr("glm.fuse", StringAttr::get(&context,
                                                      options.fuse ? "on" : "off"));
    module.get()->setAttr("glm.producer",
                          StringAttr::get(&context, options.commandLine));
    const bool emit = options.last == pipeline::Phase::Emit;
    if (emit)
      if (Error e = recordWeightFiles())
        return e;
    if (Error e = runPasses())
      return e;
    if (!emit && options.last != pipeline::Phase::Source) {
      module->print(out);
      out << "\n";
      return Error::success();
    }
    return emitPlan(targets);
  }

private:
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

  Error readModel() {
    report("read", 0, 0);
    if (options.checkpoint.empty()) {
      auto text = llvm::MemoryBuffer::getFile(options.config);
      if (!text)
        return fail(options.config + ": " + text.getError().message());
      auto parsed = glm53::Config::parse((*text)->getBuffer(), options.config);
      if (!parsed)
        return parsed.takeError();
      config = std::move(*parsed);
      weights = glm53::Weights::declare(*config);
      return Error::success();
    }
    auto loaded = glm53::Config::load(options.checkpoint);
    if (!loaded)
      return loaded.takeError();
    config = std::move(*loaded);
    auto checkpoint = Checkpoint::Open(options.checkpoint);
    if (!checkpoint.ok())
      return fromStatus(checkpoint.status());
    auto resolved = glm53::Weights::resolve(*config, *checkpoint);
    if (!resolved)
      return resolved.takeError();
    weights = std::move(*resolved);
    if (options.warn)
      for (const std::string &text : weights->warnings())
        options.warn(text);
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
    build.maxContext = context / pool * pool;
    if (options.prefillChunk < 1 || options.prefillChunk > 65536)
      return fail("--prefill-chunk " + Twine(options.prefillChunk) +
                  ": expected 1 to 65536 tokens");
    for (int64_t batch : options.batches)
      if (batch < 1 || batch > 256)
        return fail("--batch " + Twine(batch) + ": expected 1 to 256 sequences");
    return Error::success();
  }

  /// Fingerprints the files that the pieces lie in; packs them first when asked.
  Error recordWeightFiles() {
    std::vector<std::string> paths;
    for (const glm53::Weights::File &file : weights->files())
      paths.push_back(file.path);
    if (options.pack && !paths.empty()) {
      SmallString<256> packed(options.output);
      llvm::sys::path::replace_extension(packed, "glmweights");
      planfile::PackProgress progress{[&](uint64_t done, uint64_t total) {
        report("pack", done, total);
      }};
      if (Error e = planfile::packWeights(*module, paths, packed, progress))
        return e;
      paths = {packed.str().str()};
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
          {b.getNamedAttr("path", b.getStringAttr(relativeToOutput(path))),
           b.getNamedAttr("size", b.getI64IntegerAttr(size)),
           b.getNamedAttr("fingerprint",
                          b.getI64IntegerAttr(static_cast<int64_t>(*print)))}));
    }
    module.get()->setAttr("glm.weight_files", b.getArrayAttr(files));
    return Error::success();
  }

  /// Plan and weights may move together, so paths are kept relative.
  std::string relativeToOutput(StringRef path) {
    std::error_code ec;
    auto full = std::filesystem::weakly_canonical(path.str(), ec);
    auto base = std::filesystem::weakly_canonical(
        std::filesystem::absolute(options.output, ec).parent_path(), ec);
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
    if (!options.checkpoint.empty()) {
      SmallString<256> path(options.checkpoint);
      llvm::sys::path::append(path, "tokenizer.json");
      if (auto text = llvm::MemoryBuffer::getFile(path))
        attachments.tokenizer = (*text)->getBuffer().str();
      else if (options.warn)
        options.warn((path + ": not found; the plan takes token ids only").str());
    }
    PassManager pm(&context);
    pm.addPass(passes::createLowerKernToPlanPass());
    if (failed(pm.run(*module)))
      return irError("compilation stopped");
    report("write", 0, 0);
    auto plan = *module->getOps<planir::PlanOp>().begin();
    return planfile::writePlan(plan, attachments, options.output);
  }

  const DriverOptions &options;
  llvm::raw_ostream &out;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  ScopedDiagnosticHandler diagnostics;
  std::string errors;
  std::optional<glm53::Config> config;
  std::optional<glm53::Weights> weights;
  glm53::BuildOptions build;
  OwningOpRef<ModuleOp> module;
};

} // namespace

Error driver::compile(const DriverOptions &options, llvm::raw_ostream &out) {
  return Compilation(options, out).run();
}
