"""Helpers for tests of the command line. The programs are in the folder that the environment variable LAYRUB_BIN_DIR
names, by default build/bin."""
import concurrent.futures
import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.abspath(os.environ.get("LAYRUB_BIN_DIR", os.path.join(SOURCE, "build/bin")))
# Whether to run only a sample of each test; the nightly tier runs everything (docs/testing.md).
SAMPLED = "LAYRUB_SAMPLE" in os.environ
nightly = unittest.skipIf(SAMPLED, "only in the nightly tier")
SOLVER = """
net: "examples/digits/train_test.prototxt"
test_iter: 1
test_interval: 4
base_lr: 0.05
momentum: 0.9
lr_policy: "fixed"
display: 2
max_iter: 4
snapshot_prefix: "run"
solver_mode: CPU
random_seed: 1
"""
# Trains in milliseconds, with the same result each time.
TINY_NET = """
name: "tiny"
layer { name: "data" type: "DummyData" top: "x" top: "t" dummy_data_param {
    shape { dim: 2 dim: 3 } shape { dim: 2 dim: 2 }
    data_filler { type: "constant" value: 1 } data_filler { type: "constant" value: 0.5 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
        inner_product_param { num_output: 2 weight_filler { type: "constant" value: 0.25 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "loss" }
"""


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.last = "\n".join(done.stderr.splitlines()[-5:])  # for messages of failed tests


def run(*args, program="layrub"):
    env = dict(os.environ, GLOG_log_dir=os.getcwd())
    done = subprocess.run([os.path.join(BIN, program), *args], capture_output=True, text=True, timeout=120, env=env)
    return Result(done)


def sample(things, step, first=0):
    """The things as a list. If SAMPLED, only every `step`-th, from number `first` on."""
    return list(things)[first::step] if SAMPLED else list(things)


def at_once(function, things):
    """[function(thing), ...], several calls at a time, for programs that wait more than they compute."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(function, things))


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def without_onednn(path):
    """The prototxt in a file, with convolutions that never use oneDNN, so that all builds give the same figures."""
    with open(path) as file:
        return re.sub(r"\bconvolution_param *\{", r"\g<0> engine: CAFFE", file.read())


class DigitsTest(unittest.TestCase):
    """Every test starts in its own folder, which has the digits example with its databases."""

    @classmethod
    def setUpClass(cls):
        cls.digits = tempfile.mkdtemp()
        with gzip.open(os.path.join(SOURCE, "examples/digits/digits.csv.gz"), "rb") as packed:
            with open(os.path.join(cls.digits, "digits.csv"), "wb") as csv:
                shutil.copyfileobj(packed, csv)
        done = run(os.path.join(cls.digits, "digits.csv"), cls.digits, program="convert_digits")
        assert done.code == 0, done.err
        for name in ("train_test.prototxt", "solver.prototxt"):
            shutil.copy(os.path.join(SOURCE, "examples/digits", name), cls.digits)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.digits)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chdir(self.folder)
        shutil.copytree(self.digits, "examples/digits")
        write("solver.prototxt", SOLVER)

    def tearDown(self):
        os.chdir("/")
        shutil.rmtree(self.folder)

    def fails(self, result, pattern, code=1):
        """Expects that the program failed with a message of one line, and without signs of a crash."""
        self.assertEqual(code, result.code, result.last)
        self.assertRegex(result.last, pattern)
        self.assertNotIn("stack trace", result.last)
        self.assertNotIn("    @", result.last)
        said = [line for line in result.err.splitlines() if line.startswith(("F", "layrub: ", "ERROR: "))]
        self.assertEqual(1, len(said), result.last)

    @staticmethod
    def leave_out_onednn():
        net = "examples/digits/train_test.prototxt"
        write(net, without_onednn(net))

    def plan(self, *args):
        result = run("plan", "--format=json", *args)
        self.assertIn(result.code, (0, 2), result.last)
        return json.loads(result.out)

    def train(self, *args):
        result = run("train", "--solver=solver.prototxt", "--json_summary=summary.json", *args)
        self.assertEqual(0, result.code, result.last)
        with open("summary.json") as file:
            return json.load(file), result
