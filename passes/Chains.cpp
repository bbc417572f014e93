//===- Chains.cpp - Launches that one block can run in order --------------===//

#include "passes/Chains.h"

#include "mlir/IR/Remarks.h"

#include <numeric>

using namespace mlir;
using namespace glm;
using namespace glm::passes;

Chains::Chains(func::FuncOp func, int64_t maxSerial, int64_t maxBytes,
               int64_t earlyBytes)
    : maxSerial(maxSerial), maxBytes(maxBytes) {
  for (auto launch : func.getBody().getOps<kern::LaunchOp>())
    for (Value v : Touched::of(launch).reads)
      allReaders[v].push_back(launch);
  for (auto launch : func.getBody().getOps<kern::LaunchOp>())
    add(launch);

  // What joined may still do better apart: work that could start before the
  // chain does, and work that nobody waits for yet.
  for (Chain *chain : inOrder()) {
    SmallVector<size_t> apart = early(chain);
    if (earlyBytes > 0 && weightBytes(apart) >= earlyBytes)
      split(chain, apart, "starts before its consumer's other inputs are there");
  }
  for (Chain *chain : inOrder()) {
    SmallVector<size_t> apart = eager(chain);
    if (earlyBytes == 0 || weightBytes(apart) < earlyBytes)
      continue;
    // As few blocks as the cost rule lets it have: what hides needs none, and each may
    // be one that waits.
    Chain *own = split(chain, apart, "runs beside what its consumer waits for");
    coarsen(own, [&] {
      return tooDear(own->members, {own->rows, own->columns / 2}).empty();
    });
  }
  for (Chain *chain : inOrder())
    if (SmallVector<size_t> apart = late(chain); !apart.empty())
      split(chain, apart, "nothing waits for it yet, and others wait for its block");
  for (Chain *chain : inOrder())
    if (waitsBeside(chain))
      coarsen(chain, [&] { return chain->rows * chain->columns > kMostAwaiting; });
}

/// Whether it waits by itself for blocks of the level before.
bool Chains::waitsBeside(Chain *chain) {
  return llvm::any_of(chain->members, [&](size_t m) {
    return awaits(launches[m]) && llvm::any_of(producers[m], [&](size_t p) {
             return counts(launches[p]) && chainOf[p]->level == chain->level - 1;
           });
  });
}

/// Members that could run at a lower level than their chain.
SmallVector<size_t> Chains::early(Chain *chain) {
  DenseMap<size_t, int64_t> ready;
  SmallVector<size_t> found;
  for (size_t m : chain->members) {
    int64_t level = 0;
    for (size_t p : producers[m])
      level = std::max(level, chainOf[p] == chain ? ready[p]
                                                  : chainOf[p]->level + 1);
    ready[m] = level;
    if (level < chain->level)
      found.push_back(m);
  }
  return found;
}

int64_t Chains::weightBytes(Members members) {
  int64_t bytes = 0;
  for (size_t m : members)
    bytes += launches[m].getWeightBytes();
  return bytes;
}

/// Members that wait for little, in a chain that waits for far more.
SmallVector<size_t> Chains::eager(Chain *chain) {
  constexpr int64_t kFar = 16;
  int64_t most = 0;
  for (Chain *b : chain->before)
    if (b->level == chain->level - 1)
      most = std::max(most, weightBytes(b->members));
  SmallVector<size_t> found;
  if (most == 0)
    return found;
  for (size_t m : chain->members)
    if (!producers[m].empty() && llvm::all_of(producers[m], [&](size_t p) {
          return chainOf[p] == chain ? llvm::is_contained(found, p)
                                     : weightBytes(chainOf[p]->members) * kFar <= most;
        }))
      found.push_back(m);
  if (found.size() == chain->members.size())
    return {};
  return found;
}

/// Half as many blocks, as long as `wanted` of it.
void Chains::coarsen(Chain *chain, llvm::function_ref<bool()> wanted) {
  auto fits = [&](int64_t columns) {
    return llvm::all_of(chain->members, [&](size_t m) {
      return columnsIn(launches[m], columns) % columns == 0;
    });
  };
  while (chain->columns % 2 == 0 && fits(chain->columns / 2) && wanted())
    chain->columns /= 2;
}

/// Members of a one-block chain that are first waited for after others of it
/// are.
SmallVector<size_t> Chains::late(Chain *chain) {
  if (chain->columns != 1 || chain->members.size() < 2)
    return {};
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  DenseMap<size_t, int64_t> needed; // level of the first that waits for it
  int64_t urgent = kNever;
  for (size_t m : llvm::reverse(chain->members)) {
    int64_t level = kNever;
    for (size_t c : consumers[m])
      level = std::min(level, chainOf[c] == chain ? needed[c] : chainOf[c]->level);
    needed[m] = level;
    urgent = std::min(urgent, level);
  }
  SmallVector<size_t> found;
  for (size_t m : chain->members)
    if (needed[m] > urgent)
      found.push_back(m);
  return found;
}

/// Gives some members of a chain one of their own. Among the launches that one
/// of them waits for, or that wait for it, those of the chain are all on one
/// side.
Chain *Chains::split(Chain *chain, Members apart, StringRef why) {
  Chain *own = chains.emplace_back(std::make_unique<Chain>()).get();
  own->members.assign(apart.begin(), apart.end());
  llvm::erase_if(chain->members, [&](size_t m) { return llvm::is_contained(apart, m); });
  for (size_t m : apart)
    chainOf[m] = own;
  own->rows = chain->rows, own->columns = chain->columns;
  remark::passed(launches[apart.front()].getLoc(),
                 remark::RemarkOpts::name("fuse-blocks").category("glm-fuse"))
      << why;

  // Who waits for whom, and so the levels, anew.
  for (auto &c : chains)
    c->before.clear(), c->after.clear();
  for (auto [m, of] : llvm::enumerate(producers))
    for (size_t p : of)
      if (chainOf[p] != chainOf[m])
        link(chainOf[p], chainOf[m]);
  for (auto &c : chains)
    c->level = 0;
  for (auto &c : chains)
    if (c->before.empty())
      settle(c.get());
  return own;
}

SmallVector<Chain *> Chains::inOrder() {
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

/// The parts of a launch by itself. Without the attribute it joins nothing, and
/// its blocks are as good as columns.
Chains::Shape Chains::shapeAlone(kern::LaunchOp launch) {
  if (auto parts = launch.getParts())
    return {(*parts)[0], (*parts)[1]};
  int64_t blocks = 1;
  for (int64_t g : launch.getGrid())
    blocks *= g;
  return {1, blocks};
}

void Chains::add(kern::LaunchOp launch) {
  size_t number = launches.size();
  launches.push_back(launch);
  touched.emplace_back().add(launch);
  Chain *own = chains.emplace_back(std::make_unique<Chain>()).get();
  chainOf.push_back(own);
  own->members = {number};
  Shape shape = shapeAlone(launch);
  own->rows = shape.rows, own->columns = shape.columns;
  consumers.emplace_back();
  producers.push_back(dependencies(number));
  for (size_t p : producers[number]) {
    consumers[p].insert(number);
    link(chainOf[p], own);
  }
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
    remark::passed(launch.getLoc(), options)
        << "runs on in its producer's blocks";
  else if (!why.empty())
    remark::missed(launch.getLoc(), options) << why;
}

/// Launches before `number` whose order with it matters, nearest of a kind
/// only.
llvm::SmallSetVector<size_t, 8> Chains::dependencies(size_t number) {
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

void Chains::link(Chain *first, Chain *second) {
  second->before.insert(first);
  first->after.insert(second);
}

/// Levels of `chain` and of all that wait for it.
void Chains::settle(Chain *chain) {
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
bool Chains::waitsFor(Chain *chain, ArrayRef<Chain *> targets) {
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
    if (llvm::all_of(targets,
                     [&](Chain *t) { return next->level <= t->level; }))
      continue;
    work.append(next->before.begin(), next->before.end());
  }
  return false;
}

/// The parts of a chain of these members: as coarse as the coarsest; nullopt
/// when one does not divide another.
std::optional<Chains::Shape> Chains::shapeOf(Members members) {
  Shape shape = {0, 0};
  int64_t least = 1, wanted = 1;
  for (size_t m : members) {
    ArrayRef<int64_t> parts = partsOf(launches[m]);
    shape.rows = shape.rows ? std::min(shape.rows, parts[0]) : parts[0];
    if (auto tiling = launches[m].getTiling()) {
      least = std::lcm(least, (*tiling)[0]);
      wanted = std::max(wanted, parts[1]);
    } else {
      shape.columns =
          shape.columns ? std::min(shape.columns, parts[1]) : parts[1];
    }
  }
  if (!shape.columns)
    shape.columns = widen(members, std::lcm(least, wanted));
  for (size_t m : members) {
    int64_t columns = columnsIn(launches[m], shape.columns);
    if (partsOf(launches[m])[0] % shape.rows != 0 ||
        columns % shape.columns != 0)
      return std::nullopt;
  }
  return shape;
}

/// Pointwise work alone: more columns until a block has kWidth points of a row.
int64_t Chains::widen(Members members, int64_t columns) {
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

int64_t Chains::columnsIn(kern::LaunchOp launch, int64_t columns) {
  auto tiling = launch.getTiling();
  if (!tiling)
    return partsOf(launch)[1];
  int64_t own = std::lcm((*tiling)[0], columns);
  return (*tiling)[1] % own == 0 ? own : 1;
}

/// The cost rule: why these launches should not share blocks.
std::string Chains::tooDear(Members members, Shape shape) {
  for (size_t m : members) {
    kern::LaunchOp launch = launches[m];
    int64_t blocks = shape.rows * shape.columns;
    int64_t serial =
        partsOf(launch)[0] * columnsIn(launch, shape.columns) / blocks;
    int64_t bytes =
        (launch.getWeightBytes() + launch.getMemoryBytes()) / blocks;
    if (serial > maxSerial)
      return "one block would do the work of " + std::to_string(serial);
    if (serial > 1 && partsOf(launch)[0] * partsOf(launch)[1] > blocks &&
        bytes > maxBytes)
      return "one block would move " + std::to_string(bytes) + " bytes";
  }
  return "";
}

std::string Chains::refuse(Chain *own, Chain *other) {
  SmallVector<size_t> members = merged(own, other);
  for (size_t m : members)
    if (!launches[m].getParts())
      return "the launch has no parts";
  for (size_t m : members)
    if (launches[m].getAlone())
      return "a kernel needs a grid of its own";
  std::optional<Shape> shape = shapeOf(members);
  if (!shape)
    return "the parts of one do not divide those of the other";
  // All pairs: a chain of pointwise work alone may get more columns than it
  // had.
  for (auto [i, b] : llvm::enumerate(members))
    for (size_t a : ArrayRef(members).take_front(i))
      if (dependent(touched[a], touched[b]) &&
          !meetsInBlock(launches[a], launches[b], shape->rows, shape->columns))
        return "a block needs what other blocks computed";
  int64_t words = 0;
  for (size_t m : members)
    words += launches[m].getArgs().size();
  if (words > kMaxArgumentWords)
    return "the chain would have too many arguments";
  if (std::string why = tooDear(members, *shape); !why.empty())
    return why;
  if (shape->columns == 1 && widerFollows(other))
    return "a product that follows can have the producer in its own blocks";
  SmallVector<Chain *> ends = {own, other};
  for (Chain *chain : ends)
    for (Chain *b : chain->before)
      if (b != own && b != other && waitsFor(b, ends))
        return "another chain stands between the two";
  return "";
}

/// Whether a chain of pointwise work is read by a product, not in a chain yet, whose
/// blocks need only their part of it.
bool Chains::widerFollows(Chain *chain) {
  if (!llvm::all_of(chain->members,
                    [&](size_t m) { return launches[m].getTiling().has_value(); }))
    return false;
  for (size_t m : chain->members)
    for (Value v : touched[m].writes)
      for (kern::LaunchOp reader : allReaders.lookup(v)) {
        ArrayRef<int64_t> parts = partsOf(reader);
        if (!llvm::is_contained(launches, reader) && reader.getWeightBytes() > 0 &&
            parts[1] > 1 && columnsIn(launches[m], parts[1]) % parts[1] == 0 &&
            meetsInBlock(launches[m], reader, parts[0], parts[1]))
          return true;
      }
  return false;
}

SmallVector<size_t> Chains::merged(Chain *a, Chain *b) {
  SmallVector<size_t> members(a->members);
  members.append(b->members.begin(), b->members.end());
  llvm::sort(members);
  return members;
}

/// `own` goes into `into`.
Chain *Chains::join(Chain *into, Chain *own) {
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
