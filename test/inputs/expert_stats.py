"""Checks what `glmrun bench --json --expert-stats` said of a paged plan: arguments are
the report and the lines of its steps."""

import json
import sys

with open(sys.argv[1]) as file:
    experts = json.load(file)["experts"]
with open(sys.argv[2]) as file:
    lines = [json.loads(line) for line in file]

assert experts["timed_steps"] == 16, experts
for layer in experts["layers"]:
    assert layer["copy_us"] > 0 and layer["timed_bytes"] > 0, layer
    assert 0 <= layer["stall_us"] <= layer["copy_us"], layer
    link = experts["link"]["bytes_per_second"]
    assert layer["beyond_link"] == (layer["bytes_per_second"] > link), layer
stall = sum(layer["stall_us"] for layer in experts["layers"])
assert abs(stall - experts["stall_us_per_step"]) < 1e-3, experts

assert len(lines) == 20 + 16, len(lines)
assert [line["step"] for line in lines] == list(range(1, 37))
counted = lines[:20]
for key in ("accesses", "hits", "misses", "bytes_slots", "bytes_pinned", "bytes_file"):
    assert sum(line[key] for line in counted) == experts[key], key
for line in lines:
    assert sum(layer["misses"] for layer in line["layers"]) == line["misses"], line
for line in lines[20:]:
    for layer in line["layers"]:
        assert layer["copy_us"] > 0, layer
        assert layer["copied_bytes"] == layer["misses"] * experts["row_bytes"], layer
