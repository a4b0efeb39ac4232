#!/usr/bin/env python3
"""The examples in Python: each learns as its README says, and trains the same weights in little more memory than the
floor. PYTHONPATH has the package caffe. ctest has an entry for each class."""
import os
import re
import subprocess
import sys
import unittest

from command_line import BIN, Result, run, write
from example import Example

PACKAGE = os.environ.get("PYTHONPATH") or os.path.join(os.path.dirname(BIN), "python")


class PythonExample(Example):

    def python(self, *args):
        """Runs a script as its README says. Returns its result."""
        return Result(subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=120, check=False,
                                     env=dict(os.environ, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1")))


class NetSurgery(PythonExample):
    examples = ("digits", "net_surgery")
    solver = "examples/net_surgery/solver.prototxt"
    script = "examples/net_surgery/net_surgery.py"

    @classmethod
    def prepare(cls):
        cls.make_digits()

    def test_a_page_is_classified_at_once_as_window_by_window(self):
        self.assertGreaterEqual(self.train(self.solver)["accuracy"], 0.95)
        result = self.python(self.script)
        self.assertEqual(0, result.code, result.last)
        self.assertIn("1305 windows of a page of 64 x 96 pixels\n", result.out)
        self.assertLess(float(re.search(r"difference from .*: (\S+)\n", result.out)[1]), 1e-5)
        self.assertGreaterEqual(int(re.search(r"(\d+) of 24 digits", result.out)[1]), 22)

    def test_the_weights_that_it_writes_are_those_of_the_dense_net(self):
        solver = self.changed(self.solver, snapshot_prefix='"few"')
        self.train(solver, "--max_iter=1")
        result = self.python(self.script, "few_iter_1.caffemodel")
        self.assertEqual(0, result.code, result.last)
        timed = run("time", "--model=examples/net_surgery/dense.prototxt", "--iterations=1",
                    "--weights=examples/net_surgery/dense.caffemodel")
        self.assertEqual(0, timed.code, timed.last)
        self.assertNotIn("Ignoring source layer", timed.err)

    def test_a_budget_gives_the_same_weights(self):
        self.same_in_a_budget(self.solver)

    def test_missing_weights_are_named(self):
        result = self.python(self.script, "missing.caffemodel")
        self.assertEqual(1, result.code)
        self.assertIn("missing.caffemodel", result.last)
        self.assertNotIn("Traceback", result.err)


class PythonDataLayer(PythonExample):
    examples = ("digits", "python_data_layer")
    solver = "examples/python_data_layer/solver.prototxt"
    net = "examples/python_data_layer/train_test.prototxt"

    @classmethod
    def prepare(cls):
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = f"{PACKAGE}:examples/python_data_layer"
        cls.addClassCleanup(lambda: os.environ.update(PYTHONPATH=before) if before else os.environ.pop("PYTHONPATH"))

    def test_a_net_learns_from_it(self):
        self.assertGreaterEqual(self.train(self.solver)["accuracy"], 0.96)

    def test_a_budget_gives_the_same_weights(self):
        # `layrub plan` does not run the Python data layer, so flags give the shapes of its tops.
        self.same_in_a_budget(self.solver, plan_flags=["--data_shape=data:1,8,8,label:1", "--batch=100"])

    def test_two_solvers_train_on_their_own_data(self):
        solver = self.changed(self.solver, max_iter=20, test_interval=20)
        alone, together = (self.train(solver, f"--cpu_solvers={count}")["loss"] for count in (1, 2))
        self.assertNotEqual(alone, together)

    def test_python_trains_the_same_net(self):
        write("train.py", f"""
import caffe

caffe.set_mode_cpu()
solver = caffe.get_solver("{self.changed(self.solver, max_iter=8, snapshot_prefix='"python"')}")
solver.solve()
""")
        done = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        self.train(self.changed(self.solver, max_iter=8, snapshot_prefix='"program"'))
        self.make("layrub", "diff", "python_iter_8.caffemodel", "program_iter_8.caffemodel")

    def test_invalid_parameters_are_refused(self):
        with open(self.net) as file:
            text = file.read()
        for old, new, pattern in (('"part": "train"', '"part": "all"', "'all'"),
                                  ('{"part": "train",', '{"part": train,', "param_str"),
                                  ('"batch_size": 100', '"batch": 100', "batch_size")):
            write("bad.prototxt", text.replace(old, new))
            self.assertNotIn(old, text.replace(old, new))
            result = run("train", "--solver=" + self.changed(self.solver, net='"bad.prototxt"'))
            self.assertEqual(1, result.code, result.last)
            self.assertRegex(result.last, pattern)


if __name__ == "__main__":
    unittest.main(verbosity=2)
