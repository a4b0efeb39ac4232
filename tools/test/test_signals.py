#!/usr/bin/env python3
"""Sends signals to training: during set-up, iterations and tests, and with several solvers."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from command_line import BIN, TINY_NET, write

SOLVER = """
net: "net.prototxt" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" max_iter: 100000000 snapshot_prefix: "run"
solver_mode: CPU random_seed: 1
"""
SLOW = "iter_size: 2000000000 "  # one iteration never ends
DEEP = 'layer { name: "r%d" type: "Sigmoid" bottom: "%s" top: "s%d" }\n'


class Signals(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        write(self.folder + "/net.prototxt", TINY_NET)

    def start(self, line, *flags, solver="", **environment):
        """Starts training, and waits until it has logged `line`."""
        write(self.folder + "/solver.prototxt", SOLVER + solver)
        self.process = subprocess.Popen([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", *flags],
                                        cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                        env={**os.environ, "GLOG_logtostderr": "1", "OPENBLAS_NUM_THREADS": "1", **environment})
        self.addCleanup(self.process.kill)
        self.said = ""
        self.read_to(line)

    def read_to(self, line):
        for text in self.process.stderr:
            self.said += text
            if re.search(line, text):
                return
        self.fail("no line " + line + " in " + self.said[-1500:])

    def end(self):
        self.said += self.process.communicate(timeout=60)[1]
        return self.process.returncode

    def files(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith("run"))

    def ends_with_a_snapshot(self):
        self.assertEqual(0, self.end(), self.said[-1500:])
        self.assertIn("Optimization stopped early.", self.said)
        self.assertRegex(" ".join(self.files()), r"^run_iter_(\d+)\.caffemodel run_iter_\1\.solverstate$")

    def test_sigterm_and_sigint_take_a_snapshot_and_stop(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.start("Iteration 10", solver="display: 10")
            self.process.send_signal(number)
            self.ends_with_a_snapshot()
            for name in self.files():
                os.remove(os.path.join(self.folder, name))

    def test_training_goes_on_when_nobody_reads_its_log_any_more(self):
        self.start("Iteration 10 ", solver="display: 10", GLOG_logtostderr="0", GLOG_log_dir=self.folder)
        self.process.stderr.close()
        log = os.path.join(self.folder, "layrub.INFO")
        deadline = time.monotonic() + 60
        while "The reader of standard error has gone" not in open(log).read():
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(self.process.poll())
            time.sleep(0.1)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.process.wait(60))
        self.assertRegex(" ".join(self.files()), r"^run_iter_(\d+)\.caffemodel run_iter_\1\.solverstate$")

    def test_the_effect_of_sigterm_can_be_chosen(self):
        self.start("Iteration 10 ", "--sigterm_effect=snapshot", solver="display: 10")
        self.process.send_signal(signal.SIGTERM)
        self.read_to("Snapshotting solver state")
        self.read_to(r"Iteration \d+ ")
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(0, self.end())
        self.start("Iteration 10 ", "--sigterm_effect=none", "--max_iter=20000", solver="display: 10")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.end())
        self.assertNotIn("stopped early", self.said)

    def test_a_second_request_to_stop_ends_the_program_at_once(self):
        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM),
                              (signal.SIGTERM, signal.SIGINT)):
            write(self.folder + "/run_iter_0.caffemodel", "kept")
            self.start("Learning Rate Policy", solver=SLOW)
            self.process.send_signal(first)
            with self.assertRaises(subprocess.TimeoutExpired):
                self.process.wait(0.3)
            self.process.send_signal(second)
            self.assertEqual(128 + second, self.end())
            self.assertIn("layrub: ended at once by %s, the second request to stop." % second.name, self.said)
            self.assertEqual(["run_iter_0.caffemodel"], self.files())

    def test_a_signal_before_training_ends_the_program_at_once(self):
        layers = "".join(DEEP % (i, "s%d" % (i - 1) if i else "y", i) for i in range(4000))
        write(self.folder + "/net.prototxt", TINY_NET.replace('bottom: "y" bottom: "t"', 'bottom: "s3999" bottom: "t"').replace(
            'layer { name: "loss"', layers + 'layer { name: "loss"'))
        self.start("Creating training net", "--device_memory=100KiB")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(128 + signal.SIGTERM, self.end(), self.said[-1500:])
        self.assertIn("layrub: ended at once by SIGTERM before training began.", self.said)
        self.assertEqual([], self.files())

    def test_a_signal_during_a_test_takes_a_snapshot_at_once(self):
        self.start("Testing net", solver="test_iter: 1000000000 test_interval: 10")
        self.process.send_signal(signal.SIGTERM)
        self.ends_with_a_snapshot()
        self.assertIn("Test interrupted.", self.said)

    def test_several_solvers_stop_together(self):
        self.start("Iteration 10", "--cpu_solvers=2", solver="display: 10")
        self.process.send_signal(signal.SIGTERM)
        self.ends_with_a_snapshot()


if __name__ == "__main__":
    unittest.main(verbosity=2)
