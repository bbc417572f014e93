// RUN: glm-opt %s --split-input-file --verify-diagnostics

// One case for each label of PlanOps.td.

plan.plan attributes {producer = "", math = "", fuse = ""} {
  // weight_c1
  // expected-error@+1 {{expects pieces in triples (file, offset, size)}}
  plan.weight {name = "w", form = "DENSE", dtype = bf16, shape = array<i64: 8>, group = 0 : i64, pieces = array<i64: 0, 16>}
}

// -----

plan.plan attributes {producer = "", math = "", fuse = ""} {
  plan.entry attributes {name = "e", kind = "DECODE", sequences = 1 : i64, tokens = 1 : i64, logit_rows = 1 : i64,
                         arena_bytes = 0 : i64, ids = 0 : i64, seqs = 0 : i64, rows = 0 : i64, logits = 0 : i64} {
    // buffer_c1
    // expected-error@+1 {{expects at least 32 bytes}}
    plan.buffer {name = "x", dtype = f32, shape = array<i64: 1, 8>, offset = 0 : i64, size = 31 : i64, first = 0 : i64, last = 0 : i64}
  }
}

// -----

plan.plan attributes {producer = "", math = "", fuse = ""} {
  plan.entry attributes {name = "e", kind = "DECODE", sequences = 1 : i64, tokens = 1 : i64, logit_rows = 1 : i64,
                         arena_bytes = 0 : i64, ids = 0 : i64, seqs = 0 : i64, rows = 0 : i64, logits = 0 : i64} {
    // launch_c1
    // expected-error@+1 {{expects args in triples (kind, index, value)}}
    plan.launch {kernel = 0 : i64, grid = array<i64: 1, 1, 1>, args = array<i64: 0, 0>, origin = "",
                 weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  }
}

// -----

plan.plan attributes {producer = "", math = "", fuse = ""} {
  plan.entry attributes {name = "e", kind = "DECODE", sequences = 1 : i64, tokens = 1 : i64, logit_rows = 1 : i64,
                         arena_bytes = 0 : i64, ids = 0 : i64, seqs = 0 : i64, rows = 0 : i64, logits = 0 : i64} {
    // group_c1
    // expected-error@+1 {{expects chains of (launches, phase, rows, columns, slack)}}
    plan.group {kernel = 0 : i64, first = 0 : i64, chains = array<i64: 1, 0, 1, 1>}
  }
}

// -----

plan.plan attributes {producer = "", math = "", fuse = ""} {
  plan.entry attributes {name = "e", kind = "DECODE", sequences = 1 : i64, tokens = 1 : i64, logit_rows = 1 : i64,
                         arena_bytes = 0 : i64, ids = 0 : i64, seqs = 0 : i64, rows = 0 : i64, logits = 0 : i64} {
    // group_c1
    // expected-error@+1 {{expects chains of (launches, phase, rows, columns, slack)}}
    plan.group {kernel = 0 : i64, first = 0 : i64, chains = array<i64>}
  }
}

// -----

// Tables stand where the schema has them.
// expected-error@+1 {{expects parent op 'plan.plan'}}
plan.weight_file {path = "", size = 0 : i64, fingerprint = 0 : i64}
