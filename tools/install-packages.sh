#!/bin/sh
# Installs the Debian 12 packages that glmc and glmrun are built with.
#
#   tools/install-packages.sh         what building the two programs needs
#   tools/install-packages.sh test    and what building and running the tests needs
#
# Does nothing when all of them are installed. Runs apt-get as root, through sudo
# where this user is not root.
set -eu

packages="clang-22 lld-22 llvm-22-dev libmlir-22-dev mlir-22-tools
  cmake ninja-build pkg-config
  libabsl-dev libflatbuffers-dev flatbuffers-compiler
  nlohmann-json3-dev libcli11-dev libpcre2-dev libutf8proc-dev libxxhash-dev
  libboost1.81-dev prometheus-cpp-dev"
# llvm-22-tools holds FileCheck and lit.
test_packages="llvm-22-tools python3 libgtest-dev libgmock-dev"

case "${1:-build}" in
  build) ;;
  test) packages="$packages $test_packages" ;;
  *)
    echo "usage: tools/install-packages.sh [build|test]" >&2
    exit 2
    ;;
esac

missing=""
for package in $packages; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root="env DEBIAN_FRONTEND=noninteractive"
elif command -v sudo >/dev/null; then
  as_root="sudo env DEBIAN_FRONTEND=noninteractive"
else
  echo "install-packages: packages are missing and there is no sudo; as root run" >&2
  echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
  exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Keeps apt's chatter for the case that it fails.
quietly() {
  if ! "$@" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    echo "install-packages: failed: $*" >&2
    exit 1
  fi
}

case $as_root in
  sudo*) sudo -v ;; # asks for the password here, where the user sees it
esac
echo "Updating the package lists ..."
# A source that fails need not be one that is needed here.
if ! $as_root apt-get -q update >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  echo "install-packages: apt-get update failed; going on with the lists that are here" >&2
fi
candidate=$(LC_ALL=C apt-cache policy clang-22 | sed -n 's/^ *Candidate: //p')
if [ -z "$candidate" ] || [ "$candidate" = "(none)" ]; then
  system=$(sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null | tr -d '"')
  cat >&2 <<MESSAGE
install-packages: apt knows no clang-22 (this is ${system:-an unknown system}).
Debian 12 has it in its security archive. Add this line to /etc/apt/sources.list:
  deb http://deb.debian.org/debian-security bookworm-security main
and run this again.
MESSAGE
  exit 1
fi
echo "Installing$missing ..."
quietly $as_root apt-get -q -y --no-install-recommends install $missing
