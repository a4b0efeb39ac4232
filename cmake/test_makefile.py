#!/usr/bin/env python3
"""Tests of the Makefile: its targets, and which settings of a Makefile.config are passed to CMake. A fake cmake prints
its arguments."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Options as they are in a Makefile.config of Caffe.
CONFIG = '''
USE_CUDNN := 1
CPU_ONLY := 0
USE_LEVELDB := 0
OPENCV_VERSION := 3
CUSTOM_CXX := clang++
CUDA_DIR := /opt/cuda
CUDA_ARCH := -gencode arch=compute_80,code=sm_80 \\
             -gencode arch=compute_90,code=sm_90 \\
             -gencode arch=compute_90,code=compute_90
BLAS := atlas
BLAS_INCLUDE := /opt/blas/include
PYTHON_INCLUDE := /usr/include/python2.7
PYTHON_LIB := /usr/lib
WITH_PYTHON_LAYER := 1
INCLUDE_DIRS := $(PYTHON_INCLUDE) /usr/local/include
LIBRARY_DIRS := $(PYTHON_LIB) /usr/local/lib
USE_NCCL := 1
BUILD_DIR := other
DISTRIBUTE_DIR := distribute
DEBUG := 1
TEST_GPUID := 0
Q ?= @
'''


@unittest.skipUnless(os.path.exists(os.path.join(ROOT, 'Makefile')), 'the bundle has no Makefile')
class Makefile(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(os.path.join(ROOT, 'Makefile'), self.folder)
        os.mkdir(os.path.join(self.folder, 'programs'))
        for name in ('cmake', 'ctest', 'cpack'):
            path = os.path.join(self.folder, 'programs', name)
            with open(path, 'w', encoding='utf-8') as file:
                # As cmake does, creates a cache in the build folder.
                file.write(f'#!/bin/sh\necho {name} "$@"\nwhile [ $# -gt 0 ]; do\n'
                           '  [ "$1" != -B ] || { mkdir -p "$2"; touch "$2/CMakeCache.txt"; }\n  shift\ndone\n')
            os.chmod(path, 0o755)

    def make(self, *arguments, code=0, **environment):
        path = os.path.join(self.folder, 'programs') + ':' + os.environ['PATH']
        done = subprocess.run(['make', '--no-print-directory', *arguments], cwd=self.folder, capture_output=True, text=True,
                              check=False, env={'PATH': path, **environment})
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_all_configures_once_and_builds(self):
        said = self.make('all')
        self.assertIn('-S . -B build', said)
        self.assertIn('cmake --build build', said)
        self.assertNotIn('-S .', self.make('all'))

    def test_flags_of_the_command_line(self):
        said = self.make('CPU_ONLY=1', 'DEBUG=1', 'BUILD=here')
        self.assertIn('-S . -B here -D CPU_ONLY=ON -D CMAKE_BUILD_TYPE=Debug', said)
        self.assertIn('-D CPU_ONLY=OFF', self.make('CPU_ONLY=0'))

    def test_a_makefile_config_of_caffe_is_used(self):
        with open(os.path.join(self.folder, 'Makefile.config'), 'w', encoding='utf-8') as file:
            file.write(CONFIG)
        said = self.make('all')
        for flag in ('-B other', 'CPU_ONLY=OFF', 'USE_LEVELDB=OFF', 'USE_CUDNN=ON', 'BLAS=atlas', 'CMAKE_CXX_COMPILER=clang++',
                     'CUDAToolkit_ROOT=/opt/cuda', 'CUDA_ARCH=80;90 ', 'CMAKE_BUILD_TYPE=Debug',
                     'CMAKE_INCLUDE_PATH=/opt/blas/include;/usr/local/include ', 'CMAKE_LIBRARY_PATH=/usr/local/lib'):
            self.assertIn(flag, said)
        self.assertNotIn('python2.7', said)
        said = self.make('config')
        for answered in ('OPENCV_VERSION', 'WITH_PYTHON_LAYER', 'USE_NCCL', 'PYTHON_INCLUDE', 'PYTHON_LIB'):
            self.assertIn(f'\n{answered}: ', said)
        self.assertNotIn('MATLAB_DIR', said)

    def test_the_example_config_changes_nothing(self):
        before = self.make('config')
        shutil.copy(os.path.join(ROOT, 'Makefile.config.example'), os.path.join(self.folder, 'Makefile.config'))
        self.assertEqual(before, self.make('config'))

    def test_all_targets_of_caffe_are_there(self):
        targets = 'all lib tools examples test runtest py pycaffe pytest proto lint warn everything docs linecount clean ' \
                  'superclean distribute'.split()
        for target in targets:
            self.make('-n', target)
        for target in ('mat', 'matcaffe', 'mattest'):
            self.assertIn('there is no MATLAB interface', self.make(target, code=2))
        said = self.make('help')
        for target in targets:
            self.assertRegex(said, rf'(?m)^ +(\w+ )?{target}\b')

    def test_tests_run_on_the_gpu_that_is_asked_for(self):
        self.assertIn('ctest --output-on-failure', self.make('runtest'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
