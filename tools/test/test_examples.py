#!/usr/bin/env python3
"""The examples that learn: each makes its data, learns what its README says, and trains to the same weights in little more
than the floor of its memory. ctest has an entry for each class of tests."""
import gzip
import json
import os
import re
import shutil
import tempfile
import unittest

from command_line import SOURCE, run, write


class Example(unittest.TestCase):
    """Every class starts in a folder of its own with the examples it names, whose data it makes once, in prepare()."""
    examples = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chdir(cls.folder)
        cls.addClassCleanup(os.chdir, "/")
        for name in cls.examples:
            shutil.copytree(os.path.join(SOURCE, "examples", name), f"examples/{name}",
                            ignore=shutil.ignore_patterns("*_lmdb", "*.h5", "*.caffemodel", "*.solverstate"))
        cls.prepare()

    @classmethod
    def prepare(cls):
        pass

    @staticmethod
    def make(program, *args):
        """Runs a program that has to succeed, and gives what it said."""
        result = run(*args, program=program)
        if result.code != 0:
            raise AssertionError(f"{program} {' '.join(args)}: {result.last}")
        return result.out

    @classmethod
    def make_digits(cls):
        with gzip.open("examples/digits/digits.csv.gz") as packed:
            write("digits.csv", packed.read().decode())
        cls.make("convert_digits", "digits.csv", "examples/digits")

    @staticmethod
    def changed(path, **changes):
        """A copy of a solver with other values of some fields; its name."""
        with open(path) as file:
            text = file.read()
        for field, value in changes.items():
            text, count = re.subn(rf"^{field}: .*$", "", text, flags=re.MULTILINE)
            assert count == 1 or field.startswith("snapshot"), field
            text += f"{field}: {value}\n"
        return write(path.replace(".prototxt", "_changed.prototxt"), text)

    def train(self, solver, *flags):
        """Trains; the last scores of the test net by name, and the first of several with one name."""
        result = run("train", f"--solver={solver}", *flags)
        self.assertEqual(0, result.code, result.last)
        last = result.err.rsplit("Testing net", 1)[-1]
        scores = re.findall(r"Test net output #\d+: (\w+) = ([-0-9.e]+)", last)
        return {name: float(value) for name, value in reversed(scores)}

    def fails(self, program, args, pattern):
        """The program says why, in one sentence, and leaves no trace of a crash."""
        result = run(*args, program=program)
        self.assertEqual(1, result.code, result.last)
        self.assertRegex(result.err, pattern)
        self.assertNotIn("    @", result.err)

    def same_in_a_budget(self, solver, iterations=8, *flags):
        """Training in 1.1 times the floor, which is less than Caffe needs, gives the same bits."""
        plan = json.loads(self.make("layrub", "plan", f"--solver={solver}", "--format=json"))
        budget = int(1.1 * plan["floor_bytes"])
        self.assertLess(budget, plan["total_device_bytes"])
        weights = []
        for name, where in (("keep", ["--placement=keep"]), ("auto", ["--placement=auto", f"--device_memory={budget}"])):
            changed = self.changed(solver, max_iter=iterations, snapshot_prefix=f'"{name}"', snapshot_after_train="true")
            self.train(changed, *where, *flags)
            weights.append(f"{name}_iter_{iterations}.caffemodel")
        self.make("layrub", "diff", *weights)


class Siamese(Example):
    examples = ("digits", "siamese")

    @classmethod
    def prepare(cls):
        cls.make_digits()
        for part, count in (("train", 6000), ("test", 1000)):
            cls.make("make_pairs", f"examples/digits/digits_{part}_lmdb", f"examples/siamese/pairs_{part}_lmdb", str(count))

    def test_it_tells_whether_two_digits_are_the_same_one(self):
        scores = self.train("examples/siamese/solver.prototxt")
        self.assertGreaterEqual(scores["accuracy"], 0.95)
        self.assertLess(scores["loss"], 0.04)

    def test_a_budget_gives_the_same_weights(self):
        self.same_in_a_budget("examples/siamese/solver.prototxt")

    def test_pairs_that_cannot_be_made(self):
        digits = "examples/digits/digits_test_lmdb"
        self.fails("make_pairs", (digits, "few", "many"), "COUNT must be a number of pairs, not many")
        self.fails("make_pairs", ("missing", "few", "10"), "missing")
        self.fails("make_pairs", (digits, "examples/siamese/pairs_test_lmdb", "10"), "pairs_test_lmdb")
        self.fails("make_pairs", (digits,), "usage: make_pairs IMAGES PAIRS COUNT")


if __name__ == "__main__":
    unittest.main()
