#!/usr/bin/env python3
"""Counts are computed in 64 bits: blobs beyond 2^31 - 1 values are refused with the layer's name before anything is
allocated; buffers other than blobs may be larger."""
import unittest

from command_line import DigitsTest, run, write

NET = """
layer { name: "data" type: "Data" top: "x" top: "label" data_param { source: "none" backend: LMDB batch_size: 2 } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "y"
        convolution_param { num_output: 64 kernel_size: 3 pad: 1 } }
layer { name: "ip" type: "InnerProduct" bottom: "y" top: "ip" inner_product_param { num_output: 10 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SHAPE = "--data_shape=3,224,224"
INPUT = 'layer { name: "in" type: "Input" top: "x" input_param { shape { %s } } }\n'
LARGEST = 2**31 - 1
# Layers whose output, weights or statistics have too many values for an input of moderate size.
TOO_LARGE = [
    ("dim: 2 dim: 8 dim: 8", 'type: "Tile" tile_param { axis: 0 tiles: 1000000000 }'),
    ("dim: 1 dim: 1000 dim: 1000", 'type: "InnerProduct" inner_product_param { num_output: 3000 }'),
    ("dim: 1 dim: 64 dim: 2000 dim: 2000", 'type: "Im2col" convolution_param { kernel_size: 3 }'),
    ("dim: 1 dim: 8 dim: 300 dim: 300",
     'type: "Deconvolution" convolution_param { num_output: 64 kernel_size: 4 stride: 64 }'),
    ("dim: 64 dim: 1000", 'type: "Embed" embed_param { input_dim: 10 num_output: 100000 }'),
    ("dim: 64 dim: 8 dim: 4 dim: 4", 'type: "SPP" spp_param { pyramid_height: 13 }'),
    ("dim: 2 dim: 2 dim: 8", 'type: "LSTM" recurrent_param { num_output: 2000000000 } bottom: "cont"'),
    ("dim: 1000 dim: 1000 dim: 1000",
     'type: "Concat" bottom: "x" bottom: "x" concat_param { axis: 1 }'),
]


class LargeCounts(DigitsTest):
    def test_the_largest_batch_is_planned_and_the_next_one_is_refused(self):
        write("net.prototxt", NET)
        largest = LARGEST // (64 * 224 * 224)
        plan = self.plan("--model=net.prototxt", SHAPE, f"--batch={largest}", "--placement=liveness")
        self.assertGreater(plan["device_peak_bytes"], 4 * largest * 64 * 224 * 224)
        for batch in (largest + 1, 2 * largest, 14000):
            self.fails(run("plan", "--model=net.prototxt", SHAPE, f"--batch={batch}"), r"INT_MAX[^\0]*layer conv ")
        for batch in (LARGEST // (3 * 224 * 224) + 1, LARGEST):
            self.fails(run("plan", "--model=net.prototxt", SHAPE, f"--batch={batch}"), r"INT_MAX[^\0]*layer data ")

    def test_layers_name_what_they_cannot_count(self):
        for shape, layer in TOO_LARGE:
            with self.subTest(layer):
                text = INPUT % shape
                if "cont" in layer:
                    text += INPUT.replace('"in"', '"in2"').replace('"x"', '"cont"') % "dim: 2 dim: 2"
                write("net.prototxt", text + 'layer { name: "lay" bottom: "x" top: "y" %s }' % layer)
                self.fails(run("plan", "--model=net.prototxt", "--placement=keep"), "[Ll]ayer lay[ :]")

    def test_the_column_buffer_of_a_convolution_may_have_more_values(self):
        side, channels = 8192, 8
        write("net.prototxt", INPUT % f"dim: 1 dim: {channels} dim: {side} dim: {side}" + """
              layer { name: "conv" type: "Convolution" bottom: "x" top: "y"
                      convolution_param { num_output: 1 kernel_size: 3 pad: 1 } }
              layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }""")
        columns = 9 * channels * side * side
        self.assertGreater(columns, LARGEST)
        plan = self.plan("--model=net.prototxt", "--placement=keep")
        self.assertGreater(plan["device_peak_bytes"], 4 * columns)


if __name__ == "__main__":
    unittest.main()
