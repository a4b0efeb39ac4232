#!/usr/bin/env python3
"""Planning and training in which one allocation, or one access to the spill file, fails. The program must end with one
sentence and exit code 1, or succeed (if it can free memory and try again)."""
import os
import shutil
import subprocess
import tempfile
import unittest

from command_line import BIN, Result, write

FAULTS = os.path.join(BIN, "faults", "libmemory_faults.so")
NET = """
layer { name: "data" type: "DummyData" top: "data" top: "label"
        dummy_data_param { shape { dim: 64 dim: 1 dim: 16 dim: 16 } shape { dim: 64 }
                           data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 1 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
        convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
        convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "pool" type: "Pooling" bottom: "conv2" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
        inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """
net: "net.prototxt" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" max_iter: 3 snapshot_prefix: "run"
solver_mode: CPU random_seed: 3
"""
TRAIN = ["train", "--solver=solver.prototxt", "--deterministic"]
RUNS = {
    "plan": ["plan", "--solver=solver.prototxt"],
    "keep": TRAIN + ["--placement=keep"],
    "sqrt": TRAIN + ["--placement=sqrt"],
    "hybrid": TRAIN + ["--placement=hybrid"],
    "vdnn_all": TRAIN + ["--placement=vdnn_all"],
    "spill": TRAIN + ["--placement=vdnn_all", "--host_memory=200KiB", "--spill_file=spilled"],
}
MEMORY = "(?i)memory"
SPILLED = r"spill file spilled.*: (No space left on device|Input/output error)"


def spread(count, most):
    """Calls 1 to `count`, or `most` of them: the first ones, and then at growing distances."""
    if count <= most:
        return range(1, count + 1)
    return sorted({round(count ** (i / (most - 1))) for i in range(most)})


@unittest.skipUnless(os.path.exists(FAULTS), "the library that lets calls fail was not built")
class MemoryFaults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chdir(self.folder)
        os.mkdir("spilled")
        write("net.prototxt", NET)
        write("solver.prototxt", SOLVER)

    def tearDown(self):
        os.chdir("/")
        shutil.rmtree(self.folder)

    def run_with(self, args, **environment):
        env = dict(os.environ, GLOG_log_dir=self.folder, OPENBLAS_NUM_THREADS="1", LD_PRELOAD=FAULTS, **environment)
        done = subprocess.run([os.path.join(BIN, "layrub"), *args], capture_output=True, text=True, timeout=60, env=env)
        return Result(done)

    def weights(self):
        with open("run_iter_3.caffemodel", "rb") as file:
            return file.read()

    def counts(self, args):
        result = self.run_with(args, MEMORY_FAULT_COUNTS="counts")
        self.assertEqual(0, result.code, result.last)
        with open("counts") as file:
            return {kind: int(calls) for kind, calls in (line.split() for line in file)}

    def check(self, name, kinds, pattern, most, error=12):
        counts = self.counts(RUNS[name])
        expected = None if name == "plan" else self.weights()
        failed = 0
        for kind in kinds:
            for call in spread(counts[kind], most):
                for file in [f for f in os.listdir() if f.startswith("run_iter")]:
                    os.remove(file)
                result = self.run_with(RUNS[name], MEMORY_FAULT=f"{kind}:{call}:{error}")
                with self.subTest(f"{name}: {kind} {call} of {counts[kind]}"):
                    self.assertIn(result.code, (0, 1), result.err[-2000:])
                    if result.code == 0:
                        self.assertEqual(expected, None if name == "plan" else self.weights())
                        continue
                    failed += 1
                    self.assertRegex(result.last, pattern)
                    for trace in ("terminate called", "stack trace", "    @"):
                        self.assertNotIn(trace, result.err)
                    said = [line for line in result.err.splitlines() if line.startswith(("F", "layrub: "))]
                    self.assertEqual(1, len(said), result.last)
                    self.assertEqual([], os.listdir("spilled"))
        return counts, failed

    def test_failing_allocations_of_arenas_and_pools_are_reported(self):
        for name in RUNS:
            counts, failed = self.check(name, ["large"], MEMORY, 25)
            self.assertEqual(failed > 0, counts["large"] > 0, name)

    def test_any_failing_allocation_is_reported(self):
        for name in ("plan", "spill"):
            _, failed = self.check(name, ["new"], MEMORY, 24)
            self.assertGreater(failed, 10)

    def test_errors_of_a_spill_file_are_reported(self):
        for kinds, error in ((["reserve", "write"], 28), (["write", "read"], 5)):
            counts, failed = self.check("spill", kinds, SPILLED, 12, error)
            self.assertGreater(min(counts[kind] for kind in kinds), 0)
            self.assertGreater(failed, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
