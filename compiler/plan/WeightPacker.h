//===- WeightPacker.h - One file of weights beside the plan -----*- C++ -*-===//
//
// Writes the file of weights that the checkpoint does not hold in the form that
// the plan reads: those with a `source` are quantised (WeightQuantizer.h), and
// with `glmc compile --pack` the pieces of all others are copied too, bytes
// unchanged. Dense pieces start at multiples of 256 bytes, each expert at a
// page. The module then points there.
//
// Memory in use is a few chunks of 8 MiB, whatever the weights' sizes.
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
  std::function<void(uint64_t done, uint64_t total)> report; // bytes read
};

/// What is written: weights that must be quantised, or all.
enum class PackWhat { Quantised, All };

/// True when a weight of the module waits for its quantisation.
bool hasSources(mlir::ModuleOp module);

/// Writes `path` (whole or not at all) from the files at `sources`, in the order
/// of the pieces' file numbers. What was written has the file number
/// `sources.size()` afterwards and no `source`. The error names file and weight.
llvm::Error packWeights(mlir::ModuleOp module, llvm::ArrayRef<std::string> sources,
                        llvm::StringRef path, PackWhat what,
                        const PackProgress &progress);

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_WEIGHTPACKER_H
