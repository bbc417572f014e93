//===- PlanWriter.h - Plan IR to plan file ----------------------*- C++ -*-===//
//
// Walks a `plan.plan` operation and writes the file of runtime/plan/plan_format.h.
// The file appears under its name only when it is whole.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PLAN_PLANWRITER_H
#define GLM_COMPILER_PLAN_PLANWRITER_H

#include "dialects/Plan/Plan.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace glm::planfile {

/// What goes into the file beside the IR.
struct Attachments {
  struct Code {
    std::string target, isa, bytes;
  };
  std::vector<Code> code;
  std::string source;    // generated kernel source
  std::string tokenizer; // tokenizer.json, or empty
};

/// The flatbuffer of a plan that has tables only: no code, source or tokenizer.
std::string planTables(planir::PlanOp plan);

/// Writes `path`. On failure nothing is left behind.
llvm::Error writePlan(planir::PlanOp plan, const Attachments &attachments,
                      llvm::StringRef path);

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_PLANWRITER_H
