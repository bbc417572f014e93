//===- WidenRows.cpp - Rows of short steps that are kept in f32 -----------===//
//
// Why: a step rounds its rows to bf16 wherever it stores them, and residual rows,
// which every layer reads, adds to and writes again, most often. In a short step the
// weights are the traffic, and rows may be as wide as the arithmetic. A sum over a
// row does not need that: it averages the roundings away, one block reads all of the
// row for it, and would take twice as long. It reads the row rounded once.
// Contract: rounds less than before, changes nothing else.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace glm::passes {
#define GEN_PASS_DEF_WIDENROWSPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;

namespace {

struct WidenRows final : passes::impl::WidenRowsPassBase<WidenRows> {
  using WidenRowsPassBase::WidenRowsPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    auto options = remark::RemarkOpts::name("widen-rows").category("glm-fuse");
    auto count = [&](StringRef name) {
      auto attr = func->getAttrOfType<IntegerAttr>(name);
      return attr ? attr.getInt() : 1;
    };
    if (count("glm.sequences") * count("glm.tokens") > maxRows) {
      remark::missed(func.getLoc(), options)
          << "more rows than max-rows: their bytes count";
      return;
    }
    for (auto op : llvm::to_vector(func.getOps<model::RowwiseOp>())) {
      model::RowwiseOp producer = op;
      for (unsigned i = 0, e = op->getNumResults(); i < e; ++i) {
        Value row = producer->getResult(i);
        auto type = cast<RankedTensorType>(row.getType());
        SmallVector<OpOperand *> readers;
        bool others = false;
        for (OpOperand &use : row.getUses())
          if (readsWide(use.getOwner()))
            readers.push_back(&use);
          else
            others |= !isa<model::TapOp>(use.getOwner());
        if (!type.getElementType().isBF16() || readers.empty())
          continue;
        auto wide = type.clone(Float32Type::get(&getContext()));
        if (!others) {
          row.setType(wide);
          remark::passed(producer.getLoc(), options) << "is kept in f32";
          continue;
        }
        producer = addTwin(producer, i, wide);
        for (OpOperand *use : readers)
          use->set(producer->getResults().back());
        remark::passed(producer.getLoc(), options)
            << "is kept in f32, and in bf16 for other readers";
      }
    }
    // Picked rows are as wide as those they are picked from.
    for (auto gather : func.getOps<model::GatherRowsOp>()) {
      Value row = gather.getResult();
      auto type = cast<RankedTensorType>(row.getType());
      bool wide = cast<RankedTensorType>(gather.getInput().getType())
                      .getElementType()
                      .isF32();
      if (wide && llvm::all_of(row.getUsers(), readsWide))
        row.setType(type.clone(Float32Type::get(&getContext())));
    }
  }

private:
  /// Whether what the reader makes is as wide as the row. A sum over a row averages
  /// the roundings away.
  static bool readsWide(Operation *reader) {
    if (auto row = dyn_cast<model::RowwiseOp>(reader))
      return llvm::any_of(row.getOutMaps(), [&](Attribute map) {
        return cast<AffineMapAttr>(map).getValue().isFunctionOfDim(
            row.getColumnDim());
      });
    return isa<model::LinearPartsOp, model::GatherRowsOp>(reader);
  }

  /// `op` with a further result, of what it stores to result `number`.
  model::RowwiseOp addTwin(model::RowwiseOp op, unsigned number, Type type) {
    OpBuilder b(op);
    SmallVector<Type> types(op->getResultTypes());
    SmallVector<Attribute> maps(op.getOutMaps().getValue());
    SmallVector<int64_t> targets(op.getTargets());
    auto yield = cast<model::YieldOp>(op.getBody().front().getTerminator());
    SmallVector<Value> yields(yield.getValues());
    for (size_t i = 0, e = targets.size(); i < e; ++i) {
      if (targets[i] != number)
        continue;
      yields.push_back(yields[i]);
      maps.push_back(maps[i]);
      targets.push_back(types.size());
    }
    types.push_back(type);
    yield->setOperands(yields);
    auto twin = model::RowwiseOp::create(b, op.getLoc(), types, op.getInputs(),
                                         op.getDomain(), op.getInMaps(),
                                         b.getArrayAttr(maps), targets);
    twin.getBody().takeBody(op.getBody());
    op->replaceAllUsesWith(twin->getResults().drop_back());
    op.erase();
    return twin;
  }
};

} // namespace
