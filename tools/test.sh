#!/usr/bin/env bash
# Installs packages, builds everything into build/ and runs all tests. Debian 12; as
# root, or with sudo. Fails when anything fails. The last line is `N passed, M failed`.
#
#   tools/test.sh            all tests
#   tools/test.sh --quick    without those labelled `slow`
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

selection=()
case "${1:-}" in
  "") ;;
  --quick) selection=(-LE slow) ;;
  *)
    echo "usage: tools/test.sh [--quick]" >&2
    exit 2
    ;;
esac

echo "== 1/3 packages"
"$root/tools/install-packages.sh" test
"$root/test/clients/run.sh" --install

echo "== 2/3 building"
"$root/tools/build.sh" ON

echo "== 3/3 testing"
# Tests see no kernels that an earlier run left in the user's cache.
export XDG_CACHE_HOME=$root/build/test-cache
rm -rf "$XDG_CACHE_HOME"
result=0
ctest --test-dir "$root/build" -j2 --output-on-failure --no-tests=error \
  "${selection[@]}" || result=$?

# Counts cases of GoogleTest and lit. A program that fails without naming a case is one.
logs=$root/build/Testing/Temporary
failed_programs=0
if ((result)); then
  failed_programs=$(grep -c . "$logs/LastTestsFailed.log" 2>/dev/null) || failed_programs=1
fi
awk -v programs="$failed_programs" '
  /^\[  PASSED  \] [0-9]+ test/ { passed += $4 }
  /^\[  FAILED  \] [0-9]+ test/ { failed += $4 }
  /^ *Passed *: *[0-9]+ *\(/ { passed += $(NF - 1) }
  /^ *Failed *: *[0-9]+ *\(/ { failed += $(NF - 1) }
  END {
    if (failed < programs) failed = programs
    printf "%d passed, %d failed\n", passed, failed
  }' "$logs/LastTest.log"
exit "$result"
