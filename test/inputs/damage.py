"""damage.py FILE COPY COUNT COMMAND...: runs COMMAND on COUNT damaged copies of FILE.

Every run must end by itself within 20 s with exit code 0 or 1, and say why on stderr when
it is 1. Damage is seeded: a byte changed, a range zeroed, or the end cut.
"""

import random
import subprocess
import sys

source, copy, count, command = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
original = open(source, "rb").read()
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
        data[at : at + 64] = bytes(min(64, len(data) - at))
    else:
        del data[rng.randrange(limit) :]
    with open(copy, "wb") as f:
        f.write(data)
    run = subprocess.run(command + [copy], capture_output=True, timeout=20)
    if run.returncode not in (0, 1) or (run.returncode == 1 and not run.stderr):
        sys.exit(f"seed {seed}: exit {run.returncode}, stderr {run.stderr[:300]}")
    refused += run.returncode
if refused == 0:
    sys.exit("no damaged file was refused")
print(f"{refused} of {count} refused")
