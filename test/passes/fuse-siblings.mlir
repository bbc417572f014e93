// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-fuse-siblings))' | FileCheck %s
// RUN: glm-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(glm-fuse-siblings))' \
// RUN:   --verify-diagnostics --remarks-filter='glm-.*' --remark-format=emitRemark -o /dev/null
// RUN: %python %S/../inputs/wide_grid.py --beside 251 249 | glm-opt --pass-pipeline='builtin.module(func.func(glm-fuse-siblings))' | FileCheck %s --check-prefix=ROOM
// RUN: %python %S/../inputs/wide_grid.py --beside 251 250 | glm-opt --pass-pipeline='builtin.module(func.func(glm-fuse-siblings))' \
// RUN:   --remarks-filter='glm-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WIDE

// A grid takes 500 arguments.
// ROOM-COUNT-1: kern.grid
// ROOM-NOT:     kern.grid
// WIDE: remark: [Missed] fuse-siblings | Category:glm-fuse | Remark="the grid would have too many arguments"

// Grids that wait for the same and not for each other are one grid of several chains, in
// the order of the launches. What waits for one of them waits for all.

kern.kernel @q "linear" template "Linear" params [1] threads 256 {}
kern.kernel @k "linear" template "Linear" params [1] threads 256 {}
kern.kernel @s "linear" template "Linear" params [1] threads 256 {}
kern.kernel @t "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @levels
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @q
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 0 [1, 2] {
// CHECK-NEXT:        kern.launch @k
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @s
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @t
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    return
func.func @levels() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %a = kern.alloc "a" : memref<1x8xf32>
  %b = kern.alloc "b" : memref<1x8xf32>
  %c = kern.alloc "c" : memref<1x8xf32>
  %d = kern.alloc "d" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @q grid [4, 1, 1](%x, %a : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @s grid [4, 1, 1](%a, %c : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-siblings | Category:glm-fuse | Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 2] {
      kern.launch @k grid [2, 1, 1](%x, %b : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 2>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-siblings | Category:glm-fuse | Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @t grid [4, 1, 1](%b, %d : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  return
}

// -----

// Negative: a chain of dependence has nothing side by side; neither a reader nor a writer
// passes the writer of a buffer.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @dependent
// CHECK:         kern.launch @a
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @b
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @c
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @a
func.func @dependent() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @b grid [4, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @c grid [4, 1, 1](%z, %x : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  return
}

// -----

// Negative: two launches on one state keep their order and are never side by side, though
// no buffer connects them. Another state is another thing.

glm.state @s : tensor<64x128xf32> tokens_per_row 1
glm.state @t : tensor<64x128xf32> tokens_per_row 1
kern.kernel @append "linear" template "Linear" params [1] threads 256 {}
kern.kernel @read "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @states
// CHECK:         %[[S:.*]] = kern.state @s
// CHECK:         %[[T:.*]] = kern.state @t
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @append grid [4, 1, 1](%{{.*}}, %[[S]]
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @append grid [4, 1, 1](%{{.*}}, %[[T]]
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @read grid [4, 1, 1](%[[S]]
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    return
func.func @states() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  %s = kern.state @s : memref<64x128xf32>
  %t = kern.state @t : memref<64x128xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @append grid [4, 1, 1](%x, %s : memref<1x8xf32>, memref<64x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @read grid [4, 1, 1](%s, %y : memref<64x128xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-siblings | Category:glm-fuse | Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @append grid [4, 1, 1](%z, %t : memref<1x8xf32>, memref<64x128xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  return
}

// -----

// Negative: a kernel marked alone has its grid to itself; those around it still share one.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @alone
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @a
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @c
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @b
func.func @alone() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Missed] fuse-siblings | Category:glm-fuse | Remark="the kernel needs a grid of its own"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @b grid [4, 1, 1](%y : memref<1x8xf32>) writes [0] {alone, weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-siblings | Category:glm-fuse | Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @c grid [4, 1, 1](%z : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  return
}

// -----

// The same when the first is alone: it has no sibling to be refused to.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @alone_first
// CHECK:           kern.launch @a
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @b
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @c
func.func @alone_first() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {alone, weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @b grid [4, 1, 1](%y : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{[Passed] fuse-siblings | Category:glm-fuse | Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @c grid [4, 1, 1](%z : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  return
}

// -----

// Taps follow the grid that their buffer's writer is in now, in their order.

kern.kernel @a "linear" template "Linear" params [1] threads 256 {}
kern.kernel @b "linear" template "Linear" params [1] threads 256 {}
kern.kernel @c "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @taps
// CHECK:         %[[X:.*]] = kern.alloc "x"
// CHECK:         kern.launch @a
// CHECK:         kern.launch @c
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    kern.tap "first" %[[X]]
// CHECK-NEXT:    kern.tap "second" %[[X]]
// CHECK-NEXT:    kern.tap "third" %
// CHECK-NEXT:    kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @b
// CHECK:         kern.tap "logits"
func.func @taps() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %y = kern.alloc "y" : memref<1x8xf32>
  %z = kern.alloc "z" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @a grid [4, 1, 1](%x : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.tap "first" %x : memref<1x8xf32>
  kern.tap "second" %x : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @b grid [4, 1, 1](%x, %y : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.tap "logits" %y : memref<1x8xf32>
  // expected-remark@+1 {{[Passed] fuse-siblings | Category:glm-fuse | Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @c grid [4, 1, 1](%z : memref<1x8xf32>) writes [0] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  kern.tap "third" %z : memref<1x8xf32>
  return
}

// -----

// A grid in a narrow level waits for the last wide one that it may: @side, of which @last
// reads, runs beside @next. Levels of fewer than 128 blocks are not wide (@mid), and nothing
// leaves one that is (@low).

kern.kernel @one "linear" template "Linear" params [1] threads 256 {}
kern.kernel @low "linear" template "Linear" params [1] threads 256 {}
kern.kernel @side "linear" template "Linear" params [1] threads 256 {}
kern.kernel @wide "linear" template "Linear" params [1] threads 256 {}
kern.kernel @next "linear" template "Linear" params [1] threads 256 {}
kern.kernel @mid "linear" template "Linear" params [1] threads 256 {}
kern.kernel @last "linear" template "Linear" params [1] threads 256 {}
// CHECK-LABEL: func.func @sink
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 1] {
// CHECK-NEXT:        kern.launch @one
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 256] {
// CHECK-NEXT:        kern.launch @wide
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 0 [1, 4] {
// CHECK-NEXT:        kern.launch @low
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 8] {
// CHECK-NEXT:        kern.launch @side
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 0 [1, 128] {
// CHECK-NEXT:        kern.launch @next
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 127] {
// CHECK-NEXT:        kern.launch @mid
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 1] {
// CHECK-NEXT:        kern.launch @last
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    return
func.func @sink() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %a = kern.alloc "a" : memref<1x8xf32>
  %b = kern.alloc "b" : memref<1x8xf32>
  %c = kern.alloc "c" : memref<1x8xf32>
  %d = kern.alloc "d" : memref<1x8xf32>
  %e = kern.alloc "e" : memref<1x8xf32>
  %f = kern.alloc "f" : memref<1x8xf32>
  %g = kern.alloc "g" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 8] {
      kern.launch @side grid [8, 1, 1](%x, %b : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 8>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @one grid [1, 1, 1](%x, %a : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 256] {
      kern.launch @wide grid [256, 1, 1](%a, %c : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 256>}
    }
  }
  // expected-remark@+1 {{Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 4] {
      kern.launch @low grid [4, 1, 1](%a, %d : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 4>}
    }
  }
  // expected-remark@+1 {{Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 128] {
      kern.launch @next grid [128, 1, 1](%c, %e : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 128>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 127] {
      kern.launch @mid grid [127, 1, 1](%e, %f : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 127>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @last grid [1, 1, 1](%b, %d, %f, %g : memref<1x8xf32>, memref<1x8xf32>, memref<1x8xf32>, memref<1x8xf32>) writes [3] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  return
}

// Negative: it may not pass its reader.
// CHECK-LABEL: func.func @no_room_to_sink
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 8] {
// CHECK-NEXT:        kern.launch @side
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 0 [1, 1] {
// CHECK-NEXT:        kern.launch @one
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 256] {
// CHECK-NEXT:        kern.launch @wide
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    return
func.func @no_room_to_sink() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %a = kern.alloc "a" : memref<1x8xf32>
  %b = kern.alloc "b" : memref<1x8xf32>
  %c = kern.alloc "c" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 8] {
      kern.launch @side grid [8, 1, 1](%x, %b : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 8>}
    }
  }
  // expected-remark@+1 {{Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @one grid [1, 1, 1](%x, %a : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 256] {
      kern.launch @wide grid [256, 1, 1](%a, %b, %c : memref<1x8xf32>, memref<1x8xf32>, memref<1x8xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 256>}
    }
  }
  return
}

// Negative: no wide level is less than twice as wide as the grid.
// CHECK-LABEL: func.func @too_wide_to_sink
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 100] {
// CHECK-NEXT:        kern.launch @side
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:      kern.chain 0 [1, 1] {
// CHECK-NEXT:        kern.launch @one
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 199] {
// CHECK-NEXT:        kern.launch @wide
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK:         kern.grid {
// CHECK-NEXT:      kern.chain 0 [1, 1] {
// CHECK-NEXT:        kern.launch @last
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT: {{^ *}}}
// CHECK-NEXT:    return
func.func @too_wide_to_sink() {
  %x = kern.alloc "x" : memref<1x8xf32>
  %a = kern.alloc "a" : memref<1x8xf32>
  %b = kern.alloc "b" : memref<1x8xf32>
  %c = kern.alloc "c" : memref<1x8xf32>
  %d = kern.alloc "d" : memref<1x8xf32>
  kern.grid {
    kern.chain 0 [1, 100] {
      kern.launch @side grid [100, 1, 1](%x, %b : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 100>}
    }
  }
  // expected-remark@+1 {{Remark="runs beside another grid"}}
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @one grid [1, 1, 1](%x, %a : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 199] {
      kern.launch @wide grid [199, 1, 1](%a, %c : memref<1x8xf32>, memref<1x8xf32>) writes [1] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 199>}
    }
  }
  kern.grid {
    kern.chain 0 [1, 1] {
      kern.launch @last grid [1, 1, 1](%b, %c, %d : memref<1x8xf32>, memref<1x8xf32>, memref<1x8xf32>) writes [2] {weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64, parts = array<i64: 1, 1>}
    }
  }
  return
}
