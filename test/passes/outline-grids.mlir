// RUN: glm-opt %s --split-input-file --glm-outline-grids | FileCheck %s

// A grid of one launch in its own parts is that launch.

kern.kernel @a "linear" template "LinearTile" params [1] threads 256 {}
// CHECK-NOT:   "group"
// CHECK-LABEL: func.func @one
// CHECK:         %[[X:.*]] = kern.alloc "x"
// CHECK-NEXT:    kern.launch @a grid [4, 1, 1](%[[X]]
// CHECK-NEXT:    kern.tap "x"
// CHECK-NEXT:    return
func.func @one() {
  %x = kern.alloc "x" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.tap "x" %x : memref<1x8xf32>
  return
}

// -----

// A product of few rows is a group of one, whose kernel is for its number of rows.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
// CHECK:       kern.kernel @group_{{.*}} "group"
// CHECK-LABEL: func.func @product
// CHECK:         kern.grid @group_
func.func @product() {
  %x = kern.alloc "x" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  return
}

// -----

// In other parts it is a group: a block runs four of the launch. The name is a hash of
// "0 1 1: a 4 1 1 0,;", which the reader of a plan computes again.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
// CHECK:       kern.kernel @group_70f0ba62e008506e "group" template "" params [] threads 256 {
// CHECK-NOT:   "group"
// CHECK-LABEL: func.func @coarser
// CHECK:         kern.grid @group_70f0ba62e008506e {
func.func @coarser() {
  %x = kern.alloc "x" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  return
}

// -----

// Equal grids, here of two steps, share a kernel whatever their arguments; another kernel,
// grid, order of parts or phase is another.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
// CHECK-COUNT-6: kern.kernel @group_{{[0-9a-f]*}} "group"
// CHECK-NOT:   "group"
// CHECK-LABEL: func.func @first
// CHECK:         kern.grid @[[G:group_[0-9a-f]*]] {
// CHECK:         kern.grid @[[G]] {
// CHECK-NOT:     @[[G]] {
// CHECK-LABEL: func.func @second
// CHECK:         kern.grid @[[G]] {
func.func @first() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
    kern.chain 1 [1, 1] {
      kern.launch @b grid [1, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%z : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
    kern.chain 1 [1, 1] {
      kern.launch @b grid [1, 1, 1](%z, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @c grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
    kern.chain 1 [1, 1] {
      kern.launch @b grid [1, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [2, 2, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
    kern.chain 1 [1, 1] {
      kern.launch @b grid [1, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.grid {
    kern.chain 0 [4, 1] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 4, 1>}
    }
    kern.chain 1 [1, 1] {
      kern.launch @b grid [1, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
    kern.chain 0 [1, 1] {
      kern.launch @b grid [1, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
    kern.chain 1 [1, 1] {
      kern.launch @b grid [1, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
      kern.launch @b grid [1, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  return
}
func.func @second() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
    kern.chain 1 [1, 1] {
      kern.launch @b grid [1, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  return
}
