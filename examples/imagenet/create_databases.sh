#!/bin/sh
# Makes databases, and their mean image, of images that lie in a folder for each class.
#
#   examples/imagenet/create_databases.sh TRAIN VAL [OUT [SIZE]]
#
# TRAIN and VAL are folders of such folders: TRAIN/cat/1.jpg. Writes to OUT (examples/imagenet):
#   labels.txt                      the classes, in the order of their labels: the folders of TRAIN, sorted
#   train.txt, val.txt              the images and their labels; a list that is there already is used as it is
#   ilsvrc12_train_lmdb, ilsvrc12_val_lmdb      resized to SIZE x SIZE (256) pixels, shuffled in the first one
#   imagenet_mean.binaryproto       the mean of the first one
# Programs are taken from LAYRUB_BIN_DIR (build/bin), or else from the PATH.
set -eu
fail() { echo "create_databases.sh: $1" >&2 && exit 1; }
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' && exit ;; esac
if [ $# -lt 2 ] || [ $# -gt 4 ]; then fail 'usage: create_databases.sh TRAIN VAL [OUT [SIZE]]'; fi
train=$1
val=$2
out=${3:-examples/imagenet}
size=${4:-256}
PATH=${LAYRUB_BIN_DIR:-build/bin}:$PATH
for folder in "$train" "$val" "$out"; do [ -d "$folder" ] || fail "$folder is no folder"; done
case $size in '' | *[!0-9]*) fail "SIZE must be a number of pixels, not '$size'" ;; esac
for part in train val; do
  [ ! -e "$out/ilsvrc12_${part}_lmdb" ] || fail "$out/ilsvrc12_${part}_lmdb is there already; remove it first"
done

if [ ! -f "$out/labels.txt" ]; then
  for class in "$train"/*/; do [ -d "$class" ] && basename "$class"; done | LC_ALL=C sort >"$out/labels.txt.new"
  [ -s "$out/labels.txt.new" ] || fail "$train has no folders"
  mv "$out/labels.txt.new" "$out/labels.txt"
fi

list() { # FOLDER FILE: a line for each image, with its class's place in labels.txt
  [ ! -f "$2" ] || return 0
  label=0
  while IFS= read -r class; do
    for image in "$1/$class"/*; do
      [ ! -f "$image" ] || echo "$class/${image##*/} $label"
    done
    label=$((label + 1))
  done <"$out/labels.txt" >"$2.new"
  [ -s "$2.new" ] || fail "$1 has no image in a folder that $out/labels.txt names"
  mv "$2.new" "$2"
}
list "$train" "$out/train.txt"
list "$val" "$out/val.txt"

convert() { convert_imageset --resize_width="$size" --resize_height="$size" "$@"; }
convert --shuffle --seed=1 "$train/" "$out/train.txt" "$out/ilsvrc12_train_lmdb"
convert "$val/" "$out/val.txt" "$out/ilsvrc12_val_lmdb"
compute_image_mean "$out/ilsvrc12_train_lmdb" "$out/imagenet_mean.binaryproto"
echo "$out: $(grep -c . "$out/labels.txt") classes, $(grep -c . "$out/train.txt") images to learn from, \
$(grep -c . "$out/val.txt") to test on"
