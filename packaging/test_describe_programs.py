#!/usr/bin/env python3
"""Man pages and completion, made of what the programs say."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPT = os.path.join(ROOT, 'packaging', 'describe_programs.py')
BIN = os.environ.get('LAYRUB_BIN_DIR', os.path.join(ROOT, 'build', 'bin'))
PROGRAMS = ['layrub', 'convert_imageset', 'convert_annoset', 'compute_image_mean', 'extract_features',
            'upgrade_net_proto_text', 'upgrade_net_proto_binary', 'upgrade_solver_proto_text']


@unittest.skipUnless(os.path.exists(SCRIPT), 'the bundle has no packaging/')
class DescribePrograms(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, *arguments, code=0):
        done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stderr

    def test_each_flag_of_help_is_in_the_page_and_the_page_renders(self):
        self.make('man', BIN, self.folder, *PROGRAMS)
        for name in PROGRAMS:
            path = os.path.join(self.folder, name + '.1')
            with open(path, encoding='utf-8') as file:
                page = file.read().replace('\\-', '-')
            program = os.path.join(BIN, name)
            words = [[]]
            if name == 'layrub':
                words += [[command] for command in ('train', 'test', 'time', 'plan', 'draw', 'diff', 'device_query')]
            for command in words:
                said = subprocess.run([program, *command, '--help'], capture_output=True, text=True, check=True).stdout
                for flag in re.findall(r'^  (--\w+)', said, re.MULTILINE):
                    self.assertIn(flag, page, name)
            if shutil.which('groff'):
                done = subprocess.run(['groff', '-man', '-ww', '-z', path], capture_output=True, text=True, check=False)
                self.assertEqual((0, ''), (done.returncode, done.stderr))
            else:
                print(f'no groff here: {name}.1 was not rendered')

    def test_a_missing_program_is_named(self):
        self.assertIn('nothing_such', self.make('man', BIN, self.folder, 'nothing_such', code=1))

    def complete(self, *words):
        """What bash offers for the last word; it takes "=" for a word of its own."""
        script = os.path.join(self.folder, 'layrub.bash')
        if not os.path.exists(script):
            self.make('completion', BIN, script)
        done = subprocess.run(['bash', '-c', 'source "$1"; shift; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                               '_layrub; printf "%s\\n" "${COMPREPLY[@]}"', 'bash', script, *words],
                              capture_output=True, text=True, check=True, cwd=self.folder)
        self.assertEqual('', done.stderr)
        return done.stdout.split()

    def test_bash_completes_commands_flags_and_values(self):
        self.assertEqual(['train', 'test', 'time'], self.complete('layrub', 't'))
        self.assertEqual(['--device_memory='], self.complete('layrub', 'train', '--dev'))
        self.assertEqual(['--synthetic'], self.complete('layrub', 'plan', '--syn'))
        self.assertEqual(['hybrid'], self.complete('layrub', 'train', '--placement', '=', 'hy'))
        self.assertEqual(['text', 'json'], self.complete('layrub', 'plan', '--format', '='))
        self.assertIn('k40', self.complete('caffe', 'plan', '--machine', '=', 'k'))
        self.assertIn('all', self.complete('layrub', 'train', '--gpu', '='))
        open(os.path.join(self.folder, 'some.prototxt'), 'w').close()
        for command, flag in (('train', '--solver'), ('test', '--weights'), ('plan', '--model')):
            self.assertEqual(['some.prototxt'], self.complete('layrub', command, flag, '=', 'so'))
        self.assertEqual(['some.prototxt'], self.complete('layrub', 'diff', 'so'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
