#!/usr/bin/env python3
"""Prints the time that building and testing take, by target and by label, from the logs of ninja and ctest.

  ci/cost.py build build-tsan build-asan     prints the tables
  ci/cost.py --limits=ci/cost.json build     also fails if a folder exceeds its limit by 10 %
  ci/cost.py --write=ci/cost.json build      writes limits: the present times

Seconds are sums over jobs; if there are as many jobs as cores, they are processor seconds. As machines differ, limits
are in units of the time to compile caffe.pb.cc: in the first folder's build, or now on each core, whichever is longer.
--write adds a margin for the difference of two runs (NOISE). If an increase is justified, write new limits in a commit
that gives the reason. Logs must be of one complete build and test run. Files that ccache had count with the time that
they took."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
from script import BadInput, read_text, run_script

RULER = 'caffe.pb.cc'
TEST_LOG = 'Testing/Temporary/LastTest.log'
NOISE = {'compile': 1.2, 'test': 1.6}  # tests also wait, for disks and for their turn
ROWS = 15


def compile_seconds(folder):
    """Output -> seconds of its last build."""
    seconds = {}
    for line in read_text(os.path.join(folder, '.ninja_log')).splitlines()[1:]:
        begin, end, _, output, _ = line.split('\t')
        seconds[output] = (int(end) - int(begin)) / 1000
    return seconds


def target_of(output):
    found = re.search(r'CMakeFiles/([^/]+)\.dir/', output)
    return found[1] if found else 'links and generated files'


def test_seconds(folder):
    """ctest entry -> seconds in the last run; empty if there was no run."""
    path = os.path.join(folder, TEST_LOG)
    if not os.path.exists(path):
        return {}
    text = read_text(path)
    names = re.findall(r'^\d+/\d+ Test: (\S+)$', text, re.M)
    times = re.findall(r'^Test time = +([\d.]+) sec$', text, re.M)
    if len(names) != len(times):
        raise BadInput(f'{path}: {len(names)} tests began and {len(times)} ended; run ctest again')
    return dict(zip(names, map(float, times)))


def labels_of(folder):
    log = os.path.join(folder, TEST_LOG)
    kept = read_text(log)
    shown = subprocess.run(['ctest', '--show-only=json-v1'], cwd=folder, check=True, capture_output=True, text=True).stdout
    with open(log, 'w', encoding='utf-8') as out:  # ctest has started a new log
        out.write(kept)
    labels = {}
    for test in json.loads(shown)['tests']:
        named = [p['value'] for p in test.get('properties', []) if p['name'] == 'LABELS']
        labels[test['name']] = ', '.join(sorted(named[0])) if named else '-'
    return labels


def table(title, seconds):
    print(f'{title}: {sum(seconds.values()):.0f} s')
    for name, value in seconds.most_common(ROWS):
        print(f'  {value:8.1f}  {name}')
    rest = sum(seconds.values()) - sum(value for _, value in seconds.most_common(ROWS))
    if len(seconds) > ROWS:
        print(f'  {rest:8.1f}  ({len(seconds) - ROWS} more)')


def ruler_seconds(folder):
    """Seconds to compile RULER as the folder does, on each core at the same time."""
    path = os.path.join(folder, 'compile_commands.json')
    commands = [entry['command'] for entry in json.loads(read_text(path)) if entry['file'].endswith(RULER)]
    if not commands:
        raise BadInput(f'{path} does not tell of {RULER}')
    with tempfile.TemporaryDirectory() as out:
        begin = time.monotonic()
        jobs = []
        for core in range(os.cpu_count()):
            command = shlex.split(commands[0])
            command[command.index('-o') + 1] = f'{out}/{core}.o'
            jobs.append(subprocess.Popen(command, cwd=folder, env=dict(os.environ, CCACHE_DISABLE='1')))
        for job in jobs:
            if job.wait() != 0:
                raise BadInput(f'{RULER} does not compile')
        return time.monotonic() - begin


def ruler_in_build(folder):
    """Seconds that RULER took in the folder's build, next to other files; 0 if its log does not have it."""
    return max((seconds for output, seconds in compile_seconds(folder).items() if output.endswith(RULER + '.o')), default=0)


def measure(folder, ruler):
    """Prints the folder's tables. Returns the times of compiling and of tests in units of `ruler` seconds."""
    compiled = compile_seconds(folder)
    if not compiled:
        raise BadInput(f'{folder}/.ninja_log is empty: build all of it with ninja')
    by_target = Counter()
    for output, value in compiled.items():
        by_target[target_of(output)] += value
    table(f'{folder}: compiling, by target', by_target)
    tested = test_seconds(folder)
    result = {'compile': sum(compiled.values()) / ruler}
    if tested:
        labels = labels_of(folder)
        by_label = Counter()
        for name, value in tested.items():
            by_label[labels.get(name, '-')] += value
        table(f'{folder}: tests, by label', by_label)
        table(f'{folder}: tests', Counter(tested))
        result['test'] = sum(tested.values()) / ruler
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folders', nargs='+', metavar='BUILD_FOLDER')
    parser.add_argument('--limits', metavar='FILE')
    parser.add_argument('--write', metavar='FILE')
    parser.add_argument('--ruler', metavar='SECONDS', type=float, help=f'what {RULER} takes to compile, if that is known')
    args = parser.parse_args()
    ruler = args.ruler or max(ruler_in_build(args.folders[0]), min(ruler_seconds(args.folders[0]) for _ in range(3)))
    print(f'one unit: {ruler:.1f} s')
    found = {os.path.basename(os.path.normpath(folder)): measure(folder, ruler) for folder in args.folders}
    if args.write:
        with open(args.write, 'w', encoding='utf-8') as out:
            json.dump({name: {key: round(NOISE[key] * value, 1) for key, value in of.items()} for name, of in found.items()}, out, indent=2)
            out.write('\n')
    failed = False
    limits = json.loads(read_text(args.limits)) if args.limits else {}
    for name, of in found.items():
        for key in limits.get(name, {}).keys() - of.keys():
            raise BadInput(f'{name}: its logs do not tell what it takes to {key}, which {args.limits} limits: run its tests')
        for key, value in of.items():
            limit = limits.get(name, {}).get(key)
            verdict = f', of {limit} that it may' if limit else ''
            print(f'{name}: {key} takes {value:.1f} units{verdict}')
            if limit and value > 1.1 * limit:
                failed = True
                print(f'cost: {name} takes {value / limit:.2f} of what {args.limits} lets it take to {key}: make it '
                      'cheaper, or write new limits with --write and say in the commit why they are worth it', file=sys.stderr)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(run_script(main))
