//===- WeightPacker.h - One file of weights beside the plan -----*- C++ -*-===//
//
// Decides what the file of weights beside the plan holds: those with a `source`,
// to be quantised (WeightQuantizer.h), and with `glmc compile --pack` the pieces of
// all others, bytes unchanged. Dense pieces begin at multiples of 256 bytes.
// Routed experts are rows (docs/spec/packing.md): all pieces of one expert of one
// layer together, from a page on. PackWriter.h writes the file.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_PLAN_WEIGHTPACKER_H
#define GLM_COMPILER_PLAN_WEIGHTPACKER_H

#include "compiler/plan/PackLayout.h"
#include "dialects/Glm/Glm.h"

namespace glm::planfile {

/// What is written: weights that must be quantised, or all.
enum class PackWhat { Quantised, All };

/// True when a weight of the module waits for its quantisation.
bool hasSources(mlir::ModuleOp module);

/// Lays out the file and lets the module point there: what is in it has the file
/// number `inputs.size()` afterwards and no `source`. `inputs` are in the order of
/// the pieces' file numbers.
PackLayout layOutPacked(mlir::ModuleOp module, std::vector<PackInput> inputs,
                        PackWhat what);

} // namespace glm::planfile

#endif // GLM_COMPILER_PLAN_WEIGHTPACKER_H
