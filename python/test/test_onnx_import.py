"""Import from ONNX: the layers compute the values of ONNX Runtime."""
import collections
import os
import subprocess
import unittest

import numpy as np

import caffe
from common import BIN, CaffeTest
from onnx_nets import LACKS, fill_randomly, grid

if not LACKS:
    import onnx
    from caffe import onnx_export
    from onnx import TensorProto, helper, numpy_helper

# Layers whose export has operators without a layer.
NOT_BACK = {'ArgMax', 'BatchReindex', 'DetectionOutput', 'Filter', 'Im2col', 'LSTM', 'LSTMUnit', 'PSROIPooling', 'Pooling', 'RNN', 'Upsample'}


class Graph:
    """Builds an ONNX graph as other tools write it, with random weights."""

    def __init__(self, *shape, opset=13):
        self.random, self.opset = np.random.RandomState(5), opset
        self.nodes, self.initializers = [], []
        self.inputs = [helper.make_tensor_value_info('x', TensorProto.FLOAT, shape)]

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f'{op.lower()}{len(self.nodes)}' + (f'_{i}' if outputs > 1 else '') for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f'node{len(self.nodes)}', **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array, dtype=np.float32):
        name = f'c{len(self.initializers)}'
        self.initializers.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def weights(self, *shape):
        return self.constant(self.random.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape))

    def conv(self, x, inputs, outputs, kernel=3, stride=1, group=1, bias=False):
        weights = [self.weights(outputs, inputs // group, kernel, kernel)] + ([self.weights(outputs)] if bias else [])
        return self.add('Conv', x, *weights, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)

    def norm(self, x, channels):
        return self.add('BatchNormalization', x, self.constant(self.random.uniform(0.5, 1.5, channels)),
                        *[self.constant(self.random.uniform(-0.5, 0.5, channels)) for _ in range(2)],
                        self.constant(self.random.uniform(0.5, 1.5, channels)))

    def save(self, path, output):
        graph = helper.make_graph(self.nodes, 'built', self.inputs,
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], initializer=self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', self.opset)])
        model.ir_version = 7
        onnx.save(model, path)


def resnet18(g):
    x = g.add('Relu', g.norm(g.conv('x', 3, 64, 7, 2), 64))
    x, channels = g.add('MaxPool', x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
    for stage, width in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = g.add('Relu', g.norm(g.conv(x, channels, width, 3, stride), width))
            y = g.norm(g.conv(y, width, width), width)
            if channels != width:
                x = g.norm(g.conv(x, channels, width, 1, stride), width)
            x, channels = g.add('Relu', g.add('Add', y, x)), width
    x = g.add('Flatten', g.add('GlobalAveragePool', x))
    return g.add('Gemm', x, g.weights(1000, 512), g.weights(1000), transB=1)


def mobilenet_v2(g):
    def relu6(x):
        return g.add('Clip', x, g.constant(0), g.constant(6))
    x, channels = relu6(g.norm(g.conv('x', 3, 32, 3, 2), 32)), 32
    for factor, width, blocks, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                         (6, 320, 1, 1)):
        for block in range(blocks):
            stride, wide, y = first if block == 0 else 1, channels * factor, x
            if factor > 1:
                y = relu6(g.norm(g.conv(y, channels, wide, 1), wide))
            y = relu6(g.norm(g.conv(y, wide, wide, 3, stride, group=wide), wide))
            y = g.norm(g.conv(y, wide, width, 1), width)
            x, channels = g.add('Add', x, y) if stride == 1 and channels == width else y, width
    x = relu6(g.norm(g.conv(x, channels, 1280, 1), 1280))
    x = g.add('ReduceMean', x, axes=[2, 3], keepdims=0)
    return g.add('Gemm', x, g.weights(100, 1280), g.weights(100), transB=1)


def unet(g):
    def twice(x, inputs, outputs):
        x = g.add('Relu', g.conv(x, inputs, outputs, bias=True))
        return g.add('Relu', g.conv(x, outputs, outputs, bias=True))
    x, kept = 'x', []
    for inputs, outputs in ((3, 8), (8, 16), (16, 32)):
        kept.append(twice(x, inputs, outputs))
        x = g.add('MaxPool', kept[-1], kernel_shape=[2, 2], strides=[2, 2])
    x = twice(x, 32, 64)
    for outputs, level in ((32, 2), (16, 1), (8, 0)):
        x = g.add('ConvTranspose', x, g.weights(2 * outputs, outputs, 2, 2), g.weights(outputs), kernel_shape=[2, 2], strides=[2, 2])
        x = twice(g.add('Concat', kept[level], x, axis=1), 2 * outputs, outputs)
    return g.conv(x, 8, 2, 1, bias=True)


def squeeze_and_excite(g):
    """With swish, as in EfficientNet, and the flattening that PyTorch writes for view(x.size(0), -1)."""
    x = g.conv('x', 3, 16, 3, 2)
    x = g.add('Mul', x, g.add('Sigmoid', x))
    gate = g.conv(g.add('GlobalAveragePool', x), 16, 4, 1, bias=True)
    gate = g.add('HardSigmoid', g.conv(g.add('Relu', gate), 4, 16, 1, bias=True), alpha=1 / 6, beta=0.5)
    x = g.add('Mul', gate, x)
    size = g.add('Unsqueeze', g.add('Gather', g.add('Shape', x), g.constant(0, np.int64), axis=0), g.constant([0], np.int64))
    return g.add('Reshape', x, g.add('Concat', size, g.constant([-1], np.int64), axis=0))


def pyramid(g):
    """Maps resized as PyTorch does, layer normalizations, and padding on one side as TensorFlow pads."""
    x = g.add('Conv', 'x', g.weights(8, 3, 3, 3), strides=[2, 2], kernel_shape=[3, 3], auto_pad='SAME_UPPER')
    padded = g.add('Pad', x, g.constant([0, 0, 0, 0, 0, 0, 1, 1], np.int64))
    x = g.add('Conv', padded, g.weights(8, 8, 3, 3), strides=[2, 2], kernel_shape=[3, 3], dilations=[1, 1])
    x = g.add('InstanceNormalization', x, g.weights(8), g.weights(8))
    pools = [g.add('AveragePool', x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, count_include_pad=c, ceil_mode=c)
             for c in (0, 1)]
    scale = g.constant([1, 1, 2, 2])
    sums = [g.add('Resize', pool, '', scale, mode='linear', coordinate_transformation_mode='half_pixel') for pool in pools]
    sums += [g.add('Resize', pools[0], '', scale, mode='nearest', nearest_mode='floor', coordinate_transformation_mode='asymmetric')]
    x = g.add('Sum', *sums)
    parts = g.add('Split', x, g.constant([3, 5], np.int64), outputs=2, axis=1)
    x = g.add('Concat', parts[1], parts[0], axis=1)
    x = g.add('Concat', x, x, axis=3)
    x = g.add('Slice', x, g.constant([1], np.int64), g.constant([10**6], np.int64), g.constant([3], np.int64), g.constant([2], np.int64))
    x = g.add('Slice', x, g.constant([0, 1], np.int64), g.constant([100, -1], np.int64), g.constant([2, 3], np.int64))
    mean = g.add('ReduceMean', x, axes=[1])
    centred = g.add('Sub', x, mean)
    deviation = g.add('Sqrt', g.add('Add', g.add('ReduceMean', g.add('Pow', centred, g.constant(2)), axes=[1]), g.constant(1e-5)))
    x = g.add('Div', centred, deviation)
    x = g.add('Transpose', g.add('Add', g.add('Mul', x, g.weights(8, 1, 1)), g.constant(0.5)), perm=[0, 2, 3, 1])
    x = g.add('Add', g.add('MatMul', x, g.weights(8, 6)), g.weights(6))
    return g.add('LogSoftmax', g.add('LeakyRelu', x, alpha=0.1), axis=-1)


@unittest.skipIf(LACKS, LACKS)
class Import(CaffeTest):

    def export(self, text, path):
        net = fill_randomly(caffe.Net(self.write('net.prototxt', text), caffe.TEST))
        onnx_export.export_onnx(net, path)
        return net

    def test_exported_nets_are_imported_with_the_same_values(self):
        back, refused = 0, collections.Counter()
        nets = list(grid())[::4 if os.environ.get('LAYRUB_SAMPLE') else 1]
        for text in nets:
            with self.subTest(text):
                net = self.export(text, self.path('net.onnx'))
                try:
                    done = caffe.import_onnx(self.path('net.onnx'), self.path('back'), verify=1)
                except onnx_export.Refusal:
                    refused.update({layer.type for layer in net.layers} & NOT_BACK or {net.layers[-1].type})
                    continue
                back += 1
                self.assertTrue(done)
        print(f'{back} nets come back; not those of {dict(refused)}')
        self.assertLessEqual(set(refused), NOT_BACK)
        self.assertGreaterEqual(back, 0.85 * len(nets))

    def test_nets_as_other_tools_write_them_give_the_same_values(self):
        for make, shape, layers in ((resnet18, (2, 3, 64, 64), {'Convolution': 20, 'BatchNorm': 20, 'Eltwise': 8, 'InnerProduct': 1}),
                                    (mobilenet_v2, (2, 3, 64, 64), {'Convolution': 52, 'ReLU6': 35, 'Eltwise': 10}),
                                    (unet, (1, 3, 48, 64), {'Deconvolution': 3, 'Concat': 3}),
                                    (squeeze_and_excite, (2, 3, 20, 22), {'Scale': 1, 'Clip': 1, 'Swish': 1, 'Sigmoid': 0}),
                                    (pyramid, (2, 3, 37, 53), {'Upsample': 1})):
            with self.subTest(make.__name__):
                g = Graph(*shape)
                g.save(self.path('net.onnx'), make(g))
                done = caffe.import_onnx(self.path('net.onnx'), self.path('net'), verify=2)
                self.assertEqual(1, len(done))
                net = caffe.Net(self.path('net.prototxt'), self.path('net.caffemodel'), caffe.TEST)
                found = collections.Counter(layer.type for layer in net.layers)
                self.assertEqual(layers, {kind: found[kind] for kind in layers})

    def test_an_imported_net_is_planned_trained_and_exported_again(self):
        g = Graph('N', 3, 'H', 'W')
        g.save(self.path('net.onnx'), resnet18(g))
        done = self.layrub('import', '--onnx=net.onnx', '--output=net', '--data_shape=3,32,32', '--batch=4')
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stdout, r'\Agemm\d+: differs from ONNX Runtime by at most [0-9.e-]+ of its largest value, in 3 runs\n'
                         r'Written: net\.prototxt and net\.caffemodel\n\Z')
        with open(self.path('net.prototxt'), encoding='utf-8') as file:
            text = file.read()
        text = text.replace('type: "Input"', 'type: "DummyData"').replace('input_param', 'dummy_data_param')
        output = caffe.Net(self.path('net.prototxt'), caffe.TEST).outputs[0]
        self.write('train.prototxt', text + 'layer { name: "label" type: "DummyData" top: "label" dummy_data_param { shape { dim: 4 } } }'
                   f'layer {{ name: "loss" type: "SoftmaxWithLoss" bottom: "{output}" bottom: "label" top: "loss" }}')
        self.write('solver.prototxt', 'net: "train.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 2 snapshot_prefix: "run"')
        for words in (('plan', '--model=train.prototxt'), ('train', '--solver=solver.prototxt', '--weights=net.caffemodel'),
                      ('export', '--model=net.prototxt', '--weights=run_iter_2.caffemodel', '--output=again.onnx')):
            done = self.layrub(*words)
            self.assertEqual(0, done.returncode, done.stderr)

    def test_all_unsupported_nodes_are_listed_and_nothing_is_written(self):
        g = Graph(1, 3, 8, 8)
        x = g.add('Erf', g.conv('x', 3, 4))
        h = g.add('GRU', g.add('Reshape', x, g.constant([4, 1, 64], np.int64)), g.weights(1, 15, 64), g.weights(1, 15, 5), outputs=2,
                  hidden_size=5)
        g.save(self.path('net.onnx'), g.add('Relu', h[0]))
        with self.assertRaises(onnx_export.Refusal) as refused:
            caffe.import_onnx(self.path('net.onnx'), self.path('net'))
        self.assertRegex(str(refused.exception), r'net\.onnx has what no layer does:\n  node1 \(Erf\): there is no layer for this '
                         r'operator\n  node3 \(GRU\): there is no layer for this operator\Z')
        self.assertEqual([], [name for name in os.listdir(self.folder) if name.startswith('net.') and name != 'net.onnx'])

    def test_a_wrong_reader_is_detected_and_its_node_named(self):
        from caffe.onnx_import.writer import READERS
        right = READERS['Sigmoid']
        self.addCleanup(READERS.update, {'Sigmoid': right})
        READERS['Sigmoid'] = lambda w, node: w.power(w.blob(node.input[0]), w.top(), scale=0.5)
        g = Graph(2, 3, 4)
        g.save(self.path('net.onnx'), g.add('Tanh', g.add('Sigmoid', g.add('Relu', 'x'))))
        with self.assertRaisesRegex(onnx_export.Differs, r'tanh2 differs by .*; the first node that differs is node1 \(Sigmoid\)'):
            caffe.import_onnx(self.path('net.onnx'), self.path('net'), verify=1)
        self.assertFalse(os.path.exists(self.path('net.prototxt')))

    def test_the_document_names_every_operator_that_is_read(self):
        from caffe.onnx_import.writer import READERS
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/onnx.md')
        with open(path, encoding='utf-8') as file:
            words = set(file.read().partition('## From ONNX')[2].replace(',', ' ').split())
        self.assertEqual(set(), set(READERS) - words)

    def test_bad_input_is_reported_in_a_sentence(self):
        self.write('text.onnx', 'no graph at all')
        g = Graph('N', 3, 'H', 8)
        g.save(self.path('open.onnx'), g.add('Relu', 'x'))
        for flags, words in ((('--onnx=none.onnx', '--output=y'), 'none.onnx: No such file'),
                             (('--onnx=text.onnx', '--output=y'), 'text.onnx is not an ONNX file'),
                             (('--onnx=open.onnx', '--output=y'), 'input x has no fixed shape (1, 3, ?, 8); give it as --data_shape='),
                             (('--onnx=open.onnx', '--output=y', '--data_shape=y:1,2'), 'has no input y; it has x'),
                             (('--onnx=open.onnx', '--output=y', '--data_shape=1x2'), '--data_shape=1x2: it is C,H,W'),
                             (('--onnx=open.onnx', '--output=none/y'), 'none/y'), (('--output=y',), '--onnx'),
                             (('--onnx=open.onnx',), '--output'), (('--onnx=open.onnx', '--output=y', '--batch=-1'), '1 or more')):
            with self.subTest(flags):
                done = self.layrub('import', *flags)
                self.assertEqual(1, done.returncode)
                self.assertIn(words, done.stderr)
                self.assertNotIn('Traceback', done.stderr)
        self.assertFalse(os.path.exists(self.path('y.prototxt')))

    def layrub(self, *words):
        return subprocess.run([os.path.join(BIN, 'layrub'), *words], cwd=self.folder, capture_output=True, text=True, check=False)


if __name__ == '__main__':
    unittest.main()
