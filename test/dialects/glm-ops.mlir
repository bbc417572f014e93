// RUN: glm-opt %s | glm-opt | FileCheck %s

// Every operation, printed and parsed again.

// CHECK: glm.weight @embed : tensor<64x32xbf16> pieces [0, 4096, 4096]
glm.weight @embed : tensor<64x32xbf16> pieces [0, 4096, 4096]
// CHECK: glm.weight @dense : tensor<16x32xf16>
glm.weight @dense : tensor<16x32xf16>
// CHECK: glm.weight @stack experts : tensor<2x8x32xbf16> pieces [0, 0, 512, 0, 512, 512]
glm.weight @stack experts : tensor<2x8x32xbf16> pieces [0, 0, 512, 0, 512, 512]
// CHECK: glm.weight @codes experts : tensor<1x8x32xi4, #glm.group_quant<group = 16>> pieces [0, 0, 128, 1, 0, 32]
glm.weight @codes experts : tensor<1x8x32xi4, #glm.group_quant<group = 16>> pieces [0, 0, 128, 1, 0, 32]
// CHECK: glm.weight @int4 : tensor<16x32xi4, #glm.group_quant<group = 16>> pieces [0, 0, 256, 1, 0, 64]
glm.weight @int4 : tensor<16x32xi4, #glm.group_quant<group = 16>> pieces [0, 0, 256, 1, 0, 64]
// CHECK: glm.weight @int8 : tensor<16x32xi8, #glm.group_quant<group = 128>> from bf16 [0, 4096, 1024]
glm.weight @int8 : tensor<16x32xi8, #glm.group_quant<group = 128>> from bf16 [0, 4096, 1024]
// CHECK: glm.weight @cut : tensor<16x16xbf16> pieces [0, 0, 992] cuts [16, 32, 64]
glm.weight @cut : tensor<16x16xbf16> pieces [0, 0, 992] cuts [16, 32, 64]

// CHECK: glm.state @window : tensor<32x3xf32>
// CHECK-NOT: tokens_per_row
glm.state @window : tensor<32x3xf32>
// CHECK: glm.state @delta
glm.state @delta : tensor<2x16x8xf32>
// CHECK: glm.state @cache : tensor<64x32xbf16> tokens_per_row 1
glm.state @cache : tensor<64x32xbf16> tokens_per_row 1
glm.state @pools : tensor<16x8xbf16> tokens_per_row 4
glm.state @tail : tensor<3x2x8xbf16>

// CHECK-LABEL: func.func @get_weight
func.func @get_weight() {
  // CHECK: glm.get_weight @embed : tensor<64x32xbf16>
  %0 = glm.get_weight @embed : tensor<64x32xbf16>
  // CHECK: glm.get_weight @codes : tensor<1x8x32xi4, #glm.group_quant<group = 16>>
  %1 = glm.get_weight @codes : tensor<1x8x32xi4, #glm.group_quant<group = 16>>
  return
}

// Two inputs, a reduction, two results, one of them without the column.

// CHECK-LABEL: func.func @rowwise
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x8xf32>, %[[W:[^:]*]]: tensor<8xbf16>
func.func @rowwise(%x: tensor<2x8xf32>, %w: tensor<8xbf16>) -> (tensor<2x8xbf16>, tensor<2xf32>) {
  // CHECK:      glm.rowwise [2, 8] ins(%[[X]], %[[W]] : tensor<2x8xf32>, tensor<8xbf16>)
  // CHECK-SAME:   maps [#{{.*}}, #{{.*}}] outs [#{{.*}}, #{{.*}}] targets [0, 1] -> (tensor<2x8xbf16>, tensor<2xf32>) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK:        %[[S:.*]] = glm.sigmoid %[[A]]
  // CHECK:        %[[SUM:.*]] = glm.row_reduce "add" %[[S]]
  // CHECK:        %[[MAX:.*]] = glm.row_reduce "max" %[[A]]
  // CHECK:        glm.yield %{{.*}}, %[[SUM]] : f32, f32
  %y, %s = glm.rowwise [2, 8] ins(%x, %w : tensor<2x8xf32>, tensor<8xbf16>)
      maps [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (c)>]
      outs [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t)>]
      targets [0, 1] -> (tensor<2x8xbf16>, tensor<2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = glm.sigmoid %a
    %1 = glm.row_reduce "add" %0
    %2 = glm.row_reduce "max" %a
    %3 = arith.mulf %2, %b : f32
    glm.yield %3, %1 : f32, f32
  }
  return %y, %s : tensor<2x8xbf16>, tensor<2xf32>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%ids: tensor<2xi32>, %table: tensor<64x32xbf16>, %rows: tensor<3xi32>) -> tensor<3x32xbf16> {
  // CHECK: glm.embed %{{.*}}, %{{.*}} : (tensor<2xi32>, tensor<64x32xbf16>) -> tensor<2x32xbf16>
  %0 = glm.embed %ids, %table : (tensor<2xi32>, tensor<64x32xbf16>) -> tensor<2x32xbf16>
  // CHECK: glm.gather_rows %{{.*}}, %{{.*}} : (tensor<2x32xbf16>, tensor<3xi32>) -> tensor<3x32xbf16>
  %1 = glm.gather_rows %0, %rows : (tensor<2x32xbf16>, tensor<3xi32>) -> tensor<3x32xbf16>
  return %1 : tensor<3x32xbf16>
}

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<2x32xbf16>, %heads: tensor<2x4x8xbf16>, %w: tensor<16x32xf16>,
                    %kv: tensor<24x8xbf16>, %ids: tensor<2x3xi32>,
                    %e: tensor<1x8x32xi4, #glm.group_quant<group = 16>>, %slots: tensor<2x3x32xf32>) {
  // Rows may be split into heads on either side.
  // CHECK: glm.linear %{{.*}}, %{{.*}} : (tensor<2x4x8xbf16>, tensor<16x32xf16>) -> tensor<2x2x8xf32>
  %0 = glm.linear %heads, %w : (tensor<2x4x8xbf16>, tensor<16x32xf16>) -> tensor<2x2x8xf32>
  // Cut along the last dimension: 4 parts of 2 columns, of every head.
  // CHECK: %[[PARTS:.*]] = glm.linear_parts %{{.*}}, %{{.*}} : (tensor<2x4x8xbf16>, tensor<16x32xf16>) -> tensor<2x4x16xf32>
  %parts = glm.linear_parts %heads, %w : (tensor<2x4x8xbf16>, tensor<16x32xf16>) -> tensor<2x4x16xf32>
  // CHECK: glm.sum_parts %[[PARTS]] : (tensor<2x4x16xf32>) -> tensor<2x2x8xbf16>
  %sum = glm.sum_parts %parts : (tensor<2x4x16xf32>) -> tensor<2x2x8xbf16>
  // CHECK: glm.head_linear %{{.*}}, %{{.*}} {first = 4 : i64, stride = 6 : i64} : (tensor<2x4x8xbf16>, tensor<24x8xbf16>) -> tensor<2x4x2xf32>
  %1 = glm.head_linear %heads, %kv {first = 4 : i64, stride = 6 : i64}
      : (tensor<2x4x8xbf16>, tensor<24x8xbf16>) -> tensor<2x4x2xf32>
  // CHECK: glm.head_linear %{{.*}}, %{{.*}} transposed {first = 4 : i64, stride = 6 : i64} : (tensor<2x4x2xf32>, tensor<24x8xbf16>) -> tensor<2x4x8xbf16>
  %2 = glm.head_linear %1, %kv transposed {first = 4 : i64, stride = 6 : i64}
      : (tensor<2x4x2xf32>, tensor<24x8xbf16>) -> tensor<2x4x8xbf16>
  // CHECK: glm.expert_linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x32xbf16>, tensor<2x3xi32>, tensor<1x8x32xi4, #glm.group_quant<group = 16>>) -> tensor<2x3x8xf32>
  %3 = glm.expert_linear %x, %ids, %e
      : (tensor<2x32xbf16>, tensor<2x3xi32>, tensor<1x8x32xi4, #glm.group_quant<group = 16>>) -> tensor<2x3x8xf32>
  // CHECK: glm.expert_linear %{{.*}} : (tensor<2x3x32xf32>,
  %4 = glm.expert_linear %slots, %ids, %e
      : (tensor<2x3x32xf32>, tensor<2x3xi32>, tensor<1x8x32xi4, #glm.group_quant<group = 16>>) -> tensor<2x3x8xf32>
  return
}

// CHECK-LABEL: func.func @selection
func.func @selection(%z: tensor<2x4x4xf32>, %s: tensor<2x16xf32>, %seqs: tensor<2x4xi32>) {
  // CHECK: glm.sinkhorn %{{.*}} {eps = {{.*}} : f32, iterations = 20 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %0 = glm.sinkhorn %z {iterations = 20 : i64, eps = 1.0e-6 : f32} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  // CHECK: glm.top_k %{{[^ ]*}} : (tensor<2x16xf32>) -> tensor<2x3xi32>
  %1 = glm.top_k %s : (tensor<2x16xf32>) -> tensor<2x3xi32>
  // CHECK: glm.top_k %{{.*}} seqs(%{{.*}}) {pool = 4 : i64} : (tensor<2x16xf32>, tensor<2x4xi32>) -> tensor<2x3xi32>
  %2 = glm.top_k %s seqs(%seqs) {pool = 4 : i64} : (tensor<2x16xf32>, tensor<2x4xi32>) -> tensor<2x3xi32>
  // CHECK: glm.take_cols %{{.*}}, %{{.*}} : (tensor<2x16xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  %3 = glm.take_cols %s, %1 : (tensor<2x16xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  // CHECK: %[[C:.*]], %[[M:.*]], %[[A:.*]] = glm.find_rows %{{.*}} {layer = 1 : i64} : (tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<9xi32>, tensor<4x1xi32>)
  %chosen, %moves, %arrivals = glm.find_rows %1 {layer = 1 : i64} : (tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<9xi32>, tensor<4x1xi32>)
  // CHECK: %[[B:.*]] = glm.copy_rows %[[M]], %[[A]] {top_k = 3 : i64} : (tensor<9xi32>, tensor<4x1xi32>) -> tensor<4x1xi32>
  %4 = glm.copy_rows %moves, %arrivals {top_k = 3 : i64} : (tensor<9xi32>, tensor<4x1xi32>) -> tensor<4x1xi32>
  // CHECK: glm.tap "layer0.ids" %{{.*}} : tensor<2x3xi32>
  glm.tap "layer0.ids" %1 : tensor<2x3xi32>
  return
}

// CHECK-LABEL: func.func @states
func.func @states(%x: tensor<2x32xbf16>, %filter: tensor<32x1x4xbf16>, %seqs: tensor<2x4xi32>,
                  %q: tensor<2x2x16xf32>, %v: tensor<2x2x8xf32>, %beta: tensor<2x2xf32>,
                  %key: tensor<2x8xf32>, %ape: tensor<4x8xbf16>, %query: tensor<2x3x8xbf16>,
                  %weights: tensor<2x3xf32>, %latent: tensor<2x3x32xbf16>, %pools: tensor<2x5xi32>) {
  // CHECK: glm.short_conv %{{.*}}, %{{.*}}, %{{.*}} state(@window) : (tensor<2x32xbf16>, tensor<32x1x4xbf16>, tensor<2x4xi32>) -> tensor<2x32xf32>
  %0 = glm.short_conv %x, %filter, %seqs state(@window)
      : (tensor<2x32xbf16>, tensor<32x1x4xbf16>, tensor<2x4xi32>) -> tensor<2x32xf32>
  // CHECK: glm.delta_rule {{.*}} state(@delta) : {{.*}} -> tensor<2x2x8xf32>
  %1 = glm.delta_rule %q, %q, %v, %q, %beta, %seqs state(@delta)
      : (tensor<2x2x16xf32>, tensor<2x2x16xf32>, tensor<2x2x8xf32>, tensor<2x2x16xf32>, tensor<2x2xf32>,
         tensor<2x4xi32>) -> tensor<2x2x8xf32>
  // CHECK: glm.latent_append %{{.*}}, %{{.*}} state(@cache) : tensor<2x32xbf16>, tensor<2x4xi32>
  glm.latent_append %x, %seqs state(@cache) : tensor<2x32xbf16>, tensor<2x4xi32>
  // CHECK: glm.kpool {{.*}} tail(@tail) state(@pools) : tensor<2x8xf32>, tensor<2x8xf32>, tensor<4x8xbf16>, tensor<2x4xi32>
  glm.kpool %key, %key, %ape, %seqs tail(@tail) state(@pools)
      : tensor<2x8xf32>, tensor<2x8xf32>, tensor<4x8xbf16>, tensor<2x4xi32>
  // CHECK: glm.index_scores {{.*}} state(@pools) {pool = 4 : i64, scale = 2.500000e-01 : f32} : {{.*}} -> tensor<2x16xf32>
  %2 = glm.index_scores %query, %weights, %seqs state(@pools) {pool = 4 : i64, scale = 2.5e-1 : f32}
      : (tensor<2x3x8xbf16>, tensor<2x3xf32>, tensor<2x4xi32>) -> tensor<2x16xf32>
  // CHECK: glm.sparse_attention {{.*}} state(@cache) {pool = 4 : i64, scale = 1.250000e-01 : f32} : {{.*}} -> tensor<2x3x32xbf16>
  %3 = glm.sparse_attention %latent, %pools, %seqs state(@cache) {pool = 4 : i64, scale = 1.25e-1 : f32}
      : (tensor<2x3x32xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> tensor<2x3x32xbf16>
  // CHECK: %[[MIXED:[^,]*]], %[[STATS:.*]] = glm.attention_parts {{.*}} state(@cache) {pool = 4 : i64, scale = 1.250000e-01 : f32} : {{.*}} -> (tensor<2x4x3x32xf32>, tensor<2x4x3x2xf32>)
  %mixed, %stats = glm.attention_parts %latent, %pools, %seqs state(@cache) {pool = 4 : i64, scale = 1.25e-1 : f32}
      : (tensor<2x3x32xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> (tensor<2x4x3x32xf32>, tensor<2x4x3x2xf32>)
  // CHECK: glm.merge_parts %[[MIXED]], %[[STATS]] : (tensor<2x4x3x32xf32>, tensor<2x4x3x2xf32>) -> tensor<2x3x32xbf16>
  %merged = glm.merge_parts %mixed, %stats : (tensor<2x4x3x32xf32>, tensor<2x4x3x2xf32>) -> tensor<2x3x32xbf16>
  return
}

// CHECK-LABEL: func.func @collectives
func.func @collectives(%x: tensor<2x8xf32>) {
  // CHECK: glm.all_reduce %{{.*}} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %sum = glm.all_reduce %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: glm.all_gather %{{.*}} : (tensor<2x8xf32>) -> tensor<4x2x8xf32>
  %all = glm.all_gather %x : (tensor<2x8xf32>) -> tensor<4x2x8xf32>
  return
}
