#!/usr/bin/env python3
"""Prints measured times and memory of training on the CPU, as Markdown, beside those of PyTorch and of BVLC Caffe.

  LAYRUB_BIN_DIR=build/bin bench/bench_cpu.py [--rounds=N] [--iterations=N] [--strategies=A,B] [--torch=PYTHON]
      [--compile] [NET[:BATCH] ...]

Trains on synthetic data. STRATEGY@SIZE, such as auto@1600MiB, plans within this budget and without offloading, which on
a CPU would move bytes within the same memory. Each round runs every program once, one after the other. The time of a
process is the median of its iterations without the first, updates included; that of a row is the median over the
rounds. --torch names a Python that has PyTorch (default: this one, if it has it); torch_net.py runs the same prototxt
there, in both of its memory layouts, eagerly and, with --compile, by torch.compile as well, which needs a C++ compiler.
Caffe's figures are a forward and a backward pass with BVLC Caffe on two cores of another machine (AVX-512 and, in
brackets, AVX2). Run it on a machine that does nothing else.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile

for folder in ('../tools/python', '../models/zoo'):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), folder))
import model_text
import run_layrub
from bench_memory import mib, table

# Net, batch; BVLC Caffe: forward + backward in ms with AVX-512 and with AVX2, the process's largest memory in MiB.
NETS = [('resnet50', 8, 725 + 1051, 1005 + 1433, 2965), ('resnet50', 32, 3442 + 4681, None, 10898),
        ('vgg16', 8, 1525 + 2488, 2103 + 3586, 2403), ('googlenet', 16, 877 + 689, 935 + 834, 1415),
        ('alexnet', 16, 271 + 304, 269 + 332, 743)]
TORCH = {'PyTorch': [], 'PyTorch, channels last': ['--channels_last']}
COMPILED = {f'{name}, compiled': [*flags, '--compile'] for name, flags in TORCH.items()}


def names(net, batch):
    """The names by which this row may be selected."""
    return {net, f'{net}:{batch}'}


def train(model, strategy, iterations):
    """(milliseconds of an iteration, largest memory of the process in bytes, planned bytes)"""
    strategy, _, size = strategy.partition('@')
    budget = [f'--device_memory={size}', '--host_memory=0'] if size else []
    with tempfile.TemporaryDirectory() as folder:
        solver, summary = os.path.join(folder, 'solver.prototxt'), os.path.join(folder, 'summary.json')
        with open(solver, 'w', encoding='utf-8') as file:
            file.write(f'net: "{model}" base_lr: 0.001 momentum: 0.9 weight_decay: 0.0005 lr_policy: "fixed" display: 1 '
                       f'max_iter: {iterations + 1} snapshot_after_train: false solver_mode: CPU\n')
        done = run_layrub.run_or_exit('train', f'--solver={solver}', '--synthetic', f'--placement={strategy}',
                                      f'--json_summary={summary}', *budget)
        with open(summary, encoding='utf-8') as file:
            return milliseconds(done.err), done.rss_bytes, json.load(file)['planned_device_bytes']


def milliseconds(log):
    """The median of the displayed iterations without the first, which touches its memory for the first time. Each
    includes the update of the one before."""
    seconds = [float(found) for found in re.findall(r'Iteration \d+ \(\S+ iter/s, (\S+)s/1 iters\)', log)]
    return 1000 * statistics.median(seconds[1:])


def torch_description(model, item=None):
    """The training net in the file `model`, for torch_net.py. `item` is the shape of an item if no crop determines
    it."""
    with open(model, encoding='utf-8') as file:
        layers = [layer for layer in model_text.read(file.read())['layer']
                  if not any(rule['phase'] == 'TEST' for rule in layer.get('include', []))]
    data = next(layer for layer in layers if layer['type'] == 'Data')
    size = data.get('transform_param', {}).get('crop_size')
    return json.dumps({'shape': [data['data_param']['batch_size'], *(item or [3, size, size])], 'layers': layers})


def train_in_torch(python, description, options, iterations):
    """Returns what `train` does, without planned bytes."""
    done = subprocess.run([python, os.path.join(run_layrub.ROOT, 'bench/torch_net.py'), f'--iterations={iterations}', *options],
                          input=description, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit('bench_cpu.py: torch_net.py: ' + (done.stderr.strip().splitlines() or ['no message'])[-1])
    said = json.loads(done.stdout)
    return 1000 * statistics.median(said['seconds']), said['rss_bytes'], None


def has_torch(python):
    return subprocess.run([python, '-c', 'import torch'], capture_output=True, check=False).returncode == 0


def processor():
    """The processor's name, the number of cores that this process may use, and its widest vectors."""
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        text = file.read()
    name = re.search(r'model name\s*: (.*)', text)
    flags = set(re.search(r'flags\s*: (.*)', text).group(1).split()) if 'flags' in text else set()
    widest = next((flag for flag in ('avx512f', 'avx2', 'avx') if flag in flags), platform.machine())
    return f'{name.group(1) if name else platform.processor()}, {len(os.sched_getaffinity(0))} cores, {widest}'


def rows_of(net, batch, caffe, options):
    """A row for each program that trains the net."""
    avx512, avx2, caffe_rss = caffe
    with tempfile.TemporaryDirectory() as folder:
        model = run_layrub.generate(net, folder, f'--batch={batch}')
        programs = {strategy: lambda strategy=strategy: train(model, strategy, options.iterations)
                    for strategy in options.strategies.split(',')}
        if options.torch:
            description = torch_description(model)
            for name, flags in {**TORCH, **(COMPILED if options.compile else {})}.items():
                programs[name] = lambda flags=flags: train_in_torch(options.torch, description, flags, options.iterations)
        runs = {name: [] for name in programs}
        for number in range(options.rounds):
            for name, run in programs.items():
                print(f'{net}, batch {batch}, round {number + 1} of {options.rounds}: {name}   ', end='\r', file=sys.stderr)
                runs[name].append(run())
    ms = {name: statistics.median(run[0] for run in done) for name, done in runs.items()}
    torch_ms, compiled_ms = (min((ms[name] for name in group if name in ms), default=None) for group in (TORCH, COMPILED))
    rows = []
    for name, done in runs.items():
        planned = mib(done[0][2]) if done[0][2] else ''
        spread = f'{min(run[0] for run in done):,.0f} to {max(run[0] for run in done):,.0f}'
        ratios = [f'{ms[name] / of:.2f}' if of else '' for of in (torch_ms, compiled_ms)]
        rows.append([net, str(batch), name, f'{ms[name]:,.0f}', spread, *ratios, f'{avx512:,}' + (f' ({avx2:,})' if avx2 else ''),
                     planned, mib(max(run[1] for run in done)), f'{caffe_rss:,}'])
    return rows


def main():
    nets = ', '.join(f'{net}:{batch}' for net, batch, *_ in NETS)
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('nets', nargs='*', metavar='NET[:BATCH]', help='by default all: ' + nets)
    parser.add_argument('--rounds', type=int, default=5, help='processes of each program')
    parser.add_argument('--iterations', type=int, default=5, help='iterations of a process to measure, after a first one')
    parser.add_argument('--strategies', default='keep,hybrid', help='comma list of STRATEGY or STRATEGY@SIZE')
    parser.add_argument('--torch', metavar='PYTHON', help='a Python that has PyTorch; empty: without')
    parser.add_argument('--compile', action='store_true', help='PyTorch also by torch.compile')
    options = parser.parse_args()
    unknown = set(options.nets).difference(*(names(net, batch) for net, batch, *_ in NETS))
    if unknown or options.iterations < 2 or options.rounds < 1:
        sys.exit(f'bench_cpu.py: nets are {nets}; iterations are 2 or more, rounds 1 or more')
    if options.torch is None:
        options.torch = sys.executable if has_torch(sys.executable) else ''
    elif options.torch and not has_torch(options.torch):
        sys.exit(f'bench_cpu.py: --torch={options.torch} has no PyTorch: install it there, or give --torch=')
    rows = []
    for net, batch, *caffe in NETS:
        if not options.nets or names(net, batch) & set(options.nets):
            rows += rows_of(net, batch, caffe, options)
    print(processor() + '\n')
    print(table(['net', 'batch', 'program', 'ms an iteration', 'of the rounds', 'of PyTorch', 'of compiled', 'Caffe, ms',
                 'planned, MiB', 'process, MiB', 'Caffe, process, MiB'], rows))


if __name__ == '__main__':
    main()
