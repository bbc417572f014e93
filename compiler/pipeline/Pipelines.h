//===- Pipelines.h - Phases and their passes --------------------*- C++ -*-===//
//
// The compiler, top to bottom. `glmc compile --compile-to=<phase>` stops after a
// phase and prints the IR; `glm-opt` with the flags named in Pipelines.cpp does
// the same to a file.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PIPELINE_PIPELINES_H
#define GLM_COMPILER_PIPELINE_PIPELINES_H

#include "mlir/Pass/PassManager.h"

#include <optional>
#include <string>
#include <vector>

namespace glm::pipeline {

enum class Phase { Import, Fuse, Kern, PlanMemory, Plan, Source, Emit };

/// The phase called `name` on the command line; nullopt when there is none.
std::optional<Phase> phaseByName(llvm::StringRef name);
/// import|fuse|kern|plan-memory|plan|source|emit
std::string phaseNames();

struct PipelineOptions {
  bool fuse = true;
  Phase last = Phase::Emit;
  std::vector<std::string> disabled; // pass flags without dashes
};

/// Adds the passes up to `options.last`. Fails on an unknown disabled pass.
mlir::LogicalResult buildPipeline(mlir::PassManager &pm,
                                  const PipelineOptions &options);

} // namespace glm::pipeline

#endif // GLM_COMPILER_PIPELINE_PIPELINES_H
