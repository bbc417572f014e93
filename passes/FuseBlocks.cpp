//===- FuseBlocks.cpp - Launches that run on in the same block ------------===//
//
// Why: what a block has just computed lies in its caches; the launch that needs
// only that part of it need not wait for all other blocks, nor for a launch.
// Product + activation, product + residual mix, convolution + norm + recurrence
// + gate of one head, or all the small work on one row become a chain of
// launches that one block runs from first to last. Contract: the same values as
// the launches one after the other.
//
// Which launches go together is decided in Chains.cpp; here chains become
// grids, and their pointwise launches get the kernels for the chain's columns.
//
//===----------------------------------------------------------------------===//

#include "passes/Chains.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

namespace glm::passes {
#define GEN_PASS_DEF_FUSEBLOCKSPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;
using namespace glm::passes;

namespace {

struct FuseBlocks final : passes::impl::FuseBlocksPassBase<FuseBlocks> {
  using FuseBlocksPassBase::FuseBlocksPassBase;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        runOn(func);
    // A kernel whose every launch got other columns is no part of the program.
    llvm::StringSet<> used;
    getOperation().walk(
        [&](kern::LaunchOp launch) { used.insert(launch.getKernel()); });
    for (kern::KernelOp kernel : retiled)
      if (!used.contains(kernel.getSymName()))
        kernel.erase();
    retiled.clear();
  }

private:
  void runOn(func::FuncOp func) {
    auto rows = [&](StringRef name) {
      auto attr = func->getAttrOfType<IntegerAttr>(name);
      return attr ? attr.getInt() : 1;
    };
    if (rows("glm.sequences") * rows("glm.tokens") > maxRows) {
      remark::missed(
          func.getLoc(),
          remark::RemarkOpts::name("fuse-blocks").category("glm-fuse"))
          << "more rows than max-rows: its launches are long";
      return;
    }
    Chains chains(func, maxSerial, maxBytes, earlyBytes);
    Block &body = func.getBody().front();
    Operation *end = body.getTerminator();
    SmallVector<kern::TapOp> taps(body.getOps<kern::TapOp>());
    OpBuilder b(end);
    DenseMap<Value, Operation *> lastWriter;
    for (Chain *chain : chains.inOrder()) {
      b.setInsertionPoint(end);
      Location loc = chains.launch(chain->members.back()).getLoc();
      auto grid = kern::GridOp::create(b, loc, FlatSymbolRefAttr());
      b.setInsertionPointToStart(&grid.getBody().emplaceBlock());
      auto run = kern::ChainOp::create(
          b, loc, 0, ArrayRef<int64_t>{chain->rows, chain->columns});
      Block &inner = run.getBody().emplaceBlock();
      for (size_t m : chain->members) {
        kern::LaunchOp launch = chains.launch(m);
        if (!launch.getParts())
          launch.setParts(ArrayRef<int64_t>{chain->rows, chain->columns});
        launch->moveBefore(&inner, inner.end());
        retile(launch, Chains::columnsIn(launch, chain->columns));
        for (int64_t w : launch.getWrites())
          lastWriter[launch.getArgs()[w]] = grid;
      }
    }
    // All that launches name comes before them, a tap after what it shows.
    for (kern::TapOp tap : llvm::reverse(taps))
      if (Operation *grid = lastWriter.lookup(tap.getBuffer()))
        tap->moveAfter(grid);
  }

  /// Gives a launch another number of columns, and the kernel for it.
  void retile(kern::LaunchOp launch, int64_t columns) {
    ArrayRef<int64_t> parts = partsOf(launch);
    if (parts[1] == columns)
      return;
    int64_t rows = parts[0];
    ModuleOp module = getOperation();
    auto kernel = module.lookupSymbol<kern::KernelOp>(launch.getKernel());
    retiled.insert(kernel);
    kern::KernelOp tiled = cast<kern::KernelOp>(kernel->clone());
    std::string name;
    if (kernel.getDims()) {
      int64_t tiles = columns / (*launch.getTiling())[0];
      tiled.setTiles(tiles);
      name = (kernel.getSymName() + "_x" + Twine(tiles)).str();
      launch.setGrid(ArrayRef<int64_t>{rows * columns, 1, 1});
    } else {
      SmallVector<int64_t> params(kernel.getParams());
      params.back() = columns;
      tiled.setParams(params);
      name = kernel.getTemplateName().str();
      for (int64_t p : params)
        name += "_" + std::to_string(p);
      launch.setGrid(ArrayRef<int64_t>{columns, rows, 1});
    }
    launch.setParts(ArrayRef<int64_t>{rows, columns});
    launch.setKernel(name);
    if (module.lookupSymbol(name)) {
      tiled->destroy();
      return;
    }
    tiled.setSymName(name);
    kernel->getBlock()->getOperations().insertAfter(kernel->getIterator(),
                                                    tiled);
  }

  llvm::SmallSetVector<kern::KernelOp, 8> retiled;
};

} // namespace
