//===- KernOps.cpp - Verifiers of the kernel-call dialect -----------------===//

#include "dialects/Kern/Kern.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace glm;
using namespace glm::kern;

#include "dialects/Kern/KernDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Kern/KernOps.cpp.inc"

void KernDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Kern/KernOps.cpp.inc"
      >();
}

LogicalResult KernelOp::verify() {
  // C1
  bool rowwise = getOp() == "rowwise";
  if (rowwise != getDims().has_value())
    return emitOpError("expects dims exactly for a rowwise kernel");
  if (rowwise && (getDims()->size() < 2 || getDims()->front() != -1 ||
                  getBody().empty() || getBody().front().empty()))
    return emitOpError("expects two or more dims that begin with -1 and a body");
  // C2
  if (getTiles() > 1 && (!rowwise || getDims()->back() % getTiles() != 0 ||
                         !getBody().getOps<RowReduceOp>().empty()))
    return emitOpError("expects tiles to divide the columns of a rowwise kernel "
                       "without reductions, got ")
           << getTiles();
  if (getTiles() > 1)
    for (auto store : getBody().getOps<StoreOp>())
      if (store.getCoeffs().back() == 0)
        return store.emitOpError("stores one value for all columns in a kernel of "
                                 "tiles, whose blocks would all store it");
  // C3
  if (getTogether() > 1) {
    int64_t inner = 1;
    if (rowwise)
      for (int64_t d : getDims()->drop_front().drop_back())
        inner *= d;
    if (!rowwise || getTiles() > 1 || inner % getTogether() != 0)
      return emitOpError("expects rows that a block does together to divide the "
                         "inner rows of a rowwise kernel without tiles, got ")
             << getTogether();
  }
  return success();
}

/// C1 of load and store.
static LogicalResult verifyCoeffs(Operation *op, ArrayRef<int64_t> coeffs) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (kernel.getDims() && coeffs.size() == kernel.getDims()->size())
    return success();
  return op->emitOpError("expects a coefficient for each dim of the kernel");
}
LogicalResult LoadOp::verify() { return verifyCoeffs(*this, getCoeffs()); }
LogicalResult StoreOp::verify() { return verifyCoeffs(*this, getCoeffs()); }

LogicalResult RowReduceOp::verify() {
  // C1
  if (getKind() != "add" && getKind() != "max")
    return emitOpError("expects kind add or max, got ") << getKind();
  return success();
}

LogicalResult WeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C1
  if (symbols.lookupNearestSymbolFrom<model::WeightOp>(*this, getWeightAttr()))
    return success();
  return emitOpError("names no weight: ") << getWeightAttr();
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C1
  if (symbols.lookupNearestSymbolFrom<model::StateOp>(*this, getStateAttr()))
    return success();
  return emitOpError("names no state: ") << getStateAttr();
}

/// C4 of launch.
static LogicalResult verifyParts(LaunchOp op) {
  if (!op.getParts())
    return success();
  ArrayRef<int64_t> parts = *op.getParts();
  int64_t blocks = 1;
  for (int64_t g : op.getGrid())
    blocks *= g;
  if (parts.size() != 2 || parts[0] * parts[1] != blocks)
    return op.emitOpError("expects parts whose product is the grid's ") << blocks;
  if (op.getSplits() && op.getSplits()->size() != op.getArgs().size())
    return op.emitOpError("expects a split for each argument");
  if (auto tiling = op.getTiling())
    if (tiling->size() != 2 || (*tiling)[0] <= 0 || parts[1] % (*tiling)[0] != 0 ||
        (*tiling)[1] % parts[1] != 0)
      return op.emitOpError("has columns that its tiling does not allow");
  return success();
}

LogicalResult LaunchOp::verify() {
  // C1
  if (getGrid().size() != 3 ||
      llvm::any_of(getGrid(), [](int64_t g) { return g <= 0; }))
    return emitOpError("expects a grid of three positive sizes");
  // C2
  for (int64_t w : getWrites())
    if (w < 0 || w >= static_cast<int64_t>(getArgs().size()) ||
        !isa<MemRefType>(getArgs()[w].getType()))
      return emitOpError("writes argument ") << w << ", which is no buffer";
  for (int64_t c : getCounted().value_or(ArrayRef<int64_t>()))
    if (c < 0 || c >= static_cast<int64_t>(getArgs().size()) ||
        !getArgs()[c].getDefiningOp<AllocOp>())
      return emitOpError("counts in argument ") << c << ", which is no buffer";
  return verifyParts(*this);
}

int64_t LaunchOp::getRowCount() {
  if (getArgs().size() < 3)
    return 0;
  auto rows = getArgs()[2].getDefiningOp<arith::ConstantOp>();
  auto value = rows ? dyn_cast<IntegerAttr>(rows.getValue()) : IntegerAttr();
  return value ? value.getInt() : 0;
}

LogicalResult GridOp::verify() {
  // C1
  uint64_t phase = 0;
  for (Operation &op : getBody().front()) {
    auto chain = dyn_cast<ChainOp>(op);
    if (!chain)
      return op.emitOpError("stands in a grid, which holds chains only");
    if (chain.getPhase() < phase ||
        chain.getPhase() > (op.getPrevNode() ? phase + 1 : 0))
      return chain.emitOpError("expects phases that count up from 0");
    phase = chain.getPhase();
  }
  if (getBody().front().empty())
    return emitOpError("expects a chain");
  for (auto chain : getBody().getOps<ChainOp>())
    if (chain.getSlack() > phase - chain.getPhase())
      return chain.emitOpError("expects a slack that ends at the last phase, ") << phase;
  return success();
}

LogicalResult GridOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C2
  if (!getKernelAttr())
    return success();
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (kernel && kernel.getOp() == "group")
    return success();
  return emitOpError("names no group kernel: ") << getKernelAttr();
}

LogicalResult ChainOp::verify() {
  // C1
  if (getParts().size() != 2 || getRows() <= 0 || getColumns() <= 0)
    return emitOpError("expects two positive parts");
  // C2
  for (Operation &op : getBody().front()) {
    auto launch = dyn_cast<LaunchOp>(op);
    if (!launch)
      return op.emitOpError("stands in a chain, which holds launches only");
    auto parts = launch.getParts();
    if (!parts || (*parts)[0] % getRows() != 0 || (*parts)[1] % getColumns() != 0)
      return launch.emitOpError("has parts that those of its chain do not divide");
  }
  if (getBody().front().empty())
    return emitOpError("expects a launch");
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C3
  if (symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr()))
    return success();
  return emitOpError("names no kernel: ") << getKernelAttr();
}
