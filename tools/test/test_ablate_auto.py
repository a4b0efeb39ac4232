#!/usr/bin/env python3
"""Tests of bench/ablate_auto.py, which turns off each part of auto, and of the arguments of time_plans for that."""
import os
import subprocess
import sys
import unittest

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench")
sys.path.insert(0, BENCH)

import ablate_auto
import run_layrub


def plans(*seconds, smallest=100):
    """Output of time_plans: a floor of 100 bytes, budgets of 110, 130, ...; infinite seconds: it does not fit."""
    rows = [{"budget_bytes": 110 + 20 * i, "device_bytes": 110 if s < float("inf") else 1000, "seconds": s,
             "planning_seconds": 2} for i, s in enumerate(seconds)]
    return {"floor_bytes": 100, "smallest_bytes": smallest}, rows


class AblateAuto(unittest.TestCase):

    def test_a_row_has_both_geometric_means_and_the_worst_case(self):
        runs = {("net", "k40", 1, None): plans(1, 1, 1), ("net", "k40", 1, "slack"): plans(2, 1, 4, smallest=121),
                ("net", "k40", 2, None): plans(1, 1, 1), ("net", "k40", 2, "slack"): plans(8, 1, 1)}
        self.assertEqual(["slack", "1.414", "4.000", "8.000", "0", "1.100", "12"], ablate_auto.compare(runs, "slack"))
        self.assertEqual(["all parts", "1.000", "1.000", "1.000", "0", "1.000", "12"], ablate_auto.compare(runs, None))

    def test_budgets_that_are_missed_are_counted_not_timed(self):
        runs = {("net", "k40", 1, None): plans(1, 1), ("net", "k40", 1, "slack"): plans(float("inf"), 3)}
        self.assertEqual(["slack", "3.000", "", "3.000", "1", "1.000", "4"], ablate_auto.compare(runs, "slack"))

    def test_prints_a_row_for_each_part(self):
        command = [sys.executable, os.path.join(BENCH, "ablate_auto.py"), "--seeds=1", "--machines=h200", "--parts=1.1",
                   "--steps=1", "lenet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        rows = [line.split("|")[1].strip() for line in done.stdout.splitlines()[2:]]
        self.assertEqual(["all parts", *ablate_auto.PARTS], rows)

    def test_an_unknown_part_of_auto_is_named(self):
        for words, message in ((["7", "luck"], "auto has no part 'luck'"), (["-7"], "SEED: '-7' is no number")):
            done = subprocess.run([os.path.join(run_layrub.BIN, "time_plans"), os.devnull, "k40", "1", "0", *words],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(1, done.returncode)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
