"""Many clients with mixed requests, some of which go in the middle: no wrong byte, nothing left behind,
no growing memory."""

import asyncio
import collections
import random
import time

from client import get
from server import Server
from workload import LEAST_MARGIN, difference, make_cases, random_abort, run_case, with_logprobs


class Tally:
    def __init__(self):
        self.counts = collections.Counter()
        self.faults = []
        self.first, self.gaps, self.tokens = [], [], 0
        self.rss = []  # (seconds, bytes)

    def add(self, case, want, got, stream):
        self.counts["aborted" if got.aborted else "answered"] += 1
        self.counts[f"{case.kind}{', streamed' if stream else ''}"] += 1
        # A seed has one right answer only where nothing rounds otherwise.
        if wrong := difference(want, got) if case.greedy else got.broken or got.error:
            self.faults.append(f"{case.kind}, stream {stream}: {wrong}; {case.body} {case.questions}")
        self.tokens += got.usage["completion_tokens"] if got.usage else len(got.times)
        if stream and got.times:
            self.first.append(got.times[0] - got.sent)
            self.gaps += [b - a for a, b in zip(got.times, got.times[1:])]


def percentiles(seconds):
    ordered = sorted(seconds) or [0]
    p50, p99 = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
    return f"p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms"


async def answer_alone(port, cases):
    """What one client gets that asks one question after the other; the cases that have one right answer.
    Steps of several sequences and chunks of other lengths round otherwise, so that of two tokens whose
    logits are as good as equal either may come; such cases are left out."""
    decided = []
    for case in cases:
        case.answers = await run_case(port, with_logprobs(case), stream=False)
        for answer in case.answers:
            if not answer.whole:
                raise SystemExit(f"alone, {case.body} {case.questions}: {answer.broken or answer.error}")
        choices = [choice for answer in case.answers for choice in answer.choices]
        if not case.greedy or min(choice.margin for choice in choices) > LEAST_MARGIN:
            decided.append(case)
        if "logprobs" not in case.body:
            for choice in choices:
                choice.tokens = []
    return decided


async def client(port, cases, seed, end, aborts, tally):
    r = random.Random(seed)
    while time.monotonic() < end:
        case, stream = r.choice(cases), r.random() < 0.6
        abort = random_abort(r) if r.random() < aborts else None
        answers = await run_case(port, case, stream, abort)
        if answers[-1].error and answers[-1].error["code"] == "queue_full":
            tally.counts["asked again, the queue was full"] += 1
            answers.pop()
            await asyncio.sleep(0.2)
        for want, got in zip(case.answers, answers):
            tally.add(case, want, got, stream)


async def watch_memory(server, begin, end, tally):
    step = max(0.25, (end - begin) / 240)
    while time.monotonic() < end:
        tally.rss.append((time.monotonic() - begin, server.rss()))
        await asyncio.sleep(step)


def memory_growth(rss):
    """Highest of the last third over the highest of the second, and the tally's line about it."""
    third = len(rss) // 3
    low, middle, high = (max(b for _, b in part) / 2**20 for part in (rss[:third], rss[third:-third], rss[-third:]))
    return high - middle, f"memory in MiB, highest of each third: {low:.0f}, {middle:.0f}, {high:.0f}"


async def check_mixed(command, args):
    cases = make_cases(args.seed, args.cases)
    async with Server(command, parallel=1, cache_memory=0) as server:
        made, cases = len(cases), await answer_alone(server.port, cases)
    options = {"parallel": args.parallel, "queue": 256, "cache_memory": args.cache_memory << 20}
    async with Server(command, **options) as server:
        # A client warms the server up; then both begin with the same memory.
        await run_case(server.port, cases[0], stream=False)
        tally, begin = Tally(), time.monotonic()
        end = begin + args.seconds
        await asyncio.gather(
            watch_memory(server, begin, end, tally),
            *(client(server.port, cases, f"{args.seed} {i}", end, args.aborts, tally) for i in range(args.clients)))
        seconds = time.monotonic() - begin
        metrics = await server.idle()
        faults = tally.faults
        if metrics["glm_requests_running"] or metrics["glm_requests_waiting"]:
            faults.append(f"left behind: {metrics}")
        if metrics["glm_prefix_cache_bytes"] > metrics["glm_prefix_cache_limit_bytes"]:
            faults.append(f"the cache is beyond its limit: {metrics}")
        if (health := await get(server.port, "/health"))[0] != 200:
            faults.append(f"/health: {health}")
        growth, memory = memory_growth(tally.rss)
        if args.seconds >= 60 and growth > 16:
            faults.append(f"memory grows, {memory}")
        again = await run_case(server.port, cases[0], stream=True)
        faults += filter(None, map(difference, cases[0].answers, again))
        lines = server.answered()
        code, _ = await server.stop()
        if code != 0:
            faults.append(f"exit code {code}")
    print(f"{args.clients} clients, {args.parallel} at a time, {seconds:.0f} s, {len(cases)} of {made} cases,"
          f" the others undecided: {dict(tally.counts.most_common())}")
    print(f"  first token {percentiles(tally.first)}, with the wait for a place")
    print(f"  first token {percentiles([x['prefill_s'] for x in lines if x['completion_tokens']])}, from there on")
    print(f"  each further token {percentiles(tally.gaps)}; {tally.tokens / seconds:.0f} tokens/s of all clients")
    print(f"  {memory}; cache {metrics['glm_prefix_cache_bytes'] / 2**20:.1f}"
          f" of {metrics['glm_prefix_cache_limit_bytes'] / 2**20:.0f} MiB,"
          f" {metrics['glm_prefix_cache_hit_ratio'] * 100:.0f} % of prompt tokens from it")
    return faults
