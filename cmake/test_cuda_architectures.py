#!/usr/bin/env python3
"""Tests of cmake/CudaArchitectures.cmake, with fake programs nvcc and nvidia-smi."""
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULE = os.path.join(ROOT, 'cmake', 'CudaArchitectures.cmake')


@unittest.skipUnless(os.path.exists(MODULE), 'the bundle has no cmake/')
class CudaArchitectures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.nvcc = self.program('nvcc', 'printf "compute_50\\ncompute_75\\ncompute_90\\ncompute_120\\n"')

    def program(self, name, line):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n' + line + '\n')
        os.chmod(path, 0o755)
        return path

    def chosen(self, smi, wanted=''):
        script = os.path.join(self.folder, 'ask.cmake')
        with open(script, 'w', encoding='utf-8') as file:
            file.write(f'include("{MODULE}")\n'
                       f'layrub_cuda_architectures(chosen "{wanted}" "{self.nvcc}" "{smi}")\n'
                       'message("${chosen}")\n')
        done = subprocess.run(['cmake', '-P', script], capture_output=True, text=True, check=True)
        return done.stderr.strip()

    def test_architectures_of_the_gpus_present(self):
        self.assertEqual(self.chosen(self.program('smi', 'echo 9.0')), '90')
        two = self.program('smi', '[ "$*" = "--query-gpu=compute_cap --format=csv,noheader" ] && printf "7.5\\n12.0\\n7.5\\n"')
        self.assertEqual(self.chosen(two), '75;120')

    def test_all_from_7_5_on_without_a_gpu(self):
        broken = 'echo "NVIDIA-SMI has failed because it could not talk to the driver 580.65"; exit 9'
        for smi in ('', 'NVIDIA_SMI-NOTFOUND', self.program('smi', broken), self.program('smi', 'echo No devices were found')):
            self.assertEqual(self.chosen(smi), '75;90;120')

    def test_all_if_the_compiler_does_not_know_a_gpu(self):
        self.assertEqual(self.chosen(self.program('smi', 'printf "9.0\\n13.5\\n"')), '75;90;120')
        self.assertEqual(self.chosen(self.program('smi', 'echo 6.1')), '75;90;120')

    def test_a_given_list_is_used(self):
        smi = self.program('smi', 'echo 9.0')
        self.assertEqual(self.chosen(smi, '80;86-real'), '80;86-real')
        self.assertEqual(self.chosen(smi, 'all'), '75;90;120')


if __name__ == '__main__':
    unittest.main(verbosity=2)
