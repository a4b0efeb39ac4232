#!/usr/bin/env python3
"""describe_layers.py says of every layer type what the code says."""

import os
import subprocess
import sys
import unittest

import describe_layers

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'describe_layers.py')


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


class DescribeLayers(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.all = run().stdout

    def test_every_type_is_described(self):
        names = run('--list').stdout.split()
        self.assertGreater(len(names), 80)
        self.assertEqual(names, [line[3:] for line in self.all.splitlines() if line.startswith('## ')])
        self.assertEqual(len(names), self.all.count('\n- Memory: '))

    def test_every_parameter_message_belongs_to_a_type(self):
        layer_fields, described = describe_layers.messages()
        # Of sources that have shapes here, and no layer; of a layer that the library alone puts into nets.
        planned_only = {'annotated_data_param', 'video_data_param', 'exchange_param'}
        missing = [field for field, message in layer_fields.items() if f'- `{field}`' not in self.all and
                   field not in planned_only and
                   [key for key, _ in described[message]] != ['engine']]  # Sigmoid's and TanH's: nothing to read
        self.assertEqual(missing, [], 'no layer type reads these')

    def test_the_parts_of_a_description_come_from_the_code(self):
        relu = run('ReLU').stdout
        self.assertTrue(relu.startswith('## ReLU\n'))
        self.assertIn(relu, self.all)
        self.assertIn('y = max(0, x) + negative_slope * min(0, x)', relu)
        self.assertIn('`negative_slope` (0)', relu)
        self.assertIn('in place; backward needs top, or mask (saved), or bottom; runs again', relu)

    def test_an_unknown_type_is_refused_in_one_line(self):
        done = run('ReLu')
        self.assertEqual(1, done.returncode)
        self.assertEqual('describe_layers.py: there is no layer type ReLu; --list names those that there are\n', done.stderr)


if __name__ == '__main__':
    unittest.main()
