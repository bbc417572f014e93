"""`glmrun serve` as a child, and what can be seen of it from outside."""

import asyncio
import json
import re
import signal
import subprocess
import tempfile
import time

from client import get


class Server:
    """async with Server([glmrun, plan, option...]) as server: it answers at server.port."""

    def __init__(self, command, **options):
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        glmrun, *rest = command
        self.command = [glmrun, "serve", *rest, "--port=0", "--log-format=json", *flags]

    async def __aenter__(self):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stderr=self.log, stdin=subprocess.DEVNULL)
        while not (listening := re.search(r"listening at http://.*:(\d+),", self.text())):
            self.check_alive()
            await asyncio.sleep(0.02)
        self.port = int(listening[1])
        while (await get(self.port, "/health"))[0] != 200:
            self.check_alive()
            await asyncio.sleep(0.05)
        return self

    async def __aexit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def check_alive(self):
        if self.process.poll() is not None:
            raise SystemExit(f"the server left with {self.process.returncode}: {self.text()}")

    async def metrics(self):
        """Values by name, of families without labels."""
        _, text = await get(self.port, "/metrics")
        return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", text, re.M)}

    def rss(self):
        """Bytes of memory that are the process's own."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"RssAnon:\s+(\d+) kB", status.read())[1]) << 10

    async def idle(self, seconds=30):
        """Metrics once nothing runs or waits; the last ones where that does not come."""
        end = time.monotonic() + seconds
        while True:
            metrics = await self.metrics()
            busy = metrics["glm_requests_running"] or metrics["glm_requests_waiting"]
            if not busy or time.monotonic() > end:
                return metrics
            await asyncio.sleep(0.05)

    async def stop(self):
        """SIGTERM; exit code and seconds until the exit."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        while self.process.poll() is None and time.monotonic() < begin + 60:
            await asyncio.sleep(0.01)
        return self.process.poll(), time.monotonic() - begin

    def answered(self):
        """Lines of the log on requests that came to the engine."""
        lines = (json.loads(line) for line in self.text().splitlines() if line.startswith("{"))
        return [line for line in lines if "queue_s" in line]
