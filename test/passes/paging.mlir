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
  // KEPT:         %[[A:.*]], %[[M:.*]] = glm.find_rows %[[I:.*]] {experts = 8 : i64, layer = 0 : i64}
  // KEPT-NEXT:    glm.copy_rows %[[A]], %[[M]] {experts = 8 : i64}
  // KEPT-NEXT:    %[[B:.*]], %[[N:.*]] = glm.find_rows %[[I]] {experts = 8 : i64, layer = 0 : i64}
  // KEPT-NEXT:    %[[R:.*]] = glm.copy_rows %[[B]], %[[N]]
  // KEPT-NEXT:    %[[C:.*]], %[[O:.*]] = glm.find_rows %[[I]] {experts = 8 : i64, layer = 1 : i64}
  // KEPT-NEXT:    glm.copy_rows %[[C]], %[[O]]
  // KEPT-NEXT:    return %[[R]]

  // Arguments: seqs, N, T, then those of docs/spec/paging.md. 4 rows of 3 choices miss
  // 8 experts at most.
  // KERN-LABEL: func.func @twice
  // KERN:         %[[I:.*]] = kern.alloc "top"
  // KERN:         %[[A:.*]] = kern.alloc "find" : memref<4x3xi32>
  // KERN:         %[[M:.*]] = kern.alloc "find.1" : memref<17xi32>
  // KERN:         %[[P:.*]] = kern.pager : memref<288xi8>
  // KERN:         %[[L:.*]] = arith.constant 0 : i64
  // KERN:         kern.launch @FindRows_8_3 grid [1, 1, 1](%{{.*}}, %{{.*}}, %{{.*}}, %[[I]], %[[P]], %[[L]], %[[A]], %[[M]]
  // KERN-SAME:      writes [6, 7] {{{.*}}parts = array<i64: 1, 1>, {{.*}}weight_bytes = 0 : i64}
  // KERN:         %[[R:.*]] = kern.alloc "copy" : memref<4x3xi32>
  // KERN:         %[[Q:.*]] = kern.pager
  // KERN:         kern.launch @CopyRows_8_3 grid [64, 1, 1](%{{.*}}, %{{.*}}, %{{.*}}, %[[A]], %[[M]], %[[Q]], %[[R]]
  // KERN-SAME:      writes [6] {{{.*}}memory_bytes = 164 : i64, parts = array<i64: 1, 64>, {{.*}}weight_bytes = 0 : i64}

  // FUSED-LABEL: func.func @twice
  // FUSED:           kern.chain 0 [1, 1] {
  // FUSED:             kern.launch @TopK
  // FUSED-NEXT:        kern.launch @FindRows
  // FUSED:           kern.chain 1 [1, 64] {
  // FUSED-NEXT:        kern.launch @CopyRows
  // FUSED:           kern.chain 2 [1, 1] {
  // FUSED-NEXT:        kern.launch @FindRows
  // FUSED:           kern.chain 3 [1, 64] {
  // FUSED-NEXT:        kern.launch @CopyRows
  // FUSED:           kern.chain 4 [1, 1] {
  // FUSED-NEXT:        kern.launch @FindRows
  // More blocks than may wait.
  // FUSED:         {{^}}    kern.launch @CopyRows
  func.func @twice(%ids: tensor<4xi32>, %seqs: tensor<4x4xi32>, %rows: tensor<4xi32>) -> tensor<4x3xi32>
      attributes {glm.sequences = 4 : i64, glm.tokens = 1 : i64} {
    %t = glm.get_weight @table : tensor<64x32xbf16>
    %x = glm.embed %ids, %t : (tensor<4xi32>, tensor<64x32xbf16>) -> tensor<4x32xf32>
    %top = glm.top_k %x : (tensor<4x32xf32>) -> tensor<4x3xi32> loc("top")
    %a, %m = glm.find_rows %top {layer = 0 : i64, experts = 8 : i64} : (tensor<4x3xi32>) -> (tensor<4x3xi32>, tensor<17xi32>) loc("find")
    %0 = glm.copy_rows %a, %m {experts = 8 : i64} : (tensor<4x3xi32>, tensor<17xi32>) -> tensor<4x3xi32> loc("copy")
    %b, %n = glm.find_rows %top {layer = 0 : i64, experts = 8 : i64} : (tensor<4x3xi32>) -> (tensor<4x3xi32>, tensor<17xi32>)
    %1 = glm.copy_rows %b, %n {experts = 8 : i64} : (tensor<4x3xi32>, tensor<17xi32>) -> tensor<4x3xi32>
    %c, %o = glm.find_rows %top {layer = 1 : i64, experts = 8 : i64} : (tensor<4x3xi32>) -> (tensor<4x3xi32>, tensor<17xi32>)
    %2 = glm.copy_rows %c, %o {experts = 8 : i64} : (tensor<4x3xi32>, tensor<17xi32>) -> tensor<4x3xi32>
    return %1 : tensor<4x3xi32>
  }

  // Products wait for the rows.
  // FUSED-LABEL: func.func @products
  // FUSED:           kern.chain 0 [1, 1] {
  // FUSED:             kern.launch @TopK
  // FUSED-NEXT:        kern.launch @FindRows
  // FUSED:           kern.chain 1 [1, 64] {
  // FUSED-NEXT:        kern.launch @CopyRows
  // FUSED-NEXT:  {{^ *}}}
  // FUSED-NEXT:      kern.chain 2 [1, 3] {
  // FUSED-NEXT:        kern.launch @ExpertLinear
  func.func @products(%ids: tensor<1xi32>, %seqs: tensor<1x4xi32>, %rows: tensor<1xi32>) -> tensor<1x3x16xf32>
      attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
    %t = glm.get_weight @table : tensor<64x32xbf16>
    %e = glm.get_weight @e : tensor<8x16x32xbf16>
    %x = glm.embed %ids, %t : (tensor<1xi32>, tensor<64x32xbf16>) -> tensor<1x32xf32>
    %top = glm.top_k %x : (tensor<1x32xf32>) -> tensor<1x3xi32>
    %a, %m = glm.find_rows %top {layer = 0 : i64, experts = 8 : i64} : (tensor<1x3xi32>) -> (tensor<1x3xi32>, tensor<7xi32>)
    %ready = glm.copy_rows %a, %m {experts = 8 : i64} : (tensor<1x3xi32>, tensor<7xi32>) -> tensor<1x3xi32>
    %y = glm.expert_linear %x, %ready, %e : (tensor<1x32xf32>, tensor<1x3xi32>, tensor<8x16x32xbf16>) -> tensor<1x3x16xf32>
    return %y : tensor<1x3x16xf32>
  }

  // Lists of many experts fill the shared memory of a block.
  // KERN-LABEL: func.func @many
  // KERN:         kern.launch @FindRows_321_3 {{.*}} {alone,
  func.func @many(%ids: tensor<1xi32>, %seqs: tensor<1x4xi32>, %rows: tensor<1xi32>) -> tensor<1x3xi32>
      attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
    %t = glm.get_weight @table : tensor<64x32xbf16>
    %x = glm.embed %ids, %t : (tensor<1xi32>, tensor<64x32xbf16>) -> tensor<1x32xf32>
    %top = glm.top_k %x : (tensor<1x32xf32>) -> tensor<1x3xi32>
    %a, %m = glm.find_rows %top {layer = 0 : i64, experts = 321 : i64} : (tensor<1x3xi32>) -> (tensor<1x3xi32>, tensor<7xi32>)
    return %a : tensor<1x3xi32>
  }
}
