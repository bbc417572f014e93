// RUN: glm-opt %s --split-input-file --glm-fuse-rowwise | FileCheck %s
// RUN: glm-opt %s --split-input-file --glm-fuse-rowwise --verify-diagnostics \
// RUN:   --remarks-filter='glm-.*' --remark-format=emitRemark -o /dev/null
// RUN: glm-opt %s --split-input-file --glm-fuse-rowwise=max-inputs=3 \
// RUN:   | FileCheck %s --check-prefix=LIMIT

// Two operations over one domain: the value stays in a register, only the last result
// is stored. The operation names the place of both.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @chain_of_two
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x8xbf16>
func.func @chain_of_two(%x: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  // CHECK:      %[[Y:.*]] = glm.rowwise [2, 8] ins(%[[X]] : tensor<2x8xbf16>)
  // CHECK-SAME:   targets [0] -> (tensor<2x8xbf16>) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32):
  // CHECK-NEXT:   %[[S:.*]] = glm.sigmoid %[[A]]
  // CHECK-NEXT:   %[[E:.*]] = math.exp %[[S]] : f32
  // CHECK-NEXT:   glm.yield %[[E]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[Y]]
  %a = glm.rowwise [2, 8] ins(%x : tensor<2x8xbf16>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xbf16>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  // expected-remark@+1 {{[Passed] rowwise-into-rowwise | Category:glm-fuse | Remark=joined}}
  %b = glm.rowwise [2, 8] ins(%a : tensor<2x8xbf16>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xbf16>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  return %b : tensor<2x8xbf16>
}

// -----

// A chain of three collapses; %x, which two of them read at one place, is loaded once.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @chain_of_three
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x8xf32>
func.func @chain_of_three(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK:      glm.rowwise [2, 8] ins(%[[X]] : tensor<2x8xf32>)
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32):
  // CHECK-NEXT:   %[[S:.*]] = glm.sigmoid %[[A]]
  // CHECK-NEXT:   %[[E:.*]] = math.exp %[[S]] : f32
  // CHECK-NEXT:   %[[M:.*]] = arith.mulf %[[A]], %[[E]] : f32
  // CHECK-NEXT:   glm.yield %[[M]] : f32
  // CHECK-NOT:  glm.rowwise
  %a = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  // expected-remark@+1 {{joined}}
  %b = glm.rowwise [2, 8] ins(%a : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  // expected-remark@+1 {{joined}}
  %c = glm.rowwise [2, 8] ins(%x, %b : tensor<2x8xf32>, tensor<2x8xf32>) maps [#id, #id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.mulf %e, %f : f32
    glm.yield %0 : f32
  }
  return %c : tensor<2x8xf32>
}

// -----

// The producer's result is also read after the consumer: it stays a result of the fused
// operation, before those of the consumer.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @kept_result
func.func @kept_result(%x: tensor<2x8xf32>) -> (tensor<2x8xbf16>, tensor<2x8xf32>) {
  // CHECK:      %[[Y:.*]]:2 = glm.rowwise [2, 8] {{.*}} targets [0, 1] -> (tensor<2x8xf32>, tensor<2x8xbf16>) {
  // CHECK:        %[[S:.*]] = glm.sigmoid
  // CHECK:        %[[E:.*]] = math.exp %[[S]] : f32
  // CHECK:        glm.yield %[[S]], %[[E]] : f32, f32
  // CHECK-NOT:  glm.rowwise
  // CHECK:      return %[[Y]]#1, %[[Y]]#0
  %a = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  // expected-remark@+1 {{joined}}
  %b = glm.rowwise [2, 8] ins(%a : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xbf16>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  return %b, %a : tensor<2x8xbf16>, tensor<2x8xf32>
}

// -----

// A reduction stored once a row, at a map without the column, is read back at the same
// map by every column: the whole norm becomes one operation.

#id = affine_map<(t, c) -> (t, c)>
#row = affine_map<(t, c) -> (t)>
// CHECK-LABEL: func.func @row_scalar
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x8xf32>
func.func @row_scalar(%x: tensor<2x8xf32>) -> tensor<2x8xbf16> {
  // CHECK:      glm.rowwise [2, 8] ins(%[[X]] : tensor<2x8xf32>) {{.*}} -> (tensor<2x8xbf16>) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32):
  // CHECK-NEXT:   %[[SUM:.*]] = glm.row_reduce "add" %[[A]]
  // CHECK-NEXT:   %[[R:.*]] = math.rsqrt %[[SUM]] : f32
  // CHECK-NEXT:   %[[Y:.*]] = arith.mulf %[[A]], %[[R]] : f32
  // CHECK-NEXT:   glm.yield %[[Y]] : f32
  %r = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#row] targets [0] -> (tensor<2xf32>) {
  ^bb0(%e: f32):
    %0 = glm.row_reduce "add" %e
    %1 = math.rsqrt %0 : f32
    glm.yield %1 : f32
  }
  // expected-remark@+1 {{joined}}
  %y = glm.rowwise [2, 8] ins(%x, %r : tensor<2x8xf32>, tensor<2xf32>) maps [#id, #row] outs [#id] targets [0] -> (tensor<2x8xbf16>) {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.mulf %e, %f : f32
    glm.yield %0 : f32
  }
  return %y : tensor<2x8xbf16>
}

// -----

// Streams: several yields write parts of one result; each read finds the yield of its
// own place, and a kept result keeps all of them.

#id = affine_map<(t, c) -> (t, c)>
#s0 = affine_map<(t, c) -> (t, 0, c)>
#s1 = affine_map<(t, c) -> (t, 1, c)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[S0:.*]] = affine_map<(d0, d1) -> (d0, 0, d1)>
// CHECK-DAG: #[[S1:.*]] = affine_map<(d0, d1) -> (d0, 1, d1)>
// CHECK-LABEL: func.func @streams
func.func @streams(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x2x8xf32>) {
  // CHECK:      %[[Y:.*]]:2 = glm.rowwise [2, 8] {{.*}} outs [#[[S0]], #[[S1]], #[[ID]]] targets [0, 0, 1] -> (tensor<2x2x8xf32>, tensor<2x8xf32>) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32):
  // CHECK-NEXT:   %[[E:.*]] = math.exp %[[A]] : f32
  // CHECK-NEXT:   %[[D:.*]] = arith.subf %[[E]], %[[A]] : f32
  // CHECK-NEXT:   glm.yield %[[A]], %[[E]], %[[D]] : f32, f32, f32
  // CHECK:      return %[[Y]]#1, %[[Y]]#0
  %s = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#s0, #s1] targets [0, 0] -> (tensor<2x2x8xf32>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %e, %0 : f32, f32
  }
  // expected-remark@+1 {{joined}}
  %y = glm.rowwise [2, 8] ins(%s, %s : tensor<2x2x8xf32>, tensor<2x2x8xf32>) maps [#s1, #s0] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.subf %e, %f : f32
    glm.yield %0 : f32
  }
  return %y, %s : tensor<2x8xf32>, tensor<2x2x8xf32>
}

// -----

// Two inputs, two producers: both join, the second into the already fused operation.
// With room for three inputs only the first of them does.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @two_producers
// CHECK:         glm.rowwise [2, 8] ins(%{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-NOT:     glm.rowwise
// CHECK:         return

// LIMIT-LABEL: func.func @two_producers
// LIMIT:         %[[A:.*]] = glm.rowwise [2, 8] ins(%arg0
// LIMIT:           glm.sigmoid
// LIMIT:         glm.rowwise [2, 8] ins(
// LIMIT-NOT:     glm.rowwise
// LIMIT:         return
func.func @two_producers(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>, %z: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %a = glm.rowwise [2, 8] ins(%x, %y : tensor<2x8xf32>, tensor<2x8xf32>) maps [#id, #id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %0 = glm.sigmoid %e
    %1 = arith.mulf %0, %f : f32
    glm.yield %1 : f32
  }
  %b = glm.rowwise [2, 8] ins(%z : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  // Two remarks, one for each producer.
  // expected-remark@+1 {{joined}}
  %c = glm.rowwise [2, 8] ins(%a, %b : tensor<2x8xf32>, tensor<2x8xf32>) maps [#id, #id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.addf %e, %f : f32
    glm.yield %0 : f32
  }
  return %c : tensor<2x8xf32>
}

// -----

// Negative: another iteration shape. A row of one is not a row of the other.

#id = affine_map<(t, c) -> (t, c)>
#heads = affine_map<(t, h, d) -> (t, h * 4 + d)>
#id3 = affine_map<(t, h, d) -> (t, h, d)>
// CHECK-LABEL: func.func @other_domain
// CHECK-COUNT-2: glm.rowwise
func.func @other_domain(%x: tensor<2x8xf32>) -> tensor<2x2x4xf32> {
  %a = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  // expected-remark@+1 {{[Missed] rowwise-into-rowwise | Category:glm-fuse | Remark="iteration shapes differ"}}
  %b = glm.rowwise [2, 2, 4] ins(%a : tensor<2x8xf32>) maps [#heads] outs [#id3] targets [0] -> (tensor<2x2x4xf32>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  return %b : tensor<2x2x4xf32>
}

// -----

// Negative: the consumer reads the row at another place, here always column 0, which
// another iteration computes.

#id = affine_map<(t, c) -> (t, c)>
#first = affine_map<(t, c) -> (t, 0)>
// CHECK-LABEL: func.func @other_place
// CHECK-COUNT-2: glm.rowwise
func.func @other_place(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %a = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  // Both inputs are the producer's; one of them at its place is not enough.
  // expected-remark@+1 {{Remark="the consumer reads the row at another place than it was written"}}
  %b = glm.rowwise [2, 8] ins(%a, %a : tensor<2x8xf32>, tensor<2x8xf32>) maps [#id, #first] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.mulf %e, %f : f32
    glm.yield %0 : f32
  }
  return %b : tensor<2x8xf32>
}

// -----

// Negative: an operation between the two reads the row, so it must be stored before.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @user_between
// CHECK:         glm.rowwise
// CHECK:         glm.linear
// CHECK:         glm.rowwise
func.func @user_between(%x: tensor<2x8xf32>, %w: tensor<8x8xbf16>) -> tensor<2x8xf32> {
  %a = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  %l = glm.linear %a, %w : (tensor<2x8xf32>, tensor<8x8xbf16>) -> tensor<2x8xf32>
  // expected-remark@+1 {{Remark="another operation between the two reads the row"}}
  %b = glm.rowwise [2, 8] ins(%a, %l : tensor<2x8xf32>, tensor<2x8xf32>) maps [#id, #id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.mulf %e, %f : f32
    glm.yield %0 : f32
  }
  return %b : tensor<2x8xf32>
}

// -----

// A tap between the two has no launch of its own: the row is stored for it, and the tap
// waits for the fused operation. Taps keep their order.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @tap_between
// CHECK:         %[[Y:.*]]:2 = glm.rowwise [2, 8]
// CHECK-NOT:     glm.rowwise
// CHECK:         glm.tap "a" %[[Y]]#0
// CHECK-NEXT:    glm.tap "again" %[[Y]]#0
// CHECK-NEXT:    return %[[Y]]#1
func.func @tap_between(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %a = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  glm.tap "a" %a : tensor<2x8xf32>
  glm.tap "again" %a : tensor<2x8xf32>
  // expected-remark@+1 {{joined}}
  %b = glm.rowwise [2, 8] ins(%a : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  return %b : tensor<2x8xf32>
}

// -----

// Negative: pointwise work on a product's result can run in the product's blocks; a
// reduction of the whole row cannot, and does not take it along.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @after_a_product
// CHECK:         glm.linear
// CHECK-COUNT-2: glm.rowwise
func.func @after_a_product(%x: tensor<2x8xf32>, %w: tensor<8x8xbf16>) -> tensor<2x8xf32> {
  %l = glm.linear %x, %w : (tensor<2x8xf32>, tensor<8x8xbf16>) -> tensor<2x8xf32>
  %a = glm.rowwise [2, 8] ins(%l, %x : tensor<2x8xf32>, tensor<2x8xf32>) maps [#id, #id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.addf %e, %f : f32
    glm.yield %0 : f32
  }
  // expected-remark@+1 {{Remark="the producer follows a product column by column, the consumer needs the whole row"}}
  %b = glm.rowwise [2, 8] ins(%a : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.row_reduce "add" %e
    %1 = arith.mulf %e, %0 : f32
    glm.yield %1 : f32
  }
  return %b : tensor<2x8xf32>
}

// -----

// After a product, pointwise joins pointwise, and a reduction joins a reduction.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @products_of_a_kind
// CHECK:         glm.rowwise
// CHECK:           math.exp
// CHECK:           glm.sigmoid
// CHECK-NOT:     glm.rowwise
// CHECK:         glm.linear
// CHECK:         glm.rowwise
// CHECK-COUNT-2:   glm.row_reduce
// CHECK-NOT:     glm.rowwise
// CHECK:         return
func.func @products_of_a_kind(%x: tensor<2x8xf32>, %w: tensor<8x8xbf16>) -> tensor<2x8xf32> {
  %l = glm.linear %x, %w : (tensor<2x8xf32>, tensor<8x8xbf16>) -> tensor<2x8xf32>
  %a = glm.rowwise [2, 8] ins(%l : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  // expected-remark@+1 {{joined}}
  %b = glm.rowwise [2, 8] ins(%a : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  %m = glm.linear %b, %w : (tensor<2x8xf32>, tensor<8x8xbf16>) -> tensor<2x8xf32>
  %c = glm.rowwise [2, 8] ins(%m : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.row_reduce "add" %e
    %1 = arith.mulf %e, %0 : f32
    glm.yield %1 : f32
  }
  // expected-remark@+1 {{joined}}
  %d = glm.rowwise [2, 8] ins(%c : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.row_reduce "max" %e
    %1 = arith.divf %e, %0 : f32
    glm.yield %1 : f32
  }
  return %d : tensor<2x8xf32>
}

// -----

// Negative: two operations that only share an input stay two. No remark: nothing would
// be kept out of memory.

#id = affine_map<(t, c) -> (t, c)>
// CHECK-LABEL: func.func @siblings
// CHECK-COUNT-2: glm.rowwise
func.func @siblings(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %a = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = glm.sigmoid %e
    glm.yield %0 : f32
  }
  %b = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [#id] outs [#id] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    glm.yield %0 : f32
  }
  return %a, %b : tensor<2x8xf32>, tensor<2x8xf32>
}
