//===- RowwiseBuilder.h - Writing a rowwise operation -----------*- C++ -*-===//
//
// Collects the accesses and the scalar math of one `glm.rowwise` and creates it:
//
//   RowwiseBuilder row(b, loc, {T, H});
//   auto [t, h] = row.dims<2>();
//   Value x = row.in(input, {t, h});
//   row.out(0, {t, h}, row.mul(x, x));
//   Value y = row.finish({tensorType})[0];
//
// Value handles given by `in` and the math functions are f32 scalars of the
// region.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_MODELS_GLM53_ROWWISEBUILDER_H
#define GLM_MODELS_GLM53_ROWWISEBUILDER_H

#include "dialects/Glm/Glm.h"

namespace glm::glm53 {

class RowwiseBuilder {
public:
  using Value = mlir::Value;
  using AffineExpr = mlir::AffineExpr;

  RowwiseBuilder(mlir::OpBuilder &outer, mlir::Location loc,
                 llvm::ArrayRef<int64_t> domain)
      : outer(outer), loc(loc), domain(domain), block(new mlir::Block()),
        b(outer.getContext()) {
    b.setInsertionPointToEnd(block.get());
  }

  /// Index expressions of the domain.
  template <size_t N> std::array<AffineExpr, N> dims() {
    std::array<AffineExpr, N> d;
    for (size_t i = 0; i < N; ++i)
      d[i] = b.getAffineDimExpr(i);
    return d;
  }
  AffineExpr at(int64_t i) { return b.getAffineConstantExpr(i); }

  /// Element of `tensor` at `index`.
  Value in(Value tensor, llvm::ArrayRef<AffineExpr> index) {
    inputs.push_back(tensor);
    inMaps.push_back(map(index));
    return block->addArgument(b.getF32Type(), loc);
  }
  /// Stores `value` to result `target` at `index`.
  void out(int64_t target, llvm::ArrayRef<AffineExpr> index, Value value) {
    targets.push_back(target);
    outMaps.push_back(map(index));
    yields.push_back(value);
  }

  Value num(double v) {
    return mlir::arith::ConstantFloatOp::create(b, loc, b.getF32Type(),
                                                llvm::APFloat((float)v));
  }
  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, loc, x, y); }
  Value min(Value x, Value y) {
    return mlir::arith::MinimumFOp::create(b, loc, x, y);
  }
  Value max(Value x, Value y) {
    return mlir::arith::MaximumFOp::create(b, loc, x, y);
  }
  Value exp(Value x) { return mlir::math::ExpOp::create(b, loc, x); }
  Value rsqrt(Value x) { return mlir::math::RsqrtOp::create(b, loc, x); }
  Value sigmoid(Value x) { return model::SigmoidOp::create(b, loc, x); }
  Value silu(Value x) { return mul(x, sigmoid(x)); }
  /// Sum over the columns of the row.
  Value sum(Value x) { return model::RowReduceOp::create(b, loc, "add", x); }

  mlir::ResultRange finish(llvm::ArrayRef<mlir::Type> types) {
    model::YieldOp::create(b, loc, yields);
    auto op = model::RowwiseOp::create(outer, loc, types, inputs, domain,
                                       b.getArrayAttr(inMaps),
                                       b.getArrayAttr(outMaps), targets);
    op.getBody().push_back(block.release());
    return op.getResults();
  }

private:
  mlir::Attribute map(llvm::ArrayRef<AffineExpr> index) {
    return mlir::AffineMapAttr::get(
        mlir::AffineMap::get(domain.size(), 0, index, b.getContext()));
  }

  mlir::OpBuilder &outer;
  mlir::Location loc;
  llvm::SmallVector<int64_t> domain;
  std::unique_ptr<mlir::Block> block;
  mlir::OpBuilder b;
  llvm::SmallVector<Value> inputs, yields;
  llvm::SmallVector<mlir::Attribute> inMaps, outMaps;
  llvm::SmallVector<int64_t> targets;
};

} // namespace glm::glm53

#endif // GLM_MODELS_GLM53_ROWWISEBUILDER_H
