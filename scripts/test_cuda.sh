#!/bin/sh
# Compiles for GPUs, in a folder of its own, and runs what needs none: the tests of the backend, on a fake of CUDA's
# runtime and of NCCL. Needs nvcc; without one it says so. Usage: scripts/test_cuda.sh [BUILD_FOLDER] [all]
# Without all: the library, the program layrub, and the tests with code for GPUs alone. all: every test, program and example.
# For one architecture: CUDA_ARCH (default: 75). What nvcc says is in the build folder's log.
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

root=$(cd "$(dirname "$0")/.." && pwd)
all=
for argument in "$@"; do [ "$argument" != all ] || all=yes; done
build=$root/build-cuda
[ "${1:-all}" = all ] || build=$1

if ! command -v nvcc > /dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
  echo 'No nvcc here: nothing was compiled as CUDA.'
  exit
fi
generator=
if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja > /dev/null; then generator='-G Ninja'; fi
# shellcheck disable=SC2086 # no generator: no argument
cmake $generator -S "$root" -B "$build" -D CPU_ONLY=OFF -D CUDA_ARCH="${CUDA_ARCH:-75}" -D BUILD_TESTS=ON -D WERROR=ON \
  -D CMAKE_CUDA_FLAGS=-Xptxas=-v > /dev/null

fakes='test_cuda_backend test_cuda_failures test_cuda_copies test_cuda_libraries test_cuda_memory
  test_nccl_communicator test_nccl_failures test_nvtx_ranges test_stream_calls'
# compile TARGET...: adds to the log.
compile() {
  cmake --build "$build" --parallel "$(nproc)" --target "$@" >> "$build/log" 2>&1 || { tail -n 100 "$build/log"; exit 1; }
}
echo "Compiling for a GPU; what nvcc says goes to $build/log"
if [ -n "$all" ]; then
  compile all
else
  # shellcheck disable=SC2086 # a list
  compile caffe layrub softsign test_syncedmem test_cudnn_kernels test_gpu_math_functions $fakes
fi
"$root/scripts/check_kernels.py" --spills=64 --stack=128 "$build/log"

# The library's code is the CPU build's but for what looks at a GPU: device_query says whether there is one, and the
# tests of memory run on it or say why not.
"$build/bin/layrub" device_query
LAYRUB_TEST_DEVICE=cuda "$build/bin/test_syncedmem"
for test in $fakes; do "$build/bin/$test" --gtest_brief=1; done
