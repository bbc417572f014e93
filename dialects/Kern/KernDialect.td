//===- KernDialect.td - The kernel-call dialect ------------*- tablegen -*-===//

#ifndef GLM_DIALECTS_KERN_KERNDIALECT
#define GLM_DIALECTS_KERN_KERNDIALECT

include "mlir/IR/OpBase.td"

def Kern_Dialect : Dialect {
  let name = "kern";
  let cppNamespace = "::glm::kern";
  let summary = "Kernel calls on buffers: one operation a launch";
  let description = [{
    After lowering a step is a list of `kern.launch`. Values are memrefs with
    static shapes. A `kern.kernel` is one entry point of the code object: the op
    and the compile-time parameters of docs/spec/kernels.md, never the number of
    rows, so that steps of different sizes share it.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect",
    "::glm::model::GlmDialect"
  ];
}

#endif // GLM_DIALECTS_KERN_KERNDIALECT
