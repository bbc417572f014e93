//===- Glm.h - The model-level dialect --------------------------*- C++ -*-===//
//
// Registration and C++ classes of the `glm` dialect. The operations are
// described in GlmOps.td, their constraints in docs/spec/glm-ops.md.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_DIALECTS_GLM_GLM_H
#define GLM_DIALECTS_GLM_GLM_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Glm/GlmDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Glm/GlmAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Glm/GlmOps.h.inc"

#endif // GLM_DIALECTS_GLM_GLM_H
