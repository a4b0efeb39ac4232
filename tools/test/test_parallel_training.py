#!/usr/bin/env python3
"""Training with several solvers."""
import json
import os
import re
import signal
import subprocess
import unittest

from command_line import BIN, SOLVER, DigitsTest, run, write


class ParallelTraining(DigitsTest):
    def test_two_runs_and_a_tight_budget_give_the_same_weights(self):
        for name, flags in (("first", ()), ("second", ()), ("tight", ("--placement=hybrid",))):
            write("solver.prototxt", SOLVER.replace('"run"', '"%s"' % name))
            summary, result = self.train("--cpu_solvers=3", *flags)
            self.assertEqual(3, summary["solvers"])
            for line in ("Placement: ", "Iteration 2, lr = ", "Iteration 4, Testing net", "Snapshotting to binary"):
                self.assertEqual(1, len(re.findall(line, result.err)), line)
        for other in ("second", "tight"):
            same = run("diff", "first_iter_4.caffemodel", other + "_iter_4.caffemodel")
            self.assertEqual(0, same.code, same.out)
        again = run("train", "--solver=solver.prototxt", "--cpu_solvers=3", "--snapshot=first_iter_4.solverstate",
                    "--max_iter=6")
        self.assertEqual(0, again.code, again.last)
        self.assertIn("Iteration 6, loss", again.err)

    def test_train_in_the_smallest_budget_that_plan_names(self):
        write("solver.prototxt", SOLVER)
        flags = ("--solver=solver.prototxt", "--cpu_solvers=2")
        plan = json.loads(run("plan", *flags, "--format=json").out)
        self.assertFalse(plan["transient_gradients"], "several solvers add up their gradients")
        trained = run("train", *flags, "--device_memory=%d" % plan["smallest_budget_bytes"])
        self.assertEqual(0, trained.code, trained.last)
        self.assertEqual(2, run("train", *flags, "--device_memory=%d" % (plan["smallest_budget_bytes"] - 256)).code)

    def test_a_finished_training_that_is_resumed_writes_the_same_state(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 4 average_loss: 3"))
        self.train("--cpu_solvers=2")
        os.rename("run_iter_4.solverstate", "first.solverstate")
        os.rename("run_iter_4.caffemodel", "first.caffemodel")
        with open("first.solverstate", "rb") as file:
            state = file.read()
        self.assertIn(b"run_iter_4.caffemodel", state)
        os.link("first.caffemodel", "run_iter_4.caffemodel")
        self.train("--cpu_solvers=2", "--snapshot=first.solverstate")
        same = run("diff", "first.solverstate", "run_iter_4.solverstate")
        self.assertEqual(0, same.code, same.out)

    def test_a_signal_ends_all_solvers(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 1000000"))
        process = subprocess.Popen([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", "--cpu_solvers=2"],
                                   stderr=subprocess.PIPE, text=True, env=dict(os.environ, GLOG_log_dir=os.getcwd()))
        for line in process.stderr:
            if "Iteration 6" in line:
                break
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=60)[1]
        self.assertEqual(0, process.returncode, err[-1000:])
        self.assertIn("Optimization stopped early.", err)

    def test_mistakes(self):
        solver = "--solver=solver.prototxt"
        self.fails(run("train", solver, "--cpu_solvers=0"), "--cpu_solvers=0: 1 to ")
        self.fails(run("train", solver, "--cpu_solvers=2", "--verify_placement=1"), "one solver")
        self.fails(run("train", solver, "--cpu_solvers=2", "--placement=hybrid", "--device_memory=64KiB"),
                   "--device_memory=", code=2)

    def test_a_plan_uses_its_share_of_the_link(self):
        def seconds(*args):
            return self.plan("--solver=solver.prototxt", "--placement=inter", *args)["predicted_seconds"]
        alone = seconds("--machine=k40")
        self.assertGreater(seconds("--machine=k40", "--cpu_solvers=8"), alone)
        machine = {"name": "x", "flops": 1e12, "memory_bandwidth": 1e11, "link_down": 1e9, "link_up": 1e9,
                   "link_both": 2e9, "latency": 1e-6, "compute_while_copying": 1, "copy_while_computing": 1}
        write("one.json", json.dumps(machine))
        write("two.json", json.dumps(dict(machine, links=2)))
        alone = seconds("--machine=one.json")
        self.assertGreater(seconds("--machine=one.json", "--cpu_solvers=2"), alone)
        self.assertEqual(seconds("--machine=two.json", "--cpu_solvers=2"), alone)


if __name__ == "__main__":
    unittest.main()
