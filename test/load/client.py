"""A client of the server over a bare socket: HTTP/1.1, whole answers and event streams. It takes
nothing for granted: what is not an answer in good form is told in Answer.broken."""

import asyncio
import dataclasses
import json
import socket
import struct
import time


@dataclasses.dataclass
class Abort:
    """When a client goes in the middle: after `events` of a stream or after `seconds`, what is first."""

    seconds: float
    events: int
    reset: bool  # RST instead of FIN


@dataclasses.dataclass
class Choice:
    content: str = ""
    reasoning: str = ""
    calls: list = dataclasses.field(default_factory=list)  # [name, arguments]
    tokens: list = dataclasses.field(default_factory=list)  # [token, logprob]
    margin: float = 100.0  # least distance in logprob of a token that came to one that did not
    finish: str | None = None


class Answer:
    def __init__(self):
        self.status = 0
        self.choices: list[Choice] = []
        self.usage = None
        self.error = None
        self.whole = False  # all of it came, without an error
        self.aborted = False
        self.broken = None  # what was wrong with its form
        self.sent = time.monotonic()
        self.times: list[float] = []  # of events that held text

    def choice(self, index):
        while len(self.choices) <= index:
            self.choices.append(Choice())
        return self.choices[index]


def _add_logprobs(logprobs, choice):
    if not logprobs:
        return
    if "content" in logprobs:
        tokens = [(t["token"], t["logprob"], [(o["token"], o["logprob"]) for o in t["top_logprobs"]])
                  for t in logprobs["content"]]
    else:
        tops = (top.items() for top in logprobs["top_logprobs"])
        tokens = list(zip(logprobs["tokens"], logprobs["token_logprobs"], tops))
    for token, logprob, top in tokens:
        choice.tokens.append([token, logprob])
        choice.margin = min([choice.margin, *(abs(logprob - p) for other, p in top if other != token)])


def _add_json(body, answer):
    """Of a whole answer or an event of a stream; whether it held text."""
    if "error" in body:
        answer.error = body["error"]
        return False
    answer.usage = body.get("usage") or answer.usage
    text = False
    for part in body["choices"]:
        choice = answer.choice(part["index"])
        message = part.get("message") or part.get("delta") or {"content": part.get("text")}
        content, reasoning = message.get("content") or "", message.get("reasoning_content") or ""
        choice.content += content
        choice.reasoning += reasoning
        for i, call in enumerate(message.get("tool_calls") or []):
            function, at = call["function"], call.get("index", i)
            if at == len(choice.calls):
                choice.calls.append([function["name"], ""])
            choice.calls[at][1] += function["arguments"]
        _add_logprobs(part.get("logprobs"), choice)
        choice.finish = part["finish_reason"] or choice.finish
        text = text or bool(content or reasoning or message.get("tool_calls"))
    return text


async def _read_head(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    return int(head[0].split()[1]), fields


async def _read_events(reader, answer, abort):
    pending, ended = b"", False
    while size := int((await reader.readline()).split(b";")[0], 16):
        pending += await reader.readexactly(size)
        await reader.readexactly(2)
        *events, pending = pending.split(b"\n\n")
        for event in events:
            if event.startswith(b":"):
                continue
            assert event.startswith(b"data: ") and not ended, f"event {event!r}"
            if event == b"data: [DONE]":
                assert answer.error is None, "[DONE] after an error"
                answer.whole = ended = True
            elif _add_json(json.loads(event[6:].decode()), answer):
                answer.times.append(time.monotonic())
                if abort and len(answer.times) > abort.events:
                    raise TimeoutError
            ended = ended or answer.error is not None
    await reader.readline()
    assert not pending, f"left over at the end: {pending!r}"
    assert ended, "the stream ends with neither [DONE] nor an error"


async def _exchange(reader, writer, request, answer, abort):
    writer.write(request)
    await writer.drain()
    answer.status, fields = await _read_head(reader)
    if fields["content-type"].startswith("text/event-stream"):
        return await _read_events(reader, answer, abort)
    body = await reader.readexactly(int(fields["content-length"]))
    _add_json(json.loads(body.decode()), answer)
    answer.whole = answer.status == 200 and answer.error is None
    assert answer.whole or answer.error, f"status {answer.status} without an error"


async def ask(port, path, body, abort=None, limit=300):
    """Sends one request on a connection of its own; refused connections raise ConnectionRefusedError."""
    data = json.dumps(body, ensure_ascii=False).encode()
    request = (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
               f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n").encode() + data
    answer = Answer()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        exchange = _exchange(reader, writer, request, answer, abort)
        await asyncio.wait_for(exchange, abort.seconds if abort else limit)
    except TimeoutError:
        answer.aborted = abort is not None
        answer.broken = None if abort else f"no end after {limit} s"
    except (AssertionError, KeyError, ValueError, OSError, asyncio.IncompleteReadError) as error:
        answer.broken = f"{type(error).__name__}: {error}"
    finally:
        if abort and abort.reset:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        writer.close()
    return answer


async def get(port, path):
    """Status and text."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        status, fields = await _read_head(reader)
        return status, (await reader.readexactly(int(fields["content-length"]))).decode()
    finally:
        writer.close()
