#!/usr/bin/env python3
"""Tests of docker/: what a Dockerfile copies and runs is in the tree. No image is built: that needs a Docker daemon and its
registry."""

import glob
import os
import re
import shutil
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = sorted(glob.glob(os.path.join(ROOT, 'docker', '*', 'Dockerfile')))


def instructions(path):
    """Pairs of an instruction and what follows it; lines that go on are one."""
    with open(path, encoding='utf-8') as file:
        text = re.sub(r'(?m)^#.*\n', '', file.read()).replace('\\\n', ' ')
    return [line.split(None, 1) for line in text.splitlines() if line.strip()]


@unittest.skipUnless(os.path.isdir(os.path.join(ROOT, 'docker')), 'the bundle has no docker/')
class Docker(unittest.TestCase):
    def test_there_is_one_for_the_cpu_and_one_for_gpus(self):
        self.assertEqual([os.path.basename(os.path.dirname(path)) for path in FILES], ['cpu', 'cuda'])

    def test_what_is_copied_is_in_the_tree_and_not_ignored(self):
        with open(os.path.join(ROOT, '.dockerignore'), encoding='utf-8') as file:
            ignored = [line for line in file.read().splitlines() if line and not line.startswith('#')]
        for path in FILES:
            stages = set()
            for name, rest in instructions(path):
                if name == 'FROM':
                    stages.update(re.findall(r' AS (\w+)', rest))
                elif name == 'COPY' and rest.startswith('--from='):
                    self.assertIn(rest.split()[0][len('--from='):], stages)
                elif name == 'COPY':
                    for source in rest.split()[:-1]:
                        self.assertTrue(os.path.exists(os.path.join(ROOT, source)), f'{path}: {source}')
                        self.assertNotIn(source, ignored)

    def test_scripts_that_run_are_there_and_executable(self):
        for path in FILES:
            scripts = [word for name, rest in instructions(path) if name == 'RUN' for word in rest.split()
                       if word.endswith('.sh')]
            self.assertIn('scripts/install_deps.sh', scripts)
            for script in scripts:
                self.assertTrue(os.access(os.path.join(ROOT, script), os.X_OK), script)

    def test_commands_are_of_the_shell(self):
        for path in FILES:
            for name, rest in instructions(path):
                if name == 'RUN':
                    done = subprocess.run(['sh', '-n', '-c', rest], capture_output=True, text=True, check=False)
                    self.assertEqual(done.stderr, '', rest)

    def test_options_of_the_build_are_known(self):
        known = ''
        for name in ('CMakeLists.txt', 'cmake/Options.cmake'):
            with open(os.path.join(ROOT, name), encoding='utf-8') as file:
                known += file.read()
        for path in FILES:
            for name, rest in instructions(path):
                for option in re.findall(r'-D (\w+)=', rest) if name == 'RUN' else ():
                    self.assertRegex(known, rf'(option|set)\({option}\b', path)

    def test_both_have_the_paths_of_caffes_images(self):
        for path in FILES:
            text = instructions(path)
            self.assertIn(['ENV', 'CAFFE_ROOT=/opt/caffe'], text)
            self.assertIn(['ENV', 'PATH=$PATH:/opt/caffe/build/tools'], text)

    def test_dockers_own_check(self):
        docker = shutil.which('docker')
        if not docker or subprocess.run([docker, 'info'], capture_output=True, check=False).returncode:
            self.skipTest('there is no Docker daemon here')
        for path in FILES:
            done = subprocess.run([docker, 'build', '--check', '-f', path, ROOT], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=2)
