"""The device that gpu_check.py checks: what it is, where CUDA's libraries are, and how much of its memory is in use."""

import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../python'))
import run_layrub
from run_layrub import ROOT, last_line

LAUNCH = os.path.join(ROOT, 'bin', 'launch')  # of a bundle


def query(fields, gpu):
    """The answer of nvidia-smi as a list; empty without nvidia-smi."""
    try:
        said = subprocess.run(['nvidia-smi', f'--query-gpu={fields}', '--format=csv,noheader,nounits', f'--id={gpu}'],
                              text=True, capture_output=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return []
    return [part.strip() for part in said.stdout.strip().split(',')]


def ask_libraries(gpu):
    """The output of gpu_libraries.py, incomplete if it crashed; in a bundle also the missing libraries."""
    script = os.path.join(ROOT, 'tools/gpu/gpu_libraries.py')
    command = [LAUNCH, os.path.relpath(script, ROOT)] if os.path.exists(LAUNCH) else [sys.executable, script]
    try:
        done = run_layrub.run_command([*command, str(gpu)], timeout=20)
        out, problem = done.out, last_line(done.err) if done.code != 0 else ''
    except subprocess.TimeoutExpired as late:
        out, problem = late.output, 'the driver or one of the libraries does not answer'
    said = {}
    for line in out.splitlines():
        try:
            said.update(json.loads(line))
        except ValueError:
            problem = problem or f'gpu_libraries.py said: {line}'
    return {**said, 'problem': problem}


def ask_program(check):
    """(name, MiB of memory) as the program reports them; empty and 0 without a GPU."""
    try:
        said = run_layrub.run('device_query', *check.device, timeout=30)
    except subprocess.TimeoutExpired:
        return '', 0
    found = re.search(r'Device \d+: (.+)\n\s*memory: ([\d.]+) (.)iB', said.out)
    return (found[1], int(float(found[2]) * {'K': 2 ** -10, 'M': 1, 'G': 2 ** 10, 'T': 2 ** 20}[found[3]])) if found else ('', 0)


def describe(check):
    """Describes the device. Also sets its memory, and lets later programs find CUDA's libraries."""
    options = check.options
    check.versions = said = ask_libraries(options.gpu)
    if said.get('folders'):
        os.environ['LD_LIBRARY_PATH'] = said['folders']
    if options.cpu:
        return {'name': 'cpu', 'driver': 'none', 'memory_mib': 0}
    told = query('name,driver_version,memory.total', options.gpu)
    name, driver, memory = told if len(told) == 3 and told[2].isdigit() else (
        said.get('name'), said.get('driver') or 'unknown', said.get('memory_mib'))
    if not name or not memory:
        name, memory = ask_program(check)
    if not name:
        sys.exit(f'gpu_check: no GPU is to be seen here, neither by nvidia-smi, nor by the driver, nor by layrub '
                 f'device_query{": " + said["problem"] if said["problem"] else ""}; --cpu tries this script without one')
    check.memory_mib = int(memory)
    return {'name': name, 'driver': driver, 'memory_mib': check.memory_mib}


class DeviceMemory:
    """The most memory in use on the device according to the driver, less what was in use before."""

    def __init__(self, options):
        self.options = options
        self.most = self.before = self.used()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def used(self):
        said = [] if self.options.cpu else query('memory.used', self.options.gpu)
        return int(said[0]) if said and said[0].isdigit() else None

    def watch(self):
        while self.before is not None and not self.stop.wait(0.2):
            used = self.used()
            if used is not None:
                self.most = max(self.most, used)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def mib(self):
        return None if self.before is None else self.most - self.before
