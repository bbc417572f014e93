#!/usr/bin/env bash
# Builds the libFuzzer targets into build-fuzz/ and runs each of them; stops at the first
# finding. Inputs that reached new code stay in build-fuzz/corpus/.
#
#   tools/fuzz.sh            60 seconds each
#   tools/fuzz.sh 300        300 seconds each
#   tools/fuzz.sh 300 plan_fuzz config_fuzz
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=${1:-60}
shift || true

cd "$root"
export GLM_FUZZ_TOKENIZER=$root/models/glm53/nano/checkpoint/tokenizer.json
cmake --preset fuzz >/dev/null
cmake --build build-fuzz -j "$(nproc)" --target fuzzers
for target in build-fuzz/fuzz/*; do
  name=$(basename "$target")
  if (($#)) && [[ " $* " != *" $name "* ]]; then
    continue
  fi
  corpus=build-fuzz/corpus/$name
  mkdir -p "$corpus"
  log=build-fuzz/$name.log
  if ! "$target" "$corpus" -artifact_prefix="build-fuzz/$name-" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "$name: FOUND, see $log" >&2
    exit 1
  fi
  echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs, no finding"
done
