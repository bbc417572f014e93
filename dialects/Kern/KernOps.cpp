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
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // C3
  if (symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr()))
    return success();
  return emitOpError("names no kernel: ") << getKernelAttr();
}
