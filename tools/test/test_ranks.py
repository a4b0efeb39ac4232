#!/usr/bin/env python3
"""Training with processes that mpirun starts."""
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import test_fake_gpu
from command_line import BIN, SOLVER, DigitsTest, Result, at_once, run, write

LAYRUB = os.path.join(BIN, "layrub")
HAS_MPI = os.path.exists(os.path.join(os.path.dirname(BIN), "lib/liblayrub_mpi.so")) and shutil.which("mpirun")
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")
LONG = SOLVER.replace("max_iter: 4", "max_iter: 10000000").replace("test_interval: 4", "test_interval: 1000000").replace(
    "display: 2", "display: 50")


def start(ranks, *args):
    """Starts layrub with `args`; or `args` are further arguments of mpirun, a program, and its arguments."""
    program = [] if args[0].startswith("-") else [LAYRUB]
    return subprocess.Popen(["mpirun", "-np", str(ranks), *program, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=dict(ENVIRONMENT, GLOG_log_dir=os.getcwd()))


def mpirun(ranks, *args):
    process = start(ranks, *args)
    out, err = process.communicate(timeout=120)
    return Result(subprocess.CompletedProcess(args, process.returncode, out, err))


@unittest.skipUnless(HAS_MPI, "this build has no MPI, or there is no mpirun")
class RanksTest(DigitsTest):
    def assert_same(self, *files):
        same = run("diff", *files)
        self.assertEqual(0, same.code, same.out)

    def train_on(self, ranks, line="Iteration 100", *args):
        """Starts a training. Returns mpirun, and its processes by rank, once `line` is logged."""
        write("long.prototxt", LONG)
        process = start(ranks, "train", "--solver=long.prototxt", *args)
        for text in process.stderr:
            if line in text:
                break
        children = subprocess.run(["pgrep", "-P", str(process.pid), "-x", "layrub"], capture_output=True, text=True)
        pids = sorted(map(int, children.stdout.split()))
        self.assertEqual(ranks, len(pids))
        return process, pids

    @staticmethod
    def runs(pid):
        try:
            with open("/proc/%d/stat" % pid) as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def ends(self, process, pids, seconds):
        before = time.time()
        err = process.communicate(timeout=60)[1]
        while any(map(self.runs, pids)) and time.time() - before < seconds:
            time.sleep(0.05)
        self.assertLess(time.time() - before, seconds, err[-1000:])
        return err

    def said_once(self, case):
        code, text, *args = case
        result = mpirun(*args)
        self.assertEqual(code, result.code, result.last)
        said = [line for line in result.err.splitlines() if re.match("F|layrub: |ERROR: ", line)]
        # from processes that mpirun ends after another has failed
        said = [line for line in said if "ended at once by SIGTERM" not in line]
        self.assertEqual(1, len(said), result.err[-2000:])
        self.assertIn(text, said[0])


class Ranks(RanksTest):
    def test_train_the_same_bits_as_as_many_threads(self):
        write("solver.prototxt", SOLVER + "snapshot: 2 average_loss: 3")
        threads = run("train", "--solver=solver.prototxt", "--cpu_solvers=3", "--threads=1")
        self.assertEqual(0, threads.code, threads.last)
        for file in ("run_iter_4.caffemodel", "run_iter_2.solverstate", "run_iter_2.caffemodel"):
            os.rename(file, file.replace("run", "threads"))
        ranks = mpirun(3, "train", "--solver=solver.prototxt", "--threads=1", "--json_summary=summary.json")
        self.assertEqual(0, ranks.code, ranks.last)
        self.assert_same("threads_iter_4.caffemodel", "run_iter_4.caffemodel")
        for line in ("Training with 3 solvers", "Iteration 2, lr = ", "Iteration 4, Testing net", "Optimization Done.\n"):
            self.assertEqual(1 + (line[0] == "O"), len(re.findall(line, ranks.err)), line)
        # A state has the progress of all processes, whichever wrote it, and can be resumed within a budget.
        os.rename("run_iter_4.caffemodel", "whole.caffemodel")
        shutil.copy("run_iter_2.solverstate", "ranks.solverstate")
        for state, args in (("run_iter_2.solverstate", ()), ("threads_iter_2.solverstate", ("--placement=hybrid",))):
            if state.startswith("threads"):  # it has the old name of its weights
                shutil.copy("threads_iter_2.caffemodel", "run_iter_2.caffemodel")
            again = mpirun(3, "train", "--solver=solver.prototxt", "--threads=1", "--snapshot=" + state, *args)
            self.assertEqual(0, again.code, again.last)
            self.assert_same("whole.caffemodel", "run_iter_4.caffemodel")

    def test_end_within_ten_seconds_when_one_is_killed(self):
        process, pids = self.train_on(3)
        os.kill(pids[1], signal.SIGKILL)
        self.assertRegex(self.ends(process, pids, 10), "process rank 1 with PID .* exited on signal 9")
        self.assertNotEqual(0, process.returncode)

    def test_end_within_ten_seconds_when_one_hangs(self):
        def stop(rank):
            process, pids = self.train_on(3)
            os.kill(pids[rank], signal.SIGSTOP)
            err = self.ends(process, pids, 12)
            self.assertEqual(1, len(re.findall(r"layrub: .*All solvers end\.", err)), err[-1000:])
            self.assertIn("layrub: solver %d of 3 (on " % rank, err)
            self.assertNotEqual(0, process.returncode)

        at_once(stop, (0, 2))

    def test_take_a_snapshot_when_a_signal_ends_them(self):
        for to, which, code in (("mpirun", signal.SIGTERM, 1), ("mpirun", signal.SIGUSR1, 0), ("rank 1", signal.SIGTERM, 0)):
            process, pids = self.train_on(2)
            os.kill(process.pid if to == "mpirun" else pids[1], which)
            err = self.ends(process, pids, 10)
            self.assertIn("Optimization stopped early.", err, to)
            self.assertEqual(code, process.returncode, err[-1000:])
            states = [file for file in os.listdir() if file.endswith(".solverstate")]
            self.assertEqual(1, len(states), to)
            os.remove(states[0])

    def test_fail_with_one_sentence(self):
        solver = "--solver=solver.prototxt"
        at_once(self.said_once, (
            (1, "nowhere.prototxt", 3, "train", "--solver=nowhere.prototxt"),
            (1, "--cpu_solvers is for one process", 2, "train", solver, "--cpu_solvers=2"),
            (2, "--device_memory=", 2, "train", solver, "--placement=hybrid", "--device_memory=64KiB"),
            (1, "'plan' runs in one process", 2, "plan", solver),
            # In only one of the processes.
            (1, "no machine 'nowhere'", 1, "train", solver, ":", "-np", "1", LAYRUB, "train", "--machine=nowhere")))

    @unittest.skipUnless(test_fake_gpu.FAKE, "there is no library with a fake GPU: its build needs CUDA's headers")
    def test_each_process_has_its_own_gpu(self):
        write("solver.prototxt", SOLVER.replace("solver_mode: CPU", "solver_mode: GPU"))
        args = ("train", "--solver=solver.prototxt", "--deterministic")
        threads = test_fake_gpu.run("devices=2,seed=1", *args, "--gpu=0,1")
        self.assertEqual(0, threads.code, threads.last)
        os.rename("run_iter_4.caffemodel", "threads.caffemodel")
        fake = ("-x", "LD_PRELOAD=" + test_fake_gpu.FAKE, "-x", "LAYRUB_FAKE_GPU=devices=2,seed=1", "-x", "XDG_CACHE_HOME=" + os.getcwd(),
                "-x", "OPENBLAS_NUM_THREADS=1")
        ranks = mpirun(2, *fake, LAYRUB, *args)
        self.assertEqual(0, ranks.code, ranks.last)
        self.assertIn("Using GPUs 0\n", ranks.err)
        self.assert_same("threads.caffemodel", "run_iter_4.caffemodel")
        divided = test_fake_gpu.run("devices=2,seed=1", *args, "--gpu=0,1", "--partition=tofu", "--machine=h200")
        self.assertEqual(0, divided.code, divided.last)
        os.rename("run_iter_4.caffemodel", "divided.caffemodel")
        ranks = mpirun(2, *fake, LAYRUB, *args, "--partition=tofu", "--machine=h200")
        self.assertEqual(0, ranks.code, ranks.last)
        self.assert_same("divided.caffemodel", "run_iter_4.caffemodel")
        few = mpirun(3, *fake, LAYRUB, *args)
        self.assertEqual(1, few.code, few.last)
        self.assertRegex(few.err, "layrub: mpirun has started 3 processes on this machine, and there are 2 GPUs")

    def test_one_process_alone_trains_as_without_mpirun(self):
        self.assertEqual(0, run("train", "--solver=solver.prototxt", "--threads=1").code)
        os.rename("run_iter_4.caffemodel", "alone.caffemodel")
        self.assertEqual(0, mpirun(1, "train", "--solver=solver.prototxt", "--threads=1").code)
        self.assert_same("alone.caffemodel", "run_iter_4.caffemodel")


if __name__ == "__main__":
    unittest.main()
