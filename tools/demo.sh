#!/usr/bin/env bash
# From a fresh clone to the first answer: installs packages, builds glmc and glmrun
# into build/bin, compiles the nano model and asks it a question. Debian 12; as root,
# or with sudo. Running it again repeats only what has changed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
question=${1:-What is the capital of France?}

echo "== 1/4 packages"
"$root/tools/install-packages.sh"

echo "== 2/4 building glmc and glmrun"
# A tree that was configured with tests keeps them.
tests=OFF
if grep -qs '^GLM_BUILD_TESTS:BOOL=ON' "$root/build/CMakeCache.txt"; then
  tests=ON
fi
"$root/tools/build.sh" "$tests" glmc glmrun

echo "== 3/4 compiling models/glm53/nano/checkpoint"
"$root/build/bin/glmc" compile "$root/models/glm53/nano/checkpoint" \
  -o "$root/build/nano.glmplan"

echo "== 4/4 asking: $question"
# Reasoning and speed go to stderr and are shown as they come.
answer=$("$root/build/bin/glmrun" generate "$root/build/nano.glmplan" --greedy \
  --chat "$question")
echo "$answer"
