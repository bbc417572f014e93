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
    Option<"maxGroupedRows", "max-grouped-rows", "int64_t", /*default=*/"16",
           "Rows up to which glm-fuse-blocks takes pointwise work into a product's blocks">,
  ];
}

def SplitAttentionPass : Pass<"glm-split-attention", "::mlir::func::FuncOp"> {
  let summary = "Cuts attention of few rows along its tokens";
  let description = [{
    `glm.sparse_attention` with less than `blocks` blocks becomes
    `glm.attention_parts`, with parts of the list of pools that make about as many
    blocks, and `glm.merge_parts`. Does nothing for more than `max-rows` rows or
    where a part would have less than `min-tokens` tokens.
  }];
  let options = [
    Option<"maxRows", "max-rows", "int64_t", /*default=*/"16",
           "Most rows that the step may have">,
    Option<"blocks", "blocks", "int64_t", /*default=*/"128",
           "Blocks that read memory at full speed; more than may wait in a launch">,
    Option<"minTokens", "min-tokens", "int64_t", /*default=*/"32",
           "Fewest tokens of a part for which the cut pays">,
  ];
}

def SplitLinearPass : Pass<"glm-split-linear", "::mlir::func::FuncOp"> {
  let summary = "Cuts products with few outputs along their sum";
  let description = [{
    `glm.linear` with at most 32 outputs becomes `glm.linear_parts`, one block for
    each stretch of 32 columns, and `glm.sum_parts`. Does nothing for more outputs,
    for more than `max-rows` rows, for a coded weight, for a weight of less than
    `min-bytes`, or when the columns have no equal stretches.
  }];
  let options = [
    Option<"maxRows", "max-rows", "int64_t", /*default=*/"16",
           "Most rows that the product may have">,
    Option<"minBytes", "min-bytes", "int64_t", /*default=*/"32768",
           "Fewest bytes of weight for which the cut pays">,
  ];
}

def WidenRowsPass : Pass<"glm-widen-rows", "::mlir::func::FuncOp"> {
  let summary = "Keeps rows of short steps in f32";
  let description = [{
    A bf16 result of a rowwise operation becomes f32 for the readers that make
    something as wide of it: rowwise operations, `glm.linear_parts` and
    `glm.gather_rows`. Others, a sum over the row among them, read a bf16 result
    beside it. Does nothing for other producers, for rows without such readers, and
    for functions of more than `max-rows` rows.
  }];
  let options = [
    Option<"maxRows", "max-rows", "int64_t", /*default=*/"16",
           "Rows of a step up to which the weights are what it moves">,
  ];
}

//===----------------------------------------------------------------------===//
// Phase: kern
//===----------------------------------------------------------------------===//

def FuseBlocksPass : Pass<"glm-fuse-blocks", "::mlir::ModuleOp"> {
  let summary = "Chains launches whose parts one block can run in order";
  let description = [{
    Every launch goes into a `kern.grid`; one that needs only its own part of what
    its producers wrote joins their `kern.chain` (passes/Parts.h). Refused, with a
    remark: parts that do not divide each other, results of other blocks, a chain
    that stands between, more than `max-serial` blocks of work for one, or more
    than `max-bytes` for a block that got the work of several. In the end, members
    that could start at a lower level leave their chain when they read `early-bytes`
    of weights; so do the members of a one-block chain that are waited for later than
    others of it. Functions of more than `max-rows` rows are left alone.
  }];
  let options = [
    Option<"maxRows", "max-rows", "int64_t", /*default=*/"16",
           "Rows of a step up to which launches are short enough to matter">,
    Option<"maxSerial", "max-serial", "int64_t", /*default=*/"8",
           "Blocks of one launch that a block of the chain may run">,
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"98304",
           "Bytes that a block may move when it runs several blocks' work">,
    Option<"earlyBytes", "early-bytes", "int64_t", /*default=*/"4194304",
           "Weight bytes of a chain's members from which on they leave it when they "
           "could start before it; 0: never">,
  ];
}

def FusePhasesPass : Pass<"glm-fuse-phases", "::mlir::func::FuncOp"> {
  let summary = "Appends small grids to the launch before, as phases that wait";
  let description = [{
    A `kern.grid` joins the one before it as a further phase while all the blocks
    that wait in the launch are at most `max-waiting`, a fact of the smallest
    device: they must all be resident at once and leave room for one more.

    In the end each chain gets the slack that those who read it leave it.
  }];
  let options = [
    Option<"maxWaiting", "max-waiting", "int64_t", /*default=*/"180",
           "Blocks of a launch that may wait for its earlier blocks">,
    Option<"maxWaitingHungry", "max-waiting-hungry", "int64_t", /*default=*/"127",
           "The same where a launch is marked hungry">,
    Option<"longBytes", "long-bytes", "int64_t", /*default=*/"67108864",
           "Weight bytes from which on a grid begins a launch of its own, of which the "
           "start is a small part; 0: never">,
  ];
}

def FuseSiblingsPass : Pass<"glm-fuse-siblings", "::mlir::func::FuncOp"> {
  let summary = "Puts grids that do not wait for each other into one";
  let description = [{
    Grids of the same depth in the order of dependence become chains of one
    `kern.grid`, except launches marked `alone`.
  }];
}

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

def OutlineGridsPass : Pass<"glm-outline-grids", "::mlir::ModuleOp"> {
  let summary = "Names the kernel of each grid; equal grids share one";
  let description = [{
    A grid of one launch becomes that launch again. For every other kind of grid a
    `kern.kernel` of op "group" appears, whose source is made of the launches'.
  }];
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
