"""expert_rows.py PLAN [--flip WEIGHT:PIECE]: how the experts of each layer lie in the packed file of
a plan. Fails unless each expert's pieces, or what each rank has of them, are one row: at multiples of
256 bytes, rows at multiples of 4096, one behind the other, all alike, the ranks of an expert side by
side. With --flip: flips a bit in the middle of a piece instead.
"""

import struct
import sys

plan = sys.argv[1]
with open(plan, "rb") as f:
    data = f.read()


def number(at, code):
    return struct.unpack_from("<" + code, data, at)[0]


def field(table, index):
    """Where a field of a table of the flatbuffer lies; None when it is absent."""
    vtable = table - number(table, "i")
    at = 4 + 2 * index
    offset = number(vtable + at, "H") if at < number(vtable, "H") else 0
    return table + offset if offset else None


def follow(at):
    return at + number(at, "I")


def string(at):
    return data[follow(at) + 4:][:number(follow(at), "I")].decode()


root = follow(64)  # behind the file's header
at = field(root, 14)
ranks = number(at, "I") if at else 1
vector = follow(field(root, 6))
weights = {}
for i in range(number(vector, "I")):
    weight = follow(vector + 4 + 4 * i)
    form = field(weight, 1)
    at = follow(field(weight, 5))
    pieces = [struct.unpack_from("<QQ", data, at + 4 + 24 * k) for k in range(number(at, "I"))]
    weights[string(field(weight, 0))] = (number(form, "B") if form else 0, pieces)

if len(sys.argv) > 2:
    name, piece = sys.argv[3].split(":")
    offset, size = weights[name][1][int(piece)]
    with open(plan.replace(".glmplan", ".glmweights"), "r+b") as f:
        f.seek(offset + size // 2)
        byte = f.read(1)[0]
        f.seek(offset + size // 2)
        f.write(bytes([byte ^ 4]))
    sys.exit()

layers = {}
for name, (form, pieces) in weights.items():
    if form in (1, 2):  # EXPERTS_DENSE, EXPERTS_GPTQ4
        layers.setdefault(name.rsplit(".", 1)[0], []).append((1 if form == 1 else 2, pieces))
for layer, parts in layers.items():
    experts = len(parts[0][1]) // parts[0][0] // ranks
    rows = []
    for e in range(experts):
        for rank in range(ranks):
            first = rank * experts + e
            row = [piece for n, pieces in parts for piece in pieces[first * n:(first + 1) * n]]
            rows.append((row[0][0], [(offset - row[0][0], size) for offset, size in row]))
    first = rows[0][1]
    length = -(-(first[-1][0] + first[-1][1]) // 4096) * 4096
    for e, (begin, row) in enumerate(rows):
        assert row == first and begin % 4096 == 0 and begin == rows[0][0] + e * length, (layer, e)
        assert all(offset % 256 == 0 for offset, _ in row), (layer, e)
        ends = [offset + size for offset, size in row]
        assert all(0 <= b[0] - end < 256 for end, b in zip(ends, row[1:])), (layer, e)
    print(f"{layer}: {experts} rows" + (f" of {ranks} ranks" if ranks > 1 else ""),
          f"of {length} bytes, pieces at", *(offset for offset, _ in first))
