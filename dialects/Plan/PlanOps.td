//===- PlanOps.td - One op per table of plan.fbs -----------*- tablegen -*-===//

#ifndef GLM_DIALECTS_PLAN_PLANOPS
#define GLM_DIALECTS_PLAN_PLANOPS

include "dialects/Plan/PlanDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

def Plan_PlanOp : Plan_Op<"plan", [NoTerminator, SingleBlock]> {
  let summary = "Table Plan";
  let arguments = (ins StrAttr:$producer, StrAttr:$math, StrAttr:$fuse,
                       DefaultValuedAttr<I64Attr, "1">:$ranks);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

class Plan_Table<string mnemonic, string parent, list<Trait> traits = []>
    : Plan_Op<mnemonic, !listconcat([HasParent<parent>], traits)> {
  let assemblyFormat = "attr-dict";
}

def Plan_ModelOp : Plan_Table<"model", "PlanOp"> {
  let summary = "Table Model";
  let arguments = (ins StrAttr:$name, I64Attr:$layers, I64Attr:$hidden,
                       I64Attr:$vocab, I64Attr:$pool_tokens, I64Attr:$max_context,
                       I64Attr:$experts, I64Attr:$experts_per_token);
}

def Plan_GenerationOp : Plan_Table<"generation", "PlanOp"> {
  let summary = "Table Generation";
  let arguments = (ins DenseI32ArrayAttr:$stop_ids, F32Attr:$temperature,
                       F32Attr:$top_p);
}

def Plan_WeightFileOp : Plan_Table<"weight_file", "PlanOp"> {
  let summary = "Table WeightFile";
  let arguments = (ins StrAttr:$path, I64Attr:$size, I64Attr:$fingerprint);
}

def Plan_WeightOp : Plan_Table<"weight", "PlanOp"> {
  let summary = "Table Weight; pieces are triples (file, offset, size), cuts "
                "(rows, row_bytes, stride)";
  let arguments = (ins StrAttr:$name, StrAttr:$form, TypeAttr:$dtype,
                       DenseI64ArrayAttr:$shape, I64Attr:$group,
                       DenseI64ArrayAttr:$pieces, // C1
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$cuts); // C1
  let hasVerifier = 1;
}

def Plan_ExpertRowsOp : Plan_Table<"expert_rows", "PlanOp"> {
  let summary = "Table ExpertRows of the next MoE layer";
  let arguments = (ins DenseI64ArrayAttr:$weights);
}

def Plan_StateOp : Plan_Table<"state", "PlanOp"> {
  let summary = "Table State";
  let arguments = (ins StrAttr:$name, TypeAttr:$dtype, DenseI64ArrayAttr:$shape,
                       I64Attr:$bytes_per_slot, I64Attr:$tokens_per_row);
}

def Plan_KernelOp : Plan_Op<"kernel", [HasParent<"PlanOp">, NoTerminator]> {
  let summary = "Table Kernel; the region of a rowwise one is its RowProgram";
  let arguments = (ins StrAttr:$name, StrAttr:$op, I64Attr:$threads,
                       DenseI64ArrayAttr:$params, DenseI64ArrayAttr:$dims,
                       I64Attr:$operand_count, I64Attr:$result_count,
                       DefaultValuedAttr<I64Attr, "1">:$tiles,
                       DefaultValuedAttr<I64Attr, "1">:$together);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Plan_RowInstOp : Plan_Table<"row_inst", "KernelOp"> {
  let summary = "Table RowInst; `op` is an enumerator of RowOp";
  let arguments = (ins StrAttr:$op, I64Attr:$a, I64Attr:$b, F32Attr:$imm,
                       DenseI64ArrayAttr:$coeff, I64Attr:$offset, TypeAttr:$dtype);
}

def Plan_EntryOp : Plan_Op<"entry", [HasParent<"PlanOp">, NoTerminator, SingleBlock]> {
  let summary = "Table Entry";
  let arguments = (ins StrAttr:$name, StrAttr:$kind, I64Attr:$sequences,
                       I64Attr:$tokens, I64Attr:$logit_rows, I64Attr:$arena_bytes,
                       I64Attr:$ids, I64Attr:$seqs, I64Attr:$rows, I64Attr:$logits);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Plan_BufferOp : Plan_Table<"buffer", "EntryOp"> {
  let summary = "Table Buffer";
  let arguments = (ins StrAttr:$name, TypeAttr:$dtype, DenseI64ArrayAttr:$shape,
                       I64Attr:$offset, I64Attr:$size, I64Attr:$first, I64Attr:$last); // C1
  let hasVerifier = 1;
}

def Plan_LaunchOp : Plan_Table<"launch", "EntryOp"> {
  let summary = "Table Launch; args are triples (kind, index, value)";
  let arguments = (ins I64Attr:$kernel, DenseI64ArrayAttr:$grid,
                       DenseI64ArrayAttr:$args, // C1
                       StrAttr:$origin, I64Attr:$weight_bytes,
                       I64Attr:$memory_bytes, I64Attr:$flops);
  let hasVerifier = 1;
}

def Plan_GroupOp : Plan_Table<"group", "EntryOp"> {
  let summary = "Table Group; chains are (launches, phase, rows, columns, slack)";
  let arguments = (ins I64Attr:$kernel, I64Attr:$first,
                       DenseI64ArrayAttr:$chains); // C1
  let hasVerifier = 1;
}

def Plan_TapOp : Plan_Table<"tap", "EntryOp"> {
  let summary = "Table Tap";
  let arguments = (ins StrAttr:$name, I64Attr:$buffer, I64Attr:$after);
}

#endif // GLM_DIALECTS_PLAN_PLANOPS
