"""gpu_folder.py FOLDER: what tools/gpu-pack makes, with programs that only print; and beside it
`repository`, with the names of recordings.

gpu_golden_test prints what the environment's GOLDEN says: pass, fail, skip or sleep.
"""

import os
import sys

GOLDEN = """#!/bin/sh
case "$GOLDEN" in
  skip) echo 'x.cc:1: Skipped'; echo 'no driver'; echo '[  SKIPPED ] 6 tests, listed below:'
    echo '[  PASSED  ] 0 tests.' ;;
  fail) echo '[  PASSED  ] 5 tests.'; echo '[  FAILED  ] 1 test, listed below:'
    echo '[  FAILED  ] Models/GpuGolden.IsWithinTheBounds/nano_fp32'; exit 1 ;;
  sleep) echo begun; exec sleep 60 ;;
  *) echo "measured: nano-fp32: relative L2 mean 3e-07, repository $2"
    echo '[  PASSED  ] 6 tests.' ;;
esac
"""

BENCH = """#!/bin/sh
echo 'device: made up' >&2
echo '{"step_us":{"median":8000},"decode_tokens_per_second":{"median":125},\
"bytes_per_second":2e12,"bandwidth":{"of":"copies","fraction":0.5},"launches_per_step":212,\
"profile":{"decode_b1":[{"kernel":"Linear","launches":34,"us":4000,"bytes":8e9,"flops":8e9}]}}'
"""

folder = sys.argv[1]
for name in ("bin", "plans"):
    os.makedirs(os.path.join(folder, name), exist_ok=True)
for name, text in (("gpu_golden_test", GOLDEN), ("glmrun", BENCH)):
    path = os.path.join(folder, "bin", name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
plans = ("bench", "nano-fp32", "nano-bf16", "tiny-a-fp32", "tiny-a-bf16")
goldens = ("models/glm53/nano/checkpoint/golden-greedy.safetensors",
           "test/oracle/tiny-a/golden-w4a16-fp32math.safetensors",
           "test/oracle/tiny-a/golden-w4a16-bf16math.safetensors")
repository = os.path.join(os.path.dirname(os.path.abspath(folder)), "repository")
for path in (*(os.path.join(folder, "plans", name + ".glmplan") for name in plans),
             *(os.path.join(repository, name) for name in goldens)):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8"):
        pass
