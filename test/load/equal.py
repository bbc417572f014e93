"""Streamed answers are those that come whole, of texts with many bytes a character and of such that no
character ends, cut by stop strings and by lengths."""

import random

from server import Server
from workload import CHAT, COMPLETION, Case, difference, question, run_case

SAID = ["Grün wie die Straße", "東京は大きい", "🙂 und 🙃", "дом и лес", "e\u0301te\u0301 👩\u200d👩\u200d👧"]
PROMPTS = ["", "Grün, ", "東京 ", "🙂🙂 ", "дом и ", "Once upon a time there was a cat named "]


def make(r):
    body = {"temperature": r.choice([0, 0, 0.8, 2]), "seed": r.randrange(1 << 30), "max_tokens": r.randint(1, 48),
            "logprobs": None, "ignore_eos": r.random() < 0.3}
    if r.random() < 0.4:
        # The only way to have a small model say them; lengths cut them inside of a character.
        wanted = {"type": "json_schema", "json_schema": {"name": "said", "schema": {"enum": r.sample(SAID, 2)}}}
        return Case("json", CHAT, body | {"max_tokens": r.randint(8, 90), "response_format": wanted, "ignore_eos": False}, [question(r)])
    if r.random() < 0.5:
        return Case("chat", CHAT, body | r.choice([{}, {"logprobs": True}]), [question(r)])
    return Case("completion", COMPLETION, body | {"prompt": "Hi " + r.choice(PROMPTS) + r.choice(PROMPTS),
                                                  "logprobs": r.choice([None, 1])})


def with_stop(case, whole, r):
    """The case with a part of its own answer as stop string, and what the answer is then; None: too short."""
    content = whole.choices[0].content
    if len(content) < 2 or "\ufffd" in content:
        return None
    at = r.randrange(len(content))
    stop = content[at:at + r.randint(1, 6)]
    stops = r.sample([stop, "never said", "\u0000x"], 3)
    return Case(case.kind, case.path, case.body | {"stop": stops}, case.questions), content[:content.index(stop)]


async def one(port, seed, faults, counts):
    r = random.Random(seed)
    case, content = make(r), None
    [whole] = await run_case(port, case, stream=False)
    if not whole.broken and r.random() < 0.5 and (stopped := with_stop(case, whole, r)):
        case, content = stopped
        [whole] = await run_case(port, case, stream=False)
        counts["stopped"] += 1
    [streamed] = await run_case(port, case, stream=True)
    counts["outputs"] += 1
    counts["multi-byte"] += any(ord(c) > 127 for c in whole.choices[0].content if c != "\ufffd")
    counts["not UTF-8"] += "\ufffd" in whole.choices[0].content
    wrong = difference(whole, streamed)
    if not wrong and content is not None and whole.choices[0].content != content:
        wrong = f"stopped at {whole.choices[0].content!r}, expected {content!r}"
    usage = [(a.usage["prompt_tokens"], a.usage["completion_tokens"]) for a in (whole, streamed) if a.usage]
    if not wrong and (len(usage) < 2 or usage[0] != usage[1]):
        wrong = f"usage {usage}"
    if wrong:
        faults.append(f"{seed}: {wrong}; {case.body} {case.questions}")


async def check_equal(command, args):
    faults, counts = [], {"outputs": 0, "stopped": 0, "multi-byte": 0, "not UTF-8": 0}
    # One at a time: how the others round would change what a seed gives.
    async with Server(command, parallel=1) as server:
        for seed in range(args.outputs):
            await one(server.port, seed, faults, counts)
    print(f"streamed against whole: {counts}")
    return faults
