#!/usr/bin/env python3
"""Tests of gpu_libraries.py with fake driver and CUDA libraries, which are compiled here."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'gpu_libraries.py')
COMPILER = shutil.which('cc') or shutil.which('gcc')
LIBRARIES = {
    'libcuda.so.1': '''
        int cuInit(unsigned flags) { return 0; }
        int cuDriverGetVersion(int* version) { *version = 13010; return 0; }
        int cuDeviceGet(int* device, int number) { *device = number; return number > 1; }
        int cuDeviceGetName(char* name, int bytes, int device) { strcpy(name, device ? "Second" : "First GPU"); return 0; }
        int cuDeviceTotalMem_v2(size_t* bytes, int device) { *bytes = (size_t)81559 << 20; return 0; }''',
    'libnvidia-ml.so.1': '''
        int nvmlInit_v2(void) { return 0; }
        int nvmlSystemGetDriverVersion(char* text, unsigned bytes) { strcpy(text, "580.159.04"); return 0; }''',
    'libcudart.so.13': 'int cudaRuntimeGetVersion(int* version) { *version = 13000; return 0; }',
    'libcublas.so.13': 'int cublasGetProperty(int part, int* value) { *value = 13 - 6 * part; return 0; }',
    'libcudnn.so.9': 'size_t cudnnGetVersion(void) { return 91900; }',
    'libnccl.so.2': 'int ncclGetVersion(int* version) { *version = 22809; return 0; }',
}


@unittest.skipUnless(COMPILER, 'no C compiler makes the stand-ins')
class GpuLibraries(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.site = folder.name

    def make(self, name, text):
        folder = os.path.join(self.site, 'nvidia', name.split('.')[0], 'lib')
        os.makedirs(folder)
        subprocess.run([COMPILER, '-shared', '-fPIC', '-x', 'c', '-', '-o', os.path.join(folder, name)], check=True,
                       text=True, input='#include <string.h>\n#include <stdlib.h>\n' + text)
        return folder

    def ask(self, *arguments):
        done = subprocess.run([sys.executable, SCRIPT, *arguments], text=True, capture_output=True, check=False,
                              env={'PATH': os.environ['PATH'], 'PYTHONPATH': self.site})
        said = {}
        for line in done.stdout.splitlines():
            said.update(json.loads(line))
        return said, done

    def test_versions_of_the_driver_and_of_libraries_in_python_packages_are_reported(self):
        folders = [self.make(name, text) for name, text in LIBRARIES.items()]
        said, done = self.ask()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(said, {'folders': ':'.join(sorted(folders)), 'cuda_driver': '13.1', 'driver': '580.159.04',
                                'name': 'First GPU', 'memory_mib': 81559, 'cuda_runtime': '13.0', 'cublas': '13.7.1',
                                'cudnn': '9.19.0', 'nccl': '2.28.9'})
        self.assertEqual(self.ask('1')[0]['name'], 'Second')
        self.assertIsNone(self.ask('2')[0]['name'])

    def test_a_library_that_crashes_does_not_lose_earlier_results(self):
        for name in ('libcuda.so.1', 'libnvidia-ml.so.1'):
            self.make(name, LIBRARIES[name])
        self.make('libcudart.so.13', 'int cudaRuntimeGetVersion(int* version) { abort(); }')
        said, done = self.ask()
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual((said['driver'], said['memory_mib']), ('580.159.04', 81559))

    def test_a_library_of_the_wrong_kind_is_named(self):
        self.make('libcudnn.so.9', '')
        said, done = self.ask()
        self.assertIn('cudnnGetVersion', done.stderr)
        self.assertIn('folders', said)


if __name__ == '__main__':
    unittest.main()
