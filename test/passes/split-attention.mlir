// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-split-attention))' | FileCheck %s
// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-split-attention))' \
// RUN:   --verify-diagnostics --remarks-filter='glm-.*' --remark-format=emitRemark -o /dev/null
// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-split-attention{max-rows=1 blocks=24 min-tokens=300}))' \
// RUN:   | FileCheck %s --check-prefix=LIMIT
// RUN: glm-opt %s --split-input-file --mlir-print-debuginfo --pass-pipeline='builtin.module(func.func(glm-split-attention))' \
// RUN:   | FileCheck %s --check-prefix=NAMES

// 64 heads are 4 blocks: 32 parts make 128 of them. 24 blocks want 6 parts of 86 pools.

// CHECK-LABEL: func.func @released
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<1x64x512xbf16>, %[[POOLS:[^:]*]]: tensor<1x512xi32>, %[[SEQS:[^:]*]]:
// CHECK-NEXT:    %[[M:[^,]*]], %[[S:.*]] = glm.attention_parts %[[Q]], %[[POOLS]], %[[SEQS]] state(@cache) {pool = 4 : i64, scale = 6.250000e-02 : f32}
// CHECK-SAME:      -> (tensor<1x32x64x512xf32>, tensor<1x32x64x2xf32>)
// CHECK-NEXT:    %[[Y:.*]] = glm.merge_parts %[[M]], %[[S]] : {{.*}} -> tensor<1x64x512xbf16>
// CHECK-NEXT:    return %[[Y]]

// LIMIT-LABEL: func.func @released
// LIMIT:         glm.attention_parts {{.*}} -> (tensor<1x6x64x512xf32>, tensor<1x6x64x2xf32>)

// NAMES-LABEL: func.func @released
// NAMES:         glm.attention_parts {{.*}} loc(#[[PARTS:.*]])
// NAMES-NEXT:    glm.merge_parts {{.*}} loc(#[[ALL:.*]])
// NAMES-DAG:   #[[PARTS]] = loc("layers.3.attention.parts")
// NAMES-DAG:   #[[ALL]] = loc("layers.3.attention")
glm.state @cache : tensor<4096x512xbf16> tokens_per_row 1
func.func @released(%q: tensor<1x64x512xbf16>, %pools: tensor<1x512xi32>, %seqs: tensor<1x4xi32>) -> tensor<1x64x512xbf16> {
  // expected-remark@unknown {{[Passed] split-attention | Category:glm-fuse | Remark="cut into 32 parts"}}
  %y = glm.sparse_attention %q, %pools, %seqs state(@cache) {pool = 4 : i64, scale = 0.0625 : f32}
      : (tensor<1x64x512xbf16>, tensor<1x512xi32>, tensor<1x4xi32>) -> tensor<1x64x512xbf16> loc("layers.3.attention")
  return %y : tensor<1x64x512xbf16>
}

// -----

// 17 heads are two blocks of each of 16 rows: 4 parts of 5 pools would do, 32 tokens need 8.

// CHECK-LABEL: func.func @few_tokens
// CHECK:         glm.attention_parts {{.*}} -> (tensor<16x3x17x8xf32>, tensor<16x3x17x2xf32>)
// LIMIT-LABEL: func.func @few_tokens
// LIMIT-NEXT:    glm.sparse_attention
glm.state @cache : tensor<64x8xf32> tokens_per_row 1
func.func @few_tokens(%q: tensor<16x17x8xf32>, %pools: tensor<16x20xi32>, %seqs: tensor<16x4xi32>) -> tensor<16x17x8xf32> {
  // expected-remark@+1 {{Remark="cut into 3 parts"}}
  %y = glm.sparse_attention %q, %pools, %seqs state(@cache) {pool = 4 : i64, scale = 1.0 : f32}
      : (tensor<16x17x8xf32>, tensor<16x20xi32>, tensor<16x4xi32>) -> tensor<16x17x8xf32>
  return %y : tensor<16x17x8xf32>
}

// -----

// Negative: one row more than max-rows; and rows that are blocks enough.

// CHECK-LABEL: func.func @many_rows
// CHECK-NEXT:    glm.sparse_attention
// CHECK-NEXT:    glm.sparse_attention
glm.state @cache : tensor<64x8xf32> tokens_per_row 1
func.func @many_rows(%q: tensor<17x4x8xf32>, %pools: tensor<17x64xi32>, %seqs: tensor<17x4xi32>,
                     %wide: tensor<16x128x8xf32>, %listed: tensor<16x64xi32>, %few: tensor<16x4xi32>) {
  // expected-remark@+1 {{[Missed] split-attention | Category:glm-fuse | Remark="its blocks are enough"}}
  %a = glm.sparse_attention %q, %pools, %seqs state(@cache) {pool = 4 : i64, scale = 1.0 : f32}
      : (tensor<17x4x8xf32>, tensor<17x64xi32>, tensor<17x4xi32>) -> tensor<17x4x8xf32>
  // expected-remark@+1 {{Remark="its blocks are enough"}}
  %b = glm.sparse_attention %wide, %listed, %few state(@cache) {pool = 4 : i64, scale = 1.0 : f32}
      : (tensor<16x128x8xf32>, tensor<16x64xi32>, tensor<16x4xi32>) -> tensor<16x128x8xf32>
  return
}

// -----

// Negative: 8 pools of 4 tokens are one part.

// CHECK-LABEL: func.func @short
// CHECK-NEXT:    glm.sparse_attention
glm.state @cache : tensor<64x8xf32> tokens_per_row 1
func.func @short(%q: tensor<1x4x8xf32>, %pools: tensor<1x8xi32>, %seqs: tensor<1x4xi32>) {
  // expected-remark@+1 {{Remark="one block reads so few tokens soon enough"}}
  %a = glm.sparse_attention %q, %pools, %seqs state(@cache) {pool = 4 : i64, scale = 1.0 : f32}
      : (tensor<1x4x8xf32>, tensor<1x8xi32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
  return
}
