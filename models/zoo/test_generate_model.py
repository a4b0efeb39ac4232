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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools/python'))
import model_text
import model_zoo

ZOO = os.path.dirname(os.path.abspath(__file__))
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

# Numbers of learned parameters, including those of Scale layers but not the statistics of BatchNorm.
LEARNED = {
    # as in widely used implementations of the papers, which count the same parameters
    'squeezenet': 1235496, 'mobilenet_v1': 4231976, 'mobilenet_v2': 3504872, 'shufflenet': 1865728,
    'densenet121': 7978856, 'densenet169': 14149480, 'densenet201': 20013928, 'resnet50': 25557032,
    'resnext50': 25028904, 'se_resnet50': 28088024, 'inception_v3': 23834568, 'inception_v4': 42679816,
    'ssd300': 26285486,
    # VGG-16's convolutions; fc6 and fc7; scores of three strides; two bilinear kernels of 4 x 4 and one of 16 x 16 for
    # each class
    'fcn8s': 14714688 + 4096 * (512 * 49 + 1) + 4096 * 4097 + 21 * (4097 + 513 + 257) + 21 * (16 + 16 + 256),
    # with k channels on a level, for k = 64, 128, 256, 512: the up-convolution from 2 k, and four convolutions, the
    # first of which has k / 2 inputs (one on the first level) and the third 2 k; the two at the bottom; the scores
    'unet': sum(2 * k * k * 4 + k + 9 * k * ((1 if k == 64 else k // 2) + k + 2 * k + k) + 4 * k
                for k in (64, 128, 256, 512)) + 9 * 1024 * (512 + 1024) + 2 * 1024 + 2 * (64 + 1),
    # words; gates of 1000 from 1000 inputs and 1000 of the step before, in layer 2 and the image's 1000; scores
    'captioner': 8801 * 1000 + 4 * 1000 * (2001 + 3001) + 8801 * 1001,
}


def generate(*arguments):
    return subprocess.run([sys.executable, os.path.join(ZOO, 'generate_model.py'), *arguments],
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
    """Computes the shapes of a net as documented for Caffe's layers, and sums the numbers of floats."""

    def __init__(self, layers):
        self.shapes, self.learned, self.statistics, self.tops, self.splits = {}, 0, 0, 0, 0
        readers, blobs = {}, {}  # for the newest value of each name
        for layer in layers:
            for bottom in layer.get('bottom', []):
                readers[bottom][-1] += 1
            shapes = getattr(self, layer['type'][0])(layer, *(self.shapes[name] for name in layer.get('bottom', [])))
            for top, shape in zip(layer['top'], shapes):
                readers.setdefault(top, []).append(0)
                self.shapes[top] = shape
                blobs[top] = math.prod(shape)
                self.tops += math.prod(shape)
        self.parameters = self.learned + self.statistics
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

    def pair(self, layer, name, default, square=None):
        """A size of a convolution: of the height and of the width."""
        same = self.number(layer, 'convolution_param', square or name, default)
        return [self.number(layer, 'convolution_param', f'{name}_{side}', same) for side in 'hw']

    def DummyData(self, layer):
        return [[int(dim) for dim in shape['dim']] for shape in layer['dummy_data_param'][0]['shape']]

    def filters(self, layer, channels):
        """Adds up the parameters; returns outputs, and (kernel, padding) for each axis."""
        outputs = self.number(layer, 'convolution_param', 'num_output')
        depthwise = layer['type'] == ['DepthwiseConvolution']
        group = self.number(layer, 'convolution_param', 'group', channels if depthwise else 1)
        kernel = self.pair(layer, 'kernel', 0, 'kernel_size')
        bias = 'bias_term' not in layer['convolution_param'][0]
        self.learned += outputs * (channels // group * math.prod(kernel) + bias)
        return outputs, zip(kernel, self.pair(layer, 'pad', 0))

    def Convolution(self, layer, shape):
        stride, dilation = (self.number(layer, 'convolution_param', name, 1) for name in ('stride', 'dilation'))
        outputs, axes = self.filters(layer, shape[1])
        return [[shape[0], outputs] + [(size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
                                       for size, (kernel, pad) in zip(shape[2:], axes)]]

    DepthwiseConvolution = Convolution

    def Deconvolution(self, layer, shape):
        stride = self.number(layer, 'convolution_param', 'stride', 1)
        outputs, axes = self.filters(layer, shape[1])
        return [[shape[0], outputs] + [stride * (size - 1) + kernel - 2 * pad
                                       for size, (kernel, pad) in zip(shape[2:], axes)]]

    def InnerProduct(self, layer, shape):
        outputs, axis = (self.number(layer, 'inner_product_param', *field) for field in (('num_output',), ('axis', 1)))
        self.learned += outputs * (math.prod(shape[axis:]) + 1)
        return [[*shape[:axis], outputs]]

    def Embed(self, layer, shape):
        outputs, inputs = (self.number(layer, 'embed_param', name) for name in ('num_output', 'input_dim'))
        self.learned += inputs * outputs
        return [[*shape, outputs]]

    def LSTM(self, layer, shape, _, static=(0, 0)):
        outputs = self.number(layer, 'recurrent_param', 'num_output')
        self.learned += 4 * outputs * (math.prod(shape[2:]) + outputs + static[1] + 1)
        return [[*shape[:2], outputs]]

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
        self.statistics += 2 * shape[1] + 1
        return [shape]

    def Scale(self, _, shape):
        self.learned += 2 * shape[1]
        return [shape]

    def Normalize(self, _, shape):
        self.learned += shape[1]
        return [shape]

    def Eltwise(self, _, first, second):
        assert first == second, (first, second)
        return [first]

    def Axpy(self, _, factor, first, second):
        assert first == second and factor == [*first[:2], 1, 1], (factor, first, second)
        return [first]

    def Concat(self, layer, *shapes):
        axis = self.number(layer, 'concat_param', 'axis', 1) if 'concat_param' in layer else 1
        assert len({(*shape[:axis], *shape[axis + 1:]) for shape in shapes}) == 1, shapes
        return [[*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1:]]]

    def Crop(self, layer, shape, like):
        offset = self.number(layer, 'crop_param', 'offset')
        assert all(size >= offset + wanted for size, wanted in zip(shape[2:], like[2:])), (shape, like)
        return [[*shape[:2], *like[2:]]]

    def Permute(self, layer, shape):
        return [[shape[int(axis)] for axis in layer['permute_param'][0]['order']]]

    def Flatten(self, _, shape):
        return [[shape[0], math.prod(shape[1:])]]

    def PriorBox(self, layer, shape, _):
        boxes = 2 + 2 * len(layer['prior_box_param'][0]['aspect_ratio'])
        return [[1, 2, 4 * boxes * math.prod(shape[2:])]]

    def ReLU(self, _, shape):
        return [shape]

    LRN = Dropout = ReLU6 = ShuffleChannel = Sigmoid = ReLU

    def SoftmaxWithLoss(self, layer, scores, labels):
        axis = self.number(layer, 'softmax_param', 'axis', 1) if 'softmax_param' in layer else 1
        assert math.prod(scores) == scores[axis] * math.prod(labels), (scores, labels)
        return [[]]

    def MultiBoxLoss(self, layer, offsets, scores, priors, _):
        classes = self.number(layer, 'multibox_loss_param', 'num_classes')
        assert offsets == [scores[0], priors[2]] and 4 * scores[1] == classes * priors[2], (offsets, scores, priors)
        return [[]]


class GenerateModel(unittest.TestCase):

    def test_nets_are_those_used_to_measure_caffe(self):
        for name, batch, layers, with_splits, *sizes in CAFFE:
            with self.subTest(net=name, batch=batch):
                net = read_net(generate(name, '--data=dummy', f'--batch={batch}').stdout)
                size = Size(net)
                self.assertEqual((layers, with_splits), (len(net), len(net) + size.splits))
                self.assertEqual(sizes, [round(4 * count / MIB, 1) for count in (size.parameters, size.tops, size.blobs)])

    def test_nets_have_as_many_parameters_as_their_papers(self):
        for name, count in LEARNED.items():
            with self.subTest(net=name):
                self.assertEqual(count, Size(read_net(generate(name, '--data=dummy').stdout)).learned)

    def test_an_ssd_has_the_boxes_of_its_paper(self):
        shapes = Size(read_net(generate('ssd300', '--data=dummy', '--batch=2', '--classes=7').stdout)).shapes
        self.assertEqual([2, 4 * 8732], shapes['mbox_loc'])
        self.assertEqual([2, 7 * 8732], shapes['mbox_conf'])
        self.assertEqual([1, 1, 4, 8], shapes['label'])

    def test_shapes_of_every_net_match_at_other_sizes(self):
        for name, model in model_zoo.all_models().items():
            if not model.steps and name != 'ssd300' and max(map(int, re.findall(r'\d+', name + ' 0'))) < 200:
                with self.subTest(net=name):
                    done = generate(name, '--data=dummy', '--batch=2', '--test-batch=3', '--classes=7')
                    for phase, batch in (('TRAIN', 2), ('TEST', 3)):
                        layers = [l for l in read_net(done.stdout, phase) if l['type'] != ['Accuracy']]
                        scores = next(l['bottom'][0] for l in layers if l['type'] == ['SoftmaxWithLoss'])
                        self.assertEqual([batch, 7], Size(layers).shapes[scores][:2])
        deep = Size(read_net(generate('resnet', '--blocks=3,4,23,3', '--data=dummy').stdout))
        self.assertEqual(deep.parameters, Size(read_net(generate('resnet101', '--data=dummy').stdout)).parameters)
        basic = read_net(generate('resnet', '--blocks=3,4,6,3', '--kind=basic', '--data=dummy').stdout)
        self.assertEqual(36, sum(layer['type'] == ['Convolution'] for layer in basic))  # 33 and three projections

    def test_models_have_the_requested_sizes(self):
        def outputs(*arguments):
            layers = read_net(generate(*arguments, '--data=dummy').stdout)
            return [int(layer['convolution_param'][0]['num_output'][0]) for layer in layers
                    if layer['type'] == ['Convolution']]
        wide, plain = outputs('wresnet', '--depth=101', '--widen=6'), outputs('resnet101')
        self.assertEqual([6 * count for count in plain], wide)
        rnn = Size(read_net(generate('rnn', '--layers=3', '--hidden=64', '--classes=10').stdout))
        self.assertEqual(3 * 4 * 64 * (64 + 64 + 1) + 10 * 65, rnn.learned)

    def test_written_models_can_be_read(self):
        message = model_text.read(generate('googlenet', '--batch=4').stdout)
        layers = {layer['name']: layer for layer in message['layer']}
        self.assertEqual(message['name'], 'GoogLeNet')
        self.assertEqual(layers['conv1/7x7_s2']['convolution_param']['kernel_size'], 7)
        self.assertEqual(layers['loss1/loss']['loss_weight'], [0.3])
        self.assertEqual(layers['loss1/loss']['bottom'], ['loss1/classifier', 'label'])
        self.assertEqual(layers['pool5/7x7_s1']['pooling_param']['pool'], 'AVE')
        data = [layer for layer in message['layer'] if layer['type'] == 'Data']
        self.assertEqual([layer['include'] for layer in data], [[{'phase': 'TRAIN'}], [{'phase': 'TEST'}]])
        self.assertEqual(data[0]['transform_param']['mirror'], True)
        self.assertEqual(data[0]['transform_param']['mean_value'], [104, 117, 123])
        self.assertEqual(data[0]['data_param']['batch_size'], 4)
        self.assertEqual(model_text.read('a { b: -1e-3 c: "x y" } a {} d: false e: 0.5 e: .25'),
                         {'a': [{'b': -0.001, 'c': 'x y'}, {}], 'd': False, 'e': [0.5, 0.25]})

    def test_committed_models_are_what_the_script_writes(self):
        root = os.path.dirname(os.path.dirname(ZOO))
        committed = sorted(name for name in os.listdir(os.path.join(root, 'models'))
                           if os.path.exists(os.path.join(root, 'models', name, 'train_val.prototxt')))
        self.assertIn('lenet', committed)
        with tempfile.TemporaryDirectory() as folder:
            for name in committed:
                done = subprocess.run([sys.executable, os.path.join(ZOO, 'generate_model.py'), name,
                                       f'--out=models/{name}', '--solver'], cwd=folder, check=False)
                self.assertEqual(0, done.returncode)
                for file in ('train_val.prototxt', 'solver.prototxt'):
                    with self.subTest(file=f'models/{name}/{file}'), open(f'{folder}/models/{name}/{file}') as written, \
                            open(f'{root}/models/{name}/{file}') as there:
                        self.assertEqual(written.read(), there.read())

    def test_impossible_models_are_refused_in_one_line(self):
        for arguments, words in ((['alexnet2'], "no model 'alexnet2'"), (['resnet'], '--blocks'),
                                 (['vgg16', '--blocks=1,1,1,1'], '--blocks'), (['vgg16', '--solver'], '--out'),
                                 (['wresnet', '--depth=50'], '--widen'), (['lstm', '--hidden=3'], '--hidden'),
                                 (['lenet', '--out=/dev/null/x'], '/dev/null'), (['unet', '--crop=200'], '188, 204')):
            done = generate(*arguments)
            self.assertEqual(1, done.returncode, done.stderr)
            self.assertRegex(done.stderr.strip(), f'^generate_model.py: .*{words}.*$')
        for arguments in (['resnet', '--blocks=1,2,3'], ['lenet', '--batch=0'], []):
            self.assertEqual(2, generate(*arguments).returncode)
        self.assertIn('resnet1001', generate('--list').stdout)


if __name__ == '__main__':
    unittest.main()
