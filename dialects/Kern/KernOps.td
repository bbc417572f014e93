//===- KernOps.td - Kernel calls ---------------------------*- tablegen -*-===//

#ifndef GLM_DIALECTS_KERN_KERNOPS
#define GLM_DIALECTS_KERN_KERNOPS

include "dialects/Kern/KernDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Element types that a rowwise program loads and stores.
def Kern_Element : AnyTypeOf<[F32, BF16, F16], "f32, bf16 or f16">;

class Kern_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kern_Dialect, mnemonic, traits>;

def Kern_KernelOp : Kern_Op<"kernel", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock,
                                       HasParent<"::mlir::ModuleOp">]> {
  let summary = "One entry point of the code object";
  let description = [{
    `op` and `params` as in docs/spec/kernels.md; `template_name` is the C++ function
    of compiler/codegen/templates that implements it (one op may have several:
    a GEMV and a tile form). A rowwise kernel has no template: its body holds
    the region of the `glm.rowwise` it came from between `kern.load` and
    `kern.store`, over `dims` (dims[0] = -1: the rows of the launch).

    ```mlir
    kern.kernel @linear_bf16_n256_k256 "linear" template "Linear" params [1, 1, 0, 256, 256] threads 256 {}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$op,
                       StrAttr:$template_name, DenseI64ArrayAttr:$params,
                       ConfinedAttr<I64Attr, [IntPositive]>:$threads,
                       OptionalAttr<DenseI64ArrayAttr>:$dims); // C1
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $op `template` $template_name `params` $params `threads` $threads
    (`dims` $dims^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

// Address of an access: sum coeffs[d] * index[d] + offset, in elements.
def Kern_LoadOp : Kern_Op<"load", [HasParent<"KernelOp">]> {
  let summary = "Element of pointer `operand` of a rowwise kernel, as f32";
  let arguments = (ins I64Attr:$operand, DenseI64ArrayAttr:$coeffs,
                       I64Attr:$offset, TypeAttrOf<Kern_Element>:$type);
  let results = (outs F32:$result);
  let assemblyFormat = "$operand $coeffs `+` $offset `:` $type attr-dict";
  let hasVerifier = 1; // C1: a coefficient for each dim
}

def Kern_StoreOp : Kern_Op<"store", [HasParent<"KernelOp">]> {
  let summary = "Stores an f32 to pointer `target`, rounding to its type once";
  let arguments = (ins F32:$value, I64Attr:$target, DenseI64ArrayAttr:$coeffs,
                       I64Attr:$offset, TypeAttrOf<Kern_Element>:$type);
  let assemblyFormat = "$value `to` $target $coeffs `+` $offset `:` $type attr-dict";
  let hasVerifier = 1; // C1
}

def Kern_RowReduceOp : Kern_Op<"row_reduce", [Pure, SameOperandsAndResultType,
                                              HasParent<"KernelOp">]> {
  let summary = "Combines a value over the columns of its row: add or max";
  let arguments = (ins StrAttr:$kind, // C1
                       F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$kind $value attr-dict";
  let hasVerifier = 1;
}

def Kern_AllocOp : Kern_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A buffer of the step's arena; memory planning adds `offset`";
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<I64Attr>:$first, OptionalAttr<I64Attr>:$last);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Kern_WeightOp : Kern_Op<"weight",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The argument that stands for a weight (plan.fbs WeightForm)";
  let arguments = (ins FlatSymbolRefAttr:$weight); // C1
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

def Kern_StateOp : Kern_Op<"state",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The base address of a state, slot 0";
  let arguments = (ins FlatSymbolRefAttr:$state); // C1
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Kern_LaunchOp : Kern_Op<"launch",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Runs one kernel over a grid";
  let description = [{
    Arguments in the kernel's order: memrefs are addresses, i64 and f32 are
    scalars. `writes` lists the positions of the buffers that the kernel writes.
    The byte and operation counts are for full occupancy (every row valid, caches
    at the length given to the compiler) and feed `glmc explain`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, DenseI64ArrayAttr:$grid, // C3, C1
                       Variadic<AnyTypeOf<[AnyMemRef, I64, F32]>>:$args,
                       DenseI64ArrayAttr:$writes,                          // C2
                       I64Attr:$weight_bytes, I64Attr:$memory_bytes,
                       I64Attr:$flops);
  let assemblyFormat = [{
    $kernel `grid` $grid `(` ($args^ `:` type($args))? `)` `writes` $writes attr-dict
  }];
  let hasVerifier = 1;
}

def Kern_TapOp : Kern_Op<"tap", [MemoryEffects<[MemRead]>]> {
  let summary = "Names a buffer's content at this point";
  let arguments = (ins StrAttr:$name, AnyMemRef:$buffer);
  let assemblyFormat = "$name $buffer attr-dict `:` type($buffer)";
}

#endif // GLM_DIALECTS_KERN_KERNOPS
