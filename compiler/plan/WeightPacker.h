//===- WeightPacker.h - One file of weights beside the plan -----*- C++ -*-===//
//
// `glmc compile --pack`: copies the pieces of all `glm.weight` operations into one
// file, dense ones at multiples of 256 bytes, each expert at a page, and rewrites
// the module to point there. Bytes are copied, never changed.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PLAN_WEIGHTPACKER_H
#define GLM_COMPILER_PLAN_WEIGHTPACKER_H

#include "dialects/Glm/Glm.h"

#include "llvm/Support/Error.h"

#include <functional>
#include <string>

namespace glm::planfile {

struct PackProgress {
  std::function<void(uint64_t done, uint64_t total)> report; // bytes
};

/// Writes `path` (whole or not at all) from the files at `sources`, in the order
/// of the pieces' file numbers, and points the weights of `module` at it.
llvm::Error packWeights(mlir::ModuleOp module, llvm::ArrayRef<std::string> sources,
                        llvm::StringRef path, const PackProgress &progress);

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_WEIGHTPACKER_H
