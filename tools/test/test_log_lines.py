#!/usr/bin/env python3
"""Other programs read Caffe's logs, so these lines must be the same byte for byte, and no other line may look like one
of them."""
import re
import unittest

from command_line import SOLVER, DigitsTest, run, write

PREFIX = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.[ch]pp:\d+\] (.*)")
NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|nan|inf)"
NET_SETUP = [
    r"Creating Layer conv1", r"conv1 <- data", r"digits -> data", r"relu1 -> conv1 \(in-place\)", r"Setting up conv1",
    r"Top shape: 100 1 8 8 \(6400\)", r"Top shape: 100 \(100\)", r"Memory required for data: \d+",
    r"    with loss weight 1", r"conv1 needs backward computation\.", r"digits does not need backward computation\.",
    r"This network produces output loss", r"Network initialization done\.",
]
TRAIN = NET_SETUP + [
    r"Solving DigitsLeNet", r"Learning Rate Policy: fixed", r"Starting Optimization",
    rf"Iteration 0 \({NUMBER} iter/s, {NUMBER}s/2 iters\), loss = {NUMBER}",
    rf"    Train net output #0: loss = ({NUMBER}) \(\* 1 = \1 loss\)", r"Iteration 2, lr = 0\.05",
    r"Iteration 2, Testing net \(#0\)", rf"    Test net output #0: accuracy = {NUMBER}",
    rf"    Test net output #1: loss = ({NUMBER}) \(\* 1 = \1 loss\)", rf"Iteration 4, loss = {NUMBER}",
    r"Restarting data prefetching from start\.", r"Optimization Done\.",
]
BINARY = [r"Snapshotting to binary proto file run_iter_4\.caffemodel",
          r"Snapshotting solver state to binary proto file run_iter_4\.solverstate"]
DEBUG = [
    rf"    \[Forward\] Layer conv1, top blob conv1 data: {NUMBER}",
    rf"    \[Forward\] Layer conv1, param blob 0 data: {NUMBER}",
    rf"    \[Backward\] Layer ip2, bottom blob ip1 diff: {NUMBER}",
    rf"    \[Backward\] Layer conv1, param blob 0 diff: {NUMBER}",
    rf"    \[Backward\] All net params \(data, diff\): L1 norm = \({NUMBER}, {NUMBER}\); "
    rf"L2 norm = \({NUMBER}, {NUMBER}\)",
]
# All lines that parse_log.py and similar programs take for progress.
PROGRESS = re.compile(rf"Iteration \d+ \(|Iteration \d+, (loss = {NUMBER}|lr = {NUMBER}|Testing net \(#\d+\))$")


class LogLines(DigitsTest):
    def lines(self, result):
        """The text after the prefix, for each line that has one."""
        self.assertEqual(0, result.code, result.last)
        matches = (PREFIX.fullmatch(line) for line in result.err.splitlines())
        return [match.group(1) for match in matches if match]

    def has(self, lines, patterns):
        for pattern in patterns:
            if not any(re.fullmatch(pattern, line) for line in lines):
                self.fail("no line is like " + pattern)
        for line in lines:
            if re.search(r"Iteration \d|lr = ", line):
                self.assertRegex(line, PROGRESS)

    def log(self, more="", *args):
        write("solver.prototxt", SOLVER.replace("test_iter: 1\ntest_interval: 4", "test_iter: 3\ntest_interval: 2") + more)
        return self.lines(run("train", "--solver=solver.prototxt", *args))

    def test_training_under_every_strategy(self):
        for strategy in ("keep", "hybrid"):
            lines = self.log("", "--placement=" + strategy, "--measure_memory")
            self.has(lines, TRAIN + BINARY)
            solving, placed = lines.index("Solving DigitsLeNet"), [x for x in lines if x.startswith("Placement: ")]
            self.assertEqual(1, len(placed))
            self.assertLess(solving, lines.index("Optimization Done."))

    def test_resuming_and_fine_tuning(self):
        self.log()
        resumed = self.log("", "--snapshot=run_iter_4.solverstate")
        self.has(resumed, ["Resuming from run_iter_4.solverstate"])
        with open("examples/digits/train_test.prototxt") as file:
            renamed = file.read().replace('name: "ip2"', 'name: "new"')
        write("examples/digits/train_test.prototxt", renamed)
        tuned = self.log("", "--weights=run_iter_4.caffemodel")
        self.has(tuned, ["Finetuning from run_iter_4.caffemodel", "Ignoring source layer ip2"])

    def test_debug_info_under_every_strategy(self):
        for strategy in ("keep", "hybrid"):
            self.has(self.log("debug_info: true", "--placement=" + strategy), DEBUG)

    def test_snapshots_in_hdf5(self):
        self.has(self.log("snapshot_format: HDF5"), [r"Snapshotting to HDF5 file run_iter_4\.caffemodel\.h5",
                                                     r"Snapshotting solver state to HDF5 file run_iter_4\.solverstate\.h5"])

    def test_scoring_and_timing(self):
        self.log()
        model = "--model=examples/digits/train_test.prototxt"
        self.has(self.lines(run("test", model, "--weights=run_iter_4.caffemodel", "--iterations=4")), [
            r"Running for 4 iterations\.", rf"Batch 0, accuracy = {NUMBER}", rf"Batch 3, loss = {NUMBER}",
            rf"Loss: {NUMBER}", rf"accuracy = {NUMBER}", rf"loss = ({NUMBER}) \(\* 1 = \1 loss\)",
            r"Restarting data prefetching from start\."])
        self.has(self.lines(run("time", model, "--iterations=2")), NET_SETUP + [
            r"\*\*\* Benchmark begins \*\*\*", r"Average time per layer: ", rf" +conv1\tforward: {NUMBER} ms\.",
            rf" +conv1\tbackward: {NUMBER} ms\.", rf"Average Forward pass: {NUMBER} ms\.",
            rf"Average Backward pass: {NUMBER} ms\.", rf"Average Forward-Backward: {NUMBER} ms\.",
            rf"Total Time: {NUMBER} ms\.", r"\*\*\* Benchmark ends \*\*\*"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
