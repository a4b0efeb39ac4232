"""Runs the program for benchmarks and tests: it lies in the folder that LAYRUB_BIN_DIR names, by
default in bin/ of a bundle, build/bin of a source tree."""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(SCRIPTS)
BUNDLED = os.path.join(ROOT, 'bin')
BIN = os.environ.get('LAYRUB_BIN_DIR', BUNDLED if os.path.isdir(BUNDLED) else os.path.join(ROOT, 'build', 'bin'))
MIB = 2.0 ** 20


@dataclass
class Done:
    """How a command ended, and what it took."""
    code: int
    out: str
    err: str
    seconds: float
    cpu_seconds: float
    rss_bytes: int  # at its largest


def run(*arguments, timeout=None):
    """Runs layrub in a folder where it may leave its logs. Raises subprocess.TimeoutExpired after so many seconds."""
    program = os.path.join(BIN, 'layrub')
    if not os.path.exists(program):
        sys.exit(f'{program} is not there: build it (make), or name the folder of the programs in LAYRUB_BIN_DIR')
    with tempfile.TemporaryDirectory() as logs, tempfile.TemporaryFile('w+') as out, \
            tempfile.TemporaryFile('w+') as err:
        begin = time.monotonic()
        with subprocess.Popen([program, *arguments], stdout=out, stderr=err,
                              env=dict(os.environ, GLOG_log_dir=logs)) as process:
            late = threading.Timer(timeout or threading.TIMEOUT_MAX, process.kill)
            late.daemon = True
            late.start()
            _, status, usage = os.wait4(process.pid, 0)
            late.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        if timeout and seconds >= timeout:
            raise subprocess.TimeoutExpired(['layrub', *arguments], timeout)
        out.seek(0)
        err.seek(0)
        return Done(process.returncode, out.read(), err.read(), seconds, usage.ru_utime + usage.ru_stime,
                    usage.ru_maxrss * 1024)


def run_or_exit(*arguments):
    """The same; ends this program with the message of one that fails."""
    done = run(*arguments)
    if done.code != 0:
        last = (done.err.strip().splitlines() or ['no message'])[-1]
        sys.exit(f'layrub {" ".join(arguments)}: exit code {done.code}: {last}')
    return done


def strategies():
    """The names that the program itself lists."""
    said = run('plan', f'--model={ROOT}/models/resnet18/train_val.prototxt', '--placement=?').err
    return re.search(r'there are ([\w, ]+)', said).group(1).split(', ')


def generate(name, folder, *arguments):
    """Writes train_val.prototxt of a model into `folder`; returns its path."""
    subprocess.run([sys.executable, os.path.join(SCRIPTS, 'generate_model.py'), name, f'--out={folder}', *arguments],
                   check=True)
    return os.path.join(folder, 'train_val.prototxt')


def plan(model, strategy, *arguments):
    """(what `layrub plan` says of the net in the file `model`, how it ran)"""
    done = run_or_exit('plan', f'--model={model}', f'--placement={strategy}', '--format=json', *arguments)
    return json.loads(done.out), done
