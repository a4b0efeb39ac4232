#!/usr/bin/env python3
"""Tests of generate_model.py: the nets have the layers, parameters and blobs that BVLC Caffe reports for them, and the
files under models/ are what the script writes."""

import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

import model_zoo

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
MIB = 2.0 ** 20

# Net, batch, and as BVLC Caffe has them for the training phase: layers without and with Splits; MiB of parameters (with
# those of BatchNorm), of all tops ("Memory required for data"), of the data of differently named blobs.
CAFFE = [
    ('alexnet', 64, 24, 24, 232.6, 507.8, 345.1), ('alexnet', 128, 24, 24, 232.6, 1015.5, 690.1),
    ('caffenet', 64, 24, 24, 232.6, 419.0, 256.2), ('googlenet', 32, 159, 169, 51.0, 1711.9, 1317.0),
    ('vgg16', 16, 40, 40, 527.8, 1757.9, 930.0), ('vgg16', 32, 40, 40, 527.8, 3515.8, 1860.1),
    ('resnet50', 16, 229, 245, 97.7, 3537.4, 1690.7), ('resnet50', 32, 229, 245, 97.7, 7074.7, 3381.4),
    ('resnet101', 16, 450, 483, 170.3, 5411.6, 2627.8), ('resnet152', 8, 671, 721, 230.2, 3863.4, 1892.7),
    ('resnet152', 16, 671, 721, 230.2, 7726.9, 3785.4), ('wrn28_10', 16, 110, 122, 139.2, 736.2, 365.7),
    ('wrn28_10', 32, 110, 122, 139.2, 1472.5, 731.5), ('resnet56_cifar', 100, 260, 287, 3.3, 1151.2, 520.0),
    ('resnet1001', 32, 4350, 4683, 1282.8, 88659.7, 44173.9), ('resnet1517', 32, 6586, 7091, 1934.7, 132318.7, 66003.4),
]


def generate(*arguments):
    return subprocess.run([sys.executable, os.path.join(SCRIPTS, 'generate_model.py'), *arguments],
                          capture_output=True, text=True, check=False)


def parse(tokens):
    """The fields of a message: name to list of values, in order."""
    message = {}
    for name in tokens:
        if name == '}':
            break
        value = next(tokens)
        message.setdefault(name.rstrip(':'), []).append(parse(tokens) if value == '{' else value.strip('"'))
    return message


def read_net(text, phase='TRAIN'):
    """The layers of one phase."""
    layers = parse(iter(re.findall(r'"[^"]*"|[{}]|[^\s{}]+', text)))['layer']
    return [layer for layer in layers if layer.get('include', [{'phase': [phase]}])[0]['phase'] == [phase]]


class Size:
    """Follows shapes through a net, as documented for Caffe's layers, and adds up floats."""

    def __init__(self, layers):
        self.shapes, self.parameters, self.tops, self.splits = {}, 0, 0, 0
        readers, blobs = {}, {}  # of the newest value of each name
        for layer in layers:
            for bottom in layer.get('bottom', []):
                readers[bottom][-1] += 1
            shapes = getattr(self, layer['type'][0])(layer, *(self.shapes[name] for name in layer.get('bottom', [])))
            for top, shape in zip(layer['top'], shapes):
                readers.setdefault(top, []).append(0)
                self.shapes[top] = shape
                blobs[top] = math.prod(shape)
                self.tops += math.prod(shape)
        self.blobs = sum(blobs.values())
        for name, counts in readers.items():
            for count in counts:
                if count > 1:
                    self.splits += 1
                    self.tops += count * blobs[name]
                    self.blobs += count * blobs[name]

    @staticmethod
    def number(layer, message, name, default=0):
        return int(layer[message][0].get(name, [default])[0])

    def DummyData(self, layer):
        return [[int(dim) for dim in shape['dim']] for shape in layer['dummy_data_param'][0]['shape']]

    def Convolution(self, layer, shape):
        outputs, kernel, stride, pad, group = (self.number(layer, 'convolution_param', *field) for field in (
            ('num_output',), ('kernel_size',), ('stride', 1), ('pad', 0), ('group', 1)))
        bias = 'bias_term' not in layer['convolution_param'][0]
        self.parameters += outputs * (shape[1] // group * kernel ** 2 + bias)
        return [[shape[0], outputs] + [(size + 2 * pad - kernel) // stride + 1 for size in shape[2:]]]

    def InnerProduct(self, layer, shape):
        outputs = self.number(layer, 'inner_product_param', 'num_output')
        self.parameters += outputs * (math.prod(shape[1:]) + 1)
        return [[shape[0], outputs]]

    def Pooling(self, layer, shape):
        if 'global_pooling' in layer['pooling_param'][0]:
            return [[*shape[:2], 1, 1]]
        kernel, stride, pad = (self.number(layer, 'pooling_param', name, default)
                               for name, default in (('kernel_size', 0), ('stride', 1), ('pad', 0)))
        sizes = []
        for size in shape[2:]:
            pooled = -(-(size + 2 * pad - kernel) // stride) + 1
            sizes.append(pooled - 1 if pad and (pooled - 1) * stride >= size + pad else pooled)
        return [[*shape[:2], *sizes]]

    def BatchNorm(self, _, shape):
        self.parameters += 2 * shape[1] + 1
        return [shape]

    def Scale(self, _, shape):
        self.parameters += 2 * shape[1]
        return [shape]

    def Eltwise(self, _, first, second):
        assert first == second, (first, second)
        return [first]

    def Concat(self, _, *shapes):
        return [[shapes[0][0], sum(shape[1] for shape in shapes), *shapes[0][2:]]]

    def ReLU(self, _, shape):
        return [shape]

    LRN = Dropout = ReLU

    def SoftmaxWithLoss(self, _, scores, labels):
        assert scores[0] == labels[0]
        return [[]]


class GenerateModel(unittest.TestCase):

    def test_nets_are_those_that_caffe_was_measured_with(self):
        for name, batch, layers, with_splits, *sizes in CAFFE:
            with self.subTest(net=name, batch=batch):
                net = read_net(generate(name, '--data=dummy', f'--batch={batch}').stdout)
                size = Size(net)
                self.assertEqual((layers, with_splits), (len(net), len(net) + size.splits))
                self.assertEqual(sizes, [round(4 * count / MIB, 1) for count in (size.parameters, size.tops, size.blobs)])

    def test_every_net_fits_together_and_can_be_told_its_sizes(self):
        for name, model in model_zoo.all_models().items():
            if not model.steps and max(map(int, re.findall(r'\d+', name + ' 0'))) < 200:
                with self.subTest(net=name):
                    done = generate(name, '--data=dummy', '--batch=2', '--test-batch=3', '--classes=7')
                    for phase, batch in (('TRAIN', 2), ('TEST', 3)):
                        layers = [l for l in read_net(done.stdout, phase) if l['type'] != ['Accuracy']]
                        self.assertIn([batch, 7], Size(layers).shapes.values())
        deep = Size(read_net(generate('resnet', '--blocks=3,4,23,3', '--data=dummy').stdout))
        self.assertEqual(deep.parameters, Size(read_net(generate('resnet101', '--data=dummy').stdout)).parameters)
        basic = read_net(generate('resnet', '--blocks=3,4,6,3', '--kind=basic', '--data=dummy').stdout)
        self.assertEqual(36, sum(layer['type'] == ['Convolution'] for layer in basic))  # 33 and three projections

    def test_committed_models_are_what_the_script_writes(self):
        root = os.path.dirname(SCRIPTS)
        committed = sorted(name for name in os.listdir(os.path.join(root, 'models')) if '.' not in name)
        self.assertIn('lenet', committed)
        with tempfile.TemporaryDirectory() as folder:
            for name in committed:
                done = subprocess.run([sys.executable, os.path.join(SCRIPTS, 'generate_model.py'), name,
                                       f'--out=models/{name}', '--solver'], cwd=folder, check=False)
                self.assertEqual(0, done.returncode)
                for file in ('train_val.prototxt', 'solver.prototxt'):
                    with self.subTest(file=f'models/{name}/{file}'), open(f'{folder}/models/{name}/{file}') as written, \
                            open(f'{root}/models/{name}/{file}') as there:
                        self.assertEqual(written.read(), there.read())

    def test_what_cannot_be_is_refused_in_one_line(self):
        for arguments, words in ((['alexnet2'], "no model 'alexnet2'"), (['resnet'], '--blocks'),
                                 (['vgg16', '--blocks=1,1,1,1'], '--blocks'), (['vgg16', '--solver'], '--out'),
                                 (['lenet', '--out=/dev/null/x'], '/dev/null')):
            done = generate(*arguments)
            self.assertEqual(1, done.returncode, done.stderr)
            self.assertRegex(done.stderr.strip(), f'^generate_model.py: .*{words}.*$')
        for arguments in (['resnet', '--blocks=1,2,3'], ['lenet', '--batch=0'], []):
            self.assertEqual(2, generate(*arguments).returncode)
        self.assertIn('resnet1001', generate('--list').stdout)


if __name__ == '__main__':
    unittest.main()
