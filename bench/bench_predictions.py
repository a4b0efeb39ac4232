#!/usr/bin/env python3
"""Prints predicted and measured times of an iteration on the CPU, as Markdown.

  LAYRUB_BIN_DIR=build/bin bench/bench_predictions.py [--placements=A,B] [--rounds=N] [NET.prototxt ...]

In each round a net is profiled (layrub time --profile) and trained under several placements: a strategy, or
STRATEGY@PERCENT for a budget at so many percent of the way from the floor (0) to what keep needs (100). The predicted
time is that of the plan on the profiled machine. The measured times are wall times of single iterations, with all that
a solver does: the fastest and the median, each with the error of the prediction. If other programs run, only the
fastest can be predicted, from the fastest profile. On an idle machine all rounds agree.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
import run_layrub
from bench_memory import mib, table

WARM_UP = 3  # iterations
NETS = [os.path.join(run_layrub.ROOT, 'src/caffe/net/test/nets', name + '.prototxt') for name in ('lenet', 'mini_resnet')]


def train(model, profile, placement, plan, iterations):
    """(summary of the run, seconds of each iteration but the first ones)"""
    strategy, _, percent = placement.partition('@')
    floor, keep = plan['floor_bytes'], plan['device_peak_bytes']
    budget = [f'--device_memory={floor + int(percent) * (keep - floor) // 100}'] if percent else []
    with tempfile.TemporaryDirectory() as folder:
        solver, summary = os.path.join(folder, 'solver.prototxt'), os.path.join(folder, 'summary.json')
        with open(solver, 'w', encoding='utf-8') as file:
            file.write(f'net: "{model}" base_lr: 0.001 momentum: 0.9 lr_policy: "fixed" display: 1 '
                       f'max_iter: {iterations + WARM_UP} snapshot_after_train: false solver_mode: CPU\n')
        done = run_layrub.run_or_exit('train', f'--solver={solver}', f'--machine={profile}', f'--placement={strategy}',
                                      '--deterministic', f'--json_summary={summary}', *budget)
        seconds = [float(found) for found in re.findall(r'Iteration \d+ \(\S+ iter/s, (\S+)s/1 iters\)', done.err)]
        with open(summary, encoding='utf-8') as file:
            return json.load(file), seconds[WARM_UP:]


def measure(model, options):
    """Placement -> the results of `train` in each round."""
    keep = run_layrub.plan(model, 'keep')[0]
    runs = {}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            profile = os.path.join(folder, 'profile.json')
            run_layrub.run_or_exit('time', f'--model={model}', f'--profile={profile}')
            for placement in options.placements.split(','):
                run = train(model, profile, placement, keep, options.iterations)
                runs.setdefault(placement, []).append(run)
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('nets', nargs='*', metavar='NET', default=NETS, help='files whose data need no data set')
    parser.add_argument('--placements', default='keep,liveness,inter,hybrid,sqrt', help='comma list')
    parser.add_argument('--iterations', type=int, default=20, help='to measure in each round')
    parser.add_argument('--rounds', type=int, default=5)
    options = parser.parse_args()
    rows = []
    for model in options.nets:
        runs = measure(model, options)
        for placement in options.placements.split(','):
            summaries, seconds = zip(*runs[placement])
            predicted = min(summary['predicted_seconds'] for summary in summaries)
            seconds = [value for run in seconds for value in run]
            name = os.path.splitext(os.path.basename(model))[0]
            rows.append([name, placement, mib(summaries[0]['planned_device_bytes']), f'{1000 * predicted:.2f}',
                         f'{1000 * min(seconds):.2f}', f'{1000 * statistics.median(seconds):.2f}',
                         *(f'{100 * (predicted / value - 1):+.0f} %' for value in (min(seconds), statistics.median(seconds)))])
    print(table(['net', 'placement', 'device, MiB', 'predicted, ms', 'fastest, ms', 'median, ms', 'to fastest', 'to median'],
                rows))


if __name__ == '__main__':
    main()
