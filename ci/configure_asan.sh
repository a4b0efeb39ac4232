#!/bin/sh
# Makes the build folder for the address and undefined behaviour sanitizers, which ci/test_asan.sh and ci/fuzz.sh share.
# Uses clang if it is installed: it takes half of GCC's time, and has libFuzzer.
# Usage: ci/configure_asan.sh BUILD_FOLDER
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

root=$(cd "$(dirname "$0")/.." && pwd)
set -- "$1" -S "$root" -B "$1" -D SANITIZE=address -D CPU_ONLY=ON
if [ ! -f "$1/CMakeCache.txt" ]; then
  if command -v ninja > /dev/null; then set -- "$@" -G Ninja; fi
  if command -v clang++ > /dev/null; then set -- "$@" -D CMAKE_CXX_COMPILER=clang++ -D CMAKE_C_COMPILER=clang; fi
fi
shift
# -O1 and debug information for lines only: builds take half the time, and reports still name every frame.
cmake "$@" -D CMAKE_CXX_FLAGS_RELWITHDEBINFO='-O1 -g1 -DNDEBUG' > /dev/null
