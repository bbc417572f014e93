"""pack_linears.py CHECKPOINT OUT PART...: the same checkpoint with the linears whose names
hold one of PART stored as symmetric int4 in groups of 128, in GPTQ's layout.
"""

import array
import json
import os
import shutil
import struct
import sys

GROUP = 128
source, out, parts = sys.argv[1], sys.argv[2], sys.argv[3:]
os.makedirs(out, exist_ok=True)
with open(os.path.join(source, "model.safetensors"), "rb") as f:
    (length,) = struct.unpack("<Q", f.read(8))
    header = json.loads(f.read(length))
    data = f.read()
header.pop("__metadata__", None)


def raw(name):
    begin, end = header[name]["data_offsets"]
    return data[begin:end]


def pack(name):
    """qweight [K/8, N], scales F16 [K/128, N] and qzeros, as (suffix, dtype, shape, bytes)."""
    n, k = header[name]["shape"]
    bits = array.array("H", raw(name))
    words = array.array("I", bytes(k // 8 * n * 4))
    scales = array.array("H", bytes(k // GROUP * n * 2))
    for row in range(n):
        for g in range(k // GROUP):
            first = row * k + g * GROUP
            values = [
                struct.unpack("<f", struct.pack("<I", b << 16))[0]
                for b in bits[first : first + GROUP]
            ]
            # The value of largest magnitude becomes code 0, so scales have either sign.
            half = struct.pack("<e", -max(values, key=abs) / 8)
            (scale,) = struct.unpack("<e", half)
            (scales[g * n + row],) = struct.unpack("<H", half)
            for i, v in enumerate(values):
                code = 8 + max(-8, min(7, round(v / scale) if scale else 0))
                column = g * GROUP + i
                words[column // 8 * n + row] |= code << (4 * (column % 8))
    zeros = b"\x77" * (k // GROUP * ((n + 7) // 8) * 4)
    return [
        (".qweight", "I32", [k // 8, n], words.tobytes()),
        (".scales", "F16", [k // GROUP, n], scales.tobytes()),
        (".qzeros", "I32", [k // GROUP, (n + 7) // 8], zeros),
    ]


tensors = []
for name, entry in header.items():
    if name.endswith(".weight") and any(part in name for part in parts):
        stem = name[: -len(".weight")]
        tensors += [(stem + suffix, *rest) for suffix, *rest in pack(name)]
    else:
        tensors.append((name, entry["dtype"], entry["shape"], raw(name)))

offset, table = 0, {}
for name, dtype, shape, values in tensors:
    table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(values)]}
    offset += len(values)
text = json.dumps(table).encode()
text += b" " * (-len(text) % 8)
with open(os.path.join(out, "model.safetensors"), "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text)
    for _, _, _, values in tensors:
        f.write(values)
for file in ("config.json", "generation_config.json"):
    if os.path.exists(os.path.join(source, file)):
        shutil.copy(os.path.join(source, file), out)
