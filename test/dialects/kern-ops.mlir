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
