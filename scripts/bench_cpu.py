#!/usr/bin/env python3
"""Prints measured times and memory of training on the CPU, as Markdown, beside those of BVLC Caffe.

  LAYRUB_BIN_DIR=build/bin scripts/bench_cpu.py [--iterations=N] [--strategies=A,B] [NET ...]

Trains on synthetic data. The time of an iteration is the median of all but the first, its update included; Caffe's
figures are a forward and a backward with BVLC Caffe on two cores of another machine (AVX-512 and, in brackets, AVX2).
Run it on a machine that does nothing else.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile

import run_layrub
from bench_memory import mib, table

# Net, batch; BVLC Caffe: forward + backward in ms with AVX-512 and with AVX2, the process's largest memory in MiB.
NETS = [('resnet50', 8, 725 + 1051, 1005 + 1433, 2965), ('vgg16', 8, 1525 + 2488, 2103 + 3586, 2403),
        ('googlenet', 16, 877 + 689, 935 + 834, 1415), ('alexnet', 16, 271 + 304, 269 + 332, 743)]


def train(net, batch, strategy, iterations):
    """(milliseconds of an iteration, summary of the run, largest memory of the process in bytes)"""
    with tempfile.TemporaryDirectory() as folder:
        model = run_layrub.generate(net, folder, f'--batch={batch}')
        solver, summary = os.path.join(folder, 'solver.prototxt'), os.path.join(folder, 'summary.json')
        with open(solver, 'w', encoding='utf-8') as file:
            file.write(f'net: "{model}" base_lr: 0.001 momentum: 0.9 lr_policy: "fixed" display: 1 '
                       f'max_iter: {iterations + 1} snapshot_after_train: false solver_mode: CPU\n')
        done = run_layrub.run_or_exit('train', f'--solver={solver}', '--synthetic', f'--placement={strategy}',
                                      '--measure_memory', f'--json_summary={summary}')
        with open(summary, encoding='utf-8') as file:
            return milliseconds(done.err), json.load(file), done.rss_bytes


def milliseconds(log):
    """Median over the displayed iterations but the first, which touches its memory for the first time. Each holds the
    update of the one before."""
    seconds = [float(found) for found in re.findall(r'Iteration \d+ \(\S+ iter/s, (\S+)s/1 iters\)', log)]
    return 1000 * statistics.median(seconds[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('nets', nargs='*', metavar='NET')
    parser.add_argument('--iterations', type=int, default=6, help='iterations to measure, after a first one')
    parser.add_argument('--strategies', default='keep,hybrid', help='comma list')
    options = parser.parse_args()
    unknown = set(options.nets) - {net for net, *_ in NETS}
    if unknown or options.iterations < 1:
        sys.exit('bench_cpu.py: nets are ' + ', '.join(net for net, *_ in NETS) + '; iterations are 1 or more')
    rows = []
    for net, batch, avx512, avx2, caffe_rss in NETS:
        if options.nets and net not in options.nets:
            continue
        for strategy in options.strategies.split(','):
            ms, summary, rss = train(net, batch, strategy, options.iterations)
            rows.append([net, str(batch), strategy, f'{ms:,.0f}', f'{avx512:,} ({avx2:,})',
                         mib(summary['planned_device_bytes']), mib(summary['measured_device_bytes']), mib(rss),
                         f'{caffe_rss:,}'])
    print(table(['net', 'batch', 'strategy', 'ms an iteration', 'Caffe, ms', 'planned, MiB', 'measured, MiB',
                 'process, MiB', 'Caffe, process, MiB'], rows))


if __name__ == '__main__':
    main()
