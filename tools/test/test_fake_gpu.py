#!/usr/bin/env python3
"""Programs on a fake GPU (docs/gpu.md): training with cuBLAS and cuDNN, several GPUs, and failures of every call."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from command_line import BIN, SAMPLED, SOURCE, Result, sample, write

sys.path.insert(0, os.path.join(SOURCE, "tools/python"))
import run_layrub  # noqa: E402

FAKE = (glob.glob(os.path.join(BIN, "../*/fake_gpu/libcaffe.so.*")) or [""])[0]
NETS = os.path.join(SOURCE, "src/caffe/net/test/nets")


def run(gpu, *args):
    """Runs the program on the fake GPU that `gpu`, the value of LAYRUB_FAKE_GPU, describes."""
    env = dict(os.environ, GLOG_log_dir=os.getcwd(), LD_PRELOAD=FAKE, LAYRUB_FAKE_GPU=gpu, XDG_CACHE_HOME=os.getcwd(),
               OPENBLAS_NUM_THREADS="1")
    return Result(subprocess.run([os.path.join(BIN, "layrub"), *args], capture_output=True, text=True, timeout=120,
                                 env=env))


@unittest.skipUnless(FAKE, "there is no library with a fake GPU: its build needs CUDA's headers")
class FakeGpuTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)

    def solver(self, net, iterations=3, fields=""):
        return "--solver=" + write("solver.prototxt", f"""
            net: "{NETS}/{net}.prototxt" base_lr: 0.01 momentum: 0.9 weight_decay: 0.001 lr_policy: "fixed" {fields}
            max_iter: {iterations} display: 1 random_seed: 1701 snapshot_prefix: "run" """)

    def losses(self, result):
        self.assertEqual(0, result.code, result.last)
        found = [float(loss) for loss in re.findall(r"Iteration \d+.*, loss = (\S+)", result.err)]
        self.assertGreater(len(found), 1, result.last)
        return found


class Training(FakeGpuTest):
    def test_the_device_is_described(self):
        result = run("devices=2", "device_query", "--gpu=1")
        self.assertEqual(0, result.code, result.last)
        self.assertIn("Fake 1", result.out)

    def test_a_fake_gpu_that_computes_nothing_still_trains(self):
        result = run("idle,pace=early", "train", self.solver("lenet"), "--gpu=0", "--placement=keep", "--deterministic")
        self.assertEqual({0.0}, set(self.losses(result)))

    def test_a_plan_uses_the_data_sheet_of_a_known_gpu(self):
        model = f"--model={NETS}/lenet.prototxt"
        for gpu, says in (("7", "--gpu=7: there is no GPU 7 here to plan for; --machine names the kind"),
                          ("1", "--gpu=1: Fake 1 is not a known machine; name a similar one")):
            for command in ("plan", "compare"):
                result = run("devices=2", command, model, f"--gpu={gpu}")
                self.assertEqual(1, result.code, result.err)
                self.assertIn(says, result.last)
        self.assertIn("h200", run("devices=2", "plan", model, "--gpu=0,1", "--machine=h200").out)

    def test_losses_are_those_of_the_cpu(self):
        solver = self.solver("mini_alexnet")
        on_gpu = self.losses(run("seed=1", "train", solver, "--gpu=0", "--machine=h200"))
        on_cpu = self.losses(run("seed=1", "train", solver))
        for a, b in zip(on_gpu, on_cpu):
            self.assertAlmostEqual(a, b, delta=1e-3 * abs(b))

    def test_every_strategy_gives_the_bits_of_keep_with_cudnn(self):
        for number, net in enumerate(("mini_alexnet", "mini_resnet")):
            strategies = sample(run_layrub.strategies(), 2, number)
            with self.subTest(net=net):
                result = run("pace=random,seed=7", "train", self.solver(net), "--gpu=0", "--machine=h200",
                             "--deterministic", f"--placement={','.join(strategies)}", "--verify_placement=3")
                self.assertEqual(0, result.code, result.last)
                verified = re.findall(r"^(\w+): Placement verified", result.out, re.MULTILINE)
                self.assertEqual(strategies, verified)

    def test_measured_algorithms_give_the_bits_of_keep(self):
        profile = run("seed=1", "time", f"--model={NETS}/mini_alexnet.prototxt", "--iterations=1", "--gpu=0",
                      "--profile=machine.json")
        self.assertEqual(0, profile.code, profile.last)
        kept = glob.glob("layrub/algorithms-*.json")
        self.assertEqual(1, len(kept), profile.last)
        with open(kept[0]) as file:
            self.assertIn("winograd", file.read())
        result = run("seed=2", "train", self.solver("mini_alexnet"), "--gpu=0", "--machine=machine.json",
                     "--deterministic", "--placement=hybrid", "--verify_placement=2")
        self.assertEqual(0, result.code, result.last)

    def test_the_host_does_not_access_device_memory(self):
        self.losses(run("protect", "train", self.solver("mini_alexnet", 1), "--gpu=0", "--machine=h200"))

    def test_two_gpus_learn_together_by_nccl(self):
        solver = self.solver("mini_alexnet")
        first = run("devices=2,seed=1", "train", solver, "--gpu=0,1", "--machine=h200", "--placement=hybrid")
        self.assertIn("exchange values by NCCL", first.err)
        again = run("devices=2,seed=5", "train", solver, "--gpu=all", "--machine=h200", "--placement=hybrid")
        self.assertEqual(self.losses(first), self.losses(again))

    def test_a_net_divided_among_gpus_learns_as_one(self):
        for net, partition in (("mini_resnet", "data"), ("mini_resnet", "tofu"), ("mini_alexnet", "chop")):
            with self.subTest(net=net, partition=partition):
                solver = self.solver(net, fields="clip_gradients: 1")
                whole = self.losses(run("seed=1", "train", solver))
                flags = ("train", solver, "--gpu=0,1", "--machine=h200", f"--partition={partition}")
                first = run("devices=2,seed=1,pace=random,protect", *flags, "--report=report")
                self.assertIn("divided among 2 GPUs", first.err)
                self.assertEqual(len(whole), len(self.losses(first)), "only the first device writes the log")
                for a, b in zip(self.losses(first), whole):
                    self.assertAlmostEqual(a, b, delta=1e-3 * abs(b))
                again = run("devices=2,seed=5,pace=random", *flags, "--placement=superneurons")
                self.assertEqual(self.losses(first), self.losses(again))

    def test_the_budget_that_is_named_suffices_for_a_divided_net(self):
        solver = self.solver("lenet", fields="test_iter: 1 test_interval: 2")
        for partition in ("tofu", "auto"):
            with self.subTest(partition=partition):
                flags = ("train", solver, "--gpu=0,1", "--machine=h200", f"--partition={partition}")
                refused = run("devices=2", *flags, "--device_memory=521MiB")
                self.assertEqual(2, refused.code, refused.last)
                named = re.search(r"--device_memory=\d+", refused.last).group()
                self.losses(run("devices=2", *flags, named))

    def test_plans_leave_the_memory_that_nccl_needs(self):
        flags = ["train", self.solver("mini_alexnet", 1), "--machine=h200", "--json_summary=usage.json"]
        overhead = {}
        for gpus in ["0", "0,1"]:
            self.losses(run("devices=2", *flags, f"--gpu={gpus}"))
            with open("usage.json") as file:
                overhead[gpus] = json.load(file)["device_overhead_bytes"]
        self.assertEqual(3 << 20, overhead["0,1"] - overhead["0"])

    def test_a_device_that_is_too_small_is_reported_before_training(self):
        result = run("mib=4", "train", self.solver("mini_alexnet"), "--gpu=0", "--machine=h200")
        self.assertNotEqual(0, result.code)
        self.assertNotIn("Iteration 0", result.err)


class FailingCalls(FakeGpuTest):
    def test_each_fault_gives_one_message_or_does_no_harm(self):
        self.check("pace=early", "--gpu=0", "--placement=hybrid")

    def test_each_fault_of_a_divided_net_does_so_too(self):
        self.check("pace=early,devices=2", "--gpu=0,1", "--partition=tofu")

    def check(self, gpus, *more):
        solver = self.solver("mini_alexnet", 2, "clip_gradients: 1 snapshot_after_train: false")
        flags = ["train", solver, "--machine=h200", *more]
        failed, n = 0, 1
        while True:
            with self.subTest(call=n):
                result = run(f"{gpus},fail={n}", *flags)
                messages = [line for line in result.err.splitlines()
                            if re.match(r"F\d{4} |F\d{8} |layrub: ", line)]
                self.assertIn(result.code, (0, 1), result.last)
                self.assertEqual(result.code, len(messages), result.last)
                if result.code:
                    self.assertRegex(messages[0], r"cuda|cublas|cuDNN|cudnn|CUDNN|kernel|GPU", result.last)
                failed += result.code
            if result.code == 0 and "Optimization Done" in result.err and n > 1000:
                break
            n += 1 + (n if SAMPLED else n // 3)
        self.assertGreater(failed, 6 if SAMPLED else 15)


if __name__ == "__main__":
    unittest.main()
