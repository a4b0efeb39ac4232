#!/bin/sh
# Makes a folder, and an archive of it, that runs on another x86-64 Linux: the programs, their tests, the models, and
# every shared library that they need, except the C library, the GPU's driver and CUDA's libraries.
#
#   tools/gpu/bundle.sh            builds in build-bundle/ (with CUDA where nvcc is found, without OpenCV)
#   tools/gpu/bundle.sh BUILD      takes what is built in the folder BUILD
#   tools/gpu/bundle.sh --quick [BUILD]    with what gpu_check.sh --quick wants: fewer tests, no oneDNN, and packed by
#                                gzip, as there may be no xz where it goes
#
# It is for all GPUs from compute capability 7.5 on, whatever GPU this machine has. CMAKE_FLAGS are passed to cmake,
# such as CMAKE_FLAGS='-D CUDA_ARCH=90'. The result is in BUILD/bundle/.
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac

quick=
[ "${1:-}" != --quick ] || { quick=-quick; shift; }
if [ $# -gt 0 ]; then
  [ -f "$1/CMakeCache.txt" ] || { echo "bundle: $1 is no build folder" >&2; exit 1; }
  build=$(cd "$1" && pwd)
  cd "$(dirname "$0")/../.."
else
  cd "$(dirname "$0")/../.."
  build=$PWD/build-bundle
  scripts/install_deps.sh
  cpu_only=OFF
  command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ] || cpu_only=ON
  generator=
  [ -f "$build/CMakeCache.txt" ] || ! command -v ninja > /dev/null || generator='-G Ninja'
  # shellcheck disable=SC2086 # lists of words
  cmake $generator -S . -B "$build" -D CPU_ONLY=$cpu_only -D USE_OPENCV=OFF -D CUDA_ARCH=all \
    -D CMAKE_INSTALL_RPATH_USE_LINK_PATH=OFF ${CMAKE_FLAGS:-}
  cmake --build "$build" --parallel "$(nproc)"
fi

cache() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
kind=cpu
[ "$(cache CPU_ONLY)" = ON ] || kind=cuda
name=layrub-$(cache CMAKE_PROJECT_VERSION)-$kind-$(uname -m)$quick
out=$build/bundle/$name
rm -rf "$build/bundle"
mkdir -p "$out"

echo "Copying what is built into $out ..."
cmake --install "$build" --prefix "$out" --strip > /dev/null
cmake --install "$build" --prefix "$out" --strip --component tests > /dev/null
rm -rf "$out/include" "$out/share"
mv "$out/bin" "$out/libexec"
mkdir -p "$out/bin" "$out/tests"
cp tools/gpu/launch.sh "$out/bin/launch"
for program in "$out"/libexec/*; do ln -s launch "$out/bin/$(basename "$program")"; done

# Files that tests and scripts read have the same places as in the source tree.
git ls-files README.md LICENSE docs models examples bench tools src/caffe/net/test/nets src/caffe/test/golden \
  src/caffe/proto/test/data | tar -cf - -T - | tar -xf - -C "$out"
git describe --always --dirty > "$out/COMMIT"
# The tests that --quick runs.
git ls-files 'src/caffe/core/*test_*.cpp' 'src/caffe/kernels/*test_*.cpp' 'src/caffe/layers/*test_*.cpp' |
  sed 's|.*/||; s|\.cpp$||' | sort > "$out/tests/of_devices"
if [ -n "$quick" ]; then
  for file in "$out"/tests/*; do
    grep -qx "$(basename "$file")" "$out/tests/of_devices" || [ "$(basename "$file")" = of_devices ] || rm -r "$file"
  done
  rm -f "$out/lib/libcaffe_onednn.so"
fi

rm -f "$out/lib/liblayrub_mpi.so"  # the libraries that Open MPI opens are not collected

echo "Collecting shared libraries ..."
system='^(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libutil)\.so'
cuda='^lib(cuda|cudart|cublas|cublasLt|cudnn|curand|nccl|nvrtc|nvJitLink|nvidia)[^/]*\.so'
# Lines of ldd: `name => path (address)`, or `name => not found`.
find "$out/libexec" "$out/tests" "$out/lib" -type f -exec env LD_LIBRARY_PATH="$out/lib" ldd {} + |
  sed -n 's/^[[:space:]]*\([^[:space:]]*\) => \(not\) found$/\1 \2/p
          s/^[[:space:]]*\([^[:space:]]*\) => \(.*\) (0x[0-9a-f]*)$/\1 \2/p' | sort -u > "$build/bundle/needed"
awk -v skip="$system" '$1 !~ skip' "$build/bundle/needed" | grep -Ev "$cuda|^libcaffe\." > "$build/bundle/copied" || true
awk '{ print $1 }' "$build/bundle/needed" | grep -E "$cuda" > "$out/lib/cuda_libraries" || true
# Libraries that are not linked to, but opened when they are needed.
[ "$kind" = cpu ] || sed 's/$/ optional/' "$build/opened_libraries" >> "$out/lib/cuda_libraries"
mkdir "$out/licenses"
while read -r library path; do
  [ "$path" != not ] || { echo "bundle: $library was not found" >&2; exit 1; }
  install -m 755 "$path" "$out/lib/$library"
  strip --strip-unneeded "$out/lib/$library"
  # The licence text of the package that the library comes from.
  package=$(dpkg-query -S "$(readlink -f "$path")" 2> /dev/null | head -n 1 | cut -d : -f 1) || true
  text=/usr/share/doc/$package/copyright
  [ -z "$package" ] || [ ! -f "$text" ] || cp "$text" "$out/licenses/$package"
done < "$build/bundle/copied"

glibc=$(find "$out/libexec" "$out/lib" -type f -exec objdump -T {} + 2> /dev/null |
  sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
echo "$glibc" > "$out/lib/glibc"

echo "Packing ..."
pack='xz -9' archive=$build/bundle/$name.tar.xz
[ -z "$quick" ] || pack='gzip -9' archive=$build/bundle/$name.tar.gz
# shellcheck disable=SC2086 # a command and its flag
tar -C "$build/bundle" -cf - "$name" | $pack > "$archive"
size=$(wc -c < "$archive")
awk -v size="$size" -v file="$archive" -v glibc="$glibc" 'BEGIN {
  printf "%s: %.1f MiB; runs where the C library is glibc %s or newer.\n", file, size / 2 ^ 20, glibc }'
[ "$size" -lt $((50 << 20)) ] || { echo 'bundle: that is more than 50 MiB; fewer CUDA_ARCH make it smaller' >&2; exit 1; }
