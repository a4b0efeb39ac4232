#!/usr/bin/env python3
"""Plans every prototxt of corpus/; those named *.solver.prototxt are solvers. The first line of a file has the expected
result:

  # expect: plans          the plan is printed
  # expect: warns: TEXT    the same, and TEXT is in what the program says on the way
  # expect: fails: TEXT    the program ends with one message, which has TEXT in it, or, of
                           TEXT ... TEXT, each of them in this order

A second line may give flags for `layrub plan`: # flags: --data_shape=3,8,8 --batch=2. `compare` must give the same result
for a solver."""
import glob
import os
import re
import unittest

from command_line import DigitsTest, run

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


class Corpus(DigitsTest):

    def check(self, path):
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read().splitlines()
        expected = re.fullmatch(r"# expect: (?:(plans)|(warns|fails): (.+))", lines[0])
        self.assertIsNotNone(expected, "the first line says nothing that is known: " + lines[0])
        flags = lines[1].removeprefix("# flags: ").split() if lines[1].startswith("# flags: ") else []
        solver = path.endswith(".solver.prototxt")
        for command in ("plan", "compare") if solver else ("plan",):
            result = run(command, f"--{'solver' if solver else 'model'}={path}", *flags)
            if expected[2] == "fails":
                self.fails(result, "(?s)" + ".*".join(map(re.escape, expected[3].split(" ... "))))
                continue
            self.assertEqual(0, result.code, result.last)
            self.assertNotEqual("", result.out)
            self.assertIn(expected[3] or "", result.err)

    def test_every_net_behaves_as_its_first_line_says(self):
        paths = sorted(glob.glob(os.path.join(CORPUS, "*.prototxt")))
        self.assertGreaterEqual(len(paths), 60)
        for path in paths:
            with self.subTest(os.path.basename(path)):
                self.check(path)


if __name__ == "__main__":
    unittest.main()
