#!/usr/bin/env python3
"""Measures what each part of `auto` is worth by turning off one part at a time. Takes an hour on two cores.

  LAYRUB_BIN_DIR=build/bin bench/ablate_auto.py [--seeds=N] [--jobs=N] [NET[:BATCH] ...]

Prints a row for each part: by what factor predicted times grow without it, in the geometric mean of all budgets from
1.3 memory floors upward, in that of the budgets below, and in the worst case; the smallest budget relative to that of
the whole `auto`; and the processor seconds of planning. Nets, machines and budgets are those of bench_placement.py;
budgets in which there is no plan without the part are counted, not timed.
"""

import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
import run_layrub
from bench_placement import AMPLE, NETS, dump_graph, show

PARTS = ['policies', 'presets', 'rematerialization', 'link_clock', 'local_search', 'partial_eviction', 'slack']


def time_plans(graph, machine, options, seed, part):
    """The first line of time_plans' output, and the other lines."""
    command = [os.path.join(run_layrub.BIN, 'time_plans'), graph, machine, options.parts, str(options.steps), str(seed)]
    done = subprocess.run(command + ([part] if part else []), stdout=subprocess.PIPE, text=True, check=True)
    head, *rows = map(json.loads, done.stdout.splitlines())
    return head, rows


def mean(logs):
    """The geometric mean of the numbers with these logarithms, as text."""
    return f'{math.exp(sum(logs) / len(logs)):.3f}' if logs else ''


def compare(runs, part):
    """The row of the table for `part`. `runs`: (graph, machine, seed, part) -> the output of time_plans."""
    logs, worst, missed, smallest, planning = {False: [], True: []}, 1, 0, [], 0
    for (graph, machine, seed, which), (head, rows) in runs.items():
        if which != part:
            continue
        whole_head, whole_rows = runs[graph, machine, seed, None]
        smallest.append(math.log(head['smallest_bytes'] / whole_head['smallest_bytes']))
        for row, whole in zip(rows, whole_rows):
            planning += row['planning_seconds']
            if row['device_bytes'] > row['budget_bytes']:
                missed += 1
                continue
            ratio = row['seconds'] / whole['seconds']
            worst = max(worst, ratio)
            logs[row['budget_bytes'] >= AMPLE * head['floor_bytes']].append(math.log(ratio))
    return [part or 'all parts', mean(logs[True]), mean(logs[False]), f'{worst:.3f}', str(missed), mean(smallest),
            f'{planning:.0f}']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('nets', nargs='*', metavar='NET[:BATCH]', default=NETS)
    parser.add_argument('--machines', default='k40,h200', help='comma list')
    parser.add_argument('--parts', default='1.05,1.1,1.2,1.3', help='comma list of budgets in parts of the floor')
    parser.add_argument('--steps', type=int, default=3, help='further budgets up to what keep takes')
    parser.add_argument('--seeds', type=int, default=5, help='random seeds, from 1 on')
    parser.add_argument('--jobs', type=int, default=1, help='programs side by side')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tasks = {}
        for net in options.nets:
            graph = dump_graph(net, folder)
            for machine in options.machines.split(','):
                for seed in range(1, options.seeds + 1):
                    for part in [None, *PARTS]:
                        tasks[graph, machine, seed, part] = pool.submit(time_plans, graph, machine, options, seed, part)
        runs = {}
        for number, (key, task) in enumerate(tasks.items(), 1):
            runs[key] = task.result()
            print(f'\r{number} of {len(tasks)}', end='', file=sys.stderr, flush=True)
        print(file=sys.stderr)
    show(['left out', f'time from {AMPLE} floors', 'below', 'worst', 'budgets missed', 'smallest budget', 'planning, s'],
         [compare(runs, part) for part in [None, *PARTS]], True)


if __name__ == '__main__':
    main()
