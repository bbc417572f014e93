// RUN: glm-opt %s --split-input-file --glm-lower-to-plan --verify-diagnostics | FileCheck %s

// Names become indices in the order of the tables: weights, states, kernels, buffers.
// Arguments are triples (kind, index, value): 0 buffer, 1 weight, 2 state, 3 scalar,
// 4 pager.

// CHECK:      plan.plan attributes {fuse = "off", math = "bf16", producer = "test"} {
// CHECK-NEXT:   plan.model {experts = 0 : i64, experts_per_token = 0 : i64, hidden = 8 : i64, layers = 1 : i64, max_context = 64 : i64, name = "m", pool_tokens = 4 : i64, vocab = 0 : i64}
// CHECK-NEXT:   plan.generation {stop_ids = array<i32: 7>, temperature = 5.000000e-01 : f32, top_p = 1.000000e+00 : f32}
// CHECK-NEXT:   plan.weight_file {fingerprint = 3 : i64, path = "a.safetensors", size = 4096 : i64}
module attributes {
  glm.producer = "test", glm.math = "bf16", glm.fuse = "off",
  glm.model = {name = "m", layers = 1 : i64, hidden = 8 : i64, max_context = 64 : i64, pool_tokens = 4 : i64},
  glm.generation = {stop_ids = array<i32: 7>, temperature = 5.0e-1 : f32},
  glm.expert_rows = [[@dense], [@codes]],
  glm.weight_files = [{path = "a.safetensors", size = 4096 : i64, fingerprint = 3 : i64}]
} {
  // CHECK-NEXT: plan.weight {dtype = bf16, form = "DENSE", group = 0 : i64, name = "w", pieces = array<i64: 0, 256, 128>, shape = array<i64: 8, 8>}
  glm.weight @w : tensor<8x8xbf16> pieces [0, 256, 128]
  // CHECK-NEXT: plan.weight {dtype = bf16, form = "EXPERTS_DENSE", {{.*}}name = "dense"
  glm.weight @dense experts : tensor<2x8x8xbf16>
  // The codes of a quantised weight are words of 32 bits.
  // CHECK-NEXT: plan.weight {dtype = i32, form = "EXPERTS_GPTQ4", group = 16 : i64, name = "codes", pieces = array<i64>, shape = array<i64: 2, 8, 32>}
  glm.weight @codes experts : tensor<2x8x32xi4, #glm.group_quant<group = 16>>
  // CHECK-NEXT: plan.weight {dtype = i32, form = "DENSE_GPTQ4", group = 16 : i64, name = "int4", pieces = array<i64: 0, 0, 128, 0, 128, 32>, shape = array<i64: 8, 32>}
  glm.weight @int4 : tensor<8x32xi4, #glm.group_quant<group = 16>> pieces [0, 0, 128, 0, 128, 32]
  // CHECK-NEXT: plan.weight {dtype = i32, form = "DENSE_INT8", group = 128 : i64, name = "int8", pieces = array<i64>, shape = array<i64: 8, 32>}
  glm.weight @int8 : tensor<8x32xi8, #glm.group_quant<group = 128>>
  // A row of experts is its weights' numbers, layer by layer.
  // CHECK-NEXT: plan.expert_rows {weights = array<i64: 1>}
  // CHECK-NEXT: plan.expert_rows {weights = array<i64: 2>}
  // A slot is rounded up to 256 bytes.
  // CHECK-NEXT: plan.state {bytes_per_slot = 256 : i64, dtype = f32, name = "window", shape = array<i64: 8, 3>, tokens_per_row = 0 : i64}
  glm.state @window : tensor<8x3xf32>
  // CHECK-NEXT: plan.state {bytes_per_slot = 1024 : i64, {{.*}}name = "cache", {{.*}}tokens_per_row = 1 : i64}
  glm.state @cache : tensor<64x8xbf16> tokens_per_row 1

  // CHECK-NEXT: plan.kernel attributes {dims = array<i64>, name = "linear", op = "linear", operand_count = 0 : i64, params = array<i64: 1, 2>, result_count = 0 : i64, threads = 256 : i64} {
  // CHECK-NEXT: }
  kern.kernel @linear "linear" template "Linear" params [1, 2] threads 256 {}
  // A row program: `a` of a load is the operand, of a store the result, otherwise an
  // instruction; both stores of one result count once.
  // CHECK-NEXT: plan.kernel attributes {dims = array<i64: -1, 8>, name = "row", op = "rowwise", operand_count = 2 : i64, params = array<i64>, result_count = 1 : i64, threads = 256 : i64} {
  kern.kernel @row "rowwise" template "" params [] threads 256 dims [-1, 8] {
    // CHECK-NEXT: plan.row_inst {a = 0 : i64, b = 0 : i64, coeff = array<i64: 8, 1>, dtype = bf16, imm = 0.000000e+00 : f32, offset = 0 : i64, op = "LOAD"}
    %0 = kern.load 0 [8, 1] + 0 : bf16
    // CHECK-NEXT: plan.row_inst {a = 1 : i64, {{.*}}offset = 3 : i64, op = "LOAD"}
    %1 = kern.load 1 [0, 1] + 3 : f32
    // CHECK-NEXT: plan.row_inst {{{.*}}imm = 2.000000e+00 : f32, {{.*}}op = "CONST"}
    %2 = arith.constant 2.0 : f32
    // CHECK-NEXT: plan.row_inst {a = 0 : i64, b = 1 : i64, coeff = array<i64>, {{.*}}op = "SUB"}
    %3 = arith.subf %0, %1 : f32
    // CHECK-NEXT: {a = 3 : i64, b = 2 : i64, {{.*}}op = "DIV"}
    %4 = arith.divf %3, %2 : f32
    // CHECK-NEXT: {a = 4 : i64, {{.*}}op = "REDUCE_MAX"}
    %5 = kern.row_reduce "max" %4
    // CHECK-NEXT: {a = 5 : i64, {{.*}}op = "SIGMOID"}
    %6 = glm.sigmoid %5
    // CHECK-NEXT: {a = 0 : i64, b = 6 : i64, {{.*}}offset = 0 : i64, op = "STORE"}
    kern.store %6 to 2 [16, 1] + 0 : f32
    // CHECK-NEXT: {a = 0 : i64, b = 4 : i64, {{.*}}offset = 8 : i64, op = "STORE"}
    kern.store %4 to 2 [16, 1] + 8 : f32
  }

  // CHECK:      plan.entry attributes {arena_bytes = 1024 : i64, ids = 0 : i64, kind = "PREFILL", logit_rows = 2 : i64, logits = 3 : i64, name = "prefill", rows = 2 : i64, seqs = 1 : i64, sequences = 1 : i64, tokens = 2 : i64} {
  func.func @prefill() attributes {glm.kind = "PREFILL", glm.sequences = 1 : i64, glm.tokens = 2 : i64, glm.arena_bytes = 1024 : i64} {
    // CHECK-NEXT: plan.buffer {dtype = i32, first = 0 : i64, last = 1 : i64, name = "ids", offset = 0 : i64, shape = array<i64: 2>, size = 8 : i64}
    %ids = kern.alloc "ids" {offset = 0 : i64, first = 0 : i64, last = 1 : i64} : memref<2xi32>
    // CHECK-NEXT: plan.buffer {{.*}}name = "seqs"
    %seqs = kern.alloc "seqs" {offset = 256 : i64, first = 0 : i64, last = 1 : i64} : memref<1x4xi32>
    // CHECK-NEXT: plan.buffer {{.*}}name = "rows"
    %rows = kern.alloc "rows" {offset = 512 : i64, first = 0 : i64, last = 1 : i64} : memref<2xi32>
    // CHECK-NEXT: plan.buffer {{.*}}name = "y"
    %y = kern.alloc "y" {offset = 768 : i64, first = 0 : i64, last = 1 : i64} : memref<2x8xf32>
    %w = kern.weight @codes : memref<2x8x32xi4>
    %s = kern.state @cache : memref<64x8xbf16>
    %minus = arith.constant -1 : i64
    // A float is its bits: 1.0 is 0x3f800000.
    %one = arith.constant 1.0 : f32
    // CHECK-NEXT: plan.launch {args = array<i64: 0, 1, 0, 3, 0, -1, 1, 2, 0, 2, 1, 0, 3, 0, 1065353216, 0, 3, 0>, flops = 3 : i64, grid = array<i64: 4, 5, 6>, kernel = 0 : i64, memory_bytes = 2 : i64, origin = "layers.0.q", weight_bytes = 1 : i64}
    kern.launch @linear grid [4, 5, 6](%seqs, %minus, %w, %s, %one, %y
        : memref<1x4xi32>, i64, memref<2x8x32xi4>, memref<64x8xbf16>, f32, memref<2x8xf32>)
        writes [5] {weight_bytes = 1 : i64, memory_bytes = 2 : i64, flops = 3 : i64} loc("layers.0.q")
    // CHECK-NEXT: plan.tap {after = 0 : i64, buffer = 3 : i64, name = "first"}
    kern.tap "first" %y : memref<2x8xf32>
    // CHECK-NEXT: plan.launch {args = array<i64: 0, 3, 0>, {{.*}}kernel = 1 : i64
    kern.launch @row grid [1, 1, 1](%y : memref<2x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
    %p = kern.pager : memref<288xi8>
    // CHECK-NEXT: plan.launch {args = array<i64: 4, 0, 0, 0, 3, 0>,
    kern.launch @row grid [1, 1, 1](%p, %y : memref<288xi8>, memref<2x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
    // The tap `logits` is the entry's result and no tap of the plan.
    // CHECK-NOT: plan.tap
    kern.tap "logits" %y : memref<2x8xf32>
    return
  }
}

// -----

// A grid is its launches in order and a group over them: quadruples (launches, phase,
// rows, columns). A launch outside of grids counts as well; a tap after a grid shows what
// the grid's last launch left.

// CHECK:      plan.kernel attributes {{{.*}}name = "group_1", op = "group"
kern.kernel @group_1 "group" template "" params [] threads 256 {}
// CHECK:      plan.kernel attributes {{{.*}}name = "k"
kern.kernel @k "linear" template "Linear" params [] threads 256 {}
// CHECK:      plan.kernel attributes {{{.*}}name = "row_x4", {{.*}}threads = 256 : i64, tiles = 4 : i64}
kern.kernel @row_x4 "rowwise" template "" params [] threads 256 dims [-1, 8] tiles 4 {
  %0 = kern.load 0 [8, 1] + 0 : f32
  kern.store %0 to 1 [8, 1] + 0 : f32
}
// CHECK:      plan.entry
// CHECK:        plan.buffer {{.*}}name = "x"
// CHECK-NEXT:   plan.launch {{{.*}}kernel = 1 : i64
// CHECK-NEXT:   plan.launch {{{.*}}grid = array<i64: 1, 8, 1>, kernel = 1 : i64
// CHECK-NEXT:   plan.launch {{{.*}}grid = array<i64: 4, 1, 1>, kernel = 2 : i64
// CHECK-NEXT:   plan.launch {{{.*}}grid = array<i64: 2, 1, 1>, kernel = 1 : i64
// CHECK-NEXT:   plan.group {chains = array<i64: 2, 0, 1, 4, 0, 1, 1, 2, 1, 0>, first = 1 : i64, kernel = 0 : i64}
// CHECK-NEXT:   plan.tap {after = 3 : i64, buffer = 0 : i64, name = "t"}
// CHECK-NEXT:   plan.launch
// CHECK-NOT:    plan.group
func.func @groups() {
  %x = kern.alloc "x" {offset = 0 : i64, first = 0 : i64, last = 4 : i64} : memref<1x8xf32>
  kern.launch @k grid [1, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  kern.grid @group_1 {
    kern.chain 0 [1, 4] {
      kern.launch @k grid [1, 8, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 8>}
      kern.launch @row_x4 grid [4, 1, 1](%x, %x : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
    kern.chain 1 [2, 1] {
      kern.launch @k grid [2, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 1>}
    }
  }
  kern.tap "t" %x : memref<1x8xf32>
  kern.launch @k grid [1, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

// Negative: a grid that no kernel was made for.

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @not_outlined() {
  %x = kern.alloc "x" {offset = 0 : i64, first = 0 : i64, last = 0 : i64} : memref<1x8xf32>
  // expected-error@+1 {{has no kernel; run --glm-outline-grids first}}
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @k grid [1, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  return
}

// -----

// A module without facts has a plan with empty ones; taps before the first launch see
// the state after it.

// CHECK:      plan.plan attributes {fuse = "", math = "", producer = "glm-opt"}
// CHECK:        plan.generation {stop_ids = array<i32>, temperature = 1.000000e+00 : f32, top_p = 1.000000e+00 : f32}
// CHECK:        plan.tap {after = 0 : i64, buffer = 0 : i64, name = "input"}
func.func @bare() {
  %ids = kern.alloc "ids" {offset = 0 : i64, first = 0 : i64, last = 0 : i64} : memref<2xi32>
  kern.tap "input" %ids : memref<2xi32>
  return
}

// -----

// Negative: buffers without offsets.

func.func @no_offset() {
  // expected-error@+1 {{has no offset; run --glm-plan-memory first}}
  %x = kern.alloc "x" : memref<2xf32>
  return
}

// -----

// Negative: scalar math that the row programs of a plan lack.

kern.kernel @row "rowwise" template "" params [] threads 256 dims [-1, 8] {
  %0 = kern.load 0 [8, 1] + 0 : f32
  // expected-error@+1 {{has no form in a row program}}
  %1 = math.tanh %0 : f32
  kern.store %1 to 1 [8, 1] + 0 : f32
}

// -----

// Negative: an argument whose origin the plan cannot name.

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @argument(%x: memref<2xf32>) {
  // expected-error@+1 {{has an argument that is no buffer, weight, state, pager or constant}}
  kern.launch @k grid [1, 1, 1](%x : memref<2xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}
