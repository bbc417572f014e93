"""The requests that clients make: chats and completions of many kinds, each with a seed or greedy, so
that each has one right answer."""

import dataclasses
import json
import random

from client import Abort, Answer, ask

CHAT, COMPLETION = "/v1/chat/completions", "/v1/completions"
# In logprob: answers whose tokens are all so much likelier than others must be the same however steps
# are cut and batched. Rounding was seen to move logprobs by 0.001, rarely by 0.02.
LEAST_MARGIN = 0.05
WORDS = "cat dog fox owl bear lamp book kite ring stone Alice Ben Clara forest river Grün Straße été 東京 🙂 дом".split()
LANDS = "France Germany Italy Spain Japan China Egypt Kenya Peru Chile Canada Norway Sweden".split()
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}, "name": {"type": "string", "maxLength": 12}},
          "required": ["n", "name"], "additionalProperties": False}
WEATHER = {"name": "get_weather", "description": "Get the current weather of a city.",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


@dataclasses.dataclass
class Case:
    kind: str
    path: str
    body: dict
    questions: list[str] = dataclasses.field(default_factory=list)  # of a chat, turn by turn
    answers: list[Answer] = dataclasses.field(default_factory=list)  # that a lone client got

    @property
    def greedy(self):
        return self.body["temperature"] == 0


def _codes(r, count):
    """A text that has a place to look up; about 12 tokens each."""
    facts = [(r.choice(WORDS), r.randint(1000, 9999)) for _ in range(count)]
    return " ".join(f"The code of {name} is {code}." for name, code in facts), r.choice(facts)[0]


def question(r):
    text, name = _codes(r, r.randint(2, 14))
    return r.choice([
        f"What is {r.randint(0, 60)} + {r.randint(0, 40)}?", f"What is the capital of {r.choice(LANDS)}?",
        f"Capital of {r.choice(LANDS)}?", "Who are you?", f"Count from {r.randint(1, 5)} to {r.randint(6, 12)}.",
        "Repeat: " + " ".join(r.choices(WORDS, k=r.randint(2, 6))), "Tell me a story.",
        f"{text} What is the code of {name}?"])


def make_case(r):
    kind = r.choice(["chat", "chat", "turns", "chat_logprobs", "json", "seeded", "tools", "text", "ids", "text_logprobs"])
    body = {"temperature": 0, "max_tokens": r.choice([4, 16, 32, 64, 100])}
    if kind in ("text", "text_logprobs"):
        body["prompt"] = r.choice(["Once upon a time there was a ", "One day ", "", "Hä? "]) + r.choice(WORDS)
    if kind == "ids":
        body |= {"prompt": [r.randrange(2000) for _ in range(r.randint(1, 150))], "ignore_eos": True}
    if kind == "text_logprobs":
        body["logprobs"] = r.randint(0, 5)
    if "prompt" in body:
        return Case(kind, COMPLETION, body)
    if kind == "chat_logprobs":
        body |= {"logprobs": True, "top_logprobs": r.randint(0, 5)}
    if kind == "json":
        body |= {"max_tokens": 150, "response_format": {
            "type": "json_schema", "json_schema": {"name": "number", "schema": NUMBER}}}
    if kind == "seeded":
        body |= {"temperature": r.choice([0.7, 1.5]), "seed": r.randrange(1 << 30), "n": r.choice([1, 1, 2])}
    if kind == "tools":
        body["tools"] = [{"type": "function", "function": WEATHER}]
        return Case(kind, CHAT, body, [f"What is the weather in {r.choice(['Paris', 'Rome', 'Oslo'])}?"])
    turns = r.randint(2, 4) if kind == "turns" else 1
    return Case(kind, CHAT, body, [question(r) for _ in range(turns)])


def make_cases(seed, count):
    r = random.Random(seed)
    return [make_case(r) for _ in range(count)]


def with_logprobs(case):
    """The same, with the likeliest other tokens."""
    wanted = {"logprobs": True, "top_logprobs": 5} if case.path == CHAT else {"logprobs": 5}
    return dataclasses.replace(case, body=case.body | wanted)


def random_abort(r):
    return Abort(seconds=r.choice([0.001, 0.05, 0.5, 2]), events=r.choice([0, 1, 5, 20, 1000]), reset=r.random() < 0.5)


async def run_case(port, case, stream, abort=None):
    """The case's answers, turn by turn, until one is not whole; the last turn may be aborted."""
    body = {**case.body, "stream": stream, **({"stream_options": {"include_usage": True}} if stream else {})}
    if not case.questions:
        return [await ask(port, case.path, body, abort)]
    messages, answers = [], []
    for i, text in enumerate(case.questions):
        messages.append({"role": "user", "content": text})
        last = i + 1 == len(case.questions)
        answers.append(await ask(port, case.path, {**body, "messages": messages}, abort if last else None))
        if not answers[-1].whole:
            break
        choice = answers[-1].choices[0]
        messages.append({"role": "assistant", "content": choice.content, "reasoning_content": choice.reasoning})
    return answers


def difference(want, got, most_logprob=0.1):
    """What is wrong with an answer that came whole, or with the part of it that came; None: nothing."""
    if got.broken or (got.error and not got.aborted):
        return got.broken or json.dumps(got.error)
    for i, (a, b) in enumerate(zip(want.choices, got.choices)):
        for name in ("content", "reasoning"):
            x, y = getattr(a, name), getattr(b, name)
            if x != y and not (got.aborted and x.startswith(y)):
                return f"choice {i}: {name} {y!r}, alone {x!r}"
        if got.aborted:
            continue
        if (a.calls, a.finish, len(a.tokens)) != (b.calls, b.finish, len(b.tokens)):
            return f"choice {i}: {b}, alone {a}"
        for (x, p), (y, q) in zip(a.tokens, b.tokens):
            if x != y or abs(p - q) > most_logprob:
                return f"choice {i}: token {y!r} of {q}, alone {x!r} of {p}"
    if not got.aborted and len(got.choices) != len(want.choices):
        return f"{len(got.choices)} choices, alone {len(want.choices)}"
    return None
