"""dequantise.py CHECKPOINT OUT [PREFIX]: the same checkpoint with its int4 experts as F32
tensors, with PREFIX those alone whose names begin so.

Values are exact: an f16 scale times an integer of -8..7 fits fp32.
"""

import array
import json
import os
import shutil
import struct
import sys

source, out = sys.argv[1:3]
chosen = "".join(sys.argv[3:])
os.makedirs(out, exist_ok=True)
with open(os.path.join(source, "model.safetensors"), "rb") as f:
    (length,) = struct.unpack("<Q", f.read(8))
    header = json.loads(f.read(length))
    data = f.read()
header.pop("__metadata__", None)


def raw(name):
    begin, end = header[name]["data_offsets"]
    return data[begin:end]


def dequantise(prefix):
    rows, n = header[prefix + ".qweight"]["shape"]
    words = array.array("I", raw(prefix + ".qweight"))
    scales = struct.unpack(f"<{len(raw(prefix + '.scales')) // 2}e", raw(prefix + ".scales"))
    group_rows = 128 // 8
    values = array.array("f", bytes(4 * n * rows * 8))
    for r in range(rows):
        line = words[r * n : (r + 1) * n]
        scale = scales[r // group_rows * n : (r // group_rows + 1) * n]
        for i in range(8):
            # Column 8 r + i of every output row.
            shift = 4 * i
            values[8 * r + i :: rows * 8] = array.array(
                "f", [s * ((w >> shift & 15) - 8) for w, s in zip(line, scale)]
            )
    return [n, rows * 8], values.tobytes()


tensors = []
for name, entry in header.items():
    if name.startswith(chosen) and name.endswith((".qzeros", ".scales")):
        continue
    if name.startswith(chosen) and name.endswith(".qweight"):
        prefix = name[: -len(".qweight")]
        shape, values = dequantise(prefix)
        tensors.append((prefix + ".weight", "F32", shape, values))
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
config = json.load(open(os.path.join(source, "config.json")))
if not chosen:
    config.pop("quantization_config", None)
json.dump(config, open(os.path.join(out, "config.json"), "w"))
if os.path.exists(os.path.join(source, "generation_config.json")):
    shutil.copy(os.path.join(source, "generation_config.json"), out)
