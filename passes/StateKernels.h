//===- StateKernels.h - Kernels that change a sequence's state --*- C++ -*-===//
//
// Their rows of the kernel table. Private to KernelTable.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_PASSES_STATEKERNELS_H
#define GLM_PASSES_STATEKERNELS_H

#include "passes/KernelTable.h"

namespace glm::passes {

KernelChoice shortConvKernel(model::ShortConvOp op, const StepShape &step,
                             mlir::SymbolTable &symbols);
KernelChoice deltaRuleKernel(model::DeltaRuleOp op, const StepShape &step,
                             mlir::SymbolTable &symbols);
KernelChoice latentAppendKernel(model::LatentAppendOp op, const StepShape &step,
                                mlir::SymbolTable &symbols);
KernelChoice kpoolKernel(model::KPoolOp op, const StepShape &step,
                         mlir::SymbolTable &symbols);

} // namespace glm::passes

#endif // GLM_PASSES_STATEKERNELS_H
