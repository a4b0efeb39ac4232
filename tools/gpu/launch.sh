#!/bin/sh
# Starts a program of the bundle that this file is part of, with the CUDA libraries of this machine: those in
# LD_LIBRARY_PATH, in the system's folders, in CUDA's usual folders, or in Python's packages (nvidia/*/lib).
# lib/cuda_libraries lists the libraries. A program opens an optional one itself when it is needed, and reports if it is
# missing.
#
#   bin/layrub ...              any program of libexec, by its name
#   bin/launch FILE ...         any program of the bundle: bin/launch tests/test_blob
set -eu
root=$(dirname "$(dirname "$(readlink -f "$0")")")
program=$root/libexec/$(basename "$0")
if [ "$(basename "$0")" = launch ]; then
  [ $# -gt 0 ] || { echo 'launch: name a program of the bundle, as in: bin/launch tests/test_blob' >&2; exit 1; }
  program=$root/$1
  shift
fi
[ -x "$program" ] || { echo "launch: there is no program $program" >&2; exit 1; }

# Up to CUDA 12 the names of Python's packages end in the version.
cuda=$(sed -n 's/^libcudart\.so\.\([0-9]*\).*/\1/p' "$root/lib/cuda_libraries")
end=
[ "${cuda:-13}" -ge 13 ] || end=-cu$cuda

folders=
# Adds the first of the folders $2... that has the library $1.
look() {
  library=$1
  shift
  for folder; do
    if [ -e "$folder/$library" ]; then
      case ":$folders:" in *":$folder:"*) ;; *) folders=$folders${folders:+:}$folder ;; esac
      return 0
    fi
  done
  return 1
}
# The same for a list of folders separated by colons.
look_along() {
  library=$1
  path=$2
  while [ -n "$path" ]; do
    folder=${path%%:*}
    [ -n "$folder" ] && look "$library" "$folder" && return 0
    case $path in *:*) path=${path#*:} ;; *) path= ;; esac
  done
  return 1
}

system=
python=
while read -r library need; do
  look_along "$library" "${LD_LIBRARY_PATH:-}" && continue
  [ -n "$system" ] || system=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2> /dev/null || echo none)
  case $system in *"$library "*) continue ;; esac
  look "$library" ${CUDA_HOME:+"$CUDA_HOME/lib64"} /usr/local/cuda/lib64 /usr/local/cuda*/lib64 \
    /usr/local/cuda*/targets/x86_64-linux/lib /usr/local/cuda*/lib && continue
  # Not in the current folder: Python would import modules from it.
  [ -n "$python" ] || python=$(cd / && python3 -c '
import glob, sys
print(":".join(found for path in sys.path for found in sorted(glob.glob(path + "/nvidia/*/lib"))) or "/")
' 2> /dev/null || echo /)
  look_along "$library" "$python" && continue
  [ "$need" != optional ] || continue
  echo "$(basename "$program"): $library was found neither in LD_LIBRARY_PATH, nor where the system looks, nor in" \
    "/usr/local/cuda*, nor among Python's packages (nvidia/*/lib). Install CUDA's libraries, for example with" \
    "'pip install nvidia-cudnn-cu${cuda:-13} nvidia-cublas$end nvidia-curand$end nvidia-cuda-runtime$end'," \
    "or name their folder in LD_LIBRARY_PATH." >&2
  exit 1
done < "$root/lib/cuda_libraries"

[ -z "$folders" ] || export LD_LIBRARY_PATH="$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LAYRUB_SOURCE_DIR="$root" LAYRUB_BIN_DIR="$root/bin"
exec "$program" "$@"
