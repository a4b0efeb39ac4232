#!/usr/bin/env python3
"""Tests of tools/gpu/gpu_check.sh: pieces, results in one file, failures, hangs, timeouts and refused arguments.

They run on the CPU, or on GPU 0 if LAYRUB_TEST_DEVICE is cuda; then LAYRUB_CHECK_PRELOAD is the LD_PRELOAD of layrub
and the test programs, such as a library with a fake GPU.
"""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

from command_line import BIN, SOURCE

sys.path.insert(0, os.path.join(SOURCE, 'tools/gpu'))
import gpu_check  # noqa: E402
import gpu_device  # noqa: E402
import gpu_pieces  # noqa: E402

SCRIPT = os.path.join(SOURCE, 'tools/gpu/gpu_check.sh')
GPU = os.environ.get('LAYRUB_TEST_DEVICE') == 'cuda'
PRELOAD = os.environ.get('LAYRUB_CHECK_PRELOAD', '')
PATIENCE = 4  # seconds; scripts that only print take much less


class Programs(unittest.TestCase):
    """A folder for results, and one with programs: the real ones, and fakes that a test adds."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, 'result.json')
        self.bin = os.path.join(self.folder, 'bin')
        os.mkdir(self.bin)
        for name in ('layrub', 'test_blob'):
            self.plant(name, f'LD_PRELOAD="{PRELOAD}" exec {BIN}/{name} "$@"\n')

    def plant(self, name, text):
        with open(os.path.join(self.bin, name), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n' + text)
        os.chmod(file.name, 0o755)

    def command(self, *arguments):
        return [SCRIPT, *([] if GPU else ['--cpu']), f'--out={self.out}', *arguments]

    def check(self, *arguments, **environment):
        return subprocess.run(self.command(*arguments), text=True, capture_output=True, check=False,
                              env=dict(os.environ, XDG_CACHE_HOME=self.folder, LAYRUB_BIN_DIR=self.bin, **environment))

    def result(self):
        with open(self.out, encoding='utf-8') as file:
            return json.load(file)


class GpuCheck(Programs):

    def test_results_of_several_runs_are_collected_in_one_file_and_a_table(self):
        self.plant('test_cudnn_kernels', f'LD_PRELOAD="{PRELOAD}" exec {BIN}/test_cudnn_kernels "$@"\n')
        for piece in ('copies', 'kernels', 'lenet'):
            done = self.check(f'--only={piece}', '--iterations=3')
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        pieces = self.result()['pieces']
        self.assertEqual(list(pieces), ['copies', 'kernels', 'lenet'])
        self.assertTrue(all(piece['ok'] for piece in pieces.values()), pieces)
        self.assertGreater(pieces['copies']['rows'][0]['link_down'], 0)
        runs = pieces['lenet']['rows']
        self.assertEqual([run['name'].split(',')[0] for run in runs], ['keep', 'hybrid', 'auto', 'auto'])
        self.assertTrue(all(run['iteration_seconds'] > 0 for run in runs), runs)
        self.assertLessEqual(runs[3]['planned_device_bytes'], 1.1 * runs[3]['floor_bytes'])
        with open(self.out.replace('.json', '.md'), encoding='utf-8') as table:
            self.assertIn('| lenet | hybrid |', table.read())

    def test_a_piece_that_takes_too_long_is_ended_and_reported(self):
        done = self.check('--only=lenet', '--limit=0.01')
        self.assertEqual(done.returncode, 1)
        self.assertIn('missing hybrid: there were 0 s left for it', done.stdout)
        self.assertFalse(self.result()['pieces']['lenet']['complete'])

    def test_an_unknown_piece_is_named(self):
        done = self.check('--only=lenet,alexnot')
        self.assertEqual(done.returncode, 2)
        self.assertIn('alexnot', done.stderr)

    def test_results_of_other_devices_are_not_mixed_and_other_files_not_overwritten(self):
        for there in (json.dumps({'device': {'name': 'other'}, 'commit': 'x', 'pieces': {}}), '{"device":', '[]'):
            with open(self.out, 'w', encoding='utf-8') as file:
                file.write(there)
            done = self.check('--only=copies')
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r'^gpu_check\.py: .*--out\n$')
            with open(self.out, encoding='utf-8') as file:
                self.assertEqual(file.read(), there)


class Quick(Programs):
    """The quick check with small nets and little time, with some failing programs."""

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, 'out')
        self.hanging = os.path.join(self.folder, 'hanging')
        self.plant('test_blob', '[ -n "$LAYRUB_TEST_DEVICE" ] && echo "[  SKIPPED ] one (0 ms)"\n')
        self.plant('test_filler', 'echo "[  FAILED  ] Filler.IsPlanted, where T = float"; exit 1\n')
        self.plant('test_gemm', 'echo last words >&2; kill -SEGV $$\n')
        self.plant('test_layer', f'echo $$ > {self.hanging}; echo it hangs; exec sleep 600\n')

    def result(self):
        with open(os.path.join(self.out, 'gpu_check.json'), encoding='utf-8') as file:
            return json.load(file)

    def hangs_no_longer(self):
        with open(self.hanging, encoding='utf-8') as file:
            number = int(file.read())
        for _ in range(50):
            try:
                os.kill(number, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.1)
        return False

    def test_each_phase_runs_whatever_fails_or_hangs_before_it(self):
        done = self.check('--quick', '--tiny', '--iterations=3', f'--patience={PATIENCE}')
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertTrue(self.hangs_no_longer())
        result = self.result()
        pieces = result['pieces']
        self.assertEqual(list(pieces), ['versions', 'copies', 'tests', 'sanitizer', 'bits', 'steps'])
        self.assertEqual({name: piece['ok'] for name, piece in pieces.items() if name != 'sanitizer'},
                         {'versions': True, 'copies': True, 'tests': False, 'bits': True, 'steps': True}, done.stdout)

        tests = {row['name']: row for row in pieces['tests']['rows']}
        self.assertEqual({name: row['ok'] for name, row in tests.items()},
                         {'test_blob': True, 'test_filler': False, 'test_gemm': False, 'test_layer': False})
        self.assertEqual(tests['test_filler']['message'], 'Filler.IsPlanted')
        self.assertEqual(tests['test_gemm']['message'], 'exit code -11: last words')
        self.assertEqual(tests['test_layer']['message'], f'took too long and was stopped after {PATIENCE} s')
        self.assertRegex(pieces['tests']['missing'][0], r'^\d+ of \d+ test programs: not there')
        self.assertEqual(sorted(os.listdir(self.out)), ['gpu_check.json', 'gpu_check.md', 'tests_test_filler.log',
                                                        'tests_test_gemm.log', 'tests_test_layer.log'])
        with open(os.path.join(self.out, 'tests_test_layer.log'), encoding='utf-8') as log:
            self.assertIn('it hangs', log.read())

        compared = [row['name'] for row in pieces['bits']['rows']]
        self.assertEqual(compared, [f'mini_resnet, {name}' for name in gpu_pieces.run_layrub.strategies()] +
                         ['mini_resnet, auto:1.2', 'lenet, batch 4, hybrid', 'lenet, batch 4, auto:1.1'])
        times = [row for row in pieces['steps']['rows'] if row['program'] != 'PyTorch']
        self.assertEqual([(row['batch'], row['precision'], row['program']) for row in times],
                         [(batch, precision, program) for batch in (4, 16) for precision in ('fp32', 'TF32')
                          for program in ('keep', 'hybrid')] + [(4, 'TF32', 'keep without graphs')])
        self.assertTrue(all(row['iteration_seconds'] > 0 for row in times), times)
        others = [row for row in pieces['steps']['rows'] if row['program'] == 'PyTorch'] + pieces['steps']['missing']
        self.assertTrue(others and all('PyTorch' in str(other) for other in others), others)

        with open(os.path.join(self.out, 'gpu_check.md'), encoding='utf-8') as file:
            table = file.read()
        self.assertIn(table, done.stdout)
        self.assertIn('- FAILED test_layer: took too long', table)
        self.assertIn('- missing ', table)
        self.assertRegex(table, r'\| lenet, batch 16 \| TF32 \| hybrid \| [\d.,]+ \|')
        self.assertRegex(done.stdout, r'Written to \S+/gpu_check.json; \d+ s in all\n$')

    def test_results_so_far_are_kept_if_the_check_is_interrupted(self):
        with subprocess.Popen(self.command('--quick', '--tiny'), stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, XDG_CACHE_HOME=self.folder, LAYRUB_BIN_DIR=self.bin)) as check:
            for line in check.stdout:
                if 'test_gemm' in line:
                    break
            while check.poll() is None and not os.path.exists(self.hanging):
                time.sleep(0.05)
            check.send_signal(signal.SIGTERM)
            check.stdout.read()
            self.assertEqual(check.wait(timeout=60), 128 + signal.SIGTERM)
        pieces = self.result()['pieces']
        self.assertTrue(pieces['versions']['ok'] and pieces['copies']['ok'], pieces)
        self.assertIn('test_gemm', [row['name'] for row in pieces['tests']['rows']])
        self.assertNotIn('test_layer', [row['name'] for row in pieces['tests']['rows']])
        self.assertFalse(pieces['tests']['complete'])
        self.assertEqual(pieces['steps']['missing'], ['not begun'])
        self.assertTrue(self.hangs_no_longer())

    def test_a_check_without_any_test_program_fails(self):
        for name in ('test_blob', 'test_filler', 'test_gemm', 'test_layer'):
            os.remove(os.path.join(self.bin, name))
        done = self.check('--quick', '--tiny', '--only=tests')
        self.assertEqual(done.returncode, 1)
        self.assertIn('FAILED test programs  none is there', done.stdout)

    def test_after_a_strategy_that_crashes_the_others_are_still_compared(self):
        self.plant('layrub', f'''
case "$*" in *--verify_placement*) ;; *) LD_PRELOAD="{PRELOAD}" exec {BIN}/layrub "$@" ;; esac
for word; do case $word in --placement=*) list=${{word#--placement=}} ;; esac; done
case $list in
*,*) echo "${{list%%,*}}: Placement verified: 3 iterations bit-equal"; echo "layrub: it went wrong" >&2; kill -SEGV $$ ;;
*:*) echo "$list: Placement differs: iteration 1, the loss"; exit 1 ;;
*) echo "layrub: no memory" >&2; exit 2 ;;
esac
''')
        done = self.check('--quick', '--tiny', '--only=bits')
        rows = self.result()['pieces']['bits']['rows']
        strategies = [f'mini_resnet, {name}' for name in [*gpu_pieces.run_layrub.strategies(), 'auto:1.2']]
        self.assertEqual([row['name'] for row in rows[:len(strategies)]], strategies, done.stdout)
        self.assertEqual([row['ok'] for row in rows[:len(strategies)]],
                         [number % 2 == 0 for number in range(len(strategies))], done.stdout)
        self.assertEqual(rows[1]['message'], 'exit code -11: layrub: it went wrong')
        self.assertEqual([row['ok'] for row in rows[len(strategies):]], [True, False])


class OnADevice(Programs):
    """Pieces for GPUs only, with fake programs that act as if there were a GPU."""

    def setUp(self):
        super().setUp()
        self.plant('layrub', 'printf "Device 0: NVIDIA Invented 9\\n  memory: 8.0 GiB, free 7.0 GiB\\n"\n')
        for name in gpu_pieces.SANITIZED:
            self.plant(name, '[ "$LAYRUB_TEST_DEVICE" = cuda:0 ] && echo fine\n')

    def sanitize(self):
        command = [SCRIPT, '--quick', '--tiny', '--only=versions,sanitizer', f'--out={self.out}']
        done = subprocess.run(command, text=True, capture_output=True, check=False,
                              env=dict(os.environ, XDG_CACHE_HOME=self.folder, LAYRUB_BIN_DIR=self.bin,
                                       PATH=f'{self.bin}:{os.environ["PATH"]}'))
        return self.result()['pieces']['sanitizer'], done

    def test_the_sanitizer_runs_with_two_tools_and_its_findings_are_reported(self):
        self.plant('compute-sanitizer', '''
echo "========= COMPUTE-SANITIZER"
case $1 in *racecheck) echo "========= Error: a race between a read and a write"; echo "=========     in a kernel"; exit 86 ;; esac
for program; do :; done
"$program" || exit
echo "========= ERROR SUMMARY: 0 errors"
''')
        piece, done = self.sanitize()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual({row['name']: (row['ok'], row['message']) for row in piece['rows']},
                         {**{f'memcheck, {name}': (True, 'ERROR SUMMARY: 0 errors') for name in gpu_pieces.SANITIZED},
                          **{f'racecheck, {name}': (False, 'Error: a race between a read and a write')
                             for name in gpu_pieces.SANITIZED}})

    def test_a_missing_sanitizer_is_reported(self):
        if glob.glob('/usr/local/cuda*/bin/compute-sanitizer') or shutil.which('compute-sanitizer'):
            self.skipTest('there is one here')
        piece, done = self.sanitize()
        self.assertEqual((done.returncode, piece['rows']), (0, []), done.stdout + done.stderr)
        self.assertEqual(piece['missing'], ['compute-sanitizer: it is neither in PATH nor in /usr/local/cuda*/bin'])


class Clock:
    """A clock that advances a little at each call."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        self.now += 0.01
        return self.now


class Shares(unittest.TestCase):
    """Shares of time of the pieces, by a clock that jobs advance."""

    def check(self, take, jobs=3, shares=None):
        """Runs a check whose pieces have `jobs` jobs, each of which calls take(check, piece). Returns (result, seconds
        taken, saved states)."""
        clock = Clock()
        options = types.SimpleNamespace(cpu=True, gpu=0, tiny=False, quick=True, patience=60)
        check = gpu_check.Check(options, clock)
        shares = shares or gpu_check.QUICK
        kind = gpu_pieces.Kind(lambda check: [gpu_pieces.Job(f'job {number}', lambda piece: take(check, piece))
                                              for number in range(jobs)])
        result, saved = {'pieces': {}}, []
        pieces = gpu_pieces.PIECES
        gpu_pieces.PIECES = dict.fromkeys(shares, kind)
        self.addCleanup(setattr, gpu_pieces, 'PIECES', pieces)
        with open(os.devnull, 'w', encoding='utf-8') as nowhere:
            out, sys.stdout = sys.stdout, nowhere
            try:
                gpu_check.run_check(check, shares, result, lambda *log: saved.append(json.dumps(result)))
            finally:
                sys.stdout = out
        os.rmdir(check.folder)
        return result, clock.now - check.begin, [json.loads(text) for text in saved]

    def test_the_quick_check_ends_within_540_seconds_if_everything_hangs(self):
        def hang(check, _):
            seconds = check.left()
            check.clock.now += seconds
            raise subprocess.TimeoutExpired('layrub', seconds, 'out', 'err')
        result, seconds, _ = self.check(hang)
        self.assertLess(seconds, 530)
        for name, share in gpu_check.QUICK.items():
            piece = result['pieces'][name]
            self.assertEqual([row['name'] for row in piece['rows']], ['job 0'])
            self.assertRegex(piece['rows'][0]['message'], rf'^took too long and was stopped after {share} s$')
            self.assertEqual(piece['missing'], [f'job {number}: there were 0 s left for it, and it needs 2'
                                                for number in (1, 2)])
            self.assertFalse(piece['ok'] or piece['complete'])
            self.assertAlmostEqual(piece['seconds'], share, delta=1)

    def test_no_command_of_the_quick_check_exceeds_its_limit(self):
        asked = []

        def take(check, piece):
            asked.append((check.left(60), check.left()))
            piece.row({'name': 'x', 'ok': True})
        self.check(take, jobs=1, shares={'tests': 100})
        self.assertEqual(asked[0][0], 60)
        self.assertAlmostEqual(asked[0][1], 100, delta=1)

    def test_a_piece_gets_the_time_that_earlier_ones_have_left(self):
        left = []

        def take(check, piece):
            left.append(check.left())
            check.clock.now += 4
            piece.row({'name': 'x', 'ok': True})
        result, _, _ = self.check(take, jobs=1, shares={'copies': 10, 'tests': 20, 'bits': 30})
        self.assertTrue(all(piece['ok'] for piece in result['pieces'].values()))
        for seconds, wanted in zip(left, (10, 26, 52)):
            self.assertAlmostEqual(seconds, wanted, delta=1)

    def test_an_exception_in_a_row_is_one_line_and_the_next_row_runs(self):
        wrong = [lambda: json.loads('{"seconds": '), lambda: {}['planned\nbytes'], lambda: sys.exit('no program')]

        def take(_, piece):
            if wrong:
                wrong.pop(0)()
            piece.row({'name': 'fine', 'ok': True})
        result, _, saved = self.check(take, jobs=4, shares={'tests': 60})
        rows = result['pieces']['tests']['rows']
        self.assertEqual([(row['name'], row['ok']) for row in rows],
                         [('job 0', False), ('job 1', False), ('job 2', False), ('fine', True)])
        for row, words in zip(rows, ('JSONDecodeError: ', 'KeyError: ', 'SystemExit: no program')):
            self.assertRegex(row['message'], '^' + words)
            self.assertNotIn('\n', row['message'])
        self.assertFalse(result['pieces']['tests']['ok'])
        self.assertEqual([len(state['pieces']['tests']['rows']) for state in saved][:5], [0, 1, 2, 3, 4])


class Device(Programs):
    """The name of the device without nvidia-smi and without a driver."""

    def setUp(self):
        super().setUp()
        if gpu_device.ask_libraries(0).get('name'):
            self.skipTest('a driver names the device at hand')

    def describe(self, text):
        self.plant('layrub', f"printf '%s\\n' '{text}'\n")
        command = 'import types, gpu_check, gpu_device; print(gpu_device.describe(gpu_check.Check(types.SimpleNamespace(' \
                  'cpu=False, gpu=0, tiny=True, quick=True))))'
        return subprocess.run([sys.executable, '-c', command], cwd=os.path.join(SOURCE, 'tools/gpu'), text=True,
                              capture_output=True, check=False, env={'PATH': self.bin, 'LAYRUB_BIN_DIR': self.bin,
                                                                     'TMPDIR': self.folder})

    def test_the_program_names_the_device(self):
        done = self.describe('Device 0: NVIDIA Invented 9\n  memory: 79.5 GiB, free 70.0 GiB\n  copy engines: 3')
        self.assertEqual(done.stdout, "{'name': 'NVIDIA Invented 9', 'driver': 'unknown', 'memory_mib': 81408}\n", done.stderr)

    def test_without_a_device_the_check_says_so_in_one_sentence(self):
        done = self.describe('No GPU: no CUDA-capable device is detected')
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r'^gpu_check: no GPU is to be seen here.*--cpu tries this script without one\n$')


if __name__ == '__main__':
    unittest.main()
