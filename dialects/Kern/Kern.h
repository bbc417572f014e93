//===- Kern.h - The kernel-call dialect -------------------------*- C++ -*-===//
//
// Registration and C++ classes of the `kern` dialect (KernOps.td).
//
//===----------------------------------------------------------------------===//

#ifndef GLM_DIALECTS_KERN_KERN_H
#define GLM_DIALECTS_KERN_KERN_H

#include "dialects/Glm/Glm.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "dialects/Kern/KernDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Kern/KernOps.h.inc"

#endif // GLM_DIALECTS_KERN_KERN_H
