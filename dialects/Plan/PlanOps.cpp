//===- PlanOps.cpp - Verifiers of the plan dialect ------------------------===//

#include "dialects/Plan/Plan.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace glm::planir;

#include "dialects/Plan/PlanDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
}

LogicalResult WeightOp::verify() {
  // C1
  if (getPieces().size() % 3)
    return emitOpError("expects pieces in triples (file, offset, size)");
  if (getCuts().size() % 3)
    return emitOpError("expects cuts in triples (rows, row_bytes, stride)");
  return success();
}

LogicalResult BufferOp::verify() {
  // C1
  int64_t bytes = (getDtype().getIntOrFloatBitWidth() + 7) / 8;
  for (int64_t d : getShape())
    bytes *= d;
  if (static_cast<int64_t>(getSize()) < bytes)
    return emitOpError("expects at least ") << bytes << " bytes";
  return success();
}

LogicalResult LaunchOp::verify() {
  // C1
  if (getArgs().size() % 3)
    return emitOpError("expects args in triples (kind, index, value)");
  return success();
}

LogicalResult GroupOp::verify() {
  // C1
  if (getChains().empty() || getChains().size() % 5)
    return emitOpError("expects chains of (launches, phase, rows, columns, slack)");
  return success();
}
