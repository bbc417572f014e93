//===- Tensors.h - What lowering asks of tensors and names ------*- C++ -*-===//

#ifndef GLM_PASSES_TENSORS_H
#define GLM_PASSES_TENSORS_H

#include "dialects/Glm/Glm.h"

namespace glm::passes {

/// The name given to an operation by the frontend: layers.3.attn.q_proj; of fused
/// operations the last one's. Empty when there is none.
llvm::StringRef originOf(mlir::Location loc);

/// Bytes of one slot of a state, rounded up to 256.
int64_t stateSlotBytes(model::StateOp state);

/// Bytes of a tensor of this type; sub-byte elements are packed.
int64_t tensorBytes(mlir::RankedTensorType type);

/// dtype code of plan.fbs for an element type.
int64_t dtypeCode(mlir::Type element);

} // namespace glm::passes

#endif // GLM_PASSES_TENSORS_H
