#!/bin/sh
# Trains a small LeNet on real digits without a memory plan (keep), under one (hybrid), and under the fastest plan that
# takes no more bytes than that (auto, with a budget). Compares accuracy, memory, time and, bit by bit, the weights.
# First installs missing packages, builds, and converts the data.
#
#   scripts/demo.sh            builds in build/ (BUILD=<folder> for another one)
set -eu
case ${1:-} in -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit ;; esac
cd "$(dirname "$0")/.."
build=${BUILD:-build}
digits=examples/digits

scripts/install_deps.sh
generator=$(command -v ninja >/dev/null && echo Ninja || echo "Unix Makefiles")
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" -G "$generator"
cmake --build "$build" --parallel --target layrub convert_digits
PATH=$(cd "$build/bin" && pwd):$PATH

out=$build/demo
rm -rf "$out" $digits/digits_train_lmdb $digits/digits_test_lmdb
mkdir -p "$out"
gunzip -c $digits/digits.csv.gz >"$out/digits.csv"
convert_digits "$out/digits.csv" $digits

# value FILE KEY: the number of a key of a summary, which has one key per line.
value() { sed -n "s/^ *\"$2\": \([^,]*\),*$/\1/p" "$1"; }
accuracy() { grep -A2 '"name": "accuracy"' "$1" | sed -n 's/^ *"value": *//p'; }

train() { # STRATEGY [FLAG ...]
  strategy=$1
  shift
  echo "Training with --placement=$strategy${*:+ $*} (log: $out/$strategy.log) ..."
  if ! layrub train --solver=$digits/solver.prototxt --placement="$strategy" "$@" --measure_memory \
    --json_summary="$out/$strategy.json" 2>"$out/$strategy.log"; then
    tail -5 "$out/$strategy.log" >&2
    exit 1
  fi
  mv $digits/digits_iter_600.caffemodel "$out/$strategy.caffemodel"
  mv $digits/digits_iter_600.solverstate "$out/$strategy.solverstate"
}

train keep
train hybrid
train auto --device_memory="$(value "$out/hybrid.json" planned_device_bytes)"

row() { # STRATEGY: its line of the table; savings are against keep
  awk -v strategy="$1" -v accuracy="$(accuracy "$out/$1.json")" -v seconds="$(value "$out/$1.json" seconds)" \
    -v planned="$(value "$out/$1.json" planned_device_bytes)" -v other="$(value "$out/$1.json" pool_peak_bytes)" \
    -v measured="$(value "$out/$1.json" measured_device_bytes)" \
    -v keep="$(value "$out/keep.json" planned_device_bytes)" \
    -v keep_other="$(value "$out/keep.json" pool_peak_bytes)" 'BEGIN {
      printf "%-10s %8.4f %13d %14d %6.1f%% %12d %9.1f%% %8.1f\n", strategy, accuracy, planned, measured,
             100 * (1 - planned / keep), other, 100 * (1 - (planned + other) / (keep + keep_other)), seconds }'
}

echo
format='%-10s %8s %13s %14s %7s %12s %10s %8s\n'
# shellcheck disable=SC2059 # the format is ours
printf "$format" '' test 'device bytes' 'device bytes' '' 'bytes' 'saved' ''
# shellcheck disable=SC2059
printf "$format" strategy accuracy planned measured saved 'outside' 'in all' seconds
row keep
row hybrid
row auto
echo "Planned and measured: the train net with its solver, and the test net. Outside: batches read ahead."
layrub diff "$out/keep.caffemodel" "$out/hybrid.caffemodel"
layrub diff "$out/keep.caffemodel" "$out/auto.caffemodel"
