"""Whole nets to ONNX and back: those of models/ and of generate_model.py, and heads of detectors. If LAYRUB_SAMPLE is
set, only the small ones."""
import os
import subprocess
import sys
import unittest

import numpy as np

import caffe
from common import CaffeTest
from onnx_nets import FILLER, LACKS, source

if not LACKS:
    from caffe import onnx_export

SOURCE = os.environ.get('LAYRUB_SOURCE_DIR')
SAMPLE = os.environ.get('LAYRUB_SAMPLE')
SMALL = ['lenet', 'squeezenet', 'mobilenet_v2', 'shufflenet', 'resnet56_cifar', 'lstm']
LARGE = ['alexnet', 'caffenet', 'googlenet', 'vgg16', 'vgg19', 'wrn28_10', 'mobilenet_v1', 'inception_v3', 'inception_v4',
         'resnext50', 'se_resnet50', 'ssd300', 'fcn8s', 'unet', 'captioner', 'transformer', 'densenet121', 'densenet169',
         'densenet201', 'resnet18', 'resnet34', 'resnet50', 'resnet101', 'resnet152']
# Nets whose ONNX form has operators without a layer in Caffe.
ONE_WAY = {'lstm', 'captioner', 'ssd300'}


def conv(name, bottom, outputs, kernel, more=''):
    return (f'layer {{ name: "{name}" type: "Convolution" bottom: "{bottom}" top: "{name}" convolution_param {{ num_output: {outputs} '
            f'kernel_size: {kernel} pad: {kernel // 2} weight_filler {{ type: "msra" }} {more} }} }}\n')


def pspnet():
    """Maps pooled to grids of 1, 2, 3 and 6, and upsampled again."""
    text = source('data', 1, 3, 48, 48) + conv('conv', 'data', 16, 3, 'stride: 2') + conv('deep', 'conv', 16, 3, 'dilation: 2 pad: 2').replace('pad: 1', '', 1)
    for grid in (1, 2, 3, 6):
        size = 24 // grid
        text += (f'layer {{ name: "pool{grid}" type: "Pooling" bottom: "deep" top: "pool{grid}" pooling_param {{ pool: AVE '
                 f'kernel_size: {size} stride: {size} }} }}\n' + conv(f'level{grid}', f'pool{grid}', 4, 1)
                 + f'layer {{ name: "large{grid}" type: "Interp" bottom: "level{grid}" top: "large{grid}" interp_param {{ height: 24 width: 24 }} }}\n')
    text += ('layer { name: "all" type: "Concat" bottom: "deep" ' + ''.join(f'bottom: "large{grid}" ' for grid in (1, 2, 3, 6))
             + 'top: "all" }\n')
    return text + conv('score', 'all', 5, 3) + ('layer { name: "up" type: "Interp" bottom: "score" top: "up" interp_param { zoom_factor: 2 } }\n'
                                                'layer { name: "which" type: "ArgMax" bottom: "up" top: "which" argmax_param { axis: 1 } }')


def regions(pooled):
    return source('data', 1, 3, 64, 96) + source('rois', 20, 5) + conv('maps', 'data', pooled, 3, 'stride: 2')


def faster_rcnn_head():
    return (regions(16) + 'layer { name: "pool" type: "ROIPooling" bottom: "maps" bottom: "rois" top: "pool" roi_pooling_param { pooled_h: 6 '
            f'pooled_w: 6 spatial_scale: 0.5 }} }} layer {{ name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" inner_product_param {{ '
            f'num_output: 32 {FILLER} }} }} layer {{ name: "relu" type: "ReLU" bottom: "fc" top: "fc" }} layer {{ name: "score" '
            f'type: "InnerProduct" bottom: "fc" top: "score" inner_product_param {{ num_output: 4 {FILLER} }} }} layer {{ name: "prob" '
            f'type: "Softmax" bottom: "score" top: "prob" }} layer {{ name: "box" type: "InnerProduct" bottom: "fc" top: "box" '
            f'inner_product_param {{ num_output: 16 {FILLER} }} }}')


def rfcn_head():
    return (regions(36) + 'layer { name: "parts" type: "PSROIPooling" bottom: "maps" bottom: "rois" top: "parts" psroi_pooling_param { '
            'output_dim: 4 group_size: 3 spatial_scale: 0.5 } } layer { name: "vote" type: "Pooling" bottom: "parts" top: "vote" '
            'pooling_param { pool: AVE kernel_size: 3 stride: 3 } } layer { name: "prob" type: "Softmax" bottom: "vote" top: "prob" }')


def stacked_units():
    """Recurrent layers over a sequence, and others over their outputs."""
    text = source('x', 5, 3, 8) + source('cont', 5, 3)
    for name, bottom, kind in (('first', 'x', 'LSTM'), ('second', 'first', 'RNN')):
        text += (f'layer {{ name: "{name}" type: "{kind}" bottom: "{bottom}" bottom: "cont" top: "{name}" recurrent_param {{ num_output: 6 '
                 f'{FILLER} }} }}\n')
    return text + f'layer {{ name: "y" type: "InnerProduct" bottom: "second" top: "y" inner_product_param {{ axis: 2 num_output: 4 {FILLER} }} }}'


@unittest.skipIf(LACKS, LACKS)
class WholeNets(CaffeTest):

    def there_and_back(self, path, back=True):
        net = caffe.Net(path, caffe.TEST)
        random = np.random.RandomState(7)
        for i, layer in enumerate(net.layers):
            for blob in layer.blobs:
                if not blob.data.any():  # fillers of 0 would hide errors in later layers
                    blob.data[...] = random.uniform(-0.1, 0.1, blob.data.shape)
            if layer.type == 'BatchNorm':  # the statistics of its input, as after training
                x = net._blobs[net._bottom_ids(i)[0]].data
                axes = (0, *range(2, x.ndim))
                for blob, values in zip(layer.blobs, (x.mean(axes), x.var(axes) + 1e-3, 1)):
                    blob.data[...] = values
            if layer.type not in onnx_export.LOSSES:
                net._forward(i, i, True)
        done = caffe.export_onnx(net, self.path('net.onnx'), verify=1)
        worst = max(done['differences'].values())
        found = ''
        if back:
            found = f', back {max(caffe.import_onnx(self.path("net.onnx"), self.path("back"), verify=1).values()):.1e}'
        print(f'{os.path.basename(path)}: {worst:.1e}{found}', flush=True)

    def test_nets_of_the_zoo(self):
        for name in SMALL if SAMPLE else SMALL + LARGE:
            with self.subTest(name):
                path = self.path(f'{name}.prototxt')
                with open(path, 'w', encoding='utf-8') as file:
                    subprocess.run([sys.executable, os.path.join(SOURCE, 'models/zoo/generate_model.py'), name, '--data=dummy',
                                    '--batch=1', '--test-batch=1'], stdout=file, check=True)
                self.there_and_back(path, name not in ONE_WAY)

    def test_heads_of_detectors_and_segmentation(self):
        for make, back in ((pspnet, False), (faster_rcnn_head, True), (rfcn_head, False), (stacked_units, False)):
            with self.subTest(make.__name__):
                self.there_and_back(self.write(f'{make.__name__}.prototxt', make()), back)


if __name__ == '__main__':
    unittest.main()
