#!/usr/bin/env python3
"""Prints how long an iteration of two solvers takes as threads of one process, and as two processes that mpirun starts, as
Markdown.

  LAYRUB_BIN_DIR=build/bin bench/bench_ranks.py [--rounds=N] [--iterations=N] [NET:BATCH ...]

Trains on synthetic data under keep. Each round runs both, one after the other. The time of a run is the median of its
iterations without the first, that of a row the median over the rounds, and the ratio is the median of the rounds'
ratios. Run it on a machine that does nothing else."""

import argparse
import json
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
import run_layrub
from bench_memory import mib, table

SOLVER = ('net: "{}" base_lr: 0.0001 momentum: 0.9 lr_policy: "fixed" max_iter: {} snapshot_after_train: false '
          'random_seed: 1 solver_mode: CPU\n')
# mpirun needs these to run as root and with more processes than cores.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                   OMPI_MCA_rmaps_base_oversubscribe='1')


def train(model, iterations, before, *flags):
    """Seconds of an iteration, as the program reports them."""
    with tempfile.TemporaryDirectory() as folder:
        solver, summary = os.path.join(folder, 'solver.prototxt'), os.path.join(folder, 'summary.json')
        with open(solver, 'w', encoding='utf-8') as file:
            file.write(SOLVER.format(model, iterations))
        done = run_layrub.run_command([*before, os.path.join(run_layrub.BIN, 'layrub'), 'train', f'--solver={solver}',
                                       '--synthetic', '--placement=keep', f'--json_summary={summary}', *flags],
                                      env=ENVIRONMENT)
        if done.code != 0:
            sys.exit('bench_ranks.py: ' + (done.err.strip().splitlines() or ['no message'])[-1])
        with open(summary, encoding='utf-8') as file:
            return json.load(file)['iteration_seconds']


def row_of(net, batch, options):
    ways = {'threads': ([], '--cpu_solvers=2'), 'processes': (['mpirun', '-np', '2'],)}
    seconds = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        model = run_layrub.generate(net, folder, f'--batch={batch}')
        graph = run_layrub.plan(model, 'keep')[0]
        for number in range(options.rounds):
            for name, (before, *flags) in ways.items():
                print(f'{net}, batch {batch}, round {number + 1} of {options.rounds}: {name}   ', end='\r', file=sys.stderr)
                seconds[name].append(train(model, options.iterations, before, *flags))
    ratio = statistics.median(b / a for a, b in zip(seconds['threads'], seconds['processes']))
    ms = {name: f'{1000 * statistics.median(times):,.0f}' for name, times in seconds.items()}
    return [net, str(batch), mib(graph['breakdown']['parameter']), ms['threads'], ms['processes'], f'{ratio:.2f}']


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('nets', nargs='*', metavar='NET:BATCH', default=['alexnet:8', 'googlenet:8', 'resnet18:4'])
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--iterations', type=int, default=10)
    options = parser.parse_args()
    if options.iterations < 3 or options.rounds < 1:
        sys.exit('bench_ranks.py: iterations are 3 or more, rounds 1 or more')
    rows = []
    for net in options.nets:
        name, _, batch = net.partition(':')
        if not batch.isdigit():
            sys.exit(f'bench_ranks.py: {net} is not NET:BATCH')
        rows.append(row_of(name, int(batch), options))
    print(' ' * 78, end='\r', file=sys.stderr)
    print(table(['net', 'batch of each', 'parameters, MiB', 'threads, ms', 'processes, ms', 'ratio'], rows))


if __name__ == '__main__':
    main()
