//===- FusePhases.cpp - Grids that wait inside one launch -----------------===//
//
// Why: a step has many grids of few blocks, each of which waits for the one
// before. Blocks that wait inside the running launch for its earlier blocks save
// the launch; a reduction in two steps becomes one launch whose last blocks finish
// it. What a phase does not need runs on beside it.
// Contract: the same values. A waiting block holds its place on a processor: the
// waiting blocks of a launch must be fewer than the device holds at once, or the
// blocks that they wait for might never start (docs/decisions/0014).
//
//===----------------------------------------------------------------------===//

#include "passes/Parts.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

#include <map>
#include <vector>

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
    Launch into;
    for (auto grid : llvm::to_vector(getOperation().getBody().getOps<kern::GridOp>())) {
      Launch next = Launch::of(grid);
      std::string why = into.grid ? refuse(into, next) : "";
      if (into.grid && why.empty()) {
        remark::passed(grid.getLoc(), options()) << "waits inside the launch before it";
        append(into, next);
        continue;
      }
      if (into.grid)
        remark::missed(grid.getLoc(), options()) << why;
      into = next;
    }
    for (auto grid : getOperation().getBody().getOps<kern::GridOp>())
      relax(grid);
  }

private:
  static remark::RemarkOpts options() {
    return remark::RemarkOpts::name("fuse-phases").category("glm-fuse");
  }

  /// A grid that other grids join, and what counts against it.
  struct Launch {
    kern::GridOp grid;
    int64_t phases = 1, waiting = 0, words = 0, blocks = 0, bytes = 0;

    static Launch of(kern::GridOp grid) {
      Launch launch{grid};
      launch.words = argumentWords(grid);
      for (auto chain : grid.getBody().getOps<kern::ChainOp>())
        launch.blocks += chain.getBlocks();
      grid.walk([&](kern::LaunchOp l) { launch.bytes += l.getWeightBytes(); });
      return launch;
    }
  };

  int64_t limitOf(kern::GridOp a, kern::GridOp b) {
    return isHungry(a) || isHungry(b) ? std::min(maxWaiting, maxWaitingHungry)
                                      : maxWaiting;
  }

  /// The chains of `next` that need not wait for anything in `into`.
  static SmallVector<kern::ChainOp> freeChains(kern::GridOp into, kern::GridOp next) {
    SmallVector<kern::ChainOp> found;
    Touched before = Touched::of(into);
    for (auto chain : next.getBody().getOps<kern::ChainOp>())
      if (!dependent(before, Touched::of(chain)))
        found.push_back(chain);
    return found;
  }

  /// Why `next` cannot wait inside `into`.
  std::string refuse(const Launch &into, const Launch &next) {
    const int64_t limit = limitOf(into.grid, next.grid);
    if (isAlone(next.grid) || isAlone(into.grid))
      return "a kernel needs a grid of its own";
    if (counts(next.grid))
      return "others wait beside it for what it counts";
    if (into.phases == kMaxPhases)
      return "the grid has " + std::to_string(into.phases) + " phases";
    if (into.words + next.words > kMaxArgumentWords)
      return "the grid would have too many arguments";
    const bool beside = counts(into.grid) && into.phases == 1;
    int64_t waits = next.blocks;
    if (beside)
      for (kern::ChainOp chain : freeChains(into.grid, next.grid))
        waits -= chain.getBlocks();
    if (!beside && longBytes > 0 && next.bytes >= longBytes)
      return "it reads " + std::to_string(next.bytes) +
             " bytes of weights, beside which a launch costs little";
    if (into.waiting + waits > limit)
      return std::to_string(into.waiting + waits) +
             " blocks would wait, the device may hold no more than " +
             std::to_string(limit);
    return "";
  }

  void append(Launch &into, Launch &next) {
    const bool beside = counts(into.grid) && into.phases == 1;
    for (auto chain : next.grid.getBody().getOps<kern::ChainOp>())
      chain.setPhase(into.phases);
    into.waiting += next.blocks;
    if (beside)
      for (kern::ChainOp chain : freeChains(into.grid, next.grid))
        chain.setPhase(0), into.waiting -= chain.getBlocks();
    Block &target = into.grid.getBody().front();
    target.getOperations().splice(target.end(),
                                  next.grid.getBody().front().getOperations());
    // The values that the appended launches name stand before `into` already; taps
    // between the two show buffers that only earlier launches wrote.
    next.grid.erase();
    ++into.phases;
    into.words += next.words, into.bytes += next.bytes;
  }

  /// Gives each chain the slack that its first reader leaves it. Those with less of
  /// it come first in their phase, what others wait for beside it before them.
  static void relax(kern::GridOp grid) {
    SmallVector<kern::ChainOp> chains(grid.getBody().getOps<kern::ChainOp>());
    std::map<std::tuple<uint64_t, bool, uint64_t>, SmallVector<kern::ChainOp>> order;
    std::vector<Touched> touched;
    for (kern::ChainOp chain : chains)
      touched.push_back(Touched::of(chain));
    const uint64_t last = chains.back().getPhase();
    for (auto [i, chain] : llvm::enumerate(chains)) {
      uint64_t until = last;
      for (size_t j = i + 1; j < chains.size(); ++j)
        if (chains[j].getPhase() > chain.getPhase() && mustFollow(touched[i], touched[j]))
          until = std::min(until, chains[j].getPhase() - 1);
      chain.setSlack(until - chain.getPhase());
      const bool first = llvm::any_of(chain.getBody().getOps<kern::LaunchOp>(),
                                      [](kern::LaunchOp l) { return counts(l); });
      order[{chain.getPhase(), !first, chain.getSlack()}].push_back(chain);
    }
    Block &body = grid.getBody().front();
    for (auto &[when, equal] : order)
      for (kern::ChainOp chain : equal)
        chain->moveBefore(&body, body.end());
  }
};

} // namespace
