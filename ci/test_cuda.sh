#!/bin/sh
# In a CPU-only build, compiles the additional files of a build for GPUs (the target cuda): all kernels with nvcc,
# libcaffe with the backend for GPUs, and the programs that differ. Everything else is compiled once for both. Checks
# the compiled kernels (check_kernels.py), and runs the tests that need no GPU. Needs nvcc, and says so if it is missing.
# Usage: ci/test_cuda.sh [BUILD_FOLDER]     (default: build; it is configured and built if it does not exist)
#        ci/test_cuda.sh all                configures and compiles all of a build for GPUs, in build-cuda
# For one architecture: CUDA_ARCH (default: 75). The output of nvcc is in the build folder's cuda.log.
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build}
target=cuda
set -- -D CUDA_ARCH="${CUDA_ARCH:-75}" -D BUILD_TESTS=ON
if [ "$build" = all ]; then
  build=$root/build-cuda
  target=all
  set -- "$@" -D CPU_ONLY=OFF -D CMAKE_CUDA_FLAGS=-Xptxas=-v
else
  set -- "$@" -D CPU_ONLY=ON -D GPU_CHECK=ON -D CMAKE_CUDA_FLAGS=-Xptxas=-v
fi

if ! command -v nvcc > /dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
  echo 'No nvcc here: nothing was compiled as CUDA.'
  exit
fi
if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja > /dev/null; then set -- "$@" -G Ninja; fi
cmake -S "$root" -B "$build" "$@" > /dev/null
log=$build/cuda.log
echo "Compiling for a GPU; what nvcc says goes to $log"
cmake --build "$build" --parallel "$(nproc)" --target "$target" >> "$log" 2>&1 || { tail -n 100 "$log"; exit 1; }
"$root/ci/check_kernels.py" --spills=64 --stack=128 "$log"

# device_query tells whether there is a GPU. The tests of memory run on it, or say why they do not.
if [ "$target" = cuda ]; then
  cmake --build "$build" --parallel "$(nproc)" --target layrub test_syncedmem > /dev/null
  LD_PRELOAD=$(ls "$build"/lib*/gpu/libcaffe.so)
  export LD_PRELOAD
fi
LAYRUB_TEST_DEVICE=cuda "$build/bin/test_syncedmem"
"$build/bin/layrub" device_query
