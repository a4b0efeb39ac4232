#!/usr/bin/env python3
"""Tests of scripts/gpu_check.sh, on the CPU: pieces, their results in one file, and what it refuses."""

import json
import os
import subprocess
import tempfile
import unittest

from command_line import SOURCE

SCRIPT = os.path.join(SOURCE, 'scripts/gpu_check.sh')


class GpuCheck(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, 'result.json')

    def check(self, *arguments):
        return subprocess.run([SCRIPT, '--cpu', f'--out={self.out}', *arguments], text=True, capture_output=True,
                              check=False)

    def result(self):
        with open(self.out, encoding='utf-8') as file:
            return json.load(file)

    def test_pieces_of_several_runs_are_collected_in_one_file_and_a_table(self):
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

    def test_a_piece_that_takes_too_long_is_ended_and_told(self):
        done = self.check('--only=lenet', '--limit=0.01')
        self.assertEqual(done.returncode, 1)
        self.assertIn('out of time', done.stdout)
        self.assertFalse(self.result()['pieces']['lenet']['complete'])

    def test_a_piece_that_is_not_there_is_named(self):
        done = self.check('--only=lenet,alexnot')
        self.assertEqual(done.returncode, 2)
        self.assertIn('alexnot', done.stderr)

    def test_results_of_another_device_are_not_mixed(self):
        with open(self.out, 'w', encoding='utf-8') as file:
            json.dump({'device': {'name': 'other'}, 'commit': 'x', 'pieces': {}}, file)
        done = self.check('--only=copies')
        self.assertEqual(done.returncode, 1)
        self.assertIn('--out', done.stderr)


if __name__ == '__main__':
    unittest.main()
