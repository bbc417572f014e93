//===- RowwiseEmitter.cpp - A rowwise kernel to source --------------------===//
//
// A rowwise body is cut into *stages* at its reductions. A value is uniform when
// it is the same for the whole row (constants, loads that ignore the column,
// reductions and what follows from those) and becomes a plain constant between
// the loops; every other value lives inside one loop of its stage, or in a `Row`
// when a later stage reads it.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/RowwiseEmitter.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace glm;

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
    const int64_t together = kernel.getTogether();
    auto head = [&](StringRef suffix) {
      os << "template <class Block>\nGLM_FN void " << kernel.getSymName() << suffix
         << "(Block& block, const Args& args) {\n";
    };
    os << "namespace glm::kernel {\n\n";
    head(together > 1 ? "_row" : "_body");
    emitIndices(os);
    for (int64_t stage = 0; stage <= lastStage; ++stage)
      emitStage(os, stage);
    if (together > 1) {
      os << "}\n\n";
      head("_body");
      os << "  EachShortRow<" << together << ">(block, [&](auto& row) { "
         << kernel.getSymName() << "_row(row, args); });\n";
    }
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
      os << "  auto* p" << p << " = args.Tensor(" << p + 3 << ");\n";
    StringRef row = kernel.getTogether() > 1 ? "RowOfWave" : "Row";
    for (Operation *op : order)
      if (infos[op].row)
        os << "  " << row << "<" << columns << "> v" << infos[op].number << ";\n";
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
      return loadText(load);
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

  std::string loadText(kern::LoadOp load) {
    return llvm::formatv("Load<{0}>(p{1}, {2})", dtypeName(load.getType()),
                         load.getOperand(), address(load.getCoeffs(), load.getOffset()));
  }

  std::string storeText(kern::StoreOp store) {
    return llvm::formatv("Store<{0}>(p{1}, {2}, {3});", dtypeName(store.getType()),
                         store.getTarget(),
                         address(store.getCoeffs(), store.getOffset()),
                         ref(store.getValue()));
  }

  /// What the stage's loop loads before it stores anything, as a struct of its
  /// own; none when it does not do both.
  SmallVector<kern::LoadOp> loadsAhead(int64_t stage) {
    SmallVector<kern::LoadOp> loads;
    bool stores = false;
    for (Operation *op : order) {
      if (infos[op].stage != stage || infos[op].uniform)
        continue;
      stores |= isa<kern::StoreOp>(op);
      if (auto load = dyn_cast<kern::LoadOp>(op))
        loads.push_back(load);
    }
    return stores ? loads : SmallVector<kern::LoadOp>();
  }

  /// The head of the stage's loop: `loop`, up to what stands before the body.
  void emitLoopHead(raw_ostream &os, StringRef loop, StringRef index, int64_t stage) {
    SmallVector<kern::LoadOp> loads = loadsAhead(stage);
    if (loads.empty()) {
      os << loop << "(block, [&](int64_t " << index << ", int64_t slot) {\n";
      return;
    }
    os << loop << "(block, [&](int64_t " << index << ") {\n"
       << indexText() << "    return Loaded" << stage << "{";
    llvm::interleaveComma(loads, os, [&](kern::LoadOp load) { os << loadText(load); });
    os << "};\n  }, [&](int64_t " << index << ", int64_t slot, const Loaded" << stage
       << "& loaded) {\n";
  }

  /// Every value and store of the stage that depends on the column.
  void emitLoopBody(raw_ostream &os, int64_t stage) {
    const bool ahead = !loadsAhead(stage).empty();
    for (Operation *op : order) {
      const Info &info = infos[op];
      if (info.stage != stage || info.uniform)
        continue;
      std::string number = std::to_string(info.number);
      auto value = [&] {
        return ahead && isa<kern::LoadOp>(op) ? "loaded.v" + number : expression(op);
      };
      if (auto store = dyn_cast<kern::StoreOp>(op))
        os << "    " << storeText(store) << "\n";
      else if (info.row)
        os << "    v" << number << "[slot] = " << value() << ";\n";
      else
        os << "    const float v" << number << " = " << value() << ";\n";
    }
  }

  /// The column from its place in the block's part of the row.
  StringRef indexText() {
    return kernel.getTiles() > 1 ? "    const int64_t i = first + at;\n" : "";
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
    if (SmallVector<kern::LoadOp> loads = loadsAhead(stage); !loads.empty()) {
      os << "  struct Loaded" << stage << " { float ";
      llvm::interleaveComma(loads, os,
                            [&](kern::LoadOp load) { os << "v" << infos[load].number; });
      os << "; };\n";
    }
    const auto &sums = reductions[stage];
    for (auto [i, op] : llvm::enumerate(sums)) {
      auto reduce = cast<kern::RowReduceOp>(op);
      std::string loop =
          llvm::formatv("{0}<{1}>", reduce.getKind() == "add" ? "Sum" : "Max", columns);
      os << "  const float v" << infos[op].number << " = ";
      if (i == 0) {
        emitLoopHead(os, loop, "i", stage);
        emitLoopBody(os, stage);
      } else {
        os << loop << "(block, [&](int64_t i, int64_t slot) {\n";
      }
      os << "    return " << ref(reduce.getValue()) << ";\n  });\n";
    }
    if (hasLoop && sums.empty()) {
      const int64_t tiles = kernel.getTiles();
      os << "  ";
      emitLoopHead(os, ("Each<" + Twine(columns / tiles) + ">").str(),
                   tiles > 1 ? "at" : "i", stage);
      os << indexText();
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

} // namespace

FailureOr<std::string> codegen::rowwiseBody(kern::KernelOp kernel) {
  return RowwiseEmitter(kernel).emit();
}
