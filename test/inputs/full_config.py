"""Checks `glmc --json` of the released configuration.

    full_config.py SUMMARY --fuse on|off [--launches N] [--at-most N]
                            [--fewer-than SUMMARY]
"""

import argparse
import json
import sys

# 11 sparse layers keep, for each token, a latent of 512 bf16 and a quarter of an index key
# of 128 bf16.
STATE_BYTES_PER_TOKEN = 11 * (512 * 2 + 128 * 2 // 4)
# 34 linear layers keep three windows of 3 x 8192 bf16 and 64 heads of 128 x 128 f32; the
# sparse ones 3 keys and gates of 128 bf16 that wait for their pool.
STATE_BYTES_PER_SEQUENCE = 34 * (3 * 3 * 8192 * 2 + 64 * 128 * 128 * 4) + 11 * 3 * 2 * 128 * 2
# The weights that one token reads, in bf16: all dense ones and 8 experts a layer.
WEIGHT_BYTES, TOLERANCE = 20.97e9, 0.005


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


parser = argparse.ArgumentParser()
parser.add_argument("summary")
parser.add_argument("--fuse", required=True)
parser.add_argument("--launches", type=int)
parser.add_argument("--at-most", type=int)
parser.add_argument("--fewer-than")
args = parser.parse_args()
summary = load(args.summary)
faults = []


def check(what, right):
    if not right:
        faults.append(f"{args.summary}: {what}")


weights = summary["weight_bytes"]
check(f"fuse is {summary['fuse']}", summary["fuse"] == args.fuse)
check(f"weight_bytes {weights} is not {WEIGHT_BYTES:.4g} within {TOLERANCE:.1%}",
      abs(weights / WEIGHT_BYTES - 1) <= TOLERANCE)
check(f"state_bytes_per_token is {summary['state_bytes_per_token']}",
      summary["state_bytes_per_token"] == STATE_BYTES_PER_TOKEN)
check(f"state_bytes_per_sequence is {summary['state_bytes_per_sequence']}",
      summary["state_bytes_per_sequence"] == STATE_BYTES_PER_SEQUENCE)
if args.launches is not None:
    check(f"launches are {summary['launches']}", summary["launches"] == args.launches)
if args.at_most is not None:
    check(f"launches {summary['launches']} are more than {args.at_most}",
          summary["launches"] <= args.at_most)
if args.fewer_than:
    other = load(args.fewer_than)
    check(f"launches {summary['launches']} are not fewer than {other['launches']}",
          summary["launches"] < other["launches"])
    check(f"weight_bytes {weights} differ from {other['weight_bytes']}",
          weights == other["weight_bytes"])
for fault in faults:
    print(fault, file=sys.stderr)
sys.exit(bool(faults))
