"""serve_load.py PLAN [CHECK...]: `glmrun serve` under load, on this machine.

  mixed   clients with mixed requests, some of which abort: right answers, nothing left behind
  turns   a long conversation: each turn reads what is new, and says the same as without a cache
  drain   SIGTERM under load: ends in good form, within 5 s
  equal   streamed answers are those that come whole

All four by default. Prints what it measured; with a fault it tells each and ends with 1.

  serve_load.py model.glmplan                                     two minutes with 64 clients, and the rest
  serve_load.py model.glmplan mixed --clients 8 --seconds 1800    a soak
  serve_load.py model.glmplan --short                             all in small, without times
"""

import argparse
import asyncio
import sys
import time

from drain import check_drain
from equal import check_equal
from mixed import check_mixed
from turns import check_turns

CHECKS = {"mixed": check_mixed, "turns": check_turns, "drain": check_drain, "equal": check_equal}
SHORT = {"clients": 8, "parallel": 4, "seconds": 8, "cases": 20, "context": 500, "outputs": 40, "warm_up": 1}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    parser.add_argument("--glmrun", default="glmrun", help="the program; default: of the PATH")
    parser.add_argument("--device", default="host")
    parser.add_argument("--short", action="store_true", help="sizes for a test")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--parallel", type=int, default=8, help="of glmrun serve")
    parser.add_argument("--cache-memory", type=int, default=64, help="of glmrun serve in mixed, MiB")
    parser.add_argument("--seconds", type=float, default=120, help="of mixed")
    parser.add_argument("--aborts", type=float, default=0.3, help="share of requests in mixed")
    parser.add_argument("--cases", type=int, default=100, help="different requests in mixed")
    parser.add_argument("--context", type=int, default=3000, help="tokens of the conversation in turns")
    parser.add_argument("--outputs", type=int, default=1000, help="of equal")
    parser.add_argument("--warm-up", type=float, default=5, help="seconds before SIGTERM in drain")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.short:
        vars(args).update(SHORT)
    if unknown := set(args.checks) - set(CHECKS):
        parser.error(f"no such check: {', '.join(unknown)}")
    return args


async def main(args):
    command, failed = [args.glmrun, args.plan, f"--device={args.device}"], False
    for name in args.checks or CHECKS:
        begin = time.monotonic()
        faults = await CHECKS[name](command, args)
        failed = failed or bool(faults)
        print(f"{name}: {len(faults)} faults, {time.monotonic() - begin:.0f} s", flush=True)
        for fault in faults[:20]:
            print("  ", fault, file=sys.stderr)
    return failed


sys.exit(asyncio.run(main(parse())))
