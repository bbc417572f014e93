// RUN: glm-opt %s --glm-lower-to-kern | FileCheck %s --check-prefix=KERN
// RUN: glm-opt %s --pass-pipeline='builtin.module(glm-lower-to-kern,glm-fuse-blocks,func.func(glm-fuse-siblings),func.func(glm-fuse-phases),glm-outline-grids)' | FileCheck %s --check-prefix=FUSED
// RUN: glm-opt %s --pass-pipeline='builtin.module(glm-lower-to-kern,func.func(glm-plan-memory),glm-lower-to-plan)' | FileCheck %s --check-prefix=PLAN

// A collective is a launch of one block of the runtime's own, with a grid for itself:
// what makes its input ends before it, what needs its sum begins after it.

#id = affine_map<(t, c) -> (t, c)>
// KERN-DAG: kern.kernel @AllReduce_0_64 "all_reduce" template "AllReduce" params [0, 64]
// KERN-DAG: kern.kernel @AllGather_0_64_2 "all_gather" template "AllGather" params [0, 64, 2]

// PLAN: plan.plan attributes {{.*}}ranks = 2 : i64
module attributes {glm.ranks = 2 : i64} {

glm.weight @table : tensor<8x16xf32>
// Half of the columns of a stored [64, 32] for each rank.
// PLAN: plan.weight {cuts = array<i64: 64, 32, 64>, {{.*}}name = "w", pieces = array<i64: 0, 0, 4064, 0, 32, 4064>, shape = array<i64: 64, 16>}
glm.weight @w : tensor<64x16xbf16> pieces [0, 0, 4064, 0, 32, 4064] cuts [64, 32, 64]

func.func @step(%ids: tensor<1xi32>, %seqs: tensor<1x4xi32>, %rows: tensor<1xi32>) -> tensor<2x1x64xf32>
    attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {
  %table = glm.get_weight @table : tensor<8x16xf32>
  %w = glm.get_weight @w : tensor<64x16xbf16>
  %x = glm.embed %ids, %table : (tensor<1xi32>, tensor<8x16xf32>) -> tensor<1x16xf32> loc("embed")
  %part = glm.linear %x, %w : (tensor<1x16xf32>, tensor<64x16xbf16>) -> tensor<1x64xf32> loc("part")
  // KERN: %[[PART:.*]] = kern.alloc "part"
  // KERN: %[[SUM:.*]] = kern.alloc "sum"
  // Read and written once: 512 bytes.
  // KERN: kern.launch @AllReduce_0_64 grid [1, 1, 1]({{.*}}, %[[PART]], %[[SUM]] : {{.*}}) writes [4] {alone, flops = 0 : i64, memory_bytes = 512 : i64, parts = array<i64: 1, 1>
  %sum = glm.all_reduce %part : (tensor<1x64xf32>) -> tensor<1x64xf32> loc("sum")
  // FUSED-NOT: @AllReduce_0_64 grid
  // FUSED:     kern.grid @group_
  // FUSED:       kern.launch @Linear
  // FUSED:     }
  // FUSED:     kern.launch @AllReduce_0_64
  // FUSED-NOT: kern.grid
  // FUSED:     kern.launch @row_twice
  %twice = glm.rowwise [1, 64] ins(%sum : tensor<1x64xf32>) maps [#id] outs [#id] targets [0] -> (tensor<1x64xf32>) {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    glm.yield %b : f32
  } loc("twice")
  // FUSED:     kern.launch @AllGather_0_64_2
  // KERN: kern.launch @AllGather_0_64_2 grid [1, 1, 1]
  %all = glm.all_gather %twice : (tensor<1x64xf32>) -> tensor<2x1x64xf32> loc("all")
  return %all : tensor<2x1x64xf32>
}

}
