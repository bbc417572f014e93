// RUN: glm-opt %s | glm-opt | FileCheck %s

// Every table of plan.fbs, printed and parsed again.

// CHECK: plan.plan attributes {fuse = "on", math = "bf16", producer = "test"} {
plan.plan attributes {producer = "test", math = "bf16", fuse = "on"} {
  // CHECK: plan.model {experts = 14 : i64, experts_per_token = 4 : i64, hidden = 256 : i64, layers = 8 : i64, max_context = 4096 : i64, name = "glm5_next", pool_tokens = 4 : i64, vocab = 2048 : i64}
  plan.model {name = "glm5_next", layers = 8 : i64, hidden = 256 : i64, vocab = 2048 : i64, pool_tokens = 4 : i64,
              max_context = 4096 : i64, experts = 14 : i64, experts_per_token = 4 : i64}
  // CHECK: plan.generation {stop_ids = array<i32: 1, 2>, temperature = 1.000000e+00 : f32, top_p = 5.000000e-01 : f32}
  plan.generation {stop_ids = array<i32: 1, 2>, temperature = 1.0 : f32, top_p = 0.5 : f32}
  // CHECK: plan.weight_file {fingerprint = -1 : i64, path = "model.safetensors", size = 4096 : i64}
  plan.weight_file {path = "model.safetensors", size = 4096 : i64, fingerprint = -1 : i64}
  // CHECK: plan.weight {dtype = bf16, form = "DENSE", group = 0 : i64, name = "norm", pieces = array<i64: 0, 256, 512>, shape = array<i64: 256>}
  plan.weight {name = "norm", form = "DENSE", dtype = bf16, shape = array<i64: 256>, group = 0 : i64,
               pieces = array<i64: 0, 256, 512>}
  // CHECK: plan.expert_rows {weights = array<i64: 1, 2, 3>}
  plan.expert_rows {weights = array<i64: 1, 2, 3>}
  // CHECK: plan.state {bytes_per_slot = 512 : i64, dtype = bf16, name = "latent", shape = array<i64: 64, 4>, tokens_per_row = 1 : i64}
  plan.state {name = "latent", dtype = bf16, shape = array<i64: 64, 4>, bytes_per_slot = 512 : i64, tokens_per_row = 1 : i64}
  // CHECK: plan.kernel attributes {dims = array<i64: -1, 8>, {{.*}}op = "rowwise"{{.*}}tiles = 2 : i64} {
  plan.kernel attributes {name = "row", op = "rowwise", threads = 256 : i64, params = array<i64>, dims = array<i64: -1, 8>,
                          operand_count = 1 : i64, result_count = 1 : i64, tiles = 2 : i64} {
    // CHECK-NEXT: plan.row_inst {a = 0 : i64, b = 0 : i64, coeff = array<i64: 8, 1>, dtype = f32, imm = 0.000000e+00 : f32, offset = 0 : i64, op = "LOAD"}
    plan.row_inst {op = "LOAD", a = 0 : i64, b = 0 : i64, imm = 0.0 : f32, coeff = array<i64: 8, 1>, offset = 0 : i64, dtype = f32}
  }
  // CHECK: plan.kernel attributes {dims = array<i64>, {{.*}}op = "embed"{{.*}}} {
  plan.kernel attributes {name = "Embed", op = "embed", threads = 256 : i64, params = array<i64: 1, 1, 8, 4>, dims = array<i64>,
                          operand_count = 0 : i64, result_count = 0 : i64} {}
  // CHECK: plan.entry attributes {{{.*}}kind = "DECODE"{{.*}}} {
  plan.entry attributes {name = "decode_b1", kind = "DECODE", sequences = 1 : i64, tokens = 1 : i64, logit_rows = 1 : i64,
                         arena_bytes = 256 : i64, ids = 0 : i64, seqs = 0 : i64, rows = 0 : i64, logits = 0 : i64} {
    // CHECK-NEXT: plan.buffer {dtype = f32, first = 0 : i64, last = 0 : i64, name = "x", offset = 0 : i64, shape = array<i64: 1, 8>, size = 32 : i64}
    plan.buffer {name = "x", dtype = f32, shape = array<i64: 1, 8>, offset = 0 : i64, size = 32 : i64, first = 0 : i64, last = 0 : i64}
    // CHECK-NEXT: plan.launch {args = array<i64: 0, 0, 0, 3, 0, 1>, flops = 0 : i64, grid = array<i64: 1, 1, 1>, kernel = 0 : i64, memory_bytes = 0 : i64, origin = "x", weight_bytes = 0 : i64}
    plan.launch {kernel = 0 : i64, grid = array<i64: 1, 1, 1>, args = array<i64: 0, 0, 0, 3, 0, 1>, origin = "x",
                 weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
    // CHECK-NEXT: plan.group {chains = array<i64: 1, 0, 1, 1, 0>, first = 0 : i64, kernel = 1 : i64}
    plan.group {kernel = 1 : i64, first = 0 : i64, chains = array<i64: 1, 0, 1, 1, 0>}
    // CHECK-NEXT: plan.tap {after = 0 : i64, buffer = 0 : i64, name = "t"}
    plan.tap {name = "t", buffer = 0 : i64, after = 0 : i64}
  }
}
