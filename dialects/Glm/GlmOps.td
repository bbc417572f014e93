//===- GlmOps.td - Model-level operations ------------------*- tablegen -*-===//
//
// Constraint labels (C1, C2, ...) are defined in docs/spec/glm-ops.md and are
// repeated in the verifiers (GlmOps.cpp) and in the names of the tests
// (test/dialects/glm-ops-invalid.mlir).
//
// T rows (tokens of the step), S sequences, H hidden size.
//
//===----------------------------------------------------------------------===//

#ifndef GLM_DIALECTS_GLM_GLMOPS
#define GLM_DIALECTS_GLM_GLMOPS

include "dialects/Glm/GlmDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Glm_Op<string mnemonic, list<Trait> traits = []>
    : Op<Glm_Dialect, mnemonic, traits>;

// Every size is known and there is a dimension of rows.
class Glm_Tensor<list<Type> elements>
    : RankedTensorOf<elements, [HasStaticShapePred, HasRankGreaterOrEqualPred<1>],
                     "tensor of static shape, rank 1 or more,">;
// Floating-point activations and the weights they meet.
def Glm_Activation : Glm_Tensor<[F32, BF16]>;
def Glm_Dense : Glm_Tensor<[F32, BF16, F16]>;
def Glm_WeightLike : Glm_Tensor<[F32, BF16, F16, I<4>, I<8>]>;
def Glm_Seqs : 2DTensorOf<[I32]>; // [S, 4] = slot, position, length, 0

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

def Glm_WeightOp : Glm_Op<"weight", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Declares a weight of the checkpoint";
  let description = [{
    `pieces` says where the bytes lie: triples (file, offset, size), one triple
    for a dense weight, one an expert for stacked dense experts, two an expert
    (codes, scales) for stacked quantised ones, and these two for a quantised
    matrix. It is absent when the module was built without a checkpoint.

    Of a rank of several, `pieces` may hold those of all ranks, rank after rank;
    `cuts` then says how each piece of a matrix lies in its file where it is no
    contiguous range: triples (rows, bytes of a row, stride).

    `source` says which stored matrix a quantised one is to be made from: it has
    no pieces until they are written.

    ```mlir
    glm.weight @layers.0.self_attn.q_proj : tensor<256x256xbf16> pieces [0, 4096, 131072]
    glm.weight @layers.0.self_attn.k_proj
        : tensor<256x256xi8, #glm.group_quant<group = 128>> from bf16 [0, 135168, 131072]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<Glm_WeightLike>:$type,
                       UnitAttr:$experts, // C2: type is [E, N, K], one part an expert
                       OptionalAttr<DenseI64ArrayAttr>:$pieces, // C1
                       OptionalAttr<DenseI64ArrayAttr>:$cuts,   // C4
                       OptionalAttr<TypeAttr>:$source_type,     // C3
                       OptionalAttr<DenseI64ArrayAttr>:$source); // C3
  let assemblyFormat = [{ $sym_name (`experts` $experts^)? `:` $type (`pieces` $pieces^)?
    (`cuts` $cuts^)? (`from` $source_type^ $source)? attr-dict }];
  let hasVerifier = 1;
}

def Glm_StateOp : Glm_Op<"state", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Declares memory that one sequence carries between steps";
  let description = [{
    With `tokens_per_row` = n > 0 the first dimension grows by one row every n
    tokens (a cache); 0 is a state of constant size.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<Glm_Activation>:$type,
                       DefaultValuedAttr<I64Attr, "0">:$tokens_per_row);
  let assemblyFormat =
      "$sym_name `:` $type (`tokens_per_row` $tokens_per_row^)? attr-dict";
}

def Glm_GetWeightOp
    : Glm_Op<"get_weight",
             [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Reads a weight";
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Glm_WeightLike:$result); // C1: the symbol's type
  let assemblyFormat = "$weight `:` type($result) attr-dict";
}

//===----------------------------------------------------------------------===//
// Rowwise: pointwise math and row reductions
//===----------------------------------------------------------------------===//

def Glm_RowwiseOp : Glm_Op<"rowwise", [Pure, IsolatedFromAbove, SingleBlock,
                           SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Pointwise math over rows, with reductions along the row";
  let description = [{
    Runs the region for every point of `domain`; its last dimension is the
    column, the others form the row. Block argument i is the element of operand
    i at `in_maps[i]`; yielded value i goes to result `targets[i]` at
    `out_maps[i]`. All scalars are f32: loads widen, stores round once.
    `glm.row_reduce` combines a value over the columns of its row.

    The region holds pure arith, math and glm scalar operations, so that two
    rowwise operations over one domain fuse by concatenation.

    ```mlir
    %y = glm.rowwise [1, 256] ins(%x, %w : tensor<1x256xf32>, tensor<256xbf16>)
        maps [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (c)>]
        outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<1x256xf32>) {
    ^bb0(%a: f32, %b: f32):
      %aa = arith.mulf %a, %a : f32
      %ss = glm.row_reduce "add" %aa
      ...
      glm.yield %r : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Glm_Dense>:$inputs,
                       DenseI64ArrayAttr:$domain,      // C1: rows and columns, positive
                       AffineMapArrayAttr:$in_maps,    // C2, C3
                       AffineMapArrayAttr:$out_maps,   // C2, C3
                       DenseI64ArrayAttr:$targets);    // C4
  let results = (outs Variadic<Glm_Activation>:$results);
  let regions = (region SizedRegion<1>:$body);         // C5
  let assemblyFormat = [{
    $domain `ins` `(` ($inputs^ `:` type($inputs))? `)` `maps` $in_maps
    `outs` $out_maps `targets` $targets `->` `(` type($results) `)` attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Index of the column dimension.
    unsigned getColumnDim() { return getDomain().size() - 1; }
    /// True when the region holds a row reduction.
    bool hasReduction();
  }];
}

def Glm_RowReduceOp : Glm_Op<"row_reduce", [Pure, SameOperandsAndResultType,
                             HasParent<"RowwiseOp">]> {
  let summary = "Combines a value over the columns of its row";
  let arguments = (ins StrAttr:$kind, // C1: add or max
                       F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$kind $value attr-dict";
  let hasVerifier = 1;
}

def Glm_SigmoidOp : Glm_Op<"sigmoid", [Pure, SameOperandsAndResultType]> {
  let summary = "Logistic function of a scalar, 1 / (1 + exp(-x))";
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$value attr-dict";
}

def Glm_YieldOp : Glm_Op<"yield", [Pure, Terminator, ReturnLike,
                                   HasParent<"RowwiseOp">]> {
  let summary = "Ends a rowwise region";
  let arguments = (ins Variadic<F32>:$values);
  let builders = [OpBuilder<(ins), [{ (void)odsState; }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// Structured: rows in and out
//===----------------------------------------------------------------------===//

def Glm_EmbedOp : Glm_Op<"embed", [Pure]> {
  let summary = "Rows of the embedding table";
  let arguments = (ins 1DTensorOf<[I32]>:$ids, // [T]
                       Glm_Dense:$table);      // [V, H]   C1
  let results = (outs Glm_Activation:$result); // [T, H]   C1
  let assemblyFormat = "$ids `,` $table attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_GatherRowsOp : Glm_Op<"gather_rows", [Pure]> {
  let summary = "Picks rows by number; -1 gives a row of zeros";
  let arguments = (ins Glm_Activation:$input,   // [T, W]
                       1DTensorOf<[I32]>:$rows); // [R]
  let results = (outs Glm_Activation:$result);  // [R, W]  C1
  let assemblyFormat = "$input `,` $rows attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_LinearOp : Glm_Op<"linear", [Pure]> {
  let summary = "y[t, n] = sum_k x[t, k] w[n, k], fp32 sums";
  let description = [{
    Dimensions of x and y after the first are one row of K (N) elements, so that
    heads need no reshape.
  }];
  let arguments = (ins Glm_Activation:$input, // [T, ...K]
                       Glm_WeightLike:$weight); // [N, K]   C1, C3
  let results = (outs Glm_Activation:$result); // [T, ...N]   C2
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_AllReduceOp : Glm_Op<"all_reduce", [Pure]> {
  let summary = "The sum over ranks: y = sum_r x of rank r, in order of r";
  let description = [{
    Every rank runs the same function over weights of its own; the result is the
    same, to the bit, on each. The module's `glm.ranks` says how many there are.
  }];
  let arguments = (ins Glm_Activation:$input);  // [T, ...]
  let results = (outs Glm_Activation:$result);  // C1: as the input
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_AllGatherOp : Glm_Op<"all_gather", [Pure]> {
  let summary = "The tensors of all ranks, one after the other";
  let arguments = (ins Glm_Activation:$input);  // [T, ...]
  let results = (outs Glm_Activation:$result);  // [ranks, T, ...]   C1
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_LinearPartsOp : Glm_Op<"linear_parts", [Pure]> {
  let summary = "glm.linear cut along its sum: partial sums of `parts` stretches";
  let description = [{
    The last dimension of x is cut in `parts` equal stretches; part p sums over
    stretch p of every preceding index:

    ```
    y[t, p, n] = sum_o sum_i x[t, o, p w + i] w[n, o, p w + i],  w = last / parts
    ```

    Made by glm-split-linear: a product with few outputs then has a block for
    each part instead of one block for all of its weight.
  }];
  let arguments = (ins Glm_Activation:$input, // [T, ...K]
                       Glm_Dense:$weight);    // [N, K]   C1
  let results = (outs 3DTensorOf<[F32]>:$result); // [T, parts, N]   C1
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_SumPartsOp : Glm_Op<"sum_parts", [Pure]> {
  let summary = "y[t, n] = sum_p x[t, p, n]";
  let arguments = (ins 3DTensorOf<[F32]>:$input);  // [T, P, N]
  let results = (outs Glm_Activation:$result);     // [T, ...N]  C1
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_HeadLinearOp : Glm_Op<"head_linear", [Pure]> {
  let summary = "One product a head, with a slice of one stacked weight";
  let description = [{
    The weight stacks `stride` rows a head; the product of head h uses rows
    `h * stride + first` .. `+ rows - 1` of it:

    ```
    y[t, h, n] = sum_k x[t, h, k] w[h * stride + first + n, k]      rows = N
    y[t, h, n] = sum_k x[t, h, k] w[h * stride + first + k, n]      transposed, rows = K
    ```

    Absorbed MLA needs both forms of kv_b_proj.
  }];
  let arguments = (ins Glm_Activation:$input, // [T, heads, K]
                       Glm_Dense:$weight,     // [heads * stride, r]  C1
                       I64Attr:$first, ConfinedAttr<I64Attr, [IntPositive]>:$stride, // C2
                       UnitAttr:$transposed);
  let results = (outs Glm_Activation:$result); // [T, heads, N]  C3
  let assemblyFormat = [{ $input `,` $weight (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results) }];
  let hasVerifier = 1;
}

def Glm_ExpertLinearOp : Glm_Op<"expert_linear", [Pure]> {
  let summary = "One product for each expert that a row chose";
  let description = [{
    `y[t, s] = w[ids[t, s]] . x[t]` when x is [T, K], and of `x[t, s]` when x is
    [T, top_k, K]. An id outside 0..E-1 gives zeros. With paged experts, `arrivals`
    is that of `glm.copy_rows`, and w is weight `row_weight` of a row.
  }];
  let arguments = (ins Glm_Activation:$input,    // [T, K] | [T, top_k, K]  C1
                       2DTensorOf<[I32]>:$ids,   // [T, top_k]
                       Glm_WeightLike:$weight,   // [E, N, K]  C1
                       Optional<2DTensorOf<[I32]>>:$arrivals, // [E, weights]  C3
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$row_weight); // C3
  let results = (outs Glm_Activation:$result);   // [T, top_k, N]  C2
  let assemblyFormat = [{ $input `,` $ids `,` $weight (`arrivals` `(` $arrivals^ `)`)?
    attr-dict `:` functional-type(operands, results) }];
  let hasVerifier = 1;
}

def Glm_SinkhornOp : Glm_Op<"sinkhorn", [Pure]> {
  let summary = "Balances an n x n map of positive weights";
  let description = [{
    `C = softmax_c(z[r, :]) + eps`, divided by its column sums + eps, then
    `iterations - 1` times by its row sums + eps and its column sums + eps. fp32.
  }];
  let arguments = (ins 3DTensorOf<[F32]>:$logits, // [T, n, n]  C1
                       ConfinedAttr<I64Attr, [IntPositive]>:$iterations,
                       F32Attr:$eps);
  let results = (outs 3DTensorOf<[F32]>:$result); // [T, n, n]  C1
  let assemblyFormat = "$logits attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_TopKOp : Glm_Op<"top_k", [Pure]> {
  let summary = "The k largest columns of each row, lower column first on ties";
  let description = [{
    With `pool` = P > 0 only the first (position + j + 1) / P columns of row
    (sequence, token j) are candidates: the complete pools. Ids are ordered by
    score descending, with `pool` > 0 by column ascending; missing ones are -1,
    at the end. NaN counts as lower than -inf.
  }];
  let arguments = (ins 2DTensorOf<[F32]>:$scores,  // [T, C]
                       Optional<Glm_Seqs>:$seqs,   // C2: iff pool > 0
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$pool);
  let results = (outs 2DTensorOf<[I32]>:$ids);     // [T, k]  C1
  let assemblyFormat = [{ $scores (`seqs` `(` $seqs^ `)`)? attr-dict
    `:` functional-type(operands, results) }];
  let hasVerifier = 1;
}

def Glm_TakeColsOp : Glm_Op<"take_cols", [Pure]> {
  let summary = "out[t, j] = x[t, ids[t, j]]; id -1 gives 0";
  let arguments = (ins Glm_Activation:$input,      // [T, C]
                       2DTensorOf<[I32]>:$ids);    // [T, k]  C1
  let results = (outs Glm_Activation:$result);     // [T, k]  C1
  let assemblyFormat = "$input `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Paging of experts (docs/spec/paging.md): operations on the pager
//===----------------------------------------------------------------------===//

class Glm_PagerUser<string mnemonic>
    : Glm_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]>;

def Glm_FindRowsOp : Glm_PagerUser<"find_rows"> {
  let summary = "Slots of the cache for the experts that rows chose";
  let description = [{
    An access of layer `layer` of `glm.expert_rows`, numbered from 0 in the order of
    the step. `chosen` are the ids of valid rows that are an expert's, -1 for others;
    `moves` has their number, then (row, slot) of each row of experts that is to be
    copied. Where it is copied from and to is the pager's matter. `arrivals` counts,
    for each weight of each chosen expert's row, the parts that are in its slot: all
    of them but those of `moves`.
  }];
  let arguments = (ins 2DTensorOf<[I32]>:$ids, // [T, top_k]
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$layer);
  let results = (outs 2DTensorOf<[I32]>:$chosen,    // [T, top_k]  C1
                      1DTensorOf<[I32]>:$moves,     // [1 + 2 min(E, T * top_k)]  C2
                      2DTensorOf<[I32]>:$arrivals); // [E, weights of a row]
  let assemblyFormat = "$ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_CopyRowsOp : Glm_PagerUser<"copy_rows"> {
  let summary = "Copies rows of experts into their slots";
  let description = [{
    `arrived` is `arrivals` with the parts counted that were copied, in the same
    buffer: nothing else may read `arrivals`. Products with paged weights take it, as
    it is there when every row of `moves` is in its slot; a product beside the copies
    looks at the count of its own row instead.
  }];
  let arguments = (ins 1DTensorOf<[I32]>:$moves,
                       2DTensorOf<[I32]>:$arrivals, // [E, weights of a row]  C2
                       ConfinedAttr<I64Attr, [IntPositive]>:$top_k);
  let results = (outs 2DTensorOf<[I32]>:$arrived);  // as arrivals  C1
  let assemblyFormat = "$moves `,` $arrivals attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Structured: operations that read or advance a state
//===----------------------------------------------------------------------===//

class Glm_StateUser<string mnemonic>
    : Glm_Op<mnemonic, [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                        MemoryEffects<[MemRead, MemWrite]>]>;

def Glm_ShortConvOp : Glm_StateUser<"short_conv"> {
  let summary = "Causal depthwise convolution, window carried in the state";
  let description = [{
    `y[t, c] = sum_j w[c, j] x[t - (kernel - 1) + j, c]`; inputs before the
    sequence are 0. No activation. State: [C, kernel - 1], oldest first.
  }];
  let arguments = (ins Glm_Activation:$input,  // [T, C]
                       Glm_Dense:$weight,      // [C, kernel] | [C, 1, kernel]  C1
                       Glm_Seqs:$seqs, FlatSymbolRefAttr:$state); // C2
  let results = (outs Glm_Activation:$result); // [T, C]
  let assemblyFormat = "$input `,` $weight `,` $seqs `state` `(` $state `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_DeltaRuleOp : Glm_StateUser<"delta_rule"> {
  let summary = "Gated delta rule with a decay per key channel (KDA)";
  let description = [{
    For each token in order, S the head's state [D, Dv], fp32:

    ```
    S[d, :] *= exp(g[d]);  delta = beta (v - S^T k);  S += k delta^T;  o = S^T q
    ```
  }];
  let arguments = (ins Glm_Activation:$q,              // [T, heads, D]   C1
                       Glm_Activation:$k,              // [T, heads, D]   C1
                       Glm_Activation:$v,              // [T, heads, Dv]  C1
                       3DTensorOf<[F32]>:$gate,        // [T, heads, D]   C1, log decay
                       2DTensorOf<[F32]>:$beta,        // [T, heads]      C1
                       Glm_Seqs:$seqs, FlatSymbolRefAttr:$state); // C2
  let results = (outs Glm_Activation:$result);         // [T, heads, Dv]
  let assemblyFormat = "$q `,` $k `,` $v `,` $gate `,` $beta `,` $seqs `state` `(` $state `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_LatentAppendOp : Glm_StateUser<"latent_append"> {
  let summary = "Appends the rows of a step to a cache of one row a token";
  let arguments = (ins Glm_Activation:$input,          // [T, W]  C1
                       Glm_Seqs:$seqs, FlatSymbolRefAttr:$state); // C2
  let assemblyFormat = "$input `,` $seqs `state` `(` $state `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Glm_KPoolOp : Glm_StateUser<"kpool"> {
  let summary = "Pools P consecutive index keys into one, by learned softmax";
  let description = [{
    Pool p covers positions P p .. P p + P - 1:
    `pool[d] = sum_s softmax_s(g_s[d] + ape[s, d]) k_s[d]`. Keys of the
    incomplete pool wait in `tail` ([P - 1, 2, D]).
  }];
  let arguments = (ins Glm_Activation:$key,            // [T, D]  C1
                       Glm_Activation:$gate,           // [T, D]  C1
                       Glm_Dense:$ape,                 // [P, D]  C1
                       Glm_Seqs:$seqs, FlatSymbolRefAttr:$tail,
                       FlatSymbolRefAttr:$state);      // C2
  let assemblyFormat = "$key `,` $gate `,` $ape `,` $seqs `tail` `(` $tail `)` `state` `(` $state `)` attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Glm_IndexScoresOp : Glm_StateUser<"index_scores"> {
  let summary = "Scores of the complete pools for each row";
  let description = [{
    `score[t, p] = sum_h w[t, h] max(0, scale * q[t, h] . pool_p)`, fp32, for the
    complete pools; other columns are undefined.
  }];
  let arguments = (ins Glm_Activation:$query,          // [T, heads, D]  C1
                       Glm_Activation:$weights,        // [T, heads]  C1
                       Glm_Seqs:$seqs, FlatSymbolRefAttr:$state, // C2
                       ConfinedAttr<I64Attr, [IntPositive]>:$pool, F32Attr:$scale);
  let results = (outs 2DTensorOf<[F32]>:$scores);      // [T, max_pools]  C1
  let assemblyFormat = "$query `,` $weights `,` $seqs `state` `(` $state `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_SparseAttentionOp : Glm_StateUser<"sparse_attention"> {
  let summary = "Attention over the latents of selected pools and the tail";
  let description = [{
    Tokens of a row at position p: all P tokens of each listed pool, and
    P floor((p + 1) / P) .. p. `s = scale q . c`, `out = sum softmax(s) c`.
  }];
  let arguments = (ins Glm_Activation:$query,          // [T, heads, W]  C1
                       2DTensorOf<[I32]>:$pools,       // [T, k], -1 none  C1
                       Glm_Seqs:$seqs, FlatSymbolRefAttr:$state, // C2
                       ConfinedAttr<I64Attr, [IntPositive]>:$pool, F32Attr:$scale);
  let results = (outs Glm_Activation:$result);         // [T, heads, W]  C1
  let assemblyFormat = "$query `,` $pools `,` $seqs `state` `(` $state `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_AttentionPartsOp : Glm_StateUser<"attention_parts"> {
  let summary = "glm.sparse_attention cut along its tokens: what parts of them give";
  let description = [{
    Part p of `parts` has entries p e .. p e + e - 1 of the list of pools, with
    e = ceil(k / parts); the last part has the tail, too. Over a part's tokens,

    ```
    stats[t, p, h] = (m, sum exp(s - m)),  mixed[t, p, h] = sum exp(s - m) c
    ```

    with m = max s, -inf of no token. Made by glm-split-attention: a few rows then
    have blocks for all of the device.
  }];
  let arguments = (ins Glm_Activation:$query,          // [T, heads, W]  C1
                       2DTensorOf<[I32]>:$pools,       // [T, k], -1 none  C1
                       Glm_Seqs:$seqs, FlatSymbolRefAttr:$state, // C2
                       ConfinedAttr<I64Attr, [IntPositive]>:$pool, F32Attr:$scale);
  let results = (outs 4DTensorOf<[F32]>:$mixed,        // [T, parts, heads, W]  C1
                      4DTensorOf<[F32]>:$stats);       // [T, parts, heads, 2]  C1
  let assemblyFormat = "$query `,` $pools `,` $seqs `state` `(` $state `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Glm_MergePartsOp : Glm_Op<"merge_parts", [Pure]> {
  let summary = "The attention over the tokens of all parts";
  let description = [{
    With (m_p, n_p) = stats[t, p, h] and e_p = exp(m_p - max_p m_p):
    `y[t, h] = sum_p e_p mixed[t, p, h] / sum_p e_p n_p`, over parts with n_p != 0;
    without any, 0.
  }];
  let arguments = (ins 4DTensorOf<[F32]>:$mixed,       // [T, parts, heads, W]
                       4DTensorOf<[F32]>:$stats);      // [T, parts, heads, 2]  C1
  let results = (outs Glm_Activation:$result);         // [T, heads, W]  C1
  let assemblyFormat = "$mixed `,` $stats attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Observation
//===----------------------------------------------------------------------===//

def Glm_TapOp : Glm_Op<"tap", [MemoryEffects<[MemWrite]>]> {
  let summary = "Names a value so that tools can read it; costs no launch";
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}

#endif // GLM_DIALECTS_GLM_GLMOPS
