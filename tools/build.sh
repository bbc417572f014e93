#!/usr/bin/env bash
# Configures build/ with the preset `dev` and builds targets (everything when none is
# named).
#
#   tools/build.sh ON|OFF [target ...]     ON: with the tests
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tests=$1
shift

# A source with MLIR's headers takes up to 1 GiB to compile.
memory_gib=$(awk '/^MemTotal:/ { print int($2 / 1048576) }' /proc/meminfo)
jobs=$(nproc)
if ((jobs > memory_gib)); then
  jobs=$((memory_gib > 1 ? memory_gib : 1))
fi

cd "$root"
if ! output=$(cmake --preset dev "-DGLM_BUILD_TESTS=$tests" 2>&1); then
  echo "$output" >&2
  exit 1
fi
cmake --build build -j "$jobs" ${1:+--target "$@"}
