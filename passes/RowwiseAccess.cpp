//===- RowwiseAccess.cpp - What a rowwise operation touches ---------------===//

#include "passes/RowwiseAccess.h"

using namespace mlir;
using namespace glm;
using namespace glm::passes;

Access passes::linearise(AffineMap map, ArrayRef<int64_t> shape) {
  Access access;
  access.coeffs.assign(map.getNumDims(), 0);
  AffineExpr address = getAffineConstantExpr(0, map.getContext());
  for (auto [expr, size] : llvm::zip(map.getResults(), shape))
    address = address * size + expr;
  // The verifier admits linear maps only: probe each dimension.
  auto at = [&](unsigned one) {
    SmallVector<AffineExpr> dims(map.getNumDims(),
                                 getAffineConstantExpr(0, map.getContext()));
    if (one < dims.size())
      dims[one] = getAffineConstantExpr(1, map.getContext());
    return cast<AffineConstantExpr>(address.replaceDims(dims)).getValue();
  };
  access.offset = at(map.getNumDims());
  for (unsigned d = 0; d < map.getNumDims(); ++d)
    access.coeffs[d] = at(d) - access.offset;
  return access;
}

Split passes::rowwiseSplit(model::RowwiseOp op, Value tensor, ValueRange operands,
                           ArrayAttr maps) {
  ArrayRef<int64_t> domain = op.getDomain();
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t width = 1;
  for (int64_t d : type.getShape().drop_front())
    width *= d;
  std::optional<Split> all;
  for (auto [operand, attr] : llvm::zip(operands, maps)) {
    if (operand != tensor)
      continue;
    AffineMap map = cast<AffineMapAttr>(attr).getValue();
    Split one;
    one.rows = map.getNumResults() > 0 && type.getDimSize(0) == domain[0] &&
               map.getResult(0) == getAffineDimExpr(0, op.getContext());
    // A prefix of the columns' dimensions, row-major without gaps.
    Access access = linearise(map, type.getShape());
    int64_t covered = 1;
    bool dense = one.rows && access.coeffs[0] == width; // columns of its own row
    for (size_t d = domain.size() - 1; d >= 1; --d) {
      int64_t c = access.coeffs[d];
      if (c == 0 && covered == 1)
        continue;
      dense &= c == covered;
      covered *= domain[d];
    }
    if (dense && covered > 1 && width % covered == 0 && access.offset % covered == 0)
      one.outer = width / covered;
    if (all && all->encode() != one.encode())
      return {all->rows && one.rows, 0};
    all = one;
  }
  return all.value_or(Split());
}
