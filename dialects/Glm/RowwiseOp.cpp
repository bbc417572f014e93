//===- RowwiseOp.cpp - Verifiers of rowwise operations --------------------===//
//
// Labels in comments are those of docs/spec/glm-ops.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/Glm/Glm.h"

using namespace mlir;
using namespace glm::model;

bool RowwiseOp::hasReduction() {
  return !getBody().getOps<RowReduceOp>().empty();
}

/// Lowest and highest value of a linear expression over the domain; nullopt when
/// it is not linear.
static std::optional<std::pair<int64_t, int64_t>>
rangeOf(AffineExpr expr, ArrayRef<int64_t> domain) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::pair(constant.getValue(), constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return std::pair(int64_t(0), domain[dim.getPosition()] - 1);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto left = rangeOf(binary.getLHS(), domain);
  auto right = rangeOf(binary.getRHS(), domain);
  if (!left || !right)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return std::pair(left->first + right->first, left->second + right->second);
  if (expr.getKind() != AffineExprKind::Mul ||
      !isa<AffineConstantExpr>(binary.getRHS()))
    return std::nullopt;
  int64_t a = left->first * right->first, b = left->second * right->first;
  return std::pair(std::min(a, b), std::max(a, b));
}

/// C2, C3: one map an access, over the domain, linear, inside the tensor.
static LogicalResult verifyAccess(RowwiseOp op, AffineMap map, Value value,
                                  const Twine &what) {
  ArrayRef<int64_t> domain = op.getDomain();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  if (map.getNumDims() != domain.size() || map.getNumSymbols() != 0 ||
      map.getNumResults() != shape.size())
    return op.emitOpError() << what << " expects a map of " << domain.size()
                            << " dims to " << shape.size() << ", got "
                            << AffineMapAttr::get(map);
  for (auto [expr, size] : llvm::zip(map.getResults(), shape)) {
    auto range = rangeOf(expr, domain);
    if (!range)
      return op.emitOpError() << what << " map is not linear: "
                              << AffineMapAttr::get(map);
    if (range->first < 0 || range->second >= size)
      return op.emitOpError() << what << " leaves its tensor: "
                              << AffineMapAttr::get(map)
                              << " over a dimension of " << size;
  }
  return success();
}

LogicalResult RowwiseOp::verify() {
  // C1
  if (getDomain().size() < 2 ||
      llvm::any_of(getDomain(), [](int64_t d) { return d <= 0; }))
    return emitOpError("expects a domain of two or more positive dimensions");
  // C2, C3
  if (getInMaps().size() != getInputs().size())
    return emitOpError("expects ") << getInputs().size() << " input maps, got "
                                   << getInMaps().size();
  for (auto [i, value] : llvm::enumerate(getInputs()))
    if (failed(verifyAccess(*this, cast<AffineMapAttr>(getInMaps()[i]).getValue(),
                            value, "input " + Twine(i))))
      return failure();
  // C4
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  size_t yields = yield.getValues().size();
  if (getOutMaps().size() != yields || getTargets().size() != yields)
    return emitOpError("expects an output map and a target for each of ")
           << yields << " yielded values";
  SmallVector<bool> written(getResults().size(), false);
  for (auto [i, target] : llvm::enumerate(getTargets())) {
    if (target < 0 || target >= static_cast<int64_t>(written.size()))
      return emitOpError("target ") << target << " is no result";
    written[target] = true;
    if (failed(verifyAccess(*this, cast<AffineMapAttr>(getOutMaps()[i]).getValue(),
                            getResults()[target], "output " + Twine(i))))
      return failure();
  }
  if (!llvm::all_of(written, [](bool w) { return w; }))
    return emitOpError("leaves a result unwritten");
  // C5
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("expects one block argument for each input");
  for (BlockArgument arg : block.getArguments())
    if (!arg.getType().isF32())
      return emitOpError("expects f32 block arguments");
  return success();
}

LogicalResult RowReduceOp::verify() {
  // C1
  if (getKind() != "add" && getKind() != "max")
    return emitOpError("expects kind add or max, got ") << getKind();
  return success();
}
