//===- OutlineGrids.cpp - A kernel for each kind of grid ------------------===//

#include "passes/Parts.h"
#include "passes/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include "mlir/IR/Builders.h"

namespace glm::passes {
#define GEN_PASS_DEF_OUTLINEGRIDSPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;

namespace {

struct OutlineGrids final : passes::impl::OutlineGridsPassBase<OutlineGrids> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (auto grid : llvm::to_vector(func.getBody().getOps<kern::GridOp>()))
        if (!unwrap(grid))
          grid.setKernelAttr(FlatSymbolRefAttr::get(kernelOf(grid)));
  }

private:
  /// A grid of one launch in its own parts is that launch, but for a product of few
  /// rows, whose kernel a group makes for the step's number of rows alone.
  bool unwrap(kern::GridOp grid) {
    SmallVector<kern::LaunchOp> launches;
    grid.walk([&](kern::LaunchOp l) { launches.push_back(l); });
    auto chain = cast<kern::ChainOp>(grid.getBody().front().front());
    if (launches.size() != 1 || chain.getParts() != passes::partsOf(launches[0]))
      return false;
    auto kernel =
        getOperation().lookupSymbol<kern::KernelOp>(launches[0].getKernel());
    if (kernel.getTemplateName() == "Linear")
      return false;
    launches[0]->moveBefore(grid);
    grid.erase();
    return true;
  }

  /// Grids of the same launches, parts and phases share a kernel; the hash of what
  /// they are is its name, which the plan's reader computes again.
  StringAttr kernelOf(kern::GridOp grid) {
    std::string text = passes::describeGrid(grid);
    StringAttr &name = names[text];
    if (!name) {
      std::string hex = llvm::utohexstr(llvm::xxh3_64bits(text), true, 16);
      OpBuilder b = OpBuilder::atBlockBegin(getOperation().getBody());
      name = b.getStringAttr("group_" + hex);
      kern::KernelOp::create(b, grid.getLoc(), name, b.getStringAttr("group"),
                             b.getStringAttr(""), b.getDenseI64ArrayAttr({}),
                             b.getI64IntegerAttr(256), DenseI64ArrayAttr(),
                             b.getI64IntegerAttr(1), b.getI64IntegerAttr(1));
    }
    return name;
  }

  llvm::StringMap<StringAttr> names;
};

} // namespace
