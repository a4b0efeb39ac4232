#!/usr/bin/env python3
"""Tests of cost.py, on small logs."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cost.py')
NINJA_LOG = """# ninja log v5
0\t9000\t0\tCMakeFiles/layers.dir/a.cpp.o\t1
0\t4000\t0\tCMakeFiles/layers.dir/a.cpp.o\t1
0\t6000\t0\tCMakeFiles/layers.dir/b.cpp.o\t1
0\t5000\t0\tCMakeFiles/proto.dir/caffe.pb.cc.o\t1
0\t1000\t0\tlib/libcaffe.so\t1
"""
TEST_LOG = """1/2 Test: fast
Test time =   0.50 sec
2/2 Test: slow
Test time =   9.50 sec
"""
TESTS = """add_test(fast "true")
set_tests_properties(fast PROPERTIES LABELS "commit")
add_test(slow "true")
set_tests_properties(slow PROPERTIES LABELS "commit;learning")
"""


class TestCost(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)
        self.write('build/.ninja_log', NINJA_LOG)
        self.write('build/CTestTestfile.cmake', TESTS)

    def write(self, name, text):
        path = os.path.join(self.root.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as out:
            out.write(text)

    def run_script(self, *flags):
        return subprocess.run([sys.executable, SCRIPT, '--ruler=5', *flags, 'build'], cwd=self.root.name, capture_output=True, text=True,
                              check=False)

    def test_sums_count_the_last_build_of_each_output(self):
        out = self.run_script().stdout
        self.assertIn('build: compiling, by target: 16 s', out)
        self.assertIn('    10.0  layers\n', out)
        self.assertIn('     1.0  links and generated files\n', out)
        self.assertIn('build: compile takes 3.2 units', out)
        self.assertNotIn('tests', out)

    def test_tests_are_summed_by_label(self):
        self.write('build/Testing/Temporary/LastTest.log', TEST_LOG)
        out = self.run_script().stdout
        self.assertIn('build: tests, by label: 10 s', out)
        self.assertIn('     9.5  commit, learning\n', out)
        self.assertIn('build: test takes 2.0 units', out)

    def test_more_than_a_tenth_over_the_limit_fails(self):
        for limit, code in ((3.2, 0), (2.95, 0), (2.85, 1)):
            self.write('limits.json', json.dumps({'build': {'compile': limit}}))
            ended = self.run_script('--limits=limits.json')
            self.assertEqual(ended.returncode, code, ended.stderr)
            self.assertEqual('make it cheaper' in ended.stderr, code == 1)

    def test_a_written_limit_passes(self):
        self.write('build/Testing/Temporary/LastTest.log', TEST_LOG)
        self.assertEqual(self.run_script('--write=limits.json').returncode, 0)
        ended = self.run_script('--limits=limits.json')
        self.assertEqual(ended.returncode, 0)
        self.assertIn('compile takes 3.2 units, of 3.8 that it may', ended.stdout)
        self.assertIn('test takes 2.0 units, of 3.2 that it may', ended.stdout)

    def test_a_limit_of_tests_that_did_not_run_fails(self):
        self.write('limits.json', json.dumps({'build': {'test': 2}}))
        ended = self.run_script('--limits=limits.json')
        self.assertEqual(ended.returncode, 1)
        self.assertIn('run its tests', ended.stderr)

    def test_the_unit_is_the_time_to_compile_a_reference_file_here(self):
        self.write('build/compile_commands.json', json.dumps(
            [{'file': 'other.cc', 'command': 'false -o x'}, {'file': 'proto/caffe.pb.cc', 'command': 'cp caffe.pb.cc -o x'}]))
        self.write('build/caffe.pb.cc', '')
        self.assertIn('does not compile', self.run_script('--ruler=0').stderr)
        self.write('build/compile_commands.json', json.dumps([{'file': 'caffe.pb.cc', 'command': 'sleep -o 0.2'}]))
        self.assertIn('does not compile', self.run_script('--ruler=0').stderr)
        self.write('build/compile_commands.json', json.dumps([{'file': 'caffe.pb.cc', 'command': "sh -c 'sleep 0.2' -o x"}]))
        unit = float(re.search(r'one unit: ([\d.]+) s', self.run_script('--ruler=0').stdout)[1])
        self.assertGreaterEqual(unit, 0.2)

    def test_unusable_logs_are_reported(self):
        self.write('build/.ninja_log', '# ninja log v5\n')
        ended = self.run_script()
        self.assertEqual(ended.returncode, 1)
        self.assertIn('build all of it with ninja', ended.stderr)
        self.write('build/.ninja_log', NINJA_LOG)
        self.write('build/Testing/Temporary/LastTest.log', '1/1 Test: fast\n')
        self.assertIn('run ctest again', self.run_script().stderr)


if __name__ == '__main__':
    unittest.main()
