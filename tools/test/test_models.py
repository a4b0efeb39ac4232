#!/usr/bin/env python3
"""Plans for the nets of models/ and for deep ones are accepted by the independent checker and within known bounds.
ctest has an entry for each test of Committed, and one for each other class."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../verify"))
from plan_files import read_graph, read_plan  # noqa: E402
from run_layrub import MIB, ROOT, generate, plan, strategies  # noqa: E402
from verify_plan import verify  # noqa: E402

from command_line import nightly, sample  # noqa: E402

# Device memory of the original Layrub in all, batch 32, in MB: ACM TACO 15(3), art. 37, 2018.
PAPER_MB = {34: 1257, 50: 1805, 302: 3448, 695: 5968, 1001: 7901, 1172: 9022, 1304: 9872, 1517: 11239}


MODELS = os.path.join(ROOT, "models")
NETS = sorted(name for name in os.listdir(MODELS) if os.path.isdir(os.path.join(MODELS, name)))


class ModelsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name


class Committed(ModelsTest):
    """test_NAME, for each folder of models/: every strategy has a valid plan; sampled: each strategy for some net."""

    def check(self, net):
        names = strategies()
        self.assertLessEqual({"keep", "hybrid"}, set(names))
        shape = ["--data_shape=1,28,28"] if net == "lenet" else []
        with open(os.path.join(MODELS, net, "train_val.prototxt"), encoding="utf-8") as file:
            text = file.read()
        model = os.path.join(self.folder, "net.prototxt")
        with open(model, "w", encoding="utf-8") as file:
            file.write(text + "placement { keep_gradients: true }")  # so that the floor is that of the dumped graph
        for strategy in sample(names, len(NETS), NETS.index(net)):
            with self.subTest(strategy=strategy):
                said, _ = plan(model, strategy, "--batch=2", f"--dump={self.folder}", *shape)
                graph = read_graph(f"{self.folder}/graph.txt")
                found = verify(graph, read_plan(f"{self.folder}/plan.txt", graph))
                self.assertEqual([], found["objections"])
                self.assertEqual(strategy, found["strategy"])
                self.assertEqual(said["device_peak_bytes"], found["device_bytes"])
                self.assertEqual(said["floor_bytes"], found["floor_bytes"])


for name in NETS:
    setattr(Committed, f"test_{name}", lambda self, net=name: self.check(net))


class Ladders(ModelsTest):

    def test_strategies_that_save_more_take_fewer_bytes(self):
        """vDNN offloads layers' inputs; SuperNeurons goes from liveness to caching to recomputation."""
        for net in sample(("alexnet", "vgg16", "googlenet", "resnet50"), 2):
            with self.subTest(net=net):
                model = os.path.join(MODELS, net, "train_val.prototxt")
                peaks = [plan(model, strategy, "--batch=32")[0]["device_peak_bytes"]
                         for strategy in ("keep", "liveness", "vdnn_conv", "vdnn_all")]
                self.assertEqual(sorted(peaks, reverse=True), peaks)
                for budget in (peaks[1], peaks[1] - 1):
                    said, _ = plan(model, "superneurons", "--batch=32", f"--device_memory={budget}")
                    self.assertEqual("fits", said["verdict"])
                    self.assertLessEqual(said["device_peak_bytes"], budget)
                    self.assertEqual(budget < peaks[1], said["host_peak_bytes"] > 0)


class Deep(ModelsTest):

    def test_hybrid_needs_no_more_than_the_original_layrub_at_any_depth(self):
        for depth, megabytes in sample(PAPER_MB.items(), 4):
            with self.subTest(depth=depth):
                said, _ = plan(generate(f"resnet{depth}", self.folder), "hybrid", "--batch=32")
                self.assertLessEqual(said["device_peak_bytes"], megabytes * 10 ** 6)

    def test_planning_takes_time_in_proportion_to_the_depth_and_little_memory(self):
        models = [generate(f"resnet{depth}", f"{self.folder}/{depth}") for depth in (302, 1517)]
        for strategy in sample(strategies(), 4):
            with self.subTest(strategy=strategy):
                shallow, deep = (plan(model, strategy)[1] for model in models)
                # Measured: 0.8 to 4.3 times as long for five times as many layers. Quadratic time would be 25 times as
                # long.
                self.assertLess(deep.cpu_seconds, 12 * shallow.cpu_seconds)
                self.assertLess(deep.rss_bytes, 1024 * MIB)

    def test_a_net_whose_state_is_larger_than_the_budget_fits_at_any_depth(self):
        said, _ = plan(generate("resnet1517", self.folder), "auto", "--batch=32", "--machine=k40", "--device_memory=2GiB")
        self.assertEqual("fits", said["verdict"])
        self.assertLessEqual(said["device_peak_bytes"], 2048 * MIB)
        self.assertGreater(said["persistent_bytes"], 1.8 * 2048 * MIB)
        self.assertTrue(said["transient_gradients"])
        self.assertLess(said["predicted_seconds"], 1.5 * said["keep_seconds"])

    @nightly
    def test_very_large_nets_are_searched_a_second_time_on_demand_only(self):
        model = generate("resnet", self.folder, "--blocks=3,60,2300,3")
        unasked, asked = (plan(model, "auto", *flags)[0] for flags in ((), ("--smallest_budget",)))
        self.assertIsNone(unasked["smallest_budget_bytes"])
        self.assertGreaterEqual(asked["smallest_budget_bytes"], asked["floor_bytes"])


if __name__ == "__main__":
    unittest.main()
