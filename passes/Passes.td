//===- Passes.td - Passes of the GLM compiler --------------*- tablegen -*-===//
//
// Grouped by pipeline phase, alphabetical inside a group. FooPass lives in
// Foo.cpp, its flag is --glm-foo, its test test/passes/foo.mlir.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_PASSES_PASSES
#define GLM_PASSES_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Phase: fuse
//===----------------------------------------------------------------------===//

def FuseRowwisePass : Pass<"glm-fuse-rowwise", "::mlir::func::FuncOp"> {
  let summary = "Joins rowwise operations over one iteration shape";
  let description = [{
    A producer moves into its consumer when both run over the same domain and the
    consumer reads every element where the producer wrote it; the value then stays
    in registers:

    ```mlir
    %a = glm.rowwise [T, C] ins(%x) ... { silu }
    %b = glm.rowwise [T, C] ins(%a) ... { l2norm }
    // becomes one operation with both bodies
    ```

    A result that others still read stays a result of the fused operation. Two
    operations that only share inputs are not joined. Does nothing when the
    domains differ, when the consumer reads the producer's result at another
    place, when an operation between the two reads it, or when the two bodies have
    more than `max-inputs` inputs together.
  }];
  let options = [
    Option<"maxInputs", "max-inputs", "int64_t", /*default=*/"48",
           "Largest number of inputs that the two bodies may have together">,
  ];
}

//===----------------------------------------------------------------------===//
// Phase: kern
//===----------------------------------------------------------------------===//

def LowerGlmToKernPass : Pass<"glm-lower-to-kern", "::mlir::ModuleOp"> {
  let summary = "Chooses a kernel, its parameters and grid for each operation";
  let description = [{
    Each operation of an entry function becomes one `kern.launch` of a
    `kern.kernel`; equal kernels are shared between layers and entries. Tensors
    become buffers of the step's arena. Functions need the attributes
    `glm.sequences` and `glm.tokens`.
  }];
  let dependentDialects = ["::glm::kern::KernDialect"];
}

//===----------------------------------------------------------------------===//
// Phase: plan-memory
//===----------------------------------------------------------------------===//

def PlanMemoryPass : Pass<"glm-plan-memory", "::mlir::func::FuncOp"> {
  let summary = "Gives every buffer an offset in the step's arena";
  let description = [{
    A buffer lives from the first launch that touches it to the last; buffers whose
    lives do not meet may share bytes. Largest first, lowest offset that fits.
    The arena's size becomes the function attribute `glm.arena_bytes`.
  }];
}

//===----------------------------------------------------------------------===//
// Phase: plan
//===----------------------------------------------------------------------===//

def LowerKernToPlanPass : Pass<"glm-lower-to-plan", "::mlir::ModuleOp"> {
  let summary = "Replaces names by indices and buffers by offsets";
  let description = [{
    The module then holds one `plan.plan`, ready to be written. The model's facts
    (`glm.model`, `glm.generation`, `glm.weight_files`) are module attributes.
  }];
  let dependentDialects = ["::glm::planir::PlanDialect"];
}

#endif // GLM_PASSES_PASSES
