//===- PlanMemory.cpp - Offsets in the step's arena -----------------------===//
//
// Interval packing, largest buffer first: for each buffer the lowest offset
// where it meets no placed buffer that is alive at the same time. Greedy by size
// is within a few percent of the lower bound (the largest sum of live bytes) on
// these graphs; the bound is kept beside the result as `glm.live_bytes`.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "llvm/Support/MathExtras.h"

namespace glm::passes {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;

namespace {

constexpr int64_t kAlignment = 256;

struct Interval {
  kern::AllocOp alloc;
  int64_t bytes, first, last, offset;
};

int64_t bytesOf(kern::AllocOp alloc) {
  auto type = cast<MemRefType>(alloc.getType());
  return llvm::alignTo(
      llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(), 8),
      kAlignment);
}

struct PlanMemory final : passes::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    SmallVector<Interval> intervals;
    DenseMap<Value, size_t> index;
    int64_t launches = 0;
    SmallVector<Value> results; // read after the last launch
    auto touch = [&](Value v, int64_t when) {
      auto it = index.find(v);
      if (it == index.end())
        return;
      Interval &i = intervals[it->second];
      i.first = i.first < 0 ? when : i.first;
      i.last = std::max(i.last, when);
    };
    func::FuncOp func = getOperation();
    for (Operation &op : func.getBody().getOps()) {
      if (auto alloc = dyn_cast<kern::AllocOp>(op)) {
        index[alloc] = intervals.size();
        intervals.push_back({alloc, bytesOf(alloc), -1, -1, 0});
      } else if (isa<kern::LaunchOp, kern::GridOp>(op)) {
        // Launches of a grid may run at the same time: all that they touch lives
        // from the first to the last.
        SmallVector<kern::LaunchOp> together;
        op.walk([&](kern::LaunchOp launch) { together.push_back(launch); });
        for (kern::LaunchOp launch : together)
          for (Value v : launch.getArgs()) {
            touch(v, launches);
            touch(v, launches + together.size() - 1);
          }
        launches += together.size();
      } else if (auto tap = dyn_cast<kern::TapOp>(op)) {
        touch(tap.getBuffer(), std::max<int64_t>(launches - 1, 0));
        if (tap.getName() == "logits")
          results.push_back(tap.getBuffer());
      }
    }
    for (Value v : results)
      touch(v, std::max<int64_t>(launches - 1, 0));
    // Inputs are written before the first launch, and may be read by any.
    for (Interval &i : intervals) {
      StringRef name = i.alloc.getName();
      if (name == "ids" || name == "seqs" || name == "rows")
        i.first = 0, i.last = std::max<int64_t>(launches - 1, 0);
      i.first = std::max<int64_t>(i.first, 0);
      i.last = std::max(i.last, i.first);
    }
    place(intervals);

    int64_t arena = 0, live = 0;
    Builder b(&getContext());
    SmallVector<int64_t> delta(launches + 2, 0);
    for (Interval &i : intervals) {
      arena = std::max(arena, i.offset + i.bytes);
      delta[i.first] += i.bytes;
      delta[i.last + 1] -= i.bytes;
      i.alloc.setOffsetAttr(b.getI64IntegerAttr(i.offset));
      i.alloc.setFirstAttr(b.getI64IntegerAttr(i.first));
      i.alloc.setLastAttr(b.getI64IntegerAttr(i.last));
    }
    for (int64_t sum = 0, at = 0; at < launches; ++at)
      live = std::max(live, sum += delta[at]);
    func->setAttr("glm.arena_bytes", b.getI64IntegerAttr(arena));
    func->setAttr("glm.live_bytes", b.getI64IntegerAttr(live));
  }

  static void place(SmallVectorImpl<Interval> &intervals) {
    SmallVector<Interval *> order;
    for (Interval &i : intervals)
      order.push_back(&i);
    llvm::sort(order, [](const Interval *a, const Interval *b) {
      return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
    });
    SmallVector<Interval *> placed; // by offset
    for (Interval *next : order) {
      int64_t offset = 0;
      for (Interval *other : placed) {
        bool together = other->first <= next->last && next->first <= other->last;
        if (!together)
          continue;
        if (offset + next->bytes <= other->offset)
          break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      next->offset = offset;
      placed.insert(llvm::upper_bound(placed, next,
                                      [](const Interval *a, const Interval *b) {
                                        return a->offset < b->offset;
                                      }),
                    next);
    }
  }
};

} // namespace
