"""Helpers for tests of the examples, which make their data, train, and train again in little memory."""
import gzip
import json
import os
import re
import shutil
import tempfile
import unittest

from command_line import SOURCE, run, write


class Example(unittest.TestCase):
    """Every class has its own folder with the examples that it names. prepare() makes their data once."""
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
        """Runs a program that must succeed. Returns its output."""
        result = run(*args, program=program)
        lacks = re.search(r"this build .*\((USE_\w+)\)|which this build lacks \((USE_\w+)\)", result.err)
        if result.code == 1 and lacks:
            raise unittest.SkipTest(f"{program} needs a build with {lacks[1] or lacks[2]}")
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
        """Writes a copy of a solver with some fields changed. Returns its name."""
        with open(path) as file:
            text = file.read()
        for field, value in changes.items():
            text, count = re.subn(rf"^{field}: .*$", "", text, flags=re.MULTILINE)
            assert count == 1 or field in ("snapshot_prefix", "snapshot_after_train", "random_seed"), field
            text += f"{field}: {value}\n"
        return write(path.replace(".prototxt", "_changed.prototxt"), text)

    def train(self, solver, *flags):
        """Trains. Returns the last scores of the test net by name; of several with one name, the first."""
        result = run("train", f"--solver={solver}", *flags)
        self.assertEqual(0, result.code, result.last)
        last = result.err.rsplit("Testing net", 1)[-1]
        scores = re.findall(r"Test net output #\d+: (\w+) = ([-0-9.e]+)", last)
        return {name: float(value) for name, value in reversed(scores)}

    def fails(self, program, args, pattern):
        """Expects that the program fails with one sentence, and without signs of a crash."""
        result = run(*args, program=program)
        self.assertEqual(1, result.code, result.last)
        self.assertTrue(re.search(pattern, result.err), result.last)
        self.assertNotIn("    @", result.err)

    def same_in_a_budget(self, solver, iterations=8, *flags, plan_flags=()):
        """Training in 1.1 times the floor, or a little more if the test nets need it, gives the same bits. Caffe needs
        more memory."""
        plan = json.loads(self.make("layrub", "plan", f"--solver={solver}", "--format=json", *plan_flags))
        budget = max(int(1.1 * plan["floor_bytes"]), plan["smallest_budget_bytes"])
        self.assertLess(budget, min(1.25 * plan["floor_bytes"], plan["total_device_bytes"]))
        weights = []
        for name, where in (("keep", ["--placement=keep"]),
                            ("auto", ["--placement=auto", f"--device_memory={budget}"])):
            changed = self.changed(solver, max_iter=iterations, snapshot_prefix=f'"{name}"',
                                   snapshot_after_train="true")
            self.train(changed, *where, *flags)
            weights.append(f"{name}_iter_{iterations}.caffemodel")
        self.make("layrub", "diff", *weights)
