#!/usr/bin/env python3
"""auto is close to its bounds: runs bench/bench_placement.py on nets that are planned quickly."""
import os
import subprocess
import sys
import unittest

from command_line import SAMPLED

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/bench_placement.py")


def bench(*arguments):
    # Tests do not limit the time of planning.
    command = [sys.executable, BENCH, "--planning=1e9", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class BenchPlacement(unittest.TestCase):

    def test_auto_is_within_its_bounds_from_near_the_floor_upward(self):
        parts, machines = ("1.05", "k40") if SAMPLED else ("1.05,1.3", "k40,h200")
        done = bench(f"--parts={parts}", f"--machines={machines}", "--steps=1", "alexnet:128", "vgg16:32", "lstm:32")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(3 * (len(parts.split(",")) + 1) * len(machines.split(",")), done.stderr.count(" floors: "))

    def test_auto_is_within_its_bounds_from_1_1_to_2_floors(self):
        nets = ("googlenet:32", "resnet50:32", "densenet121:32")
        parts = "1.3" if SAMPLED else "1.1,1.3,2"
        done = bench(f"--parts={parts}", "--steps=0", "--machines=k40", *nets)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(3 * len(parts.split(",")), done.stderr.count(" floors: "))

    def test_a_missed_bound_is_reported_and_fails(self):
        done = bench("--parts=0.5", "--steps=0", "--machines=k40", "lstm:32")
        self.assertEqual(1, done.returncode)
        self.assertIn("no plan", done.stdout)


if __name__ == "__main__":
    unittest.main()
