"""The pieces of gpu_check.py. Each is a list of jobs. A job adds rows, which say whether they are ok, or notes missing
ones."""

import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Callable

for folder in ('../python', '../../bench'):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), folder))
import run_layrub
from bench_cpu import torch_description
from gpu_device import LAUNCH, DeviceMemory
from run_layrub import MIB, ROOT, last_line

CARD_12GB = 11_580_000_000  # bytes of a K40M with 12 GB that a program can use
# Name -> (name of generate_model.py, batch, other flags). The two smallest are for testing this script.
NETS = {
    'lenet': ('lenet', 64, ['--data_shape=1,28,28']), 'resnet18': ('resnet18', 4, []),
    'alexnet': ('alexnet', 128, []), 'vgg16': ('vgg16', 64, []), 'googlenet': ('googlenet', 128, []),
    'resnet50_b32': ('resnet50', 32, []), 'resnet50_b128': ('resnet50', 128, []), 'resnet152': ('resnet152', 32, []),
    'resnet1001': ('resnet1001', 32, []), 'resnet1517': ('resnet1517', 32, []),
}
MINI_NETS = ['mini_resnet', 'lenet', 'mini_googlenet', 'mini_alexnet', 'mini_fcn', 'recurrent']
# Precision of products -> flags of layrub.
PRECISIONS = {'fp32': ['--tf32=off'], 'TF32': ['--tf32=all']}
SANITIZED = ['test_batch_norm_layer', 'test_softmax_layers', 'test_solver_update']


class Missing(Exception):
    """Something that a job needs is missing."""


@dataclass
class Job:
    """A part of a piece. `run` is called with the Piece and adds rows to it; it may raise any exception. The job is not
    started with less than `least` seconds left."""
    name: str
    run: Callable
    least: float = 2


@dataclass
class Kind:
    """A piece: its jobs, made by a function of the Check, and how many of them run at a time."""
    jobs: Callable
    workers: int = 1


def sized_net(check, batch):
    """(Name, batch, flags) of the net that is timed; a small one to test the script."""
    return ('lenet', batch // 8, ['--data_shape=1,28,28']) if check.options.tiny else ('resnet50', batch, [])


def versions(check):
    def tell(piece):
        said = check.versions
        names = {'driver': 'driver', 'cuda_driver': "driver's CUDA", 'cuda_runtime': 'CUDA runtime', 'cublas': 'cuBLAS',
                 'cudnn': 'cuDNN', 'nccl': 'NCCL'}
        message = ', '.join(f'{name} {said.get(key) or "not found"}' for key, name in names.items())
        piece.row({'name': 'versions', 'ok': not said['problem'], 'message': f'{said["problem"]} {message}',
                   **{key: said.get(key) for key in names}})
    return [Job('versions', tell, least=0)]  # it only reports


# ---------------------------------------------------------------- test programs


def test_programs(pattern):
    return sorted(glob.glob(os.path.join(ROOT, 'tests', pattern)) or glob.glob(os.path.join(run_layrub.BIN, pattern)))


def device_tests():
    """Names of the test programs of core, kernels and layers. In a bundle, a file lists them."""
    listed = os.path.join(ROOT, 'tests', 'of_devices')
    if os.path.exists(listed):
        with open(listed, encoding='utf-8') as file:
            return file.read().split()
    sources = [path for part in ('core', 'kernels', 'layers')
               for path in glob.glob(os.path.join(ROOT, 'src/caffe', part, '**/test/test_*.cpp'), recursive=True)]
    return sorted(os.path.basename(path)[:-4] for path in sources)


def run_test(check, command, **environment):
    """Runs a test program on the device."""
    device = 'cpu' if check.options.cpu else f'cuda:{check.options.gpu}'
    environment = dict(os.environ, LAYRUB_SOURCE_DIR=ROOT, LAYRUB_BIN_DIR=run_layrub.BIN, LAYRUB_TEST_DEVICE=device,
                       **environment)
    with tempfile.TemporaryDirectory() as folder:
        return run_layrub.run_command(command, timeout=check.left(check.options.patience),
                                      cwd=folder, env=environment)


def test_outcome(done):
    """(ok, message, how many tests were skipped)"""
    lines = done.out.splitlines()
    failed = sorted({line.split()[3].rstrip(',') for line in lines if line.startswith('[  FAILED  ]') and '.' in line})
    # Without a device a program skips all of its tests and succeeds.
    no_device = next((line for line in lines if 'Cannot use a GPU' in line or 'skipped: no device' in line), '')
    message = no_device or ('' if done.code == 0 else '; '.join(failed) or
                            f'exit code {done.code}: {last_line(done.err or done.out)}')
    return done.code == 0 and not no_device, message, sum(line.startswith('[  SKIPPED ]') for line in lines) // 2


def tests(check):
    """Runs every test program; in the quick check, those of core, kernels and layers."""
    def job(program):
        def run(piece):
            done = run_test(check, [program])
            ok, message, skipped = test_outcome(done)
            piece.row({'name': os.path.basename(program), 'ok': ok, 'skipped': skipped, 'seconds': round(done.seconds, 1),
                       'message': message}, done.out + done.err)
        return Job(os.path.basename(program), run, least=1)

    programs = test_programs('test_*')
    if not check.options.quick:
        return [job(program) for program in programs]
    wanted = device_tests()
    there = [program for program in programs if os.path.basename(program) in wanted]
    absent = len(wanted) - len(there)

    def tell_absent(piece):
        if not there:
            piece.failed('test programs', 'none is there: build them, or take a whole bundle')
        raise Missing(f'not there; they are listed in {"tests/of_devices" if os.path.exists(LAUNCH) else "src/caffe"}')
    jobs = [job(program) for program in there]
    return jobs + ([Job(f'{absent} of {len(wanted)} test programs', tell_absent, least=0)] if absent else [])


def sanitizer(check):
    """Runs test programs under compute-sanitizer, which finds invalid accesses and races."""
    found = shutil.which('compute-sanitizer') or next(iter(sorted(glob.glob('/usr/local/cuda*/bin/compute-sanitizer'))), None)
    reason = ('it is for GPUs' if check.options.cpu else '' if found else
              'it is neither in PATH nor in /usr/local/cuda*/bin')

    def absent(_):
        raise Missing(reason)

    def job(tool, name):
        def run(piece):
            program = next(iter(test_programs(name)), None)
            if not program:
                raise Missing('the test program is not there')
            done = run_test(check, [found, f'--tool={tool}', '--error-exitcode=86', '--report-api-errors=no', program])
            ok, message, _ = test_outcome(done)
            said = re.findall(r'^=+ +(?!COMPUTE-SANITIZER)(\S.*)', done.out + done.err, re.MULTILINE)
            piece.row({'name': f'{tool}, {name}', 'ok': ok, 'message': (said[0] if done.code == 86 and said else message) or
                       ''.join(said[-1:])}, done.out + done.err)
        return Job(f'{tool}, {name}', run, least=5)
    return [Job('compute-sanitizer', absent, least=0)] if reason else [
        job(tool, name) for tool in ('memcheck', 'racecheck') for name in SANITIZED]


def kernels(check):
    """Times of Layrub's kernels and of cuDNN's, from the test that compares them."""
    def run(piece):
        with tempfile.TemporaryDirectory() as folder:
            times = os.path.join(folder, 'times')
            program = next(iter(test_programs('test_cudnn_kernels')), None)
            if not program:
                raise Missing('test_cudnn_kernels is not there')
            done = run_test(check, [program], LAYRUB_KERNEL_TIMES=times)
            skipped = '[  SKIPPED ]' in done.out or 'Cannot use a GPU' in done.out
            piece.row({'name': 'agreement with cuDNN', 'ok': done.code == 0 and (check.options.cpu or not skipped),
                       'message': 'skipped: no GPU or no cuDNN' if skipped else ''}, done.out + done.err)
            if os.path.exists(times):
                with open(times, encoding='utf-8') as file:
                    for line in file:
                        piece.row({'ok': True, 'message': '', **json.loads(line)})
    return [Job('kernels', run)]


# ---------------------------------------------------------------- training


def write_solver(folder, model, iterations):
    path = os.path.join(folder, 'solver.prototxt')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'net: "{model}" base_lr: 0.01 momentum: 0.9 weight_decay: 0.001 lr_policy: "fixed" '
                   f'max_iter: {iterations} snapshot_after_train: false random_seed: 1701\n')
    return path


def once(check, key, make):
    """The result of make(), which is called once in a check."""
    if key not in check.notes:
        check.notes[key] = make()
    return check.notes[key]


def generated(check, name, batch):
    return once(check, ('net', name, batch), lambda: run_layrub.generate(
        name, os.path.join(check.folder, f'{name}_{batch}'), f'--batch={batch}'))


def measured(check, piece, model, flags):
    """Profiles the net and returns `flags` with the profile, so that training uses the fastest algorithms. If it cannot
    be measured, adds a row and returns `flags`."""
    def measure():
        profile = os.path.join(check.folder, f'machine{len(check.notes)}.json')
        name = f'{"/".join(model.split(os.sep)[-2:])} measured'
        try:
            done = check.run('time', f'--model={model}', '--iterations=3', f'--profile={profile}', *flags, *check.device,
                             limit=60)
        except subprocess.TimeoutExpired as late:
            piece.failed(name, f'took too long and was stopped after {late.timeout:.0f} s', late.stderr)
            return []
        if done.code == 0:
            return [f'--machine={profile}']
        piece.failed(name, last_line(done.err), done.err)
        return []
    return once(check, ('measured', model, *flags), measure)


def verify(check, piece, name, solver, wanted, flags, limit):
    """Trains under each placement and without a plan, all in one process, and adds a row for each: whether the bits are
    the same. If the process crashes or hangs, the current placement has failed, and the next ones get a new process."""
    rest, alone = list(wanted), ''

    def tell(line):
        item, _, said = (alone + line).partition(': ')
        if item in rest:
            rest.remove(item)
            piece.row({'name': f'{name}, {item}', 'ok': said.startswith('Placement verified'), 'message': said}, said)

    while rest:
        # with several, the program prints the name itself
        alone = f'{rest[0]}: ' if len(rest) == 1 and ':' not in rest[0] else ''
        try:
            done = check.run('train', f'--solver={solver}', f'--placement={",".join(rest)}', '--deterministic',
                             '--verify_placement=3', *flags, *check.device, limit=limit, on_line=tell)
            log, message = done.out + done.err, f'exit code {done.code}: {last_line(done.err)}'
            for line in done.err.splitlines():
                if line.startswith('layrub: '):
                    tell(line.removeprefix('layrub: '))
        except subprocess.TimeoutExpired as late:
            log, message = late.output + late.stderr, f'took too long and was stopped after {late.timeout:.0f} s'
        if rest:
            piece.failed(f'{name}, {rest.pop(0)}', message, log)
        if rest and check.end - check.clock() < 5:
            piece.missing(f'{name}, {", ".join(rest)}: there was no time left', late=True)
            return


def bits(check):
    """Compares training under each strategy, also in little memory, bit by bit with training without a plan. Each net
    is measured first, so that the fastest algorithms run."""
    def job(name, model, wanted, flags, limit, least):
        def run(piece):
            path = model()
            measured(check, piece, path, flags)
            with tempfile.TemporaryDirectory() as folder:
                verify(check, piece, name, write_solver(folder, path, 3), wanted(), flags, limit)
        return Job(name, run, least)

    def mini(net):
        return job(net, lambda: os.path.join(ROOT, 'src/caffe/net/test/nets', net + '.prototxt'),
                   lambda: [*run_layrub.strategies(), 'auto:1.2'], [], 80, least=10)
    net, batch, flags = sized_net(check, 32)
    jobs = [mini(name) for name in (MINI_NETS[:1] if check.options.quick else MINI_NETS)]
    jobs.insert(1, job(f'{net}, batch {batch}', lambda: generated(check, net, batch), lambda: ['hybrid', 'auto:1.1'],
                       ['--synthetic', *flags], 90, least=20))
    return jobs


def copies(check):
    """Rates of copies between device and host memory, measured by the program."""
    def run(piece):
        model = os.path.join(ROOT, 'src/caffe/net/test/nets/lenet.prototxt')
        profile = os.path.join(check.folder, 'copies.json')
        done = check.run('time', f'--model={model}', f'--profile={profile}', '--iterations=5', *check.device, limit=60)
        if done.code != 0:
            piece.failed('copies', last_line(done.err), done.err)
            return
        with open(profile, encoding='utf-8') as file:
            machine = json.load(file)
        piece.row({'name': 'copies', 'ok': True,
                   **{name: machine[name] for name in ('link_down', 'link_up', 'link_both', 'latency')}})
    return [Job('copies', run)]


MEASURES = ('iteration_seconds', 'predicted_seconds', 'planned_device_bytes', 'other_processes_bytes', 'context_bytes',
            'library_bytes', 'counted_device_bytes', 'device_peak_measured_bytes', 'host_bytes', 'bytes_offloaded')


def train(check, model, *flags):
    """Trains a few iterations. Returns (outcome, summary)."""
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, 'summary.json')
        done = check.run('train', f'--solver={write_solver(folder, model, check.options.iterations)}', '--synthetic',
                         f'--json_summary={summary}', *flags, *check.device, limit=60)
        if done.code != 0:
            return done, {}
        with open(summary, encoding='utf-8') as file:
            said = json.load(file)
    return done, {key: said.get(key) for key in MEASURES + ('device_overhead_bytes',)}


def steps(check):
    """Times of an iteration of a net at two batch sizes and in both precisions, compared with PyTorch."""
    def ours(net, batch, flags, precision, placement, graphs=True):
        program = placement if graphs else f'{placement} without graphs'

        def run(piece):
            model = generated(check, net, batch)
            all_flags = [*flags, *PRECISIONS[precision]]
            machine = measured(check, piece, model, ['--synthetic', *all_flags])
            done, said = train(check, model, f'--placement={placement}', *([] if graphs else ['--debug=no_cuda_graphs']),
                               *all_flags, *machine)
            piece.row({'name': f'{net}, batch {batch}, {precision}, {program}', 'ok': done.code == 0, 'net': net,
                       'batch': batch, 'program': program, 'precision': precision, **said,
                       'message': '' if done.code == 0 else last_line(done.err)}, done.err)
        return Job(f'{net}, batch {batch}, {precision}, {program}', run, least=15)

    def torch(net, batch):
        def run(piece):
            if not importlib.util.find_spec('torch'):
                raise Missing(f'this Python ({sys.executable}) has no PyTorch')
            description = torch_description(generated(check, net, batch), [1, 28, 28] if check.options.tiny else None)
            with tempfile.TemporaryFile('w+') as file:
                file.write(description)
                file.seek(0)
                told = []

                def tell(line):
                    said = json.loads(line)
                    precision = list(PRECISIONS)[said['tf32']]
                    told.append(precision)
                    piece.row({'name': f'{net}, batch {batch}, {precision}, PyTorch', 'ok': True, 'net': net, 'batch': batch,
                               'program': 'PyTorch', 'precision': precision, 'torch': said['torch'],
                               'iteration_seconds': sorted(said['seconds'])[len(said['seconds']) // 2],
                               'device_peak_measured_bytes': said['device_bytes']})
                done = run_layrub.run_command(
                    [sys.executable, os.path.join(ROOT, 'bench/torch_net.py'), f'--iterations={check.options.iterations}',
                     '--tf32=off,on', f'--device={"cpu" if check.options.cpu else f"cuda:{check.options.gpu}"}'],
                    check.left(90), tell, stdin=file, env=check.environment)
            if done.code != 0 or len(told) < 2:
                piece.failed(f'{net}, batch {batch}, PyTorch', f'exit code {done.code}: {last_line(done.err)}', done.err)
        return Job(f'{net}, batch {batch}, PyTorch', run, least=15)

    jobs = []
    for size in (32, 128):
        net, batch, flags = sized_net(check, size)
        jobs += [ours(net, batch, flags, precision, placement) for precision in PRECISIONS
                 for placement in ('keep', 'hybrid')]
        jobs.append(torch(net, batch))
    net, batch, flags = sized_net(check, 32)
    return [*jobs, ours(net, batch, flags, 'TF32', 'keep', graphs=False)]


def net_rows(check, name):
    """Trains a net under keep, under hybrid and under auto within two budgets, with measured times if it can be
    measured."""
    net, batch, flags = NETS[name]

    def job(placement, label, budget):
        """budget(floor, bytes of context and libraries) returns bytes; 0: no budget"""
        def run(piece):
            model = generated(check, net, batch)
            lenet = os.path.join(ROOT, 'src/caffe/net/test/nets/lenet.prototxt')
            overhead = once(check, 'overhead',
                            lambda: train(check, lenet, '--placement=keep')[1].get('device_overhead_bytes') or 0)
            all_flags = [*flags, *measured(check, piece, model, ['--synthetic', *flags])]
            floor = json.loads(plan(check, model, 'hybrid', *all_flags).out)['floor_bytes']
            row, log = net_row(check, model, placement, budget(floor, overhead), overhead, all_flags)
            piece.row({**row, 'floor_bytes': floor}, log)
        return Job(placement + label, run)

    return [job('keep', '', lambda *_: 0), job('hybrid', '', lambda *_: 0), job('auto', ', 12 GB', lambda *_: CARD_12GB),
            job('auto', ', tight', lambda floor, overhead: int(1.1 * floor) + overhead)]


def plan(check, model, placement, *flags):
    return run_layrub.run('plan', f'--model={model}', f'--placement={placement}', '--format=json', *flags,
                          timeout=check.left())


def net_row(check, model, placement, budget, overhead, flags):
    """Returns (row with the results of a training or the reason why it failed, log). A plan that is made without the
    device gets `overhead` bytes less than the device's budget."""
    row = {'name': placement + (f', {budget / MIB:,.0f} MiB' if budget else ''), 'ok': True, 'message': ''}
    planned = plan(check, model, placement, *flags, *([f'--device_memory={budget - overhead}'] if budget else []))
    if planned.code != 0:
        return {**row, 'message': last_line(planned.err)}, ''
    row['planned_bytes'] = json.loads(planned.out)['device_peak_bytes']
    if check.memory_mib and row['planned_bytes'] > check.memory_mib * MIB:
        return {**row, 'message': 'needs more than the device has'}, ''
    with DeviceMemory(check.options) as memory:
        done, said = train(check, model, f'--placement={placement}', *flags,
                           *([f'--device_memory={budget}'] if budget else []))
    if done.code != 0:
        return {**row, 'ok': False, 'message': last_line(done.err)}, done.err
    return {**row, **said, 'driver_mib': memory.mib(), 'process_mib': done.rss_bytes / MIB}, ''


PIECES = {
    'versions': Kind(versions), 'copies': Kind(copies),
    'tests': Kind(tests, workers=max(2, min(8, (os.cpu_count() or 2) // 2))),
    'sanitizer': Kind(sanitizer, workers=3), 'bits': Kind(bits), 'steps': Kind(steps), 'kernels': Kind(kernels),
    **{name: Kind(lambda check, name=name: net_rows(check, name)) for name in NETS},
}
