#!/usr/bin/env python3
"""Checks and measures the program on a GPU, piece by piece, and collects the results in a JSON file and a Markdown
table.

  tools/gpu/gpu_check.sh --quick --out=results    what matters most, within nine minutes
  tools/gpu/gpu_check.sh                          all pieces
  tools/gpu/gpu_check.sh --only=tests,bits        some of them; results of the others in the file stay
  tools/gpu/gpu_check.sh --only=resnet50_b32 --gpu=1 --out=results/h200.json

Pieces: versions (of driver, CUDA and its libraries), copies (bandwidth to pinned memory: up, down, both ways at once),
tests (every test program, on the GPU; --quick: those of core, kernels and layers), sanitizer (some of them under
compute-sanitizer), bits (each strategy trains mini nets to the same bits as no plan; ResNet-50 under hybrid and in
little memory), steps (times of ResNet-50 beside PyTorch's), kernels (our own beside those of cuDNN), and nets: step
time and device memory under keep, hybrid and auto within 12 GB, and within 1.1 times the floor besides context and
libraries. Of the memory, *counted* is plan, pool, context and libraries; *taken at most* is the most that was in use
whenever the program asked the driver, and the driver's view is what nvidia-smi reported meanwhile.

Each piece has its share of time, plus what earlier pieces have left. If something fails, crashes or hangs, its row says
so and the next row runs; rows for which there was no time are listed as missing. Everything is saved after each row,
with the output of at most six failed rows in files next to it. The exit code is 1 if anything fails or there was too
little time.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../python'))
import gpu_device
import gpu_pieces
import run_layrub
from gpu_table import markdown
from script import BadInput, run_script, write_whole

# Seconds of each piece of the quick check. With start and end of the check they are less than 540.
QUICK = {'versions': 15, 'copies': 25, 'tests': 150, 'sanitizer': 60, 'bits': 110, 'steps': 165}
FULL = [name for name in gpu_pieces.PIECES if name not in ('lenet', 'resnet18')]
MOST_LOGS = 6
LOG_BYTES = 64 << 10


class Check:
    """One run of this script: the device, the time left to the current piece, and where results go."""

    def __init__(self, options, clock=time.monotonic):
        """`clock` returns seconds; the check begins now."""
        self.options, self.clock = options, clock
        self.begin = self.end = clock()
        self.device = [] if options.cpu else [f'--gpu={options.gpu}']
        self.memory_mib = 0
        self.versions = {}
        self.environment = dict(os.environ)  # as it was at the start: PyTorch has its own libraries
        self.folder = tempfile.mkdtemp(prefix='gpu_check.')
        self.notes = {}  # results that several pieces share
        self.stopping = False

    def left(self, limit=None):
        """Seconds that a command may take: the time left to the piece, in the quick check at most `limit`."""
        left = max(0.01, self.end - self.clock())
        return min(left, limit) if limit and self.options.quick else left

    def run(self, *arguments, limit=None, on_line=None):
        """Runs the program. If it takes longer than the piece may, or than `limit` seconds, stops it and raises
        subprocess.TimeoutExpired."""
        return run_layrub.run(*arguments, timeout=self.left(limit), on_line=on_line)


class Piece:
    """The rows of a piece, and its missing rows. Several threads may call its methods."""

    def __init__(self, check, name, result, save):
        self.check, self.name, self.save = check, name, save
        self.lock = threading.Lock()
        self.found = {'ok': False, 'complete': False, 'seconds': 0, 'rows': [], 'missing': []}
        self.late = False
        result['pieces'][name] = self.found

    def row(self, row, log=''):
        """Adds a row; `log` is the output of a failed one."""
        with self.lock:
            if self.check.stopping:
                return
            row['message'] = ' '.join(row.get('message', '').split())[:400]
            self.found['rows'].append(row)
            print(f'  {"ok" if row["ok"] else "FAILED":6} {row["name"]}  {row["message"]}'.rstrip(), flush=True)
            self.save(None if row['ok'] or not log else f'{self.name}_{row["name"]}', log)

    def failed(self, name, message, log=''):
        self.row({'name': name, 'ok': False, 'message': message}, log)

    def missing(self, what, late=False):
        """Notes that a row is missing, and why. `late`: there was too little time."""
        with self.lock:
            if self.check.stopping:
                return
            self.late |= late
            self.found['missing'].append(what)
            print(f'  missing {what}', flush=True)
            self.save()

    def work(self, job):
        left = max(0, self.check.end - self.check.clock())
        if left < job.least:
            self.missing(f'{job.name}: there were {left:.0f} s left for it, and it needs {job.least:.0f}', late=True)
            return
        try:
            job.run(self)
        except gpu_pieces.Missing as reason:
            self.missing(f'{job.name}: {reason}')
        except subprocess.TimeoutExpired as late:
            self.failed(job.name, f'took too long and was stopped after {late.timeout:.0f} s',
                        f'{late.output or ""}\n{late.stderr or ""}')
        except (Exception, SystemExit) as error:  # pylint: disable=broad-except
            self.failed(job.name, f'{type(error).__name__}: {error}', traceback.format_exc())

    def run(self):
        """Runs the piece's jobs, as many at a time as the piece allows."""
        begin = self.check.clock()
        piece = gpu_pieces.PIECES[self.name]
        try:
            jobs = piece.jobs(self.check)
        except (Exception, SystemExit) as error:  # pylint: disable=broad-except
            self.failed(self.name, f'{type(error).__name__}: {error}', traceback.format_exc())
            jobs = []
        with concurrent.futures.ThreadPoolExecutor(max_workers=piece.workers) as pool:
            try:
                list(pool.map(self.work, jobs))
            except BaseException:  # Ctrl-C
                self.check.stopping = True
                pool.shutdown(wait=False, cancel_futures=True)
                run_layrub.stop_all()
                raise
        rows = self.found['rows']
        self.found.update(complete=not self.late, seconds=round(self.check.clock() - begin, 1),
                          ok=not self.late and all(row['ok'] for row in rows) and bool(rows or self.found['missing']))
        self.save()


def run_check(check, shares, result, save):
    """Runs the pieces. `shares`: name -> seconds; a piece must end when its share and those of earlier pieces are used
    up."""
    for name in shares:
        result['pieces'][name] = {'ok': False, 'complete': False, 'seconds': 0, 'rows': [], 'missing': ['not begun']}
    save()
    check.end = check.clock()
    for name, seconds in shares.items():
        check.end += seconds
        print(f'{name}:', flush=True)
        Piece(check, name, result, save).run()
        result['seconds'] = round(check.clock() - check.begin, 1)
        save()


class Output:
    """The JSON file, the table beside it, and the logs of failed rows."""

    def __init__(self, out):
        whole = out.endswith('.json')
        self.folder = os.path.dirname(out) or '.' if whole else out
        self.path = out if whole else os.path.join(out, 'gpu_check.json')
        os.makedirs(self.folder, exist_ok=True)

    def load(self, device, made_of):
        """Loads the results of an earlier run from the file, to add to them."""
        if not os.path.exists(self.path):
            return {'device': device, 'commit': made_of, 'pieces': {}}
        try:
            with open(self.path, encoding='utf-8') as file:
                result = json.load(file)
            other = result['device'], result['commit']
        except (ValueError, LookupError, TypeError) as error:
            raise BadInput(f'{self.path} is no result of this script; name another place with --out') from error
        if other != (device, made_of):
            raise BadInput(f'{self.path} holds results of {other[0].get("name")}, commit {other[1]}; name another place '
                           'with --out')
        return result

    def save(self, result):
        write_whole(self.path, json.dumps(result, indent=1))
        write_whole(os.path.splitext(self.path)[0] + '.md', markdown(result))

    def log(self, name, text):
        """Writes the end of a row's output to a file, unless there are enough such files."""
        file = re.sub(r'[^\w.-]+', '_', name, flags=re.ASCII)[:80] + '.log'
        there = {entry for entry in os.listdir(self.folder) if entry.endswith('.log')}
        if len(there | {file}) <= MOST_LOGS:
            write_whole(os.path.join(self.folder, file), text[-LOG_BYTES:])


def commit():
    try:
        with open(os.path.join(run_layrub.ROOT, 'COMMIT'), encoding='utf-8') as file:
            return file.read().strip()
    except OSError:
        pass
    try:
        done = subprocess.run(['git', '-C', run_layrub.ROOT, 'describe', '--always', '--dirty'], text=True,
                              capture_output=True, check=False)
        return done.stdout.strip() or 'unknown'
    except OSError:
        return 'unknown'


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true', help='what matters most: ' + ', '.join(
        f'{name} {seconds} s' for name, seconds in QUICK.items()))
    parser.add_argument('--only', help='pieces, separated by commas: ' + ', '.join(gpu_pieces.PIECES))
    parser.add_argument('--out', default='gpu_check.json', help='the JSON file to write or to add to, or a folder for it')
    parser.add_argument('--gpu', type=int, default=0, help='the device')
    parser.add_argument('--iterations', type=int, default=11, help='to train in each run of a net')
    parser.add_argument('--limit', type=float, default=480, help='seconds for each piece, unless --quick')
    parser.add_argument('--cpu', action='store_true', help='without a GPU, to try this script')
    parser.add_argument('--tiny', action='store_true', help='small nets instead of ResNet-50: to try this script')
    parser.add_argument('--patience', type=float, default=60, help='seconds for each test program, after which it hangs')
    options = parser.parse_args()
    table = QUICK if options.quick else dict.fromkeys(FULL, options.limit)
    names = options.only.split(',') if options.only else list(table)
    for name in names:
        if name not in gpu_pieces.PIECES:
            parser.error(f'there is no piece {name}; there are {", ".join(gpu_pieces.PIECES)}')
    return options, {name: table.get(name, options.limit) for name in names}


def end_on_signal(number, _):
    raise SystemExit(128 + number)


def main():
    options, shares = arguments()
    signal.signal(signal.SIGTERM, end_on_signal)
    check = Check(options)
    failures = []

    def save(log_name=None, log=''):
        """Saves the results. If a file cannot be written, the check goes on and fails at its end, because its printed
        output is useful, too."""
        try:
            if log_name:
                output.log(log_name, log)
            output.save(result)
            failures.clear()
        except OSError as error:
            failures[:] = [error]

    try:
        output = Output(options.out)
        device = gpu_device.describe(check)
        result = output.load(device, commit())
        output.save(result)
        run_check(check, shares, result, save)
    finally:
        run_layrub.stop_all()
        shutil.rmtree(check.folder, ignore_errors=True)
    print(f'\n{markdown(result)}\nWritten to {output.path}; {result["seconds"]:.0f} s in all')
    if failures:
        raise failures[0]
    return 0 if all(result['pieces'][name]['ok'] for name in shares) else 1


if __name__ == '__main__':
    run_script(main)
