"""Compares two results of `glm-check golden --json`.

closer.py A B [--steps LIMIT]: exit code 0 when the plan of A is at least as close to the
recording as that of B: the mean over cases of the relative L2 of the logits and, with
--steps, the mean and the median over the steps in which both are within LIMIT. A larger
difference is a router's other choice, which decides the steps that follow.
"""

import json
import statistics
import sys

FEWEST = 20  # steps that a mean is worth


def read(path):
    with open(path) as file:
        result = json.load(file)
    steps = {
        (case["name"], tensor["name"]): tensor["rel_l2"]
        for case in result["cases"]
        for tensor in case.get("tensors", [])
        if ".step" in tensor["name"]
    }
    return result["mean_rel_l2"], steps


def main():
    (mean_a, a), (mean_b, b) = read(sys.argv[1]), read(sys.argv[2])
    pairs = [("mean over cases", mean_a, mean_b)]
    if sys.argv[3:4] == ["--steps"]:
        limit = float(sys.argv[4])
        both = [step for step in a if max(a[step], b[step]) <= limit]
        if len(both) < FEWEST:
            sys.exit(f"{len(both)} steps are within {limit}, {FEWEST} should be")
        for name in ("mean", "median"):
            of = getattr(statistics, name)
            pairs.append((f"{name} of {len(both)} steps",
                          of(a[s] for s in both), of(b[s] for s in both)))
    for name, one, other in pairs:
        print(f"{name}: {one:.4g}, the other's {other:.4g}")
    return 0 if all(one <= other for _, one, other in pairs) else 1


sys.exit(main())
