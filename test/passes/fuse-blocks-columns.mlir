// RUN: glm-opt %s --glm-lower-to-kern --glm-fuse-blocks | FileCheck %s

// Pointwise work takes the columns of what it joins. Row b reads six columns further
// than its block of two would have written of row a: the two stay with one column, and
// the recurrence, which has two, stays out.

glm.weight @t : tensor<16x8xf32>
glm.weight @w : tensor<16x8xf32>
glm.state @s : tensor<2x8x8xf32>

// CHECK-LABEL: func.func @read_further
// CHECK:       kern.chain 0 [16, 1] {
// CHECK:         kern.launch @row_a
// CHECK-NEXT:    kern.launch @row_b
// CHECK-NOT:     kern.launch
// CHECK:       kern.chain 0 [16, 2] {
// CHECK-NEXT:    kern.launch @DeltaRule
func.func @read_further(%ids: tensor<16xi32>, %seqs: tensor<16x4xi32>, %rows: tensor<16xi32>)
    -> tensor<16x2x8xf32> attributes {glm.sequences = 16 : i64, glm.tokens = 1 : i64} {
  %t = glm.get_weight @t : tensor<16x8xf32>
  %w = glm.get_weight @w : tensor<16x8xf32>
  %x = glm.embed %ids, %t : (tensor<16xi32>, tensor<16x8xf32>) -> tensor<16x8xf32> loc("x")
  %q = glm.linear %x, %w : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x2x8xf32> loc("q")
  %a = glm.rowwise [16, 8] ins(%q : tensor<16x2x8xf32>)
      maps [affine_map<(t, c) -> (t, 1, c)>] outs [affine_map<(t, c) -> (t, c)>]
      targets [0] -> (tensor<16x8xf32>) {
  ^bb0(%e: f32):
    %r = glm.sigmoid %e
    glm.yield %r : f32
  } loc("a")
  %b = glm.rowwise [16, 2] ins(%a : tensor<16x8xf32>)
      maps [affine_map<(t, c) -> (t, c + 6)>] outs [affine_map<(t, c) -> (t, c)>]
      targets [0] -> (tensor<16x2xf32>) {
  ^bb0(%e: f32):
    %r = glm.sigmoid %e
    glm.yield %r : f32
  } loc("b")
  %o = glm.delta_rule %q, %q, %q, %q, %b, %seqs state(@s)
      : (tensor<16x2x8xf32>, tensor<16x2x8xf32>, tensor<16x2x8xf32>, tensor<16x2x8xf32>,
         tensor<16x2xf32>, tensor<16x4xi32>) -> tensor<16x2x8xf32> loc("o")
  return %o : tensor<16x2x8xf32>
}
