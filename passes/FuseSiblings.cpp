//===- FuseSiblings.cpp - Independent grids side by side ------------------===//
//
// Why: products that share an input, or the two branches of a layer, wait for the
// same thing and not for each other. As one grid they cost one launch, and the
// small ones fill the processors that the large ones leave idle. It is what
// stacking their weights would give, without moving a weight.
// Contract: nothing changes but the order in time.
//
//===----------------------------------------------------------------------===//

#include "passes/Parts.h"
#include "passes/Passes.h"

#include "llvm/ADT/SmallSet.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace glm::passes {
#define GEN_PASS_DEF_FUSESIBLINGSPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;
using namespace glm::passes;

namespace {

/// The levels of grids met so far, by what they touch: one for all that read a
/// value, one for all that wrote it, one for all that used a state.
class Met {
public:
  /// f(level) of those whose order with a grid that touches `t` matters.
  template <class F> void each(const Touched &t, F f) {
    auto visit = [&](auto &map, auto key) {
      if (auto it = map.find(key); it != map.end())
        f(it->second);
    };
    for (Value v : t.reads)
      visit(written, v);
    for (Value v : t.writes)
      visit(written, v), visit(read, v);
    for (Attribute s : t.states)
      visit(used, s);
  }

  /// A grid of `level`; join(met) is the level of it and others together.
  template <class Join> void add(const Touched &t, Join join, int64_t level) {
    auto note = [&](auto &map, auto key) {
      auto [it, fresh] = map.try_emplace(key, level);
      it->second = join(it->second);
    };
    for (Value v : t.reads)
      note(read, v);
    for (Value v : t.writes)
      note(written, v);
    for (Attribute s : t.states)
      note(used, s);
  }

private:
  DenseMap<Value, int64_t> written, read;
  DenseMap<Attribute, int64_t> used;
};

struct FuseSiblings final : passes::impl::FuseSiblingsPassBase<FuseSiblings> {
  using FuseSiblingsPassBase::FuseSiblingsPassBase;

  void runOnOperation() override {
    SmallVector<kern::GridOp> grids(getOperation().getBody().getOps<kern::GridOp>());
    std::map<int64_t, SmallVector<kern::GridOp>> levels;
    SmallVector<int64_t> chosen = levelsOf(grids);
    sink(grids, chosen);
    for (auto [grid, level] : llvm::zip(grids, chosen))
      levels[level].push_back(grid);

    Operation *end = getOperation().getBody().front().getTerminator();
    SmallVector<kern::TapOp> taps(getOperation().getBody().getOps<kern::TapOp>());
    DenseMap<Value, Operation *> lastWriter;
    for (auto &[level, siblings] : levels) {
      kern::GridOp into;
      int64_t words = 0;
      for (kern::GridOp grid : siblings) {
        Touched touched = Touched::of(grid);
        int64_t own = argumentWords(grid);
        bool separate = isAlone(grid) || !into || words + own > kMaxArgumentWords;
        if (into && !separate)
          merge(into, grid);
        else
          grid->moveBefore(end);
        if (into && separate)
          remark::missed(grid.getLoc(), options())
              << (isAlone(grid) ? "the kernel needs a grid of its own"
                                : "the grid would have too many arguments");
        for (Value v : touched.writes)
          lastWriter[v] = separate ? grid : into;
        if (separate && !isAlone(grid))
          into = grid, words = own;
        else if (!separate)
          words += own;
      }
    }
    for (kern::TapOp tap : llvm::reverse(taps))
      if (Operation *grid = lastWriter.lookup(tap.getBuffer()))
        tap->moveAfter(grid);
  }

private:
  static remark::RemarkOpts options() {
    return remark::RemarkOpts::name("fuse-siblings").category("glm-fuse");
  }

  void merge(kern::GridOp into, kern::GridOp grid) {
    remark::passed(grid.getLoc(), options()) << "runs beside another grid";
    Block &target = into.getBody().front();
    target.getOperations().splice(target.end(), grid.getBody().front().getOperations());
    grid.erase();
  }

  static int64_t blocksOf(kern::GridOp grid) {
    int64_t blocks = 0;
    for (auto chain : grid.getBody().getOps<kern::ChainOp>())
      blocks += chain.getBlocks();
    return blocks;
  }

  /// A grid in a narrow level goes to the last wide one that it may: what follows in
  /// phases can hold only few blocks and waits for the longest of them, and a wide
  /// level keeps the device busy anyway. Best is beside one that others wait for as it
  /// counts: it is slow, and not by the device's doing.
  static void sink(ArrayRef<kern::GridOp> grids, SmallVectorImpl<int64_t> &levels) {
    constexpr int64_t kWide = 128; // blocks that keep memory busy
    std::map<int64_t, int64_t> blocks;
    const auto widthOf = [](kern::GridOp grid) { // nothing runs beside one alone
      return isAlone(grid) ? 0 : blocksOf(grid);
    };
    llvm::SmallSet<int64_t, 16> slow;
    for (auto [grid, level] : llvm::zip(grids, levels)) {
      blocks[level] += widthOf(grid);
      if (counts(grid))
        slow.insert(level);
    }
    Met later;
    for (size_t i = grids.size(); i-- > 0;) {
      Touched t = Touched::of(grids[i]);
      constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
      int64_t bound = kNever;
      later.each(t, [&](int64_t level) { bound = std::min(bound, level - 1); });
      const int64_t own = widthOf(grids[i]), least = std::max(kWide, 2 * own);
      blocks[levels[i]] -= own;
      int64_t best = levels[i];
      const bool mayMove = bound != kNever && !isAlone(grids[i]) && !counts(grids[i]);
      for (int64_t level = bound; mayMove && level > levels[i]; --level)
        if (best == levels[i] && slow.contains(level))
          best = level;
      for (int64_t level = bound; mayMove && level > levels[i]; --level)
        if (best == levels[i] && blocks[best] < least && blocks[level] >= least)
          best = level;
      blocks[best] += own;
      levels[i] = best;
      later.add(t, [&](int64_t met) { return std::min(met, best); }, best);
    }
  }

  /// For each grid, 1 + the highest level that it waits for.
  static SmallVector<int64_t> levelsOf(ArrayRef<kern::GridOp> grids) {
    Met earlier;
    SmallVector<int64_t> levels;
    for (kern::GridOp grid : grids) {
      Touched t = Touched::of(grid);
      int64_t level = 0;
      earlier.each(t, [&](int64_t met) { level = std::max(level, met + 1); });
      earlier.add(t, [&](int64_t met) { return std::max(met, level); }, level);
      levels.push_back(level);
    }
    return levels;
  }
};

} // namespace
