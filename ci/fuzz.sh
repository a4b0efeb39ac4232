#!/bin/sh
# Fuzzes every reader of untrusted bytes, under the address and undefined behaviour sanitizers.
# Usage: ci/fuzz.sh [MINUTES] [TARGET...]: MINUTES (default 10; 10s is ten seconds) for each TARGET (default all).
#        ci/fuzz.sh build: only compiles.
# BUILD names the build folder (default: build-asan, that of ci/test_asan.sh); its folder corpus keeps the interesting
# inputs of each target. SEED is the random seed (default: a new one each time; it is in build-asan/TARGET.log). An
# input that crashes a target, or exceeds the limits of memory and time below, is kept in the build folder's
# found/TARGET. After the bug is fixed, it belongs in tools/fuzz/inputs/TARGET, which the tests read.
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

# The limits: megabytes in all, megabytes in one allocation, seconds for one input.
memory=2048
allocation=1024
patience=20

root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build-asan}
case $build in /*) ;; *) build=$PWD/$build ;; esac
length=${1:-10}
[ $# -eq 0 ] || shift

# One build at a time: ctest runs several of these scripts in parallel, and two builds in one folder would destroy each
# other's files.
mkdir -p "$build"
(
  flock 9
  "$root/ci/configure_asan.sh" "$build"
  cmake --build "$build" --parallel "$(nproc)" --target fuzz_inputs
) 9> "$build/fuzz.lock"
[ "$length" != build ] || exit 0

case $length in
*s) seconds=${length%s} ;;
*) seconds=$((length * 60)) ;;
esac

work=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" layrub_fuzz.XXXXXX)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work" OPENBLAS_NUM_THREADS=1 LAYRUB_SOURCE_DIR="$root" OPENCV_IO_MAX_IMAGE_PIXELS=1048576
# A failed allocation returns a null pointer, as without sanitizers; operator new still ends the program.
export ASAN_OPTIONS="handle_abort=1:detect_odr_violation=0:exitcode=77:allocator_may_return_null=1"
LAYRUB_FUZZ_WRITE="$work/seeds" "$build/bin/fuzz_inputs"

if [ $# -eq 0 ]; then
  for seeds in "$work"/seeds/*/; do set -- "$@" "$(basename "$seeds")"; done
fi
failed=
for target in "$@"; do
  corpus=$build/corpus/$target found=$build/found/$target
  mkdir -p "$corpus" "$found"
  known=$root/tools/fuzz/inputs/$target
  [ -d "$known" ] || known=
  words=
  [ ! -s "$work/seeds/$target.dict" ] || words=-dict=$work/seeds/$target.dict
  # Inputs that are read in a child process show no coverage, so libFuzzer would replace seeds by any shorter input.
  case $target in *_h5 | lmdb) keep='-keep_seed=1 -reduce_inputs=0' ;; *) keep= ;; esac
  # Image libraries allocate what a header asks for, up to this limit.
  case $target in image) most=4096 ;; *) most=$allocation ;; esac
  echo "fuzz: $target for $seconds s"
  # shellcheck disable=SC2086 # empty variables are no arguments
  LAYRUB_FUZZ_TARGET=$target "$build/bin/fuzz_inputs" -max_total_time="$seconds" -timeout=$patience \
    -seed="${SEED:-0}" -rss_limit_mb=$memory -malloc_limit_mb=$most -max_len=65536 -print_final_stats=1 -verbosity=1 \
    -close_fd_mask=3 -reload=0 $words $keep -artifact_prefix="$found/" "$corpus" "$work/seeds/$target" $known \
    > "$build/$target.log" 2>&1 || failed="$failed $target"
  grep -E '^(#[0-9]+.DONE|stat::|==|SUMMARY|artifact_prefix|Test unit)' "$build/$target.log" || true
done
[ -z "$failed" ] || { echo "fuzz: something was found in:$failed (see $build/found)" >&2 && exit 1; }
