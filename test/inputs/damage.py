"""damage.py FILE COPY COUNT COMMAND...: runs COMMAND on COUNT damaged copies of FILE.

Every run must end by itself within 20 s: with exit code 1 and a reason on stderr, or with 0
and the output that the whole file gives. Damage is seeded: a byte changed, a range zeroed, or
the end cut. Hashes are left as they are, so this is about accidents; plans that lie under a
right hash are the subject of runtime/plan/plan_mutation_test.cc.
"""

import random
import subprocess
import sys


def run(path):
    return subprocess.run(command + [path], capture_output=True, timeout=20)


source, copy, count, command = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
original = open(source, "rb").read()
whole = run(source)
if whole.returncode != 0:
    sys.exit(f"undamaged: exit {whole.returncode}, stderr {whole.stderr[:300]}")
refused = 0
for seed in range(count):
    rng = random.Random(seed)
    data = bytearray(original)
    # Half of the damage goes to the tables at the front.
    limit = len(data) if seed % 2 else min(len(data), 200_000)
    kind = rng.randrange(3)
    if kind == 0:
        data[rng.randrange(limit)] ^= 1 << rng.randrange(8)
    elif kind == 1:
        at = rng.randrange(limit)
        end = min(at + 64, len(data))
        data[at:end] = bytes(end - at)
    else:
        del data[rng.randrange(limit) :]
    with open(copy, "wb") as f:
        f.write(data)
    damaged = run(copy)
    if damaged.returncode not in (0, 1) or (damaged.returncode == 1 and not damaged.stderr):
        sys.exit(f"seed {seed}: exit {damaged.returncode}, stderr {damaged.stderr[:300]}")
    if damaged.returncode == 0 and damaged.stdout != whole.stdout:
        sys.exit(f"seed {seed}: accepted, and the output differs")
    refused += damaged.returncode
if refused == 0:
    sys.exit("no damaged file was refused")
print(f"{refused} of {count} refused")
