// RUN: glm-opt %s --split-input-file --verify-diagnostics

// One case for each way to break a label of KernOps.td.

// expected-error@+1 {{expects dims exactly for a rowwise kernel}}
kern.kernel @kernel_c1 "rowwise" template "" params [] threads 256 {}

// -----

// expected-error@+1 {{expects dims exactly for a rowwise kernel}}
kern.kernel @kernel_c1 "linear" template "Linear" params [1] threads 256 dims [-1, 8] {}

// -----

// The rows of a launch are its first dimension, never part of the kernel.
// expected-error@+1 {{expects two or more dims that begin with -1 and a body}}
kern.kernel @kernel_c1 "rowwise" template "" params [] threads 256 dims [2, 8] {
  %0 = kern.load 0 [8, 1] + 0 : f32
}

// -----

// A kernel of rows without columns would loop over the rows.
// expected-error@+1 {{expects two or more dims that begin with -1 and a body}}
kern.kernel @kernel_c1 "rowwise" template "" params [] threads 256 dims [-1] {
  %0 = kern.load 0 [1] + 0 : f32
}

// -----

// expected-error@+1 {{expects two or more dims that begin with -1 and a body}}
kern.kernel @kernel_c1 "rowwise" template "" params [] threads 256 dims [-1, 8] {}

// -----

kern.kernel @load_c1 "rowwise" template "" params [] threads 256 dims [-1, 8] {
  // expected-error@+1 {{expects a coefficient for each dim of the kernel}}
  %0 = kern.load 0 [1] + 0 : f32
}

// -----

kern.kernel @store_c1 "rowwise" template "" params [] threads 256 dims [-1, 8] {
  %0 = kern.load 0 [8, 1] + 0 : f32
  // expected-error@+1 {{expects a coefficient for each dim of the kernel}}
  kern.store %0 to 1 [1, 8, 1] + 0 : f32
}

// -----

// A type, hence without a label.
kern.kernel @load_type "rowwise" template "" params [] threads 256 dims [-1, 8] {
  // expected-error@+1 {{attribute 'type' failed to satisfy constraint}}
  %0 = kern.load 0 [8, 1] + 0 : i32
}

// -----

kern.kernel @row_reduce_c1 "rowwise" template "" params [] threads 256 dims [-1, 8] {
  %0 = kern.load 0 [8, 1] + 0 : f32
  // expected-error@+1 {{expects kind add or max, got mul}}
  %1 = kern.row_reduce "mul" %0
}

// -----

func.func @weight_c1() {
  // expected-error@+1 {{names no weight: @w}}
  %0 = kern.weight @w : memref<8xf32>
  return
}

// -----

glm.weight @w : tensor<8xf32>
func.func @state_c1() {
  // expected-error@+1 {{names no state: @w}}
  %0 = kern.state @w : memref<8xf32>
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c1() {
  // expected-error@+1 {{expects a grid of three positive sizes}}
  kern.launch @k grid [1, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c1() {
  // expected-error@+1 {{expects a grid of three positive sizes}}
  kern.launch @k grid [1, 0, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c2() {
  %0 = kern.alloc "x" : memref<8xf32>
  // expected-error@+1 {{writes argument 1, which is no buffer}}
  kern.launch @k grid [1, 1, 1](%0 : memref<8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c2() {
  %0 = arith.constant 0 : i64
  // expected-error@+1 {{writes argument 0, which is no buffer}}
  kern.launch @k grid [1, 1, 1](%0 : i64) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

func.func @launch_c3() {
  // expected-error@+1 {{names no kernel: @k}}
  kern.launch @k grid [1, 1, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
  return
}

// -----

// expected-error@+1 {{expects tiles to divide the columns of a rowwise kernel without reductions, got 3}}
kern.kernel @kernel_c2 "rowwise" template "" params [] threads 256 dims [-1, 8] tiles 3 {
  %0 = kern.load 0 [8, 1] + 0 : f32
}

// -----

// The blocks of a reduced row would each see a part of it.
// expected-error@+1 {{expects tiles to divide the columns of a rowwise kernel without reductions, got 2}}
kern.kernel @kernel_c2 "rowwise" template "" params [] threads 256 dims [-1, 8] tiles 2 {
  %0 = kern.load 0 [8, 1] + 0 : f32
  %1 = kern.row_reduce "add" %0
}

// -----

// expected-error@+1 {{expects tiles to divide the columns of a rowwise kernel without reductions, got 2}}
kern.kernel @kernel_c2 "linear" template "" params [] threads 256 tiles 2 {}

// -----

// expected-error@+1 {{expects rows that a block does together to divide the inner rows of a rowwise kernel without tiles, got 4}}
kern.kernel @kernel_c3 "rowwise" template "" params [] threads 256 dims [-1, 6, 8] together 4 {
  %0 = kern.load 0 [48, 8, 1] + 0 : f32
}

// -----

// expected-error@+1 {{expects rows that a block does together to divide the inner rows of a rowwise kernel without tiles, got 2}}
kern.kernel @kernel_c3 "rowwise" template "" params [] threads 256 dims [-1, 6, 8] tiles 2 together 2 {
  %0 = kern.load 0 [48, 8, 1] + 0 : f32
}

// -----

// expected-error@+1 {{expects rows that a block does together to divide the inner rows of a rowwise kernel without tiles, got 2}}
kern.kernel @kernel_c3 "linear" template "" params [] threads 256 together 2 {}

// -----

// A constraint of the attribute, hence without a label.
// expected-error@+1 {{attribute 'tiles' failed to satisfy constraint}}
kern.kernel @kernel_c2 "rowwise" template "" params [] threads 256 dims [-1, 8] tiles 0 {
  %0 = kern.load 0 [8, 1] + 0 : f32
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c4() {
  %0 = kern.alloc "x" : memref<8xf32>
  // expected-error@+1 {{expects parts whose product is the grid's 8}}
  kern.launch @k grid [4, 2, 1](%0 : memref<8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 2>}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c4() {
  %0 = kern.alloc "x" : memref<8xf32>
  // expected-error@+1 {{expects parts whose product is the grid's 8}}
  kern.launch @k grid [4, 2, 1](%0 : memref<8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 8>}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c4() {
  %0 = kern.alloc "x" : memref<8xf32>
  // expected-error@+1 {{expects a split for each argument}}
  kern.launch @k grid [4, 2, 1](%0 : memref<8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>, splits = array<i64: 0, 0>}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c4() {
  %0 = kern.alloc "x" : memref<8xf32>
  // expected-error@+1 {{has columns that its tiling does not allow}}
  kern.launch @k grid [4, 2, 1](%0 : memref<8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>, tiling = array<i64: 3, 12>}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c4() {
  %0 = kern.alloc "x" : memref<8xf32>
  // expected-error@+1 {{has columns that its tiling does not allow}}
  kern.launch @k grid [4, 2, 1](%0 : memref<8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>, tiling = array<i64: 0, 8>}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c4() {
  %0 = kern.alloc "x" : memref<8xf32>
  // expected-error@+1 {{has columns that its tiling does not allow}}
  kern.launch @k grid [4, 2, 1](%0 : memref<8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>, tiling = array<i64: 4, 9>}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @launch_c4() {
  %0 = kern.alloc "x" : memref<8xf32>
  // expected-error@+1 {{has columns that its tiling does not allow}}
  kern.launch @k grid [4, 2, 1](%0 : memref<8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>, tiling = array<i64: 4>}
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @grid_c1() {
  kern.grid {
    // expected-error@+1 {{stands in a grid, which holds chains only}}
    kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @grid_c1() {
  kern.grid {
    // expected-error@+1 {{expects phases that count up from 0}}
    kern.chain 1 [1, 1] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @grid_c1() {
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
    // expected-error@+1 {{expects phases that count up from 0}}
    kern.chain 2 [1, 1] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @grid_c1() {
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
    kern.chain 1 [1, 1] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
    // expected-error@+1 {{expects phases that count up from 0}}
    kern.chain 0 [1, 1] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @grid_c1() {
  // expected-error@+1 {{expects a chain}}
  kern.grid {
  ^bb0:
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @grid_c2() {
  // expected-error@+1 {{names no group kernel: @k}}
  kern.grid @k {
    kern.chain 0 [1, 1] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @grid_c2() {
  // expected-error@+1 {{names no group kernel: @none}}
  kern.grid @none {
    kern.chain 0 [1, 1] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @chain_c1() {
  kern.grid {
    // expected-error@+1 {{expects two positive parts}}
    kern.chain 0 [1] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @chain_c1() {
  kern.grid {
    // expected-error@+1 {{expects two positive parts}}
    kern.chain 0 [0, 4] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @chain_c1() {
  kern.grid {
    // expected-error@+1 {{expects two positive parts}}
    kern.chain 0 [2, 0] {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @chain_c2() {
  kern.grid {
    kern.chain 0 [1, 1] {
      // expected-error@+1 {{stands in a chain, which holds launches only}}
      %0 = arith.constant 0 : i64
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @chain_c2() {
  kern.grid {
    kern.chain 0 [1, 1] {
      // expected-error@+1 {{has parts that those of its chain do not divide}}
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @chain_c2() {
  kern.grid {
    kern.chain 0 [4, 1] {
      // expected-error@+1 {{has parts that those of its chain do not divide}}
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @chain_c2() {
  kern.grid {
    kern.chain 0 [2, 3] {
      // expected-error@+1 {{has parts that those of its chain do not divide}}
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @chain_c2() {
  kern.grid {
    // expected-error@+1 {{expects a launch}}
    kern.chain 0 [1, 1] {
    ^bb0:
    }
  }
  return
}

// -----

// A trait, hence without a label.
kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @chain_parent() {
  // expected-error@+1 {{expects parent op 'kern.grid'}}
  kern.chain 0 [1, 1] {
    kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
  }
  return
}

// -----

kern.kernel @k "linear" template "Linear" params [] threads 256 {}
func.func @grid_c1() {
  kern.grid {
    // expected-error@+1 {{expects a slack that ends at the last phase, 0}}
    kern.chain 0 [1, 1] slack 1 {
      kern.launch @k grid [4, 2, 1]() writes [] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 4>}
    }
  }
  return
}
