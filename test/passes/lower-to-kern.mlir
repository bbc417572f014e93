// RUN: glm-opt %s --split-input-file --glm-lower-to-kern --verify-diagnostics | FileCheck %s

// A step of two sequences, one token each. Arguments become buffers; each operation
// becomes one launch whose leading arguments are seqs, N, T; weights are arguments.

#id = affine_map<(t, c) -> (t, c)>
#col = affine_map<(t, c) -> (c)>
#shift = affine_map<(t, c) -> (t, c + 8)>
// CHECK:      kern.kernel @Embed_1_1_32_64 "embed" template "Embed" params [1, 1, 32, 64] threads 256 {

// A body is the region with each access spelt out as strides: columns 8 to 23 of a row
// of 32, and a weight that has no rows. Each tensor is one pointer, results follow.
// CHECK:      kern.kernel @row_gate "rowwise" template "" params [] threads 256 dims [-1, 16] {
// CHECK-NEXT:   %[[A:.*]] = kern.load 0 [32, 1] + 0 : bf16
// CHECK-NEXT:   %[[B:.*]] = kern.load 1 [0, 1] + 0 : f32
// CHECK-NEXT:   %[[C:.*]] = kern.load 0 [32, 1] + 8 : bf16
// CHECK-NEXT:   %[[S:.*]] = glm.sigmoid %[[A]]
// CHECK-NEXT:   %[[SUM:.*]] = kern.row_reduce "add" %[[B]]
// CHECK-NEXT:   arith.mulf
// CHECK-NEXT:   %[[Y:.*]] = arith.addf
// CHECK-NEXT:   kern.store %[[Y]] to 2 [16, 1] + 0 : bf16
// CHECK-NEXT: }
// CHECK:      kern.kernel @Linear_1_1_0_64_16 "linear" template "Linear" params [1, 1, 0, 64, 16]

// The function follows its kernels; weights keep their place before them.
glm.weight @table : tensor<64x32xbf16>
glm.weight @gate : tensor<16xf32>
glm.weight @head : tensor<64x16xbf16>

// CHECK-LABEL: func.func @step() attributes
// CHECK-SAME:    glm.sequences = 2 : i64, glm.tokens = 1 : i64
func.func @step(%ids: tensor<2xi32>, %seqs: tensor<2x4xi32>, %rows: tensor<2xi32>) -> tensor<2x64xf32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  // CHECK-DAG:  %[[IDS:.*]] = kern.alloc "ids" : memref<2xi32>
  // CHECK-DAG:  %[[SEQS:.*]] = kern.alloc "seqs" : memref<2x4xi32>
  // CHECK-DAG:  %[[ROWS:.*]] = kern.alloc "rows" : memref<2xi32>
  // CHECK:      %[[TABLE:.*]] = kern.weight @table : memref<64x32xbf16>
  %table = glm.get_weight @table : tensor<64x32xbf16>
  // CHECK:      %[[E:.*]] = kern.alloc "embed" : memref<2x32xbf16>
  // CHECK-DAG:  %[[N:.*]] = arith.constant 1 : i64
  // CHECK-DAG:  %[[T:.*]] = arith.constant 2 : i64
  // CHECK:      kern.launch @Embed_1_1_32_64 grid [2, 1, 1](%[[SEQS]], %[[N]], %[[T]], %[[IDS]], %[[TABLE]], %[[E]] :
  // 2 rows of 32 bf16 are read from the table and written; ids are 8 bytes.
  // A block has a row of ids and of the result (split 1), all of the rest (split 0).
  // CHECK-SAME:   writes [5] {flops = 0 : i64, memory_bytes = 136 : i64, parts = array<i64: 2, 1>, splits = array<i64: 0, 0, 0, 1, 0, 1>, weight_bytes = 128 : i64}
  %e = glm.embed %ids, %table : (tensor<2xi32>, tensor<64x32xbf16>) -> tensor<2x32xbf16> loc("embed")
  // A tap costs no launch.
  // CHECK-NEXT: kern.tap "embedded" %[[E]]
  glm.tap "embedded" %e : tensor<2x32xbf16>
  %gate = glm.get_weight @gate : tensor<16xf32>
  // CHECK:      %[[Y:.*]] = kern.alloc "layers.0.gate" : memref<2x16xbf16>
  // CHECK:      kern.launch @row_gate grid [2, 1, 1](%[[SEQS]], %{{.*}}, %{{.*}}, %[[E]], %{{.*}}, %[[Y]] :
  // A reduction needs the whole row: no tiling.
  // CHECK-SAME:   writes [5] {{{.*}}memory_bytes = 192 : i64, parts = array<i64: 2, 1>, splits = array<i64: 0, 0, 0, 1, 0, 3>, weight_bytes = 64 : i64}
  %y = glm.rowwise [2, 16] ins(%e, %gate, %e : tensor<2x32xbf16>, tensor<16xf32>, tensor<2x32xbf16>)
      maps [#id, #col, #shift] outs [#id] targets [0] -> (tensor<2x16xbf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = glm.sigmoid %a
    %1 = glm.row_reduce "add" %b
    %2 = arith.mulf %0, %c : f32
    %3 = arith.addf %2, %1 : f32
    glm.yield %3 : f32
  } loc("layers.0.gate")
  // Rows of the head belong to no token, so seqs is 0: every row is valid, also when
  // the head has as many rows as the step.
  // CHECK:      %[[ZERO:.*]] = arith.constant 0 : i64
  // CHECK:      kern.launch @GatherRows_1_1_16 grid [2, 1, 1](%[[ZERO]], %{{.*}}, %{{.*}}, %[[Y]], %[[ROWS]], %[[L:[0-9]+]] :
  %l = glm.gather_rows %y, %rows : (tensor<2x16xbf16>, tensor<2xi32>) -> tensor<2x16xbf16> loc("last")
  %head = glm.get_weight @head : tensor<64x16xbf16>
  // CHECK:      %[[ZERO2:.*]] = arith.constant 0 : i64
  // CHECK:      kern.launch @Linear_1_1_0_64_16 grid [2, 1, 1](%[[ZERO2]], %{{.*}}, %{{.*}}, %[[L]], %{{.*}}, %[[O:[0-9]+]] :
  // Block x has part x of the columns of each row (split 2).
  // CHECK-SAME:   writes [5] {flops = 4096 : i64, memory_bytes = 576 : i64, parts = array<i64: 1, 2>, splits = array<i64: 0, 0, 0, 0, 0, 2>, weight_bytes = 2048 : i64}
  %o = glm.linear %l, %head : (tensor<2x16xbf16>, tensor<64x16xbf16>) -> tensor<2x64xf32> loc("head")
  // The result is what the tap `logits` names.
  // CHECK-NEXT: kern.tap "logits" %[[O]]
  // CHECK-NEXT: return
  return %o : tensor<2x64xf32>
}

// -----

// Few rows take the product of vectors, many the tiles; both have the same parameters.
// Equal operations, here of two steps, share a kernel.

glm.weight @w : tensor<64x16xbf16>
// CHECK-COUNT-1: kern.kernel @Linear_1_1_0_64_16 "linear" template "Linear"
// CHECK-COUNT-1: kern.kernel @LinearTile_1_1_0_64_16 "linear" template "LinearTile" params [1, 1, 0, 64, 16]
// CHECK-NOT:     kern.kernel

// CHECK-LABEL: func.func @few
// CHECK:         kern.launch @Linear_1_1_0_64_16 grid [2, 1, 1]
func.func @few(%x: tensor<8x16xbf16>, %seqs: tensor<8x4xi32>, %rows: tensor<8xi32>) -> tensor<8x64xf32>
    attributes {glm.sequences = 8 : i64, glm.tokens = 1 : i64} {
  %w = glm.get_weight @w : tensor<64x16xbf16>
  %0 = glm.linear %x, %w : (tensor<8x16xbf16>, tensor<64x16xbf16>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: func.func @again
// CHECK:         kern.launch @Linear_1_1_0_64_16 grid [2, 1, 1]
func.func @again(%x: tensor<1x16xbf16>, %seqs: tensor<1x4xi32>, %rows: tensor<1xi32>) -> tensor<1x64xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %w = glm.get_weight @w : tensor<64x16xbf16>
  %0 = glm.linear %x, %w : (tensor<1x16xbf16>, tensor<64x16xbf16>) -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}

// CHECK-LABEL: func.func @many
// CHECK:         kern.launch @LinearTile_1_1_0_64_16 grid [4, 1, 1]
func.func @many(%x: tensor<256x16xbf16>, %seqs: tensor<1x4xi32>, %rows: tensor<8xi32>) -> tensor<256x64xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 256 : i64} {
  %w = glm.get_weight @w : tensor<64x16xbf16>
  %0 = glm.linear %x, %w : (tensor<256x16xbf16>, tensor<64x16xbf16>) -> tensor<256x64xf32>
  return %0 : tensor<256x64xf32>
}

// -----

// A state is two arguments: its base and the bytes of a slot, rounded up to 256.

glm.state @window : tensor<32x3xf32>
glm.weight @filter : tensor<32x4xbf16>
// CHECK-LABEL: func.func @state_arguments
// CHECK:         %[[S:.*]] = kern.state @window : memref<32x3xf32>
// CHECK-NEXT:    %[[BYTES:.*]] = arith.constant 512 : i64
// CHECK:         kern.launch @ShortConv_0_1_0_32_4_1 grid [1, 2, 1]({{.*}}, %[[S]], %[[BYTES]], %{{[^,]*}} :
// The number of columns is the last parameter and may be any divisor of the channels.
// CHECK-SAME:      writes [8] {{{.*}}parts = array<i64: 2, 1>, splits = array<i64: 0, 0, 0, 0, 3, 0, 0, 0, 3>, tiling = array<i64: 1, 32>
func.func @state_arguments(%x: tensor<2x32xf32>, %seqs: tensor<2x4xi32>, %rows: tensor<2xi32>) -> tensor<2x32xf32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  %w = glm.get_weight @filter : tensor<32x4xbf16>
  %0 = glm.short_conv %x, %w, %seqs state(@window) : (tensor<2x32xf32>, tensor<32x4xbf16>, tensor<2x4xi32>) -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

// -----

// Absorbed MLA: the transposed form walks the same weight with the strides exchanged.

glm.weight @kv : tensor<24x8xbf16>
// CHECK: kern.kernel @HeadLinear_1_1_0_4_2_8_48_8_1_32 "head_linear" template "HeadLinear" params [1, 1, 0, 4, 2, 8, 48, 8, 1, 32]
// CHECK: kern.kernel @HeadLinear_0_1_0_4_8_2_48_1_8_32 "head_linear" template "HeadLinear" params [0, 1, 0, 4, 8, 2, 48, 1, 8, 32]
func.func @head_strides(%ids: tensor<2xi32>, %seqs: tensor<2x4xi32>, %rows: tensor<2xi32>) -> tensor<2x4x8xf32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  %kv = glm.get_weight @kv : tensor<24x8xbf16>
  %t = glm.get_weight @kv : tensor<24x8xbf16>
  %x = glm.embed %ids, %t : (tensor<2xi32>, tensor<24x8xbf16>) -> tensor<2x8xbf16>
  %h = glm.rowwise [2, 4, 8] ins(%x : tensor<2x8xbf16>) maps [affine_map<(t, h, d) -> (t, d)>]
      outs [affine_map<(t, h, d) -> (t, h, d)>] targets [0] -> (tensor<2x4x8xbf16>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  %0 = glm.head_linear %h, %kv {first = 4 : i64, stride = 6 : i64} : (tensor<2x4x8xbf16>, tensor<24x8xbf16>) -> tensor<2x4x2xf32>
  %1 = glm.head_linear %0, %kv transposed {first = 4 : i64, stride = 6 : i64} : (tensor<2x4x2xf32>, tensor<24x8xbf16>) -> tensor<2x4x8xf32>
  return %1 : tensor<2x4x8xf32>
}

// -----

// Quantised experts, form 2: one launch over slots while there are fewer than experts.
// An expert reads 8 * 32 codes of 4 bits and 8 * 2 scales of f16: 160 bytes.

glm.weight @e experts : tensor<8x8x32xi4, #glm.group_quant<group = 16>>
// CHECK: kern.kernel @ExpertLinear_1_2_1_0_8_3_8_32_16_0 "expert_linear" template "ExpertLinear"
// CHECK-LABEL: func.func @experts
// CHECK:         kern.launch @ExpertLinear_1_2_1_0_8_3_8_32_16_0 grid [1, 6, 1]
// CHECK-SAME:      weight_bytes = 960 : i64
func.func @experts(%choice: tensor<2x3xi32>, %seqs: tensor<2x4xi32>, %x: tensor<2x32xbf16>) -> tensor<2x3x8xf32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  %w = glm.get_weight @e : tensor<8x8x32xi4, #glm.group_quant<group = 16>>
  %0 = glm.expert_linear %x, %choice, %w
      : (tensor<2x32xbf16>, tensor<2x3xi32>, tensor<8x8x32xi4, #glm.group_quant<group = 16>>) -> tensor<2x3x8xf32>
  return %0 : tensor<2x3x8xf32>
}

// -----

// What a block of a pointwise operation touches. Split 2 * outer + rows: the row's
// columns seen as [outer, columns, width]; 1 is a row, 0 is anything.

#id = affine_map<(t, h, d) -> (t, h, d)>
#flat = affine_map<(t, h, d) -> (t, h * 8 + d)>
#head = affine_map<(t, h, d) -> (t, h)>
#within = affine_map<(t, h, d) -> (t, d)>
#second = affine_map<(t, h, d) -> (t, 1, h, d)>
#shift = affine_map<(t, h, d) -> (t, h * 8 + d + 4)>
#turned = affine_map<(t, h, d) -> (t, d, h)>
#other = affine_map<(t, h, d) -> (h, d)>
#skew = affine_map<(t, h, d) -> (t, t + h * 8 + d)>
glm.weight @w4 : tensor<4x4xbf16>
glm.weight @w8 : tensor<8x4xbf16>
glm.weight @w32 : tensor<32x4xbf16>
glm.weight @w36 : tensor<36x4xbf16>
glm.weight @w64 : tensor<64x4xbf16>
glm.weight @g : tensor<4x8xf32>
// CHECK-LABEL: func.func @pointwise_splits
func.func @pointwise_splits(%ids: tensor<2xi32>, %seqs: tensor<2x4xi32>, %rows: tensor<2xi32>) -> tensor<2x4x8xf32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  %w4 = glm.get_weight @w4 : tensor<4x4xbf16>
  %w8 = glm.get_weight @w8 : tensor<8x4xbf16>
  %w32 = glm.get_weight @w32 : tensor<32x4xbf16>
  %w36 = glm.get_weight @w36 : tensor<36x4xbf16>
  %w64 = glm.get_weight @w64 : tensor<64x4xbf16>
  %x = glm.embed %ids, %w4 : (tensor<2xi32>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
  %a = glm.linear %x, %w32 : (tensor<2x4xbf16>, tensor<32x4xbf16>) -> tensor<2x32xf32>
  %b = glm.linear %x, %w4 : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xf32>
  %c = glm.linear %x, %w8 : (tensor<2x4xbf16>, tensor<8x4xbf16>) -> tensor<2x8xf32>
  %d = glm.linear %x, %w64 : (tensor<2x4xbf16>, tensor<64x4xbf16>) -> tensor<2x2x4x8xf32>
  %e = glm.linear %x, %w36 : (tensor<2x4xbf16>, tensor<36x4xbf16>) -> tensor<2x36xf32>
  %f = glm.linear %x, %w32 : (tensor<2x4xbf16>, tensor<32x4xbf16>) -> tensor<2x8x4xf32>
  %h = glm.linear %x, %w32 : (tensor<2x4xbf16>, tensor<32x4xbf16>) -> tensor<2x32xf32>
  %k = glm.linear %x, %w64 : (tensor<2x4xbf16>, tensor<64x4xbf16>) -> tensor<2x64xf32>
  %g = glm.get_weight @g : tensor<4x8xf32>
  // The row as it is (3), a value a head (3), of each head (1), the second of two rows
  // side by side (5), past a part's end (1), transposed (1), no row (0), twice with
  // different maps (1), and other columns in each row (1). It may have from 4 columns, a head each, to 32, an element each.
  // CHECK:      kern.launch @row_point grid [8, 1, 1](
  // CHECK-SAME:   writes [12] {{{.*}}parts = array<i64: 2, 4>, splits = array<i64: 0, 0, 0, 3, 3, 1, 5, 1, 1, 0, 1, 1, 3>, tiling = array<i64: 4, 32>
  %0 = glm.rowwise [2, 4, 8] ins(%a, %b, %c, %d, %e, %f, %g, %h, %h, %k
      : tensor<2x32xf32>, tensor<2x4xf32>, tensor<2x8xf32>, tensor<2x2x4x8xf32>, tensor<2x36xf32>, tensor<2x8x4xf32>, tensor<4x8xf32>, tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x64xf32>)
      maps [#flat, #head, #within, #second, #shift, #turned, #other, #flat, #within, #skew]
      outs [#id] targets [0] -> (tensor<2x4x8xf32>) {
  ^bb0(%0: f32, %1: f32, %2: f32, %3: f32, %4: f32, %5: f32, %6: f32, %7: f32, %8: f32, %skewed: f32):
    %9 = arith.addf %0, %1 : f32
    %10 = arith.addf %9, %2 : f32
    %11 = arith.addf %10, %3 : f32
    %12 = arith.addf %11, %4 : f32
    %13 = arith.addf %12, %5 : f32
    %14 = arith.addf %13, %6 : f32
    %15 = arith.addf %14, %7 : f32
    %16 = arith.addf %15, %8 : f32
    %17 = arith.addf %16, %skewed : f32
    glm.yield %17 : f32
  } loc("point")
  return %0 : tensor<2x4x8xf32>
}

// -----

// A store that names no column could be made by several blocks of a row: no tiling.

#id = affine_map<(t, c) -> (t, c)>
#row = affine_map<(t, c) -> (t)>
glm.weight @w : tensor<64x8xbf16>
// CHECK-LABEL: func.func @row_store
func.func @row_store(%ids: tensor<2xi32>, %seqs: tensor<2x4xi32>, %rows: tensor<2xi32>) -> tensor<2x8xf32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  %w = glm.get_weight @w : tensor<64x8xbf16>
  %x = glm.embed %ids, %w : (tensor<2xi32>, tensor<64x8xbf16>) -> tensor<2x8xf32>
  // CHECK: kern.launch @row_ grid [2, 1, 1]({{.*}} writes [4, 5] {
  // CHECK-NOT: tiling
  // CHECK: kern.tap "logits"
  %0:2 = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#row, #id] targets [0, 1] -> (tensor<2xf32>, tensor<2x8xf32>) {
  ^bb0(%a: f32):
    %c = arith.constant 1.0 : f32
    glm.yield %c, %a : f32, f32
  }
  return %0#1 : tensor<2x8xf32>
}

// -----

// Tiles of many rows, and products whose last block is smaller than the others, have
// parts, but a part of a row is no part of equal division.

glm.weight @w : tensor<40x16xbf16>
// CHECK-LABEL: func.func @uneven
// CHECK:         kern.launch @Linear_1_1_0_40_16 grid [2, 1, 1]
// CHECK-SAME:      parts = array<i64: 1, 2>, splits = array<i64: 0, 0, 0, 0, 0, 0>
func.func @uneven(%x: tensor<8x16xbf16>, %seqs: tensor<8x4xi32>, %rows: tensor<8xi32>) -> tensor<8x40xf32>
    attributes {glm.sequences = 8 : i64, glm.tokens = 1 : i64} {
  %w = glm.get_weight @w : tensor<40x16xbf16>
  %0 = glm.linear %x, %w : (tensor<8x16xbf16>, tensor<40x16xbf16>) -> tensor<8x40xf32>
  return %0 : tensor<8x40xf32>
}

// CHECK-LABEL: func.func @tiles
// CHECK:         kern.launch @LinearTile_1_1_0_40_16 grid [4, 1, 1]
// CHECK-SAME:      writes [5] {alone,
// CHECK-SAME:      parts = array<i64: 1, 4>, splits = array<i64: 0, 0, 0, 0, 0, 0>
func.func @tiles(%x: tensor<256x16xbf16>, %seqs: tensor<1x4xi32>, %rows: tensor<8xi32>) -> tensor<256x40xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 256 : i64} {
  %w = glm.get_weight @w : tensor<40x16xbf16>
  %0 = glm.linear %x, %w : (tensor<256x16xbf16>, tensor<40x16xbf16>) -> tensor<256x40xf32>
  return %0 : tensor<256x40xf32>
}

// Rows of a tile: 16 for few outputs, 128 for many.
glm.weight @few : tensor<24x16xbf16>
// CHECK-LABEL: func.func @few_outputs
// CHECK:         kern.launch @LinearTile_1_1_0_24_16 grid [17, 1, 1]
func.func @few_outputs(%x: tensor<260x16xbf16>, %seqs: tensor<1x4xi32>, %rows: tensor<8xi32>) -> tensor<260x24xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 260 : i64} {
  %w = glm.get_weight @few : tensor<24x16xbf16>
  %0 = glm.linear %x, %w : (tensor<260x16xbf16>, tensor<24x16xbf16>) -> tensor<260x24xf32>
  return %0 : tensor<260x24xf32>
}

glm.weight @most : tensor<1600x16xbf16>
// CHECK-LABEL: func.func @most_outputs
// CHECK:         kern.launch @LinearTile_1_1_0_1600_16 grid [3, 13, 1]
func.func @most_outputs(%x: tensor<260x16xbf16>, %seqs: tensor<1x4xi32>, %rows: tensor<8xi32>) -> tensor<260x1600xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 260 : i64} {
  %w = glm.get_weight @most : tensor<1600x16xbf16>
  %0 = glm.linear %x, %w : (tensor<260x16xbf16>, tensor<1600x16xbf16>) -> tensor<260x1600xf32>
  return %0 : tensor<260x1600xf32>
}

// -----

// A product in parts: block p has stretch p of each head (split 2 * 4) and part p of the
// sums; then the sums, a block a row.

glm.weight @w : tensor<5x256xbf16>
// CHECK-LABEL: func.func @parts
// CHECK:         kern.launch @LinearParts_1_1_5_256_4_2 grid [2, 1, 1]
// CHECK-SAME:      writes [5] {flops = 7680 : i64, memory_bytes = 1656 : i64, parts = array<i64: 1, 2>, splits = array<i64: 0, 0, 0, 8, 0, 2>, weight_bytes = 2560 : i64}
// CHECK:         kern.launch @SumParts_0_2_5 grid [3, 1, 1]
// CHECK-SAME:      writes [4] {flops = 30 : i64, memory_bytes = 180 : i64, parts = array<i64: 3, 1>, splits = array<i64: 0, 0, 0, 1, 1>, weight_bytes = 0 : i64}
func.func @parts(%x: tensor<3x4x64xbf16>, %seqs: tensor<3x4xi32>, %rows: tensor<3xi32>) -> tensor<3x5xf32>
    attributes {glm.sequences = 3 : i64, glm.tokens = 1 : i64} {
  %w = glm.get_weight @w : tensor<5x256xbf16>
  %0 = glm.linear_parts %x, %w : (tensor<3x4x64xbf16>, tensor<5x256xbf16>) -> tensor<3x2x5xf32>
  %1 = glm.sum_parts %0 : (tensor<3x2x5xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

// Heads of a recurrence and of attention. The scores of attention fill the shared memory
// of a block: it shares its grid with nothing.

glm.weight @w : tensor<128x8xbf16>
glm.weight @v : tensor<8x8xbf16>
glm.state @delta : tensor<8x16x16xf32>
glm.state @cache : tensor<64x16xbf16> tokens_per_row 1
// CHECK-LABEL: func.func @heads
// CHECK:         kern.launch @DeltaRule_0_0_8_16_16 grid [8, 2, 1]
// CHECK-SAME:      parts = array<i64: 2, 8>, splits = array<i64: 0, 0, 0, 0, 3, 3, 3, 3, 3, 0, 0, 3>
// CHECK:         kern.launch @SparseAttention_0_1_0_8_16_5_4 grid [1, 2, 1]
// CHECK-SAME:      {alone, {{.*}}parts = array<i64: 2, 1>, splits = array<i64: 0, 0, 0, 3, 0, 0, 1, 0, 3>
// Its parts are not alone: they are merged in the same launch.
// CHECK:         kern.launch @AttentionParts_0_1_8_16_5_4_3 grid [3, 1, 2]
// CHECK-SAME:      {{.*}}hungry, {{.*}}parts = array<i64: 2, 3>, splits = array<i64: 0, 0, 0, 1, 0, 0, 1, 0, 1, 1>
// CHECK:         kern.launch @MergeParts_0_8_16_3_8 grid [8, 2, 1]
// CHECK-SAME:      parts = array<i64: 2, 8>, splits = array<i64: 0, 0, 0, 1, 1, 3>
func.func @heads(%ids: tensor<2xi32>, %seqs: tensor<2x4xi32>, %rows: tensor<2xi32>) -> tensor<2x8x16xf32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  %w = glm.get_weight @w : tensor<128x8xbf16>
  %v = glm.get_weight @v : tensor<8x8xbf16>
  %beta = glm.embed %ids, %v : (tensor<2xi32>, tensor<8x8xbf16>) -> tensor<2x8xf32>
  %q = glm.linear %beta, %w : (tensor<2x8xf32>, tensor<128x8xbf16>) -> tensor<2x8x16xf32>
  %pools = glm.top_k %beta seqs(%seqs) {pool = 4 : i64} : (tensor<2x8xf32>, tensor<2x4xi32>) -> tensor<2x5xi32>
  %0 = glm.delta_rule %q, %q, %q, %q, %beta, %seqs state(@delta)
      : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8xf32>,
         tensor<2x4xi32>) -> tensor<2x8x16xf32>
  %1 = glm.sparse_attention %0, %pools, %seqs state(@cache) {pool = 4 : i64, scale = 1.0 : f32}
      : (tensor<2x8x16xf32>, tensor<2x5xi32>, tensor<2x4xi32>) -> tensor<2x8x16xf32>
  %m, %n = glm.attention_parts %1, %pools, %seqs state(@cache) {pool = 4 : i64, scale = 1.0 : f32}
      : (tensor<2x8x16xf32>, tensor<2x5xi32>, tensor<2x4xi32>) -> (tensor<2x3x8x16xf32>, tensor<2x3x8x2xf32>)
  %2 = glm.merge_parts %m, %n : (tensor<2x3x8x16xf32>, tensor<2x3x8x2xf32>) -> tensor<2x8x16xf32>
  return %2 : tensor<2x8x16xf32>
}

// -----

// Negative: without the size of the step there is no N and no T.

// expected-error@+1 {{expects a body, the attributes glm.sequences and glm.tokens, the arguments ids, seqs, rows and the result logits}}
func.func @no_size(%ids: tensor<2xi32>, %seqs: tensor<2x4xi32>, %rows: tensor<2xi32>) -> tensor<2xi32> {
  return %ids : tensor<2xi32>
}

// -----

// Negative: a step without logits.

// expected-error@+1 {{the result logits}}
func.func @no_result(%ids: tensor<2xi32>, %seqs: tensor<2x4xi32>, %rows: tensor<2xi32>)
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  return
}

// -----

// Negative: an operation that no kernel implements.

func.func @no_kernel(%ids: tensor<2xi32>, %seqs: tensor<2x4xi32>, %rows: tensor<2xi32>) -> tensor<2xi32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  // expected-error@+1 {{has no kernel; docs/spec/kernels.md lists those that exist}}
  %0 = arith.addi %ids, %ids : tensor<2xi32>
  return %0 : tensor<2xi32>
}

// -----

// Quantised weights: WT is that of the scales, then follow the form and the group. Bytes
// are those of codes and scales: 64 rows of 24 codes, of which the last 8 are a group of
// their own.

glm.weight @int4 : tensor<64x24xi4, #glm.group_quant<group = 16>>
glm.weight @int8 : tensor<24x64xi8, #glm.group_quant<group = 48>>

// CHECK-LABEL: func.func @quantised
// CHECK:         kern.launch @Linear_0_2_0_64_24_3_16 grid [2, 1, 1]
// CHECK-SAME:      weight_bytes = 1024 : i64
// CHECK:         kern.launch @Linear_0_2_0_24_64_4_48 grid [1, 1, 1]
// CHECK-SAME:      weight_bytes = 1632 : i64
func.func @quantised(%x: tensor<1x24xf32>, %seqs: tensor<1x4xi32>, %rows: tensor<1xi32>) -> tensor<1x24xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %int4 = glm.get_weight @int4 : tensor<64x24xi4, #glm.group_quant<group = 16>>
  %0 = glm.linear %x, %int4 : (tensor<1x24xf32>, tensor<64x24xi4, #glm.group_quant<group = 16>>) -> tensor<1x64xf32>
  %int8 = glm.get_weight @int8 : tensor<24x64xi8, #glm.group_quant<group = 48>>
  %1 = glm.linear %0, %int8 : (tensor<1x64xf32>, tensor<24x64xi8, #glm.group_quant<group = 48>>) -> tensor<1x24xf32>
  return %1 : tensor<1x24xf32>
}

// -----

// The delta rule of a few tokens a sequence goes token by token, of many by chunks, with
// a block for every 64 columns of a head.

glm.state @delta : tensor<2x96x96xf32>
// CHECK: kern.kernel @DeltaRule_0_0_2_96_96 "delta_rule" template "DeltaRule"
// CHECK: kern.kernel @DeltaRuleChunk_0_0_2_96_96 "delta_rule" template "DeltaRuleChunk"

// CHECK-LABEL: func.func @verify
// CHECK:         kern.launch @DeltaRule_0_0_2_96_96 grid [2, 2, 1]
func.func @verify(%x: tensor<62x2x96xf32>, %seqs: tensor<2x4xi32>, %beta: tensor<62x2xf32>) -> tensor<62x2x96xf32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 31 : i64} {
  %0 = glm.delta_rule %x, %x, %x, %x, %beta, %seqs state(@delta)
      : (tensor<62x2x96xf32>, tensor<62x2x96xf32>, tensor<62x2x96xf32>, tensor<62x2x96xf32>,
         tensor<62x2xf32>, tensor<2x4xi32>) -> tensor<62x2x96xf32>
  return %0 : tensor<62x2x96xf32>
}

// CHECK-LABEL: func.func @prefill
// CHECK:         kern.launch @DeltaRuleChunk_0_0_2_96_96 grid [4, 2, 1]
func.func @prefill(%x: tensor<64x2x96xf32>, %seqs: tensor<2x4xi32>, %beta: tensor<64x2xf32>) -> tensor<64x2x96xf32>
    attributes {glm.sequences = 2 : i64, glm.tokens = 32 : i64} {
  %0 = glm.delta_rule %x, %x, %x, %x, %beta, %seqs state(@delta)
      : (tensor<64x2x96xf32>, tensor<64x2x96xf32>, tensor<64x2x96xf32>, tensor<64x2x96xf32>,
         tensor<64x2xf32>, tensor<2x4xi32>) -> tensor<64x2x96xf32>
  return %0 : tensor<64x2x96xf32>
}

// -----

// Short rows of a long step share a block; those of a short step have one each, and
// so have rows that blocks of 8 do not divide.

#row3 = affine_map<(t, h, d) -> (t, h, d)>
// CHECK: kern.kernel @row_ "rowwise" {{.*}} dims [-1, 8, 128] together 8 {
// CHECK: kern.kernel @row__v2 "rowwise" {{.*}} dims [-1, 12, 128] {
// CHECK: kern.kernel @row__v3 "rowwise" {{.*}} dims [-1, 8, 128] {
// CHECK-LABEL: func.func @short_rows
// CHECK:         kern.launch @row_ grid [32, 1, 1]{{.*}}parts = array<i64: 32, 1>
func.func @short_rows(%x: tensor<32x8x128xf32>, %seqs: tensor<1x4xi32>, %rows: tensor<8xi32>) -> tensor<32x8x128xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 32 : i64} {
  %0 = glm.rowwise [32, 8, 128] ins(%x : tensor<32x8x128xf32>) maps [#row3] outs [#row3] targets [0] -> (tensor<32x8x128xf32>) {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    glm.yield %n : f32
  }
  return %0 : tensor<32x8x128xf32>
}
// CHECK-LABEL: func.func @uneven_rows
// CHECK:         kern.launch @row__v2 grid [384, 1, 1]
func.func @uneven_rows(%x: tensor<32x12x128xf32>, %seqs: tensor<1x4xi32>, %rows: tensor<8xi32>) -> tensor<32x12x128xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 32 : i64} {
  %0 = glm.rowwise [32, 12, 128] ins(%x : tensor<32x12x128xf32>) maps [#row3] outs [#row3] targets [0] -> (tensor<32x12x128xf32>) {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    glm.yield %n : f32
  }
  return %0 : tensor<32x12x128xf32>
}
// CHECK-LABEL: func.func @few_short_rows
// CHECK:         kern.launch @row__v3 grid [128, 1, 1]
func.func @few_short_rows(%x: tensor<16x8x128xf32>, %seqs: tensor<1x4xi32>, %rows: tensor<8xi32>) -> tensor<16x8x128xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 16 : i64} {
  %0 = glm.rowwise [16, 8, 128] ins(%x : tensor<16x8x128xf32>) maps [#row3] outs [#row3] targets [0] -> (tensor<16x8x128xf32>) {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    glm.yield %n : f32
  }
  return %0 : tensor<16x8x128xf32>
}
