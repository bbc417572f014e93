//===- GlmDialect.td - The model-level dialect -------------*- tablegen -*-===//

#ifndef GLM_DIALECTS_GLM_GLMDIALECT
#define GLM_DIALECTS_GLM_GLMDIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Glm_Dialect : Dialect {
  let name = "glm";
  let cppNamespace = "::glm::model";
  let summary = "Operations of a decoder block on tensors";
  let description = [{
    What a GLM-5.3 model says, at the granularity of its equations. Values are
    tensors; rows are tokens. Nothing here knows about devices, tiles or
    buffers: those appear in the `kern` and `plan` dialects.

    Pointwise math and row reductions have one operation, `glm.rowwise`, whose
    region holds `arith` and `math` on f32 scalars; everything that needs a
    kernel of its own shape (products, the delta rule, attention, selection) is
    a named *structured* operation. Weights and per-sequence state are symbols:
    a weight is read with `glm.get_weight`, a state is named by the operation
    that advances it.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::func::FuncDialect"
  ];
}

def Glm_GroupQuantAttr : AttrDef<Glm_Dialect, "GroupQuant"> {
  let mnemonic = "group_quant";
  let summary = "Encoding of a weight: symmetric integers with group scales";
  let description = [{
    The element type of the tensor is the code's integer type, i4 or i8; `group`
    consecutive elements of the last dimension share one f16 scale:
    `value = scale * code`. Storage order is chosen by the plan, not here.
  }];
  let parameters = (ins "int64_t":$group);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // GLM_DIALECTS_GLM_GLMDIALECT
