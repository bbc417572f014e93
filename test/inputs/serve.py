"""serve.py PLAN [OPTION...]: starts `glmrun serve` on a free port, asks it by its routes, sends SIGTERM
in the middle of a stream; prints what came. Fails when the program does not end well and in time."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request


def fetch(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


command = ["glmrun", "serve", *sys.argv[1:], "--port", "0", "--drain-seconds", "1", "--log-format", "json"]
with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
    base = re.search(r"http://\S+?(?=,)", server.stderr.readline())[0]
    while fetch("/health")[0] != 200:
        time.sleep(0.02)
    question = [{"role": "user", "content": "What is the capital of France?"}]
    chat = {"messages": question, "temperature": 0}
    answer = json.loads(fetch("/v1/chat/completions", chat)[1])
    print("whole:", answer["choices"][0]["message"]["content"])
    text = fetch("/v1/chat/completions", {**chat, "stream": True})[1]
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    print("stream:", "".join(e["choices"][0]["delta"].get("content", "") for e in events))
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
              "additionalProperties": False}
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    answer = json.loads(fetch("/v1/chat/completions", {**chat, "response_format": wanted})[1])
    print("json:", sorted(json.loads(answer["choices"][0]["message"]["content"])))
    status, text = fetch("/v1/completions", {"prompt": [1] * 100000})
    print("long:", status, json.loads(text)["error"]["code"])
    print("metrics:", "glm_generated_tokens_total" in fetch("/metrics")[1])

    endless = json.dumps({**chat, "stream": True, "ignore_eos": True}).encode()
    request = urllib.request.Request(base + "/v1/chat/completions", endless, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as stream:
        stream.readline()
        server.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        while (health := fetch("/health"))[0] == 200:
            time.sleep(0.01)
        print("health:", health[0], json.loads(health[1])["status"])
        last = [line for line in stream.read().decode().splitlines() if line][-1]
        print("last:", json.loads(last[6:])["error"]["code"])
    log = server.stderr.read()
    code = server.wait()
    if code != 0 or time.monotonic() - begin > 30:
        sys.exit(f"exit code {code}, {log}")
