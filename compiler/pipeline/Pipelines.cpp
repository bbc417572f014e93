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
  //   glm-opt --pass-pipeline='builtin.module(func.func(glm-fuse-rowwise,cse,
  //     glm-split-linear,glm-split-attention,glm-widen-rows))'
  if (enabled("glm-fuse-rowwise") && options.fuse && options.last >= Phase::Fuse) {
    pm.addNestedPass<func::FuncOp>(passes::createFuseRowwisePass());
    pm.addNestedPass<func::FuncOp>(createCSEPass());
  }
  if (enabled("glm-split-linear") && options.fuse && options.last >= Phase::Fuse)
    pm.addNestedPass<func::FuncOp>(passes::createSplitLinearPass());
  if (enabled("glm-split-attention") && options.fuse && options.last >= Phase::Fuse)
    pm.addNestedPass<func::FuncOp>(passes::createSplitAttentionPass());
  if (enabled("glm-widen-rows") && options.fuse && options.last >= Phase::Fuse)
    pm.addNestedPass<func::FuncOp>(passes::createWidenRowsPass());
  // Kern. Launches first run on in a block, then side by side, then one after the
  // other in one launch.
  //   glm-opt --glm-lower-to-kern --glm-fuse-blocks
  //     --pass-pipeline='builtin.module(func.func(glm-fuse-siblings,glm-fuse-phases))'
  //     --glm-outline-grids
  const bool group = options.fuse && options.last >= Phase::Kern;
  if (options.last >= Phase::Kern)
    pm.addPass(passes::createLowerGlmToKernPass());
  const bool blocks = enabled("glm-fuse-blocks"), siblings = enabled("glm-fuse-siblings"),
             phases = enabled("glm-fuse-phases");
  if (group && blocks) {
    pm.addPass(passes::createFuseBlocksPass());
    if (siblings)
      pm.addNestedPass<func::FuncOp>(passes::createFuseSiblingsPass());
    if (phases)
      pm.addNestedPass<func::FuncOp>(passes::createFusePhasesPass());
    pm.addPass(passes::createOutlineGridsPass());
  }
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
