"""exits.py N COMMAND...: runs the command; succeeds when it ends with exit code N."""

import subprocess
import sys

want = int(sys.argv[1])
got = subprocess.run(sys.argv[2:], check=False).returncode
if got != want:
    print(f"exit code {got}, expected {want}: {' '.join(sys.argv[2:])}", file=sys.stderr)
sys.exit(got != want)
