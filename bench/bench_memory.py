#!/usr/bin/env python3
"""Prints the tables of planned device memory in docs/benchmarks.md, as Markdown. Takes about a minute.

  LAYRUB_BIN_DIR=build/bin bench/bench_memory.py [NET ...]     names as in the first column; default: all
"""

import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
import run_layrub
from run_layrub import MIB

# Name of generate_model.py, batch, and the memory in MB that the paper of Layrub reports (Liu et al., ACM TACO 15(3),
# art. 37, 2018) for plain Caffe and hybrid. Marked ones are read off a chart and leave out parameters.
NETS = [
    ('alexnet', 128, '', ''), ('vgg16', 32, '≈ 3700', '≈ 950'), ('googlenet', 32, '≈ 2130', '≈ 560'),
    ('wrn28_10', 128, '≈ 4750', '≈ 640'), ('resnet34', 32, '4430', '1257'), ('resnet50', 32, '11425', '1805'),
    ('resnet101', 32, '', ''), ('resnet152', 32, '', ''), ('resnet1001', 32, 'out of memory', '7901'),
    ('resnet1517', 32, 'out of memory', '11239'),
]

TIGHT = 1.1  # auto's budget, in floors


def mib(count):
    return f'{count / MIB:,.0f}'


def row(cells):
    return '| ' + ' | '.join(cells) + ' |'


def table(columns, rows):
    lines = [row(columns), '|---|' + '---:|' * (len(columns) - 1)]
    return '\n'.join(lines + [row(cells) for cells in rows])


def measure(net, batch, names):
    """Plans by strategy, and runs; auto within TIGHT times its floor."""
    with tempfile.TemporaryDirectory() as folder:
        model = run_layrub.generate(net, folder, f'--batch={batch}')
        found = {name: run_layrub.plan(model, name) for name in names}
        floor = run_layrub.plan(model, 'auto')[0]['floor_bytes']
        return {**found, 'auto': run_layrub.plan(model, 'auto', f'--device_memory={int(TIGHT * floor)}')}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('nets', nargs='*', metavar='NET')
    wanted = parser.parse_args().nets
    unknown = set(wanted) - {net for net, *_ in NETS}
    if unknown:
        sys.exit(f'bench_memory.py: there is no {sorted(unknown)[0]} here; there are '
                 f'{", ".join(net for net, *_ in NETS)}')
    names = [name for name in run_layrub.strategies() if name != 'auto']
    bytes_rows, cost_rows = [], []
    for net, batch, caffe, hybrid in NETS:
        if wanted and net not in wanted:
            continue
        found = measure(net, batch, names)
        first = found[names[0]][0]
        bytes_rows.append([net, str(batch), mib(first['persistent_bytes']), mib(found['auto'][0]['floor_bytes']),
                           *(mib(plan['device_peak_bytes']) for plan, _ in found.values()),
                           mib(found['auto'][0]['smallest_budget_bytes']), caffe, hybrid])
        cost_rows.append([net, *(f'{done.cpu_seconds:.2f}' for _, done in found.values()),
                          mib(max(done.rss_bytes for _, done in found.values()))])
    print(table(['net, MiB', 'batch', 'state', 'floor', *names, f'auto in {TIGHT} floors', 'auto, smallest',
                 'paper: Caffe, MB', 'paper: hybrid, MB'], bytes_rows))
    print()
    print(table(['processor seconds', *names, 'auto', 'memory, MiB'], cost_rows))


if __name__ == '__main__':
    main()
