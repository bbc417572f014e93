//===- SplitLinear.cpp - Products with few outputs, cut along the sum -----===//
//
// Why: a product has a block for every 32 outputs. With fewer outputs than that
// one block reads all of the weight, and the device waits for it. Cut along the
// sum, every stretch of 32 columns is a block of its own; the sums of few numbers
// that remain join whatever comes next.
// Contract: the order of additions changes, nothing else.
//
//===----------------------------------------------------------------------===//

#include "passes/KernelTable.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace glm::passes {
#define GEN_PASS_DEF_SPLITLINEARPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;

namespace {

constexpr int64_t kOutputs = 32; // of a block of the uncut product
constexpr int64_t kStretch = 32; // columns of a part

struct SplitLinear final : passes::impl::SplitLinearPassBase<SplitLinear> {
  using SplitLinearPassBase::SplitLinearPassBase;

  void runOnOperation() override {
    for (auto op : llvm::to_vector(getOperation().getOps<model::LinearOp>())) {
      auto options = remark::RemarkOpts::name("split-linear").category("glm-fuse");
      if (outputs(op) > kOutputs)
        continue; // a block for each 32 of them
      std::string why = refuse(op);
      if (!why.empty()) {
        remark::missed(op.getLoc(), options) << why;
        continue;
      }
      auto x = cast<RankedTensorType>(op.getInput().getType());
      int64_t parts = x.getShape().back() / kStretch;
      OpBuilder b(op);
      auto type = RankedTensorType::get({x.getDimSize(0), parts, outputs(op)},
                                        b.getF32Type());
      Location part = NameLoc::get(
          b.getStringAttr(passes::originOf(op.getLoc()) + ".parts"));
      Value cut = model::LinearPartsOp::create(b, part, type, op.getInput(),
                                               op.getWeight());
      Value sum = model::SumPartsOp::create(b, op.getLoc(),
                                            op.getResult().getType(), cut);
      remark::passed(op.getLoc(), options)
          << "cut into " + std::to_string(parts) + " parts";
      op.replaceAllUsesWith(sum);
      op.erase();
    }
  }

private:
  static RankedTensorType weightType(model::LinearOp op) {
    return cast<RankedTensorType>(op.getWeight().getType());
  }
  static int64_t outputs(model::LinearOp op) { return weightType(op).getDimSize(0); }

  std::string refuse(model::LinearOp op) {
    auto x = cast<RankedTensorType>(op.getInput().getType());
    RankedTensorType w = weightType(op);
    if (x.getDimSize(0) > maxRows)
      return "many rows share the weight";
    if (w.getEncoding())
      return "the weight is coded";
    if (w.getNumElements() * w.getElementTypeBitWidth() / 8 < minBytes)
      return "one block reads so small a weight soon enough";
    if (x.getShape().back() % kStretch != 0 || x.getShape().back() == kStretch)
      return "the columns have no equal stretches of " + std::to_string(kStretch);
    return "";
  }
};

} // namespace
