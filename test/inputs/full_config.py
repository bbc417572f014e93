"""Checks `glmc --json` of the released configuration.

    full_config.py SUMMARY --fuse on|off [--launches N] [--at-most N]
                            [--fewer-than SUMMARY] [--ranks N]
"""

import argparse
import json
import sys

# 11 sparse layers keep, for each token, a latent of 512 bf16 and a quarter of an index key
# of 128 bf16.
STATE_BYTES_PER_TOKEN = 11 * (512 * 2 + 128 * 2 // 4)
# 34 linear layers keep three windows of 3 x 8192 bf16 and 64 heads of 128 x 128 f32; the
# sparse ones 3 keys and gates of 128 bf16 that wait for their pool.
STATE_BYTES_OF_HEADS = 34 * (3 * 3 * 8192 * 2 + 64 * 128 * 128 * 4)
STATE_BYTES_OF_KEYS = 11 * 3 * 2 * 128 * 2
# The weights that one token reads, in bf16: all dense ones and 8 experts a layer.
WEIGHT_BYTES, TOLERANCE = 20.97e9, 0.005
# Those that every rank reads: q_a, kv_a and indexer of 11 layers, f_a and g_a of 34, 42
# routers, 90 mHC maps.
WHOLE_BYTES = 2 * (11 * (4096 * (1536 + 512 + 2 * 128 + 32) + 4096 * 1536) +
                   34 * 2 * 128 * 4096 + 42 * 288 * 4096 + 90 * 24 * 16384)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


parser = argparse.ArgumentParser()
parser.add_argument("summary")
parser.add_argument("--fuse", required=True)
parser.add_argument("--launches", type=int)
parser.add_argument("--at-most", type=int)
parser.add_argument("--fewer-than")
parser.add_argument("--ranks", type=int, default=1)
args = parser.parse_args()
summary = load(args.summary)
faults = []


def check(what, right):
    if not right:
        faults.append(f"{args.summary}: {what}")


weights = summary["weight_bytes"]
expected_weights = WHOLE_BYTES + (WEIGHT_BYTES - WHOLE_BYTES) / args.ranks
check(f"ranks are {summary['ranks']}", summary["ranks"] == args.ranks)
check(f"fuse is {summary['fuse']}", summary["fuse"] == args.fuse)
check(f"weight_bytes {weights} is not {expected_weights:.4g} within {TOLERANCE:.1%}",
      abs(weights / expected_weights - 1) <= TOLERANCE)
check(f"state_bytes_per_token is {summary['state_bytes_per_token']}",
      summary["state_bytes_per_token"] == STATE_BYTES_PER_TOKEN)
check(f"state_bytes_per_sequence is {summary['state_bytes_per_sequence']}",
      summary["state_bytes_per_sequence"] ==
      STATE_BYTES_OF_HEADS // args.ranks + STATE_BYTES_OF_KEYS)
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
