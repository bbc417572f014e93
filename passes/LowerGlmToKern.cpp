//===- LowerGlmToKern.cpp - One launch for each operation -----------------===//
//
// Structured operations take their row of KernelTable.cpp; a rowwise operation
// becomes a kernel of its own, whose body is its region with every access spelt
// out as strides. Equal kernels are made once for the whole module.
//
//===----------------------------------------------------------------------===//

#include "passes/KernelTable.h"
#include "passes/Passes.h"
#include "passes/RowwiseAccess.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/IR/IRMapping.h"

namespace glm::passes {
#define GEN_PASS_DEF_LOWERGLMTOKERNPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;
using namespace glm::passes;

namespace {

constexpr int64_t kPagerBytes = 288; // docs/spec/paging.md

/// Kernels of the module by what they compute.
class Kernels {
public:
  explicit Kernels(ModuleOp module)
      : module(module), builder(OpBuilder::atBlockBegin(module.getBody())) {}

  StringAttr structured(const KernelChoice &choice) {
    std::string name = choice.templateName;
    for (int64_t p : choice.params)
      name += "_" + std::to_string(p);
    StringAttr &symbol = bySource[name];
    if (!symbol) {
      symbol = builder.getStringAttr(name);
      kern::KernelOp::create(
          builder, module.getLoc(), symbol, builder.getStringAttr(choice.op),
          builder.getStringAttr(choice.templateName),
          builder.getDenseI64ArrayAttr(choice.params),
          builder.getI64IntegerAttr(choice.threads), DenseI64ArrayAttr(),
          builder.getI64IntegerAttr(1), builder.getI64IntegerAttr(1));
    }
    return symbol;
  }

  /// `pointer[i]` is the number of the pointer argument of input i.
  StringAttr rowwise(model::RowwiseOp op, ArrayRef<int64_t> pointer, int64_t pointers,
                     int64_t together, StringRef hint) {
    SmallVector<int64_t> dims(op.getDomain());
    dims[0] = -1;
    auto kernel = kern::KernelOp::create(
        builder, op.getLoc(), builder.getStringAttr("pending"),
        builder.getStringAttr("rowwise"), builder.getStringAttr(""),
        builder.getDenseI64ArrayAttr({}), builder.getI64IntegerAttr(256),
        builder.getDenseI64ArrayAttr(dims), builder.getI64IntegerAttr(1),
        builder.getI64IntegerAttr(together));
    fillBody(kernel, op, pointer, pointers);

    std::string source;
    llvm::raw_string_ostream os(source);
    kernel->print(os, OpPrintingFlags().useLocalScope());
    StringAttr &symbol = bySource[source];
    if (symbol) {
      kernel.erase();
      return symbol;
    }
    std::string base = "row_" + hint.str();
    std::replace_if(
        base.begin(), base.end(), [](char c) { return !llvm::isAlnum(c); }, '_');
    std::string name = base;
    for (int n = 2; !names.insert(name).second; ++n)
      name = base + "_v" + std::to_string(n);
    symbol = builder.getStringAttr(name);
    kernel.setSymNameAttr(symbol);
    return symbol;
  }

private:
  void fillBody(kern::KernelOp kernel, model::RowwiseOp op,
                ArrayRef<int64_t> pointer, int64_t pointers) {
    OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().emplaceBlock());
    IRMapping map;
    for (auto [i, arg] : llvm::enumerate(op.getBody().getArguments())) {
      auto type = cast<RankedTensorType>(op.getInputs()[i].getType());
      Access a = linearise(cast<AffineMapAttr>(op.getInMaps()[i]).getValue(),
                           type.getShape());
      map.map(arg, kern::LoadOp::create(b, op.getLoc(), b.getF32Type(),
                                        pointer[i], a.coeffs, a.offset,
                                        type.getElementType()));
    }
    for (Operation &inner : op.getBody().front().without_terminator()) {
      if (auto reduce = dyn_cast<model::RowReduceOp>(inner))
        map.map(reduce.getResult(),
                kern::RowReduceOp::create(b, op.getLoc(), b.getF32Type(),
                                          reduce.getKindAttr(),
                                          map.lookup(reduce.getValue())));
      else
        b.clone(inner, map);
    }
    auto yield = cast<model::YieldOp>(op.getBody().front().getTerminator());
    for (auto [i, value] : llvm::enumerate(yield.getValues())) {
      auto type =
          cast<RankedTensorType>(op.getResults()[op.getTargets()[i]].getType());
      Access a = linearise(cast<AffineMapAttr>(op.getOutMaps()[i]).getValue(),
                           type.getShape());
      kern::StoreOp::create(b, op.getLoc(), map.lookup(value),
                            pointers + op.getTargets()[i], a.coeffs, a.offset,
                            type.getElementType());
    }
  }

  ModuleOp module;
  OpBuilder builder;
  llvm::StringMap<StringAttr> bySource;
  llvm::StringSet<> names;
};

/// Rewrites one entry function.
class EntryLowering {
public:
  EntryLowering(func::FuncOp func, SymbolTable &symbols, Kernels &kernels)
      : func(func), symbols(symbols), kernels(kernels),
        b(func.getContext()) {}

  LogicalResult run() {
    auto sequences = func->getAttrOfType<IntegerAttr>("glm.sequences");
    auto tokens = func->getAttrOfType<IntegerAttr>("glm.tokens");
    if (func.isExternal() || !sequences || !tokens ||
        func.getNumArguments() != 3 || func.getNumResults() != 1)
      return func.emitOpError("expects a body, the attributes glm.sequences and "
                              "glm.tokens, the arguments ids, seqs, rows and the "
                              "result logits");
    step = {sequences.getInt(), tokens.getInt()};

    Block *old = &func.getBody().front();
    Block *fresh = new Block();
    func.getBody().push_back(fresh);
    b.setInsertionPointToEnd(fresh);
    for (auto [arg, name] :
         llvm::zip(old->getArguments(), ArrayRef<StringRef>{"ids", "seqs", "rows"}))
      buffers[arg] = alloc(func.getLoc(), arg.getType(), name);
    seqs = buffers[old->getArgument(1)];

    for (Operation &op : *old)
      if (failed(lower(&op)))
        return failure();
    old->dropAllDefinedValueUses();
    old->dropAllReferences();
    old->erase();
    func.setFunctionType(b.getFunctionType({}, {}));
    return success();
  }

private:
  Value alloc(Location loc, Type tensor, StringRef name) {
    auto type = cast<RankedTensorType>(tensor);
    return kern::AllocOp::create(
        b, loc, MemRefType::get(type.getShape(), type.getElementType()),
        b.getStringAttr(name), IntegerAttr(), IntegerAttr(), IntegerAttr());
  }

  Value bufferOf(Value v) { return buffers.lookup(v); }

  LogicalResult lower(Operation *op) {
    Location loc = op->getLoc();
    if (auto get = dyn_cast<model::GetWeightOp>(op)) {
      auto type = cast<RankedTensorType>(get.getType());
      buffers[get] = kern::WeightOp::create(
          b, loc, MemRefType::get(type.getShape(), type.getElementType()),
          get.getWeightAttr());
      return success();
    }
    if (auto tap = dyn_cast<model::TapOp>(op)) {
      kern::TapOp::create(b, loc, tap.getNameAttr(), bufferOf(tap.getValue()));
      return success();
    }
    if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      kern::TapOp::create(b, loc, b.getStringAttr("logits"),
                          bufferOf(ret.getOperand(0)));
      func::ReturnOp::create(b, loc);
      return success();
    }
    if (isa<model::GatherRowsOp>(op) ||
        llvm::any_of(op->getOperands(), [&](Value v) { return head.contains(v); }))
      head.insert_range(op->getResults());
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      if (auto copy = dyn_cast<model::CopyRowsOp>(op)) // counts up what it got
        buffers[result] = bufferOf(copy.getArrivals());
      else
        buffers[result] = alloc(
            loc, result.getType(),
            (originOf(loc) + (i ? "." + Twine(i) : Twine(""))).str());
    if (auto row = dyn_cast<model::RowwiseOp>(op))
      return lowerRowwise(row);
    return lowerStructured(op);
  }

  /// seqs, N, T of docs/spec/kernels.md. Rows of the head, those that gather_rows
  /// picked, are all valid: row r of the logits belongs to no token of its own.
  void leadingArgs(Operation *op, int64_t rows, SmallVectorImpl<Value> &args) {
    Location loc = op->getLoc();
    bool ofHead = op->getNumResults() && head.contains(op->getResult(0));
    args.push_back(ofHead ? scalar(loc, 0) : seqs);
    args.push_back(scalar(loc, step.tokens));
    args.push_back(scalar(loc, rows));
  }
  Value scalar(Location loc, int64_t v) {
    return arith::ConstantIntOp::create(b, loc, v, 64);
  }

  LogicalResult lowerRowwise(model::RowwiseOp op) {
    Location loc = op.getLoc();
    SmallVector<Value> args;
    leadingArgs(op, op.getDomain()[0], args);
    // One pointer for each distinct tensor, in order of appearance.
    llvm::MapVector<Value, int64_t> pointerOf;
    SmallVector<int64_t> pointer;
    int64_t weightBytes = 0, memoryBytes = 0;
    for (Value v : op.getInputs()) {
      auto [it, fresh] = pointerOf.insert({v, (int64_t)pointerOf.size()});
      pointer.push_back(it->second);
      if (!fresh)
        continue;
      args.push_back(bufferOf(v));
      int64_t bytes = tensorBytes(cast<RankedTensorType>(v.getType()));
      (v.getDefiningOp<model::GetWeightOp>() ? weightBytes : memoryBytes) += bytes;
    }
    SmallVector<int64_t> writes, splits(3, 0); // seqs, N, T
    for (auto &[v, pointer] : pointerOf)
      splits.push_back(rowwiseSplit(op, v, op.getInputs(), op.getInMaps()).encode());
    for (auto [i, v] : llvm::enumerate(op.getResults())) {
      writes.push_back(args.size());
      args.push_back(bufferOf(v));
      SmallVector<Value> targets;
      for (int64_t t : op.getTargets())
        targets.push_back(op.getResults()[t]);
      splits.push_back(rowwiseSplit(op, v, targets, op.getOutMaps()).encode());
      memoryBytes += tensorBytes(cast<RankedTensorType>(v.getType()));
    }
    int64_t rows = 1, points = 1;
    for (int64_t d : op.getDomain().drop_back())
      rows *= d;
    int64_t together = rowsTogether(op.getDomain());
    StringRef hint = originOf(loc);
    StringAttr kernel = kernels.rowwise(op, pointer, pointerOf.size(), together,
                                        hint.substr(hint.rfind('.') + 1));
    points = rows * op.getDomain().back();
    int64_t ops = std::distance(op.getBody().front().begin(),
                                op.getBody().front().end()) - 1;
    kern::LaunchOp launched = launch(loc, kernel, {rows / together, 1, 1}, args, writes,
                                     weightBytes, memoryBytes, points * ops);
    int64_t columns = rows / together / op.getDomain()[0];
    launched.setParts(ArrayRef<int64_t>{op.getDomain()[0], columns});
    launched.setSplits(splits);
    // Blocks of one row share its columns, so every store must name one.
    bool byColumn = llvm::all_of(op.getOutMaps(), [&](Attribute map) {
      return cast<AffineMapAttr>(map).getValue().isFunctionOfDim(op.getColumnDim());
    });
    if (!op.hasReduction() && byColumn && together == 1)
      launched.setTiling(ArrayRef<int64_t>{columns, columns * op.getDomain().back()});
    return success();
  }

  /// Rows of a block: a wave of a GPU for each where rows are short and many.
  /// Launching a block takes as long as some of them. Steps of few rows keep
  /// their blocks, which chains are made of (FuseBlocks.cpp).
  static int64_t rowsTogether(ArrayRef<int64_t> domain) {
    constexpr int64_t kFewRows = 16, kShort = 256, kTogether = 8;
    int64_t inner = 1;
    for (int64_t d : domain.drop_front().drop_back())
      inner *= d;
    return domain[0] > kFewRows && domain.back() <= kShort && inner % kTogether == 0
               ? kTogether
               : 1;
  }

  LogicalResult lowerStructured(Operation *op) {
    FailureOr<KernelChoice> choice = chooseKernel(op, step, symbols);
    if (failed(choice))
      return failure();
    Location loc = op->getLoc();
    SmallVector<Value> args;
    SmallVector<int64_t> writes, counted;
    leadingArgs(op, choice->rows, args);
    SmallVector<int64_t> splits;
    for (const KernelArg &arg : choice->args) {
      splits.resize(args.size(), 0);
      if (auto *t = std::get_if<TensorArg>(&arg)) {
        if (t->write)
          writes.push_back(args.size());
        if (t->counted)
          counted.push_back(args.size());
        args.push_back(bufferOf(t->value));
        splits.push_back(t->split.encode());
      } else if (auto *s = std::get_if<StateArg>(&arg)) {
        auto state = symbols.lookup<model::StateOp>(s->state.getValue());
        auto type = cast<RankedTensorType>(state.getType());
        args.push_back(kern::StateOp::create(
            b, loc, MemRefType::get(type.getShape(), type.getElementType()),
            s->state));
        args.push_back(scalar(loc, stateSlotBytes(state)));
      } else if (std::holds_alternative<PagerArg>(arg)) {
        args.push_back(kern::PagerOp::create(
            b, loc, MemRefType::get({kPagerBytes}, b.getI8Type())));
      } else if (auto *i = std::get_if<int64_t>(&arg)) {
        args.push_back(scalar(loc, *i));
      } else {
        args.push_back(arith::ConstantFloatOp::create(
            b, loc, b.getF32Type(), llvm::APFloat(std::get<float>(arg))));
      }
    }
    kern::LaunchOp launched =
        launch(loc, kernels.structured(*choice), choice->grid, args, writes,
               choice->weightBytes, choice->memoryBytes, choice->flops);
    splits.resize(args.size(), 0);
    launched.setParts(choice->parts);
    launched.setSplits(splits);
    if (choice->tiling)
      launched.setTiling(
          ArrayRef<int64_t>{choice->tiling->first, choice->tiling->second});
    launched.setAlone(choice->alone);
    launched.setHungry(choice->hungry);
    if (!counted.empty())
      launched.setCounted(counted);
    return success();
  }

  kern::LaunchOp launch(Location loc, StringAttr kernel, std::array<int64_t, 3> grid,
              ArrayRef<Value> args, ArrayRef<int64_t> writes, int64_t weightBytes,
              int64_t memoryBytes, int64_t flops) {
    return kern::LaunchOp::create(
        b, loc, FlatSymbolRefAttr::get(kernel), b.getDenseI64ArrayAttr(grid), args,
        b.getDenseI64ArrayAttr(writes), b.getI64IntegerAttr(weightBytes),
        b.getI64IntegerAttr(memoryBytes), b.getI64IntegerAttr(flops),
        DenseI64ArrayAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr(),
        DenseI64ArrayAttr(), UnitAttr(), UnitAttr());
  }

  func::FuncOp func;
  SymbolTable &symbols;
  Kernels &kernels;
  OpBuilder b;
  StepShape step;
  Value seqs;
  DenseMap<Value, Value> buffers;
  DenseSet<Value> head;
};

/// The kernels that choose tokens from logits (docs/spec/sampling.md). No launch names
/// them: the runtime makes theirs, after a step's own.
void declareSampling(ModuleOp module, Kernels &kernels) {
  auto facts = module->getAttrOfType<DictionaryAttr>("glm.model");
  auto vocab = facts ? facts.getAs<IntegerAttr>("vocab") : IntegerAttr();
  if (!vocab || vocab.getInt() <= 0 || vocab.getInt() >= 1 << 24)
    return;
  KernelChoice k;
  k.params = {vocab.getInt(),
              std::min<int64_t>(256, llvm::divideCeil(vocab.getInt(), 1024))};
  for (auto [op, name] : {std::pair("sample_best", "SampleBest"),
                          {"sample_weigh", "SampleWeigh"},
                          {"sample_pick", "SamplePick"}}) {
    k.op = op, k.templateName = name;
    kernels.structured(k);
  }
}

struct LowerGlmToKern final
    : passes::impl::LowerGlmToKernPassBase<LowerGlmToKern> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    Kernels kernels(module);
    for (func::FuncOp func :
         llvm::to_vector(module.getOps<func::FuncOp>()))
      if (failed(EntryLowering(func, symbols, kernels).run()))
        return signalPassFailure();
    declareSampling(module, kernels);
  }
};

} // namespace
