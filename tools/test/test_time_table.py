#!/usr/bin/env python3
"""The output of `layrub time`: Caffe's lines unchanged, and a table of layers whose rows add up, with and without a
memory plan."""
import json
import os
import re
import unittest

from command_line import SOURCE, DigitsTest, run, write

MODEL = "--model=examples/digits/train_test.prototxt"
LAYERS = ["digits", "conv1", "relu1", "pool1", "conv2", "relu2", "pool2", "ip1", "relu3", "ip2", "loss"]
MS = r"[\d.e+-]+ ms\."
# The log after the first lines about the net.
CAFFE_LINES = ([r"Performing Forward", r"Initial loss: [\d.]+", r"Performing Backward", r"\*\*\* Benchmark begins \*\*\*",
                r"Testing for 3 iterations\."] + [rf"Iteration: {i} forward-backward time: {MS}" for i in (1, 2, 3)] +
               [r"Average time per layer: "] +
               [rf" *{layer}\t{way}: {MS}" for layer in LAYERS for way in ("forward", "backward")] +
               [rf"Average Forward pass: {MS}", rf"Average Backward pass: {MS}", rf"Average Forward-Backward: {MS}",
                rf"Total Time: {MS}", r"\*\*\* Benchmark ends \*\*\*"])
CONVOLUTION = """
name: "known"
layer { name: "data" type: "DummyData" top: "x" dummy_data_param { shape { dim: 4 dim: 3 dim: 32 dim: 32 } } }
layer { name: "a conv" type: "Convolution" bottom: "x" top: "y" convolution_param {
        engine: CAFFE num_output: 16 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }
"""
SEQUENCE = """
name: "sequence"
layer { name: "data" type: "DummyData" top: "x" top: "cont" dummy_data_param {
        shape { dim: 5 dim: 2 dim: 8 } shape { dim: 5 dim: 2 } data_filler { type: "constant" value: 1 } } }
layer { name: "lstm" type: "LSTM" bottom: "x" bottom: "cont" top: "y" recurrent_param {
        num_output: 16 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }
"""


class TimeTable(DigitsTest):

    def setUp(self):
        super().setUp()
        self.leave_out_onednn()

    def time(self, *args):
        result = run("time", "--format=json", *args)
        self.assertEqual(0, result.code, result.last)
        return json.loads(result.out)

    def text(self, *args):
        result = run("time", *args)
        self.assertEqual(0, result.code, result.last)
        for line in result.out.splitlines():
            self.assertLessEqual(len(line), 100, line)
            self.assertEqual(line, line.rstrip())
        return result.out

    def test_the_log_has_every_line_of_caffe_time_and_no_other(self):
        for more in ([], ["--format=json"]):
            log = run("time", MODEL, "--iterations=3", *more).err.splitlines()
            said = [line.split("] ", 1)[-1] for line in log]
            begin = said.index("Performing Forward")
            self.assertEqual(len(CAFFE_LINES), len(said) - begin, said[begin:])
            for line, pattern in zip(said[begin:], CAFFE_LINES):
                self.assertRegex(line, f"^{pattern}$")

    def test_the_table_has_each_layer_in_order_and_says_what_is_slowest(self):
        text = self.text(MODEL, "--iterations=3")
        rows = re.findall(r"^  (\w+) +(\w+) +([\d.]+|-) +([\d.]+|-) +([\d.]+|-) +([\d.]+|-) +([\d.]+) % +(.+?)  (cpu)$",
                          text, re.MULTILINE)
        self.assertEqual(LAYERS, [row[0] for row in rows])
        types = {row[0]: row[1] for row in rows}
        self.assertEqual(("Convolution", "InnerProduct"), (types["conv1"], types["ip1"]))
        self.assertAlmostEqual(100, sum(float(row[6]) for row in rows), delta=0.06 * len(rows))
        total = re.search(r"^  total +([\d.]+) +([\d.]+) .* 100\.0 % +([\d.]+) KiB$", text, re.MULTILINE)
        self.assertAlmostEqual(float(total.group(1)), sum(float(row[2]) for row in rows if row[2] != "-"), delta=0.1)
        slowest = re.search(r"^Slowest: (.*)\.$", text, re.MULTILINE).group(1).split(", ")
        self.assertEqual(5, len(slowest))
        order = sorted(rows, key=lambda row: float(row[6]), reverse=True)
        self.assertIn(slowest[0].split(" ")[0], [row[0] for row in order[:2]])
        self.assertRegex(text, r"\nData: [\d.]+ ms of [\d.]+ m?s \(\d+ %\) is waiting for data; they are (not )?the bottleneck\.\n")

    def test_rates_come_from_the_counts_of_the_net(self):
        write("known.prototxt", CONVOLUTION)
        report = self.time("--model=known.prototxt", "--iterations=2")
        self.assertEqual(("known", 2), (report["net"], report["iterations"]))
        layers = {layer["layer"]: layer for layer in report["layers"]}
        conv = layers["a conv"]
        outputs, kernel = 4 * 16 * 30 * 30, 3 * 3 * 3
        # The forward pass, and the gradients of weights and bias; the data need none.
        self.assertAlmostEqual(2 * 2 * outputs * kernel, conv["flops"], delta=0.1 * conv["flops"])
        x, y, weights = 4 * 3 * 32 * 32, outputs, 16 * kernel + 16
        self.assertGreaterEqual(conv["bytes"], 4 * (2 * x + 2 * y + 2 * weights))
        self.assertEqual(4 * kernel * 30 * 30, conv["workspace_bytes"])
        self.assertEqual("cpu", conv["engine"])
        self.assertIsNone(layers["data"]["flops"])
        for layer in report["layers"]:
            self.assertGreaterEqual(layer["forward_seconds"], 0)
        self.assertAlmostEqual(report["data_seconds"], layers["data"]["forward_seconds"])

    def test_operations_of_a_net_inside_a_layer_belong_to_that_layer(self):
        write("sequence.prototxt", SEQUENCE)
        layers = {layer["layer"]: layer for layer in self.time("--model=sequence.prototxt", "--iterations=1")["layers"]}
        self.assertEqual({"data", "lstm", "loss"}, set(layers))
        # Four gates for each of 10 items, from 8 inputs and 16 states.
        self.assertGreater(layers["lstm"]["flops"], 2 * 10 * 4 * 16 * (8 + 16))

    def test_slow_data_are_reported_as_the_bottleneck(self):
        write("slow.prototxt", """
              layer { name: "data" type: "DummyData" top: "x" dummy_data_param { shape { dim: 1000 dim: 1000 }
                      data_filler { type: "gaussian" } } }
              layer { name: "loss" type: "Reduction" bottom: "x" top: "loss" }""")
        text = self.text("--model=slow.prototxt", "--phase=TEST", "--iterations=2")
        self.assertIn("they are the bottleneck", text)
        self.assertNotIn("decoded", text)

    def test_image_rates_are_reported_with_a_remedy_if_data_are_slower(self):
        rate = r"\nData: [\d.]+ images/s decoded and transformed by digits; the net takes [\d.]+ images/s\.\n"
        for more in ([], ["--placement=hybrid"]):
            self.assertRegex(self.text(MODEL, "--iterations=3", *more), rate)
        layers = self.time(MODEL, "--iterations=3")["layers"]
        self.assertGreater(layers[0]["loaded_images_per_second"], 0)
        self.assertGreater(layers[0]["taken_images_per_second"], 0)
        self.assertNotIn("loaded_images_per_second", layers[1])
        with open(MODEL.split("=")[1], encoding="utf-8") as file:
            data = file.read().split("layer {")[1]
        write("only.prototxt", "layer {" + data + 'layer { name: "none" type: "Silence" bottom: "data" bottom: "label" }')
        text = self.text("--model=only.prototxt", "--iterations=40")
        self.assertRegex(text, rate)
        self.assertIn("they are the bottleneck", text)
        self.assertIn("Give the process more cores", text)

    def test_a_planned_iteration_adds_up_to_what_was_measured(self):
        for placement in ("keep", "hybrid", "sqrt"):
            report = self.time(MODEL, "--iterations=3", f"--placement={placement}")
            plan = self.plan(MODEL, f"--placement={placement}")
            self.assertEqual(placement, report["strategy"])
            for key in ("device_peak_bytes", "keep_peak_bytes", "host_peak_bytes"):
                self.assertEqual(plan[key], report[key], key)
            self.assertGreater(report["predicted_seconds"], 0)
            self.assertEqual(LAYERS, [layer["layer"] for layer in report["layers"]])
            busy = report["update_seconds"] + report["move_seconds"] + sum(
                layer[f"{what}_seconds"] for layer in report["layers"] for what in ("forward", "backward", "again", "exposed"))
            self.assertLessEqual(busy, report["seconds"] * 1.001)
            self.assertGreater(busy, report["seconds"] * 0.01)  # at other times, other processes may use the processor
            self.assertGreater(report["update_seconds"], 0)
            for layer in report["layers"]:
                self.assertGreater(layer["forward_seconds"], 0, layer)
                self.assertEqual(layer["layer"] != "digits", layer["backward_seconds"] > 0, layer)
            again = sum(layer["again_seconds"] for layer in report["layers"])
            copies = sum(layer["hidden_seconds"] + layer["exposed_seconds"] for layer in report["layers"])
            self.assertEqual(placement == "sqrt", again > 0)
            self.assertEqual(placement == "hybrid", copies > 0)

    def test_a_planned_table_names_plan_and_prediction(self):
        smallest = self.plan(MODEL)["smallest_budget_bytes"]
        text = self.text(MODEL, "--iterations=2", f"--device_memory={smallest}")
        self.assertRegex(text, r"^One iteration under auto: [\d.]+ m?s measured, [\d.]+ m?s predicted by the model of machine cpu\.\n")
        self.assertRegex(text, r"\nDevice memory [\d.]+ [KM]iB \(keep [\d.]+ [KM]iB\), host memory [\d.]+ [KM]iB\.\n")
        self.assertRegex(text, r"\n  conv2 +Convolution +[\d.]+ +[\d.]+ +([\d.]+|-) +([\d.]+|-) +[\d.]+ +[\d.]+ % +([\d.]+|-)\n")
        self.assertRegex(text, r"\n  \(updates\) +[\d.]+ +[\d.]+ %\n")

    def test_weights_are_loaded_and_no_file_is_written(self):
        self.train()
        weights = "run_iter_4.caffemodel"
        with open(weights, "rb") as file:
            before = file.read()

        def files():
            return sorted(name for name in os.listdir(".") if ".log." not in name)

        names = files()
        self.assertEqual(0, run("time", MODEL, "--iterations=1", "--placement=liveness", f"--weights={weights}").code)
        with open(weights, "rb") as file:
            self.assertEqual(before, file.read())
        self.assertEqual(names, files())

    def test_nets_that_cannot_be_timed_are_refused_in_a_sentence(self):
        self.fails(run("time", MODEL, "--placement=none"), "no placement strategy 'none'; there are keep, liveness")
        self.fails(run("time", MODEL, "--device_memory=1000"), "auto needs .* the budget is", code=2)
        self.fails(run("time", MODEL, "--placement=keep", "--phase=TEST"), "leave out --phase=TEST")
        self.fails(run("time", MODEL, "--format=table"), "--format=table: give text or json")
        self.fails(run("time", f"--model={SOURCE}/models/lenet/train_val.prototxt", "--synthetic", "--data_shape=1,28,28",
                       "--profile=x", "--machine=k40"), "runs without a memory plan: leave out --machine")

    def test_parameter_layers_do_not_count_as_data(self):
        write("net.prototxt", """
            layer { name: "w" type: "Parameter" top: "w" parameter_param { shape { dim: 8 } } }
            layer { name: "loss" type: "Reduction" bottom: "w" top: "loss" loss_weight: 1 }""")
        result = run("time", "--model=net.prototxt", "--iterations=2", "--format=json")
        self.assertEqual(0, result.code, result.last)
        self.assertEqual(0, json.loads(result.out)["data_seconds"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
