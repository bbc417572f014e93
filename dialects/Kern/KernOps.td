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
    `kern.store`, over `dims` (dims[0] = -1: the rows of the launch). `tiles` is
    the number of blocks that share a row's columns, more than 1 only without
    reductions; `together` is the number of neighbouring rows that a block does,
    more than 1 only without tiles and where the dims between rows and columns
    are a multiple of it. A kernel of op "group" is the body of every `kern.grid` of its
    name.

    ```mlir
    kern.kernel @linear_bf16_n256_k256 "linear" template "Linear" params [1, 1, 0, 256, 256] threads 256 {}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$op,
                       StrAttr:$template_name, DenseI64ArrayAttr:$params,
                       ConfinedAttr<I64Attr, [IntPositive]>:$threads,
                       OptionalAttr<DenseI64ArrayAttr>:$dims,           // C1
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$tiles, // C2
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$together); // C3
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $op `template` $template_name `params` $params `threads` $threads
    (`dims` $dims^)? (`tiles` $tiles^)? (`together` $together^)? attr-dict-with-keyword $body
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

def Kern_PagerOp : Kern_Op<"pager", [Pure]> {
  let summary = "The address of the pager of experts (docs/spec/paging.md)";
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Kern_LaunchOp : Kern_Op<"launch",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Runs one kernel over a grid";
  let description = [{
    Arguments in the kernel's order: memrefs are addresses, i64 and f32 are
    scalars. `writes` lists the positions of the buffers that the kernel writes.

    `parts` = [rows, columns] says how the grid divides the work: block
    r * columns + x does part r of the rows and part x of the columns. `splits`
    has a number for each argument: what a block touches of it (passes/Parts.h);
    empty means anything. `tiling` = [least, most]: the kernel may also be had with
    another number of columns, a multiple of `least` that divides `most`. `alone`:
    the kernel takes most of a workgroup's shared memory. `hungry`: it needs more
    registers than leave room for three of its blocks on a gfx1201's unit. `counted`
    has the positions of buffers of counters: a kernel that writes one counts up what
    is done, one that reads it waits for the counts that it needs, so it may run
    beside the other if its blocks begin later.

    The byte and operation counts are for full occupancy (every row valid, caches
    at the length given to the compiler) and feed `glmc explain`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, DenseI64ArrayAttr:$grid, // C3, C1
                       Variadic<AnyTypeOf<[AnyMemRef, I64, F32]>>:$args,
                       DenseI64ArrayAttr:$writes,                          // C2
                       I64Attr:$weight_bytes, I64Attr:$memory_bytes,
                       I64Attr:$flops,
                       OptionalAttr<DenseI64ArrayAttr>:$parts,             // C4
                       OptionalAttr<DenseI64ArrayAttr>:$splits,            // C4
                       OptionalAttr<DenseI64ArrayAttr>:$tiling,            // C4
                       OptionalAttr<DenseI64ArrayAttr>:$counted,           // C2
                       UnitAttr:$alone, UnitAttr:$hungry);
  let assemblyFormat = [{
    $kernel `grid` $grid `(` ($args^ `:` type($args))? `)` `writes` $writes attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// T, the third argument of every kernel; 0 when that is no constant.
    int64_t getRowCount();
  }];
}

def Kern_GridOp : Kern_Op<"grid",
    [NoTerminator, SingleBlock,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Launches that run as one grid of the device";
  let description = [{
    Holds `kern.chain`s, in order of their phases: the blocks of a phase begin
    after all blocks of earlier phases have ended, but those of chains whose
    `slack` lets them run on. Chains that may run at the same time do not depend
    on each other. `kernel` is set by `glm-outline-grids`.

    ```mlir
    kern.grid {
      kern.chain 0 [1, 128] {       // 128 blocks: part x of a product, then
        kern.launch @Linear_...     // what follows from that part alone
        kern.launch @row_mix
      }
      kern.chain 1 [1, 1] {         // one block a row, when those have ended
        kern.launch @row_norm
      }
    }
    ```
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$kernel); // C2: of op group
  let regions = (region SizedRegion<1>:$body);                   // C1
  let assemblyFormat = "($kernel^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Kern_ChainOp : Kern_Op<"chain", [NoTerminator, SingleBlock, HasParent<"GridOp">]> {
  let summary = "Launches whose parts one block runs one after the other";
  let description = [{
    The chain has rows x columns blocks. Block (r, x) runs, for each launch in
    order, the blocks of that launch's part (r, x) of equal division. Phases up to
    phase + `slack` do not wait for it.
  }];
  let arguments = (ins I64Attr:$phase, DenseI64ArrayAttr:$parts, // C1
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>,
                                         "0">:$slack);             // C1 of the grid
  let regions = (region SizedRegion<1>:$body);                    // C2: launches
  let assemblyFormat = "$phase $parts (`slack` $slack^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getRows() { return getParts()[0]; }
    int64_t getColumns() { return getParts()[1]; }
    int64_t getBlocks() { return getRows() * getColumns(); }
  }];
}

def Kern_TapOp : Kern_Op<"tap", [MemoryEffects<[MemRead]>]> {
  let summary = "Names a buffer's content at this point";
  let arguments = (ins StrAttr:$name, AnyMemRef:$buffer);
  let assemblyFormat = "$name $buffer attr-dict `:` type($buffer)";
}

#endif // GLM_DIALECTS_KERN_KERNOPS
