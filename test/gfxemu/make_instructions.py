#!/usr/bin/env python3
"""Writes instructions.hip: one kernel for each instruction of instructions.txt.

An entry of instructions.txt is: a name; the instruction with %0 for the result and %1 ..
for its sources (`;` separates two instructions); the registers of result and sources
(r 32 bits, q 64 bits, s a scalar mask) and whether the result is exact or within two steps;
then one line of 32 lanes for each source and one for the result, in hexadecimal.

    make_instructions.py instructions.txt instructions.hip
"""

import sys

TYPES = {"r": "unsigned", "q": "unsigned long long", "s": "unsigned"}
BEFORE = {"r": "0x11223344u", "q": "0x1122334455667788ull", "s": "0"}


def kernel(name, text, result, sources):
    loads = "".join(f" {TYPES[s]} x{i} = ({TYPES[s]}){'abc'[i]}[l];" for i, s in enumerate(sources))
    output = '"=s"(d)' if result == "s" else '"+v"(d)'
    inputs = ", ".join(f'"v"(x{i})' for i in range(len(sources)))
    text = text.replace(";", "\\n")
    return (f"KERNEL(t_{name})(const u64* a, const u64* b, const u64* c, u64* o) {{\n"
            f"  unsigned l = __builtin_amdgcn_workitem_id_x();{loads}\n"
            f"  {TYPES[result]} d = {BEFORE[result]};\n"
            f'  asm volatile("{text}" : {output} : {inputs});\n  o[l] = d;\n}}\n')


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().splitlines()
    out = ["typedef unsigned long long u64;\n"
           '#define KERNEL(name) extern "C" __attribute__((global, '
           "amdgpu_flat_work_group_size(32, 32))) void name\n"]
    at = 0
    while at < len(lines):
        result, sources, _ = lines[at + 2].split()
        out.append(kernel(lines[at], lines[at + 1], result, sources))
        at += 4 + len(sources)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("".join(out))


if __name__ == "__main__":
    main()
