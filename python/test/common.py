"""Helpers for tests of the package: a folder for each test, and nets."""
import os
import shutil
import tempfile
import unittest

import numpy as np

os.environ.setdefault('GLOG_minloglevel', '2')

import caffe  # noqa: E402  the log level must be set first

BIN = os.environ.get('LAYRUB_BIN_DIR')

# Long enough for a plan under a tight budget to offload or drop values.
TRAIN_NET = '''
name: "small"
layer { name: "data" type: "DummyData" top: "data" top: "label"
  dummy_data_param { shape { dim: 8 dim: 3 dim: 16 dim: 16 } shape { dim: 8 }
    data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
layer { name: "relu2" type: "ReLU" bottom: "conv2" top: "relu2" }
layer { name: "conv3" type: "Convolution" bottom: "relu2" top: "conv3"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
layer { name: "pool" type: "Pooling" bottom: "conv3" top: "pool" pooling_param { pool: AVE kernel_size: 4 stride: 4 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''

DEPLOY_NET = '''
name: "deploy"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
'''


class CaffeTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        caffe.set_random_seed(1701)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(text)
        return self.path(name)

    def net(self, text=DEPLOY_NET, phase=caffe.TEST, **options):
        return caffe.Net(self.write('net.prototxt', text), phase, **options)

    def fill_weights(self, net):
        for blobs in net.params.values():
            blobs[0].data[...] = np.arange(blobs[0].count).reshape(blobs[0].shape) % 7 / 50 - 0.05

    def solver_file(self, text=TRAIN_NET, more='', solver_type='SGD'):
        net = self.write('train.prototxt', text)
        return self.write('solver.prototxt', f'net: "{net}"\nbase_lr: 0.1\nlr_policy: "fixed"\nmax_iter: 20\n'
                          f'type: "{solver_type}"\nrandom_seed: 1701\nsnapshot_prefix: "{self.path("snap")}"\n'
                          f'snapshot_after_train: false\n{more}')
