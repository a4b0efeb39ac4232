#!/usr/bin/env python3
"""Training on two machines: network namespaces with names of their own, and a cable between them.

What mpirun would start by ssh, a script starts in the other namespace. The machines share the file system.
"""
import os
import re
import subprocess
import time
import unittest

from command_line import SOLVER, Result, run, write
from test_ranks import ENVIRONMENT, LAYRUB, LONG, RanksTest, mpirun

NAMES = [f"layrub{os.getpid()}{letter}" for letter in "ab"]  # of the namespaces, and of their ends of the cable
ADDRESSES = ["10.83.0.1", "10.83.0.2"]
SETUP = [f"link add {NAMES[0]} type veth peer name {NAMES[1]}"]
for machine, address in zip(NAMES, ADDRESSES):
    SETUP += [f"netns add {machine}", f"link set {machine} netns {machine}", f"-n {machine} addr add {address}/24 dev {machine}",
              f"-n {machine} link set {machine} up", f"-n {machine} link set lo up"]
AGENT = f"""#!/bin/sh
[ "$1" = {ADDRESSES[0]} ] && machine={NAMES[0]} || machine={NAMES[1]}
shift
exec ip netns exec $machine unshare --uts sh -c "hostname $machine && $*"
"""


def ip(command):
    return subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=True).stdout


def start(*args):
    """Starts layrub on both machines, from the first."""
    command = ["ip", "netns", "exec", NAMES[0], "unshare", "--uts", "sh", "-c", f'hostname {NAMES[0]} && exec "$@"', "sh", "mpirun",
               "--mca", "plm_rsh_agent", os.path.abspath("agent"), "--host", ",".join(ADDRESSES), "-np", "2", LAYRUB, *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(ENVIRONMENT, GLOG_log_dir=os.getcwd(), OPENBLAS_NUM_THREADS="1"))


def train(*args):
    process = start("train", "--solver=solver.prototxt", "--threads=1", *args)
    out, err = process.communicate(timeout=120)
    return Result(subprocess.CompletedProcess(args, process.returncode, out, err))


def solvers(machine):
    """The processes of layrub there."""
    def name(pid):
        try:
            with open(f"/proc/{pid}/comm") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""
    return [int(pid) for pid in ip(f"netns pids {machine}").split() if name(pid) == "layrub"]


def sent():
    """Bytes that have passed the cable."""
    with_headers = ip(f"-n {NAMES[0]} -s link show {NAMES[0]}")
    return int(re.search(r"TX:.*\n\s*(\d+)", with_headers)[1])


class Machines(RanksTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            for command in SETUP:
                ip(command)
            subprocess.run(["unshare", "--uts", "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            cls.remove()
            raise unittest.SkipTest(f"no network namespaces here: {error} {getattr(error, 'stderr', '')}") from None

    @classmethod
    def tearDownClass(cls):
        cls.remove()
        super().tearDownClass()

    @staticmethod
    def remove():
        for machine in NAMES:
            subprocess.run(["ip", "netns", "delete", machine], capture_output=True, check=False)

    def setUp(self):
        super().setUp()
        os.chmod(write("agent", AGENT), 0o755)

    def long_training(self):
        """Returns mpirun, once all train."""
        write("long.prototxt", LONG)
        process = start("train", "--solver=long.prototxt")
        for line in process.stderr:
            if "Iteration 100" in line:
                return process
        self.fail(process.communicate()[1])

    def end_within(self, seconds):
        before = time.time()
        while any(map(solvers, NAMES)) and time.time() - before < seconds:
            time.sleep(0.1)
        self.assertEqual([[], []], list(map(solvers, NAMES)))

    def test_learn_the_bits_of_as_many_threads(self):
        write("solver.prototxt", SOLVER)
        self.assertEqual(0, run("train", "--solver=solver.prototxt", "--cpu_solvers=2", "--threads=1").code)
        os.rename("run_iter_4.caffemodel", "threads.caffemodel")
        before = sent()
        trained = train()
        self.assertEqual(0, trained.code, trained.last)
        self.assert_same("threads.caffemodel", "run_iter_4.caffemodel")
        self.assertGreater(sent() - before, 4 * os.path.getsize("threads.caffemodel"))

    def test_learn_the_bits_of_one_machine_that_divides_the_net(self):
        write("solver.prototxt", SOLVER)
        alone = mpirun(2, "train", "--solver=solver.prototxt", "--threads=1", "--partition=tofu")
        self.assertEqual(0, alone.code, alone.last)
        os.rename("run_iter_4.caffemodel", "alone.caffemodel")
        before = sent()
        trained = train("--partition=tofu")
        self.assertEqual(0, trained.code, trained.last)
        self.assert_same("alone.caffemodel", "run_iter_4.caffemodel")
        self.assertGreater(sent() - before, 1000)

    def test_end_within_ten_seconds_when_a_process_on_the_other_is_killed(self):
        process = self.long_training()
        os.kill(solvers(NAMES[1])[0], 9)
        self.end_within(10)
        err = process.communicate(timeout=30)[1]
        self.assertRegex(err, rf"process rank 1 with PID \d+ on node {ADDRESSES[1]} exited on signal 9")
        self.assertNotEqual(0, process.returncode)

    def test_end_within_twelve_seconds_when_the_cable_is_cut(self):
        process = self.long_training()
        ip(f"-n {NAMES[1]} link set {NAMES[1]} down")
        try:
            self.end_within(12)
        finally:
            ip(f"-n {NAMES[1]} link set {NAMES[1]} up")
        err = process.communicate(timeout=60)[1]  # mpirun waits for the other machine
        self.assertIn(f"layrub: solver 1 of 2 (on {NAMES[1]}) has not answered", err)
        self.assertNotEqual(0, process.returncode)


if __name__ == "__main__":
    unittest.main()
