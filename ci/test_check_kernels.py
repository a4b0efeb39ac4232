#!/usr/bin/env python3
"""Self test of check_kernels.py, on output of ptxas."""

import os
import subprocess
import sys
import tempfile
import unittest

import check_kernels

LOG = """
[1/2] Building CUDA object a.o
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4Kern' for 'sm_75'
ptxas info    : Function properties for _Z4Kern
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function '_Z5Other' for 'sm_90'
ptxas info    : Function properties for _Z5Other
    40 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 80 registers, used 1 barriers, 2048 bytes smem, 400 bytes cmem[0]
"""


class CheckKernels(unittest.TestCase):
    def run_on(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'log')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'check_kernels.py')
            return subprocess.run([sys.executable, script, path, *arguments], text=True, capture_output=True, check=False)

    def test_the_output_of_ptxas_for_each_kernel_is_read(self):
        self.assertEqual(check_kernels.read(LOG), [check_kernels.Kernel('_Z4Kern', 'sm_75', 0, 0, 8),
                                                   check_kernels.Kernel('_Z5Other', 'sm_90', 24, 40, 80)])

    def test_a_kernel_that_spills_is_named_unless_it_may(self):
        done = self.run_on(LOG)
        self.assertEqual(done.returncode, 1)
        self.assertIn('_Z5Other (sm_90) spills 24 bytes, more than 0\n', done.stdout)
        self.assertNotIn('_Z4Kern', done.stdout)
        self.assertEqual(self.run_on(LOG, '--spills=24', '--stack=40').returncode, 0)

    def test_a_kernel_with_a_large_stack_is_named_unless_it_may_have_one(self):
        done = self.run_on(LOG, '--spills=24', '--stack=39')
        self.assertEqual(done.returncode, 1)
        self.assertEqual('_Z5Other (sm_90) has a stack of 40 bytes, more than 39', done.stdout.splitlines()[0])

    def test_a_kernel_with_too_many_registers_for_its_block_is_named(self):
        done = self.run_on(LOG, '--spills=24', '--stack=40', '--threads=1024')
        self.assertEqual(done.returncode, 1)
        self.assertIn('_Z5Other (sm_90) uses 80 registers: a block of 1024 threads has 64\n', done.stdout)

    def test_of_a_kernel_compiled_twice_the_last_output_counts(self):
        again = LOG + LOG.replace('24 bytes spill stores', '0 bytes spill stores')
        self.assertEqual(check_kernels.read(again), [check_kernels.Kernel('_Z4Kern', 'sm_75', 0, 0, 8),
                                                     check_kernels.Kernel('_Z5Other', 'sm_90', 0, 40, 80)])

    def test_a_build_log_without_any_kernel_fails(self):
        done = self.run_on('[1/1] Linking\n')
        self.assertEqual(done.returncode, 1)
        self.assertIn('tells of no kernel', done.stderr)


if __name__ == '__main__':
    unittest.main()
