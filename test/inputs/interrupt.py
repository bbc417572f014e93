"""interrupt.py COMMAND...: sends SIGINT to the command as soon as it has written to stdout. Passes
its stdout on; succeeds when it then ends with exit code 130 and whole lines."""

import signal
import subprocess
import sys

with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) as process:
    text = process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    text += process.stdout.read()
    code = process.wait()
sys.stdout.buffer.write(text)
if code != 130 or not text.endswith(b"\n"):
    print(f"exit code {code}, expected 130; ends with {text[-20:]!r}", file=sys.stderr)
    sys.exit(1)
