#!/usr/bin/env python3
"""Checks and measures the program on a GPU, piece by piece, and collects all in one JSON file and a Markdown table.

  scripts/gpu_check.sh                          all pieces
  scripts/gpu_check.sh --only=tests,bits        some of them; what the file already holds of the others stays
  scripts/gpu_check.sh --only=resnet50_b32 --gpu=1 --out=results/h200.json

Pieces: tests (every test program, on the GPU), bits (each strategy trains mini nets to the same bits as keep), copies
(bandwidth to pinned memory: up, down, both ways at once), kernels (our own beside those of cuDNN), and nets: step time
and device memory under keep, hybrid and auto within 12 GB, and within 1.1 times the floor besides context and libraries.
Of the memory, *counted* is plan, pool, context and libraries; *taken at most* is what was gone of the device at the
fullest moment that the program looked at, and the driver's view what nvidia-smi saw beside it. Each piece ends within --limit seconds; what it had no
time for is listed as missing. The exit code is 1 if anything fails.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import run_layrub
from run_layrub import MIB, ROOT
from script import write_whole

CARD_12GB = 11_580_000_000  # bytes of a K40M with 12 GB that a program can have
# Name -> (name of generate_model.py, batch, other flags). The two smallest are for trying this script.
NETS = {
    'lenet': ('lenet', 64, ['--data_shape=1,28,28']), 'resnet18': ('resnet18', 4, []),
    'alexnet': ('alexnet', 128, []), 'vgg16': ('vgg16', 64, []), 'googlenet': ('googlenet', 128, []),
    'resnet50_b32': ('resnet50', 32, []), 'resnet50_b128': ('resnet50', 128, []), 'resnet152': ('resnet152', 32, []),
    'resnet1001': ('resnet1001', 32, []), 'resnet1517': ('resnet1517', 32, []),
}
MINI_NETS = ['lenet', 'mini_resnet', 'mini_googlenet', 'mini_alexnet', 'mini_fcn', 'recurrent']
DEFAULT_PIECES = ['tests', 'bits', 'copies', 'kernels', *[net for net in NETS if net not in ('lenet', 'resnet18')]]


class OutOfTime(Exception):
    pass


class Check:
    """One run of this script: the device, and how long the piece at work may still take."""

    def __init__(self, options):
        self.options = options
        self.device = [] if options.cpu else [f'--gpu={options.gpu}']
        self.end = 0.0

    def start(self):
        self.end = time.monotonic() + self.options.limit

    def left(self):
        seconds = self.end - time.monotonic()
        if seconds <= 0:
            raise OutOfTime
        return seconds

    def run(self, *arguments):
        """Runs the program; one that outlasts the piece is stopped."""
        try:
            return run_layrub.run(*arguments, timeout=self.left())
        except subprocess.TimeoutExpired as late:
            raise OutOfTime from late


def last_line(text):
    return (text.strip().splitlines() or ['no message'])[-1]


# ---------------------------------------------------------------- the device


def query(fields, gpu):
    """What nvidia-smi answers, a list; empty without it."""
    try:
        said = subprocess.run(['nvidia-smi', f'--query-gpu={fields}', '--format=csv,noheader,nounits', f'--id={gpu}'],
                              text=True, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [part.strip() for part in said.stdout.strip().split(',')]


def describe(options):
    if options.cpu:
        return {'name': 'cpu', 'driver': 'none', 'memory_mib': 0}
    said = query('name,driver_version,memory.total', options.gpu)
    if len(said) != 3:
        sys.exit('gpu_check: nvidia-smi shows no GPU here; --cpu tries this script without one')
    return {'name': said[0], 'driver': said[1], 'memory_mib': int(said[2])}


def commit():
    try:
        with open(os.path.join(ROOT, 'COMMIT'), encoding='utf-8') as file:
            return file.read().strip()
    except OSError:
        done = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], text=True, capture_output=True,
                              check=False)
        return done.stdout.strip() or 'unknown'


class DeviceMemory:
    """The most memory in use on the device, beyond what was in use before, as the driver tells."""

    def __init__(self, options):
        self.options = options
        self.most = self.before = self.used()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def used(self):
        said = [] if self.options.cpu else query('memory.used', self.options.gpu)
        return int(said[0]) if said else None

    def watch(self):
        while not self.stop.wait(0.2):
            used = self.used()
            if used is not None:
                self.most = max(self.most or 0, used)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def mib(self):
        return None if self.before is None else self.most - self.before


# ---------------------------------------------------------------- pieces: each gives rows, which say whether they are ok


def test_programs(pattern):
    return sorted(glob.glob(os.path.join(ROOT, 'tests', pattern)) or glob.glob(os.path.join(run_layrub.BIN, pattern)))


def run_test(check, program, **environment):
    """Runs a test program on the device; TimeoutExpired if the piece's time is up before it ends."""
    launch = os.path.join(ROOT, 'bin', 'launch')
    command = [launch, 'tests/' + os.path.basename(program)] if os.path.exists(launch) else [program]
    device = 'cpu' if check.options.cpu else f'cuda:{check.options.gpu}'
    environment = dict(os.environ, LAYRUB_SOURCE_DIR=ROOT, LAYRUB_TEST_DEVICE=device, **environment)
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True,
                              timeout=max(1.0, check.end - time.monotonic()), check=False)


def tests(check):
    """Every test program, several at a time."""
    def one(program):
        try:
            done = run_test(check, program)
        except subprocess.TimeoutExpired:
            return {'name': os.path.basename(program), 'ok': False, 'message': 'out of time'}
        lines = done.stdout.splitlines()
        failed = sorted({line.split()[3].rstrip(',') for line in lines if line.startswith('[  FAILED  ]') and '.' in line})
        # Without a device a program skips all of its tests and ends well.
        no_device = next((line for line in lines if 'Cannot use a GPU' in line), '')
        return {'name': os.path.basename(program), 'ok': done.returncode == 0 and not no_device,
                'skipped': sum(line.startswith('[  SKIPPED ]') for line in lines) // 2,
                'message': no_device or ('' if done.returncode == 0 else '; '.join(failed) or last_line(done.stderr))}

    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        for row in pool.map(one, test_programs('test_*')):
            yield row


def kernels(check):
    """Times of our kernels and of cuDNN's, as the test that compares them tells."""
    with tempfile.TemporaryDirectory() as folder:
        times = os.path.join(folder, 'times')
        for program in test_programs('test_cudnn_kernels'):
            try:
                done = run_test(check, program, LAYRUB_KERNEL_TIMES=times)
            except subprocess.TimeoutExpired as late:
                raise OutOfTime from late
            skipped = '[  SKIPPED ]' in done.stdout or 'Cannot use a GPU' in done.stdout
            yield {'name': 'agreement with cuDNN', 'ok': done.returncode == 0 and (check.options.cpu or not skipped),
                   'message': 'skipped: no GPU or no cuDNN' if skipped else ''}
            if os.path.exists(times):
                with open(times, encoding='utf-8') as file:
                    for line in file:
                        yield {'ok': True, 'message': '', **json.loads(line)}


def write_solver(folder, model, iterations):
    path = os.path.join(folder, 'solver.prototxt')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'net: "{model}" base_lr: 0.01 momentum: 0.9 weight_decay: 0.001 lr_policy: "fixed" '
                   f'max_iter: {iterations} snapshot_after_train: false random_seed: 1701\n')
    return path


def on_device(check, model):
    """What no plan of the net goes below on the checked device, where libraries want a workspace too, and what a budget
    leaves to the context and libraries there; zeros: it fails."""
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, 'summary.json')
        done = check.run('train', f'--solver={write_solver(folder, model, 1)}', '--placement=keep', '--deterministic',
                         f'--json_summary={summary}', *check.device)
        if done.code != 0:
            return 0, 0
        with open(summary, encoding='utf-8') as file:
            said = json.load(file)
        return said['floor_bytes'], said['device_overhead_bytes'] or 0


def bits(check):
    """Training under each strategy and without a plan, compared bit by bit; auto also in little memory. By the
    algorithms that are fastest here: each net is measured first."""
    for net in MINI_NETS:
        model = os.path.join(ROOT, 'src/caffe/net/test/nets', net + '.prototxt')
        with tempfile.TemporaryDirectory() as folder:
            done = check.run('time', f'--model={model}', '--iterations=3',
                             f'--profile={os.path.join(folder, "machine.json")}', *check.device)
        if done.code != 0:
            yield {'name': f'{net}, measured', 'ok': False, 'message': last_line(done.err)}
        floor = run_layrub.plan(model, 'keep')[0]['floor_bytes']
        least = sum(on_device(check, model))
        for strategy in [*run_layrub.strategies(), 'auto 1.2']:
            name, _, factor = strategy.partition(' ')
            budget = [f'--device_memory={least + int((float(factor) - 1) * floor)}'] if factor else []
            with tempfile.TemporaryDirectory() as folder:
                done = check.run('train', f'--solver={write_solver(folder, model, 3)}', f'--placement={name}', *budget,
                                 '--deterministic', '--verify_placement=3', *check.device)
            yield {'name': f'{net}, {strategy}', 'ok': done.code == 0, 'message': last_line(done.out + done.err)}


def copies(check):
    """Rates of copies between device and host memory, as the program measures them."""
    model = os.path.join(ROOT, 'src/caffe/net/test/nets/lenet.prototxt')
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, 'machine.json')
        done = check.run('time', f'--model={model}', f'--profile={profile}', '--iterations=5', *check.device)
        row = {'name': 'copies', 'ok': done.code == 0, 'message': '' if done.code == 0 else last_line(done.err)}
        if done.code == 0:
            with open(profile, encoding='utf-8') as file:
                machine = json.load(file)
            row.update({name: machine[name] for name in ('link_down', 'link_up', 'link_both', 'latency')})
        yield row


def train(check, model, placement, budget, overhead, flags):
    """A row: what a training of few iterations took, or why there was none. A plan that is made without the device has
    `overhead` bytes less than the device's budget."""
    row = {'name': placement + (f', {budget / MIB:,.0f} MiB' if budget else ''), 'ok': True, 'message': ''}
    limit = [f'--device_memory={budget}'] if budget else []
    planned = run_layrub.run('plan', f'--model={model}', f'--placement={placement}', '--format=json', *flags,
                             *([f'--device_memory={budget - overhead}'] if budget else []))
    if planned.code == 0:
        row['planned_bytes'] = json.loads(planned.out)['device_peak_bytes']
        room = check.options.memory_mib * MIB
        if room and row['planned_bytes'] > room:
            return {**row, 'message': 'needs more than the device has'}
    else:
        return {**row, 'message': last_line(planned.err)}
    with tempfile.TemporaryDirectory() as folder, DeviceMemory(check.options) as memory:
        summary = os.path.join(folder, 'summary.json')
        done = check.run('train', f'--solver={write_solver(folder, model, check.options.iterations)}', '--synthetic',
                         f'--placement={placement}', f'--json_summary={summary}', *flags, *limit, *check.device)
        if done.code != 0:
            return {**row, 'ok': False, 'message': last_line(done.err)}
        with open(summary, encoding='utf-8') as file:
            said = json.load(file)
    for key in ('iteration_seconds', 'predicted_seconds', 'planned_device_bytes', 'other_processes_bytes', 'context_bytes',
                'library_bytes', 'counted_device_bytes', 'device_peak_measured_bytes', 'host_bytes', 'bytes_offloaded'):
        row[key] = said.get(key)
    return {**row, 'driver_mib': memory.mib(), 'process_mib': done.rss_bytes / MIB}


def net(check, name):
    """A net under keep, hybrid and auto within two budgets, planned with measured times where it can be measured."""
    generated, batch, flags = NETS[name]
    with tempfile.TemporaryDirectory() as folder:
        model = run_layrub.generate(generated, folder, f'--batch={batch}')
        profile = os.path.join(folder, 'machine.json')
        if check.run('time', f'--model={model}', '--synthetic', '--iterations=5', f'--profile={profile}', *flags,
                     *check.device).code == 0:
            flags = [*flags, f'--machine={profile}']
        said = json.loads(run_layrub.run_or_exit('plan', f'--model={model}', '--placement=hybrid', '--format=json',
                                                 *flags).out)
        overhead = on_device(check, os.path.join(ROOT, 'src/caffe/net/test/nets/lenet.prototxt'))[1]
        tight = int(1.1 * said['floor_bytes']) + overhead
        budgets = [('keep', 0), ('hybrid', 0), ('auto', CARD_12GB), ('auto', tight)]
        for placement, budget in budgets:
            yield {**train(check, model, placement, budget, overhead, flags), 'floor_bytes': said['floor_bytes']}


# ---------------------------------------------------------------- running pieces and telling of them


def run_piece(check, name):
    """The rows that a piece gave before its time was up, and whether all is well."""
    functions = {'tests': tests, 'bits': bits, 'copies': copies, 'kernels': kernels}
    check.start()
    begin = time.monotonic()
    rows, complete = [], True
    try:
        for row in functions[name](check) if name in functions else net(check, name):
            rows.append(row)
            mark = 'ok' if row['ok'] else 'FAILED'
            print(f'  {mark:6} {row["name"]}  {row["message"]}'.rstrip(), flush=True)
    except OutOfTime:
        complete = False
        print('  out of time', flush=True)
    return {'ok': complete and bool(rows) and all(row['ok'] for row in rows), 'complete': complete,
            'seconds': round(time.monotonic() - begin, 1), 'rows': rows}


def number(value, unit=1.0, digits=0):
    return '' if value is None else f'{value / unit:,.{digits}f}'


def table(columns, rows):
    lines = ['| ' + ' | '.join(columns) + ' |', '|---|' + '---:|' * (len(columns) - 1)]
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows]) + '\n'


def markdown(result):
    device = result['device']
    text = [f'# {device["name"]}, driver {device["driver"]}, commit {result["commit"]}\n']
    nets = []
    for name, piece in result['pieces'].items():
        rows = piece['rows']
        if name in NETS:
            nets += [[name, row['name'], number(row.get('iteration_seconds'), 1e-3, 1),
                      number(row.get('predicted_seconds'), 1e-3, 1), number(row.get('floor_bytes'), MIB),
                      number(row.get('planned_device_bytes') or row.get('planned_bytes'), MIB),
                      number(row.get('counted_device_bytes'), MIB), number(row.get('device_peak_measured_bytes'), MIB),
                      number(row.get('driver_mib')), number(row.get('host_bytes'), MIB),
                      row['message'].replace('|', '/')] for row in rows]
            continue
        good = sum(row['ok'] for row in rows)
        text.append(f'**{name}**: {good} of {len(rows)} are well' + ('' if piece['complete'] else '; out of time') +
                    f' ({piece["seconds"]:.0f} s)\n')
        text += [f'- FAILED {row["name"]}: {row["message"]}\n' for row in rows if not row['ok']]
        if name == 'copies' and 'link_down' in (rows or [{}])[0]:
            text.append('GB/s: ' + ', '.join(f'{what} {rows[0][key] / 1e9:.1f}' for what, key in (
                ('to the host', 'link_down'), ('back', 'link_up'), ('both at once', 'link_both'))) + '\n')
    timed = [row for row in result['pieces'].get('kernels', {'rows': []})['rows'] if 'ours_ms' in row]
    if timed:
        text.append(table(['kernel', 'ours, ms', 'cuDNN, ms'],
                          [[row['name'], number(row['ours_ms'], digits=3), number(row['cudnn_ms'] or None, digits=3)]
                           for row in timed]))
    if nets:
        text.append(table(['net', 'placement', 'step, ms', 'predicted, ms', 'floor, MiB', 'planned, MiB', 'counted, MiB',
                           'taken at most, MiB', "driver's view, MiB", 'host, MiB', 'remark'], nets))
    return '\n'.join(text)


def load(path, device, made_of):
    """What the file holds of an earlier run, to be added to."""
    if not os.path.exists(path):
        return {'device': device, 'commit': made_of, 'pieces': {}}
    with open(path, encoding='utf-8') as file:
        result = json.load(file)
    if (result['device'], result['commit']) != (device, made_of):
        sys.exit(f'gpu_check: {path} holds results of {result["device"]["name"]}, commit {result["commit"]}; '
                 'name another file with --out')
    return result


def save(path, result):
    """The JSON file, and the table beside it."""
    write_whole(path, json.dumps(result, indent=1))
    write_whole(os.path.splitext(path)[0] + '.md', markdown(result))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default=','.join(DEFAULT_PIECES), help='pieces, separated by commas: tests, bits, '
                        'copies, kernels, ' + ', '.join(NETS))
    parser.add_argument('--out', default='gpu_check.json', help='the file to write, or to add to')
    parser.add_argument('--gpu', type=int, default=0, help='the device')
    parser.add_argument('--iterations', type=int, default=11, help='to train in each run of a net')
    parser.add_argument('--limit', type=float, default=480, help='seconds for each piece')
    parser.add_argument('--cpu', action='store_true', help='without a GPU, to try this script')
    options = parser.parse_args()
    pieces = options.only.split(',')
    for name in pieces:
        if name not in NETS and name not in ('tests', 'bits', 'copies', 'kernels'):
            parser.error(f'there is no piece {name}; there are tests, bits, copies, kernels, {", ".join(NETS)}')
    device = describe(options)
    options.memory_mib = device['memory_mib']
    result = load(options.out, device, commit())
    check = Check(options)
    for name in pieces:
        print(f'{name}:', flush=True)
        result['pieces'][name] = run_piece(check, name)
        save(options.out, result)
    print(f'\n{markdown(result)}\nWritten to {options.out}')
    return 0 if all(piece['ok'] for piece in result['pieces'].values()) else 1


if __name__ == '__main__':
    sys.exit(main())
