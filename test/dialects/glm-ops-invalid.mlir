// RUN: glm-opt %s --split-input-file --verify-diagnostics

// One case for each way to break a label of docs/spec/glm-ops.md; functions are named
// after the operation and the label.

// weight_c1
// expected-error@+1 {{expects 1 pieces (file, offset, size), got 6 numbers}}
glm.weight @weight_c1 : tensor<4x8xbf16> pieces [0, 0, 64, 0, 64, 64]

// -----

// weight_c1: codes and scales of two experts
// expected-error@+1 {{expects 4 pieces (file, offset, size), got 6 numbers}}
glm.weight @weight_c1 experts : tensor<2x8x32xi4, #glm.group_quant<group = 16>> pieces [0, 0, 128, 0, 128, 128]

// -----

// weight_c2
// expected-error@+1 {{expects experts of shape [E, N, K], got 'tensor<4x8xbf16>'}}
glm.weight @weight_c2 experts : tensor<4x8xbf16>

// -----

// weight_c2: codes without scales
// expected-error@+1 {{expects #glm.group_quant of a positive group exactly for i4 and i8}}
glm.weight @weight_c2 experts : tensor<2x8x32xi4>

// -----

// weight_c2: an encoding of floats
// expected-error@+1 {{expects #glm.group_quant of a positive group exactly for i4 and i8}}
glm.weight @weight_c2 experts : tensor<2x8x32xbf16, #glm.group_quant<group = 16>>

// -----

// weight_c2: experts have codes of four bits
// expected-error@+1 {{expects codes of experts to be i4, others of shape [N, K]}}
glm.weight @weight_c2 experts : tensor<2x8x32xi8, #glm.group_quant<group = 16>>

// -----

// weight_c1: codes and scales
// expected-error@+1 {{expects 2 pieces (file, offset, size), got 3 numbers}}
glm.weight @weight_c1 : tensor<8x32xi8, #glm.group_quant<group = 16>> pieces [0, 0, 256]

// -----

// weight_c1: of two ranks
module attributes {glm.ranks = 2 : i64} {
  // expected-error@+1 {{expects 1 pieces (file, offset, size), of all or of each of 2 ranks, got 9 numbers}}
  glm.weight @weight_c1 : tensor<4x8xbf16> pieces [0, 0, 64, 0, 64, 64, 0, 128, 64]
}

// -----

// weight_c4: codes and scales
// expected-error@+1 {{expects 2 cuts (rows, bytes, stride), got 3 numbers}}
glm.weight @weight_c4 : tensor<8x32xi8, #glm.group_quant<group = 16>> pieces [0, 0, 480, 0, 512, 60] cuts [8, 32, 64]

// -----

// weight_c4
// expected-error@+1 {{expects pieces where it has cuts}}
glm.weight @weight_c4 : tensor<4x8xbf16> cuts [4, 16, 32]

// -----

func.func @all_reduce_c1(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects a result of the input's type 'tensor<2x8xf32>'}}
  glm.all_reduce %x : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @all_gather_c1(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects a result of ranks x the input's type 'tensor<2x8xf32>'}}
  glm.all_gather %x : (tensor<2x8xf32>) -> tensor<2x16xf32>
  return
}

// -----

// weight_c3: what is stored needs no source
// expected-error@+1 {{expects a source (file, offset, size) of a float type only for a quantised matrix}}
glm.weight @weight_c3 : tensor<8x32xbf16> from bf16 [0, 0, 512]

// -----

// weight_c3: pieces or a source
// expected-error@+1 {{expects a source (file, offset, size) of a float type only for a quantised matrix}}
glm.weight @weight_c3 : tensor<8x32xi8, #glm.group_quant<group = 16>> pieces [0, 0, 256, 0, 256, 32] from bf16 [0, 0, 512]

// -----

// weight_c3: a source is one matrix
// expected-error@+1 {{expects a source (file, offset, size) of a float type only for a quantised matrix}}
glm.weight @weight_c3 : tensor<8x32xi4, #glm.group_quant<group = 16>> from bf16 [0, 0]

// -----

func.func @linear_c3(%x: tensor<4x32xf32>, %w: tensor<8x32xi4>) {
  // expected-error@+1 {{expects a weight of codes to have #glm.group_quant}}
  %0 = glm.linear %x, %w : (tensor<4x32xf32>, tensor<8x32xi4>) -> tensor<4x8xf32>
  return
}

// -----

// weight_c2: no group
// expected-error@+1 {{expects #glm.group_quant of a positive group exactly for i4 and i8}}
glm.weight @weight_c2 experts : tensor<2x8x32xi4, #glm.group_quant<group = 0>>

// -----

// weight_c2: a quantised weight that is no stack of experts is a matrix
// expected-error@+1 {{expects codes of experts to be i4, others of shape [N, K]}}
glm.weight @weight_c2 : tensor<2x8x32xi4, #glm.group_quant<group = 16>>

// -----

// A type, hence without a label: sizes are static everywhere.
// expected-error@+1 {{static shape}}
glm.weight @weight_type : tensor<?x8xbf16>

// -----

glm.weight @w : tensor<4x8xbf16>
func.func @get_weight_c1() {
  // expected-error@+1 {{expects 'tensor<4x8xbf16>', got 'tensor<8x4xbf16>'}}
  %0 = glm.get_weight @w : tensor<8x4xbf16>
  return
}

// -----

glm.state @s : tensor<4x8xbf16>
func.func @get_weight_c1() {
  // expected-error@+1 {{names no weight: @s}}
  %0 = glm.get_weight @s : tensor<4x8xbf16>
  return
}

// -----

func.func @rowwise_c1(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects a domain of two or more positive dimensions}}
  %y = glm.rowwise [2] ins(%x : tensor<2x8xf32>) maps [affine_map<(t) -> (t, 0)>]
      outs [affine_map<(t) -> (t, 0)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c1(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects a domain of two or more positive dimensions}}
  %y = glm.rowwise [2, 0] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c2(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects 1 input maps, got 0}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps []
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c2(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{input 0 expects a map of 2 dims to 2, got affine_map<(d0, d1) -> (d1)>}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c2(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{input 0 expects a map of 2 dims to 2, got affine_map<(d0, d1, d2) -> (d0, d1)>}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c, e) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c2(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{output 0 expects a map of 2 dims to 2, got affine_map<(d0, d1) -> (d0)>}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c2(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{input 0 expects a map of 2 dims to 2}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c)[s] -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c3(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{input 0 map is not linear}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c floordiv 2)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c3(%x: tensor<2x8xf32>) {
  // Each point lies inside, but no stride describes it.
  // expected-error@+1 {{input 0 map is not linear}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c mod 4)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c3(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{input 0 map is not linear}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, (c floordiv 2) * 2)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c3(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{input 0 leaves its tensor: affine_map<(d0, d1) -> (d0, d1 + 1)> over a dimension of 8}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c + 1)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c3(%x: tensor<2x8xf32>) {
  // The last column is -1; the first one lies inside.
  // expected-error@+1 {{input 0 leaves its tensor: affine_map<(d0, d1) -> (d0, -d1 + 6)> over a dimension of 8}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, 6 - c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c3(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{output 0 leaves its tensor: affine_map<(d0, d1) -> (d0, d1)> over a dimension of 4}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x4xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c4(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects an output map and a target for each of 2 yielded values}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a, %a : f32, f32
  }
  return
}

// -----

func.func @rowwise_c4(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects an output map and a target for each of 1 yielded values}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0, 0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c4(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{target 1 is no result}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [1] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c4(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{leaves a result unwritten}}
  %y:2 = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c5(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects one block argument for each input}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    glm.yield %a : f32
  }
  return
}

// -----

func.func @rowwise_c5(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects f32 block arguments}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: bf16):
    %0 = arith.extf %a : bf16 to f32
    glm.yield %0 : f32
  }
  return
}

// -----

// A type, hence without a label: only numbers that widen to f32 are loaded.
func.func @rowwise_type(%x: tensor<2x8xi32>) {
  // expected-error@+1 {{operand #0 must be variadic of tensor of static shape, rank 1 or more, of 32-bit float or bfloat16 type or 16-bit float values}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xi32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    glm.yield %a : f32
  }
  return
}

// -----

// A body stands alone: it becomes a kernel.
func.func @rowwise_isolated(%x: tensor<2x8xf32>) {
  %two = arith.constant 2.0 : f32
  // expected-note@+1 {{required by region isolation constraints}}
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    // expected-error@+1 {{using value defined outside the region}}
    %0 = arith.mulf %a, %two : f32
    glm.yield %0 : f32
  }
  return
}

// -----

func.func @row_reduce_c1(%x: tensor<2x8xf32>) {
  %y = glm.rowwise [2, 8] ins(%x : tensor<2x8xf32>) maps [affine_map<(t, c) -> (t, c)>]
      outs [affine_map<(t, c) -> (t, c)>] targets [0] -> (tensor<2x8xf32>) {
  ^bb0(%a: f32):
    // expected-error@+1 {{expects kind add or max, got min}}
    %0 = glm.row_reduce "min" %a
    glm.yield %0 : f32
  }
  return
}

// -----

func.func @embed_c1(%ids: tensor<2xi32>, %w: tensor<64x32xbf16>) {
  // expected-error@+1 {{expects result of shape [2, 32], got [2, 16]}}
  %y = glm.embed %ids, %w : (tensor<2xi32>, tensor<64x32xbf16>) -> tensor<2x16xbf16>
  return
}

// -----

func.func @embed_c1(%ids: tensor<2xi32>, %w: tensor<64x2x16xbf16>) {
  // expected-error@+1 {{expects a table of two dimensions}}
  %y = glm.embed %ids, %w : (tensor<2xi32>, tensor<64x2x16xbf16>) -> tensor<2x32xbf16>
  return
}

// -----

func.func @gather_rows_c1(%x: tensor<2x4x8xbf16>, %rows: tensor<3xi32>) {
  // expected-error@+1 {{expects result of shape [3, 4, 8], got [2, 4, 8]}}
  %y = glm.gather_rows %x, %rows : (tensor<2x4x8xbf16>, tensor<3xi32>) -> tensor<2x4x8xbf16>
  return
}

// -----

func.func @linear_c1(%x: tensor<2x4x8xbf16>, %w: tensor<8x16xbf16>) {
  // expected-error@+1 {{expects rows of 16 elements, got 32}}
  %y = glm.linear %x, %w : (tensor<2x4x8xbf16>, tensor<8x16xbf16>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @linear_c1(%x: tensor<2x16xbf16>, %w: tensor<8x4x16xbf16>) {
  // expected-error@+1 {{expects input [T, ...K] and a weight [N, K]}}
  %y = glm.linear %x, %w : (tensor<2x16xbf16>, tensor<8x4x16xbf16>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @linear_c2(%x: tensor<2x16xbf16>, %w: tensor<8x16xbf16>) {
  // expected-error@+1 {{expects result rows of 8 elements}}
  %y = glm.linear %x, %w : (tensor<2x16xbf16>, tensor<8x16xbf16>) -> tensor<2x3x4xbf16>
  return
}

// -----

func.func @linear_c2(%x: tensor<2x16xbf16>, %w: tensor<8x16xbf16>) {
  // expected-error@+1 {{expects result rows of 8 elements}}
  %y = glm.linear %x, %w : (tensor<2x16xbf16>, tensor<8x16xbf16>) -> tensor<3x8xbf16>
  return
}

// -----

func.func @linear_parts_c1(%x: tensor<2x4x8xbf16>, %w: tensor<5x16xbf16>) {
  // expected-error@+1 {{expects input [T, ...K] and a weight [N, K]}}
  %y = glm.linear_parts %x, %w : (tensor<2x4x8xbf16>, tensor<5x16xbf16>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @linear_parts_c1(%x: tensor<2x16xbf16>, %w: tensor<5x4x4xbf16>) {
  // expected-error@+1 {{expects input [T, ...K] and a weight [N, K]}}
  %y = glm.linear_parts %x, %w : (tensor<2x16xbf16>, tensor<5x4x4xbf16>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @linear_parts_c1(%x: tensor<16xbf16>, %w: tensor<5x16xbf16>) {
  // expected-error@+1 {{expects input [T, ...K] and a weight [N, K]}}
  %y = glm.linear_parts %x, %w : (tensor<16xbf16>, tensor<5x16xbf16>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @linear_parts_c1(%x: tensor<2x16xbf16>, %w: tensor<5x16xbf16>) {
  // expected-error@+1 {{expects a result [2, parts, 5] whose parts divide 16}}
  %y = glm.linear_parts %x, %w : (tensor<2x16xbf16>, tensor<5x16xbf16>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @linear_parts_c1(%x: tensor<2x16xbf16>, %w: tensor<5x16xbf16>) {
  // expected-error@+1 {{expects a result [2, parts, 5] whose parts divide 16}}
  %y = glm.linear_parts %x, %w : (tensor<2x16xbf16>, tensor<5x16xbf16>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @linear_parts_c1(%x: tensor<2x16xbf16>, %w: tensor<5x16xbf16>) {
  // expected-error@+1 {{expects a result [2, parts, 5] whose parts divide 16}}
  %y = glm.linear_parts %x, %w : (tensor<2x16xbf16>, tensor<5x16xbf16>) -> tensor<2x3x5xf32>
  return
}

// -----

// 16 columns in two heads: the parts are those of a head.
func.func @linear_parts_c1(%x: tensor<2x2x8xbf16>, %w: tensor<5x16xbf16>) {
  // expected-error@+1 {{expects a result [2, parts, 5] whose parts divide 8}}
  %y = glm.linear_parts %x, %w : (tensor<2x2x8xbf16>, tensor<5x16xbf16>) -> tensor<2x16x5xf32>
  return
}

// -----

func.func @sum_parts_c1(%x: tensor<2x4x6xf32>) {
  // expected-error@+1 {{expects result rows of 6 elements}}
  %y = glm.sum_parts %x : (tensor<2x4x6xf32>) -> tensor<2x5xbf16>
  return
}

// -----

func.func @sum_parts_c1(%x: tensor<2x4x6xf32>) {
  // expected-error@+1 {{expects result rows of 6 elements}}
  %y = glm.sum_parts %x : (tensor<2x4x6xf32>) -> tensor<3x6xbf16>
  return
}

// -----

func.func @sum_parts_c1(%x: tensor<2x4x6xf32>) {
  // expected-error@+1 {{expects result rows of 6 elements}}
  %y = glm.sum_parts %x : (tensor<2x4x6xf32>) -> tensor<2xbf16>
  return
}

// -----

func.func @head_linear_c1(%x: tensor<2x32xbf16>, %w: tensor<24x8xbf16>) {
  // expected-error@+1 {{expects input [T, heads, K] and a weight of two dimensions}}
  %y = glm.head_linear %x, %w {first = 0 : i64, stride = 6 : i64} : (tensor<2x32xbf16>, tensor<24x8xbf16>) -> tensor<2x4x6xbf16>
  return
}

// -----

func.func @head_linear_c1(%x: tensor<2x4x8xbf16>, %w: tensor<20x8xbf16>) {
  // expected-error@+1 {{expects 24 weight rows for 4 heads of stride 6, got 20}}
  %y = glm.head_linear %x, %w {first = 0 : i64, stride = 6 : i64} : (tensor<2x4x8xbf16>, tensor<20x8xbf16>) -> tensor<2x4x6xbf16>
  return
}

// -----

func.func @head_linear_c2(%x: tensor<2x4x8xbf16>, %w: tensor<24x8xbf16>) {
  // expected-error@+1 {{rows 4 to 7 leave the head's stride of 6}}
  %y = glm.head_linear %x, %w {first = 4 : i64, stride = 6 : i64} : (tensor<2x4x8xbf16>, tensor<24x8xbf16>) -> tensor<2x4x3xbf16>
  return
}

// -----

func.func @head_linear_c2(%x: tensor<2x4x8xbf16>, %w: tensor<24x8xbf16>) {
  // expected-error@+1 {{leave the head's stride of 6}}
  %y = glm.head_linear %x, %w {first = -1 : i64, stride = 6 : i64} : (tensor<2x4x8xbf16>, tensor<24x8xbf16>) -> tensor<2x4x3xbf16>
  return
}

// -----

func.func @head_linear_c2(%x: tensor<2x4x3xbf16>, %w: tensor<24x8xbf16>) {
  // expected-error@+1 {{rows 4 to 7 leave the head's stride of 6}}
  %y = glm.head_linear %x, %w transposed {first = 4 : i64, stride = 6 : i64} : (tensor<2x4x3xbf16>, tensor<24x8xbf16>) -> tensor<2x4x8xbf16>
  return
}

// -----

func.func @head_linear_c3(%x: tensor<2x4x4xbf16>, %w: tensor<24x8xbf16>) {
  // expected-error@+1 {{expects 8 columns, got 4}}
  %y = glm.head_linear %x, %w {first = 0 : i64, stride = 6 : i64} : (tensor<2x4x4xbf16>, tensor<24x8xbf16>) -> tensor<2x4x6xbf16>
  return
}

// -----

func.func @head_linear_c3(%x: tensor<2x4x6xbf16>, %w: tensor<24x8xbf16>) {
  // expected-error@+1 {{expects 8 columns, got 4}}
  %y = glm.head_linear %x, %w transposed {first = 0 : i64, stride = 6 : i64} : (tensor<2x4x6xbf16>, tensor<24x8xbf16>) -> tensor<2x4x4xbf16>
  return
}

// -----

func.func @head_linear_c3(%x: tensor<2x4x8xbf16>, %w: tensor<24x8xbf16>) {
  // expected-error@+1 {{expects result [T, heads, N]}}
  %y = glm.head_linear %x, %w {first = 0 : i64, stride = 6 : i64} : (tensor<2x4x8xbf16>, tensor<24x8xbf16>) -> tensor<2x24xbf16>
  return
}

// -----

func.func @head_linear_c3(%x: tensor<2x4x8xbf16>, %w: tensor<24x8xbf16>) {
  // expected-error@+1 {{expects result of shape [2, 4, 6], got [2, 3, 6]}}
  %y = glm.head_linear %x, %w {first = 0 : i64, stride = 6 : i64} : (tensor<2x4x8xbf16>, tensor<24x8xbf16>) -> tensor<2x3x6xbf16>
  return
}

// -----

func.func @expert_linear_c1(%x: tensor<2x16xbf16>, %ids: tensor<2x3xi32>, %w: tensor<4x8x32xbf16>) {
  // expected-error@+1 {{expects input [T, K] or [T, top_k, K] with K = 32, and ids [T, top_k]}}
  %y = glm.expert_linear %x, %ids, %w : (tensor<2x16xbf16>, tensor<2x3xi32>, tensor<4x8x32xbf16>) -> tensor<2x3x8xbf16>
  return
}

// -----

func.func @expert_linear_c1(%x: tensor<2x5x32xbf16>, %ids: tensor<2x3xi32>, %w: tensor<4x8x32xbf16>) {
  // expected-error@+1 {{expects input [T, K] or [T, top_k, K] with K = 32, and ids [T, top_k]}}
  %y = glm.expert_linear %x, %ids, %w : (tensor<2x5x32xbf16>, tensor<2x3xi32>, tensor<4x8x32xbf16>) -> tensor<2x3x8xbf16>
  return
}

// -----

func.func @expert_linear_c1(%x: tensor<2x32xbf16>, %ids: tensor<1x3xi32>, %w: tensor<4x8x32xbf16>) {
  // expected-error@+1 {{expects input [T, K] or [T, top_k, K] with K = 32, and ids [T, top_k]}}
  %y = glm.expert_linear %x, %ids, %w : (tensor<2x32xbf16>, tensor<1x3xi32>, tensor<4x8x32xbf16>) -> tensor<2x3x8xbf16>
  return
}

// -----

func.func @expert_linear_c1(%x: tensor<2x32xbf16>, %ids: tensor<2x3xi32>, %w: tensor<8x32xbf16>) {
  // expected-error@+1 {{expects input [T, K] or [T, top_k, K] with K = 32, and ids [T, top_k]}}
  %y = glm.expert_linear %x, %ids, %w : (tensor<2x32xbf16>, tensor<2x3xi32>, tensor<8x32xbf16>) -> tensor<2x3x8xbf16>
  return
}

// -----

func.func @expert_linear_c2(%x: tensor<2x32xbf16>, %ids: tensor<2x3xi32>, %w: tensor<4x8x32xbf16>) {
  // expected-error@+1 {{expects result of shape [2, 3, 8], got [2, 3, 4]}}
  %y = glm.expert_linear %x, %ids, %w : (tensor<2x32xbf16>, tensor<2x3xi32>, tensor<4x8x32xbf16>) -> tensor<2x3x4xbf16>
  return
}

// -----

func.func @sinkhorn_c1(%z: tensor<2x4x3xf32>) {
  // expected-error@+1 {{expects square maps, got 4 x 3}}
  %y = glm.sinkhorn %z {iterations = 20 : i64, eps = 1.0e-6 : f32} : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return
}

// -----

func.func @sinkhorn_c1(%z: tensor<2x4x4xf32>) {
  // expected-error@+1 {{expects result of shape [2, 4, 4], got [1, 4, 4]}}
  %y = glm.sinkhorn %z {iterations = 20 : i64, eps = 1.0e-6 : f32} : (tensor<2x4x4xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @top_k_c1(%s: tensor<2x16xf32>) {
  // expected-error@+1 {{expects ids for 2 rows, got 3}}
  %y = glm.top_k %s : (tensor<2x16xf32>) -> tensor<3x4xi32>
  return
}

// -----

func.func @top_k_c1(%s: tensor<2x16xf32>) {
  // expected-error@+1 {{expects k <= 16 columns, got 17}}
  %y = glm.top_k %s : (tensor<2x16xf32>) -> tensor<2x17xi32>
  return
}

// -----

func.func @top_k_c2(%s: tensor<2x16xf32>) {
  // expected-error@+1 {{expects seqs exactly when pool > 0}}
  %y = glm.top_k %s {pool = 4 : i64} : (tensor<2x16xf32>) -> tensor<2x4xi32>
  return
}

// -----

func.func @top_k_c2(%s: tensor<2x16xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects seqs exactly when pool > 0}}
  %y = glm.top_k %s seqs(%seqs) : (tensor<2x16xf32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  return
}

// -----

func.func @find_rows_c1(%ids: tensor<2x3xi32>) {
  // expected-error@+1 {{expects chosen of shape [2, 3], got [2, 4]}}
  %c, %m, %a = glm.find_rows %ids {layer = 0 : i64} : (tensor<2x3xi32>) -> (tensor<2x4xi32>, tensor<9xi32>, tensor<4x3xi32>)
  return
}

// -----

func.func @find_rows_c2(%ids: tensor<2x3xi32>) {
  // expected-error@+1 {{expects moves of shape [13], got [9]}}
  %c, %m, %a = glm.find_rows %ids {layer = 0 : i64} : (tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<9xi32>, tensor<8x3xi32>)
  return
}

// -----

func.func @find_rows_layer(%ids: tensor<2x3xi32>) {
  // expected-error@+1 {{attribute 'layer' failed to satisfy constraint}}
  %c, %m, %a = glm.find_rows %ids {layer = -1 : i64} : (tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<9xi32>, tensor<4x3xi32>)
  return
}

// -----

func.func @copy_rows_c1(%m: tensor<9xi32>, %a: tensor<4x3xi32>) {
  // expected-error@+1 {{expects arrived of shape [4, 3], got [4, 2]}}
  %r = glm.copy_rows %m, %a {top_k = 3 : i64} : (tensor<9xi32>, tensor<4x3xi32>) -> tensor<4x2xi32>
  return
}

// -----

func.func @copy_rows_c2(%m: tensor<9xi32>, %a: tensor<4x3xi32>) -> tensor<4x3xi32> {
  // expected-error@+1 {{counts up the buffer of arrivals, which others read too}}
  %r = glm.copy_rows %m, %a {top_k = 3 : i64} : (tensor<9xi32>, tensor<4x3xi32>) -> tensor<4x3xi32>
  return %a : tensor<4x3xi32>
}

// -----

func.func @expert_linear_c3(%x: tensor<2x32xf32>, %ids: tensor<2x3xi32>, %w: tensor<4x16x32xbf16>, %a: tensor<4x3xi32>) {
  // expected-error@+1 {{expects row_weight with arrivals, and neither without}}
  %y = glm.expert_linear %x, %ids, %w arrivals(%a) : (tensor<2x32xf32>, tensor<2x3xi32>, tensor<4x16x32xbf16>, tensor<4x3xi32>) -> tensor<2x3x16xf32>
  return
}

// -----

func.func @expert_linear_c3_weight(%x: tensor<2x32xf32>, %ids: tensor<2x3xi32>, %w: tensor<4x16x32xbf16>, %a: tensor<4x3xi32>) {
  // expected-error@+1 {{expects arrivals [E, weights] with E = 4 and more than 3 weights}}
  %y = glm.expert_linear %x, %ids, %w arrivals(%a) {row_weight = 3 : i64} : (tensor<2x32xf32>, tensor<2x3xi32>, tensor<4x16x32xbf16>, tensor<4x3xi32>) -> tensor<2x3x16xf32>
  return
}

// -----

func.func @take_cols_c1(%x: tensor<2x16xf32>, %ids: tensor<3x4xi32>) {
  // expected-error@+1 {{expects input [T, C] with as many rows as ids}}
  %y = glm.take_cols %x, %ids : (tensor<2x16xf32>, tensor<3x4xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @take_cols_c1(%x: tensor<2x4x4xf32>, %ids: tensor<2x4xi32>) {
  // expected-error@+1 {{expects input [T, C] with as many rows as ids}}
  %y = glm.take_cols %x, %ids : (tensor<2x4x4xf32>, tensor<2x4xi32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @take_cols_c1(%x: tensor<2x16xf32>, %ids: tensor<2x4xi32>) {
  // expected-error@+1 {{expects result of shape [2, 4], got [2, 5]}}
  %y = glm.take_cols %x, %ids : (tensor<2x16xf32>, tensor<2x4xi32>) -> tensor<2x5xf32>
  return
}

// -----

glm.state @s : tensor<32x3xf32>
func.func @short_conv_c1(%x: tensor<2x32xbf16>, %w: tensor<16x4xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects a filter [C, kernel] for 32 channels}}
  %y = glm.short_conv %x, %w, %seqs state(@s) : (tensor<2x32xbf16>, tensor<16x4xbf16>, tensor<2x4xi32>) -> tensor<2x32xbf16>
  return
}

// -----

glm.state @s : tensor<32x3xf32>
func.func @short_conv_c1(%x: tensor<2x32xbf16>, %w: tensor<32x2x4xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects a filter [C, kernel] for 32 channels}}
  %y = glm.short_conv %x, %w, %seqs state(@s) : (tensor<2x32xbf16>, tensor<32x2x4xbf16>, tensor<2x4xi32>) -> tensor<2x32xbf16>
  return
}

// -----

glm.state @s : tensor<32x3xf32>
func.func @short_conv_c1(%x: tensor<2x32xbf16>, %w: tensor<32x1xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects a filter [C, kernel] for 32 channels}}
  %y = glm.short_conv %x, %w, %seqs state(@s) : (tensor<2x32xbf16>, tensor<32x1xbf16>, tensor<2x4xi32>) -> tensor<2x32xbf16>
  return
}

// -----

glm.state @s : tensor<32x3xf32>
func.func @short_conv_c1(%x: tensor<2x32xbf16>, %w: tensor<32x4xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects result of shape [2, 32], got [2, 4, 8]}}
  %y = glm.short_conv %x, %w, %seqs state(@s) : (tensor<2x32xbf16>, tensor<32x4xbf16>, tensor<2x4xi32>) -> tensor<2x4x8xbf16>
  return
}

// -----

glm.state @s : tensor<32x4xbf16>
func.func @short_conv_c2(%x: tensor<2x32xbf16>, %w: tensor<32x4xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects state @s [32, 3], got [32, 4]}}
  %y = glm.short_conv %x, %w, %seqs state(@s) : (tensor<2x32xbf16>, tensor<32x4xbf16>, tensor<2x4xi32>) -> tensor<2x32xbf16>
  return
}

// -----

func.func @short_conv_c2(%x: tensor<2x32xbf16>, %w: tensor<32x4xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{names no state: @s}}
  %y = glm.short_conv %x, %w, %seqs state(@s) : (tensor<2x32xbf16>, tensor<32x4xbf16>, tensor<2x4xi32>) -> tensor<2x32xbf16>
  return
}

// -----

glm.state @s : tensor<2x16x8xf32>
func.func @delta_rule_c1(%q: tensor<2x2x16xf32>, %k: tensor<2x2x16xf32>, %v: tensor<2x16xf32>, %g: tensor<2x2x16xf32>, %beta: tensor<2x2xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects q, k, v of three dimensions}}
  %y = glm.delta_rule %q, %k, %v, %g, %beta, %seqs state(@s) : (tensor<2x2x16xf32>, tensor<2x2x16xf32>, tensor<2x16xf32>, tensor<2x2x16xf32>, tensor<2x2xf32>, tensor<2x4xi32>) -> tensor<2x2x8xf32>
  return
}

// -----

glm.state @s : tensor<2x16x8xf32>
func.func @delta_rule_c1(%q: tensor<2x2x16xf32>, %k: tensor<2x2x8xf32>, %v: tensor<2x2x8xf32>, %g: tensor<2x2x16xf32>, %beta: tensor<2x2xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects k of shape [2, 2, 16], got [2, 2, 8]}}
  %y = glm.delta_rule %q, %k, %v, %g, %beta, %seqs state(@s) : (tensor<2x2x16xf32>, tensor<2x2x8xf32>, tensor<2x2x8xf32>, tensor<2x2x16xf32>, tensor<2x2xf32>, tensor<2x4xi32>) -> tensor<2x2x8xf32>
  return
}

// -----

glm.state @s : tensor<2x16x8xf32>
func.func @delta_rule_c1(%q: tensor<2x2x16xf32>, %k: tensor<2x2x16xf32>, %v: tensor<2x3x8xf32>, %g: tensor<2x2x16xf32>, %beta: tensor<2x2xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects v of shape [2, 2, 8], got [2, 3, 8]}}
  %y = glm.delta_rule %q, %k, %v, %g, %beta, %seqs state(@s) : (tensor<2x2x16xf32>, tensor<2x2x16xf32>, tensor<2x3x8xf32>, tensor<2x2x16xf32>, tensor<2x2xf32>, tensor<2x4xi32>) -> tensor<2x2x8xf32>
  return
}

// -----

glm.state @s : tensor<2x16x8xf32>
func.func @delta_rule_c1(%q: tensor<2x2x16xf32>, %k: tensor<2x2x16xf32>, %v: tensor<2x2x8xf32>, %g: tensor<2x2x1xf32>, %beta: tensor<2x2xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects gate of shape [2, 2, 16], got [2, 2, 1]}}
  %y = glm.delta_rule %q, %k, %v, %g, %beta, %seqs state(@s) : (tensor<2x2x16xf32>, tensor<2x2x16xf32>, tensor<2x2x8xf32>, tensor<2x2x1xf32>, tensor<2x2xf32>, tensor<2x4xi32>) -> tensor<2x2x8xf32>
  return
}

// -----

glm.state @s : tensor<2x16x8xf32>
func.func @delta_rule_c1(%q: tensor<2x2x16xf32>, %k: tensor<2x2x16xf32>, %v: tensor<2x2x8xf32>, %g: tensor<2x2x16xf32>, %beta: tensor<2x4xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects beta of shape [2, 2], got [2, 4]}}
  %y = glm.delta_rule %q, %k, %v, %g, %beta, %seqs state(@s) : (tensor<2x2x16xf32>, tensor<2x2x16xf32>, tensor<2x2x8xf32>, tensor<2x2x16xf32>, tensor<2x4xf32>, tensor<2x4xi32>) -> tensor<2x2x8xf32>
  return
}

// -----

glm.state @s : tensor<2x16x8xf32>
func.func @delta_rule_c1(%q: tensor<2x2x16xf32>, %k: tensor<2x2x16xf32>, %v: tensor<2x2x8xf32>, %g: tensor<2x2x16xf32>, %beta: tensor<2x2xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects result of shape [2, 2, 8], got [2, 2, 16]}}
  %y = glm.delta_rule %q, %k, %v, %g, %beta, %seqs state(@s) : (tensor<2x2x16xf32>, tensor<2x2x16xf32>, tensor<2x2x8xf32>, tensor<2x2x16xf32>, tensor<2x2xf32>, tensor<2x4xi32>) -> tensor<2x2x16xf32>
  return
}

// -----

glm.state @s : tensor<2x8x16xf32>
func.func @delta_rule_c2(%q: tensor<2x2x16xf32>, %k: tensor<2x2x16xf32>, %v: tensor<2x2x8xf32>, %g: tensor<2x2x16xf32>, %beta: tensor<2x2xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects state @s [2, 16, 8], got [2, 8, 16]}}
  %y = glm.delta_rule %q, %k, %v, %g, %beta, %seqs state(@s) : (tensor<2x2x16xf32>, tensor<2x2x16xf32>, tensor<2x2x8xf32>, tensor<2x2x16xf32>, tensor<2x2xf32>, tensor<2x4xi32>) -> tensor<2x2x8xf32>
  return
}

// -----

glm.state @s : tensor<64x32xbf16>
func.func @latent_append_c1(%x: tensor<2x4x8xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects rows [T, W]}}
  glm.latent_append %x, %seqs state(@s) : tensor<2x4x8xbf16>, tensor<2x4xi32>
  return
}

// -----

glm.state @s : tensor<64x16xbf16>
func.func @latent_append_c2(%x: tensor<2x32xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects state @s [-1, 32], got [64, 16]}}
  glm.latent_append %x, %seqs state(@s) : tensor<2x32xbf16>, tensor<2x4xi32>
  return
}

// -----

glm.state @tail : tensor<3x2x8xbf16>
glm.state @s : tensor<16x8xbf16>
func.func @kpool_c1(%k: tensor<8xf32>, %g: tensor<8xf32>, %ape: tensor<4x8xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects key [T, D]}}
  glm.kpool %k, %g, %ape, %seqs tail(@tail) state(@s) : tensor<8xf32>, tensor<8xf32>, tensor<4x8xbf16>, tensor<2x4xi32>
  return
}

// -----

glm.state @tail : tensor<3x2x8xbf16>
glm.state @s : tensor<16x8xbf16>
func.func @kpool_c1(%k: tensor<2x8xf32>, %g: tensor<2x8xf32>, %ape: tensor<4x4xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects ape [P, 8] with P >= 2}}
  glm.kpool %k, %g, %ape, %seqs tail(@tail) state(@s) : tensor<2x8xf32>, tensor<2x8xf32>, tensor<4x4xbf16>, tensor<2x4xi32>
  return
}

// -----

glm.state @tail : tensor<3x2x8xbf16>
glm.state @s : tensor<16x8xbf16>
func.func @kpool_c1(%k: tensor<2x8xf32>, %g: tensor<2x8xf32>, %ape: tensor<1x8xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects ape [P, 8] with P >= 2}}
  glm.kpool %k, %g, %ape, %seqs tail(@tail) state(@s) : tensor<2x8xf32>, tensor<2x8xf32>, tensor<1x8xbf16>, tensor<2x4xi32>
  return
}

// -----

glm.state @tail : tensor<3x2x8xbf16>
glm.state @s : tensor<16x8xbf16>
func.func @kpool_c1(%k: tensor<2x8xf32>, %g: tensor<2x4xf32>, %ape: tensor<4x8xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects gate of shape [2, 8], got [2, 4]}}
  glm.kpool %k, %g, %ape, %seqs tail(@tail) state(@s) : tensor<2x8xf32>, tensor<2x4xf32>, tensor<4x8xbf16>, tensor<2x4xi32>
  return
}

// -----

glm.state @tail : tensor<4x2x8xbf16>
glm.state @s : tensor<16x8xbf16>
func.func @kpool_c2(%k: tensor<2x8xf32>, %g: tensor<2x8xf32>, %ape: tensor<4x8xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects state @tail [3, 2, 8], got [4, 2, 8]}}
  glm.kpool %k, %g, %ape, %seqs tail(@tail) state(@s) : tensor<2x8xf32>, tensor<2x8xf32>, tensor<4x8xbf16>, tensor<2x4xi32>
  return
}

// -----

glm.state @tail : tensor<3x2x8xbf16>
glm.state @s : tensor<16x4xbf16>
func.func @kpool_c2(%k: tensor<2x8xf32>, %g: tensor<2x8xf32>, %ape: tensor<4x8xbf16>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects state @s [-1, 8], got [16, 4]}}
  glm.kpool %k, %g, %ape, %seqs tail(@tail) state(@s) : tensor<2x8xf32>, tensor<2x8xf32>, tensor<4x8xbf16>, tensor<2x4xi32>
  return
}

// -----

glm.state @s : tensor<16x8xbf16>
func.func @index_scores_c1(%q: tensor<2x24xbf16>, %w: tensor<2x3xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects query [T, heads, D]}}
  %y = glm.index_scores %q, %w, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x24xbf16>, tensor<2x3xf32>, tensor<2x4xi32>) -> tensor<2x16xf32>
  return
}

// -----

glm.state @s : tensor<16x8xbf16>
func.func @index_scores_c1(%q: tensor<2x3x8xbf16>, %w: tensor<2x4xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects weights of shape [2, 3], got [2, 4]}}
  %y = glm.index_scores %q, %w, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x8xbf16>, tensor<2x4xf32>, tensor<2x4xi32>) -> tensor<2x16xf32>
  return
}

// -----

glm.state @s : tensor<16x8xbf16>
func.func @index_scores_c1(%q: tensor<2x3x8xbf16>, %w: tensor<2x3xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects scores for 2 rows, got 4}}
  %y = glm.index_scores %q, %w, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x8xbf16>, tensor<2x3xf32>, tensor<2x4xi32>) -> tensor<4x16xf32>
  return
}

// -----

glm.state @s : tensor<32x8xbf16>
func.func @index_scores_c2(%q: tensor<2x3x8xbf16>, %w: tensor<2x3xf32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects state @s [16, 8], got [32, 8]}}
  %y = glm.index_scores %q, %w, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x8xbf16>, tensor<2x3xf32>, tensor<2x4xi32>) -> tensor<2x16xf32>
  return
}

// -----

glm.state @s : tensor<64x32xbf16>
func.func @sparse_attention_c1(%q: tensor<2x96xbf16>, %pools: tensor<2x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects query [T, heads, W]}}
  %y = glm.sparse_attention %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x96xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> tensor<2x96xbf16>
  return
}

// -----

glm.state @s : tensor<64x32xbf16>
func.func @sparse_attention_c1(%q: tensor<2x3x32xbf16>, %pools: tensor<3x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects pools for 2 rows, got 3}}
  %y = glm.sparse_attention %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x32xbf16>, tensor<3x5xi32>, tensor<2x4xi32>) -> tensor<2x3x32xbf16>
  return
}

// -----

glm.state @s : tensor<64x32xbf16>
func.func @sparse_attention_c1(%q: tensor<2x3x32xbf16>, %pools: tensor<2x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects result of shape [2, 3, 32], got [2, 3, 16]}}
  %y = glm.sparse_attention %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x32xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> tensor<2x3x16xbf16>
  return
}

// -----

glm.state @s : tensor<64x16xbf16>
func.func @sparse_attention_c2(%q: tensor<2x3x32xbf16>, %pools: tensor<2x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects state @s [-1, 32], got [64, 16]}}
  %y = glm.sparse_attention %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x32xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> tensor<2x3x32xbf16>
  return
}

// -----

glm.state @s : tensor<64x32xbf16>
func.func @attention_parts_c1(%q: tensor<2x96xbf16>, %pools: tensor<2x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects query [T, heads, W]}}
  %m, %n = glm.attention_parts %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x96xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> (tensor<2x4x3x32xf32>, tensor<2x4x3x2xf32>)
  return
}

// -----

glm.state @s : tensor<64x32xbf16>
func.func @attention_parts_c1(%q: tensor<2x3x32xbf16>, %pools: tensor<3x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects pools for 2 rows, got 3}}
  %m, %n = glm.attention_parts %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x32xbf16>, tensor<3x5xi32>, tensor<2x4xi32>) -> (tensor<2x4x3x32xf32>, tensor<2x4x3x2xf32>)
  return
}

// -----

glm.state @s : tensor<64x32xbf16>
func.func @attention_parts_c1(%q: tensor<2x3x32xbf16>, %pools: tensor<2x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects 1 to 5 parts of the pools, got 6}}
  %m, %n = glm.attention_parts %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x32xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> (tensor<2x6x3x32xf32>, tensor<2x6x3x2xf32>)
  return
}

// -----

glm.state @s : tensor<64x32xbf16>
func.func @attention_parts_c1(%q: tensor<2x3x32xbf16>, %pools: tensor<2x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects mixed of shape [2, 4, 3, 32], got [2, 4, 3, 16]}}
  %m, %n = glm.attention_parts %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x32xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> (tensor<2x4x3x16xf32>, tensor<2x4x3x2xf32>)
  return
}

// -----

glm.state @s : tensor<64x32xbf16>
func.func @attention_parts_c1(%q: tensor<2x3x32xbf16>, %pools: tensor<2x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects stats of shape [2, 4, 3, 2], got [2, 4, 3, 1]}}
  %m, %n = glm.attention_parts %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x32xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> (tensor<2x4x3x32xf32>, tensor<2x4x3x1xf32>)
  return
}

// -----

glm.state @s : tensor<64x16xbf16>
func.func @attention_parts_c2(%q: tensor<2x3x32xbf16>, %pools: tensor<2x5xi32>, %seqs: tensor<2x4xi32>) {
  // expected-error@+1 {{expects state @s [-1, 32], got [64, 16]}}
  %m, %n = glm.attention_parts %q, %pools, %seqs state(@s) {pool = 4 : i64, scale = 1.0 : f32} : (tensor<2x3x32xbf16>, tensor<2x5xi32>, tensor<2x4xi32>) -> (tensor<2x4x3x32xf32>, tensor<2x4x3x2xf32>)
  return
}

// -----

func.func @merge_parts_c1(%m: tensor<2x4x3x32xf32>, %n: tensor<2x4x2x2xf32>) {
  // expected-error@+1 {{expects stats of shape [2, 4, 3, 2], got [2, 4, 2, 2]}}
  %y = glm.merge_parts %m, %n : (tensor<2x4x3x32xf32>, tensor<2x4x2x2xf32>) -> tensor<2x3x32xbf16>
  return
}

// -----

func.func @merge_parts_c1(%m: tensor<2x4x3x32xf32>, %n: tensor<2x4x3x2xf32>) {
  // expected-error@+1 {{expects result of shape [2, 3, 32], got [2, 32, 3]}}
  %y = glm.merge_parts %m, %n : (tensor<2x4x3x32xf32>, tensor<2x4x3x2xf32>) -> tensor<2x32x3xbf16>
  return
}
