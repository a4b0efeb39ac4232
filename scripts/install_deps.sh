#!/bin/sh
# Installs the packages that Layrub needs to build, on Debian 12, Ubuntu 22.04 and Ubuntu 24.04; with --tests also those
# of its tests. If all are installed, does nothing and needs no network.
set -eu

packages='
  ccache clang-format cmake g++ make ninja-build pkg-config protobuf-compiler python3 python3-numpy
  libboost-context-dev libboost-dev libboost-filesystem-dev libboost-system-dev libboost-thread-dev libdnnl-dev
  libgflags-dev libgoogle-glog-dev libgtest-dev libhdf5-dev libleveldb-dev liblmdb-dev libopenblas-dev libopencv-core-dev
  libopencv-imgcodecs-dev libopencv-imgproc-dev libprotobuf-dev librapidcheck-dev libsnappy-dev libtbb-dev
  nlohmann-json3-dev valgrind zlib1g-dev'
# For the Python interface, which is optional.
python='pybind11-dev python3-dev python3-pip python3-protobuf python3-setuptools python3-wheel'
# For training with processes of mpirun, which is optional, too.
mpi='libopenmpi-dev openmpi-bin'
# For tests of pages in a browser, which are skipped without one; and of two machines, without iproute2.
browser=
# For tests of the export to ONNX, which are skipped without these packages; onnxruntime comes from PyPI.
onnx=
[ "${1:-}" != --tests ] || browser=chromium onnx=python3-onnx mpi="$mpi iproute2"

# lacking PACKAGE...: those that are not installed.
lacking() {
  for package; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null || true)
    [ "$status" = installed ] || printf ' %s' "$package"
  done
}
# shellcheck disable=SC2086 # lists of words
missing=$(lacking $packages)
# shellcheck disable=SC2086
missing_python=$(lacking $python)
# shellcheck disable=SC2086
missing_mpi=$(lacking $mpi)
# shellcheck disable=SC2086
missing_browser=$(command -v chromium > /dev/null || lacking $browser)
# shellcheck disable=SC2086
missing_onnx=$(lacking $onnx)
missing_runtime=
[ -z "$onnx" ] || python3 -c 'import onnxruntime' 2> /dev/null || /usr/bin/python3 -c 'import onnxruntime' 2> /dev/null ||
  missing_runtime=' onnxruntime'
[ -n "$missing$missing_python$missing_mpi$missing_browser$missing_onnx$missing_runtime" ] || exit 0

command -v apt-get > /dev/null || {
  echo "install_deps: there is no apt-get here; install what these packages of Debian have:$missing$missing_python$missing_mpi$missing_browser" >&2
  [ -z "$missing" ]
  exit
}
echo "Installing:$missing$missing_python$missing_mpi$missing_browser$missing_onnx$missing_runtime"
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
[ -z "$missing$missing_python$missing_mpi$missing_browser$missing_onnx" ] || $sudo apt-get update -q || [ -z "$missing" ]
install() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; }
# shellcheck disable=SC2086
[ -z "$missing" ] || install $missing
# shellcheck disable=SC2086
[ -z "$missing_python" ] || install $missing_python ||
  echo "install_deps: the Python interface is left out, it needs:$missing_python" >&2
# shellcheck disable=SC2086
[ -z "$missing_mpi" ] || install $missing_mpi ||
  echo "install_deps: training with processes of mpirun is left out, it needs:$missing_mpi" >&2
# shellcheck disable=SC2086
[ -z "$missing_browser" ] || install $missing_browser ||
  echo "install_deps: pages are not tested in a browser, which needs:$missing_browser" >&2
# shellcheck disable=SC2086
[ -z "$missing_onnx" ] || install $missing_onnx || echo "install_deps: exports to ONNX are not tested, which needs:$missing_onnx" >&2
[ -z "$missing_runtime" ] || for more in --break-system-packages ''; do
  # shellcheck disable=SC2086 # may be nothing
  /usr/bin/python3 -m pip install --quiet --user $more onnxruntime && break
done || echo 'install_deps: exports to ONNX are not tested, which needs onnxruntime (PyPI)' >&2
