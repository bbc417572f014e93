//===- KernelEmitter.cpp - Kernels to source ------------------------------===//
//
// A rowwise body is cut into *stages* at its reductions. A value is uniform when
// it is the same for the whole row (constants, loads that ignore the column,
// reductions and what follows from those) and becomes a plain constant between
// the loops; every other value lives inside one loop of its stage, or in a `Row`
// when a later stage reads it.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/KernelEmitter.h"
#include "compiler/codegen/TemplateLibrary.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace glm;
using namespace glm::codegen;

namespace {

StringRef dtypeName(Type type) {
  return type.isF32() ? "F32" : type.isBF16() ? "BF16" : "F16";
}

std::string literal(FloatAttr attr) {
  float v = attr.getValue().convertToFloat();
  std::string text = llvm::formatv("{0:e9}", v).str();
  return text + "f";
}

class RowwiseEmitter {
public:
  explicit RowwiseEmitter(kern::KernelOp kernel)
      : kernel(kernel), dims(*kernel.getDims()), columns(dims.back()) {}

  FailureOr<std::string> emit() {
    for (Operation &op : kernel.getBody().front())
      if (failed(classify(&op)))
        return failure();
    findRows();
    llvm::raw_string_ostream os(out);
    os << "namespace glm::kernel {\n\ntemplate <class Block>\nGLM_FN void "
       << kernel.getSymName() << "_body(Block& block, const Args& args) {\n";
    emitIndices(os);
    for (int64_t stage = 0; stage <= lastStage; ++stage)
      emitStage(os, stage);
    os << "}\n\n}  // namespace glm::kernel\n";
    return out;
  }

  int64_t pointerCount() const { return pointers; }

private:
  struct Info {
    int64_t number = 0, stage = 0;
    bool uniform = true;
    bool row = false; // read by a later stage, or by a second loop of its own
  };

  bool usesColumn(ArrayRef<int64_t> coeffs) { return coeffs.back() != 0; }

  LogicalResult classify(Operation *op) {
    Info info;
    info.number = numbered++;
    for (Value v : op->getOperands()) {
      const Info &in = infos[v.getDefiningOp()];
      info.stage = std::max(info.stage, in.stage);
      info.uniform &= in.uniform;
    }
    if (auto load = dyn_cast<kern::LoadOp>(op)) {
      info.uniform = !usesColumn(load.getCoeffs());
      pointers = std::max<int64_t>(pointers, load.getOperand() + 1);
    } else if (isa<kern::RowReduceOp>(op)) {
      reductions[info.stage].push_back(op);
      ++info.stage;
      info.uniform = true;
    } else if (auto store = dyn_cast<kern::StoreOp>(op)) {
      pointers = std::max<int64_t>(pointers, store.getTarget() + 1);
      if (!usesColumn(store.getCoeffs()) && !info.uniform)
        return op->emitOpError("stores a value of the column at one place");
      info.uniform = !usesColumn(store.getCoeffs());
    }
    lastStage = std::max(lastStage, info.stage);
    infos[op] = info;
    order.push_back(op);
    return success();
  }

  void findRows() {
    for (Operation *op : order) {
      for (Value v : op->getOperands()) {
        Info &in = infos[v.getDefiningOp()];
        const Info &user = infos[op];
        int64_t loop = isa<kern::RowReduceOp>(op) ? user.stage - 1 : user.stage;
        bool second = isa<kern::RowReduceOp>(op) && op != reductions[loop].front();
        if (!in.uniform && (loop > in.stage || second))
          in.row = true;
      }
    }
  }

  void emitIndices(raw_ostream &os) {
    // The grid counts rows; their dimensions are split innermost first.
    const int64_t tiles = kernel.getTiles();
    os << "  int64_t rest = block.x;\n";
    if (tiles > 1)
      os << "  const int64_t first = rest % " << tiles << " * " << columns / tiles
         << ";\n  rest /= " << tiles << ";\n";
    for (int64_t d = dims.size() - 2; d >= 1; --d)
      os << "  const int64_t r" << d << " = rest % " << dims[d] << ";\n"
         << "  rest /= " << dims[d] << ";\n";
    os << "  const int64_t r0 = rest;\n"
       << "  if (!Sequences(args).Valid(r0)) return;\n";
    for (int64_t p = 0; p < pointers; ++p)
      os << "  auto* p" << p << " = args.Pointer(" << p + 3 << ");\n";
    for (Operation *op : order)
      if (infos[op].row)
        os << "  Row<" << columns << "> v" << infos[op].number << ";\n";
  }

  std::string address(ArrayRef<int64_t> coeffs, int64_t offset) {
    std::string text;
    auto add = [&](const Twine &term) {
      text += (text.empty() ? Twine("") : Twine(" + ")).str() + term.str();
    };
    for (size_t d = 0; d < coeffs.size(); ++d) {
      if (!coeffs[d])
        continue;
      std::string index =
          d + 1 == coeffs.size() ? "i" : ("r" + Twine(d)).str();
      add(coeffs[d] == 1 ? Twine(index) : index + " * " + Twine(coeffs[d]));
    }
    if (offset || text.empty())
      add(Twine(offset));
    return text;
  }

  /// How a loop of `stage` refers to a value.
  std::string ref(Value v) {
    const Info &in = infos[v.getDefiningOp()];
    std::string name = "v" + std::to_string(in.number);
    return in.row ? name + "[slot]" : name;
  }

  std::string expression(Operation *op) {
    auto a = [&](unsigned i) { return ref(op->getOperand(i)); };
    if (auto load = dyn_cast<kern::LoadOp>(op))
      return llvm::formatv("Load<{0}>(p{1}, {2})", dtypeName(load.getType()),
                           load.getOperand(),
                           address(load.getCoeffs(), load.getOffset()));
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return literal(cast<FloatAttr>(constant.getValue()));
    StringRef name = op->getName().getStringRef();
    if (StringRef infix = llvm::StringSwitch<StringRef>(name)
                              .Case("arith.addf", "+")
                              .Case("arith.subf", "-")
                              .Case("arith.mulf", "*")
                              .Case("arith.divf", "/")
                              .Default("");
        !infix.empty())
      return (a(0) + " " + infix + " " + a(1)).str();
    if (name == "arith.negf")
      return "-" + a(0);
    StringRef function = llvm::StringSwitch<StringRef>(name)
                             .Case("arith.minimumf", "Min")
                             .Case("arith.maximumf", "Max")
                             .Case("math.exp", "Exp")
                             .Case("math.rsqrt", "Rsqrt")
                             .Case("glm.sigmoid", "Sigmoid")
                             .Default("");
    assert(!function.empty() && "checked by emitKernels");
    std::string text = (function + "(" + a(0)).str();
    if (op->getNumOperands() > 1)
      text += ", " + a(1);
    return text + ")";
  }

  std::string storeText(kern::StoreOp store) {
    return llvm::formatv("Store<{0}>(p{1}, {2}, {3});", dtypeName(store.getType()),
                         store.getTarget(),
                         address(store.getCoeffs(), store.getOffset()),
                         ref(store.getValue()));
  }

  /// Every value and store of the stage that depends on the column.
  void emitLoopBody(raw_ostream &os, int64_t stage) {
    for (Operation *op : order) {
      const Info &info = infos[op];
      if (info.stage != stage || info.uniform)
        continue;
      if (auto store = dyn_cast<kern::StoreOp>(op))
        os << "    " << storeText(store) << "\n";
      else if (info.row)
        os << "    v" << info.number << "[slot] = " << expression(op) << ";\n";
      else
        os << "    const float v" << info.number << " = " << expression(op) << ";\n";
    }
  }

  void emitStage(raw_ostream &os, int64_t stage) {
    bool hasLoop = false;
    for (Operation *op : order) {
      const Info &info = infos[op];
      if (info.stage != stage)
        continue;
      if (!info.uniform) {
        hasLoop = true;
        continue;
      }
      if (isa<kern::StoreOp>(op) || isa<kern::RowReduceOp>(op))
        continue;
      os << "  const float v" << info.number << " = " << expression(op) << ";\n";
    }
    for (Operation *op : order)
      if (auto store = dyn_cast<kern::StoreOp>(op);
          store && infos[op].stage == stage && infos[op].uniform)
        os << "  Each<1>(block, [&](int64_t, int64_t) { " << storeText(store)
           << " });\n";
    const auto &sums = reductions[stage];
    for (auto [i, op] : llvm::enumerate(sums)) {
      auto reduce = cast<kern::RowReduceOp>(op);
      os << "  const float v" << infos[op].number << " = "
         << (reduce.getKind() == "add" ? "Sum<" : "Max<") << columns
         << ">(block, [&](int64_t i, int64_t slot) {\n";
      if (i == 0)
        emitLoopBody(os, stage);
      os << "    return " << ref(reduce.getValue()) << ";\n  });\n";
    }
    if (hasLoop && sums.empty()) {
      const int64_t tiles = kernel.getTiles();
      os << "  Each<" << columns / tiles << ">(block, [&](int64_t "
         << (tiles > 1 ? "at" : "i") << ", int64_t slot) {\n";
      if (tiles > 1)
        os << "    const int64_t i = first + at;\n";
      emitLoopBody(os, stage);
      os << "  });\n";
    }
  }

  kern::KernelOp kernel;
  ArrayRef<int64_t> dims;
  int64_t columns, pointers = 0, numbered = 0, lastStage = 0;
  DenseMap<Operation *, Info> infos;
  std::map<int64_t, SmallVector<Operation *>> reductions;
  SmallVector<Operation *> order;
  std::string out;
};

bool isScalarOp(Operation *op) {
  return llvm::StringSwitch<bool>(op->getName().getStringRef())
      .Cases({"arith.constant", "arith.addf", "arith.subf", "arith.mulf",
              "arith.divf", "arith.negf"},
             true)
      .Cases({"arith.minimumf", "arith.maximumf", "math.exp", "math.rsqrt",
              "glm.sigmoid"},
             true)
      .Cases({"kern.load", "kern.store", "kern.row_reduce"}, true)
      .Default(false);
}

/// The source of some kernels as it grows: bodies once each, then entries.
class Unit {
public:
  explicit Unit(SymbolTable &symbols) : symbols(symbols) {}

  LogicalResult add(kern::KernelOp kernel, kern::LaunchOp example);
  LogicalResult add(kern::KernelOp kernel, kern::GridOp example);
  LogicalResult addSampling(kern::KernelOp kernel);

  KernelSource finish() {
    KernelSource source;
    source.text = "// Generated by glmc. Do not edit.\n" +
                  inlineHeaders(headers.getArrayRef()) + "\n// ---- kernels\n\n" +
                  body;
    source.kernels = std::move(kernels);
    return source;
  }

  size_t work = 0;
  std::vector<std::string> kernels;

private:
  FailureOr<std::string> function(kern::KernelOp kernel);
  FailureOr<std::string> chainText(ArrayRef<kern::ChainOp> equal, int64_t firstBlock,
                                   int64_t firstWord, int64_t words);

  /// `waiting`: blocks that hold their place while they wait for others.
  void entry(kern::KernelOp kernel, int64_t arguments, int64_t waiting,
             StringRef function) {
    const bool rows = kernel.getOp() == "rowwise";
    body += llvm::formatv("{0}({1}, {2}, {3}, ",
                          waiting ? "GLM_GROUP" : rows ? "GLM_ROWWISE" : "GLM_KERNEL",
                          kernel.getSymName(), kernel.getThreads(), arguments)
                .str();
    if (waiting)
      body += llvm::formatv("{0}, ", waiting).str();
    body += llvm::formatv("{0})\n\n", function).str();
    kernels.push_back(kernel.getSymName().str());
  }

  SymbolTable &symbols;
  llvm::SetVector<StringRef> headers;
  llvm::StringSet<> bodies;
  std::string body;
};

/// The C++ function that a launch of `kernel` calls for a block.
FailureOr<std::string> Unit::function(kern::KernelOp kernel) {
  if (!kernel.getDims()) {
    // A template instance costs the compiler about as much as 8 rowwise bodies.
    work += 8;
    headers.insert(headerOf(kernel.getTemplateName()));
    return (kernel.getTemplateName() + "<").str() +
           llvm::join(llvm::map_range(kernel.getParams(),
                                      [](int64_t p) { return std::to_string(p); }),
                      ", ") +
           ">";
  }
  work += 1;
  headers.insert("glm/block.h");
  if (bodies.insert(kernel.getSymName()).second) {
    FailureOr<std::string> text = emitRowwise(kernel);
    if (failed(text))
      return failure();
    body += *text;
  }
  return (kernel.getSymName() + "_body").str();
}

LogicalResult Unit::add(kern::KernelOp kernel, kern::LaunchOp example) {
  FailureOr<std::string> name = function(kernel);
  if (failed(name))
    return failure();
  entry(kernel, example.getArgs().size(), 0, "glm::kernel::" + *name);
  return success();
}

/// A kernel that the runtime launches by itself.
LogicalResult Unit::addSampling(kern::KernelOp kernel) {
  constexpr int64_t arguments = 12; // docs/spec/sampling.md
  FailureOr<std::string> name = function(kernel);
  if (failed(name))
    return failure();
  entry(kernel, arguments, 0, "glm::kernel::" + *name);
  return success();
}

/// The blocks of chains that differ only in their arguments.
FailureOr<std::string> Unit::chainText(ArrayRef<kern::ChainOp> equal,
                                       int64_t firstBlock, int64_t firstWord,
                                       int64_t words) {
  kern::ChainOp chain = equal.front();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "    const int64_t at = b - " << firstBlock << ";\n";
  if (equal.size() > 1)
    os << "    const Args own = args.From(" << firstWord << " + at / "
       << chain.getBlocks() << " * " << words << ");\n"
       << "    const int64_t part = at % " << chain.getBlocks() << ";\n";
  else
    os << "    const Args own = args.From(" << firstWord << ");\n"
       << "    const int64_t part = at;\n";
  os << "    const int64_t r = part / " << chain.getColumns() << ", x = part % "
     << chain.getColumns() << ";\n";
  int64_t word = 0;
  for (auto launch : chain.getBody().getOps<kern::LaunchOp>()) {
    auto kernel = symbols.lookup<kern::KernelOp>(launch.getKernel());
    FailureOr<std::string> name = function(kernel);
    if (failed(name))
      return failure();
    ArrayRef<int64_t> parts = *launch.getParts(), grid = launch.getGrid();
    os << llvm::formatv(
        "    EachPart<{0}, {1}, {2}, {3}, {4}, {5}>(block, r, x, [&](auto& of) "
        "{{\n      {6}(of, own.From({7}));\n    });\n",
        parts[0] / chain.getRows(), parts[1] / chain.getColumns(), parts[1], grid[0],
        grid[1], launch.getRowCount(), *name, word);
    word += launch.getArgs().size();
  }
  return text;
}

/// What two chains must share to be the same text.
bool sameWork(kern::ChainOp a, kern::ChainOp b) {
  auto x = a.getBody().getOps<kern::LaunchOp>(), y = b.getBody().getOps<kern::LaunchOp>();
  return a.getPhase() == b.getPhase() && a.getParts() == b.getParts() &&
         std::distance(x.begin(), x.end()) == std::distance(y.begin(), y.end()) &&
         llvm::all_of(llvm::zip(x, y), [](auto both) {
           auto [p, q] = both;
           return p.getKernel() == q.getKernel() && p.getGrid() == q.getGrid() &&
                  p.getRowCount() == q.getRowCount();
         });
}

LogicalResult Unit::add(kern::KernelOp kernel, kern::GridOp example) {
  headers.insert("glm/phases.h");
  SmallVector<kern::ChainOp> chains(example.getBody().getOps<kern::ChainOp>());
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t block = 0, word = 1, phaseBegin = 0;
  const uint64_t last = chains.back().getPhase();
  for (size_t i = 0; i < chains.size();) {
    const uint64_t phase = chains[i].getPhase();
    if (i && chains[i - 1].getPhase() != phase) {
      os << "  phases.Await(" << phase - 1 << ", " << block - phaseBegin << ");\n";
      phaseBegin = block;
    }
    // 1. All chains of the phase, equal neighbours together.
    bool first = true;
    while (i < chains.size() && chains[i].getPhase() == phase) {
      size_t end = i + 1;
      while (end < chains.size() && sameWork(chains[i], chains[end]))
        ++end;
      int64_t words = 0;
      for (auto launch : chains[i].getBody().getOps<kern::LaunchOp>())
        words += launch.getArgs().size();
      const int64_t count = end - i;
      FailureOr<std::string> run =
          chainText(ArrayRef(chains).slice(i, count), block, word, words);
      if (failed(run))
        return failure();
      const int64_t blocks = count * chains[i].getBlocks();
      os << (first ? "  if" : " else if") << " (b < " << block + blocks << ") {\n"
         << *run << "  }";
      block += blocks, word += count * words;
      first = false;
      i = end;
    }
    // 2. Its end. Later phases' blocks go on below.
    os << "\n";
    if (phase == last && last > 0)
      os << "  phases.Finish(" << phase << ", " << block - phaseBegin << ");\n";
    else if (phase != last)
      os << "  if (b < " << block << ") {\n    phases.Done(" << phase
         << ");\n    return;\n  }\n";
  }
  body += llvm::formatv("namespace glm::kernel {{\n\ntemplate <class Block>\nGLM_FN void "
                        "{0}_body(Block& block, const Args& args) {{\n"
                        "{2}  const int64_t b = block.x;\n{1}}\n\n}  // namespace "
                        "glm::kernel\n",
                        kernel.getSymName(), text,
                        last > 0 ? "  const Phases phases(args.Pointer(0));\n" : "");
  int64_t waiting = 0;
  for (kern::ChainOp chain : chains)
    waiting += chain.getPhase() > 0 ? chain.getBlocks() : 0;
  entry(kernel, word, waiting, ("glm::kernel::" + kernel.getSymName() + "_body").str());
  return success();
}

} // namespace

FailureOr<std::string> codegen::emitRowwise(kern::KernelOp kernel) {
  for (Operation &op : kernel.getBody().front())
    if (!isScalarOp(&op))
      return op.emitOpError("has no form in the kernel vocabulary");
  return RowwiseEmitter(kernel).emit();
}

FailureOr<std::vector<KernelSource>> codegen::emitKernels(ModuleOp module,
                                                          unsigned parts) {
  SymbolTable symbols(module);
  std::vector<Unit> units(std::max(parts, 1u), Unit(symbols));
  // The first launch or grid of each kernel; launches in a grid need no entry.
  llvm::StringMap<Operation *> uses;
  module.walk([&](Operation *op) {
    if (auto launch = dyn_cast<kern::LaunchOp>(op);
        launch && !isa<kern::ChainOp>(launch->getParentOp()))
      uses.try_emplace(launch.getKernel(), launch);
    else if (auto grid = dyn_cast<kern::GridOp>(op); grid && grid.getKernel())
      uses.try_emplace(*grid.getKernel(), grid);
  });
  for (auto kernel : module.getOps<kern::KernelOp>()) {
    Operation *use = uses.lookup(kernel.getSymName());
    const bool samples = kernel.getOp().starts_with("sample_");
    if (!use && !samples)
      continue;
    Unit &unit = *llvm::min_element(
        units, [](const Unit &a, const Unit &b) { return a.work < b.work; });
    if (samples) {
      if (failed(unit.addSampling(kernel)))
        return failure();
      continue;
    }
    auto launch = dyn_cast<kern::LaunchOp>(use);
    if (failed(launch ? unit.add(kernel, launch)
                      : unit.add(kernel, cast<kern::GridOp>(use))))
      return failure();
  }
  std::vector<KernelSource> sources;
  for (Unit &unit : units)
    if (!unit.kernels.empty())
      sources.push_back(unit.finish());
  return sources;
}
