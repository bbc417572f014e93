//===- SplitAttention.cpp - Attention of few rows, cut along its tokens ---===//
//
// Why: attention has a block for 16 heads of a row. A decoded token would read
// its thousands of latents with a handful of blocks. Cut along the list of pools,
// every stretch is a block of its own; what the stretches give is merged in a
// second step, which waits inside the same launch.
// Contract: the order of additions changes, nothing else.
//
//===----------------------------------------------------------------------===//

#include "passes/KernelTable.h"
#include "passes/Passes.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace glm::passes {
#define GEN_PASS_DEF_SPLITATTENTIONPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;

namespace {

constexpr int64_t kHeads = 16; // of a block

struct SplitAttention final : passes::impl::SplitAttentionPassBase<SplitAttention> {
  using SplitAttentionPassBase::SplitAttentionPassBase;

  void runOnOperation() override {
    for (auto op : llvm::to_vector(getOperation().getOps<model::SparseAttentionOp>())) {
      auto options = remark::RemarkOpts::name("split-attention").category("glm-fuse");
      auto q = cast<RankedTensorType>(op.getQuery().getType());
      auto pools = cast<RankedTensorType>(op.getPools().getType());
      int64_t rows = q.getDimSize(0), heads = q.getDimSize(1), width = q.getDimSize(2);
      int64_t listed = pools.getDimSize(1);
      int64_t uncut = rows * llvm::divideCeil(heads, kHeads);
      if (rows > maxRows || uncut >= blocks) {
        remark::missed(op.getLoc(), options) << "its blocks are enough";
        continue;
      }
      // Entries of the list that a part has, and the parts that these make.
      int64_t stretch =
          std::max<int64_t>(llvm::divideCeil(listed, llvm::divideCeil(blocks, uncut)),
                            llvm::divideCeil(minTokens, (int64_t)op.getPool()));
      int64_t parts = llvm::divideCeil(listed, stretch);
      if (parts < 2) {
        remark::missed(op.getLoc(), options) << "one block reads so few tokens soon enough";
        continue;
      }
      OpBuilder b(op);
      Location loc = NameLoc::get(
          b.getStringAttr(passes::originOf(op.getLoc()) + ".parts"));
      Type f32 = b.getF32Type();
      auto cut = model::AttentionPartsOp::create(
          b, loc, RankedTensorType::get({rows, parts, heads, width}, f32),
          RankedTensorType::get({rows, parts, heads, 2}, f32), op.getQuery(),
          op.getPools(), op.getSeqs(), op.getStateAttr(), op.getPoolAttr(),
          op.getScaleAttr());
      Value merged = model::MergePartsOp::create(
          b, op.getLoc(), op.getResult().getType(), cut.getMixed(), cut.getStats());
      remark::passed(op.getLoc(), options)
          << "cut into " + std::to_string(parts) + " parts";
      op.replaceAllUsesWith(merged);
      op.erase();
    }
  }
};

} // namespace
