#!/bin/sh
# Builds with the address and the undefined behaviour sanitizer, in a folder of their own, and runs the tests.
# Usage: scripts/test_asan.sh [BUILD_FOLDER] [TEST...]
# Without TESTs: all that can fail there, but not those of scripts alone, or of long searches of plans.
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build-asan}
[ $# -eq 0 ] || shift

generator=
if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja > /dev/null; then generator='-G Ninja'; fi
# -O1 and no debug information but lines: half the time of a build, and reports name every frame.
# shellcheck disable=SC2086 # no generator: no argument
cmake $generator -S "$root" -B "$build" -D SANITIZE=address \
  -D CMAKE_CXX_FLAGS_RELWITHDEBINFO='-O1 -g1 -DNDEBUG' > /dev/null

export OPENBLAS_NUM_THREADS=1
# strict_string_checks and detect_stack_use_after_return find more; abort_on_error=0: death tests see an exit.
export ASAN_OPTIONS="detect_leaks=1 strict_string_checks=1 detect_stack_use_after_return=1 abort_on_error=0"
export LSAN_OPTIONS="suppressions=$root/scripts/lsan.supp print_suppressions=0"
export UBSAN_OPTIONS="print_stacktrace=1 halt_on_error=1"
if [ $# -gt 0 ]; then
  cmake --build "$build" --parallel "$(nproc)" --target "$@"
  for test in "$@"; do
    echo "address sanitizer: $test"
    LAYRUB_SOURCE_DIR=$root "$build/bin/$test" --gtest_brief=1
  done
else
  cmake --build "$build" --parallel "$(nproc)"
  cd "$build"
  # Without a sanitizer these take most of the time of the suite, in code that others of these run as well.
  ctest --output-on-failure --parallel "$(nproc)" --exclude-regex \
    '^test_(net_plans|mutation|auto|models|plan_report|bench_placement|gpu_check|address_space|launch|check_includes)$'
fi
