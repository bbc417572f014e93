// RUN: glm-opt %s --cse --canonicalize | FileCheck %s --check-prefix=KEPT
// RUN: glm-opt %s --glm-lower-to-kern | FileCheck %s --check-prefix=KERN
// RUN: glm-opt %s \
// RUN:   --pass-pipeline='builtin.module(glm-lower-to-kern,glm-fuse-blocks,func.func(glm-fuse-siblings,glm-fuse-phases),glm-outline-grids)' \
// RUN:   | FileCheck %s --check-prefix=FUSED

// Operations on the pager stay as they are and in their order, even where one is as
// another and where nobody uses its result. In a grid they are phases.

module attributes {glm.expert_rows = [[@e], [@f]]} {
  glm.weight @table : tensor<64x32xbf16>
  glm.weight @e experts : tensor<8x16x32xbf16>
  glm.weight @f experts : tensor<8x16x32xbf16>

  // KEPT-LABEL: func.func @twice
  // KEPT:         %[[A:.*]], %[[M:.*]], %[[S:.*]] = glm.find_rows %[[I:.*]] {layer = 0 : i64}
  // KEPT-NEXT:    glm.copy_rows %[[M]], %[[S]] {top_k = 3 : i64}
  // KEPT-NEXT:    %[[B:.*]], %[[N:.*]], %[[T:.*]] = glm.find_rows %[[I]] {layer = 0 : i64}
  // KEPT-NEXT:    %[[R:.*]] = glm.copy_rows %[[N]], %[[T]]
  // KEPT-NEXT:    %{{.*}}, %[[O:.*]], %[[U:.*]] = glm.find_rows %[[I]] {layer = 1 : i64}
  // KEPT-NEXT:    glm.copy_rows %[[O]], %[[U]]
  // KEPT-NEXT:    return %[[B]]

  // Arguments: seqs, N, T, then those of docs/spec/paging.md. 4 rows of 3 choices miss
  // 8 experts at most. The copies count in the buffer that they got.
  // KERN-LABEL: func.func @twice
  // KERN:         %[[I:.*]] = kern.alloc "top"
  // KERN:         %[[A:.*]] = kern.alloc "find" : memref<4x3xi32>
  // KERN:         %[[M:.*]] = kern.alloc "find.1" : memref<17xi32>
  // KERN:         %[[S:.*]] = kern.alloc "find.2" : memref<8x2xi32>
  // KERN:         %[[P:.*]] = kern.pager : memref<288xi8>
  // KERN:         %[[L:.*]] = arith.constant 0 : i64
  // KERN:         kern.launch @FindRows_8_3_2 grid [1, 1, 1](%{{.*}}, %{{.*}}, %{{.*}}, %[[I]], %[[P]], %[[L]], %[[A]], %[[M]], %[[S]]
  // KERN-SAME:      writes [6, 7, 8] {{{.*}}parts = array<i64: 1, 1>, {{.*}}weight_bytes = 0 : i64}
  // KERN-NOT:     kern.alloc
  // KERN:         %[[Q:.*]] = kern.pager
  // KERN:         kern.launch @CopyRows_8_3_2 grid [64, 1, 1](%{{.*}}, %{{.*}}, %{{.*}}, %[[M]], %[[Q]], %[[S]]
  // KERN-SAME:      writes [5] {counted = array<i64: 5>, {{.*}}memory_bytes = 68 : i64, parts = array<i64: 1, 64>, {{.*}}weight_bytes = 0 : i64}

  // Copies begin a launch, as products may wait in it beside them.
  // FUSED-LABEL: func.func @twice
  // FUSED:           kern.chain 0 [1, 1] {
  // FUSED:             kern.launch @TopK
  // FUSED-NEXT:        kern.launch @FindRows
  // FUSED:         kern.chain 0 [1, 64] {
  // FUSED-NEXT:      kern.launch @CopyRows
  // FUSED:         kern.chain 1 [1, 1] {
  // FUSED-NEXT:      kern.launch @FindRows
  // FUSED-NOT:     kern.chain 2
  // FUSED:         kern.chain 0 [1, 64] {
  // FUSED-NEXT:      kern.launch @CopyRows
  // FUSED:         kern.chain 1 [1, 1] {
  // FUSED-NEXT:      kern.launch @FindRows
  // FUSED:         {{^}}    kern.launch @CopyRows
  func.func @twice(%ids: tensor<4xi32>, %seqs: tensor<4x4xi32>, %rows: tensor<4xi32>) -> tensor<4x3xi32>
      attributes {glm.sequences = 4 : i64, glm.tokens = 1 : i64} {
    %t = glm.get_weight @table : tensor<64x32xbf16>
    %x = glm.embed %ids, %t : (tensor<4xi32>, tensor<64x32xbf16>) -> tensor<4x32xf32>
    %top = glm.top_k %x : (tensor<4x32xf32>) -> tensor<4x3xi32> loc("top")
    %a, %m, %s = glm.find_rows %top {layer = 0 : i64} : (tensor<4x3xi32>) -> (tensor<4x3xi32>, tensor<17xi32>, tensor<8x2xi32>) loc("find")
    %0 = glm.copy_rows %m, %s {top_k = 3 : i64} : (tensor<17xi32>, tensor<8x2xi32>) -> tensor<8x2xi32> loc("copy")
    %b, %n, %u = glm.find_rows %top {layer = 0 : i64} : (tensor<4x3xi32>) -> (tensor<4x3xi32>, tensor<17xi32>, tensor<8x2xi32>)
    %1 = glm.copy_rows %n, %u {top_k = 3 : i64} : (tensor<17xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %c, %o, %v = glm.find_rows %top {layer = 1 : i64} : (tensor<4x3xi32>) -> (tensor<4x3xi32>, tensor<17xi32>, tensor<8x2xi32>)
    %2 = glm.copy_rows %o, %v {top_k = 3 : i64} : (tensor<17xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    return %b : tensor<4x3xi32>
  }

  // Products of one token run beside the copies, each waiting for its own row; what
  // does not need the rows runs beside them too.
  // FUSED-LABEL: func.func @products
  // FUSED:           kern.chain 0 [1, 1] {
  // FUSED:             kern.launch @TopK
  // FUSED-NEXT:        kern.launch @FindRows
  // FUSED:         kern.grid
  // FUSED-NEXT:      kern.chain 0 [1, 64] slack 1 {
  // FUSED-NEXT:        kern.launch @CopyRows
  // FUSED-NEXT:  {{^ *}}}
  // FUSED-NEXT:      kern.chain 1 [1, 3] {
  // FUSED-NEXT:        kern.launch @PagedExpertLinear_{{.*}}counted = array<i64: 7>
  func.func @products(%ids: tensor<1xi32>, %seqs: tensor<1x4xi32>, %rows: tensor<1xi32>) -> tensor<1x3x16xf32>
      attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
    %t = glm.get_weight @table : tensor<64x32xbf16>
    %e = glm.get_weight @e : tensor<8x16x32xbf16>
    %x = glm.embed %ids, %t : (tensor<1xi32>, tensor<64x32xbf16>) -> tensor<1x32xf32>
    %top = glm.top_k %x : (tensor<1x32xf32>) -> tensor<1x3xi32>
    %a, %m, %s = glm.find_rows %top {layer = 0 : i64} : (tensor<1x3xi32>) -> (tensor<1x3xi32>, tensor<7xi32>, tensor<8x1xi32>)
    %arrived = glm.copy_rows %m, %s {top_k = 3 : i64} : (tensor<7xi32>, tensor<8x1xi32>) -> tensor<8x1xi32>
    %y = glm.expert_linear %x, %a, %e arrivals(%arrived) {row_weight = 0 : i64} : (tensor<1x32xf32>, tensor<1x3xi32>, tensor<8x16x32xbf16>, tensor<8x1xi32>) -> tensor<1x3x16xf32>
    return %y : tensor<1x3x16xf32>
  }

  // Many rows share an expert: their products wait for the launch of the copies.
  // FUSED-LABEL: func.func @tile
  // FUSED:         kern.launch @CopyRows
  // FUSED:         kern.launch @PagedExpertLinearTile_
  // FUSED-NOT:     counted
  func.func @tile(%ids: tensor<4xi32>, %seqs: tensor<4x4xi32>, %rows: tensor<4xi32>) -> tensor<4x3x16xf32>
      attributes {glm.sequences = 1 : i64, glm.tokens = 4 : i64} {
    %t = glm.get_weight @table : tensor<64x32xbf16>
    %e = glm.get_weight @e : tensor<8x16x32xbf16>
    %x = glm.embed %ids, %t : (tensor<4xi32>, tensor<64x32xbf16>) -> tensor<4x32xf32>
    %top = glm.top_k %x : (tensor<4x32xf32>) -> tensor<4x3xi32>
    %a, %m, %s = glm.find_rows %top {layer = 0 : i64} : (tensor<4x3xi32>) -> (tensor<4x3xi32>, tensor<17xi32>, tensor<8x1xi32>)
    %arrived = glm.copy_rows %m, %s {top_k = 3 : i64} : (tensor<17xi32>, tensor<8x1xi32>) -> tensor<8x1xi32>
    %y = glm.expert_linear %x, %a, %e arrivals(%arrived) {row_weight = 0 : i64} : (tensor<4x32xf32>, tensor<4x3xi32>, tensor<8x16x32xbf16>, tensor<8x1xi32>) -> tensor<4x3x16xf32>
    return %y : tensor<4x3x16xf32>
  }

  // Lists of many experts fill the shared memory of a block.
  // KERN-LABEL: func.func @many
  // KERN:         kern.launch @FindRows_321_3_3 {{.*}} {alone,
  func.func @many(%ids: tensor<1xi32>, %seqs: tensor<1x4xi32>, %rows: tensor<1xi32>) -> tensor<1x3xi32>
      attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
    %t = glm.get_weight @table : tensor<64x32xbf16>
    %x = glm.embed %ids, %t : (tensor<1xi32>, tensor<64x32xbf16>) -> tensor<1x32xf32>
    %top = glm.top_k %x : (tensor<1x32xf32>) -> tensor<1x3xi32>
    %a, %m, %s = glm.find_rows %top {layer = 0 : i64} : (tensor<1x3xi32>) -> (tensor<1x3xi32>, tensor<7xi32>, tensor<321x3xi32>)
    return %a : tensor<1x3xi32>
  }
}
