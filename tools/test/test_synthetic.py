#!/usr/bin/env python3
"""--synthetic and --batch: nets run without their data."""
import os
import re
import unittest

from command_line import SOURCE, DigitsTest, run, write

LENET = os.path.join(SOURCE, "models/lenet/train_val.prototxt")
RESNET = os.path.join(SOURCE, "models/resnet18/train_val.prototxt")
SHAPE = ["--synthetic", "--data_shape=1,28,28"]


class Synthetic(DigitsTest):

    def solver(self, net, **more):
        fields = {"base_lr": 0.01, "lr_policy": '"fixed"', "momentum": 0.9, "display": 1, "max_iter": 3,
                  "snapshot_prefix": '"run"', "solver_mode": "CPU", **more}
        write("solver.prototxt", f'net: "{net}"\n' + "".join(f"{key}: {value}\n" for key, value in fields.items()))

    def test_training_needs_no_data_and_gives_the_same_bits_under_every_plan(self):
        self.solver(LENET, test_iter=2, test_interval=2)
        self.fails(run("train", "--solver=solver.prototxt"), "mnist.*does not exist")
        self.fails(run("train", "--solver=solver.prototxt", "--synthetic"), "Layer data: .*mnist.*--data_shape=C,H,W")
        for strategy in ("keep", "hybrid"):
            summary, result = self.train(f"--placement={strategy}", "--batch=4", *SHAPE)
            self.assertEqual(3, summary["iterations"])
            planned = self.plan("--solver=solver.prototxt", f"--placement={strategy}", "--batch=4", *SHAPE)
            self.assertEqual(summary["planned_device_bytes"], planned["total_device_bytes"])
            losses = re.findall(r"Iteration \d.* loss = ([\d.]+)", result.err)
            self.assertEqual(len(losses), len(set(losses)), losses)  # new data in each iteration
            os.rename("run_iter_3.caffemodel", strategy + ".caffemodel")
        self.assertEqual(0, run("diff", "keep.caffemodel", "hybrid.caffemodel").code)
        scores = [run("test", f"--model={LENET}", "--weights=keep.caffemodel", "--iterations=1", *SHAPE)
                  for _ in range(2)]
        self.assertEqual(0, scores[0].code, scores[0].last)
        self.assertEqual(*(re.findall(r"Loss: (\S+)", score.err) for score in scores))

    def test_a_crop_gives_the_shape_and_flags_the_batch_size(self):
        self.solver(RESNET)
        summary, _ = self.train("--synthetic", "--batch=1", "--max_iter=1", "--placement=hybrid")
        self.assertEqual(1, summary["iterations"])
        done = run("time", f"--model={RESNET}", "--synthetic", "--batch=1", "--iterations=1")
        self.assertEqual(0, done.code, done.last)
        self.assertIn("Average Forward-Backward", done.err)

    def test_lists_of_images_and_of_windows_need_not_exist(self):
        sources = {"ImageData": 'image_data_param { source: "none" batch_size: 4 new_height: 8 new_width: 9 }',
                   "WindowData": 'window_data_param { source: "none" batch_size: 4 } transform_param { crop_size: 8 }'}
        for kind, fields in sources.items():
            write("net.prototxt", f'''layer {{ name: "data" type: "{kind}" top: "data" top: "label" {fields} }}
                layer {{ name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
                         inner_product_param {{ num_output: 3 weight_filler {{ type: "xavier" }} }} }}
                layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }}''')
            self.solver("net.prototxt")
            planned = self.plan("--solver=solver.prototxt", "--placement=hybrid", "--batch=6")
            self.fails(run("train", "--solver=solver.prototxt"), "Layer data: cannot open the .* none")
            summary, _ = self.train("--synthetic", "--batch=6", "--placement=hybrid")
            self.assertEqual(summary["planned_device_bytes"], planned["total_device_bytes"])
        with open("net.prototxt") as file:
            net = file.read()
        write("net.prototxt", net.replace("crop_size: 8", ""))
        self.fails(run("plan", "--model=net.prototxt"), "Layer data: .*none.*--data_shape=C,H,W")

    def test_sources_of_unused_phases_are_not_changed(self):
        write("net.prototxt", """
            layer { name: "v" type: "VideoData" top: "data" top: "label" include { phase: TEST } }
            layer { name: "d" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } include { phase: TRAIN } }
            layer { name: "l" type: "Input" top: "label" input_param { shape { dim: 2 } } include { phase: TRAIN } }
            layer { name: "c" type: "InnerProduct" bottom: "data" top: "c" inner_product_param { num_output: 4 } }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "c" bottom: "label" top: "loss" }""")
        done = run("time", "--model=net.prototxt", "--synthetic", "--iterations=1")
        self.assertEqual(0, done.code, done.last)
        self.solver("net.prototxt", max_iter=1)
        done = run("train", "--solver=solver.prototxt", "--synthetic")
        self.assertEqual(0, done.code, done.last)
        self.solver("net.prototxt", max_iter=1, test_iter=1, test_interval=1)
        self.fails(run("train", "--solver=solver.prototxt", "--synthetic"), "Layer v ")

    def test_python_and_unknown_data_layers_need_their_shapes(self):
        for kind in ("Python", "SourceOfAFork"):
            write("net.prototxt", f'''layer {{ name: "in" type: "{kind}" top: "data" top: "label" }}
                layer {{ name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
                         inner_product_param {{ num_output: 3 weight_filler {{ type: "xavier" }} }} }}
                layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }}''')
            self.solver("net.prototxt")
            flags = ["--batch=4", "--data_shape=data:3,8,8,label:1"]
            planned = self.plan("--solver=solver.prototxt", "--placement=hybrid", *flags)
            summary, _ = self.train("--synthetic", "--placement=hybrid", *flags)
            self.assertEqual(summary["planned_device_bytes"], planned["total_device_bytes"])
            done = run("time", "--model=net.prototxt", "--synthetic", "--iterations=1", *flags)
            self.assertEqual(0, done.code, done.last)
            wrong = ["--batch=4", "--data_shape=dat:3,8,8"]
            for command in (["train", "--solver=solver.prototxt", "--synthetic"], ["plan", "--solver=solver.prototxt"],
                            ["time", "--model=net.prototxt", "--synthetic"]):
                self.fails(run(*command, *wrong), "no data layer of the net has a top dat")

    def test_a_larger_batch_needs_more(self):
        needs = [self.plan(f"--model={RESNET}", f"--batch={batch}")["device_peak_bytes"] for batch in (1, 2, 32)]
        self.assertEqual(needs, sorted(set(needs)))
        self.assertEqual(needs[-1], self.plan(f"--model={RESNET}")["device_peak_bytes"])
        self.assertEqual(needs[-1], self.plan(f"--model={RESNET}", "--synthetic")["device_peak_bytes"])
        self.assertLess(self.plan(f"--model={RESNET}", "--phase=TEST", "--batch=1")["device_peak_bytes"], needs[0])

    def test_invalid_flags_are_refused(self):
        write("none.prototxt", 'layer { name: "in" type: "Input" top: "in" input_param { shape { dim: 2 } } }')
        self.fails(run("plan", "--model=none.prototxt", "--batch=4"), "--batch=4: no layer .* batch_size")
        self.solver(RESNET)
        for number in ("-1", "0"):
            self.fails(run("plan", f"--model={RESNET}", "--batch=" + number), f"--batch={number}: a number from 1")
            self.fails(run("train", "--solver=solver.prototxt", "--max_iter=" + number), "--max_iter")
        for command in (["train", "--solver=solver.prototxt"], ["time", f"--model={RESNET}"]):
            self.fails(run(*command, "--data_shape=3,4,4"), "--data_shape goes with --synthetic")


if __name__ == "__main__":
    unittest.main()
