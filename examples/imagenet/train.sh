#!/bin/sh
# Trains a model on the databases that create_databases.sh made in examples/imagenet.
#
#   examples/imagenet/train.sh MODEL [OPTION ...] [-- FLAG ...]
#
# MODEL is a name of `models/zoo/generate_model.py --list`, and each OPTION one of that script: --batch=32, --crop=64. The
# net gets as many classes as labels.txt has lines, and tests on each image of val.txt at least once. It and its
# solver are written to examples/imagenet/MODEL. Each FLAG goes to `layrub train`: --max_iter=1000, --placement=auto.
# Programs are taken from LAYRUB_BIN_DIR (build/bin), or else from the PATH.
set -eu
fail() { echo "train.sh: $1" >&2 && exit 1; }
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' && exit ;; esac
[ $# -gt 0 ] || fail 'usage: train.sh MODEL [OPTION ...] [-- FLAG ...]'
root=$(dirname "$0")/../..
model=$1
out=examples/imagenet
PATH=${LAYRUB_BIN_DIR:-build/bin}:$PATH
for file in labels.txt val.txt ilsvrc12_train_lmdb ilsvrc12_val_lmdb; do
  [ -e "$out/$file" ] || fail "$out/$file is not there: run create_databases.sh first"
done
shift

options=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    --*[!a-z0-9=,-]*) fail "$1 is no option of generate_model.py" ;;
    --*=*) options="$options $1" ;;
    *) fail "$1 is no option; write --batch=32, and what is for layrub train after --" ;;
  esac
  shift
done
[ $# -eq 0 ] || shift
# shellcheck disable=SC2086 # words
python3 "$root/models/zoo/generate_model.py" "$model" --classes="$(grep -c . "$out/labels.txt")" $options \
  --out="$out/$model" --solver

images=$(grep -c . "$out/val.txt")
batch=$(sed -n 's/.*ilsvrc12_val_lmdb.*batch_size: \([0-9]*\).*/\1/p' "$out/$model/train_val.prototxt")
[ -n "$batch" ] || fail "$model is no net for ImageNet: its data is elsewhere"
solver=$out/$model/solver.prototxt
sed "s/^test_iter: .*/test_iter: $(((images + batch - 1) / batch))/" "$solver" >"$solver.new"
mv "$solver.new" "$solver"
layrub train --solver="$solver" "$@"
