#!/usr/bin/env python3
"""The programs of tools/extra on logs of real trainings and on a log of Caffe; and what NVIDIA DIGITS, which reads the
log of a running training, finds in them."""
import csv
import json
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from command_line import SOLVER, SOURCE, DigitsTest, run, write

EXTRA = os.path.join(SOURCE, "tools/extra")
# As Caffe writes: the rate after the outputs, a test before the first rate, the turn of a year.
CAFFE = """Log file created at: 2016/12/31 23:59:50
I1231 23:59:50.500000 25210 caffe.cpp:217] Using GPUs 0
I1231 23:59:58.000000 25210 solver.cpp:279] Solving LeNet
I1231 23:59:58.000000 25210 solver.cpp:280] Learning Rate Policy: inv
I1231 23:59:58.100000 25210 solver.cpp:337] Iteration 0, Testing net (#0)
I1231 23:59:59.000000 25210 solver.cpp:404]     Test net output #0: accuracy = 0.125
I1231 23:59:59.000000 25210 solver.cpp:404]     Test net output #1: loss = 2.5 (* 1 = 2.5 loss)
I1231 23:59:59.500000 25210 solver.cpp:228] Iteration 0, loss = 2.25
I1231 23:59:59.500000 25210 solver.cpp:244]     Train net output #0: loss = 2.25 (* 1 = 2.25 loss)
I1231 23:59:59.500000 25210 sgd_solver.cpp:106] Iteration 0, lr = 0.01
I0101 00:00:03.000000 25210 solver.cpp:228] Iteration 100 (28.5 iter/s, 3.5s/100 iters), loss = 1e-02
I0101 00:00:03.000000 25210 solver.cpp:244]     Train net output #0: loss = 1e-02 (* 1 = 1e-02 loss)
I0101 00:00:03.000000 25210 sgd_solver.cpp:106] Iteration 100, lr = 0.005
I0101 00:00:04.000000 25210 solver.cpp:337] Iteration 200, Testing net (#0)
I0101 00:00:05.000000 25210 solver.cpp:404]     Test net output #0: accuracy = nan
I0101 00:00:05.000000 25210 solver.cpp:404]     Test net output #1: loss = 0.5 (* 1 = 0.5 loss)
"""

# What DIGITS searches for in the text after glog's prefix, in our own patterns.
DIGITS_PREFIX = re.compile(r"[IWEF](?P<time>\d{4} [\d:.]{15}) +\d+ \S+:\d+\] (?P<text>.*)")
DIGITS = {
    "iteration": r"Iteration (\d+)",
    "lr": r"Iteration \d+, lr = (\S+)",
    "train": r"\s*Train net output #(\d+): (\S+) = (\S+)",
    "test": r"\s*Test net output #(\d+): (\S+) = (\S+)",
    "testing": r"Iteration (\d+), Testing net \(#(\d+)\)",
    "memory": r"Memory required for data:\s+(\d+)",
    "snapshot": r"Snapshotting (?:to|solver state to) (?:binary proto|HDF5) file (\S+_iter_(\d+)\.\S+)",
    "restart": r"Restarting data prefetching from start",
    "done": r"Optimization Done",
}


def digits_events(log):
    """(name, groups) of all that DIGITS finds in a log, in its order."""
    found = []
    for line in log.splitlines():
        match = DIGITS_PREFIX.fullmatch(line)
        for name, pattern in DIGITS.items() if match else ():
            event = re.match(pattern, match["text"])
            if event:
                found.append((name, event.groups()))
    return found


def extra(name, *args):
    return subprocess.run([sys.executable, os.path.join(EXTRA, name), *args], capture_output=True, text=True, timeout=60)


class TrainingLogs(DigitsTest):

    def works(self, name, *args):
        done = extra(name, *args)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout

    def refuses(self, said, name, *args):
        done = extra(name, *args)
        self.assertEqual(1, done.returncode)
        self.assertIn(said, done.stderr)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)

    def rows(self, path):
        with open(path, newline="") as file:
            return list(csv.DictReader(file))

    def test_a_log_of_caffe_becomes_two_tables(self):
        write("caffe.log", CAFFE)
        self.assertIn("2 rows", self.works("parse_log.py", "--verbose", "caffe.log", "."))
        train, test = self.rows("caffe.log.train"), self.rows("caffe.log.test")
        self.assertEqual([{"NumIters": "0", "Seconds": "1.5", "LearningRate": "0.01", "loss": "2.25"},
                          {"NumIters": "100", "Seconds": "5.0", "LearningRate": "0.005", "loss": "0.01"}], train)
        self.assertEqual(["0.125", "nan"], [row["accuracy"] for row in test])
        self.assertEqual(["0.01", "0.005"], [row["LearningRate"] for row in test])
        self.assertEqual(["1.0", "7.0"], [row["Seconds"] for row in test])

    def test_several_test_nets_are_distinguished(self):
        first, second = (log.splitlines(keepends=True)
                         for log in (CAFFE, CAFFE.replace("#0)", "#1)").replace("0.125", "0.25")))
        write("two.log", "".join(first[:7] + second[4:7] + first[7:] + second[-3:]))
        self.works("parse_log.py", "two.log", ".")
        self.assertEqual([{"NumIters": number, "Seconds": seconds, "LearningRate": rate, "TestNet": net, "accuracy": accuracy,
                           "loss": loss} for number, seconds, rate, net, accuracy, loss in
                          (("0", "1.0", "0.01", "0", "0.125", "2.5"), ("0", "1.0", "0.01", "1", "0.25", "2.5"),
                           ("200", "7.0", "0.005", "0", "nan", "0.5"), ("200", "7.0", "0.005", "1", "nan", "0.5"))],
                         self.rows("two.log.test"))
        self.assertNotIn("TestNet", self.rows("two.log.train")[0])
        self.works("plot_training_log.py", "2", "chart.svg", "two.log", "two.log")
        drawn = xml.etree.ElementTree.parse("chart.svg").getroot()
        names = [part.text for part in drawn.iter() if part.tag.endswith("text") and "fill" in part.get("style", "")]
        self.assertEqual(["two (#0)", "two (#1)", "two.log (#0)", "two.log (#1)"], names)

    def test_a_log_of_layrub_becomes_the_same_tables(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 8"))
        result = run("train", "--solver=solver.prototxt")
        self.assertEqual(0, result.code, result.last)
        write("train.log", result.err)
        self.works("parse_log.py", "--delimiter=;", "train.log", ".")
        with open("train.log.train") as file:
            lines = file.read().splitlines()
        self.assertEqual("NumIters;Seconds;LearningRate;loss", lines[0])
        self.assertEqual(["0", "2", "4", "6"], [line.split(";")[0] for line in lines[1:]])
        self.assertEqual({"0.05"}, {line.split(";")[2] for line in lines[1:]})
        with open("train.log.test") as file:
            self.assertEqual(["NumIters", "0", "4", "8"], [line.split(";")[0] for line in file])
        self.works("extract_seconds.py", "train.log", "seconds.txt")
        with open("seconds.txt") as file:
            seconds = [float(line) for line in file]
        self.assertEqual(seconds, sorted(seconds))
        self.assertGreater(len(seconds), 8)
        for chart in range(8):
            self.works("plot_training_log.py", str(chart), "chart.svg", "train.log")
            drawn = xml.etree.ElementTree.parse("chart.svg").getroot()
            circles = [part for part in drawn.iter() if part.tag.endswith("circle")]
            self.assertEqual(3 if chart < 4 else 4, len(circles))

    def test_digits_follows_a_training(self):
        """It finds each number of a training at the right iteration, and nothing in other lines."""
        write("solver.prototxt", SOLVER.replace("test_interval: 4", "test_interval: 2").replace("max_iter: 4", "max_iter: 8") +
              "snapshot: 4\n")
        for flags in (["--placement=keep"], ["--placement=hybrid", "--measure_memory"]):
            with self.subTest(flags):
                result = run("train", "--solver=solver.prototxt", "--json_summary=summary.json", *flags)
                self.assertEqual(0, result.code, result.last)
                events = digits_events(result.err)
                of = lambda name: [groups for found, groups in events if found == name]
                self.assertEqual([str(i) for i in (0, 2, 4, 6, 8)], [number for number, _ in of("testing")])
                self.assertEqual({"0"}, {net for _, net in of("testing")})
                self.assertEqual(["0.05"] * 4, [rate for rate, in of("lr")])
                self.assertEqual([("0", "loss")] * 4, [each[:2] for each in of("train")])
                self.assertEqual([("0", "accuracy"), ("1", "loss")] * 5, [each[:2] for each in of("test")])
                self.assertEqual([f"run_iter_{i}.{end}" for i in (4, 8) for end in ("caffemodel", "solverstate")],
                                 [name for name, _ in of("snapshot")])
                self.assertTrue(of("memory") and of("restart"))
                self.assertEqual(("done", ()), events[-1])
                # Iterations go up; a number belongs to the last iteration before it.
                iterations = [int(number) for number, in of("iteration")]
                self.assertEqual(sorted(iterations), iterations)
                self.assertEqual({0, 2, 4, 6, 8}, set(iterations))
                with open("summary.json") as file:
                    scores = {score["name"]: score["value"] for score in json.load(file)["test_scores"]}
                self.assertEqual({name: float(value) for _, name, value in of("test")[-2:]},
                                 {name: float(f"{value:g}") for name, value in scores.items()})

    def test_files_that_are_not_logs_are_refused(self):
        write("caffe.log", CAFFE)
        write("text", "no log\n")
        self.refuses("text: no log", "parse_log.py", "text", ".")
        for name, *args in (("parse_log.py", "none.log", "."), ("extract_seconds.py", "none.log", "seconds.txt"),
                            ("plot_training_log.py", "0", "x.svg", "none.log")):
            self.refuses(f"{name}: none.log: No such file or directory", name, *args)
        self.refuses("folder: no such folder", "parse_log.py", "caffe.log", "folder")
        self.refuses("--delimiter must be one character", "parse_log.py", "--delimiter=ab", "caffe.log", ".")
        self.refuses("must end with .svg", "plot_training_log.py", "0", "x.png", "caffe.log")
        write("short.log", CAFFE[:200])
        self.refuses("short.log: nothing is said of training loss", "plot_training_log.py", "6", "x.svg", "short.log")
        self.assertEqual(0, extra("parse_log.py", "--help").returncode)


if __name__ == "__main__":
    unittest.main()
