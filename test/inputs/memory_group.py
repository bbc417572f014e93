"""memory_group.py MIB COMMAND...: runs the command in a control group of its own, of version 1 or 2,
with at most so much memory; its exit code, or minus the signal that ended it. With a list of sizes,
64,128,..., once with each: fails unless each run ends with 0 or 3, and some with each of them.
memory_group.py --probe: whether there can be such groups, exit code 0 or 1.
"""

import os
import signal
import subprocess
import sys
import time

ROOT = "/sys/fs/cgroup"


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Group:
    def __init__(self, mib):
        old = os.path.isdir(ROOT + "/memory")
        self.path = (ROOT + "/memory" if old else ROOT) + f"/glm-test-{os.getpid()}"
        if not old:
            write(ROOT + "/cgroup.subtree_control", "+memory")
        os.mkdir(self.path)
        try:
            limit = "memory.limit_in_bytes" if old else "memory.max"
            write(f"{self.path}/{limit}", str(mib << 20))
        except OSError:
            os.rmdir(self.path)
            raise

    def run(self, command):
        def join():
            write(self.path + "/cgroup.procs", str(os.getpid()))

        return subprocess.run(command, check=False, preexec_fn=join).returncode

    def close(self):
        for _ in range(50):  # its processes leave it a moment after they end
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.1)


def run(mib, command):
    group = Group(mib)
    try:
        return group.run(command)
    finally:
        group.close()


if sys.argv[1] == "--probe":
    try:
        sys.exit(run(64, ["true"]) != 0)
    except (OSError, subprocess.SubprocessError):
        sys.exit(1)
sizes = [int(size) for size in sys.argv[1].split(",")]
codes = [run(size, sys.argv[2:]) for size in sizes]
if len(codes) == 1:
    sys.exit(codes[0] if codes[0] >= 0 else f"ended by {signal.Signals(-codes[0]).name}")
print(dict(zip(sizes, codes)))
sys.exit({0, 3} != set(codes))
