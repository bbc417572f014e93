// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-split-linear))' | FileCheck %s
// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-split-linear))' \
// RUN:   --verify-diagnostics --remarks-filter='glm-.*' --remark-format=emitRemark -o /dev/null
// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-split-linear{max-rows=1 min-bytes=40000}))' \
// RUN:   | FileCheck %s --check-prefix=LIMIT
// RUN: glm-opt %s --split-input-file --mlir-print-debuginfo --pass-pipeline='builtin.module(func.func(glm-split-linear))' \
// RUN:   | FileCheck %s --check-prefix=NAMES

// 512 columns are 16 stretches of 32. The sums keep the name of the product, whose parts
// have a name of their own; 32 * 512 bf16 are just enough bytes.

// CHECK-LABEL: func.func @few_outputs
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x512xbf16>, %[[W:[^:]*]]: tensor<32x512xbf16>
// CHECK-NEXT:    %[[P:.*]] = glm.linear_parts %[[X]], %[[W]] : (tensor<2x512xbf16>, tensor<32x512xbf16>) -> tensor<2x16x32xf32>
// CHECK-NEXT:    %[[Y:.*]] = glm.sum_parts %[[P]] : (tensor<2x16x32xf32>) -> tensor<2x4x8xbf16>
// CHECK-NEXT:    return %[[Y]]

// LIMIT-LABEL: func.func @few_outputs
// LIMIT:         glm.linear %
func.func @few_outputs(%x: tensor<2x512xbf16>, %w: tensor<32x512xbf16>) -> tensor<2x4x8xbf16> {
  // expected-remark@+1 {{[Passed] split-linear | Category:glm-fuse | Remark="cut into 16 parts"}}
  %y = glm.linear %x, %w : (tensor<2x512xbf16>, tensor<32x512xbf16>) -> tensor<2x4x8xbf16>
  return %y : tensor<2x4x8xbf16>
}

// -----

// Heads: a part is a stretch of every head.

// CHECK-LABEL: func.func @heads
// CHECK:         glm.linear_parts %{{.*}} -> tensor<1x4x5xf32>
// CHECK-NEXT:    glm.sum_parts %{{.*}} : (tensor<1x4x5xf32>) -> tensor<1x5xf32>

// One row and enough bytes for the limits.
// LIMIT-LABEL: func.func @heads
// LIMIT:         glm.linear_parts
func.func @heads(%x: tensor<1x16x128xf32>, %w: tensor<5x2048xf32>) -> tensor<1x5xf32> {
  // expected-remark@+1 {{Remark="cut into 4 parts"}}
  %y = glm.linear %x, %w : (tensor<1x16x128xf32>, tensor<5x2048xf32>) -> tensor<1x5xf32>
  return %y : tensor<1x5xf32>
}

// -----

// The names: the sums stand for the product.

// NAMES-LABEL: func.func @names
// NAMES:         glm.linear_parts {{.*}} loc(#[[PARTS:.*]])
// NAMES-NEXT:    glm.sum_parts {{.*}} loc(#[[SUM:.*]])
// NAMES-DAG:   #[[PARTS]] = loc("layers.0.hc.parts")
// NAMES-DAG:   #[[SUM]] = loc("layers.0.hc")
func.func @names(%x: tensor<1x512xf32>, %w: tensor<16x512xf32>) -> tensor<1x16xf32> {
  // expected-remark@unknown {{Remark="cut into 16 parts"}}
  %y = glm.linear %x, %w : (tensor<1x512xf32>, tensor<16x512xf32>) -> tensor<1x16xf32> loc("layers.0.hc")
  return %y : tensor<1x16xf32>
}

// -----

// Negative: 33 outputs are two blocks. No remark: this is what most products are.

// CHECK-LABEL: func.func @enough_outputs
// CHECK-NEXT:    glm.linear %
func.func @enough_outputs(%x: tensor<2x512xbf16>, %w: tensor<33x512xbf16>) -> tensor<2x33xbf16> {
  %y = glm.linear %x, %w : (tensor<2x512xbf16>, tensor<33x512xbf16>) -> tensor<2x33xbf16>
  return %y : tensor<2x33xbf16>
}

// -----

// Negative: one row more than max-rows.

// CHECK-LABEL: func.func @many_rows
// CHECK-NEXT:    glm.linear %
func.func @many_rows(%x: tensor<17x512xbf16>, %w: tensor<32x512xbf16>) -> tensor<17x32xbf16> {
  // expected-remark@+1 {{[Missed] split-linear | Category:glm-fuse | Remark="many rows share the weight"}}
  %y = glm.linear %x, %w : (tensor<17x512xbf16>, tensor<32x512xbf16>) -> tensor<17x32xbf16>
  return %y : tensor<17x32xbf16>
}

// -----

// Negative: one output less, and the weight is less than min-bytes.

// CHECK-LABEL: func.func @small
// CHECK-NEXT:    glm.linear %
func.func @small(%x: tensor<2x512xbf16>, %w: tensor<31x512xbf16>) -> tensor<2x31xbf16> {
  // expected-remark@+1 {{Remark="one block reads so small a weight soon enough"}}
  %y = glm.linear %x, %w : (tensor<2x512xbf16>, tensor<31x512xbf16>) -> tensor<2x31xbf16>
  return %y : tensor<2x31xbf16>
}

// -----

// Negative: a remainder, and a single stretch, which would be the product itself.

// CHECK-LABEL: func.func @no_stretches
// CHECK-NEXT:    glm.linear %
// CHECK-NEXT:    glm.linear %
func.func @no_stretches(%x: tensor<2x520xbf16>, %w: tensor<32x520xbf16>, %h: tensor<2x64x32xbf16>, %v: tensor<8x2048xbf16>) {
  // expected-remark@+1 {{Remark="the columns have no equal stretches of 32"}}
  %a = glm.linear %x, %w : (tensor<2x520xbf16>, tensor<32x520xbf16>) -> tensor<2x32xbf16>
  // expected-remark@+1 {{Remark="the columns have no equal stretches of 32"}}
  %b = glm.linear %h, %v : (tensor<2x64x32xbf16>, tensor<8x2048xbf16>) -> tensor<2x8xbf16>
  return
}

// -----

// Negative: a coded weight.

// CHECK-LABEL: func.func @coded
// CHECK-NEXT:    glm.linear %
func.func @coded(%x: tensor<2x512xbf16>, %w: tensor<32x512xbf16, #glm.group_quant<group = 16>>) -> tensor<2x32xbf16> {
  // expected-remark@+1 {{Remark="the weight is coded"}}
  %y = glm.linear %x, %w : (tensor<2x512xbf16>, tensor<32x512xbf16, #glm.group_quant<group = 16>>) -> tensor<2x32xbf16>
  return %y : tensor<2x32xbf16>
}
