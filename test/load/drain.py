"""SIGTERM under load: streams end in good form, the program leaves in time, and never says again
that it is healthy."""

import asyncio
import collections
import random
import time

from client import get
from server import Server
from workload import make_cases, run_case


async def watch_health(port, seen):
    """(time of asking, status) until nobody answers."""
    while True:
        asked = time.monotonic()
        try:
            seen.append((asked, (await get(port, "/health"))[0]))
        except (OSError, asyncio.IncompleteReadError):
            return
        await asyncio.sleep(0.01)


async def client(port, cases, seed, ended):
    """Asks until nobody listens; keeps (case, stream, answer)."""
    r = random.Random(seed)
    while True:
        case, stream = r.choice(cases), r.random() < 0.7
        if len(case.questions) < 2 and r.random() < 0.5:  # what does not end by itself before the limit
            # An answer that must be JSON ends with it.
            case.body |= {"max_tokens": 3000, "ignore_eos": "response_format" not in case.body}
        try:
            answers = await run_case(port, case, stream)
        except OSError:
            return
        ended += [(case.kind, stream, answer) for answer in answers]
        if not answers[-1].whole:
            await asyncio.sleep(0.05)


async def check_drain(command, args):
    faults, ended, seen = [], [], []
    async with Server(command, parallel=args.parallel, queue=256) as server:
        watching = asyncio.create_task(watch_health(server.port, seen))
        clients = [asyncio.create_task(client(server.port, make_cases(f"drain {i}", 20), i, ended))
                   for i in range(args.clients)]
        await asyncio.sleep(args.warm_up)
        signalled = time.monotonic()
        code, seconds = await server.stop()
        await asyncio.wait_for(asyncio.gather(watching, *clients), 30)
    if code != 0 or seconds >= 5:
        faults.append(f"exit code {code} after {seconds:.2f} s")
    statuses = [status for _, status in seen]
    if 503 in statuses and 200 in statuses[statuses.index(503):]:
        faults.append("/health was 200 after it had been 503")
    faults += [f"/health was 200 {asked - signalled:.2f} s after SIGTERM" for asked, status in seen
               if status == 200 and asked > signalled + 2]
    counts = collections.Counter()
    for kind, stream, answer in ended:
        under_way = answer.sent < signalled and (not answer.times or answer.times[-1] > signalled)
        if answer.broken and (answer.sent < signalled or answer.status):
            faults.append(f"{kind}, stream {stream}, sent {answer.sent - signalled:.2f} s after SIGTERM:"
                          f" {answer.broken}, status {answer.status}")
        elif answer.error and answer.error["code"] not in ("draining", "queue_full"):
            faults.append(f"{kind}, stream {stream}: {answer.error}")
        elif answer.sent >= signalled:
            counts["refused afterwards"] += 1
        elif answer.error:
            counts["streams cut with an error" if stream and answer.times else "answered with an error"] += 1
        elif under_way:
            counts["ended well"] += 1
        else:
            counts["ended before"] += 1
    if not counts["streams cut with an error"]:
        faults.append(f"no stream was under way: {dict(counts)}")
    print(f"SIGTERM with {args.clients} clients: exit code {code} after {seconds:.2f} s, {dict(counts)},"
          f" /health {dict(collections.Counter(statuses))}")
    return faults
