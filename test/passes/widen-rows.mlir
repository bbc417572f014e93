// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-widen-rows))' | FileCheck %s
// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-widen-rows))' \
// RUN:   --verify-diagnostics --remarks-filter='glm-.*' --remark-format=emitRemark -o /dev/null
// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-widen-rows{max-rows=1}))' \
// RUN:   | FileCheck %s --check-prefix=LIMIT

// Pointwise work and the parts of a product read the row, rows are picked from it, a tap
// shows it: it is f32, and so are the picked rows. What is returned stays as it was.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @widened
// CHECK:         %[[R:.*]] = glm.rowwise [2, 64] {{.*}} targets [0] -> (tensor<2x64xf32>)
// CHECK:         glm.linear_parts %[[R]], %{{.*}} : (tensor<2x64xf32>,
// CHECK:         glm.tap "residual" %[[R]] : tensor<2x64xf32>
// CHECK:         %[[G:.*]] = glm.gather_rows %[[R]], %{{.*}} : (tensor<2x64xf32>, tensor<1xi32>) -> tensor<1x64xf32>
// CHECK:         glm.rowwise [1, 64] ins(%[[G]] : tensor<1x64xf32>) {{.*}} -> (tensor<1x64xbf16>)
// CHECK:         glm.rowwise [2, 64] ins(%[[R]] : tensor<2x64xf32>) {{.*}} -> (tensor<2x64xbf16>)

// LIMIT-LABEL: func.func @widened
// LIMIT-NOT:     tensor<2x64xf32>
// LIMIT:         return
func.func @widened(%x: tensor<2x64xbf16>, %w: tensor<32x64xbf16>, %at: tensor<1xi32>)
    -> (tensor<2x2x32xf32>, tensor<1x64xbf16>, tensor<2x64xbf16>)
    attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  // expected-remark@+1 {{[Passed] widen-rows | Category:glm-fuse | Remark="is kept in f32"}}
  %r = glm.rowwise [2, 64] ins(%x : tensor<2x64xbf16>) maps [#id] outs [#id] targets [0] -> (tensor<2x64xbf16>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  %p = glm.linear_parts %r, %w : (tensor<2x64xbf16>, tensor<32x64xbf16>) -> tensor<2x2x32xf32>
  glm.tap "residual" %r : tensor<2x64xbf16>
  %g = glm.gather_rows %r, %at : (tensor<2x64xbf16>, tensor<1xi32>) -> tensor<1x64xbf16>
  %y = glm.rowwise [1, 64] ins(%g : tensor<1x64xbf16>) maps [#id] outs [#id] targets [0] -> (tensor<1x64xbf16>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  %z = glm.rowwise [2, 64] ins(%r : tensor<2x64xbf16>) maps [#id] outs [#id] targets [0] -> (tensor<2x64xbf16>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  return %p, %y, %z : tensor<2x2x32xf32>, tensor<1x64xbf16>, tensor<2x64xbf16>
}

// -----

// A sum over the row and a product of many outputs read it too: they get it in bf16, beside
// the f32 that a norm of the row reads. Both stores of a row of two streams are doubled.

#id = affine_map<(t, c) -> (t, c)>
#first = affine_map<(t, c) -> (t, 0, c)>
#second = affine_map<(t, c) -> (t, 1, c)>
#row = affine_map<(t, c) -> (t)>
// CHECK-LABEL: func.func @twin
// CHECK:         %[[R:.*]]:2 = glm.rowwise [1, 8] {{.*}} targets [0, 0, 1, 1] -> (tensor<1x2x8xbf16>, tensor<1x2x8xf32>)
// CHECK:           glm.yield %[[A:.*]], %[[B:.*]], %[[A]], %[[B]] : f32, f32, f32, f32
// CHECK:         glm.linear %[[R]]#0, %{{.*}} : (tensor<1x2x8xbf16>,
// CHECK:         glm.rowwise [1, 8] ins(%[[R]]#0 : tensor<1x2x8xbf16>) {{.*}} -> (tensor<1xf32>)
// CHECK:         glm.rowwise [1, 8] ins(%[[R]]#1 : tensor<1x2x8xf32>) {{.*}} -> (tensor<1x8xf32>)
func.func @twin(%x: tensor<1x8xbf16>, %w: tensor<64x16xbf16>) -> (tensor<1x64xf32>, tensor<1xf32>, tensor<1x8xf32>) {
  // expected-remark@+1 {{Remark="is kept in f32, and in bf16 for other readers"}}
  %r = glm.rowwise [1, 8] ins(%x : tensor<1x8xbf16>) maps [#id] outs [#first, #second] targets [0, 0] -> (tensor<1x2x8xbf16>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    %1 = math.exp %e : f32
    glm.yield %0, %1 : f32, f32
  }
  %y = glm.linear %r, %w : (tensor<1x2x8xbf16>, tensor<64x16xbf16>) -> tensor<1x64xf32>
  %s = glm.rowwise [1, 8] ins(%r : tensor<1x2x8xbf16>) maps [#first] outs [#row] targets [0] -> (tensor<1xf32>) {
  ^bb0(%e: f32):
    %0 = glm.row_reduce "add" %e
    glm.yield %0 : f32
  }
  %n = glm.rowwise [1, 8] ins(%r : tensor<1x2x8xbf16>) maps [#second] outs [#id] targets [0] -> (tensor<1x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.row_reduce "add" %e
    %1 = arith.mulf %e, %0 : f32
    glm.yield %1 : f32
  }
  return %y, %s, %n : tensor<1x64xf32>, tensor<1xf32>, tensor<1x8xf32>
}

// -----

// Negative: only a product and the caller read the rows; rows of other producers stay, and
// so do rows picked from bf16.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @narrow
// CHECK:         glm.rowwise [1, 64] {{.*}} targets [0] -> (tensor<1x64xbf16>)
// CHECK:         glm.linear {{.*}} -> tensor<1x64xbf16>
// CHECK:         glm.gather_rows {{.*}} -> tensor<1x64xbf16>
// CHECK:         glm.rowwise [1, 64] {{.*}} targets [0] -> (tensor<1x64xbf16>)
func.func @narrow(%x: tensor<1x64xbf16>, %w: tensor<64x64xbf16>, %at: tensor<1xi32>) -> tensor<1x64xbf16> {
  %r = glm.rowwise [1, 64] ins(%x : tensor<1x64xbf16>) maps [#id] outs [#id] targets [0] -> (tensor<1x64xbf16>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  %y = glm.linear %r, %w : (tensor<1x64xbf16>, tensor<64x64xbf16>) -> tensor<1x64xbf16>
  %g = glm.gather_rows %y, %at : (tensor<1x64xbf16>, tensor<1xi32>) -> tensor<1x64xbf16>
  %z = glm.rowwise [1, 64] ins(%g : tensor<1x64xbf16>) maps [#id] outs [#id] targets [0] -> (tensor<1x64xbf16>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  return %z : tensor<1x64xbf16>
}

// -----

// Negative: 17 rows are more than the 16 of the option.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @many_rows
// CHECK-NOT:     tensor<17x8xf32>
// CHECK:         return
// expected-remark@+1 {{[Missed] widen-rows | Category:glm-fuse | Remark="more rows than max-rows: their bytes count"}}
func.func @many_rows(%x: tensor<17x8xbf16>) -> tensor<17x8xbf16>
    attributes {glm.sequences = 1 : i64, glm.tokens = 17 : i64} {
  %r = glm.rowwise [17, 8] ins(%x : tensor<17x8xbf16>) maps [#id] outs [#id] targets [0] -> (tensor<17x8xbf16>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  %z = glm.rowwise [17, 8] ins(%r : tensor<17x8xbf16>) maps [#id] outs [#id] targets [0] -> (tensor<17x8xbf16>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  return %z : tensor<17x8xbf16>
}
