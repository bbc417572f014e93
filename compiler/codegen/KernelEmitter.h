//===- KernelEmitter.h - Kernels to source ----------------------*- C++ -*-===//
//
// Turns the `kern.kernel` operations of a module into one self-contained source:
// the templates that they use, then for each kernel one instantiation or, for a
// rowwise kernel, its generated body. The text is the same for all targets.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_COMPILER_CODEGEN_KERNELEMITTER_H
#define GLM_COMPILER_CODEGEN_KERNELEMITTER_H

#include "dialects/Kern/Kern.h"

#include <string>
#include <vector>

namespace glm::codegen {

/// Source of some kernels, complete in itself.
struct KernelSource {
  std::string text;
  std::vector<std::string> kernels; // entry names, in order
};

/// Emits all kernels of `module`, spread over at most `parts` sources of about
/// equal work so that they can be compiled side by side.
mlir::FailureOr<std::vector<KernelSource>> emitKernels(mlir::ModuleOp module,
                                                       unsigned parts);

/// The generated body of one rowwise kernel, without templates.
mlir::FailureOr<std::string> emitRowwise(kern::KernelOp kernel);

} // namespace glm::codegen

#endif // GLM_COMPILER_CODEGEN_KERNELEMITTER_H
