"""Checks that the sums of `glmc explain --json --launches` close.

    explain_json.py REPORT
"""

import json
import math
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
faults = []


def same(what, left, right):
    if not math.isclose(left, right, rel_tol=1e-9):
        faults.append(f"{what}: {left} is not {right}")


machine = report["machine"]
for name, figure in machine.items():
    if isinstance(figure, dict) and not figure["source"]:
        faults.append(f"machine.{name} has no source")
for entry in report["entries"]:
    name, prediction = entry["name"], entry["prediction"]
    times, launches = prediction["us"], prediction["launch_list"]
    total = times["total"]
    same(f"{name}: parts of the time", sum(times.values()) - total, total)
    same(f"{name}: layers", sum(k["us"]["total"] for k in prediction["layer_kinds"]), total)
    kernels = prediction["kernels"]
    reduces = times["all_reduce"]
    same(f"{name}: kernels", sum(k["us"]["total"] for k in kernels) + reduces, total)
    same(f"{name}: launches", sum(d["us"]["total"] for d in launches) + reduces, total)
    same(f"{name}: tokens", prediction["tokens_per_second"], prediction["rows"] / total * 1e6)
    for field in ("weight_bytes", "memory_bytes", "flops"):
        for part in (kernels, prediction["layer_kinds"]):
            same(f"{name}: {field}", sum(k[field] for k in part), entry[field])
    members = sum(len(d["members"]) for d in launches)
    same(f"{name}: members", members, entry["operations"])
    same(f"{name}: device launches", len(launches), entry["launches"])
    same(f"{name}: predicted launches", len(launches), prediction["device_launches"])
    if prediction["floor_us"] > total:
        faults.append(f"{name}: the floor is above the prediction")
for fault in faults:
    print(fault, file=sys.stderr)
sys.exit(bool(faults))
