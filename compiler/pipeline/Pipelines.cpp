//===- Pipelines.cpp - Phases and their passes ----------------------------===//

#include "compiler/pipeline/Pipelines.h"

#include "passes/Passes.h"

#include "llvm/ADT/StringSwitch.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace glm;
using namespace glm::pipeline;

std::optional<Phase> pipeline::phaseByName(StringRef name) {
  return llvm::StringSwitch<std::optional<Phase>>(name)
      .Case("import", Phase::Import)
      .Case("fuse", Phase::Fuse)
      .Case("kern", Phase::Kern)
      .Case("plan-memory", Phase::PlanMemory)
      .Case("plan", Phase::Plan)
      .Case("source", Phase::Source)
      .Case("emit", Phase::Emit)
      .Default(std::nullopt);
}

std::string pipeline::phaseNames() {
  return "import, fuse, kern, plan-memory, plan, source, emit";
}

LogicalResult pipeline::buildPipeline(PassManager &pm,
                                      const PipelineOptions &options) {
  SmallVector<StringRef> known;
  auto enabled = [&](StringRef flag) {
    known.push_back(flag);
    return !llvm::is_contained(options.disabled, flag);
  };

  // Fuse. Rowwise chains collapse before structured operations look for
  // prologues and epilogues.
  //   glm-opt --pass-pipeline='builtin.module(func.func(glm-fuse-rowwise,cse))'
  if (enabled("glm-fuse-rowwise") && options.fuse && options.last >= Phase::Fuse) {
    pm.addNestedPass<func::FuncOp>(passes::createFuseRowwisePass());
    pm.addNestedPass<func::FuncOp>(createCSEPass());
  }
  // Kern.
  //   glm-opt --glm-lower-to-kern
  if (options.last >= Phase::Kern)
    pm.addPass(passes::createLowerGlmToKernPass());
  // Plan-memory.
  //   glm-opt --pass-pipeline='builtin.module(func.func(glm-plan-memory))'
  if (options.last >= Phase::PlanMemory)
    pm.addNestedPass<func::FuncOp>(passes::createPlanMemoryPass());
  // Plan. For `emit` the driver runs this pass itself, after the kernels' source was
  // made: it replaces them by tables.
  //   glm-opt --glm-lower-to-plan
  if (options.last == Phase::Plan)
    pm.addPass(passes::createLowerKernToPlanPass());

  for (const std::string &flag : options.disabled)
    if (!llvm::is_contained(known, flag))
      return emitError(UnknownLoc::get(pm.getContext()))
             << "--disable-pass=" << flag << ": no such pass can be disabled; "
             << "known: " << llvm::join(known, ", ");
  return success();
}
