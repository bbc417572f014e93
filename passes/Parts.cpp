//===- Parts.cpp - How a grid divides its work ----------------------------===//

#include "passes/Parts.h"

using namespace mlir;
using namespace glm;
using namespace glm::passes;

void Touched::add(kern::LaunchOp launch) {
  for (auto [i, v] : llvm::enumerate(launch.getArgs())) {
    if (auto state = v.getDefiningOp<kern::StateOp>())
      states.insert(state.getStateAttr());
    else if (v.getDefiningOp<kern::PagerOp>()) // as a state: in order
      states.insert(UnitAttr::get(launch.getContext()));
    else if (v.getDefiningOp<kern::AllocOp>())
      (llvm::is_contained(launch.getWrites(), i) ? writes : reads).insert(v);
  }
  for (int64_t i : launch.getCounted().value_or(ArrayRef<int64_t>()))
    counted.insert(launch.getArgs()[i]);
}

Touched Touched::of(Operation *op) {
  Touched touched;
  op->walk([&](kern::LaunchOp launch) { touched.add(launch); });
  return touched;
}

bool passes::dependent(const Touched &a, const Touched &b) {
  auto meet = [](const auto &x, const auto &y) {
    return llvm::any_of(x, [&](auto v) { return y.contains(v); });
  };
  return meet(a.writes, b.reads) || meet(a.writes, b.writes) ||
         meet(a.reads, b.writes) || meet(a.states, b.states);
}

bool passes::mustFollow(const Touched &a, const Touched &b) {
  Touched rest = b;
  for (Value v : b.counted)
    if (a.counted.contains(v))
      rest.reads.remove(v);
  return dependent(a, rest);
}

ArrayRef<int64_t> passes::partsOf(kern::LaunchOp launch) {
  static constexpr int64_t kOne[] = {1, 1};
  return launch.getParts() ? *launch.getParts() : ArrayRef<int64_t>(kOne);
}

/// The split of every argument of `launch` that is `buffer`; whole when they
/// differ.
static Split splitOf(kern::LaunchOp launch, Value buffer) {
  std::optional<Split> found;
  for (auto [i, v] : llvm::enumerate(launch.getArgs())) {
    if (v != buffer)
      continue;
    Split split = launch.getSplits() ? Split::decode((*launch.getSplits())[i]) : Split();
    if (found && found->encode() != split.encode())
      return {};
    found = split;
  }
  return found.value_or(Split());
}

bool passes::meetsInBlock(kern::LaunchOp first, kern::LaunchOp second, int64_t rows,
                          int64_t columns) {
  Touched a, b;
  a.add(first), b.add(second);
  if (llvm::any_of(a.states, [&](Attribute s) { return b.states.contains(s); }))
    return rows == 1 && columns == 1;
  llvm::SmallSetVector<Value, 8> shared;
  for (Value v : a.writes)
    if (b.reads.contains(v) || b.writes.contains(v))
      shared.insert(v);
  for (Value v : a.reads)
    if (b.writes.contains(v))
      shared.insert(v);
  return llvm::all_of(shared, [&](Value v) {
    Split x = splitOf(first, v), y = splitOf(second, v);
    auto type = cast<MemRefType>(v.getType());
    int64_t width = 1;
    for (int64_t d : type.getShape().drop_front())
      width *= d;
    bool byRows = rows == 1 || (x.rows && y.rows && type.getDimSize(0) % rows == 0);
    bool byColumns = columns == 1 || (x.outer && x.outer == y.outer &&
                                      width % (x.outer * columns) == 0);
    return byRows && byColumns;
  });
}

int64_t passes::argumentWords(kern::GridOp grid) {
  int64_t words = 0;
  grid.walk([&](kern::LaunchOp launch) { words += launch.getArgs().size(); });
  return words;
}

template <typename Marked>
static bool any(kern::GridOp grid, Marked marked) {
  return grid
      .walk([&](kern::LaunchOp launch) {
        return marked(launch) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool passes::isAlone(kern::GridOp grid) {
  return any(grid, [](kern::LaunchOp launch) { return launch.getAlone(); });
}

bool passes::isHungry(kern::GridOp grid) {
  return any(grid, [](kern::LaunchOp launch) { return launch.getHungry(); });
}

static bool isCounted(kern::LaunchOp launch, bool written) {
  return llvm::any_of(launch.getCounted().value_or(ArrayRef<int64_t>()), [&](int64_t i) {
    return llvm::is_contained(launch.getWrites(), i) == written;
  });
}

bool passes::counts(kern::LaunchOp launch) { return isCounted(launch, true); }
bool passes::awaits(kern::LaunchOp launch) { return isCounted(launch, false); }

bool passes::counts(kern::GridOp grid) {
  return any(grid, [](kern::LaunchOp launch) { return counts(launch); });
}

std::string passes::describeGrid(kern::GridOp grid) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto chain : grid.getBody().getOps<kern::ChainOp>()) {
    os << chain.getPhase();
    if (chain.getSlack())
      os << "+" << chain.getSlack();
    os << " " << chain.getRows() << " " << chain.getColumns() << ":";
    for (auto launch : chain.getBody().getOps<kern::LaunchOp>()) {
      os << " " << launch.getKernel();
      for (int64_t g : launch.getGrid())
        os << " " << g;
      os << " " << launch.getRowCount() << ",";
    }
    os << ";";
  }
  return text;
}
