//===- RowwiseEmitter.h - A rowwise kernel to source ------------*- C++ -*-===//

#ifndef GLM_COMPILER_CODEGEN_ROWWISEEMITTER_H
#define GLM_COMPILER_CODEGEN_ROWWISEEMITTER_H

#include "dialects/Kern/Kern.h"

#include <string>

namespace glm::codegen {

/// The function NAME_body of a rowwise kernel whose operations are known to be of
/// the kernel vocabulary (emitRowwise checks them).
mlir::FailureOr<std::string> rowwiseBody(kern::KernelOp kernel);

} // namespace glm::codegen

#endif // GLM_COMPILER_CODEGEN_ROWWISEEMITTER_H
