// RUN: glm-opt %s --split-input-file --glm-fuse-blocks | FileCheck %s
// RUN: glm-opt %s --split-input-file --glm-fuse-blocks --verify-diagnostics \
// RUN:   --remarks-filter='glm-.*' --remark-format=emitRemark -o /dev/null
// RUN: glm-opt %s --split-input-file --glm-fuse-blocks=max-serial=9 | FileCheck %s --check-prefix=SERIAL
// RUN: glm-opt %s --split-input-file --glm-fuse-blocks=early-bytes=0 | FileCheck %s --check-prefix=NEVER
// RUN: %python %S/../inputs/wide_grid.py 251 249 | glm-opt --glm-fuse-blocks | FileCheck %s --check-prefix=ROOM
// RUN: %python %S/../inputs/wide_grid.py 251 250 | glm-opt --glm-fuse-blocks --remarks-filter='glm-.*' \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WIDE

// `parts` are rows and columns of blocks; `splits` say what a block touches of each
// argument: 0 anything, 1 its row, 2 its columns of each row, 3 both, 4 its columns of
// two rows side by side (passes/Parts.h).

// A grid takes 500 arguments.
// ROOM:      kern.chain 0 [1, 1] {
// ROOM-NEXT:   kern.launch @k
// ROOM-NEXT:   kern.launch @k
// WIDE: remark: [Missed] fuse-blocks | Category:glm-fuse | Remark="the chain would have too many arguments"

// A product has a block for each 32 of its outputs; what follows them column by column
// runs on in those blocks, as a kernel whose blocks have as many columns. The kernel that
// nobody launches any more is gone.

kern.kernel @lin "linear" template "Linear" params [1] threads 256 {}
// CHECK-NOT:   kern.kernel @row_act "
// CHECK:       kern.kernel @row_act_x4 "rowwise" template "" params [] threads 256 dims [-1, 128] tiles 4 {
// CHECK-NEXT:    kern.load 0 [128, 1] + 0 : f32
// CHECK-NOT:   kern.kernel @row_act "
kern.kernel @row_act "rowwise" template "" params [] threads 256 dims [-1, 128] {
  %0 = kern.load 0 [128, 1] + 0 : f32
  kern.store %0 to 1 [128, 1] + 0 : f32
}
// CHECK-LABEL: func.func @product_then_pointwise
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @lin grid [4, 1, 1](%{{.*}}, %[[Y:[0-9]+]] : {{.*}} parts = array<i64: 1, 4>
// CHECK-NEXT:        kern.launch @row_act_x4 grid [4, 1, 1](%[[Y]], {{.*}} parts = array<i64: 1, 4>, splits = array<i64: 3, 3>, tiling = array<i64: 1, 128>
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    return
func.func @product_then_pointwise() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  kern.launch @lin grid [4, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2>}
  // expected-remark@+1 {{[Passed] fuse-blocks | Category:glm-fuse | Remark="runs on in its producer's blocks"}}
  kern.launch @row_act grid [1, 1, 1](%y, %z : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 3, 3>, tiling = array<i64: 1, 128>}
  return
}

// -----

// A head: two convolutions, which can be cut as finely as the heads, run on in the blocks
// of the recurrence. Both producers join one chain, in the order of the launches; equal
// kernels with equal columns are one.

kern.kernel @ShortConv_0_1_0_512_4_2 "short_conv" template "ShortConv" params [0, 1, 0, 512, 4, 2] threads 256 {}
kern.kernel @delta "delta_rule" template "DeltaRule" params [1] threads 256 {}
// CHECK:       kern.kernel @ShortConv_0_1_0_512_4_8 "short_conv" template "ShortConv" params [0, 1, 0, 512, 4, 8] threads 256 {
// CHECK-NOT:   kern.kernel @ShortConv
// CHECK-LABEL: func.func @heads
// CHECK:         kern.chain 0 [2, 8] {
// CHECK-NEXT:      kern.launch @ShortConv_0_1_0_512_4_8 grid [8, 2, 1](%{{.*}}, %[[C1:[0-9]+]] : {{.*}} parts = array<i64: 2, 8>
// CHECK-NEXT:      kern.launch @ShortConv_0_1_0_512_4_8 grid [8, 2, 1](
// CHECK-NEXT:      kern.launch @delta grid [8, 2, 1](%[[C1]],
// CHECK-NEXT: {{^ *}}}
// CHECK-NOT:     kern.grid
func.func @heads() attributes {glm.sequences = 2 : i64, glm.tokens = 1 : i64} {
  %q = kern.alloc "q" : memref<2x512xf32>
  %k = kern.alloc "k" : memref<2x512xf32>
  %c1 = kern.alloc "c1" : memref<2x512xf32>
  %c2 = kern.alloc "c2" : memref<2x512xf32>
  %o = kern.alloc "o" : memref<2x512xf32>
  kern.launch @ShortConv_0_1_0_512_4_2 grid [2, 2, 1](%q, %c1 : memref<2x512xf32>, memref<2x512xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 2>, splits = array<i64: 3, 3>, tiling = array<i64: 2, 512>}
  kern.launch @ShortConv_0_1_0_512_4_2 grid [2, 2, 1](%k, %c2 : memref<2x512xf32>, memref<2x512xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 2>, splits = array<i64: 3, 3>, tiling = array<i64: 2, 512>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @delta grid [8, 2, 1](%c1, %c2, %o : memref<2x512xf32>, memref<2x512xf32>, memref<2x512xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 8>, splits = array<i64: 3, 3, 3>}
  return
}

// -----

// Rows: a chain has as few as its coarsest launch. Two tokens a sequence here: the block
// of a sequence does both of them, one after the other.

kern.kernel @norm "linear" template "Linear" params [1] threads 256 {}
kern.kernel @pool "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @rows
// CHECK:         kern.chain 0 [2, 1] {
// CHECK-NEXT:      kern.launch @norm grid [4, 1, 1]({{.*}} parts = array<i64: 4, 1>
// CHECK-NEXT:      kern.launch @pool grid [2, 1, 1]({{.*}} parts = array<i64: 2, 1>
func.func @rows() attributes {glm.sequences = 2 : i64, glm.tokens = 2 : i64} {
  %a = kern.alloc "a" : memref<4x8xf32>
  %b = kern.alloc "b" : memref<4x8xf32>
  %c = kern.alloc "c" : memref<4x8xf32>
  kern.launch @norm grid [4, 1, 1](%a, %b : memref<4x8xf32>, memref<4x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 4, 1>, splits = array<i64: 1, 1>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @pool grid [2, 1, 1](%b, %c : memref<4x8xf32>, memref<4x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 1>, splits = array<i64: 1, 1>}
  return
}

// -----

// Streams: [outer, columns, width] of a row with outer 2 meets outer 2 alone.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @outer
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @a
// CHECK-NEXT:      kern.launch @b
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @c
// CHECK-NEXT: {{^ *}}}
func.func @outer() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x2x64xf32>
  %y = kern.alloc "y" : memref<1x2x64xf32>
  %z = kern.alloc "z" : memref<1x2x64xf32>
  kern.launch @a grid [4, 1, 1](%x : memref<1x2x64xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 4>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @b grid [4, 1, 1](%x, %y : memref<1x2x64xf32>, memref<1x2x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 4, 4>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @c grid [4, 1, 1](%y, %z : memref<1x2x64xf32>, memref<1x2x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2, 4>}
  return
}

// -----

// Pointwise work alone gets columns until a block has 1024 points of a row; work on an
// odd number of them stays one block.

kern.kernel @row_a "rowwise" template "" params [] threads 256 dims [-1, 4096] {
  %0 = kern.load 0 [4096, 1] + 0 : f32
  kern.store %0 to 1 [4096, 1] + 0 : f32
}
kern.kernel @row_b "rowwise" template "" params [] threads 256 dims [-1, 4096] {
  %0 = kern.load 0 [4096, 1] + 0 : f32
  kern.store %0 to 1 [4096, 1] + 0 : f32
}
kern.kernel @row_odd "rowwise" template "" params [] threads 256 dims [-1, 4095] {
  %0 = kern.load 0 [4095, 1] + 0 : f32
  kern.store %0 to 1 [4095, 1] + 0 : f32
}
// CHECK-LABEL: func.func @pointwise
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @row_a_x4 grid [4, 1, 1]
// CHECK-NEXT:      kern.launch @row_b_x4 grid [4, 1, 1]
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 1] {
// CHECK-NEXT:      kern.launch @row_odd grid [1, 1, 1]
// CHECK-NEXT:      kern.launch @row_odd grid [1, 1, 1]
// CHECK-NEXT: {{^ *}}}
func.func @pointwise() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x4096xf32>
  %y = kern.alloc "y" : memref<1x4096xf32>
  %z = kern.alloc "z" : memref<1x4096xf32>
  %p = kern.alloc "p" : memref<1x4095xf32>
  %q = kern.alloc "q" : memref<1x4095xf32>
  %r = kern.alloc "r" : memref<1x4095xf32>
  kern.launch @row_a grid [1, 1, 1](%x, %y : memref<1x4096xf32>, memref<1x4096xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 3, 3>, tiling = array<i64: 1, 4096>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @row_b grid [1, 1, 1](%y, %z : memref<1x4096xf32>, memref<1x4096xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 3, 3>, tiling = array<i64: 1, 4096>}
  kern.launch @row_odd grid [1, 1, 1](%p, %q : memref<1x4095xf32>, memref<1x4095xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 3, 3>, tiling = array<i64: 1, 4095>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @row_odd grid [1, 1, 1](%q, %r : memref<1x4095xf32>, memref<1x4095xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 3, 3>, tiling = array<i64: 1, 4095>}
  return
}

// -----

// Chains stand in an order in which they can run; one that waits for nothing comes
// first. Launches that nothing joins have a chain of their own.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
kern.kernel @d "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @order
// CHECK:         kern.launch @a
// CHECK:         kern.launch @d
// CHECK:         kern.launch @b
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.launch @c
func.func @order() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  %u = kern.alloc "u" : memref<1x128xf32>
  kern.launch @a grid [4, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2>}
  // expected-remark@+1 {{Remark="the parts of one do not divide those of the other"}}
  kern.launch @b grid [6, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 6>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="the parts of one do not divide those of the other"}}
  kern.launch @c grid [4, 1, 1](%y, %z : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2>}
  kern.launch @d grid [8, 1, 1](%u : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 8>, splits = array<i64: 2>}
  return
}

// -----

// Negative: another chain stands between. @d could run on in @c's blocks, and does; in
// those of @a only if they waited for @b, which waits for @a.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
kern.kernel @d "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @between
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @a
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 6] {
// CHECK-NEXT:      kern.launch @b
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @c
// CHECK-NEXT:      kern.launch @d
// CHECK-NEXT: {{^ *}}}
func.func @between() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  %u = kern.alloc "u" : memref<1x128xf32>
  kern.launch @a grid [4, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2>}
  // expected-remark@+1 {{Remark="the parts of one do not divide those of the other"}}
  kern.launch @b grid [6, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 6>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="the parts of one do not divide those of the other"}}
  kern.launch @c grid [4, 1, 1](%y, %z : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @d grid [4, 1, 1](%x, %z, %u : memref<1x128xf32>, memref<1x128xf32>, memref<1x128xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2, 2, 2>}
  return
}

// -----

// Negative: a launch that says nothing of its parts stays as it is, whatever surrounds it.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @no_parts
// CHECK:         kern.chain 0 [1, 12] {
// CHECK-NEXT:      kern.launch @a grid [4, 3, 1]({{.*}} parts = array<i64: 1, 12>
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 1] {
// CHECK-NEXT:      kern.launch @b
// CHECK-NEXT: {{^ *}}}
func.func @no_parts() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  kern.launch @a grid [4, 3, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  // expected-remark@+1 {{Remark="the launch has no parts"}}
  kern.launch @b grid [1, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 0, 0>}
  return
}

// -----

// Negative: the reader needs the whole row of what four blocks wrote, or wrote other
// columns than it needs.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @whole
// CHECK-COUNT-3: kern.grid {
func.func @whole() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  kern.launch @a grid [4, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @b grid [4, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @c grid [4, 1, 1](%x, %y, %z : memref<1x128xf32>, memref<1x128xf32>, memref<1x128xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2, 4, 2>}
  return
}

// -----

// Negative: a buffer that a launch reads in two ways is read whole. So is one of which it
// says nothing.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @two_ways
// CHECK-COUNT-3: kern.grid {
func.func @two_ways() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  kern.launch @a grid [4, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @b grid [4, 1, 1](%x, %x, %y : memref<1x128xf32>, memref<1x128xf32>, memref<1x128xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2, 1, 2>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @b grid [4, 1, 1](%y, %z : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
  return
}

// -----

// Negative: @row_b reads @row_a's row at other places, which is fine while one block has
// all of it. The parts of @parts would cut both.

kern.kernel @row_a "rowwise" template "" params [] threads 256 dims [-1, 128] {
  %0 = kern.load 0 [128, 1] + 0 : f32
  kern.store %0 to 1 [128, 1] + 0 : f32
}
kern.kernel @row_b "rowwise" template "" params [] threads 256 dims [-1, 128] {
  %0 = kern.load 0 [128, 1] + 0 : f32
  kern.store %0 to 1 [128, 1] + 0 : f32
}
kern.kernel @parts "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @more_columns
// CHECK:         kern.chain 0 [1, 1] {
// CHECK-NEXT:      kern.launch @row_a grid [1, 1, 1]
// CHECK-NEXT:      kern.launch @row_b grid [1, 1, 1]
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @parts
// CHECK-NEXT: {{^ *}}}
func.func @more_columns() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  %u = kern.alloc "u" : memref<1x128xf32>
  kern.launch @row_a grid [1, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 3, 3>, tiling = array<i64: 1, 128>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @row_b grid [1, 1, 1](%y, %z : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 1, 3>, tiling = array<i64: 1, 128>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @parts grid [4, 1, 1](%z, %u : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2, 2>}
  return
}

// -----

// Negative: one block after nine others; eight are allowed, and with max-serial=16 more.

kern.kernel @nine "linear" template "Linear" params [1] threads 256 {}
kern.kernel @eight "linear" template "Linear" params [1] threads 256 {}
kern.kernel @one "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @serial
// CHECK:         kern.launch @nine
// CHECK:         kern.launch @eight
// CHECK-NEXT:      kern.launch @one
// SERIAL-LABEL: func.func @serial
// SERIAL:         kern.chain 0 [1, 1] {
// SERIAL-NEXT:      kern.launch @nine
// SERIAL-NEXT:      kern.launch @one
func.func @serial() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  %u = kern.alloc "u" : memref<1x128xf32>
  kern.launch @nine grid [9, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 9>, splits = array<i64: 0>}
  // expected-remark@+1 {{Remark="one block would do the work of 9"}}
  kern.launch @one grid [1, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 0, 0>}
  kern.launch @eight grid [8, 1, 1](%z : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 8>, splits = array<i64: 0>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @one grid [1, 1, 1](%z, %u : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 0, 0>}
  return
}

// -----

// Negative: two blocks' work is no more than eight, but their weight is too much for one.
// A block that does what it did before may move any number of bytes.

kern.kernel @heavy "linear" template "Linear" params [1] threads 256 {}
kern.kernel @one "linear" template "Linear" params [1] threads 256 {}
kern.kernel @two "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @bytes
// CHECK:         kern.chain 0 [1, 2] {
// CHECK-NEXT:      kern.launch @heavy
// CHECK-NEXT:      kern.launch @two
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 1] {
// CHECK-NEXT:      kern.launch @one
// CHECK-NEXT: {{^ *}}}
func.func @bytes() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  kern.launch @heavy grid [2, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 98304 : i64, memory_bytes = 1 : i64, flops = 0 : i64, parts = array<i64: 1, 2>, splits = array<i64: 2>}
  // expected-remark@+1 {{Remark="one block would move 98305 bytes"}}
  kern.launch @one grid [1, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @two grid [2, 1, 1](%x, %z : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 2>, splits = array<i64: 2, 2>}
  return
}

// -----

// Launches on one state keep their order: nothing says what a block touches of it, so
// that they share a block only when there is one. Other states do not matter.

glm.state @s : tensor<64x128xf32> tokens_per_row 1
glm.state @t : tensor<64x128xf32> tokens_per_row 1
kern.kernel @append "linear" template "Linear" params [1] threads 256 {}
kern.kernel @read "linear" template "Linear" params [1] threads 256 {}
kern.kernel @one "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @states
// CHECK:         %[[S:.*]] = kern.state @s
// CHECK:         %[[T:.*]] = kern.state @t
// CHECK:         kern.launch @append grid [4, 1, 1](%{{.*}}, %[[S]]
// CHECK:         kern.chain 0 [1, 1] {
// CHECK-NEXT:      kern.launch @one grid [1, 1, 1](%[[T]]
// CHECK-NEXT:      kern.launch @one grid [1, 1, 1](%[[T]]
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.launch @read grid [4, 1, 1](%[[S]]
// CHECK:         kern.launch @append grid [4, 1, 1](%{{.*}}, %[[S]]
func.func @states() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  %u = kern.alloc "u" : memref<1x128xf32>
  %s = kern.state @s : memref<64x128xf32>
  %t = kern.state @t : memref<64x128xf32>
  kern.launch @append grid [4, 1, 1](%x, %s : memref<1x128xf32>, memref<64x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2, 0>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @read grid [4, 1, 1](%s, %y : memref<64x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @append grid [4, 1, 1](%z, %s : memref<1x128xf32>, memref<64x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2, 0>}
  kern.launch @one grid [1, 1, 1](%t, %u : memref<64x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @one grid [1, 1, 1](%t, %u : memref<64x128xf32>, memref<1x128xf32>) writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 0, 0>}
  return
}

// -----

// A tap follows the grid of its buffer's last writer; taps keep their order.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @taps
// CHECK:         %[[X:.*]] = kern.alloc "x"
// CHECK:         kern.launch @a
// CHECK:         kern.launch @b
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    kern.tap "first" %[[X]]
// CHECK-NEXT:    kern.tap "second" %[[X]]
// CHECK-NEXT:    kern.tap "logits" %
// CHECK-NEXT:    return
func.func @taps() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  kern.launch @a grid [4, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2>}
  kern.tap "first" %x : memref<1x128xf32>
  kern.tap "second" %x : memref<1x128xf32>
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @b grid [4, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2, 2>}
  kern.tap "logits" %y : memref<1x128xf32>
  return
}

// -----

// A launch that overwrites what another reads comes after it, and a reader sees the last
// writer before it.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @overwritten
// CHECK:         kern.launch @a grid [4, 1, 1](%[[X:[0-9]+]] :
// CHECK:         kern.launch @b grid [6, 1, 1](%[[X]],
// CHECK:         kern.launch @a grid [4, 1, 1](%[[X]] :
// CHECK:         kern.launch @b grid [6, 1, 1](%[[X]],
func.func @overwritten() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  %y = kern.alloc "y" : memref<1x128xf32>
  %z = kern.alloc "z" : memref<1x128xf32>
  kern.launch @a grid [4, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2>}
  // expected-remark@+1 {{Remark="the parts of one do not divide those of the other"}}
  kern.launch @b grid [6, 1, 1](%x, %y : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 6>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="the parts of one do not divide those of the other"}}
  kern.launch @a grid [4, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2>}
  // expected-remark@+1 {{Remark="the parts of one do not divide those of the other"}}
  kern.launch @b grid [6, 1, 1](%x, %z : memref<1x128xf32>, memref<1x128xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 6>, splits = array<i64: 0, 0>}
  return
}

// -----

// Negative: a function of more rows than max-rows keeps its launches.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @many_rows
// CHECK-NOT:     kern.grid
// CHECK:         return
// expected-remark@+1 {{[Missed] fuse-blocks | Category:glm-fuse | Remark="more rows than max-rows: its launches are long"}}
func.func @many_rows() attributes {glm.sequences = 2 : i64, glm.tokens = 9 : i64} {
  %x = kern.alloc "x" : memref<1x128xf32>
  kern.launch @a grid [4, 1, 1](%x : memref<1x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2>}
  return
}

// -----

// Negative: a declaration has no launches.

func.func private @declared()

// -----

// What could start before the chain does, and reads much, leaves it: the product @down
// waits for @up alone, the mix for both. The same product of little weight stays, and so
// does one that starts no earlier than the chain.

kern.kernel @up "linear" template "Linear" params [1] threads 256 {}
kern.kernel @far "linear" template "Linear" params [1] threads 256 {}
kern.kernel @down "linear" template "Linear" params [1] threads 256 {}
kern.kernel @mix "linear" template "Linear" params [1] threads 256 {}
kern.kernel @tail "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @early
// CHECK:           kern.launch @far
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @down
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @mix
// CHECK-NEXT:      kern.launch @tail
// CHECK-NEXT: {{^ *}}}
// CHECK-LABEL: func.func @early_light
// CHECK:           kern.launch @far
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @down
// CHECK-NEXT:      kern.launch @mix
// CHECK-NEXT: {{^ *}}}
// CHECK-LABEL: func.func @not_early
// CHECK:           kern.launch @up
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @down
// CHECK-NEXT:      kern.launch @mix
// CHECK-NEXT: {{^ *}}}
// NEVER-LABEL: func.func @early
// NEVER:           kern.launch @far
// NEVER:         kern.chain 0 [1, 4] {
// NEVER-NEXT:      kern.launch @down
// NEVER-NEXT:      kern.launch @mix
// NEVER-NEXT:      kern.launch @tail
func.func @early() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x64xf32>
  %a = kern.alloc "a" : memref<1x64xf32>
  %b = kern.alloc "b" : memref<1x64xf32>
  %c = kern.alloc "c" : memref<1x64xf32>
  %d = kern.alloc "d" : memref<1x64xf32>
  %e = kern.alloc "e" : memref<1x64xf32>
  kern.launch @up grid [4, 1, 1](%x, %a : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @far grid [4, 1, 1](%a, %b : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 0>}
  // expected-remark@+2 {{Remark="a block needs what other blocks computed"}}
  // expected-remark@+1 {{Remark="starts before its consumer's other inputs are there"}}
  kern.launch @down grid [4, 1, 1](%a, %c : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 8388608 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @mix grid [4, 1, 1](%b, %c, %d : memref<1x64xf32>, memref<1x64xf32>, memref<1x64xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2, 2>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @tail grid [4, 1, 1](%d, %e : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 2, 2>}
  return
}
func.func @early_light() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x64xf32>
  %a = kern.alloc "a" : memref<1x64xf32>
  %b = kern.alloc "b" : memref<1x64xf32>
  %c = kern.alloc "c" : memref<1x64xf32>
  %d = kern.alloc "d" : memref<1x64xf32>
  %e = kern.alloc "e" : memref<1x64xf32>
  kern.launch @up grid [4, 1, 1](%x, %a : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @far grid [4, 1, 1](%a, %b : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @down grid [4, 1, 1](%a, %c : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 4096 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @mix grid [4, 1, 1](%b, %c, %d : memref<1x64xf32>, memref<1x64xf32>, memref<1x64xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2, 2>}
  return
}
func.func @not_early() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x64xf32>
  %a = kern.alloc "a" : memref<1x64xf32>
  %b = kern.alloc "b" : memref<1x64xf32>
  %c = kern.alloc "c" : memref<1x64xf32>
  %d = kern.alloc "d" : memref<1x64xf32>
  %e = kern.alloc "e" : memref<1x64xf32>
  kern.launch @up grid [4, 1, 1](%x, %a : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @down grid [4, 1, 1](%a, %c : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 8388608 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @mix grid [4, 1, 1](%a, %c, %d : memref<1x64xf32>, memref<1x64xf32>, memref<1x64xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 2, 2>}
  return
}

// -----

// @decay and @gate read much and wait for the small @a only, their chain for @far, which
// reads more than 16 times what @a does: they leave the chain, in as few blocks as the
// bytes of one allow.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @far "linear" template "Linear" params [1] threads 256 {}
kern.kernel @decay "linear" template "Linear" params [1] threads 256 {}
kern.kernel @gate "linear" template "Linear" params [1] threads 256 {}
kern.kernel @mix "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @eager
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @a
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @far
// CHECK:         kern.chain 0 [1, 32] {
// CHECK-NEXT:      kern.launch @decay
// CHECK-NEXT:      kern.launch @gate
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 64] {
// CHECK-NEXT:      kern.launch @mix
// NEVER-LABEL: func.func @eager
// NEVER:         kern.chain 0 [1, 64] {
// NEVER-NEXT:      kern.launch @decay
// NEVER-NEXT:      kern.launch @gate
// NEVER-NEXT:      kern.launch @mix
func.func @eager() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x64xf32>
  %y = kern.alloc "y" : memref<1x64xf32>
  %z = kern.alloc "z" : memref<1x64xf32>
  %u = kern.alloc "u" : memref<1x64xf32>
  %v = kern.alloc "v" : memref<1x64xf32>
  %w = kern.alloc "w" : memref<1x64xf32>
  kern.launch @a grid [4, 1, 1](%x, %y : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 65536 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 0>}
  kern.launch @far grid [4, 1, 1](%x, %z : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 2097152 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>, splits = array<i64: 0, 0>}
  // expected-remark@+2 {{Remark="a block needs what other blocks computed"}}
  // expected-remark@+1 {{Remark="runs beside what its consumer waits for"}}
  kern.launch @decay grid [128, 1, 1](%y, %u : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 2097152 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 128>, splits = array<i64: 0, 2>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @gate grid [128, 1, 1](%y, %v : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 2097152 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 128>, splits = array<i64: 0, 2>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @mix grid [64, 1, 1](%z, %u, %v, %w : memref<1x64xf32>, memref<1x64xf32>, memref<1x64xf32>, memref<1x64xf32>) writes [3] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 64>, splits = array<i64: 0, 2, 2, 2>}
  return
}

// -----

// One block does all work on a row. What is wanted later than the rest of it gets a block
// of its own, with all that hangs on it: @post and @balance here, of which the last launch
// reads, while @next waits for @norm. A chain that is wanted all at once stays whole.

kern.kernel @rms "linear" template "Linear" params [1] threads 256 {}
kern.kernel @post "linear" template "Linear" params [1] threads 256 {}
kern.kernel @balance "linear" template "Linear" params [1] threads 256 {}
kern.kernel @norm "linear" template "Linear" params [1] threads 256 {}
kern.kernel @next "linear" template "Linear" params [1] threads 256 {}
kern.kernel @last "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @late
// CHECK:         kern.chain 0 [1, 1] {
// CHECK-NEXT:      kern.launch @rms
// CHECK-NEXT:      kern.launch @norm
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.chain 0 [1, 1] {
// CHECK-NEXT:      kern.launch @post
// CHECK-NEXT:      kern.launch @balance
// CHECK-NEXT: {{^ *}}}
// CHECK-LABEL: func.func @at_once
// CHECK:         kern.chain 0 [1, 1] {
// CHECK-NEXT:      kern.launch @rms
// CHECK-NEXT:      kern.launch @post
// CHECK-NEXT:      kern.launch @balance
// CHECK-NEXT:      kern.launch @norm
// CHECK-NEXT: {{^ *}}}
func.func @late() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x64xf32>
  %a = kern.alloc "a" : memref<1x64xf32>
  %b = kern.alloc "b" : memref<1x64xf32>
  %c = kern.alloc "c" : memref<1x64xf32>
  %d = kern.alloc "d" : memref<1x64xf32>
  %e = kern.alloc "e" : memref<1x64xf32>
  %f = kern.alloc "f" : memref<1x64xf32>
  kern.launch @rms grid [1, 1, 1](%x, %a : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 1, 1>}
  // expected-remark@+2 {{Remark="nothing waits for it yet, and others wait for its block"}}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @post grid [1, 1, 1](%a, %b : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 1, 1>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @balance grid [1, 1, 1](%b, %c : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 1, 1>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @norm grid [1, 1, 1](%a, %d : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 1, 1>}
  // expected-remark@+1 {{Remark="one block would do the work of 16"}}
  kern.launch @next grid [16, 1, 1](%d, %e : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 16>, splits = array<i64: 0, 0>}
  // expected-remark@+1 {{Remark="a block needs what other blocks computed"}}
  kern.launch @last grid [16, 1, 1](%e, %c, %f : memref<1x64xf32>, memref<1x64xf32>, memref<1x64xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 16>, splits = array<i64: 0, 0, 0>}
  return
}
func.func @at_once() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %x = kern.alloc "x" : memref<1x64xf32>
  %a = kern.alloc "a" : memref<1x64xf32>
  %b = kern.alloc "b" : memref<1x64xf32>
  %c = kern.alloc "c" : memref<1x64xf32>
  %d = kern.alloc "d" : memref<1x64xf32>
  %e = kern.alloc "e" : memref<1x64xf32>
  %f = kern.alloc "f" : memref<1x64xf32>
  kern.launch @rms grid [1, 1, 1](%x, %a : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 1, 1>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @post grid [1, 1, 1](%a, %b : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 1, 1>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @balance grid [1, 1, 1](%b, %c : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 1, 1>}
  // expected-remark@+1 {{Remark="runs on in its producer's blocks"}}
  kern.launch @norm grid [1, 1, 1](%a, %d : memref<1x64xf32>, memref<1x64xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>, splits = array<i64: 1, 1>}
  // expected-remark@+1 {{Remark="one block would do the work of 16"}}
  kern.launch @last grid [16, 1, 1](%d, %c, %f : memref<1x64xf32>, memref<1x64xf32>, memref<1x64xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 16>, splits = array<i64: 0, 0, 0>}
  return
}
