//===- Passes.h - Passes of the GLM compiler --------------------*- C++ -*-===//
//
// The one header through which passes are named, created and registered. A pass
// is implemented in the .cpp file of its name without the suffix: FuseRowwisePass
// lives in FuseRowwise.cpp and is tested by test/passes/fuse-rowwise.mlir.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_PASSES_PASSES_H
#define GLM_PASSES_PASSES_H

#include "dialects/Glm/Glm.h"
#include "dialects/Kern/Kern.h"
#include "dialects/Plan/Plan.h"
#include "mlir/Pass/Pass.h"

namespace glm::passes {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace glm::passes

#endif // GLM_PASSES_PASSES_H
