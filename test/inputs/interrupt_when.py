"""interrupt_when.py FILE SIGNAL CODE COMMAND...: sends the signal to the command as soon as FILE
exists; succeeds when the command then ends with exit code CODE."""

import os
import signal
import subprocess
import sys
import time

file, name, code = sys.argv[1:4]
with subprocess.Popen(sys.argv[4:]) as process:
    while not os.path.exists(file) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(getattr(signal, name))
    got = process.wait()
if got != int(code):
    sys.exit(f"exit code {got}, expected {code}")
