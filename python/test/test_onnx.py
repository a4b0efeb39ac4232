"""Export to ONNX: ONNX Runtime gives the values of the net."""
import itertools
import os
import subprocess
import unittest

import numpy as np

import caffe
from common import BIN, TRAIN_NET, CaffeTest

try:
    import onnx
    import onnxruntime
    from caffe import onnx_export
    from caffe.onnx_export import layer as onnx_layer
    LACKS = None
except ImportError as error:
    LACKS = f'{error}; scripts/install_deps.sh --tests gets it'
    if os.environ.get('LAYRUB_REQUIRE_ONNXRUNTIME') == '1':
        raise

FILLER = 'weight_filler { type: "uniform" min: -1 max: 1 } '


def source(name, *shape):
    dims = ' '.join(f'dim: {n}' for n in shape)
    return f'layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ {dims} }} }} }}\n'


DATA = source('data', 2, 4, 9, 7)


def net_of(kind, param='', bottoms=('data',), tops=('y',), sources=DATA):
    names = ''.join(f'bottom: "{name}" ' for name in bottoms) + ''.join(f'top: "{name}" ' for name in tops)
    return f'{sources}layer {{ name: "layer" type: "{kind}" {names} {param} }}'


def single(kind, field, *values, **options):
    """A net of one layer for each combination of the values of parameters: ('stride', (1, 2)), ..."""
    for chosen in itertools.product(*(alternatives for _, alternatives in values)):
        texts = ' '.join(value if name is None else f'{name}: {value}'
                         for (name, _), value in zip(values, chosen) if value is not None)
        yield net_of(kind, f'{field} {{ {texts} }}' if field else '', **options)


def grid():
    """Of every layer type that is exported, nets with all that changes its values."""
    conv = [('kernel_size', (1, 3)), ('stride', (1, 2)), ('pad', (0, 1)), ('dilation', (1, 2)), ('group', (1, 2)),
            ('bias_term', ('true', 'false')), (None, (f'num_output: 6 {FILLER}',))]
    yield from single('Convolution', 'convolution_param', *conv)
    yield from single('Deconvolution', 'convolution_param', *conv)
    yield from single('Convolution', 'convolution_param',
                      (None, (f'num_output: 3 kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 0 {FILLER}',
                              f'num_output: 3 kernel_size: 3 kernel_size: 1 pad: 1 pad: 0 {FILLER}')))
    yield from single('ConvolutionDepthwise', 'convolution_param', ('stride', (1, 2)),
                      (None, (f'num_output: 4 kernel_size: 3 {FILLER}',)))
    yield from single('Convolution', 'convolution_param', (None, (f'num_output: 3 kernel_size: 2 {FILLER}',)),
                      sources=source('data', 2, 3, 4, 5, 6))
    yield from single('Im2col', 'convolution_param', ('kernel_size', (2, 3)), ('stride', (1, 2)), ('pad', (0, 1)),
                      ('dilation', (1, 2)))
    yield from single('Pooling', 'pooling_param', ('pool', ('MAX', 'AVE')), ('kernel_size', (2, 3)), ('stride', (1, 2)),
                      ('pad', (0, 1)), ('round_mode', ('CEIL', 'FLOOR')))
    yield from single('Pooling', 'pooling_param', ('pool', ('MAX', 'AVE')),
                      (None, ('global_pooling: true', 'kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 2 pad_h: 1 pad_w: 0')))
    yield from single('Pooling', 'pooling_param', ('pool', ('STOCHASTIC',)), ('kernel_size', (2, 3)), ('stride', (1, 2)))
    yield from single('Pooling', 'pooling_param', ('kernel_size', (2, 3)), ('stride', (2,)), tops=('y', 'mask'))
    yield from single('SPP', 'spp_param', ('pyramid_height', (1, 2, 3)), ('pool', ('MAX', 'AVE')))
    yield from single('InnerProduct', 'inner_product_param', ('axis', (1, 2, -1)), ('transpose', ('true', 'false')),
                      ('bias_term', ('true', 'false')), (None, (f'num_output: 5 {FILLER}',)))
    yield from single('LRN', 'lrn_param', ('norm_region', ('ACROSS_CHANNELS', 'WITHIN_CHANNEL')), ('local_size', (3, 5)),
                      ('alpha', (1, 0.1)), ('beta', (0.75, 0.5)), ('k', (1, 2)))
    yield from single('BatchNorm', 'batch_norm_param', ('eps', (1e-5, 0.1)),
                      ('use_global_stats', (None, 'true', 'false')))
    yield net_of('BatchNorm', 'batch_norm_param { scale_bias: true }')
    yield from single('BN', 'bn_param', ('eps', (1e-5, 0.1)), ('bn_mode', ('LEARN', 'INFERENCE')))
    yield net_of('BN', 'bn_param { var_eps: 0.2 }')
    yield from single('Scale', 'scale_param', ('axis', (1, 2, -1)), ('bias_term', ('true', 'false')))
    yield from single('Scale', 'scale_param', (None, ('num_axes: 0', 'axis: 1 num_axes: -1', 'axis: 1 num_axes: 2')))
    yield from single('Bias', 'bias_param', ('axis', (1, 2, -1)))
    yield from single('Bias', 'bias_param', (None, ('num_axes: 0', 'axis: 1 num_axes: -1')))
    two = source('data', 2, 3, 4, 5) + source('other', 2, 3)
    for kind, field in (('Scale', 'scale_param'), ('Bias', 'bias_param')):
        yield net_of(kind, f'{field} {{ axis: 0 }}', bottoms=('data', 'other'), sources=two)
    yield from single('MVN', 'mvn_param', ('across_channels', ('true', 'false')), ('eps', (1e-9, 0.1)),
                      ('normalize_variance', ('true', 'false')))
    yield from single('Normalize', 'norm_param', ('across_spatial', ('true', 'false')), ('eps', (1e-10, 0.1)),
                      ('channel_shared', ('true', 'false')))
    for kind in ('AbsVal', 'BNLL', 'Sigmoid', 'TanH', 'Dropout', 'ReLU6'):
        yield net_of(kind) + 'layer { name: "after" type: "ReLU" bottom: "y" top: "z" }'
    yield from single('ReLU', 'relu_param', ('negative_slope', (0, 0.1)))
    yield from single('Clip', 'clip_param', ('min', (-0.5, 0)), ('max', (0.25, 1)))
    yield from single('PReLU', 'prelu_param', ('channel_shared', ('true', 'false')))
    yield from single('ELU', 'elu_param', ('alpha', (1, 0.5)))
    yield from single('Swish', 'swish_param', ('beta', (1, 2)))
    yield from single('Threshold', 'threshold_param', ('threshold', (0, 0.25)))
    yield from single('Exp', 'exp_param', ('base', (-1, 2)), ('scale', (1, 0.5)), ('shift', (0, 1)))
    yield from single('Log', 'log_param', ('base', (-1, 3)), ('scale', (1, 2)), ('shift', (0, 1)))
    yield from single('Power', 'power_param', ('power', (0, 1, 2, 0.5)), ('scale', (1, 2)), ('shift', (0, 1)))
    yield from single('Softmax', 'softmax_param', ('axis', (1, 2, -1)))
    yield from single('Flatten', 'flatten_param', ('axis', (1, 2)), ('end_axis', (-1, 2)))
    yield from single('Reshape', 'reshape_param', (None, ('shape { dim: 0 dim: -1 dim: 3 }', 'shape { dim: 0 dim: 0 dim: -1 }',
                                                          'shape { dim: 2 dim: 2 } axis: 1 num_axes: 1')))
    yield from single('Permute', 'permute_param', (None, ('order: 0 order: 2 order: 3 order: 1', 'order: 0 order: 3')))
    yield from single('ShuffleChannel', 'shuffle_channel_param', ('group', (1, 2)))
    yield from single('Tile', 'tile_param', ('axis', (1, 2)), ('tiles', (2, 3)))
    yield from single('Concat', 'concat_param', ('axis', (1, 2, -1)), bottoms=('data', 'data'))
    yield from single('Slice', 'slice_param', (None, ('axis: 1', 'axis: 1 slice_point: 1')), tops=('a', 'b'))
    yield from single('Eltwise', 'eltwise_param', (None, ('', 'operation: PROD', 'operation: MAX',
                                                          'coeff: 2 coeff: -0.5', 'coeff: 1 coeff: -1')),
                      bottoms=('data', 'other'), sources=source('data', 2, 3, 4) + source('other', 2, 3, 4))
    yield from single('Reduction', 'reduction_param', ('operation', ('SUM', 'MEAN', 'ASUM', 'SUMSQ')), ('axis', (0, 1, -1)),
                      ('coeff', (1, 3)))
    yield from single('ArgMax', 'argmax_param', ('axis', (None, 1)), ('top_k', (1, 2)), ('out_max_val', ('true', 'false')))
    yield from single('Interp', 'interp_param', (None, ('height: 13 width: 5', 'zoom_factor: 3', 'shrink_factor: 2',
                                                        'zoom_factor: 2 pad_beg: -1 pad_end: -2')))
    yield from single('Upsample', 'upsample_param', ('scale', (2, 3)))
    yield (net_of('Pooling', 'pooling_param { kernel_size: 2 stride: 2 }', tops=('y', 'mask')) + ' layer { name: "up" '
           'type: "Upsample" bottom: "y" bottom: "mask" top: "z" upsample_param { upsample_h: 9 upsample_w: 7 } }')
    yield from single('Reorg', 'reorg_param', ('stride', (1, 2)), ('reverse', ('true', 'false')),
                      sources=source('data', 2, 8, 4, 6))
    yield from single('Crop', 'crop_param', (None, ('axis: 2 offset: 2', 'axis: 2 offset: 1 offset: 3', 'axis: 3')),
                      bottoms=('data', 'size'), sources=DATA + source('size', 2, 4, 5, 4))
    axpy = source('a', 2, 3) + source('data', 2, 3, 4, 5) + source('other', 2, 3, 4, 5)
    yield net_of('Axpy', bottoms=('a', 'data', 'other'), sources=axpy)
    yield from single('Embed', 'embed_param', ('bias_term', ('true', 'false')), (None, (f'num_output: 4 input_dim: 7 {FILLER}',)),
                      sources=source('data', 2, 3))
    yield net_of('BatchReindex', bottoms=('data', 'places'), sources=DATA + source('places', 6))
    yield (source('data', 2, 3) + 'layer { name: "p" type: "Parameter" top: "p" parameter_param { shape { dim: 2 dim: 3 } } } '
           'layer { name: "sum" type: "Eltwise" bottom: "data" bottom: "p" top: "y" }')
    yield net_of('ROIPooling', 'roi_pooling_param { pooled_h: 3 pooled_w: 2 spatial_scale: 0.25 }', bottoms=('data', 'rois'),
                 sources=DATA + source('rois', 6, 5))
    for sizes in ('min_size: 5', 'min_size: 5 max_size: 9 aspect_ratio: 2 clip: true', 'min_size: 4 aspect_ratio: 3 flip: false'):
        yield (net_of('PriorBox', f'prior_box_param {{ {sizes} }}', bottoms=('data', 'image'),
                      sources=DATA + source('image', 2, 3, 90, 70))
               + 'layer { name: "map" type: "ReLU" bottom: "data" top: "map" }')
    yield net_of('Filter', bottoms=('data', 'chosen'), sources=source('data', 6, 3, 4) + source('chosen', 6))
    yield net_of('LSTMUnit', bottoms=('cells', 'gates', 'marks'), tops=('c', 'h'),
                 sources=source('cells', 1, 3, 5) + source('gates', 1, 3, 20) + source('marks', 1, 3))
    sequence = source('x', 4, 3, 5) + source('cont', 4, 3)
    for kind, states in (('LSTM', 2), ('RNN', 1)):
        param = f'recurrent_param {{ num_output: 6 {FILLER} %s }}'
        yield net_of(kind, param % '', bottoms=('x', 'cont'), sources=sequence)
        yield net_of(kind, param % '', bottoms=('x', 'cont', 's'), sources=sequence + source('s', 3, 2))
        first = [f's{k}' for k in range(states)]
        yield net_of(kind, param % 'expose_hidden: true', bottoms=('x', 'cont', *first), tops=('y', *(f'e{k}' for k in range(states))),
                     sources=sequence + ''.join(source(name, 1, 3, 6) for name in first))


@unittest.skipIf(LACKS, LACKS)
class Export(CaffeTest):

    def net(self, text):
        net = caffe.Net(self.write('net.prototxt', text), caffe.TEST)
        random = np.random.RandomState(3)
        for layer in net.layers:
            for blob in layer.blobs:
                values = random.uniform(-1, 1, blob.data.shape)
                blob.data[...] = np.abs(values) + 0.5 if layer.type in ('BatchNorm', 'BN') else values
        return net

    def test_every_layer_gives_the_same_values(self):
        nets = list(grid())
        self.assertGreaterEqual(len(nets), 300)
        worst = 0.0
        for text in nets:
            with self.subTest(text):
                done = onnx_export.export_onnx(self.net(text), self.path('net.onnx'), verify=1)
                self.assertTrue(done['differences'])
                worst = max(worst, *done['differences'].values())
                onnx.checker.check_model(onnx.load(self.path('net.onnx')))
        print(f'{len(nets)} nets, the largest difference is {worst:.1e} of the largest value')

    def test_every_opset_and_a_symbolic_batch_give_the_same_values(self):
        recurrent = ('"LSTM"', '"RNN"', '"LSTMUnit"')
        nets = [text for i, text in enumerate(grid()) if i % 9 == 0 and not any(kind in text for kind in recurrent)]
        for opset, text in zip(itertools.cycle(onnx_export.OPSETS), nets):
            with self.subTest(text, opset=opset):
                onnx_export.export_onnx(self.net(text), self.path('net.onnx'), opset=opset, dynamic_batch=True, verify=1)

    def test_a_symbolic_batch_runs_with_another_batch(self):
        text = (source('data', 2, 3, 8, 8) + f'''
            layer {{ name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param {{ num_output: 4 kernel_size: 3 {FILLER} }} }}
            layer {{ name: "flat" type: "Reshape" bottom: "conv" top: "flat" reshape_param {{ shape {{ dim: 0 dim: -1 }} }} }}
            layer {{ name: "ip" type: "InnerProduct" bottom: "flat" top: "ip" inner_product_param {{ num_output: 5 {FILLER} }} }}''')
        net = self.net(text)
        onnx_export.export_onnx(net, self.path('net.onnx'), dynamic_batch=True)
        values = np.random.RandomState(0).uniform(-1, 1, (7, 3, 8, 8)).astype(np.float32)
        session = onnxruntime.InferenceSession(self.path('net.onnx'), providers=['CPUExecutionProvider'])
        net.blobs['data'].reshape(7, 3, 8, 8)
        net.reshape()
        expected = net.forward(data=values)['ip']
        np.testing.assert_allclose(session.run(['ip'], {'data': values})[0], expected, rtol=1e-4, atol=1e-4)

    def test_a_training_net_loses_its_losses_and_keeps_the_names_of_its_blobs(self):
        done = onnx_export.export_onnx(self.net(TRAIN_NET), self.path('net.onnx'), verify=1)
        self.assertEqual(['loss'], done['left_out'])
        graph = onnx.load(self.path('net.onnx')).graph
        self.assertEqual((['data'], ['ip']), ([v.name for v in graph.input], [v.name for v in graph.output]))
        self.assertLessEqual({'conv1', 'relu2', 'pool', 'ip'}, {name for node in graph.node for name in node.output})

    def test_a_scale_is_folded_into_the_batch_norm_before_it(self):
        text = DATA + '''layer { name: "bn" type: "BatchNorm" bottom: "data" top: "bn" }
            layer { name: "scale" type: "Scale" bottom: "bn" top: "bn" scale_param { bias_term: true } }
            layer { name: "relu" type: "ReLU" bottom: "bn" top: "bn" }'''
        for fold, operators in ((False, ['BatchNormalization', 'Mul', 'Add', 'Relu']), (True, ['BatchNormalization', 'Relu'])):
            onnx_export.export_onnx(self.net(text), self.path('net.onnx'), fold=fold, verify=1)
            self.assertEqual(operators, [node.op_type for node in onnx.load(self.path('net.onnx')).graph.node])

    def test_what_cannot_be_expressed_is_refused_by_name_and_nothing_is_written(self):
        regions = DATA + source('rois', 3, 5)
        for text, options, words in (
                (net_of('PSROIPooling', 'psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 1 }',
                        bottoms=('data', 'rois'), sources=regions), {}, r'layer layer \(PSROIPooling\) cannot be exported'),
                (net_of('Slice', 'slice_param { axis: 0 }', tops=('a', 'b')), {'dynamic_batch': True}, 'cuts the batch'),
                (DATA, {}, 'no outputs'), (net_of('ReLU'), {'opset': 12}, 'opset 12 is not one of 13 to 21')):
            with self.assertRaisesRegex(onnx_export.Refusal, words):
                onnx_export.export_onnx(self.net(text), self.path('net.onnx'), **options)
            self.assertFalse(os.path.exists(self.path('net.onnx')))

    def test_the_document_names_every_layer_that_is_exported(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/onnx.md')
        with open(path, encoding='utf-8') as file:
            words = set(file.read().replace(',', ' ').split())
        self.assertEqual(set(), {*onnx_layer.CONVERTERS, *onnx_export.SAME_VALUE, *onnx_export.NOTHING} - words)

    def test_a_wrong_converter_is_found_and_its_layer_named(self):
        def wrong(g, layer):
            return [g.binary('Mul', layer.x, 1.01, layer.y)]
        right = onnx_layer.CONVERTERS['Sigmoid']
        self.addCleanup(onnx_layer.CONVERTERS.update, {'Sigmoid': right})
        onnx_layer.CONVERTERS['Sigmoid'] = wrong
        text = (DATA + 'layer { name: "a" type: "TanH" bottom: "data" top: "a" } layer { name: "b" type: "Sigmoid" '
                'bottom: "a" top: "b" } layer { name: "c" type: "TanH" bottom: "b" top: "c" }')
        with self.assertRaisesRegex(onnx_export.Differs, r'output c differs by .*; the first layer that differs is b \(Sigmoid\)'):
            onnx_export.export_onnx(self.net(text), self.path('net.onnx'), verify=1)
        self.assertFalse(os.path.exists(self.path('net.onnx')))

    def test_the_command_writes_proves_and_says_so(self):
        self.net(TRAIN_NET).save(self.path('net.caffemodel'))
        done = self.layrub('--model=net.prototxt', '--weights=net.caffemodel', '--output=net.onnx')
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stdout, r'\ALeft out, as losses and accuracies: loss\.\nip: differs from ONNX Runtime by at most '
                         r'[0-9.e-]+ of its largest value, in 3 runs\nWritten: net\.onnx \(opset 17\)\n\Z')
        for flags, words in ((('--model=none.prototxt', '--output=x.onnx'), 'none.prototxt'),
                             (('--model=net.prototxt',), '--output'), (('--output=x.onnx',), '--model'),
                             (('--model=net.prototxt', '--output=x.onnx', '--opset=12'), '13 to 21'),
                             (('--model=net.prototxt', '--output=none/x.onnx'), 'none/x.onnx')):
            done = self.layrub(*flags)
            self.assertEqual(1, done.returncode)
            self.assertIn(words, done.stderr)
            self.assertNotIn('Traceback', done.stderr)
        self.assertFalse(os.path.exists(self.path('x.onnx')))

    def layrub(self, *flags):
        return subprocess.run([os.path.join(BIN, 'layrub'), 'export', *flags], cwd=self.folder, capture_output=True, text=True,
                              check=False)


if __name__ == '__main__':
    unittest.main()
