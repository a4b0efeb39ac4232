#!/bin/sh
# Trains a small LeNet on real digits twice, with plain memory use (keep) and under a memory plan (hybrid), and compares
# accuracy, memory, time and the weights, bit by bit. Installs what is missing, builds, and converts the data first.
#
#   scripts/demo.sh            builds in build/ (BUILD_DIR=<folder> for another one)
set -eu
cd "$(dirname "$0")/.."
build=${BUILD_DIR:-build}
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

for strategy in keep hybrid; do
  echo "Training with --placement=$strategy (log: $out/$strategy.log) ..."
  if ! layrub train --solver=$digits/solver.prototxt --placement=$strategy --measure_memory \
    --json_summary="$out/$strategy.json" 2>"$out/$strategy.log"; then
    tail -5 "$out/$strategy.log" >&2
    exit 1
  fi
  mv $digits/digits_iter_600.caffemodel "$out/$strategy.caffemodel"
  mv $digits/digits_iter_600.solverstate "$out/$strategy.solverstate"
done

# value FILE KEY: the number beside a key of a summary; each stands on a line of its own.
value() { sed -n "s/^ *\"$2\": \([^,]*\),*$/\1/p" "$1"; }
accuracy() { grep -A2 '"name": "accuracy"' "$1" | sed -n 's/^ *"value": *//p'; }

echo
printf '%-10s %10s %16s %17s %8s %9s\n' strategy accuracy 'planned bytes' 'measured bytes' saved seconds
for strategy in keep hybrid; do
  summary=$out/$strategy.json
  planned=$(value "$summary" planned_device_bytes)
  keep=$(value "$summary" keep_device_bytes)
  awk -v s=$strategy -v a="$(accuracy "$summary")" -v p="$planned" -v m="$(value "$summary" measured_device_bytes)" \
    -v k="$keep" -v t="$(value "$summary" seconds)" \
    'BEGIN { printf "%-10s %10.4f %16d %17d %7.1f%% %9.1f\n", s, a, p, m, 100 * (1 - p / k), t }'
done
layrub diff "$out/keep.caffemodel" "$out/hybrid.caffemodel"
