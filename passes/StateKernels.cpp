//===- StateKernels.cpp - Kernels that change a sequence's state ----------===//

#include "passes/StateKernels.h"
#include "passes/KernelArgs.h"

using namespace mlir;
using namespace glm;
using namespace glm::passes;
using namespace glm::passes::args;

// Tokens a sequence from which the delta rule goes by chunks of 16.
static constexpr int64_t kChunkTokens = 32;

static model::StateOp stateOf(FlatSymbolRefAttr name, SymbolTable &symbols) {
  return symbols.lookup<model::StateOp>(name.getValue());
}

KernelChoice passes::shortConvKernel(model::ShortConvOp op, const StepShape &step,
                                     SymbolTable &symbols) {
  int64_t c = shapeOf(op.getInput())[1], kernel = shapeOf(op.getWeight()).back();
  KernelChoice k;
  k.op = "short_conv", k.templateName = "ShortConv";
  int64_t columns = tiles(c, 256);
  k.params = {code(op.getInput()), code(op.getWeight()), code(op.getResult()),
              c, kernel, columns};
  k.rows = step.rows();
  k.grid = {columns, step.sequences, 1}, k.parts = {step.sequences, columns};
  if (c % columns == 0)
    k.tiling = {columns, c};
  Split split = c % columns == 0 ? kBoth : kRows;
  if (int64_t stretches = tiles(step.tokens, 64); stretches > 1) {
    k.grid[2] = stretches, k.parts = {1, columns * step.sequences * stretches};
    k.tiling = {}, split = kWhole;
  }
  k.args = {step.sequences, in(op.getInput(), split), in(op.getWeight()),
            StateArg{op.getStateAttr()}, out(op.getResult(), split)};
  k.weightBytes = tensorBytes(typeOf(op.getWeight()));
  k.memoryBytes = tensorBytes(typeOf(op.getInput())) +
                  tensorBytes(typeOf(op.getResult())) +
                  2 * step.sequences * stateSlotBytes(stateOf(op.getStateAttr(), symbols));
  k.flops = 2 * k.rows * c * kernel;
  return k;
}

KernelChoice passes::deltaRuleKernel(model::DeltaRuleOp op, const StepShape &step,
                                     SymbolTable &symbols) {
  ArrayRef<int64_t> q = shapeOf(op.getQ());
  int64_t dv = shapeOf(op.getV())[2];
  KernelChoice k;
  bool chunk = step.tokens >= kChunkTokens && q[2] <= 128;
  k.hungry = true; // a stripe of the state
  k.op = "delta_rule", k.templateName = chunk ? "DeltaRuleChunk" : "DeltaRule";
  k.params = {code(op.getQ()), code(op.getResult()), q[1], q[2], dv};
  k.rows = step.rows();
  k.grid = {chunk ? q[1] * tiles(dv, 64) : q[1], step.sequences, 1};
  k.parts = {step.sequences, k.grid[0]};
  // Several blocks of a head read all its keys.
  Split split = k.grid[0] == q[1] ? kBoth : kRows;
  k.args = {step.sequences};
  for (Value v : {op.getQ(), op.getK(), op.getV(), op.getGate(), op.getBeta()})
    k.args.push_back(in(v, split));
  k.args.append({StateArg{op.getStateAttr()}, out(op.getResult(), split)});
  k.memoryBytes = 2 * step.sequences * stateSlotBytes(stateOf(op.getStateAttr(), symbols));
  for (Value v : {op.getQ(), op.getK(), op.getV(), op.getGate(), op.getResult()})
    k.memoryBytes += tensorBytes(typeOf(v));
  k.flops = k.rows * q[1] * 7 * q[2] * dv;
  return k;
}

KernelChoice passes::latentAppendKernel(model::LatentAppendOp op,
                                        const StepShape &step,
                                        SymbolTable &symbols) {
  KernelChoice k;
  Type cache = cast<RankedTensorType>(stateOf(op.getStateAttr(), symbols).getType())
                   .getElementType();
  k.op = "latent_append", k.templateName = "LatentAppend";
  k.params = {code(op.getInput()), dtypeCode(cache), shapeOf(op.getInput())[1]};
  k.rows = step.rows();
  k.grid = {k.rows, 1, 1}, k.parts = {k.rows, 1};
  k.args = {in(op.getInput(), kRows), StateArg{op.getStateAttr()}};
  k.memoryBytes = 2 * tensorBytes(typeOf(op.getInput()));
  return k;
}

KernelChoice passes::kpoolKernel(model::KPoolOp op, const StepShape &step,
                                 SymbolTable &symbols) {
  KernelChoice k;
  Type cache = cast<RankedTensorType>(stateOf(op.getStateAttr(), symbols).getType())
                   .getElementType();
  k.op = "kpool", k.templateName = "KPool";
  k.params = {code(op.getKey()), code(op.getApe()), dtypeCode(cache),
              shapeOf(op.getKey())[1], shapeOf(op.getApe())[0]};
  k.rows = step.rows();
  int64_t pools = llvm::divideCeil(step.tokens, shapeOf(op.getApe())[0]);
  k.grid = {step.sequences, tiles(pools, 16), 1}, k.parts = {step.sequences, 1};
  Split split = kRows;
  if (k.grid[1] > 1)
    k.parts = {1, k.grid[0] * k.grid[1]}, split = kWhole;
  k.args = {step.sequences, in(op.getKey(), split), in(op.getGate(), split),
            in(op.getApe()), StateArg{op.getTailAttr()}, StateArg{op.getStateAttr()}};
  k.weightBytes = tensorBytes(typeOf(op.getApe()));
  k.memoryBytes = 3 * tensorBytes(typeOf(op.getKey()));
  k.flops = k.rows * shapeOf(op.getKey())[1] * 8;
  return k;
}
