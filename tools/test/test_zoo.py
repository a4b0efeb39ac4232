#!/usr/bin/env python3
"""Trains small versions of the models of models/zoo/generate_model.py without a plan and close to the floor. The
weights must be the same, bit for bit.

  test_zoo.py                        all of them
  test_zoo.py squeezenet unet        these
"""
import filecmp
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

from command_line import SOURCE, run, write

# Model -> options that make it small, and flags for data whose shape no prototxt gives.
MODELS = {
    "alexnet": (["--batch=2"], []),
    "googlenet": (["--batch=2"], []),
    "vgg16": (["--batch=1", "--crop=64"], []),
    "resnet18": (["--batch=4", "--crop=64"], []),
    "resnet50": (["--batch=4", "--crop=64"], []),
    "wrn28_10": (["--batch=2"], []),
    "densenet121": (["--batch=2", "--crop=64"], []),
    "densenet169": (["--batch=2", "--crop=64"], []),
    "densenet201": (["--batch=2", "--crop=64"], []),
    "squeezenet": (["--batch=4", "--crop=99"], []),
    "mobilenet_v1": (["--batch=4", "--crop=64"], []),
    "mobilenet_v2": (["--batch=4", "--crop=64"], []),
    "shufflenet": (["--batch=4", "--crop=64"], []),
    "inception_v3": (["--batch=2", "--crop=107"], []),
    "inception_v4": (["--batch=2", "--crop=107"], []),
    "resnext50": (["--batch=4", "--crop=64"], []),
    "se_resnet50": (["--batch=4", "--crop=64"], []),
    "ssd300": (["--batch=1", "--data=dummy"], []),  # has objects; --synthetic would make images without any
    "fcn8s": (["--crop=64"], ["--data_shape=data:3,64,64,label:64,64"]),
    "unet": (["--crop=188"], ["--data_shape=data:1,188,188,label:4,4"]),
    "lstm": (["--batch=4", "--classes=500"], []),
    "captioner": (["--batch=4", "--classes=500"], []),
}
SOLVER = """
net: "train_val.prototxt"
base_lr: 0.001
lr_policy: "fixed"
momentum: 0.9
weight_decay: 0.0005
display: 1
max_iter: 2
random_seed: 1
solver_mode: CPU
"""


class Zoo(unittest.TestCase):
    names = list(MODELS)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, "/")
        os.chdir(folder.name)

    def layrub(self, *arguments):
        done = run(*arguments)
        self.assertEqual(0, done.code, done.last)
        return done

    def plan(self, strategy, *flags):
        said = self.layrub("plan", "--solver=solver.prototxt", f"--placement={strategy}", "--format=json", *flags)
        return json.loads(said.out)

    def train(self, strategy, *flags):
        """(losses, summary) of two iterations."""
        write(f"{strategy}.prototxt", SOLVER + f'snapshot_prefix: "{strategy}"\n')
        done = self.layrub("train", f"--solver={strategy}.prototxt", f"--placement={strategy}", "--synthetic",
                           "--deterministic", f"--json_summary={strategy}.json", *flags)
        with open(f"{strategy}.json") as file:
            return re.findall(r"Iteration \d.* loss = (\S+)", done.err), json.load(file)

    def generate(self, name):
        script = os.path.join(SOURCE, "models/zoo/generate_model.py")
        subprocess.run([sys.executable, script, name, "--out=.", "--test-batch=1", *MODELS[name][0]], check=True)
        write("solver.prototxt", SOLVER)

    def test_weights_and_scores_are_the_same_close_to_the_floor(self):
        for name in self.names:
            with self.subTest(model=name):
                self.generate(name)
                flags = MODELS[name][1]
                floor = self.plan("keep", *flags)["floor_bytes"]
                losses, kept = self.train("keep", *flags)
                self.assertTrue(all(math.isfinite(float(loss)) for loss in losses), losses)
                self.assertGreater(len(set(losses)), 1)
                close = int(min(1.1 * floor, (floor + kept["planned_device_bytes"]) / 2))
                for strategy in ("hybrid", "auto"):
                    budget = max(close, self.plan(strategy, *flags)["smallest_budget_bytes"])
                    planned_losses, planned = self.train(strategy, f"--device_memory={budget}", *flags)
                    self.assertEqual(losses, planned_losses)
                    self.assertLessEqual(planned["planned_device_bytes"], budget)
                    for ending in ("caffemodel", "solverstate"):
                        self.check_same(f"keep_iter_2.{ending}", f"{strategy}_iter_2.{ending}")
                    print(f"{name}: {strategy} within {budget / floor:.2f} of the floor, {floor / 2 ** 20:.1f} MiB; "
                          f"keep takes {kept['planned_device_bytes'] / floor:.2f}", flush=True)
                scores = [self.score(strategy, *flags) for strategy in ("keep", "hybrid")]
                self.assertTrue(scores[0])
                self.assertEqual(*scores)

    def check_same(self, kept, planned):
        """Compares two snapshots, and removes the second."""
        if not filecmp.cmp(kept, planned, shallow=False):
            self.layrub("diff", kept, planned)
        os.unlink(planned)

    def test_every_model_is_a_ctest_entry(self):
        with open(os.path.join(SOURCE, "tools/test/CMakeLists.txt")) as file:
            lists = re.findall(r"set\((?:small|large) ([^)]*)\)", file.read())
        self.assertEqual(sorted(MODELS), sorted(" ".join(lists).split()))

    def score(self, strategy, *flags):
        """The scores of a pass of the test net with the trained weights."""
        done = self.layrub("test", "--model=train_val.prototxt", "--weights=keep_iter_2.caffemodel", "--iterations=1",
                           f"--placement={strategy}", "--synthetic", *flags)
        return re.findall(r"\] (\S+ = \S+|Loss: \S+)", done.err)


if __name__ == "__main__":
    asked = sys.argv[1:]
    for word in asked:
        if word not in MODELS:
            sys.exit(f"test_zoo.py: there is no model '{word}'; there are {', '.join(MODELS)}")
    Zoo.names = asked or Zoo.names
    unittest.main(argv=sys.argv[:1])
