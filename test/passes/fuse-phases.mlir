// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-fuse-phases))' | FileCheck %s
// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-fuse-phases))' \
// RUN:   --verify-diagnostics --remarks-filter='glm-.*' --remark-format=emitRemark -o /dev/null
// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-fuse-phases{max-waiting=60}))' \
// RUN:   | FileCheck %s --check-prefix=SMALL
// RUN: %python %S/../inputs/wide_grid.py --grids 251 249 | glm-opt --pass-pipeline='builtin.module(func.func(glm-fuse-phases))' | FileCheck %s --check-prefix=ROOM
// RUN: %python %S/../inputs/wide_grid.py --grids 251 250 | glm-opt --pass-pipeline='builtin.module(func.func(glm-fuse-phases))' \
// RUN:   --remarks-filter='glm-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WIDE

// A grid takes 500 arguments.
// ROOM-COUNT-1: kern.grid
// ROOM-NOT:     kern.grid
// WIDE: remark: [Missed] fuse-phases | Category:glm-fuse | Remark="the grid would have too many arguments"

// A grid becomes the next phase of the one before, chains and all. 180 blocks may wait;
// those of the first phase do not.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
kern.kernel @d "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @three
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 500] {
// CHECK-NEXT:        kern.launch @a
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 1 [1, 100] {
// CHECK-NEXT:        kern.launch @b
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 1 [2, 10] slack 1 {
// CHECK-NEXT:        kern.launch @c
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 2 [1, 60] {
// CHECK-NEXT:        kern.launch @d
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    return

// A smaller device.
// SMALL-LABEL: func.func @three
// SMALL:         kern.chain 0 [1, 500]
// SMALL:         kern.chain 0 [1, 100]
// SMALL:         kern.chain 0 [2, 10]
// SMALL:         kern.chain 1 [1, 60]
func.func @three() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  %u = kern.alloc "u" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 500] {
      kern.launch @a grid [500, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 500>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 100] {
      kern.launch @b grid [100, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 100>}
    }
    kern.chain 0 [2, 10] {
      kern.launch @c grid [20, 1, 1](%x, %z : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 2, 10>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 60] {
      kern.launch @d grid [60, 1, 1](%y, %u : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 60>}
    }
  }
  return
}

// -----

// Negative: one more would wait. It begins the next launch, and does not wait there.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
kern.kernel @d "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @waiting
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @a
// CHECK:         kern.chain 1 [1, 100] {
// CHECK-NEXT:      kern.launch @b
// CHECK:         kern.chain 0 [1, 81] {
// CHECK-NEXT:      kern.launch @c
// CHECK:         kern.chain 1 [1, 180] {
// CHECK-NEXT:      kern.launch @d
func.func @waiting() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  %u = kern.alloc "u" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 100] {
      kern.launch @b grid [100, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 100>}
    }
  }
  // expected-remark@+1 {{[Missed] fuse-phases | Category:glm-fuse | Remark="181 blocks would wait, the device may hold no more than 180"}}
  kern.grid {
    kern.chain 0 [1, 81] {
      kern.launch @c grid [81, 1, 1](%y, %z : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 81>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 180] {
      kern.launch @d grid [180, 1, 1](%z, %u : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 180>}
    }
  }
  return
}

// -----

// Negative: a kernel marked alone is neither appended nor appended to.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
kern.kernel @d "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @alone
// CHECK-NOT:     kern.chain 1
// CHECK:         kern.launch @c
// CHECK:         kern.chain 1 [1, 4] {
// CHECK-NEXT:      kern.launch @d
func.func @alone() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  %u = kern.alloc "u" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{Remark="a kernel needs a grid of its own"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @b grid [4, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {alone, weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{Remark="a kernel needs a grid of its own"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @c grid [4, 1, 1](%y, %z : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @d grid [4, 1, 1](%z, %u : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  return
}

// -----

// Negative: eight phases are the most.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @phases
// CHECK:         kern.grid {
// CHECK:           kern.chain 7
// CHECK:         kern.grid {
// CHECK:           kern.chain 0
// CHECK:           kern.chain 1
// CHECK-NOT:       kern.chain
func.func @phases() {
  %x = kern.alloc "x" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{Remark="the grid has 8 phases"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  return
}

// -----

// A tap between two phases shows its buffer after the launch: nothing later writes it.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @taps
// CHECK:         kern.launch @a
// CHECK:         kern.launch @b
// CHECK:         kern.tap "x" %
// CHECK-NEXT:    kern.tap "y" %
// CHECK-NEXT:    return
func.func @taps() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.tap "x" %x : memref<1x8xf32>
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @b grid [4, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.tap "y" %y : memref<1x8xf32>
  return
}

// -----

// Slack: @b waits for @small alone, so the second phase begins while @large runs, which
// @c is the first to read; @free nobody reads. What is waited for first stands first.

kern.kernel @large "linear" template "Linear" params [1] threads 256 {}
kern.kernel @free "linear" template "Linear" params [1] threads 256 {}
kern.kernel @small "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @slack
// CHECK:           kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @small
// CHECK:           kern.chain 0 [1, 500] slack 1 {
// CHECK-NEXT:        kern.launch @large
// CHECK:           kern.chain 0 [1, 3] slack 2 {
// CHECK-NEXT:        kern.launch @free
// CHECK:           kern.chain 1 [1, 8] {
// CHECK-NEXT:        kern.launch @b
// CHECK:           kern.chain 2 [1, 2] {
// CHECK-NEXT:        kern.launch @c
func.func @slack() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  %u = kern.alloc "u" : memref<1x8xf32>
  %v = kern.alloc "v" : memref<1x8xf32>
  %w = kern.alloc "w" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 500] {
      kern.launch @large grid [500, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 500>}
    }
    kern.chain 0 [1, 3] {
      kern.launch @free grid [3, 1, 1](%x, %z : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 3>}
    }
    kern.chain 0 [1, 4] {
      kern.launch @small grid [4, 1, 1](%x, %u : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 8] {
      kern.launch @b grid [8, 1, 1](%u, %v : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 8>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-phases | Category:glm-fuse | Remark="waits inside the launch before it"}}
  kern.grid {
    kern.chain 0 [1, 2] {
      kern.launch @c grid [2, 1, 1](%y, %v, %w : memref<1x8xf32>, memref<1x8xf32>, memref<1x8xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 2>}
    }
  }
  return
}

// -----

// Negative: 64 MiB of weights are a launch of their own.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @long
// CHECK:         kern.chain 0 [1, 4] {
// CHECK-NEXT:      kern.launch @a
// CHECK:         kern.chain 0 [1, 8] {
// CHECK-NEXT:      kern.launch @b
func.func @long() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{Remark="it reads 67108864 bytes of weights, beside which a launch costs little"}}
  kern.grid {
    kern.chain 0 [1, 8] {
      kern.launch @b grid [8, 1, 1](%y, %z : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 67108864 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 8>}
    }
  }
  return
}
