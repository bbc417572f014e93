//===- KernelArgs.h - Words that rows of the kernel table use ---*- C++ -*-===//
//
// Private to KernelTable.cpp and StateKernels.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_PASSES_KERNELARGS_H
#define GLM_PASSES_KERNELARGS_H

#include "passes/KernelTable.h"

#include "llvm/Support/MathExtras.h"

namespace glm::passes::args {

inline mlir::RankedTensorType typeOf(mlir::Value v) {
  return llvm::cast<mlir::RankedTensorType>(v.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value v) { return typeOf(v).getShape(); }
inline int64_t code(mlir::Value v) { return dtypeCode(typeOf(v).getElementType()); }
inline int64_t rowOf(mlir::Value v) {
  int64_t n = 1;
  for (int64_t d : shapeOf(v).drop_front())
    n *= d;
  return n;
}

// What a block touches (Parts.h).
inline constexpr Split kWhole = {}, kRows = {true, 0}, kColumns = {false, 1},
                       kBoth = {true, 1};
inline TensorArg in(mlir::Value v, Split s = kWhole) { return {v, false, s}; }
inline TensorArg out(mlir::Value v, Split s = kWhole) { return {v, true, s}; }
/// Columns are equal parts only when the tiles divide them.
inline Split even(Split s, int64_t n, int64_t tile) {
  return n % tile == 0 || n < tile ? s : Split{s.rows, 0};
}

inline int64_t tiles(int64_t n, int64_t tile) {
  return llvm::divideCeil(n, tile);
}

} // namespace glm::passes::args

#endif // GLM_PASSES_KERNELARGS_H
