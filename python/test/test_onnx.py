"""Export to ONNX: ONNX Runtime computes the values of the net."""
import itertools
import os
import subprocess
import unittest

import numpy as np

import caffe
from common import BIN, TRAIN_NET, CaffeTest
from onnx_nets import DATA, FILLER, LACKS, fill_randomly, grid, net_of, source

if not LACKS:
    import onnx
    import onnxruntime
    from caffe import onnx_export
    from caffe.onnx_export import layer as onnx_layer

@unittest.skipIf(LACKS, LACKS)
class Export(CaffeTest):

    def net(self, text):
        return fill_randomly(caffe.Net(self.write('net.prototxt', text), caffe.TEST))

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

    def test_a_training_net_is_exported_without_losses_and_keeps_its_blob_names(self):
        done = onnx_export.export_onnx(self.net(TRAIN_NET), self.path('net.onnx'), verify=1)
        self.assertEqual(['loss'], done['left_out'])
        graph = onnx.load(self.path('net.onnx')).graph
        self.assertEqual((['data'], ['ip']), ([v.name for v in graph.input], [v.name for v in graph.output]))
        self.assertLessEqual({'conv1', 'relu2', 'pool', 'ip'}, {name for node in graph.node for name in node.output})

    def test_weights_beyond_2_gb_are_written_to_a_separate_file(self):
        from caffe.onnx_export import builder
        self.addCleanup(setattr, builder, 'LARGEST', builder.LARGEST)
        builder.LARGEST = 2**12
        net = self.net(TRAIN_NET)
        done = onnx_export.export_onnx(net, self.path('net.onnx'), verify=1)
        self.assertLess(done['differences']['ip'], 1e-4)
        self.assertEqual(['net.onnx', 'net.onnx.data'], sorted(name for name in os.listdir(self.folder) if 'onnx' in name))
        self.assertLess(os.path.getsize(self.path('net.onnx')), 2**12)
        self.assertGreater(os.path.getsize(self.path('net.onnx.data')), 4 * net.params['conv2'][0].count)
        session = onnxruntime.InferenceSession(self.path('net.onnx'), providers=['CPUExecutionProvider'])
        values = np.ones((8, 3, 16, 16), np.float32)
        net.blobs['data'].data[...] = values
        expected = net.forward(start='conv1', end='ip')['ip']
        np.testing.assert_allclose(session.run(['ip'], {'data': values})[0], expected, rtol=1e-4, atol=1e-5)

    def test_the_output_of_a_dropout_keeps_its_name(self):
        text = DATA + ('layer { name: "tanh" type: "TanH" bottom: "data" top: "tanh" } '
                       'layer { name: "drop" type: "Dropout" bottom: "tanh" top: "drop" }')
        done = onnx_export.export_onnx(self.net(text), self.path('net.onnx'), verify=1)
        self.assertEqual(['drop'], list(done['differences']))

    def test_sigmoid_values_near_0_are_compared_by_absolute_difference(self):
        text = DATA + ('layer { name: "low" type: "Power" bottom: "data" top: "low" power_param { shift: -12 } } '
                       'layer { name: "prob" type: "Sigmoid" bottom: "low" top: "prob" }')
        done = onnx_export.export_onnx(self.net(text), self.path('net.onnx'), verify=3)
        self.assertLess(done['differences']['prob'], 1e-4)

    def test_layers_that_only_make_labels_are_left_out(self):
        text = (DATA + source('marks', 2, 1) + 'layer { name: "label" type: "Power" bottom: "marks" top: "label" } '
                f'layer {{ name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param {{ num_output: 3 {FILLER} }} }} '
                'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }')
        done = onnx_export.export_onnx(self.net(text), self.path('net.onnx'), verify=1)
        graph = onnx.load(self.path('net.onnx')).graph
        self.assertEqual((['ip'], ['data']), (list(done['differences']), [value.name for value in graph.input]))
        self.assertEqual(['Flatten', 'Gemm'], [node.op_type for node in graph.node])

    def test_an_input_changed_in_place_keeps_its_name(self):
        text = DATA + '''layer { name: "relu" type: "ReLU" bottom: "data" top: "data" }
            layer { name: "half" type: "Power" bottom: "data" top: "data" power_param { scale: 0.5 } }'''
        done = onnx_export.export_onnx(self.net(text), self.path('net.onnx'), verify=1)
        self.assertEqual(['data@1'], list(done['differences']))
        self.assertEqual(['data'], [value.name for value in onnx.load(self.path('net.onnx')).graph.input])

    def test_a_scale_is_folded_into_the_batch_norm_before_it(self):
        text = DATA + '''layer { name: "bn" type: "BatchNorm" bottom: "data" top: "bn" }
            layer { name: "scale" type: "Scale" bottom: "bn" top: "bn" scale_param { bias_term: true } }
            layer { name: "relu" type: "ReLU" bottom: "bn" top: "bn" }'''
        for fold, operators in ((False, ['BatchNormalization', 'Mul', 'Add', 'Relu']), (True, ['BatchNormalization', 'Relu'])):
            onnx_export.export_onnx(self.net(text), self.path('net.onnx'), fold=fold, verify=1)
            self.assertEqual(operators, [node.op_type for node in onnx.load(self.path('net.onnx')).graph.node])

    def test_unsupported_layers_are_refused_by_name_and_nothing_is_written(self):
        regions = DATA + source('rois', 3, 5)
        for text, options, words in (
                (net_of('PSROIPooling', 'psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 1 }',
                        bottoms=('data', 'rois'), sources=regions), {'dynamic_batch': True},
                 r'net.prototxt:3: layer layer \(PSROIPooling\) cannot be exported: .* --dynamic_batch'),
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

    def test_a_wrong_converter_is_detected_and_its_layer_named(self):
        def wrong(g, layer):
            return [g.binary('Mul', layer.x, 1.01, layer.y)]
        right = onnx_layer.CONVERTERS['Sigmoid']
        self.addCleanup(onnx_layer.CONVERTERS.update, {'Sigmoid': right})
        onnx_layer.CONVERTERS['Sigmoid'] = wrong
        text = (DATA + 'layer { name: "a" type: "TanH" bottom: "data" top: "a" } layer { name: "b" type: "Sigmoid" '
                'bottom: "a" top: "b" } layer { name: "c" type: "TanH" bottom: "b" top: "c" }')
        with self.assertRaisesRegex(onnx_export.Differs, r'c differs by .*; the first layer that differs is b \(Sigmoid\)'):
            onnx_export.export_onnx(self.net(text), self.path('net.onnx'), verify=1)
        self.assertFalse(os.path.exists(self.path('net.onnx')))

    def test_the_command_writes_verifies_and_reports(self):
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
