//===- LowerKernToPlan.cpp - Names to indices -----------------------------===//

#include "passes/KernelTable.h"
#include "passes/Passes.h"

namespace glm::passes {
#define GEN_PASS_DEF_LOWERKERNTOPLANPASS
#include "passes/Passes.h.inc"
} // namespace glm::passes

using namespace mlir;
using namespace glm;

namespace {

// ArgKind of plan.fbs.
enum ArgKind : int64_t { Buffer = 0, Weight = 1, State = 2, Scalar = 3, Pager = 4 };

/// The RowOp enumerator of an operation of a kernel's body, empty when none.
StringRef rowOpName(Operation *op) {
  if (auto reduce = dyn_cast<kern::RowReduceOp>(op))
    return reduce.getKind() == "add" ? "REDUCE_ADD" : "REDUCE_MAX";
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("arith.constant", "CONST")
      .Case("kern.load", "LOAD")
      .Case("kern.store", "STORE")
      .Case("arith.addf", "ADD")
      .Case("arith.subf", "SUB")
      .Case("arith.mulf", "MUL")
      .Case("arith.divf", "DIV")
      .Case("arith.minimumf", "MINIMUM")
      .Case("arith.maximumf", "MAXIMUM")
      .Case("arith.negf", "NEG")
      .Case("math.exp", "EXP")
      .Case("math.rsqrt", "RSQRT")
      .Case("glm.sigmoid", "SIGMOID")
      .Default("");
}

struct LowerKernToPlan final
    : passes::impl::LowerKernToPlanPassBase<LowerKernToPlan> {
  void runOnOperation() override {
    module = getOperation();
    OpBuilder b(&getContext());
    b.setInsertionPointToEnd(module.getBody());
    auto math = module->getAttrOfType<StringAttr>("glm.math");
    auto fuse = module->getAttrOfType<StringAttr>("glm.fuse");
    auto producer = module->getAttrOfType<StringAttr>("glm.producer");
    auto plan = planir::PlanOp::create(
        b, module.getLoc(), producer ? producer : b.getStringAttr("glm-opt"),
        math ? math : b.getStringAttr(""), fuse ? fuse : b.getStringAttr(""));
    if (auto ranks = module->getAttrOfType<IntegerAttr>("glm.ranks"))
      plan.setRanks(ranks.getInt());
    b.setInsertionPointToStart(&plan.getBody().emplaceBlock());
    emitModel(b);
    emitWeights(b);
    emitExpertRows(b);
    emitStates(b);
    if (failed(emitKernels(b)))
      return signalPassFailure();
    for (auto func : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (failed(emitEntry(b, func)))
        return signalPassFailure();
      func.erase();
    }
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (&op != plan)
        op.erase();
  }

private:
  int64_t fact(DictionaryAttr facts, StringRef name) {
    auto attr = facts ? facts.getAs<IntegerAttr>(name) : IntegerAttr();
    return attr ? attr.getInt() : 0;
  }

  void emitModel(OpBuilder &b) {
    auto facts = module->getAttrOfType<DictionaryAttr>("glm.model");
    auto name = facts ? facts.getAs<StringAttr>("name") : StringAttr();
    planir::ModelOp::create(b, module.getLoc(), name ? name.getValue() : "",
                            fact(facts, "layers"), fact(facts, "hidden"),
                            fact(facts, "vocab"), fact(facts, "pool_tokens"),
                            fact(facts, "max_context"), fact(facts, "experts"),
                            fact(facts, "experts_per_token"));
    auto gen = module->getAttrOfType<DictionaryAttr>("glm.generation");
    auto stop = gen ? gen.getAs<DenseI32ArrayAttr>("stop_ids") : nullptr;
    auto number = [&](StringRef n) {
      auto attr = gen ? gen.getAs<FloatAttr>(n) : FloatAttr();
      return b.getF32FloatAttr(attr ? attr.getValueAsDouble() : 1.0);
    };
    planir::GenerationOp::create(
        b, module.getLoc(), stop ? stop : b.getDenseI32ArrayAttr({}),
        number("temperature"), number("top_p"));
    if (auto files = module->getAttrOfType<ArrayAttr>("glm.weight_files"))
      for (auto file : files.getAsRange<DictionaryAttr>())
        planir::WeightFileOp::create(b, module.getLoc(),
                                     file.getAs<StringAttr>("path"),
                                     file.getAs<IntegerAttr>("size"),
                                     file.getAs<IntegerAttr>("fingerprint"));
  }

  void emitWeights(OpBuilder &b) {
    for (auto w : module.getOps<model::WeightOp>()) {
      auto type = cast<RankedTensorType>(w.getType());
      auto quant = dyn_cast_or_null<model::GroupQuantAttr>(type.getEncoding());
      StringRef form = w.getExperts() ? (quant ? "EXPERTS_GPTQ4" : "EXPERTS_DENSE")
                       : !quant       ? "DENSE"
                       : type.getElementType().isInteger(8) ? "DENSE_INT8"
                                                            : "DENSE_GPTQ4";
      weights[w.getSymName()] = weights.size();
      planir::WeightOp::create(
          b, w.getLoc(), w.getSymNameAttr(), b.getStringAttr(form),
          TypeAttr::get(quant ? b.getI32Type() : type.getElementType()),
          b.getDenseI64ArrayAttr(type.getShape()),
          b.getI64IntegerAttr(quant ? quant.getGroup() : 0),
          w.getPiecesAttr() ? w.getPiecesAttr() : b.getDenseI64ArrayAttr({}),
          w.getCutsAttr() ? w.getCutsAttr() : b.getDenseI64ArrayAttr({}));
    }
  }

  void emitExpertRows(OpBuilder &b) {
    auto layers = module->getAttrOfType<ArrayAttr>("glm.expert_rows");
    if (!layers)
      return;
    for (auto layer : layers.getAsRange<ArrayAttr>()) {
      SmallVector<int64_t> rows;
      for (auto weight : layer.getAsRange<FlatSymbolRefAttr>())
        rows.push_back(weights.lookup(weight.getValue()));
      planir::ExpertRowsOp::create(b, module.getLoc(), b.getDenseI64ArrayAttr(rows));
    }
  }

  void emitStates(OpBuilder &b) {
    for (auto s : module.getOps<model::StateOp>()) {
      auto type = cast<RankedTensorType>(s.getType());
      states[s.getSymName()] = states.size();
      planir::StateOp::create(b, s.getLoc(), s.getSymNameAttr(),
                              TypeAttr::get(type.getElementType()),
                              b.getDenseI64ArrayAttr(type.getShape()),
                              b.getI64IntegerAttr(passes::stateSlotBytes(s)),
                              b.getI64IntegerAttr(s.getTokensPerRow()));
    }
  }

  LogicalResult emitKernels(OpBuilder &b) {
    for (auto k : module.getOps<kern::KernelOp>()) {
      kernels[k.getSymName()] = kernels.size();
      int64_t operands = 0, results = 0;
      if (k.getDims()) {
        llvm::SmallDenseSet<int64_t> targets;
        for (auto load : k.getBody().getOps<kern::LoadOp>())
          operands = std::max<int64_t>(operands, load.getOperand() + 1);
        for (auto store : k.getBody().getOps<kern::StoreOp>())
          targets.insert(store.getTarget());
        results = targets.size();
      }
      auto plan = planir::KernelOp::create(
          b, k.getLoc(), k.getSymNameAttr(), k.getOpAttr(), k.getThreadsAttr(),
          k.getParamsAttr(), k.getDims() ? k.getDimsAttr() : b.getDenseI64ArrayAttr({}),
          b.getI64IntegerAttr(operands), b.getI64IntegerAttr(results), k.getTilesAttr(),
          k.getTogetherAttr());
      if (!k.getDims())
        continue;
      OpBuilder inner = OpBuilder::atBlockBegin(&plan.getBody().emplaceBlock());
      if (failed(emitProgram(inner, k, operands)))
        return failure();
    }
    return success();
  }

  LogicalResult emitProgram(OpBuilder &b, kern::KernelOp kernel, int64_t operands) {
    DenseMap<Value, int64_t> number;
    for (auto [i, op] : llvm::enumerate(kernel.getBody().front())) {
      StringRef name = rowOpName(&op);
      if (name.empty())
        return op.emitOpError("has no form in a row program");
      int64_t a = 0, second = 0, offset = 0;
      FloatAttr imm = b.getF32FloatAttr(0);
      DenseI64ArrayAttr coeff = b.getDenseI64ArrayAttr({});
      Type dtype = b.getF32Type();
      if (auto load = dyn_cast<kern::LoadOp>(op)) {
        a = load.getOperand(), offset = load.getOffset();
        coeff = load.getCoeffsAttr(), dtype = load.getType();
      } else if (auto store = dyn_cast<kern::StoreOp>(op)) {
        a = store.getTarget() - operands, second = number[store.getValue()];
        offset = store.getOffset(), coeff = store.getCoeffsAttr();
        dtype = store.getType();
      } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        imm = cast<FloatAttr>(constant.getValue());
      } else {
        a = number[op.getOperand(0)];
        if (op.getNumOperands() > 1)
          second = number[op.getOperand(1)];
      }
      planir::RowInstOp::create(b, op.getLoc(), b.getStringAttr(name),
                                b.getI64IntegerAttr(a), b.getI64IntegerAttr(second),
                                imm, coeff, b.getI64IntegerAttr(offset),
                                TypeAttr::get(dtype));
      if (op.getNumResults())
        number[op.getResult(0)] = i;
    }
    return success();
  }

  LogicalResult emitEntry(OpBuilder &b, func::FuncOp func) {
    SmallVector<kern::AllocOp> allocs(func.getBody().getOps<kern::AllocOp>());
    DenseMap<Value, int64_t> buffers;
    llvm::StringMap<int64_t> named;
    for (auto [i, alloc] : llvm::enumerate(allocs)) {
      if (!alloc.getOffset() || !alloc.getFirst() || !alloc.getLast())
        return alloc.emitOpError("has no offset; run --glm-plan-memory first");
      buffers[alloc] = i;
      named.try_emplace(alloc.getName(), i);
    }
    auto integer = [&](StringRef name) {
      auto attr = func->getAttrOfType<IntegerAttr>(name);
      return b.getI64IntegerAttr(attr ? attr.getInt() : 0);
    };
    int64_t logits = 0, logitRows = 0;
    for (auto tap : func.getBody().getOps<kern::TapOp>())
      if (tap.getName() == "logits") {
        logits = buffers[tap.getBuffer()];
        logitRows = cast<MemRefType>(tap.getBuffer().getType()).getDimSize(0);
      }
    auto kind = func->getAttrOfType<StringAttr>("glm.kind");
    auto entry = planir::EntryOp::create(
        b, func.getLoc(), func.getSymNameAttr(),
        kind ? kind : b.getStringAttr("DECODE"), integer("glm.sequences"),
        integer("glm.tokens"), b.getI64IntegerAttr(logitRows),
        integer("glm.arena_bytes"), b.getI64IntegerAttr(named["ids"]),
        b.getI64IntegerAttr(named["seqs"]), b.getI64IntegerAttr(named["rows"]),
        b.getI64IntegerAttr(logits));
    OpBuilder inner = OpBuilder::atBlockBegin(&entry.getBody().emplaceBlock());
    for (kern::AllocOp alloc : allocs)
      emitBuffer(inner, alloc);
    int64_t launches = 0;
    for (Operation &op : func.getBody().getOps()) {
      if (isa<kern::LaunchOp, kern::GridOp>(op)) {
        int64_t first = launches;
        WalkResult done = op.walk([&](kern::LaunchOp launch) {
          ++launches;
          return failed(emitLaunch(inner, launch, buffers)) ? WalkResult::interrupt()
                                                            : WalkResult::advance();
        });
        if (done.wasInterrupted())
          return failure();
        if (auto grid = dyn_cast<kern::GridOp>(op))
          if (failed(emitGroup(inner, grid, first)))
            return failure();
      } else if (auto tap = dyn_cast<kern::TapOp>(op); tap && tap.getName() != "logits") {
        planir::TapOp::create(inner, tap.getLoc(), tap.getNameAttr(),
                              b.getI64IntegerAttr(buffers[tap.getBuffer()]),
                              b.getI64IntegerAttr(std::max<int64_t>(launches - 1, 0)));
      }
    }
    return success();
  }

  void emitBuffer(OpBuilder &b, kern::AllocOp alloc) {
    auto type = cast<MemRefType>(alloc.getType());
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    planir::BufferOp::create(b, alloc.getLoc(), alloc.getNameAttr(),
                             TypeAttr::get(type.getElementType()),
                             b.getDenseI64ArrayAttr(type.getShape()),
                             alloc.getOffsetAttr(), b.getI64IntegerAttr(bytes),
                             alloc.getFirstAttr(), alloc.getLastAttr());
  }

  LogicalResult emitGroup(OpBuilder &b, kern::GridOp grid, int64_t first) {
    if (!grid.getKernel())
      return grid.emitOpError("has no kernel; run --glm-outline-grids first");
    SmallVector<int64_t> chains;
    for (auto chain : grid.getBody().getOps<kern::ChainOp>()) {
      auto inside = chain.getBody().getOps<kern::LaunchOp>();
      chains.append({std::distance(inside.begin(), inside.end()),
                     static_cast<int64_t>(chain.getPhase()), chain.getRows(),
                     chain.getColumns(), static_cast<int64_t>(chain.getSlack())});
    }
    planir::GroupOp::create(b, grid.getLoc(),
                            b.getI64IntegerAttr(kernels.lookup(*grid.getKernel())),
                            b.getI64IntegerAttr(first), b.getDenseI64ArrayAttr(chains));
    return success();
  }

  LogicalResult emitLaunch(OpBuilder &b, kern::LaunchOp launch,
                           const DenseMap<Value, int64_t> &buffers) {
    SmallVector<int64_t> args;
    for (Value v : launch.getArgs()) {
      if (auto w = v.getDefiningOp<kern::WeightOp>()) {
        args.append({Weight, weights.lookup(w.getWeight()), 0});
      } else if (auto s = v.getDefiningOp<kern::StateOp>()) {
        args.append({State, states.lookup(s.getState()), 0});
      } else if (v.getDefiningOp<kern::PagerOp>()) {
        args.append({Pager, 0, 0});
      } else if (auto c = v.getDefiningOp<arith::ConstantOp>()) {
        int64_t bits;
        if (auto f = dyn_cast<FloatAttr>(c.getValue()))
          bits = f.getValue().bitcastToAPInt().getZExtValue();
        else
          bits = cast<IntegerAttr>(c.getValue()).getInt();
        args.append({Scalar, 0, bits});
      } else if (buffers.contains(v)) {
        args.append({Buffer, buffers.lookup(v), 0});
      } else {
        return launch.emitOpError("has an argument that is no buffer, weight, "
                                  "state, pager or constant");
      }
    }
    planir::LaunchOp::create(b, launch.getLoc(),
                             b.getI64IntegerAttr(kernels.lookup(launch.getKernel())),
                             launch.getGridAttr(), b.getDenseI64ArrayAttr(args),
                             b.getStringAttr(passes::originOf(launch.getLoc())),
                             launch.getWeightBytesAttr(),
                             launch.getMemoryBytesAttr(), launch.getFlopsAttr());
    return success();
  }

  ModuleOp module;
  llvm::StringMap<int64_t> weights, states, kernels;
};

} // namespace
