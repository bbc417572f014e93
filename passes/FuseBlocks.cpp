//===- FuseBlocks.cpp - Launches that run on in the same block ------------===//
//
// Why: what a block has just computed lies in its caches; the launch that needs
// only that part of it need not wait for all other blocks, nor for a launch.
// Product + activation, product + residual mix, convolution + norm + recurrence +
// gate of one head, or all the small work on one row become a chain of launches
// that one block runs from first to last.
// Contract: the same values as the launches one after the other.
//
// A launch is taken into the chains of its producers when its part of what they
// wrote is their part (Parts.h), when no other chain stands between, and when
// dividing the work as coarsely as the chain's coarsest member is not too dear.
// Shapes, bytes and splits decide; no operation is known here by name.
//
//===----------------------------------------------------------------------===//

#include "passes/Parts.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

#include <numeric>

namespace glm::passes {
#define GEN_PASS_DEF_FUSEBLOCKSPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;
using namespace glm::passes;

namespace {

struct Chain {
  SmallVector<size_t> members; // numbers of launches, ascending
  llvm::SmallSetVector<Chain *, 8> before, after; // chains that it waits for; that wait
  int64_t rows = 1, columns = 1;
  int64_t level = 0; // 1 + the highest of `before`
};

struct Shape {
  int64_t rows, columns;
};

class Chains {
public:
  Chains(func::FuncOp func, int64_t maxSerial, int64_t maxBytes)
      : maxSerial(maxSerial), maxBytes(maxBytes) {
    for (auto launch : func.getBody().getOps<kern::LaunchOp>())
      add(launch);
  }

  /// Chains in an order that they can run in.
  SmallVector<Chain *> inOrder() {
    SmallVector<Chain *> order;
    for (auto &chain : chains)
      if (!chain->members.empty())
        order.push_back(chain.get());
    llvm::sort(order, [](const Chain *a, const Chain *b) {
      return std::tuple(a->level, a->members.front()) <
             std::tuple(b->level, b->members.front());
    });
    return order;
  }

  kern::LaunchOp launch(size_t number) { return launches[number]; }

private:
  void add(kern::LaunchOp launch) {
    size_t number = launches.size();
    launches.push_back(launch);
    touched.emplace_back().add(launch);
    Chain *own = chains.emplace_back(std::make_unique<Chain>()).get();
    chainOf.push_back(own);
    own->members = {number};
    // A launch without parts is one indivisible whole.
    own->rows = partsOf(launch)[0], own->columns = partsOf(launch)[1];
    for (size_t p : dependencies(number))
      link(chainOf[p], own);
    settle(own);
    if (!launch.getParts())
      return;

    SmallVector<Chain *> candidates(own->before.begin(), own->before.end());
    llvm::sort(candidates, [](const Chain *a, const Chain *b) {
      return std::tuple(a->level, a->members.back()) >
             std::tuple(b->level, b->members.back());
    });
    std::string why;
    bool joined = false;
    for (Chain *other : candidates) {
      std::string reason = refuse(own, other);
      if (reason.empty()) {
        own = join(other, own);
        joined = true;
      } else if (why.empty()) {
        why = reason;
      }
    }
    auto options = remark::RemarkOpts::name("fuse-blocks").category("glm-fuse");
    if (joined)
      remark::passed(launch.getLoc(), options) << "runs on in its producer's blocks";
    else if (!why.empty())
      remark::missed(launch.getLoc(), options) << why;
  }

  /// Launches before `number` whose order with it matters, nearest of a kind only.
  llvm::SmallSetVector<size_t, 8> dependencies(size_t number) {
    llvm::SmallSetVector<size_t, 8> found;
    auto after = [&](auto &map, auto key) {
      auto it = map.find(key);
      if (it != map.end() && it->second != number)
        found.insert(it->second);
    };
    const Touched &t = touched[number];
    for (Value v : t.reads)
      after(writer, v);
    for (Value v : t.writes) {
      after(writer, v);
      for (size_t reader : readers[v])
        found.insert(reader);
    }
    for (Attribute s : t.states)
      after(stateUser, s);
    for (Value v : t.writes) {
      writer[v] = number;
      readers[v].clear();
    }
    for (Value v : t.reads)
      readers[v].push_back(number);
    for (Attribute s : t.states)
      stateUser[s] = number;
    found.remove(number);
    return found;
  }

  void link(Chain *first, Chain *second) {
    second->before.insert(first);
    first->after.insert(second);
  }

  /// Levels of `chain` and of all that wait for it.
  void settle(Chain *chain) {
    SmallVector<Chain *> work = {chain};
    while (!work.empty()) {
      Chain *next = work.pop_back_val();
      int64_t level = 0;
      for (Chain *b : next->before)
        level = std::max(level, b->level + 1);
      if (level == next->level && next != chain)
        continue;
      next->level = level;
      work.append(next->after.begin(), next->after.end());
    }
  }

  /// Whether `chain` waits, however indirectly, for one of `targets`.
  bool waitsFor(Chain *chain, ArrayRef<Chain *> targets) {
    llvm::SmallPtrSet<Chain *, 32> seen;
    SmallVector<Chain *> work = {chain};
    while (!work.empty()) {
      Chain *next = work.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      for (Chain *target : targets) {
        if (next == target)
          return true;
      }
      if (llvm::all_of(targets, [&](Chain *t) { return next->level <= t->level; }))
        continue;
      work.append(next->before.begin(), next->before.end());
    }
    return false;
  }

  /// The parts of a chain of these members: as coarse as the coarsest; nullopt
  /// when one does not divide another.
  std::optional<Shape> shapeOf(ArrayRef<size_t> members) {
    Shape shape = {0, 0};
    int64_t least = 1, wanted = 1;
    for (size_t m : members) {
      ArrayRef<int64_t> parts = partsOf(launches[m]);
      shape.rows = shape.rows ? std::min(shape.rows, parts[0]) : parts[0];
      if (auto tiling = launches[m].getTiling()) {
        least = std::lcm(least, (*tiling)[0]);
        wanted = std::max(wanted, parts[1]);
      } else {
        shape.columns = shape.columns ? std::min(shape.columns, parts[1]) : parts[1];
      }
    }
    if (!shape.columns)
      shape.columns = widen(members, std::lcm(least, wanted));
    for (size_t m : members) {
      int64_t columns = columnsIn(launches[m], shape.columns);
      if (partsOf(launches[m])[0] % shape.rows != 0 || columns % shape.columns != 0)
        return std::nullopt;
    }
    return shape;
  }

  /// Pointwise work alone: more columns until a block has kWidth points of a row.
  int64_t widen(ArrayRef<size_t> members, int64_t columns) {
    constexpr int64_t kWidth = 1024;
    auto fits = [&](int64_t more) {
      return llvm::all_of(members, [&](size_t m) {
        return (*launches[m].getTiling())[1] % more == 0;
      });
    };
    while ((*launches[members[0]].getTiling())[1] / columns > kWidth &&
           fits(2 * columns))
      columns *= 2;
    return columns;
  }

public:
  /// The columns that a launch takes in a chain of `columns`; 0 when it cannot.
  static int64_t columnsIn(kern::LaunchOp launch, int64_t columns) {
    auto tiling = launch.getTiling();
    if (!tiling)
      return partsOf(launch)[1];
    int64_t own = std::lcm((*tiling)[0], columns);
    return (*tiling)[1] % own == 0 ? own : 1;
  }

private:
  std::string refuse(Chain *own, Chain *other) {
    SmallVector<size_t> members = merged(own, other);
    for (size_t m : members)
      if (!launches[m].getParts())
        return "the launch has no parts";
    std::optional<Shape> shape = shapeOf(members);
    if (!shape)
      return "the parts of one do not divide those of the other";
    // Pairs of one chain too: pointwise work alone may have had fewer columns.
    for (auto [i, b] : llvm::enumerate(members))
      for (size_t a : ArrayRef(members).take_front(i))
        if (dependent(touched[a], touched[b]) &&
            !meetsInBlock(launches[a], launches[b], shape->rows, shape->columns))
          return "a block needs what other blocks computed";
    for (size_t m : members) {
      kern::LaunchOp launch = launches[m];
      int64_t blocks = shape->rows * shape->columns;
      int64_t serial = partsOf(launch)[0] * columnsIn(launch, shape->columns) / blocks;
      int64_t bytes = (launch.getWeightBytes() + launch.getMemoryBytes()) / blocks;
      if (serial > maxSerial)
        return "one block would do the work of " + std::to_string(serial);
      if (serial > 1 && partsOf(launch)[0] * partsOf(launch)[1] > blocks &&
          bytes > maxBytes)
        return "one block would move " + std::to_string(bytes) + " bytes";
    }
    SmallVector<Chain *> ends = {own, other};
    for (Chain *chain : ends)
      for (Chain *b : chain->before)
        if (b != own && b != other && waitsFor(b, ends))
          return "another chain stands between the two";
    return "";
  }

  SmallVector<size_t> merged(Chain *a, Chain *b) {
    SmallVector<size_t> members(a->members);
    members.append(b->members.begin(), b->members.end());
    llvm::sort(members);
    return members;
  }

  /// `own` goes into `into`.
  Chain *join(Chain *into, Chain *own) {
    into->members = merged(into, own);
    Shape shape = *shapeOf(into->members);
    into->rows = shape.rows, into->columns = shape.columns;
    for (size_t m : own->members)
      chainOf[m] = into;
    for (Chain *b : own->before) {
      b->after.remove(own);
      if (b != into)
        link(b, into);
    }
    for (Chain *a : own->after) {
      a->before.remove(own);
      if (a != into)
        link(into, a);
    }
    into->before.remove(own), into->after.remove(own);
    own->members.clear(), own->before.clear(), own->after.clear();
    settle(into);
    return into;
  }

  int64_t maxSerial, maxBytes;
  SmallVector<kern::LaunchOp> launches;
  std::vector<Touched> touched;
  SmallVector<Chain *> chainOf;
  std::vector<std::unique_ptr<Chain>> chains;
  DenseMap<Value, size_t> writer;
  DenseMap<Value, SmallVector<size_t>> readers;
  DenseMap<Attribute, size_t> stateUser;
};

struct FuseBlocks final : passes::impl::FuseBlocksPassBase<FuseBlocks> {
  using FuseBlocksPassBase::FuseBlocksPassBase;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        runOn(func);
  }

private:
  void runOn(func::FuncOp func) {
    auto rows = [&](StringRef name) {
      auto attr = func->getAttrOfType<IntegerAttr>(name);
      return attr ? attr.getInt() : 1;
    };
    if (rows("glm.sequences") * rows("glm.tokens") > maxRows) {
      remark::missed(func.getLoc(),
                     remark::RemarkOpts::name("fuse-blocks").category("glm-fuse"))
          << "more rows than max-rows: its launches are long";
      return;
    }
    Chains chains(func, maxSerial, maxBytes);
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
          launch.setParts(indivisible(launch));
        launch->moveBefore(&inner, inner.end());
        retile(launch, Chains::columnsIn(launch, chain->columns));
        for (int64_t w : launch.getWrites())
          lastWriter[launch.getArgs()[w]] = grid;
      }
    }
    // All that launches name comes before them, a tap after what it shows.
    for (kern::TapOp tap : taps)
      if (Operation *grid = lastWriter.lookup(tap.getBuffer()))
        tap->moveAfter(grid);
  }

  static SmallVector<int64_t> indivisible(kern::LaunchOp launch) {
    int64_t blocks = 1;
    for (int64_t g : launch.getGrid())
      blocks *= g;
    return {1, blocks};
  }

  /// Gives a launch another number of columns, and the kernel for it.
  void retile(kern::LaunchOp launch, int64_t columns) {
    ArrayRef<int64_t> parts = partsOf(launch);
    if (parts[1] == columns)
      return;
    int64_t rows = parts[0];
    ModuleOp module = getOperation();
    auto kernel = module.lookupSymbol<kern::KernelOp>(launch.getKernel());
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
    kernel->getBlock()->getOperations().insertAfter(kernel->getIterator(), tiled);
  }
};

} // namespace
