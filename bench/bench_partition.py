#!/usr/bin/env python3
"""Prints what dividing wide ResNets among devices gains by the cost model: the table of docs/devices.md.

  bench_partition.py                                  WResNet-50, 101 and 152, 4 to 10 times as wide, on 8 x K80
  bench_partition.py --depth=152 --widen=10 --devices=4

The programs lie in the folder named by LAYRUB_BIN_DIR, build/bin by default.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tools/python'))
from script import run_script

BIN = os.path.abspath(os.environ.get('LAYRUB_BIN_DIR', os.path.join(ROOT, 'build/bin')))
PARTITIONS = ('auto', 'tofu', 'chop', 'rows', 'data')
GIB = 1 << 30


def numbers(text):
    return [int(word) for word in text.split(',')]


def plan(model, *args):
    """The JSON of `layrub plan`."""
    done = subprocess.run([os.path.join(BIN, 'layrub'), 'plan', f'--model={model}', '--format=json', *args],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        sys.exit(f'bench_partition.py: {done.stderr.strip()}')
    return json.loads(done.stdout)


def cell(made, whole):
    """The speed relative to that of as many ideal devices, and the bytes that a device receives."""
    if made['verdict'] != 'fits':
        return f"needs {made['smallest_budget_bytes'] / GIB:.0f} GiB" if made['smallest_budget_bytes'] else 'does not fit'
    return f"{whole / made['devices'] / made['predicted_seconds']:.0%}, {made['received_bytes'] / GIB:.1f}"


def row(depth, widen, options, folder):
    subprocess.run([sys.executable, os.path.join(ROOT, 'models/zoo/generate_model.py'), 'wresnet', f'--depth={depth}',
                    f'--widen={widen}', f'--batch={options.batch}', '--data=dummy', f'--out={folder}'], check=True)
    model = os.path.join(folder, 'train_val.prototxt')
    made = {name: plan(model, f'--devices={options.devices}', f'--partition={name}', f'--machine={options.machine}')
            for name in PARTITIONS}
    swap = plan(model, f'--machine={options.machine}')
    whole = made['auto']['whole_seconds']
    alone = (f"{whole / options.devices / swap['predicted_seconds']:.0%}" if swap['verdict'] == 'fits' else 'does not fit')
    print(f"| {depth} | {widen} | {made['auto']['persistent_bytes'] / GIB:.1f} | {made['auto']['device_peak_bytes'] / GIB:.1f} | "
          + ' | '.join(cell(made[name], whole) for name in PARTITIONS) + f" | {alone} | "
          f"{made['tofu']['search_seconds']:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--depth', type=numbers, default=[50, 101, 152], help='50,101,152')
    parser.add_argument('--widen', type=numbers, default=[4, 6, 8, 10], help='4,6,8,10')
    parser.add_argument('--batch', type=int, default=8, help='images (8)')
    parser.add_argument('--devices', type=int, default=8, help='2, 4, 8 ... (8)')
    parser.add_argument('--machine', default='k80', help='each of them (k80)')
    options = parser.parse_args()
    print('| depth | widened | state, GiB | device memory, GiB | ' + ' | '.join(PARTITIONS) + ' | one, swapping | search, s |')
    print('|---:|---:|---:|---:|' + '---:|' * (len(PARTITIONS) + 2))
    with tempfile.TemporaryDirectory() as folder:
        for depth in options.depth:
            for widen in options.widen:
                row(depth, widen, options, folder)


if __name__ == '__main__':
    run_script(main)
