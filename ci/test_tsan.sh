#!/bin/sh
# Builds with the thread sanitizer, in a separate folder, the tests of the backends, the executor, planned nets, planned
# and resumed training, several solvers and data loading by several threads, and runs them in parallel with ctest.
# Usage: ci/test_tsan.sh [BUILD_FOLDER] [TEST...]
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build-tsan}
[ $# -eq 0 ] || shift

generator=
if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja > /dev/null; then generator='-G Ninja'; fi
# -O1 takes less time to compile than -O2, and the sanitizer finds as much. Without oneDNN: it generates code at run
# time, in which the sanitizer finds nothing.
# shellcheck disable=SC2086 # no generator: no argument
cmake $generator -S "$root" -B "$build" -D SANITIZE=thread -D USE_ONEDNN=OFF -D CMAKE_CXX_FLAGS_RELWITHDEBINFO='-O1 -g1 -DNDEBUG' \
  > /dev/null

if [ $# -eq 0 ]; then
  for source in "$root"/src/layrub/device/test/test_*.cpp "$root"/src/layrub/runtime/test/test_*.cpp \
    "$root"/src/caffe/kernels/test/test_host_launch.cpp \
    "$root"/src/caffe/net/test/test_planned_net.cpp "$root"/src/caffe/net/test/test_planned_feeds.cpp \
    "$root"/src/caffe/net/test/test_planned_training.cpp "$root"/src/caffe/solvers/test/test_exact_resume.cpp \
    "$root"/src/caffe/solvers/test/test_parallel_solvers.cpp "$root"/src/caffe/util/test/test_batch_workers.cpp \
    "$root"/src/caffe/layers/data/test/test_data_threads.cpp \
    "$root"/src/caffe/partition/test/test_divided_training.cpp; do
    set -- "$@" "$(basename "$source" .cpp)"
  done
  # These targets exist if the headers of CUDA and NCCL are installed.
  targets=$(cmake --build "$build" --target help)
  for test in test_cuda_backend test_cuda_copies test_stream_calls test_nccl_communicator test_nccl_failures; do
    if echo "$targets" | grep -qw $test; then set -- "$@" $test; fi
  done
fi
cmake --build "$build" --parallel "$(nproc)" --target "$@"

export OPENBLAS_NUM_THREADS=1
export TSAN_OPTIONS="suppressions='$root/ci/tsan.supp' halt_on_error=1 second_deadlock_stack=1"
cd "$build"
ctest --output-on-failure --parallel "$(nproc)" --no-tests=error --tests-regex "^($(echo "$*" | tr ' ' '|'))\$"
