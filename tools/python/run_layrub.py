"""Runs the program for benchmarks and tests. It is in the folder that LAYRUB_BIN_DIR names, by default bin/ of a bundle
or build/bin of a source tree."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUNDLED = os.path.join(ROOT, 'bin')
BIN = os.environ.get('LAYRUB_BIN_DIR', BUNDLED if os.path.isdir(BUNDLED) else os.path.join(ROOT, 'build', 'bin'))
MIB = 2.0 ** 20


@dataclass
class Done:
    """The outcome of a command, with its time and memory."""
    code: int
    out: str
    err: str
    seconds: float
    cpu_seconds: float
    rss_bytes: int  # largest size of the process


_running = set()  # process groups
_stopped = threading.Event()


def stop_all():
    """Ends every running command, in all threads, and prevents new ones."""
    _stopped.set()
    for group in list(_running):
        _kill(group)


def _kill(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _written(file, start=0):
    """What a program has written to `file` so far, from byte `start` on."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size - start, start)


def _text(file):
    return _written(file).decode(errors='replace')


def run_command(command, timeout=None, on_line=None, **process):
    """Runs a command, with further arguments of subprocess.Popen. After `timeout` seconds, kills it and all processes
    that it has started and raises subprocess.TimeoutExpired with the output so far. `on_line` is called with each
    complete line of its standard output, soon after it is written."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        ended, status, seen = threading.Event(), [], 0
        if _stopped.is_set():
            raise subprocess.TimeoutExpired(command, 0)
        begin = time.monotonic()
        started = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True, **process)
        _running.add(started.pid)
        if _stopped.is_set():
            _kill(started.pid)

        def wait():
            status.extend(os.wait4(started.pid, 0)[1:])
            status.append(time.monotonic() - begin)
            ended.set()

        def tell():
            nonlocal seen
            *lines, _ = _written(out, seen).split(b'\n')
            seen += sum(len(line) + 1 for line in lines)
            for line in lines:
                on_line(line.decode(errors='replace'))

        # In a thread, because a process that hangs in a driver does not end when it is killed, and this program must
        # not wait for it.
        threading.Thread(target=wait, daemon=True).start()
        try:
            end = begin + (timeout or threading.TIMEOUT_MAX)
            while not ended.wait(min(0.2 if on_line else threading.TIMEOUT_MAX, max(0, end - time.monotonic()))):
                if on_line:
                    tell()
                if time.monotonic() >= end:
                    break
        finally:
            late = not ended.is_set()
            if late:
                _kill(started.pid)
                ended.wait(3)
            _running.discard(started.pid)
            started.returncode = os.waitstatus_to_exitcode(status[0]) if ended.is_set() else -signal.SIGKILL
        if on_line:
            tell()
        if late or _stopped.is_set():
            raise subprocess.TimeoutExpired(command, timeout, _text(out), _text(err))
        usage = status[1]
        return Done(started.returncode, _text(out), _text(err), status[2], usage.ru_utime + usage.ru_stime,
                    usage.ru_maxrss * 1024)


def run(*arguments, timeout=None, on_line=None):
    """Runs layrub as run_command does, with a temporary folder for its logs."""
    program = os.path.join(BIN, 'layrub')
    if not os.path.exists(program):
        sys.exit(f'{program} is not there: build it (make), or name the folder of the programs in LAYRUB_BIN_DIR')
    with tempfile.TemporaryDirectory() as logs:
        return run_command([program, *arguments], timeout, on_line, env=dict(os.environ, GLOG_log_dir=logs))


def last_line(text):
    return (text.strip().splitlines() or ['no message'])[-1]


def run_or_exit(*arguments):
    """The same, but if it fails, exits with its message."""
    done = run(*arguments)
    if done.code != 0:
        sys.exit(f'layrub {" ".join(arguments)}: exit code {done.code}: {last_line(done.err)}')
    return done


def strategies():
    """The names of all strategies, as the program lists them."""
    said = run('plan', f'--model={ROOT}/models/resnet18/train_val.prototxt', '--placement=?').err
    return re.search(r'there are ([\w, ]+)', said).group(1).split(', ')


def generate(name, folder, *arguments):
    """Writes train_val.prototxt of a model into `folder`; returns its path."""
    subprocess.run([sys.executable, os.path.join(ROOT, 'models/zoo/generate_model.py'), name, f'--out={folder}', *arguments],
                   check=True)
    return os.path.join(folder, 'train_val.prototxt')


def plan(model, strategy, *arguments):
    """(the JSON of `layrub plan` for the net in the file `model`, the outcome)"""
    done = run_or_exit('plan', f'--model={model}', f'--placement={strategy}', '--format=json', *arguments)
    return json.loads(done.out), done
