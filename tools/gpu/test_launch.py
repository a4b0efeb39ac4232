#!/usr/bin/env python3
"""Tests of launch.sh: where a bundle's programs find CUDA's libraries."""

import os
import shutil
import subprocess
import tempfile
import unittest

LAUNCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'launch.sh')


def touch(*path):
    name = os.path.join(*path)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, 'w', encoding='utf-8'):
        pass
    return os.path.dirname(name)


class Launch(unittest.TestCase):
    """A bundle of one program, which prints its arguments and the search path of libraries."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.root = os.path.join(self.folder, 'bundle')
        for part in ('bin', 'libexec', 'lib', 'tests'):
            os.makedirs(os.path.join(self.root, part))
        shutil.copy(LAUNCH, os.path.join(self.root, 'bin', 'launch'))
        os.symlink('launch', os.path.join(self.root, 'bin', 'layrub'))
        for program in ('libexec/layrub', 'tests/test_one'):
            with open(os.path.join(self.root, program), 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\necho "$(basename "$0") $* from ${LD_LIBRARY_PATH:-nowhere}"\n')
            os.chmod(os.path.join(self.root, program), 0o755)
        self.need()

    def need(self, *libraries):
        with open(os.path.join(self.root, 'lib/cuda_libraries'), 'w', encoding='utf-8') as file:
            file.write(''.join(library + '\n' for library in libraries))

    def start(self, name, *arguments, **environment):
        clean = {'PATH': os.environ['PATH'], **environment}
        return subprocess.run([os.path.join(self.root, 'bin', name), *arguments], env=clean, text=True,
                              capture_output=True, check=False)

    def test_starts_the_program_of_its_name_with_all_arguments(self):
        done = self.start('layrub', 'train', 'two words')
        self.assertEqual((done.returncode, done.stdout), (0, 'layrub train two words from nowhere\n'), done.stderr)

    def test_starts_any_program_of_the_bundle_by_its_path(self):
        self.assertEqual(self.start('launch', 'tests/test_one', '-x').stdout, 'test_one -x from nowhere\n')

    def test_a_missing_program_is_named(self):
        done = self.start('launch', 'tests/test_two')
        self.assertEqual(done.returncode, 1)
        self.assertIn('tests/test_two', done.stderr)

    def test_libraries_are_taken_from_the_folders_of_the_environment(self):
        self.need('libinvented.so.1')
        place = touch(self.folder, 'my libraries', 'libinvented.so.1')
        done = self.start('layrub', LD_LIBRARY_PATH=f'/nowhere:{place}')
        self.assertEqual(done.stdout, f'layrub  from {place}:/nowhere:{place}\n', done.stderr)

    def test_libraries_are_taken_from_pythons_packages(self):
        self.need('libinvented.so.1', 'libother.so.2')
        one = touch(self.folder, 'site/nvidia/one/lib', 'libinvented.so.1')
        two = touch(self.folder, 'site/nvidia/two/lib', 'libother.so.2')
        done = self.start('layrub', PYTHONPATH=os.path.join(self.folder, 'site'))
        self.assertEqual(done.stdout, f'layrub  from {one}:{two}\n', done.stderr)

    def test_nothing_is_taken_from_the_current_folder(self):
        self.need('libinvented.so.1')
        touch(self.folder, 'here/nvidia/one/lib', 'libinvented.so.1')
        with open(os.path.join(self.folder, 'here/glob.py'), 'w', encoding='utf-8') as file:
            file.write('open("ran", "w").close()\nraise SystemExit\n')
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.join(self.folder, 'here'))
        for environment in ({}, {'LD_LIBRARY_PATH': ':'}, {'PYTHONPATH': ''}):
            self.assertEqual(self.start('layrub', **environment).returncode, 1)
        self.assertEqual(sorted(os.listdir('.')), ['glob.py', 'nvidia'])

    def test_folders_may_have_any_name(self):
        self.need('libinvented.so.1')
        touch(self.folder, 'lib1', 'libinvented.so.1')
        place = touch(self.folder, "it's a $(touch no) lib*", 'libinvented.so.1')
        done = self.start('layrub', LD_LIBRARY_PATH=place)
        self.assertEqual(done.stdout, f'layrub  from {place}:{place}\n', done.stderr)

    def test_libraries_that_the_system_finds_need_no_folder(self):
        self.need('libc.so.6')
        self.assertEqual(self.start('layrub').stdout, 'layrub  from nowhere\n')

    def test_an_optional_library_is_searched_like_the_others_and_may_be_missing(self):
        self.need('libinvented.so.1', 'libother.so.2 optional', 'libmissing.so.3 optional')
        one = touch(self.folder, 'mine', 'libinvented.so.1')
        two = touch(self.folder, 'site/nvidia/two/lib', 'libother.so.2')
        done = self.start('layrub', LD_LIBRARY_PATH=one, PYTHONPATH=os.path.join(self.folder, 'site'))
        self.assertEqual((done.returncode, done.stdout), (0, f'layrub  from {one}:{two}:{one}\n'), done.stderr)

    def test_a_missing_library_is_named_with_the_remedy(self):
        self.need('libinvented.so.1')
        done = self.start('layrub')
        self.assertEqual(done.returncode, 1)
        self.assertIn('libinvented.so.1', done.stderr)
        self.assertIn('LD_LIBRARY_PATH', done.stderr)
        self.assertEqual(done.stdout, '')

    def test_the_remedy_names_the_cuda_version_of_the_bundle(self):
        for version, package in (('12', 'nvidia-cublas-cu12'), ('13', 'nvidia-cublas')):
            self.need('libinvented.so.1', f'libcudart.so.{version}')
            words = self.start('layrub').stderr.split()
            self.assertIn(package, words)
            self.assertIn(f'nvidia-cudnn-cu{version}', words)


if __name__ == '__main__':
    unittest.main()
