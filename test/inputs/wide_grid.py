"""Prints a step of launches with many arguments, each of which reads what the one before wrote.

    wide_grid.py ARGUMENTS...        one launch for each number, of one block
    wide_grid.py --grids ARGUMENTS   the same, each in a grid of its own
    wide_grid.py --beside ARGUMENTS  grids that do not depend on each other
"""

import sys

flags = [a for a in sys.argv[1:] if a.startswith("--")]
counts = [int(a) for a in sys.argv[1:] if not a.startswith("--")]
BYTES = "weight_bytes = 0 : i64, memory_bytes = 0 : i64, flops = 0 : i64"
print('kern.kernel @k "linear" template "Linear" params [] threads 256 {}')
print("func.func @step() attributes {glm.sequences = 1 : i64, glm.tokens = 1 : i64} {")
for b in range(len(counts) + 1):
    print(f'  %b{b} = kern.alloc "b{b}" : memref<1x8xf32>')
for i, count in enumerate(counts):
    read = i + 1 if "--beside" in flags else i
    args = ", ".join([f"%b{read}"] * (count - 1) + [f"%b{i + 1}"])
    types = ", ".join(["memref<1x8xf32>"] * count)
    launch = (f"kern.launch @k grid [1, 1, 1]({args} : {types}) writes [{count - 1}] "
              f"{{{BYTES}, parts = array<i64: 1, 1>}}")
    print(f"  kern.grid {{ kern.chain 0 [1, 1] {{ {launch} }} }}" if flags else f"  {launch}")
print("  return")
print("}")
