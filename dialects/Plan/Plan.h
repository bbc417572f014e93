//===- Plan.h - The plan file as IR -----------------------------*- C++ -*-===//
//
// Registration and C++ classes of the `plan` dialect (PlanOps.td). The tables and
// their units are those of runtime/plan/plan.fbs.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_DIALECTS_PLAN_PLAN_H
#define GLM_DIALECTS_PLAN_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Plan/PlanDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"

#endif // GLM_DIALECTS_PLAN_PLAN_H
