#!/bin/sh
# Runs everything that CI leaves out or samples. Takes hours on two cores. Goes on after failures, and lists them at the
# end.
# Usage: ci/nightly.sh [PART...]: only these parts (default: all, in this order).
#   commit   the commit tier, after the build that the first four parts use
#   nightly  the nightly tier: all of what the commit tier samples, on every device
#   zoo      the small models of the zoo, trained, and the large ones
#   long     random tests with EXAMPLES (100) new examples each night
#   asan     the whole suite and the fake GPU's kernels under the address and undefined behaviour sanitizers
#   tsan     the tests of threads under the thread sanitizer
#   cuda     every test, program and example, compiled for a GPU
#   fuzz     FUZZ (30) minutes of fuzzing for each reader of untrusted bytes
# BUILD names the build folder of the first four (default: build).
set -u
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build}
[ $# -gt 0 ] || set -- commit nightly zoo long asan tsan cuda fuzz
export OPENBLAS_NUM_THREADS=1

# Builds with EXAMPLES examples for the entries with the label long.
compile() {
  [ -f "$build/CMakeCache.txt" ] || "$root/scripts/install_deps.sh" --tests || return
  generator=
  [ -f "$build/CMakeCache.txt" ] || ! command -v ninja > /dev/null || generator='-G Ninja'
  # shellcheck disable=SC2086 # no generator: no argument
  cmake $generator -S "$root" -B "$build" -D LONG_EXAMPLES="${EXAMPLES:-100}" &&
    cmake --build "$build" --parallel "$(nproc)"
}
# entries TIER: all of a tier of ctest but commit.
entries() { (cd "$build" && ctest --output-on-failure --no-tests=error --parallel "$(nproc)" -C "$1" -L "$1"); }

run() {
  case $1 in
    commit) (cd "$build" && ctest --output-on-failure --parallel "$(nproc)") ;;
    nightly | zoo | long) entries "$1" ;;
    asan) "$root/ci/test_asan.sh" "$root/build-asan" all && "$root/ci/test_asan.sh" "$root/build-asan" fake_gpu ;;
    tsan) "$root/ci/test_tsan.sh" ;;
    cuda) "$root/ci/test_cuda.sh" all ;;
    fuzz) "$root/ci/fuzz.sh" "${FUZZ:-30}" ;;
    *) echo "nightly.sh: there is no part $1; --help names them" >&2 && exit 2 ;;
  esac
}

case " $* " in *" commit "* | *" nightly "* | *" zoo "* | *" long "*) compile || exit ;; esac
failed=
for part in "$@"; do
  echo "== $part, $(date '+%H:%M')"
  run "$part" || failed="$failed $part"
done
[ -z "$failed" ] || { echo "nightly: this failed:$failed" >&2 && exit 1; }
echo 'nightly: all is well'
