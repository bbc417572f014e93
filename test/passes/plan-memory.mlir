// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-plan-memory))' \
// RUN:   | FileCheck %s

// A chain a -> b -> c -> d: a and c, b and d never live together and share bytes; a and
// b, which one launch reads and writes, do not. `first` and `last` count launches.

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
// 1024 f32 are 4096 bytes; two of them are alive at once.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    glm.arena_bytes = 8192 : i64, glm.live_bytes = 8192 : i64
func.func @chain() {
  // CHECK-NEXT: kern.alloc "a" {first = 0 : i64, last = 1 : i64, offset = 0 : i64}
  %a = kern.alloc "a" : memref<1024xf32>
  // CHECK-NEXT: kern.alloc "b" {first = 1 : i64, last = 2 : i64, offset = 4096 : i64}
  %b = kern.alloc "b" : memref<1024xf32>
  // CHECK-NEXT: kern.alloc "c" {first = 2 : i64, last = 3 : i64, offset = 0 : i64}
  %c = kern.alloc "c" : memref<1024xf32>
  // CHECK-NEXT: kern.alloc "d" {first = 3 : i64, last = 3 : i64, offset = 4096 : i64}
  %d = kern.alloc "d" : memref<1024xf32>
  kern.launch @k grid [1, 1, 1](%a : memref<1024xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.launch @k grid [1, 1, 1](%a, %b : memref<1024xf32>, memref<1024xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.launch @k grid [1, 1, 1](%b, %c : memref<1024xf32>, memref<1024xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.launch @k grid [1, 1, 1](%c, %d : memref<1024xf32>, memref<1024xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

// The same chain with a tap on a after the third launch: a lives on, c finds no room.

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
// CHECK-LABEL: func.func @tap_extends_life
// CHECK-SAME:    glm.arena_bytes = 12288 : i64
func.func @tap_extends_life() {
  // CHECK-NEXT: kern.alloc "a" {first = 0 : i64, last = 2 : i64, offset = 0 : i64}
  %a = kern.alloc "a" : memref<1024xf32>
  // CHECK-NEXT: kern.alloc "b" {first = 1 : i64, last = 2 : i64, offset = 4096 : i64}
  %b = kern.alloc "b" : memref<1024xf32>
  // CHECK-NEXT: kern.alloc "c" {first = 2 : i64, last = 3 : i64, offset = 8192 : i64}
  %c = kern.alloc "c" : memref<1024xf32>
  // CHECK-NEXT: kern.alloc "d" {first = 3 : i64, last = 3 : i64, offset = 0 : i64}
  %d = kern.alloc "d" : memref<1024xf32>
  kern.launch @k grid [1, 1, 1](%a : memref<1024xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.launch @k grid [1, 1, 1](%a, %b : memref<1024xf32>, memref<1024xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.launch @k grid [1, 1, 1](%b, %c : memref<1024xf32>, memref<1024xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.tap "a" %a : memref<1024xf32>
  kern.launch @k grid [1, 1, 1](%c, %d : memref<1024xf32>, memref<1024xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

// The inputs of a step are written before it and may be read by any launch: they live
// from the first to the last, whoever names them. Offsets are multiples of 256.

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
// CHECK-LABEL: func.func @inputs
// CHECK-SAME:    glm.arena_bytes = 768 : i64
func.func @inputs() {
  // CHECK-NEXT: kern.alloc "ids" {first = 0 : i64, last = 1 : i64, offset = 0 : i64}
  %ids = kern.alloc "ids" : memref<1xi32>
  // CHECK-NEXT: kern.alloc "seqs" {first = 0 : i64, last = 1 : i64, offset = 256 : i64}
  %seqs = kern.alloc "seqs" : memref<1x4xi32>
  // CHECK-NEXT: kern.alloc "x" {first = 0 : i64, last = 0 : i64, offset = 512 : i64}
  %x = kern.alloc "x" : memref<1xbf16>
  // CHECK-NEXT: kern.alloc "y" {first = 1 : i64, last = 1 : i64, offset = 512 : i64}
  %y = kern.alloc "y" : memref<1xbf16>
  kern.launch @k grid [1, 1, 1](%x : memref<1xbf16>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.launch @k grid [1, 1, 1](%y : memref<1xbf16>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

// Largest first: big, which meets both small ones, takes offset 0, and the small ones,
// which do not meet, share the place above it. A small buffer that meets only the second
// of them goes into the gap that is left: the arena grows to 512 + 2 * 256.

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
// CHECK-LABEL: func.func @largest_first
// CHECK-SAME:    glm.arena_bytes = 1024 : i64, glm.live_bytes = 1024 : i64
func.func @largest_first() {
  // CHECK-NEXT: kern.alloc "s0" {first = 0 : i64, last = 0 : i64, offset = 512 : i64}
  %s0 = kern.alloc "s0" : memref<64xf32>
  // CHECK-NEXT: kern.alloc "big" {first = 0 : i64, last = 2 : i64, offset = 0 : i64}
  %big = kern.alloc "big" : memref<128xf32>
  // CHECK-NEXT: kern.alloc "s1" {first = 1 : i64, last = 2 : i64, offset = 512 : i64}
  %s1 = kern.alloc "s1" : memref<64xf32>
  // CHECK-NEXT: kern.alloc "s2" {first = 2 : i64, last = 2 : i64, offset = 768 : i64}
  %s2 = kern.alloc "s2" : memref<64xf32>
  kern.launch @k grid [1, 1, 1](%s0, %big : memref<64xf32>, memref<128xf32>) writes [0, 1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.launch @k grid [1, 1, 1](%s1 : memref<64xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.launch @k grid [1, 1, 1](%s1, %big, %s2 : memref<64xf32>, memref<128xf32>, memref<64xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

// The chain once more, with the second and third launch in one grid. Their blocks may run
// at the same time, so that a, b and c all live from the grid's first launch to its last;
// only d finds room again. A tap after the grid sees what its last launch left.

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
// CHECK-LABEL: func.func @grid
// CHECK-SAME:    glm.arena_bytes = 12288 : i64
func.func @grid() {
  // CHECK-NEXT: kern.alloc "a" {first = 0 : i64, last = 2 : i64, offset = 0 : i64}
  %a = kern.alloc "a" : memref<1024xf32>
  // CHECK-NEXT: kern.alloc "b" {first = 1 : i64, last = 2 : i64, offset = 4096 : i64}
  %b = kern.alloc "b" : memref<1024xf32>
  // CHECK-NEXT: kern.alloc "c" {first = 1 : i64, last = 3 : i64, offset = 8192 : i64}
  %c = kern.alloc "c" : memref<1024xf32>
  // CHECK-NEXT: kern.alloc "d" {first = 3 : i64, last = 3 : i64, offset = 0 : i64}
  %d = kern.alloc "d" : memref<1024xf32>
  kern.launch @k grid [1, 1, 1](%a : memref<1024xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @k grid [1, 1, 1](%a, %b : memref<1024xf32>, memref<1024xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
    kern.chain 1 [1, 1] {
      kern.launch @k grid [1, 1, 1](%b, %c : memref<1024xf32>, memref<1024xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.tap "b" %b : memref<1024xf32>
  kern.launch @k grid [1, 1, 1](%c, %d : memref<1024xf32>, memref<1024xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

// Negative: a function without buffers needs no arena.

// CHECK-LABEL: func.func @nothing() attributes {glm.arena_bytes = 0 : i64, glm.live_bytes = 0 : i64}
func.func @nothing() {
  return
}

// -----

// The logits are read after the last launch, wherever their tap stands.

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
// CHECK-LABEL: func.func @logits_to_the_end
func.func @logits_to_the_end() {
  // CHECK-NEXT: kern.alloc "y" {first = 0 : i64, last = 1 : i64, offset = 0 : i64}
  %y = kern.alloc "y" : memref<1xf32>
  // CHECK-NEXT: kern.alloc "z" {first = 1 : i64, last = 1 : i64, offset = 256 : i64}
  %z = kern.alloc "z" : memref<1xf32>
  kern.launch @k grid [1, 1, 1](%y : memref<1xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.tap "logits" %y : memref<1xf32>
  kern.launch @k grid [1, 1, 1](%z : memref<1xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}
