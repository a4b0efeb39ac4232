#!/usr/bin/env python3
"""Trains published nets within a budget close to their floor, and prints what that takes, as Markdown.

  LAYRUB_BIN_DIR=build/bin bench/bench_training.py [--percent=110] [--iterations=N] [--spill_file=DIR] [NET ...]

Each net trains on synthetic data: under keep, and under auto within --percent of its floor, offloading to a file or,
with an empty --spill_file, to host memory. Then
a few iterations with and without the plan are compared bit by bit. Processor seconds are those of a whole run, set-up
included, on all cores. Exits with 1 if a bit differs, the measured peak is not the planned one, or the process takes
more memory than allowed. Takes minutes, and for keep as much memory as it prints.
"""

import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
import run_layrub
from bench_memory import mib, table
from run_layrub import MIB

# Net, batch; the limits of the process's memory (MiB: in all, beyond the budget), and what other programs take, MiB.
NETS = [('resnet50', 32, 1000, None, 'Caffe 10,898; PyTorch 4,449'),
        ('vgg16', 32, None, 400, '')]


def train(model, iterations, *flags):
    """(summary of the run, how it ran)"""
    with tempfile.TemporaryDirectory() as folder:
        solver, summary = os.path.join(folder, 'solver.prototxt'), os.path.join(folder, 'summary.json')
        with open(solver, 'w', encoding='utf-8') as file:
            file.write(f'net: "{model}" base_lr: 0.001 momentum: 0.9 lr_policy: "fixed" random_seed: 1 '
                       f'max_iter: {iterations} snapshot_after_train: false solver_mode: CPU\n')
        verifies = any(flag.startswith('--verify_placement') for flag in flags)  # writes no summary
        done = run_layrub.run_or_exit('train', f'--solver={solver}', '--synthetic', '--deterministic',
                                      *([] if verifies else [f'--json_summary={summary}']), *flags)
        if verifies:
            return {}, done
        with open(summary, encoding='utf-8') as file:
            return json.load(file), done


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('nets', nargs='*', metavar='NET')
    parser.add_argument('--percent', type=int, default=110, help='the budget, of the floor')
    parser.add_argument('--iterations', type=int, default=3)
    parser.add_argument('--spill_file', default=tempfile.gettempdir(), metavar='DIR',
                        help='empty: to host memory instead')
    options = parser.parse_args()
    unknown = set(options.nets) - {net for net, *_ in NETS}
    if unknown or options.iterations < 1:
        sys.exit('bench_training.py: nets are ' + ', '.join(net for net, *_ in NETS) + '; iterations are 1 or more')
    rows, missed = [], []
    for net, batch, in_all, beyond, others in NETS:
        if options.nets and net not in options.nets:
            continue
        with tempfile.TemporaryDirectory() as folder:
            model = run_layrub.generate(net, folder, f'--batch={batch}')
            budget = run_layrub.plan(model, 'auto')[0]['floor_bytes'] * options.percent // 100
            tight = (f'--device_memory={budget}', *([f'--spill_file={options.spill_file}'] if options.spill_file else []))
            kept, keep = train(model, options.iterations, '--placement=keep')
            said, auto = train(model, options.iterations, *tight)
            # A separate run: to measure, all device memory is filled while the parameters are still elsewhere.
            measured = train(model, 1, '--measure_memory', *tight)[0]['measured_device_bytes']
            # exits if a bit differs
            train(model, options.iterations, f'--verify_placement={options.iterations}', *tight)
        allowed = in_all * MIB if in_all else budget + beyond * MIB
        if options.spill_file and auto.rss_bytes > allowed:
            missed.append(f'{net}: the process takes {mib(auto.rss_bytes)} MiB, {mib(allowed)} are allowed')
        if not 0 <= said['planned_device_bytes'] - measured <= said['planned_device_bytes'] // 100:
            missed.append(f'{net}: the measured peak is not the planned one, within a hundredth')
        rows.append([net, str(batch), 'keep', '', mib(kept['planned_device_bytes']), '', '', mib(keep.rss_bytes), others,
                     f'{keep.cpu_seconds:.1f}'])
        rows.append([net, str(batch), 'auto', mib(budget), mib(said['planned_device_bytes']),
                     mib(measured), mib(said['bytes_offloaded'] / options.iterations), mib(auto.rss_bytes), '',
                     f'{auto.cpu_seconds:.1f}'])
    print(table(['net', 'batch', 'strategy', 'budget, MiB', 'planned, MiB', 'measured, MiB', 'moved out an iteration, MiB',
                 'process, MiB', 'others, process, MiB', 'processor seconds'], rows))
    if missed:
        sys.exit('\n'.join(missed))


if __name__ == '__main__':
    main()
