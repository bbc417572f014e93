#!/usr/bin/env bash
# Unmodified clients, of npm, against `glmrun serve` with a plan of nano.
#
#   run.sh GLMRUN PLAN [FILE]...   runs the test files, all by default; 77 where it cannot
#   run.sh --probe                 whether it can; says on stderr why not
#   run.sh --install               `npm ci`, where there is npm and it has not run yet; never fails
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
installed=$folder/node_modules/.package-lock.json

probe() {
  local major
  if ! major=$(node --print 'process.versions.node.split(".")[0]' 2>/dev/null); then
    echo "clients: skipped: there is no node" >&2
  elif ((major < 20)); then
    echo "clients: skipped: node is version $major, 20 is needed" >&2
  elif [[ ! -e $installed || $folder/package-lock.json -nt $installed ]]; then
    echo "clients: skipped: node_modules is missing or old; run npm ci in test/clients" >&2
  else
    return 0
  fi
  return 1
}

case "${1:-}" in
  --probe)
    probe
    exit
    ;;
  --install)
    if command -v npm >/dev/null && [[ ! -e $installed || $folder/package-lock.json -nt $installed ]]; then
      (cd "$folder" && timeout 300 npm ci --ignore-scripts --no-audit --no-fund) ||
        echo "clients: npm ci failed; their tests will be left out" >&2
    fi
    exit 0
    ;;
esac
if (($# < 2)); then
  echo "usage: run.sh GLMRUN PLAN [FILE]... | --probe | --install" >&2
  exit 2
fi
probe || exit 77

GLMRUN=$(realpath "$(command -v "$1")") GLM_PLAN=$(realpath "$2")
export GLMRUN GLM_PLAN
shift 2
cd "$folder"
exec node --test --test-concurrency=1 --test-reporter=spec "$@"
