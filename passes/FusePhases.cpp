//===- FusePhases.cpp - Grids that wait inside one launch -----------------===//
//
// Why: a step has many grids of few blocks, each of which waits for the one
// before. Blocks that wait inside the running launch for its earlier blocks save
// the launch; a reduction in two steps becomes one launch whose last blocks finish
// it.
// Contract: the same values. A waiting block holds its place on a processor: the
// waiting blocks of a launch must be fewer than the device holds at once, or the
// blocks that they wait for might never start (docs/decisions/0014).
//
//===----------------------------------------------------------------------===//

#include "passes/Parts.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace glm::passes {
#define GEN_PASS_DEF_FUSEPHASESPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;
using namespace glm::passes;

namespace {

struct FusePhases final : passes::impl::FusePhasesPassBase<FusePhases> {
  using FusePhasesPassBase::FusePhasesPassBase;

  void runOnOperation() override {
    kern::GridOp into;
    int64_t phases = 0, waiting = 0, words = 0;
    for (auto grid : llvm::to_vector(getOperation().getBody().getOps<kern::GridOp>())) {
      int64_t blocks = 0;
      for (auto chain : grid.getBody().getOps<kern::ChainOp>())
        blocks += chain.getBlocks();
      int64_t own = argumentWords(grid);
      int64_t limit = isHungry(grid) || (into && isHungry(into))
                          ? std::min(maxWaiting, maxWaitingHungry)
                          : maxWaiting;
      std::string why;
      if (into) {
        if (isAlone(grid) || isAlone(into))
          why = "a kernel needs a grid of its own";
        else if (phases == kMaxPhases)
          why = "the grid has " + std::to_string(phases) + " phases";
        else if (words + own > kMaxArgumentWords)
          why = "the grid would have too many arguments";
        else if (waiting + blocks > limit)
          why = std::to_string(waiting + blocks) +
                " blocks would wait, the device may hold no more than " +
                std::to_string(limit);
      }
      if (!into || !why.empty()) {
        if (into)
          remark::missed(grid.getLoc(), options()) << why;
        into = grid, phases = 1, waiting = 0, words = own;
        continue;
      }
      remark::passed(grid.getLoc(), options()) << "waits inside the launch before it";
      append(into, grid, phases);
      ++phases, waiting += blocks, words += own;
    }
  }

private:
  static remark::RemarkOpts options() {
    return remark::RemarkOpts::name("fuse-phases").category("glm-fuse");
  }

  void append(kern::GridOp into, kern::GridOp grid, int64_t phase) {
    for (auto chain : grid.getBody().getOps<kern::ChainOp>())
      chain.setPhase(phase);
    Block &target = into.getBody().front();
    target.getOperations().splice(target.end(), grid.getBody().front().getOperations());
    // The values that the appended launches name stand before `into` already; taps
    // between the two show buffers that only earlier launches wrote.
    grid.erase();
  }
};

} // namespace
