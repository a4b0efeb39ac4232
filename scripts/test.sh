#!/bin/sh
# Installs missing packages, builds, and runs the commit tier of the tests (docs/testing.md). BUILD names the build
# folder (default: build); arguments go to cmake, such as -D WERROR=ON.
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build}
"$root/scripts/install_deps.sh" --tests

generator=
[ -f "$build/CMakeCache.txt" ] || ! command -v ninja > /dev/null || generator='-G Ninja'
# shellcheck disable=SC2086 # no generator: no argument
cmake $generator -S "$root" -B "$build" "$@"
cmake --build "$build" --parallel "$(nproc)"
cd "$build"
# As many tests as there are processors run in parallel. More BLAS threads would only busy-wait.
export OPENBLAS_NUM_THREADS=1
ctest --output-on-failure --parallel "$(nproc)"
