#!/usr/bin/env python3
"""Gives layrub unusable input. It must report it in one clear message and must not lose data."""
import os
import re
import resource
import shutil
import subprocess
import unittest

from command_line import BIN, SOLVER, DigitsTest, run, write

INPUT = 'layer { name: "in" type: "Input" top: "x" input_param { shape { %s } } }\n'
IMAGE = INPUT % "dim: 2 dim: 3 dim: 8 dim: 8"


def layer(kind, more="", top="y"):
    return 'layer { name: "lay" type: "%s" bottom: "x" top: "%s" %s }\n' % (kind, top, more)


def conv(param):
    return IMAGE + layer("Convolution", "convolution_param { %s }" % param)


# Invalid nets, and patterns for the message.
NETS = [
    (INPUT % "dim: 65536 dim: 32768", "size exceeds INT_MAX", "layer in "),
    (INPUT % "dim: 2147483647 dim: 2147483647 dim: 2147483647", "size exceeds INT_MAX", "layer in "),
    (INPUT % "dim: 1099511627776", "size exceeds INT_MAX", "layer in "),
    (INPUT % "dim: -1099511627776", "negative", "layer in "),
    (INPUT % ("dim: 1 " * 40), "at most 32 axes", "layer in "),
    (conv("num_output: 0 kernel_size: 3"), "num_output must be 1 to", "Layer lay"),
    (conv("num_output: 4000000000 kernel_size: 3"), "num_output must be 1 to", "Layer lay"),
    (conv("num_output: 2000000000 kernel_size: 3"), "size exceeds INT_MAX", "layer lay "),
    (conv("num_output: 4 kernel_size: 30"), "the kernel does not fit", "Layer lay"),
    (conv("num_output: 4"), "kernel_size .* is missing", "Layer lay"),
    (conv("num_output: 4 kernel_size: 3 kernel_h: 3"), "kernel_size or kernel_h/kernel_w", "Layer lay"),
    (conv("num_output: 4 kernel_size: 3 pad: 2000000000"), "does not fit", "Layer lay"),
    (conv("num_output: 4 kernel_size: 3 pad: -1"), "net.prototxt:2:", "Expected integer"),
    (conv('num_output: 4 kernel_size: 3 weight_filler { type: "xaver" }'), "Unknown filler name: xaver", "Layer lay"),
    (IMAGE + layer("InnerProduct", "inner_product_param { num_output: 2 axis: 9 }"), "axis 9 out of range", "layer lay "),
    (IMAGE + layer("InnerProduct", "inner_product_param { num_output: 2000000000 }"), "INT_MAX", "layer lay "),
    (IMAGE + layer("Pooling", "pooling_param { kernel_size: 2 stride: 2 }", top="x"), "in place", "Layer lay"),
    (IMAGE + layer("ReLU") + layer("TanH"), "'y' produced by multiple sources", "layer lay"),
    (INPUT % "dim: 2 dim: 0" + layer("InnerProduct", "inner_product_param { num_output: 2 }"),
     "A constant filler was given an empty blob of shape 2 0 ", "layer lay "),
    ("", "net.prototxt: there is no layer in it"),
    (IMAGE + 'placement { keep: "nothere" }', "keep names blob 'nothere'"),
    (IMAGE + 'placement { strategy: "hybird" }', "strategy 'hybird'.*hybrid"),
]


class BadInput(DigitsTest):
    def test_mistakes_in_prototxts_are_named_with_their_line(self):
        write("bad.prototxt", 'net: "x"\nbase_lr: 0.1\nbase_rate: 2\n')
        self.fails(run("train", "--solver=bad.prototxt"), r"bad\.prototxt:3.*base_rate")
        write("bad.prototxt", 'name: "x"\nlayer {\n  name: "a"\n  typo: "ReLU"\n}\n')
        for command in ("time", "plan"):
            self.fails(run(command, "--model=bad.prototxt"), r"bad\.prototxt:4.*typo")

    def test_mistakes_in_solvers_are_reported_with_their_lines_before_training(self):
        write("bad.prototxt", SOLVER.replace('"fixed"', '"fixd"').replace("test_interval: 4", "iter_size: 0"))
        for command in ("train", "plan", "compare"):
            result = run(command, "--solver=bad.prototxt")
            self.fails(result, r'The solver has 3 problems:\n'
                               r'bad\.prototxt: test_interval must be set.*\n'
                               r'bad\.prototxt:4: iter_size should be at least 1\.\n'
                               r'bad\.prototxt:7: Unknown learning rate policy: "fixd"; did you mean "fixed"\?')
            self.assertNotIn("Initializing net", result.err)

    def test_missing_files_are_named(self):
        self.fails(run("train", "--solver=none.prototxt"), "none.prototxt")
        self.fails(run("time", "--model=none.prototxt"), "none.prototxt")
        # A path in a solver is relative to the folder that the program runs in.
        os.mkdir("folder")
        write("folder/solver.prototxt", 'net: "nets/none.prototxt" base_lr: 0.1 lr_policy: "fixed"')
        self.fails(run("train", "--solver=folder/solver.prototxt"),
                   re.escape(f"folder/solver.prototxt:1: File not found: nets/none.prototxt (looked in {os.getcwd()})"))
        self.fails(run("train", "--solver=solver.prototxt", "--snapshot=none.solverstate"), "none.solverstate")
        self.fails(run("train", "--solver=solver.prototxt", "--weights=none.caffemodel"), "none.caffemodel")
        self.fails(run("diff", "a.caffemodel", "b.caffemodel"), "a.caffemodel")
        shutil.rmtree("examples/digits/digits_train_lmdb")
        self.fails(run("train", "--solver=solver.prototxt"), "digits_train_lmdb")

    def test_corrupt_files_are_named(self):
        write("bad.caffemodel", "this is not a model " * 20)
        self.fails(run("train", "--solver=solver.prototxt", "--weights=bad.caffemodel"), "bad.caffemodel")
        self.fails(run("test", "--model=examples/digits/train_test.prototxt", "--weights=bad.caffemodel"),
                   "bad.caffemodel")
        self.fails(run("diff", "bad.caffemodel", "bad.caffemodel"), "bad.caffemodel")
        write("examples/digits/digits_train_lmdb/data.mdb", "no database")
        self.fails(run("train", "--solver=solver.prototxt"), "digits_train_lmdb")

    def test_invalid_nets_are_explained(self):
        layer = 'layer { name: "r" type: "%s" bottom: "%s" top: "y" }'
        write("net.prototxt", 'name: "n" ' + layer % ("ReLU", "nowhere"))
        self.fails(run("time", "--model=net.prototxt"), "nowhere")
        write("net.prototxt", 'name: "n" ' + layer % ("Relu", "x"))
        self.fails(run("time", "--model=net.prototxt"), "Relu")
        huge = 'layer { name: "d" type: "DummyData" top: "x" dummy_data_param { shape { dim: 3000000 dim: 3000000 } } }'
        write("net.prototxt", 'name: "n" ' + huge)
        self.fails(run("time", "--model=net.prototxt"), "3000000|exceed|large|INT_MAX")

    def test_every_bad_net_is_explained_before_anything_is_allocated(self):
        for net, *patterns in NETS:
            write("net.prototxt", net)
            result = run("plan", "--model=net.prototxt")
            for pattern in patterns:
                with self.subTest(net=net[-120:], pattern=pattern):
                    self.fails(result, pattern)

    def test_plan_refuses_blobs_of_no_values_as_train_does(self):
        dummy = 'layer { name: "in" type: "DummyData" top: "x" dummy_data_param { shape { dim: 2 dim: %d dim: 4 dim: 4 } %s } }\n'
        loss = 'layer { name: "loss" type: "Reduction" bottom: "y" top: "l" loss_weight: 1 }\n'
        fillers = 'inner_product_param { num_output: 3 weight_filler { type: "%s" %s } }'
        nets = [dummy % (0, "") + layer("InnerProduct", fillers % (kind, more)) + loss for kind, more in (
            ("constant", ""), ("xavier", ""), ("msra", ""), ("uniform", ""), ("gaussian", ""), ("positive_unitball", ""),
            ("gaussian", "sparse: 3"))]
        nets += [dummy % (3, "") + layer("InnerProduct", fillers % (kind, more)) + loss for kind, more in (
            ("xavier", "sparse: 3"), ("gaussian", "sparse: -2"), ("bilinear", ""))]
        nets.append(dummy % (0, 'data_filler { type: "gaussian" }') + layer("ReLU") + loss)
        nets.append(dummy % (0, 'data_filler { type: "constant" value: 2 }') + layer("ReLU") + loss)
        write("solver.prototxt", 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 1 solver_mode: CPU\n')
        for net in nets:
            write("net.prototxt", net)
            with self.subTest(net=net):
                said = []
                for args in (("train", "--solver=solver.prototxt"), ("plan", "--solver=solver.prototxt"),
                             ("plan", "--model=net.prototxt")):
                    result = run(*args)
                    self.fails(result, "layer (lay|in)|Layer in")
                    said.append([line.split("] ")[-1] for line in result.err.splitlines() if line.startswith(("F", "    in"))])
                self.assertEqual([said[0]] * 3, said)

    def test_empty_flags_are_refused(self):
        # As if a script's variable were empty: --weights= would train from scratch.
        for flags in (("train", "--solver=solver.prototxt", "--weights="), ("train", "--solver=solver.prototxt", "--snapshot="),
                      ("train", "--solver="), ("plan", "--solver=solver.prototxt", "--machine="), ("plan", "--model", ""),
                      ("plan", "--solver=solver.prototxt", "--dump="), ("time", "--model=x", "--profile="),
                      ("train", "--solver=solver.prototxt", "--json_summary="),
                      ("train", "--solver=solver.prototxt", "--spill_file=")):
            self.fails(run(*flags), "--%s= names no file" % (flags[-1].strip("=-") or "model"))
        self.fails(run("train", "--solver=solver.prototxt", "--gpu="), "--gpu= names no GPU")
        self.assertEqual(0, run("train", "--solver=solver.prototxt", "--stage=").code)

    def test_malformed_sizes_are_refused(self):
        for size in ("", "-1", "12XB", "1e9", "0x10", "nan", "99999999999999999999", "8 GiB 1"):
            self.fails(run("plan", "--solver=solver.prototxt", "--device_memory=" + size),
                       "device_memory: '%s' is not a size" % size)
        self.fails(run("train", "--solver=solver.prototxt", "--host_memory=much"), "host_memory: 'much'")
        self.fails(run("plan", "--solver=solver.prototxt", "--placement="), "no placement strategy ''")
        self.fails(run("train", "--solver=solver.prototxt", "--threads=-1"), "--threads=-1: give the number of threads")
        self.fails(run("train", "--tf32", "--solver=solver.prototxt"), "--tf32=--solver=solver.prototxt: say what a GPU")
        self.fails(run("train", "--solver=solver.prototxt", "--tf32=on"), 
                   "--tf32=on: say what a GPU may round to TF32: off, conv or all.")
        self.fails(run("plan", "--solver=solver.prototxt", "--tf32=yes"), "--tf32=yes: say what a GPU may round to TF32")

    def test_files_that_are_not_weights_are_refused(self):
        self.train()
        model, state = "run_iter_4.caffemodel", "run_iter_4.solverstate"
        test = ("test", "--model=examples/digits/train_test.prototxt", "--iterations=1")
        train = ("train", "--solver=solver.prototxt")
        with open(model, "rb") as file:
            weights = file.read()
        for size in (0, 1, 1000, len(weights) - 1):
            with open("cut.caffemodel", "wb") as file:
                file.write(weights[:size])
            self.fails(run(*test, "--weights=cut.caffemodel"), "cut.caffemodel")
            self.fails(run(*train, "--weights=" + model + ",cut.caffemodel"), "cut.caffemodel")
            self.fails(run("diff", model, "cut.caffemodel"), "cut.caffemodel")
            os.replace("cut.caffemodel", "cut.solverstate")
            self.fails(run(*train, "--snapshot=cut.solverstate"), "cut.solverstate")
        for name in (state, state + ".h5"):
            self.fails(run(*train, "--weights=" + name), name + ": it holds the state of a solver.*--snapshot")
        self.fails(run(*train, "--weights=examples"), "examples: it is a folder")
        shutil.copy(model, "renamed.bin")
        self.fails(run(*train, "--snapshot=renamed.bin"), "renamed.bin holds no solver state")
        os.remove(model)
        self.fails(run(*train, "--snapshot=" + state), model)

    def test_files_that_are_not_hdf5_are_refused_in_one_line(self):
        write("bad.h5", "no HDF5")
        for flag in ("--weights=", "--snapshot="):
            for name in ("bad.h5", "none.h5"):
                result = run("train", "--solver=solver.prototxt", flag + name)
                self.fails(result, name)
                self.assertNotIn("HDF5-DIAG", result.err)

    def test_files_that_are_not_databases_are_named(self):
        path = "examples/digits/digits_train_lmdb/data.mdb"
        size = os.path.getsize(path)
        for cut in (size - 4096, 5000, 0):
            os.truncate(path, cut)
            for command in ("train", "plan"):
                self.fails(run(command, "--solver=solver.prototxt"), "digits_train_lmdb")
        with open("examples/digits/train_test.prototxt") as file:
            text = file.read()
        write("examples/digits/train_test.prototxt", text.replace("LMDB", "LEVELDB"))
        self.fails(run("train", "--solver=solver.prototxt"), "digits_train_lmdb.*backend: LMDB")
        again = run(os.path.join(self.digits, "digits.csv"), self.digits, program="convert_digits")
        self.fails(again, "Cannot make LMDB .*digits_train_lmdb: it exists already; remove it first")

    def test_a_source_that_cannot_be_opened_is_reported_with_its_layer_and_line(self):
        os.makedirs("nothing")
        write("bad.prototxt", """layer { name: "input" type: "Data" top: "x" top: "label"
          data_param { source: "nothing" batch_size: 2 backend: LMDB } }""")
        for source, why in (("nothing", "Cannot open LMDB nothing: the folder has no data.mdb"),
                            ("missing", "the source does not exist")):
            with open("bad.prototxt", encoding="utf-8") as file:
                text = file.read().replace("nothing", source)
            write("one.prototxt", text)
            result = run("time", "--model=one.prototxt")
            self.fails(result, why)
            self.assertRegex(result.err, r"one.prototxt:1")

    def test_if_the_second_database_cannot_be_made_the_first_is_removed(self):
        os.makedirs("to/digits_test_lmdb")
        self.fails(run(os.path.join(self.digits, "digits.csv"), "to", program="convert_digits"),
                   "Cannot make LMDB to/digits_test_lmdb: it exists already")
        self.assertEqual(["digits_test_lmdb"], os.listdir("to"))

    def test_unwritable_outputs_are_refused_before_the_work(self):
        result = run("train", "--solver=solver.prototxt", "--json_summary=missing/summary.json")
        self.fails(result, "missing/summary.json")
        self.assertNotIn("Creating", result.err)
        result = run("time", "--model=examples/digits/train_test.prototxt", "--profile=missing/profile.json")
        self.fails(result, "missing/profile.json")
        self.assertNotIn("Creating", result.err)
        write("file", "")
        self.fails(run("plan", "--solver=solver.prototxt", "--dump=file"), "--dump: .*file")
        self.assertEqual(0, run("plan", "--solver=solver.prototxt", "--dump=new/folder").code)
        self.assertTrue(os.path.exists("new/folder/plan.txt"))

    def test_a_full_disk_keeps_the_older_snapshot(self):
        self.train()
        with open("run_iter_4.caffemodel", "rb") as file:
            before = file.read()
        files = set(os.listdir("."))
        # A limit on file sizes stands in for the full disk; its signal is ignored, so that writing fails.
        done = subprocess.run([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt"], capture_output=True,
                              text=True, restore_signals=False, env=dict(os.environ, GLOG_logtostderr="1"),
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
        self.assertEqual(1, done.returncode, done.stderr[-500:])
        self.assertRegex(done.stderr, "Cannot write .*run_iter_4.caffemodel: File too large")
        with open("run_iter_4.caffemodel", "rb") as file:
            self.assertEqual(before, file.read())
        self.assertEqual(files, set(os.listdir(".")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
