#!/usr/bin/env python3
"""Programs under a limit of the address space (ulimit -v) work, or say in one sentence that it is too low. None waits
for memory for ever."""
import os
import resource
import subprocess
import unittest

from command_line import BIN, DigitsTest, Result

MIB = 1 << 20
LIMITS = [450, 500, 550, 600, 650, 700, 800, 1000, 1500, 3000]


def run_within(mebibytes, *args, **environment):
    limit = mebibytes * MIB
    env = dict(os.environ, GLOG_log_dir=os.getcwd(), **environment)
    done = subprocess.run([os.path.join(BIN, "layrub"), *args], capture_output=True, text=True, timeout=60, env=env,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    return Result(done)


class AddressSpace(DigitsTest):
    def setUp(self):
        super().setUp()
        os.environ.pop("OPENBLAS_NUM_THREADS", None)
        if b"__asan_init" in subprocess.run(["strings", os.path.join(BIN, "layrub")], capture_output=True).stdout:
            self.skipTest("the address sanitizer needs terabytes of addresses")

    def ends(self, result, what):
        """Expects exit code 0 or one sentence."""
        if result.code == 0:
            return True
        if result.code == 127 and "error while loading shared libraries" in result.err:
            return False  # a message of the dynamic loader
        with self.subTest(what):
            self.fails(result, "(?i)out of memory|address space|memory cannot be allocated|bad_alloc|thread")
        return False

    def test_planning_needs_no_address_space_for_blas(self):
        worked = [self.ends(run_within(limit, "plan", "--solver=solver.prototxt"), f"plan within {limit} MiB")
                  for limit in LIMITS]
        self.assertTrue(all(worked[i] <= worked[i + 1] for i in range(len(worked) - 1)), worked)
        self.assertTrue(worked[LIMITS.index(600)], worked)

    def test_training_works_or_names_the_limit(self):
        worked = [self.ends(run_within(limit, "train", "--solver=solver.prototxt"), f"train within {limit} MiB")
                  for limit in LIMITS]
        self.assertTrue(worked[-1], worked)

    def test_more_threads_than_fit_are_refused(self):
        result = run_within(450, "plan", "--solver=solver.prototxt", OPENBLAS_NUM_THREADS="2")
        if os.cpu_count() < 2:
            self.skipTest("OpenBLAS has one thread on this machine's one processor")
        self.assertEqual(1, result.code, result.last)
        self.assertRegex(result.err, r"^layrub: The address space .* limited to 450\.0 MiB \(ulimit -v\).*"
                                     r"OPENBLAS_NUM_THREADS=1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
