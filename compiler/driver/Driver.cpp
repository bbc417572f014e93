//===- Driver.cpp - From a checkpoint to a plan file ----------------------===//

#include "compiler/driver/Driver.h"

#include "compiler/InterruptedError.h"
#include "compiler/UsageError.h"
#include "compiler/driver/CheckedOptions.h"
#include "compiler/driver/ModelInputs.h"
#include "compiler/driver/WeightFiles.h"
#include "compiler/plan/FileLock.h"
#include "compiler/plan/PlanWriter.h"
#include "passes/Passes.h"
#include "runtime/plan/plan_reader.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Support/Timing.h"

#include <unistd.h>

using namespace mlir;
using namespace glm;
using namespace glm::driver;
using llvm::Error;

namespace {

Error fail(const Twine &text) { return llvm::createStringError(text); }

/// One compilation: the steps share what they read.
class Compilation {
public:
  Compilation(const DriverOptions &options, llvm::raw_ostream &out)
      : options(options), out(out),
        diagnostics(&context, [&](Diagnostic &d) { return take(d); }) {
    context.loadDialect<model::GlmDialect, kern::KernDialect, planir::PlanDialect>();
    timing.setEnabled(options.timing);
    root = timing.getRootScope();
  }

  Error run() {
    auto targets = checkTargets(options);
    if (!targets)
      return targets.takeError();
    llvm::scope_exit unlock([&] {
      if (lock >= 0) {
        llvm::sys::fs::remove(fresh());
        ::close(lock);
      }
    });
    if (Error e = lower())
      return e;
    if (options.last < pipeline::Phase::Source) {
      module->print(out);
      out << "\n";
      return Error::success();
    }
    Error error = emitPlan(*targets);
    if (error && packed.isUnpublished() && options.note)
      options.note(packed.written() + ": is complete and kept for the next call");
    return error;
  }

  llvm::Expected<std::string> tables() {
    if (Error e = lower())
      return e;
    return planfile::planTables(*module->getOps<planir::PlanOp>().begin());
  }

private:
  /// What becomes the plan; locked from the first work on, so that two processes
  /// never make one plan.
  std::string fresh() const { return options.output + ".new"; }

  /// Everything up to the last pass of options.last.
  Error lower() {
    PassManager passes(&context);
    if (failed(pipeline::buildPipeline(passes, pipelineOptions())))
      return usageError(errors);
    if (Error e = checkOutput(options))
      return e;
    if (options.last == pipeline::Phase::Emit) {
      auto locked = planfile::openLocked(fresh(), options.output);
      if (!locked)
        return locked.takeError();
      lock = *locked;
      if (Error e = codegen::checkCompiler(options.clang))
        return e;
    }
    TimingScope reading = begin("read");
    auto inputs = readInputs(options);
    if (!inputs)
      return inputs.takeError();
    tokenizer = std::move(inputs->tokenizer);
    auto build = checkSizes(options, inputs->config);
    if (!build)
      return build.takeError();
    if (Error e = checkPagedExperts(options, inputs->config, inputs->weights))
      return e;
    reading.stop();
    if (options.ranks > 1)
      if (Error e = shard(*inputs))
        return e;
    TimingScope building = begin("build");
    module = glm53::buildModule(&context, inputs->config, inputs->weights, *build);
    if (!module)
      return irError("the frontend made IR that does not verify");
    if (weightFiles)
      module.get()->setAttr("glm.weight_files", weightFiles);
    module.get()->setAttr("glm.fuse", StringAttr::get(&context,
                                                      options.fuse ? "on" : "off"));
    module.get()->setAttr("glm.producer",
                          StringAttr::get(&context, options.commandLine));
    building.stop();
    if (options.last == pipeline::Phase::Emit && options.ranks == 1) {
      TimingScope files = root.nest("weight files");
      if (Error e = recordWeightFiles(*module, inputs->weights, options, packed))
        return e;
    }
    if (Error e = runPasses(passes))
      return e;
    if (options.cancel && options.cancel->load())
      return interruptedError("interrupted");
    return Error::success();
  }

  /// Leaves in `inputs` what a rank has. Routed experts are packed as the rows of
  /// each rank; all others are packed and quantised whole and divided afterwards.
  Error shard(ModelInputs &inputs) {
    auto config = inputs.config.shard(options.ranks);
    if (!config)
      return asUsage(config.takeError());
    // Packing takes minutes; what does not divide is refused before it.
    if (auto fits = inputs.weights.shard(options.ranks); !fits)
      return asUsage(fits.takeError());
    if (options.last == pipeline::Phase::Emit) {
      TimingScope files = root.nest("weight files");
      if (options.pack)
        inputs.weights = llvm::cantFail(inputs.weights.shardExperts(options.ranks));
      OwningOpRef<ModuleOp> stored =
          glm53::declareWeights(&context, inputs.weights, options.ranks);
      if (Error e = recordWeightFiles(*stored, inputs.weights, options, packed))
        return e;
      glm53::takePieces(inputs.weights, *stored);
      weightFiles = stored.get()->getAttr("glm.weight_files");
    }
    auto weights = inputs.weights.shard(options.ranks);
    if (!weights)
      return asUsage(weights.takeError());
    inputs.config = std::move(*config);
    inputs.weights = std::move(*weights);
    return Error::success();
  }
  Error asUsage(Error error) {
    return usageError("--tp " + Twine(options.ranks) + ": " +
                      llvm::toString(std::move(error)));
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
  /// A stage begins: told, and timed until what is returned ends.
  TimingScope begin(StringRef stage) {
    report(stage, 0, 0);
    return root.nest(stage.str());
  }

  pipeline::PipelineOptions pipelineOptions() const {
    pipeline::PipelineOptions pass;
    pass.fuse = options.fuse;
    pass.last = options.last;
    pass.disabled = options.disabledPasses;
    return pass;
  }

  Error runPasses(PassManager &pm) {
    TimingScope passes = begin("passes");
    if (options.printAfterAll) {
      context.disableMultithreading();
      pm.enableIRPrinting([](Pass *, Operation *) { return false; },
                          [](Pass *, Operation *) { return true; },
                          /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/true,
                          /*printAfterOnlyOnFailure=*/false, llvm::errs());
    }
    pm.enableTiming(passes);
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
    if (failed(pm.run(*module)))
      return irError("compilation stopped");
    return Error::success();
  }

  Error emitPlan(ArrayRef<codegen::CodeTarget> targets) {
    TimingScope generation = begin("source");
    // The plan carries one complete source; the host's is compiled in halves.
    auto whole = codegen::emitKernels(*module, /*parts=*/1);
    auto halves = codegen::emitKernels(*module, /*parts=*/2);
    if (failed(whole) || failed(halves))
      return irError("kernel generation stopped");
    planfile::Attachments attachments;
    for (const codegen::KernelSource &source : *whole)
      attachments.source += source.text;
    generation.stop();
    if (options.last == pipeline::Phase::Source) {
      out << attachments.source;
      return Error::success();
    }
    for (const codegen::CodeTarget &target : targets) {
      const std::string stage = "kernels for " + target.text();
      TimingScope compiling = root.nest(stage);
      codegen::CompileOptions clang = options.clang;
      clang.cancel = options.cancel;
      clang.progress = [&](size_t done, size_t total) { report(stage, done, total); };
      auto code =
          codegen::compileKernels(target.isHost() ? *halves : *whole, target, clang);
      if (!code)
        return code.takeError();
      attachments.code.push_back({target.name, target.isa, std::move(*code)});
    }
    attachments.tokenizer = tokenizer;
    TimingScope writing = begin("write");
    PassManager pm(&context);
    pm.enableTiming(writing);
    pm.addPass(passes::createLowerKernToPlanPass());
    if (failed(pm.run(*module)))
      return irError("compilation stopped");
    auto plan = *module->getOps<planir::PlanOp>().begin();
    return publish(plan, attachments);
  }

  /// Writes the plan beside its name, reads it back as glmrun will, and only then
  /// lets it and the packed weights replace what had their names.
  Error publish(planir::PlanOp plan, const planfile::Attachments &attachments) {
    const std::string temp = fresh();
    if (Error e = planfile::writePlan(plan, attachments, temp))
      return e;
    if (auto file = PlanFile::Open(temp); !file.ok())
      return fail("internal error, the plan does not pass its own check: " +
                  std::string(file.status().message()));
    if (Error e = packed.publish())
      return e;
    if (std::error_code ec = llvm::sys::fs::rename(temp, options.output))
      return fail(options.output + ": " + ec.message());
    // Its name is free: a file that has it now is another process's.
    ::close(std::exchange(lock, -1));
    return Error::success();
  }

  const DriverOptions &options;
  llvm::raw_ostream &out;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  ScopedDiagnosticHandler diagnostics;
  std::string errors;
  std::string tokenizer; // text of tokenizer.json
  Attribute weightFiles; // of weights that were recorded before they were divided
  PackedWeights packed;
  int lock = -1; // of fresh()
  DefaultTimingManager timing;
  TimingScope root;
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
