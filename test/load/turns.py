"""The turns of a chat: each reads only what is new, and says what it says without a cache."""

from client import ask
from server import Server
from workload import CHAT, LANDS, LEAST_MARGIN, difference

FILLER = "The sun was warm that day. Nobody spoke for a while. A bird sang in the garden. "


def question(turn, sentences):
    return FILLER * sentences + f"What is the capital of {LANDS[turn % len(LANDS)]}?"


class Conversation:
    def __init__(self, port):
        self.port, self.messages, self.turns = port, [], []

    async def ask(self, text):
        self.messages.append({"role": "user", "content": text})
        body = {"messages": self.messages, "temperature": 0, "max_tokens": 48, "stream": True,
                "logprobs": True, "top_logprobs": 5, "stream_options": {"include_usage": True}}
        self.turns.append(await ask(self.port, CHAT, body))
        if not self.turns[-1].whole:
            raise SystemExit(f"turn {len(self.turns)}: {self.turns[-1].broken or self.turns[-1].error}")
        return self.turns[-1]

    def answered(self, choice):
        self.messages.append({"role": "assistant", "content": choice.content, "reasoning_content": choice.reasoning})


def _cached(answer):
    return answer.usage["prompt_tokens_details"]["cached_tokens"]


def _line(name, answer):
    first, last = answer.times[0], answer.times[-1]
    rate = (len(answer.times) - 1) / max(last - first, 1e-9)
    return (f"  {name}: {answer.usage['prompt_tokens']} tokens, {_cached(answer)} of them kept,"
            f" first token {(first - answer.sent) * 1e3:.0f} ms, then {rate:.0f} tokens/s")


def _faults(fresh, kept):
    """Of turns that had the same history."""
    known = 0
    for i, (a, b) in enumerate(zip(fresh, kept), 1):
        if _cached(a):
            yield f"turn {i} without cache: {_cached(a)} tokens were kept"
        if _cached(b) < known:
            yield f"turn {i}: {_cached(b)} tokens were kept, {known} were known"
        wrong = difference(a, b)
        # Of tokens that are as good as equally likely, either may come.
        if wrong and a.choices[0].margin > LEAST_MARGIN:
            yield f"turn {i}: {wrong}"
        # Neither the prompt nor the answer, but for its last token, is read again in the next turn.
        known = b.usage["prompt_tokens"] + (0 if wrong else b.usage["completion_tokens"] - 1)


async def check_turns(command, args):
    sentences = max(1, args.context // 300)
    async with (Server(command, parallel=1, cache_memory=0) as plain,
                Server(command, parallel=2, cache_memory=256 << 20) as caching):
        fresh, kept = Conversation(plain.port), Conversation(caching.port)
        while not fresh.turns or fresh.turns[-1].usage["prompt_tokens"] < args.context:
            text = question(len(fresh.turns), sentences)
            # Takes the only slot, and with it what it held.
            await ask(plain.port, "/v1/completions", {"prompt": "a", "max_tokens": 1})
            [choice] = (await fresh.ask(text)).choices
            await kept.ask(text)
            fresh.answered(choice)
            kept.answered(choice)
    decided = sum(answer.choices[0].margin > LEAST_MARGIN for answer in fresh.turns)
    print(f"a conversation of {len(fresh.turns)} turns, in {decided} of which no other token was as likely:")
    for name, turns in (("kept", kept.turns), ("fresh", fresh.turns)):
        for i in sorted({0, 1, len(turns) // 2, len(turns) - 1}):
            print(_line(f"turn {i + 1}, {name}", turns[i]))
    return list(_faults(fresh.turns, kept.turns))
