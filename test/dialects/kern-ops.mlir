// RUN: glm-opt %s | glm-opt | FileCheck %s

// Every operation, printed and parsed again. The body of a rowwise kernel keeps its
// arith and math.

glm.weight @w : tensor<16x32xbf16>
glm.state @cache : tensor<64x32xbf16> tokens_per_row 1

// CHECK: kern.kernel @Linear_1_1_0_16_32 "linear" template "Linear" params [1, 1, 0, 16, 32] threads 256 {
kern.kernel @Linear_1_1_0_16_32 "linear" template "Linear" params [1, 1, 0, 16, 32] threads 256 {}

// CHECK: kern.kernel @row_norm "rowwise" template "" params [] threads 256 dims [-1, 32] {
kern.kernel @row_norm "rowwise" template "" params [] threads 256 dims [-1, 32] {
  // CHECK-NEXT: %[[X:.*]] = kern.load 0 [32, 1] + 0 : bf16
  %x = kern.load 0 [32, 1] + 0 : bf16
  // CHECK-NEXT: %[[XX:.*]] = arith.mulf %[[X]], %[[X]] : f32
  %xx = arith.mulf %x, %x : f32
  // CHECK-NEXT: %[[SUM:.*]] = kern.row_reduce "add" %[[XX]]
  %sum = kern.row_reduce "add" %xx
  // CHECK-NEXT: %[[R:.*]] = math.rsqrt %[[SUM]] : f32
  %r = math.rsqrt %sum : f32
  %y = arith.mulf %x, %r : f32
  // CHECK: kern.store %{{.*}} to 1 [32, 1] + 4 : f32
  kern.store %y to 1 [32, 1] + 4 : f32
}

// Blocks of a tiled kernel share the columns of a row.
// CHECK: kern.kernel @row_half "rowwise" template "" params [] threads 256 dims [-1, 32] tiles 4 {
kern.kernel @row_half "rowwise" template "" params [] threads 256 dims [-1, 32] tiles 4 {
  %x = kern.load 0 [32, 1] + 0 : bf16
  kern.store %x to 1 [32, 1] + 0 : f32
}

// One tile is the default, which is not printed.
// CHECK: kern.kernel @group_0 "group" template "" params [] threads 256 {
kern.kernel @group_0 "group" template "" params [] threads 256 tiles 1 {}

// CHECK-LABEL: func.func @step
func.func @step() {
  // CHECK: %[[A:.*]] = kern.alloc "x" : memref<2x32xbf16>
  %a = kern.alloc "x" : memref<2x32xbf16>
  // CHECK: %[[B:.*]] = kern.alloc "y" {first = 0 : i64, last = 1 : i64, offset = 256 : i64} : memref<2x16xf32>
  %b = kern.alloc "y" {offset = 256 : i64, first = 0 : i64, last = 1 : i64} : memref<2x16xf32>
  // CHECK: %[[W:.*]] = kern.weight @w : memref<16x32xbf16>
  %w = kern.weight @w : memref<16x32xbf16>
  // CHECK: %[[S:.*]] = kern.state @cache : memref<64x32xbf16>
  %s = kern.state @cache : memref<64x32xbf16>
  // CHECK: kern.pager : memref<288xi8>
  %p = kern.pager : memref<288xi8>
  %zero = arith.constant 0 : i64
  %eps = arith.constant 1.0 : f32
  // CHECK: kern.launch @Linear_1_1_0_16_32 grid [1, 1, 1](%{{.*}}, %[[A]], %[[W]], %[[S]], %{{.*}}, %[[B]] : i64, memref<2x32xbf16>, memref<16x32xbf16>, memref<64x32xbf16>, f32, memref<2x16xf32>)
  // CHECK-SAME:  writes [5] {flops = 2048 : i64, memory_bytes = 256 : i64, weight_bytes = 1024 : i64}
  kern.launch @Linear_1_1_0_16_32 grid [1, 1, 1](%zero, %a, %w, %s, %eps, %b
      : i64, memref<2x32xbf16>, memref<16x32xbf16>, memref<64x32xbf16>, f32, memref<2x16xf32>)
      writes [5] {weight_bytes = 1024 : i64, memory_bytes = 256 : i64, flops = 2048 : i64}
  // CHECK: kern.tap "logits" %[[B]] : memref<2x16xf32>
  kern.tap "logits" %b : memref<2x16xf32>
  return
}

// CHECK-LABEL: func.func @grids
func.func @grids() {
  %a = kern.alloc "a" : memref<2x32xf32>
  %b = kern.alloc "b" : memref<2x32xf32>
  // CHECK:      kern.grid {
  // CHECK-NEXT:   kern.chain 0 [2, 1] {
  kern.grid {
    kern.chain 0 [2, 1] {
      // CHECK-NEXT: kern.launch @row_half grid [8, 1, 1](%{{.*}}, %{{.*}}) writes [1] {flops = 0 : i64, memory_bytes = 0 : i64, parts = array<i64: 2, 4>, splits = array<i64: 3, 3>, tiling = array<i64: 1, 32>, weight_bytes = 0 : i64}
      kern.launch @row_half grid [8, 1, 1](%a, %b : memref<2x32xf32>, memref<2x32xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>, splits = array<i64: 3, 3>, tiling = array<i64: 1, 32>}
    }
  }
  // CHECK:      kern.grid @group_0 {
  // CHECK-NEXT:   kern.chain 0 [1, 8] {
  // CHECK:        kern.chain 0 [1, 1] {
  // CHECK:        kern.chain 1 [2, 2] {
  // CHECK-NEXT:     kern.launch {{.*}} {alone,
  // CHECK-NEXT:     kern.launch
  kern.grid @group_0 {
    kern.chain 0 [1, 8] {
      kern.launch @row_half grid [8, 1, 1](%a, %b : memref<2x32xf32>, memref<2x32xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 8>}
    }
    kern.chain 0 [1, 1] {
      kern.launch @row_half grid [8, 1, 1](%a, %b : memref<2x32xf32>, memref<2x32xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
    kern.chain 1 [2, 2] {
      kern.launch @row_half grid [2, 2, 2](%a, %b : memref<2x32xf32>, memref<2x32xf32>) writes [1] {alone, weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
      kern.launch @row_half grid [2, 2, 1](%a, %b : memref<2x32xf32>, memref<2x32xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 2>}
    }
  }
  return
}
