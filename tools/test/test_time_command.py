#!/usr/bin/env python3
"""`layrub time` in both phases: rates count only the passes of the phase. A terminal shows progress."""
import json
import re
import signal
import unittest

from command_line import SOURCE, DigitsTest, run, write
from test_progress import OnTerminal

CONVOLUTION = """
name: "known"
layer { name: "data" type: "DummyData" top: "x" dummy_data_param { shape { dim: 32 dim: 3 dim: 64 dim: 64 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "y" convolution_param {
        num_output: 32 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }
"""
FLOPS = 2 * 32 * 32 * 62 * 62 * 27  # of the convolution's forward


class TimeCommand(DigitsTest):

    def row(self, phase):
        """Milliseconds forward and backward, and GFLOP/s, of the convolution."""
        write("known.prototxt", CONVOLUTION)
        result = run("time", "--model=known.prototxt", "--iterations=2", f"--phase={phase}")
        self.assertEqual(0, result.code, result.last)
        match = re.search(r"^  conv +Convolution +([\d.]+) +([\d.]+) +([\d.]+) ", result.out, re.MULTILINE)
        self.assertTrue(match, result.out)
        return [float(number) for number in match.groups()]

    def test_rates_count_only_the_passes_of_the_phase(self):
        forward, backward, rate = self.row("TEST")
        self.assertGreater(backward, 0)  # Caffe runs it in both phases
        self.assertAlmostEqual(1, FLOPS / (forward / 1e3) / 1e9 / rate, delta=0.05)
        forward, backward, rate = self.row("TRAIN")
        # Only the gradient of the weights, as the data need none.
        self.assertAlmostEqual(1, 2 * FLOPS / ((forward + backward) / 1e3) / 1e9 / rate, delta=0.1)

    def test_a_layer_without_backward_has_no_backward_time(self):
        write("known.prototxt", CONVOLUTION)
        result = run("time", "--model=known.prototxt", "--iterations=2", "--format=json")
        layers = {layer["layer"]: layer["backward_seconds"] for layer in json.loads(result.out)["layers"]}
        self.assertEqual(0, layers["data"])
        self.assertGreater(layers["conv"], 0)

    def start(self, *args):
        program = OnTerminal("time", *args)
        self.addCleanup(program.kill)
        return program

    def test_a_terminal_shows_progress_of_timing_and_keeps_only_the_log(self):
        write("known.prototxt", CONVOLUTION)
        for flags in ([], ["--placement=keep"]):
            program = self.start("--model=known.prototxt", "--iterations=40", *flags)
            program.read(until=r"^timing known, iteration \d+ of 40$")
            code, lines = program.end()
            self.assertEqual(0, code, lines[-5:])
            self.assertNotIn("timing known", "".join(lines))

    def test_long_planning_shows_progress(self):
        program = self.start(f"--model={SOURCE}/models/resnet50/train_val.prototxt", "--synthetic", "--data_shape=3,224,224",
                             "--batch=256", "--machine=k40", "--device_memory=3GiB", "--host_memory=4GiB")
        program.read(until=r"^looking for a plan, 1s$")
        program.press_ctrl_c()
        code, lines = program.end()
        self.assertEqual(-signal.SIGINT, code)
        self.assertNotIn("looking for", "".join(lines))


if __name__ == "__main__":
    unittest.main(verbosity=2)
