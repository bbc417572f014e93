//===- RowwiseAccess.h - What a rowwise operation touches -------*- C++ -*-===//

#ifndef GLM_PASSES_ROWWISEACCESS_H
#define GLM_PASSES_ROWWISEACCESS_H

#include "passes/Parts.h"

namespace glm::passes {

/// Strides of a map into a row-major tensor: address = coeffs . index + offset.
struct Access {
  llvm::SmallVector<int64_t> coeffs;
  int64_t offset = 0;
};
Access linearise(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

/// What a block of a rowwise operation touches of `tensor`, which stands in
/// `operands` with the maps beside them. Columns are the dimensions after the
/// first, flattened.
Split rowwiseSplit(model::RowwiseOp op, mlir::Value tensor, mlir::ValueRange operands,
                   mlir::ArrayAttr maps);

} // namespace glm::passes

#endif // GLM_PASSES_ROWWISEACCESS_H
