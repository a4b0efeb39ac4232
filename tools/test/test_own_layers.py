#!/usr/bin/env python3
"""Layers of users from a library that --load names."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from command_line import BIN, run, write

LIBRARY = os.path.join(BIN, "own_layers/own_layer.so")
OWN_TYPES = os.path.join(BIN, "own_layers/own_types.so")
DERIVED = os.path.join(BIN, "own_layers/derived_layers.so")
FAILING = os.path.join(BIN, "own_layers/failing_library.so")
NET = """layer { name: "x" type: "DummyData" top: "x" top: "t" dummy_data_param { shape { dim: 4 dim: 3 }
  data_filler { type: "gaussian" } } }
layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "b" bottom: "a" top: "b" %s }
layer { name: "l" type: "EuclideanLoss" bottom: "b" bottom: "t" top: "l" }
"""
SOLVER = 'net: "%s" base_lr: 0.1 lr_policy: "fixed" momentum: 0.9 max_iter: 5 random_seed: 1 snapshot_prefix: "%s" solver_mode: CPU'


class OwnLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(os.chdir, "/")
        os.chdir(folder)
        write("own.prototxt", NET % 'type: "MyDoubler"')
        write("ours.prototxt", NET % 'type: "Power" power_param { scale: 2 }')
        for name in ("own", "ours"):
            write(name + ".solver", SOLVER % (name + ".prototxt", name))

    def test_train_with_the_values_of_a_layer_that_does_the_same(self):
        shutil.copy(LIBRARY, "own_layer.so")
        self.assertEqual(0, run("train", "--solver=own.solver", "--load=own_layer.so").code)
        self.assertEqual(0, run("train", "--solver=ours.solver").code)
        same = run("diff", "own_iter_5.caffemodel", "ours_iter_5.caffemodel")
        self.assertIn("weights bit-equal: yes", same.out)

    def solver(self, name, layer):
        write(name + ".prototxt", NET % layer)
        return "--solver=" + write(name + ".solver", SOLVER % (name + ".prototxt", name))

    def test_with_the_types_and_class_names_of_library_layers_replace_them(self):
        ours = self.solver("ours", 'type: "Power" power_param { scale: 2 }')
        self.assertEqual(0, run("train", ours).code)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libraries/own_types.cpp")) as source:
            types = re.findall(r"^OWN_TYPE\((\w+)\)", source.read(), re.M)
        for each in types:
            with self.subTest(each):
                done = run("train", self.solver("own", f'type: "{each}"'), "--load=" + OWN_TYPES)
                self.assertEqual(0, done.code, done.last)
                self.assertIn(f"Layers of type {each} are the program's own", done.err)
                same = run("diff", "own_iter_5.caffemodel", "ours_iter_5.caffemodel")
                self.assertIn("weights bit-equal: yes", same.out)

    def test_use_the_registry_of_the_program(self):
        symbols = subprocess.run(["nm", "-DC", OWN_TYPES], capture_output=True, text=True, check=True).stdout
        self.assertRegex(symbols, r"\bU caffe::LayerRegistry<float>::AddCreator")
        self.assertNotRegex(symbols, r"(?m)^[0-9a-f]+ . .*caffe::(LayerRegistry|SolverRegistry)<")

    def test_may_be_derived_from_library_layers(self):
        for own, ours in (('type: "MyProduct" inner_product_param { num_output: 3 }',
                           'type: "InnerProduct" inner_product_param { num_output: 3 }'),
                          ('type: "Normalize" norm_param { across_spatial: true channel_shared: false }',) * 2):
            with self.subTest(own):
                self.assertEqual(0, run("train", self.solver("ours", ours)).code)
                done = run("train", self.solver("own", own), "--load=" + DERIVED)
                self.assertEqual(0, done.code, done.last)
                same = run("diff", "own_iter_5.caffemodel", "ours_iter_5.caffemodel")
                self.assertIn("weights bit-equal: yes", same.out)

    def test_exceptions_that_they_throw_are_reported(self):
        done = run("train", self.solver("own", 'type: "Throwing"'), "--load=" + DERIVED)
        self.assertEqual(1, done.code)
        self.assertIn("the layer threw this", done.last)

    def test_are_known_to_each_command_that_reads_a_net(self):
        for command in ("plan", "compare", "time"):
            flags = ["--iterations=1"] if command == "time" else []
            done = run(command, "--model=own.prototxt", "--load=" + LIBRARY, *flags)
            self.assertEqual(0, done.code, done.last)

    def test_are_named_if_they_are_missing(self):
        done = run("train", "--solver=own.solver")
        self.assertEqual(1, done.code)
        self.assertRegex(done.err, "unknown layer type: MyDoubler(.|\\n)*--load=my_layers.so")

    def test_a_library_that_cannot_be_loaded_is_named(self):
        write("text.so", "no library")
        os.mkfifo("pipe.so")
        os.mkdir("folder.so")
        shutil.copy(FAILING, "failing.so")
        for name in ("none.so", "text.so"):
            done = run("train", "--solver=own.solver", "--load=" + LIBRARY + "," + name)
            self.assertEqual(1, done.code)
            self.assertRegex(done.last, f"layrub: --load=.*: {name} cannot be loaded: .*{name}")
        for name, why in (("pipe.so", "it is no regular file"), ("folder.so", "it is no regular file"),
                          ("failing.so", "its initialization code has failed: this library never loads")):
            done = run("train", "--solver=own.solver", "--load=" + name)
            self.assertEqual((1, f"layrub: --load={name}: {name} cannot be loaded: {why}"), (done.code, done.last))
        shutil.copy(LIBRARY, "twice.so")  # another file, the same types
        done = run("train", "--solver=own.solver", "--load=" + LIBRARY + ",twice.so")
        self.assertEqual(1, done.code)
        self.assertRegex(done.last, "layrub: --load=.*: twice.so cannot be loaded: .*MyDoubler already registered")

    def test_a_list_is_one_flag_without_empty_names(self):
        for load in (LIBRARY + ",", "," + LIBRARY):
            done = run("train", "--solver=own.solver", "--load=" + load)
            self.assertEqual((1, f"layrub: --load={load}: a name in the list is empty."), (done.code, done.last))
        for flag in ("load", "weights", "stage", "data_shape", "debug", "top_shape", "gpu", "device_memory", "partition"):
            for given in ([f"--{flag}=a", f"--{flag}=b"], [f"--{flag}", "a", f"-{flag}=b"]):
                done = run("compare", *given)
                self.assertEqual((1, f"layrub: --{flag} is given twice, but holds a list: join the values with a comma, "
                                     f"as in --{flag}=a,b."), (done.code, done.last))

    def test_the_last_of_a_flag_without_a_list_counts(self):
        done = run("plan", "--model=own.prototxt", "--load=" + LIBRARY, "--device_memory=1GiB", "--device_memory=a")
        self.assertEqual(1, done.code)
        self.assertIn("device_memory: 'a' is not a size", done.err)

    def test_libraries_that_lack_a_type_are_named(self):
        solver = self.solver("own", 'type: "MyTripler"')
        for command in (("train", solver), ("plan", "--model=own.prototxt")):
            done = run(*command, "--load=" + LIBRARY)
            self.assertEqual(1, done.code)
            self.assertIn(f"The library {LIBRARY} is loaded, and registers no such type (REGISTER_LAYER_CLASS does).", done.err)
        done = run("train", solver, "--load=" + LIBRARY + "," + DERIVED)
        self.assertIn(f"The libraries {LIBRARY}, {DERIVED} are loaded, and register no such type", done.err)


if __name__ == "__main__":
    unittest.main()
