#!/bin/sh
# Installs what Layrub needs to build, on Debian 12, Ubuntu 22.04 and Ubuntu 24.04.
# Does nothing, and needs no network, where all of it is there.
set -eu

packages='
  ccache clang-format cmake g++ make ninja-build pkg-config protobuf-compiler pybind11-dev python3 python3-dev python3-numpy python3-pip
  python3-protobuf python3-setuptools python3-wheel libboost-dev libboost-filesystem-dev libboost-system-dev libboost-thread-dev libgflags-dev libgoogle-glog-dev
  libgtest-dev libhdf5-dev libleveldb-dev liblmdb-dev libopenblas-dev libopencv-core-dev
  libopencv-imgcodecs-dev libopencv-imgproc-dev libprotobuf-dev librapidcheck-dev libsnappy-dev libtbb-dev
  nlohmann-json3-dev valgrind zlib1g-dev'

missing=
for package in $packages; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

command -v apt-get > /dev/null || {
  echo "install_deps: there is no apt-get here; install what these packages of Debian have:$missing" >&2
  exit 1
}
echo "Installing:$missing"
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
$sudo apt-get update -q
# shellcheck disable=SC2086 # a list of words
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
