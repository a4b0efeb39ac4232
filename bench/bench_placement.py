#!/usr/bin/env python3
"""Compares `auto` with bounds on bytes and on predicted time. Takes minutes.

  LAYRUB_BIN_DIR=build/bin bench/bench_placement.py [--machines=A,B] [--parts=LIST] [--steps=N] [--seeds=N]
                                                      [NET[:BATCH] ...]

Prints a row for each net, machine and budget: predicted time over the time floor, and the fastest other strategy's time
over auto's. Budgets are multiples of the floor (--parts), and --steps more in equal ratios from there to what keep
takes. There are rows for each of --seeds random seeds of the search. Exits with 1 if a bound is missed:
  smallest budget <= 1.05 state floors; a plan's bytes <= its budget;
  time <= 1.2 time floors from 1.3 floors upward (for all nets 1.05 in the mean), and 1.8 below;
  time <= that of every other strategy, and with more memory never more by more than 1 %;
  planning <= 5 processor seconds (--planning).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
import run_layrub
from bench_memory import mib, row

NETS = ['alexnet:128', 'vgg16:32', 'googlenet:32', 'resnet50:32', 'resnet152:32', 'wrn28_10:128', 'densenet121:32',
        'lstm:32']
SMALLEST = 1.05      # state floors
AMPLE = 1.3          # floors; from here upward the stricter bound on time holds
SLOW = (1.8, 1.2)  # time floors: below AMPLE, from there
MEAN = 1.05  # time floors, mean of all rows from AMPLE
ROUNDING = 1 + 1e-9  # tolerance of comparisons of times
SEED = '5489'  # of auto itself (SearchOptions)
MORE = 1.01  # tolerance: a plan with more memory may take so many times as long


def lines_of(command):
    """Yields the JSON objects that a program prints, one a line, as they come."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        sys.exit(f'{command[0]} ended with exit code {process.returncode}')


def misses(found, before, floor, planning):
    """What is wrong with a budget's plan; `before`: that of the next smaller budget, or None."""
    wrong = []
    if found['device_bytes'] > found['budget_bytes']:
        return ['no plan']
    if found['seconds'] > SLOW[found['budget_bytes'] >= AMPLE * floor] * found['floor_seconds']:
        wrong.append('slow')
    if found['other_seconds'] and found['seconds'] > found['other_seconds'] * ROUNDING:
        wrong.append('slower than ' + found['other'])
    if before and before['device_bytes'] <= before['budget_bytes'] and found['seconds'] > before['seconds'] * MORE:
        wrong.append('slower with more')
    if found['planning_seconds'] > planning:
        wrong.append('long planning')
    return wrong


def dump_graph(net, folder):
    """The file of the graph of NET[:BATCH], written below `folder`."""
    name, _, batch = net.partition(':')
    place = os.path.join(folder, name)
    os.mkdir(place)
    model = run_layrub.generate(name, place, '--data=dummy', *([f'--batch={batch}'] if batch else []))
    run_layrub.plan(model, 'keep', f'--dump={place}')
    return os.path.join(place, 'graph.txt')


def measure(net, machine, seed, options, table):
    """Adds rows; returns the ratios below AMPLE and from there, and what is missed. `seed`: time_plans' last words."""
    wrong, ratios = [], ([], [])
    with tempfile.TemporaryDirectory() as folder:
        found = lines_of([os.path.join(run_layrub.BIN, 'time_plans'), dump_graph(net, folder), machine,
                          options.parts, str(options.steps), *seed])
        head = next(found)
        floor = head['floor_bytes']
        smallest = head['smallest_bytes'] / head['state_floor_bytes']
        if smallest > SMALLEST:
            wrong.append('smallest budget')
        title = [net, machine, mib(floor), mib(head['keep_bytes']), f'{smallest:.3f}']
        before = None
        for line in found:
            here = misses(line, before, floor, options.planning)
            fits = line['device_bytes'] <= line['budget_bytes']
            ratio = line['seconds'] / line['floor_seconds']
            if fits:
                ratios[line['budget_bytes'] >= AMPLE * floor].append(ratio)
            other = f"{line['other_seconds'] / line['seconds']:.2f} {line['other']}" if fits and line['other'] else ''
            table.append(title + [f"{line['budget_bytes'] / floor:.2f}", f'{line["seconds"] * 1e3:.2f}' if fits else '',
                                  f'{ratio:.3f}' if fits else '', other, f"{line['planning_seconds']:.1f}",
                                  ', '.join(here)])
            title = [''] * len(title)
            wrong += here
            before = line
            print(f"{net} {machine} {line['budget_bytes'] / floor:.2f} floors: {ratio:.3f} {', '.join(here)}",
                  file=sys.stderr, flush=True)
    return ratios, wrong


def show(columns, rows, markdown):
    if markdown:
        print('\n'.join([row(columns), '|---|' + '---:|' * (len(columns) - 1), *map(row, rows)]))
        return
    widths = [max(len(cells[i]) for cells in [columns, *rows]) for i in range(len(columns))]
    for cells in [columns, *rows]:
        print('  '.join(cell.rjust(width) for cell, width in zip(cells, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('nets', nargs='*', metavar='NET[:BATCH]', default=NETS)
    parser.add_argument('--machines', default='k40,h200', help='comma list')
    parser.add_argument('--parts', default='1.05,1.1,1.2,1.3', help='comma list of budgets in parts of the floor')
    parser.add_argument('--steps', type=int, default=6, help='further budgets up to what keep takes')
    parser.add_argument('--seeds', type=int, help='random seeds, from 1 on; without, the one that auto always has')
    parser.add_argument('--without', help='a part of auto to leave out, as time_plans names it')
    parser.add_argument('--planning', type=float, default=5, help='processor seconds that planning may take')
    parser.add_argument('--markdown', action='store_true')
    options = parser.parse_args()
    without = [options.without] if options.without else []
    table, summary, missed, ample = [], [], 0, []
    for net in options.nets:
        for machine in options.machines.split(','):
            seeds = [[str(seed)] + without for seed in range(1, options.seeds + 1)] if options.seeds else \
                    [[SEED] + without if without else []]
            found = [measure(net, machine, seed, options, table) for seed in seeds]
            ratios = [sum((one[0][i] for one in found), []) for i in (0, 1)]
            wrong = sum(len(one[1]) for one in found)
            missed += wrong
            ample += ratios[1]
            summary.append([net, machine, *(f'{max(some):.3f}' if some else '' for some in ratios), str(wrong)])
    show(['net', 'machine', 'floor, MiB', 'keep, MiB', 'smallest / state floor', 'budget / floor', 'ms', 'time / time floor',
          'best other / auto', 'planning, s', 'missed'], table, options.markdown)
    print()
    show(['net', 'machine', f'worst below {AMPLE} floors', 'from there', 'missed'], summary, options.markdown)
    if ample:
        mean = sum(ample) / len(ample)
        missed += options.nets == NETS and mean > MEAN
        print(f'\nMean from {AMPLE} floors: {mean:.3f}')
    sys.exit(1 if missed else 0)


if __name__ == '__main__':
    main()
