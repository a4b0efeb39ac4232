#!/usr/bin/env python3
"""The example examples/ssd: trains a detector, with the same result in a fraction of the memory."""
import json
import os
import re
import shutil
import tempfile
import unittest

from command_line import SOURCE, run, write


class SsdExample(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")
        os.makedirs("examples")
        shutil.copytree(os.path.join(SOURCE, "examples/ssd"), "examples/ssd")
        made = run("examples/ssd", program="make_shapes")
        self.assertEqual(0, made.code, made.err)

    def solver(self, name, **changes):
        with open("examples/ssd/solver.prototxt") as file:
            text = file.read()
        for field, value in changes.items():
            text, count = re.subn(rf"^{field}: .*$", f"{field}: {value}", text, flags=re.MULTILINE)
            self.assertEqual(1, count, field)
        return "--solver=" + write(name, text)

    def test_it_finds_nine_of_ten_objects_it_has_never_seen(self):
        result = run("train", self.solver("short.prototxt", max_iter=400))
        self.assertEqual(0, result.code, result.last)
        scores = re.findall(r"Test net output #0: mean_average_precision = ([0-9.]+)", result.err)
        self.assertEqual(2, len(scores), result.last)
        self.assertGreaterEqual(float(scores[-1]), 0.9)
        for label in (1, 2):
            classes = re.findall(rf"class{label}: ([0-9.]+)", result.err)
            self.assertGreaterEqual(float(classes[-1]), 0.85)

    def test_a_budget_gives_the_same_weights(self):
        plan = run("plan", "--solver=examples/ssd/solver.prototxt", "--format=json")
        self.assertEqual(0, plan.code, plan.last)
        budget = json.loads(plan.out)["smallest_budget_bytes"]
        self.assertLess(budget, 0.6 * json.loads(plan.out)["total_device_bytes"])
        weights = []
        for name, flags in (("keep", ["--placement=keep"]), ("auto", [f"--device_memory={budget}"])):
            solver = self.solver(f"{name}.prototxt", max_iter=12, snapshot_after_train="true",
                                 snapshot_prefix=f'"{name}"')
            result = run("train", solver, *flags)
            self.assertEqual(0, result.code, result.last)
            weights.append(f"{name}_iter_12.caffemodel")
        same = run("diff", *weights)
        self.assertEqual(0, same.code, same.out + same.last)


if __name__ == "__main__":
    unittest.main(verbosity=2)
