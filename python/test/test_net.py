"""caffe.Net: wiring, passes, weights, errors."""
import gc
import pathlib
import sys
import threading
import unittest
from collections import OrderedDict

import numpy as np

from common import DEPLOY_NET, TRAIN_NET, CaffeTest, caffe
from caffe.proto import caffe_pb2


class Wiring(CaffeTest):

    def test_blobs_layers_and_parameters_by_name(self):
        net = self.net()
        self.assertEqual(['data', 'conv', 'ip', 'prob'], list(net.blobs))
        self.assertEqual((4, 3, 8, 8), net.blobs['data'].shape)
        self.assertEqual((4, 5), net.blobs['ip'].shape)
        self.assertEqual(['data', 'conv', 'relu', 'ip', 'prob'], list(net._layer_names))
        self.assertEqual(['Input', 'Convolution', 'ReLU', 'InnerProduct', 'Softmax'], [each.type for each in net.layers])
        self.assertEqual('ReLU', net.layer_dict['relu'].type)
        self.assertIsInstance(net.params, OrderedDict)
        self.assertEqual([('conv', [(6, 3, 3, 3), (6,)]), ('ip', [(5, 216), (5,)])],
                         [(name, [blob.shape for blob in blobs]) for name, blobs in net.params.items()])
        self.assertEqual((['data'], ['prob']), (net.inputs, net.outputs))
        self.assertEqual(['conv'], net.top_names['relu'])
        self.assertEqual(['conv'], net.bottom_names['ip'])
        self.assertIn('4 blobs, 1,253 parameters', repr(net))

    def test_a_slice_of_the_blobs_of_a_layer_is_a_list(self):
        blobs = self.net().layer_dict['conv'].blobs
        self.assertEqual([(6, 3, 3, 3)], [blob.shape for blob in blobs[0:1]])
        self.assertEqual([(6,), (6, 3, 3, 3)], [blob.shape for blob in blobs[::-1]])
        self.assertEqual([], blobs[2:])

    def test_parameters_are_those_of_the_layer_itself(self):
        net = self.net()
        blobs = net.params['ip']
        self.assertIs(caffe._caffe.BlobVec, type(blobs))
        self.assertIs(blobs[0], net.params['ip'][0])
        self.assertIs(blobs[0], net.layer_dict['ip'].blobs[0])
        self.assertEqual([(5, 216), (5,)], [blob.shape for blob in blobs])
        self.assertIn(blobs[-1], blobs)
        more = [caffe.Blob([2]), caffe.Blob([3]), caffe.Blob([4])]
        blobs.append(more[0])
        blobs.extend(more[1:])
        self.assertEqual([(5, 216), (5,), (2,), (3,), (4,)], [blob.shape for blob in net.layer_dict['ip'].blobs])
        self.assertIs(more[2], blobs[4])
        more[2].data[...] = 7
        net.save(self.path('longer.caffemodel'))
        net_param = caffe_pb2.NetParameter()
        with open(self.path('longer.caffemodel'), 'rb') as file:
            net_param.ParseFromString(file.read())
        self.assertEqual([7] * 4, list(next(layer for layer in net_param.layer if layer.name == 'ip').blobs[4].data))
        with self.assertRaises(IndexError):
            blobs[5]  # pylint: disable=pointless-statement

    def test_layers_are_set_up_and_reshaped_for_other_blobs(self):
        net, bottom, top = self.net(), caffe.Blob([7, 6, 6, 6]), caffe.Blob([1])
        layer = net.layer_dict['ip']
        layer.setup([bottom], [top])
        layer.reshape(caffe._caffe.RawBlobVec([bottom]), [top])
        self.assertEqual((7, 5), top.shape)
        with self.assertRaisesRegex(caffe.Error, 'Input size incompatible'):
            layer.reshape([caffe.Blob([7, 6, 6, 5])], [top])
        with self.assertRaises(TypeError):
            layer.reshape([None], [top])

    def test_layers_are_not_set_up_for_too_few_or_too_many_blobs(self):
        net = self.net(TRAIN_NET, caffe.TRAIN)
        blob = caffe.Blob([4, 5])
        for name, bottoms, tops in (('ip', 0, 0), ('ip', 1, 0), ('ip', 2, 1), ('loss', 1, 1), ('loss', 2, 0)):
            layer = net.layer_dict[name]
            for method in (layer.setup, layer.reshape):
                with self.subTest(f'{name} {bottoms} {tops}'), self.assertRaisesRegex(caffe.Error, f'Layer {name}: .*takes'):
                    method([blob] * bottoms, [blob] * tops)

    def test_loss_weights_by_name(self):
        net = self.net(TRAIN_NET, caffe.TRAIN)
        self.assertEqual({'loss': 1.0}, {name: weight for name, weight in net.blob_loss_weights.items() if weight})

    def test_blobs_have_the_four_legacy_axes(self):
        blob = self.net().blobs['data']
        self.assertEqual((4, 3, 8, 8, 768), (blob.num, blob.channels, blob.height, blob.width, blob.count))

    def test_level_and_stages_choose_layers(self):
        text = DEPLOY_NET + '''layer { name: "a" type: "Power" bottom: "ip" top: "a" include { min_level: 2 } }
                               layer { name: "b" type: "Power" bottom: "ip" top: "b" include { stage: "more" } }'''
        self.assertEqual({'prob'}, set(self.net(text).outputs))
        self.assertEqual({'prob', 'a'}, set(self.net(text, level=2).outputs))
        self.assertEqual({'prob', 'b'}, set(self.net(text, stages=['more']).outputs))


class Passes(CaffeTest):

    def test_forward_takes_and_returns_arrays(self):
        net = self.net()
        found = net.forward(data=np.ones((4, 3, 8, 8)), blobs=['conv'])
        self.assertEqual({'prob', 'conv'}, set(found))
        np.testing.assert_allclose(found['prob'].sum(1), 1, rtol=1e-5)
        weights, bias = (blob.data for blob in net.params['conv'])
        expected = np.maximum(weights.sum((1, 2, 3)) + bias, 0)
        np.testing.assert_allclose(found['conv'][0, :, 2, 3], expected, rtol=1e-4)

    def test_forward_runs_a_range_of_layers(self):
        net = self.net()
        net.forward(data=np.ones((4, 3, 8, 8)))
        net.blobs['ip'].data[...] = 7
        self.assertEqual(['prob'], list(net.forward(start='prob')))
        np.testing.assert_allclose(net.blobs['prob'].data, 0.2, rtol=1e-6)
        found = net.forward(start='ip', end='ip')
        self.assertNotEqual(7, found['ip'][0, 0])

    def test_backward_gives_the_derivatives_of_a_product(self):
        net = self.net(DEPLOY_NET.replace('name: "deploy"', 'name: "deploy" force_backward: true'))
        net.forward(data=np.zeros((4, 3, 8, 8)))
        wanted = np.arange(20.).reshape(4, 5)
        found = net.backward(start='ip', end='ip')  # the derivatives are still zeros
        net.blobs['ip'].diff[...] = wanted
        found = net.backward(start='ip', end='ip')
        np.testing.assert_allclose(found['conv'].reshape(4, -1), wanted @ net.params['ip'][0].data, rtol=1e-4)
        self.assertEqual(['data'], list(net.backward(prob=wanted)))

    def test_forward_all_splits_its_input_into_batches(self):
        net = self.net()
        items = np.random.rand(10, 3, 8, 8).astype(np.float32)
        found = net.forward_all(data=items, blobs=['ip'])
        self.assertEqual((10, 5), found['prob'].shape)
        np.testing.assert_array_equal(net.forward(data=items[4:8])['prob'], found['prob'][4:8])

    def test_forward_backward_all(self):
        net = self.net(DEPLOY_NET.replace('name: "deploy"', 'name: "deploy" force_backward: true'))
        values, derivatives = net.forward_backward_all(data=np.random.rand(6, 3, 8, 8), prob=np.random.rand(6, 5))
        self.assertEqual((6, 5), values['prob'].shape)
        self.assertEqual((6, 3, 8, 8), derivatives['data'].shape)
        self.assertGreater(np.abs(derivatives['data']).max(), 0)

    def test_reshape_changes_the_batch(self):
        net = self.net()
        net.blobs['data'].reshape(2, 3, 8, 8)
        net.reshape()
        self.assertEqual((2, 5), net.blobs['prob'].shape)
        self.assertEqual((2, 5), net.forward(data=np.ones((2, 3, 8, 8)))['prob'].shape)

    def test_memory_data_reads_arrays(self):
        net = self.net('''layer { name: "m" type: "MemoryData" top: "data" top: "label"
                          memory_data_param { batch_size: 2 channels: 1 height: 2 width: 3 } }''')
        with self.assertRaisesRegex(caffe.Error, 'or from Python net.set_input_arrays'):
            net.forward()
        data = np.arange(24.).reshape(4, 1, 2, 3)
        net.set_input_arrays(data, np.arange(4.))
        net.forward()
        np.testing.assert_array_equal(data[:2], net.blobs['data'].data)
        net.forward()
        np.testing.assert_array_equal([2, 3], net.blobs['label'].data.ravel())
        with self.assertRaisesRegex(ValueError, 'no multiple of the batch of 2'):
            net.set_input_arrays(data[:3], np.arange(3.))
        with self.assertRaisesRegex(ValueError, 'data: an array of N x 1 x 2 x 3'):
            net.set_input_arrays(data[:, :, :1], np.arange(4.))
        with self.assertRaisesRegex(TypeError, 'first layer must be MemoryData'):
            self.net().set_input_arrays(data, np.arange(4.))

    def test_callbacks_get_the_number_of_each_layer(self):
        net = self.net(TRAIN_NET, caffe.TRAIN)
        calls = []
        net.before_forward(lambda layer: calls.append(('before', layer)))
        net.after_forward(lambda layer: calls.append(('after', layer)))
        net.before_backward(lambda layer: calls.append(('down', layer)))
        net.after_backward(lambda layer: calls.append(('up', layer)))
        net.forward()
        count = len(net.layers)
        self.assertEqual([(when, i) for i in range(count) for when in ('before', 'after')], calls)
        calls.clear()
        net.backward()
        self.assertEqual(('down', count - 1), calls[0])

    def test_an_error_in_a_callback_is_raised_unchanged(self):
        net = self.net()

        def stop(layer):
            raise KeyError(f'at {layer}')
        net.before_forward(stop)
        with self.assertRaisesRegex(KeyError, 'at 0'):
            net.forward()


class Weights(CaffeTest):

    def test_weights_are_saved_and_loaded_in_both_formats(self):
        net = self.net()
        net.params['ip'][1].data[...] = range(5)
        net.save(self.path('net.caffemodel'))
        net.save_hdf5(self.path('net.caffemodel.h5'))
        others = [self.net(weights=self.path('net.caffemodel')), self.net(), self.net(), self.net()]
        others[1].copy_from(self.path('net.caffemodel'))
        others[2].load_hdf5(self.path('net.caffemodel.h5'))
        others[3] = caffe.Net(self.path('net.prototxt'), self.path('net.caffemodel'), caffe.TEST)
        for other in others:
            for name, blobs in net.params.items():
                for mine, its in zip(blobs, other.params[name]):
                    np.testing.assert_array_equal(mine.data, its.data)

    def test_files_may_be_named_by_paths(self):
        folder = pathlib.Path(self.folder)
        net = self.net()
        net.save(folder / 'net.caffemodel')
        net.save_hdf5(folder / 'net.h5')
        again = caffe.Net(folder / 'net.prototxt', caffe.TEST, weights=folder / 'net.caffemodel')
        np.testing.assert_array_equal(net.params['ip'][0].data, again.params['ip'][0].data)
        for load, name in ((again.copy_from, 'net.caffemodel'), (again.load_hdf5, 'net.h5')):
            again.params['ip'][0].data[...] = 0
            load(folder / name)
            np.testing.assert_array_equal(net.params['ip'][0].data, again.params['ip'][0].data)
        old = caffe.Net(folder / 'net.prototxt', folder / 'net.caffemodel', caffe.TEST)
        np.testing.assert_array_equal(net.params['ip'][0].data, old.params['ip'][0].data)
        with self.assertRaisesRegex(TypeError, 'os.PathLike'):
            caffe.Net(3, caffe.TEST)

    def test_shared_weights_are_the_same(self):
        net, other = self.net(), self.net()
        other.share_with(net)
        net.params['ip'][1].data[...] = 3
        np.testing.assert_array_equal([3] * 5, other.params['ip'][1].data)

    def test_net_surgery_turns_an_inner_product_into_a_convolution(self):
        net = self.net()
        image = np.random.rand(4, 3, 8, 8)
        expected = net.forward(data=image)['prob'].copy()
        full = self.net(DEPLOY_NET.replace('type: "InnerProduct"', 'type: "Convolution"').replace(
            'inner_product_param { num_output: 5', 'convolution_param { num_output: 5 kernel_size: 6'))
        for name in ('conv', 'ip'):
            for mine, its in zip(net.params[name], full.params[name]):
                its.data.flat = mine.data.flat
        np.testing.assert_allclose(expected, full.forward(data=image)['prob'][:, :, 0, 0], rtol=1e-5)


class Errors(CaffeTest):

    def test_errors_of_the_library_are_exceptions_with_its_message(self):
        with self.assertRaisesRegex(caffe.Error, 'File not found: .*nowhere.prototxt'):
            caffe.Net(self.path('nowhere.prototxt'), caffe.TEST)
        with self.assertRaisesRegex(caffe.Error, 'unknown layer type: Nonsense'):
            self.net('layer { name: "x" type: "Nonsense" top: "x" }')
        with self.assertRaisesRegex(caffe.Error, 'no field'):
            self.net('layer { nme: "x" }')
        self.assertEqual((4, 5), self.net().forward()['prob'].shape)  # the interpreter still works

    def test_errors_of_arguments_are_pythons_exceptions(self):
        net = self.net()
        with self.assertRaisesRegex(ValueError, 'needed for data, and there are some for daat'):
            net.forward(daat=np.zeros((4, 3, 8, 8)))
        with self.assertRaisesRegex(ValueError, 'the first axis must be the same'):
            net.forward(data=np.zeros((3, 3, 8, 8)))
        with self.assertRaisesRegex(KeyError, "no layer 'nothing'"):
            net.forward(start='nothing')
        with self.assertRaisesRegex(ValueError, 'broadcast'):
            net.blobs['data'].data[...] = np.zeros(7)
        with self.assertRaises(KeyError):
            net.blobs['nothing']
        with self.assertRaisesRegex(ValueError, 'phase'):
            caffe.Net(self.path('net.prototxt'), 5)
        with self.assertRaisesRegex(ValueError, 'at least one item'):
            net.forward_all(data=[])
        with self.assertRaisesRegex(ValueError, 'as many items'):
            net.forward_backward_all(data=np.zeros((4, 3, 8, 8)), prob=np.zeros((3, 5)))

    def test_none_and_objects_without_init_are_type_errors(self):
        library = caffe._caffe
        classes = [each for each in vars(library).values() if type(each) is type(caffe.Blob)]
        self.assertIn(caffe.SGDSolver, classes)
        for each in classes:
            bare = each.__new__(each)
            for name, member in vars(each).items():
                if isinstance(member, property):
                    for wrong in (None, bare):
                        with self.subTest(f'{each.__name__}.{name}'), self.assertRaises((TypeError, AttributeError)):
                            member.fget(wrong)
        net, solver = self.net(), caffe.get_solver(self.solver_file())
        for wrong in (None, caffe.Net.__new__(caffe.Net)):
            for call in (lambda: net.share_with(wrong), lambda: solver.share_weights(wrong), lambda: caffe.Net.reshape(wrong),
                         lambda: net.params['ip'].append(wrong)):
                with self.assertRaises(TypeError):
                    call()
        for wrong in (None, caffe.SGDSolver.__new__(caffe.SGDSolver)):
            for call in (lambda: caffe.NCCL(wrong, 'x'), lambda: caffe.Solver.step(wrong, 1)):
                with self.assertRaises(TypeError):
                    call()
        with self.assertRaisesRegex(TypeError, r'Net is not initialised: .*Net.__init__ was not called\.'):
            net.share_with(caffe.Net.__new__(caffe.Net))

        class Forgetful(caffe.Net):
            def __init__(self):  # pylint: disable=super-init-not-called
                pass
        with self.assertRaisesRegex(TypeError, r'__init__\(\) must be called'):
            Forgetful()

    def test_arrays_and_blobs_outlive_their_net(self):
        net = self.net()
        blob, array = net.blobs['ip'], net.params['ip'][0].data
        before = array.copy()
        del net
        gc.collect()
        np.testing.assert_array_equal(before, array)
        self.assertEqual((4, 5), blob.data.shape)

    def test_nets_of_several_threads_do_not_disturb_each_other(self):
        file = self.write('net.prototxt', '''
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 227 dim: 227 } } }
layer { name: "mean" type: "Reduction" bottom: "data" top: "mean" reduction_param { operation: MEAN } }''')
        wrong = []

        def work(thread):
            net = caffe.Net(file, caffe.TEST)
            for i in range(60):
                value = 1000 * thread + i
                net.blobs['data'].data[...] = np.full((1, 3, 227, 227), value, float)
                mean = float(net.forward()['mean'])
                if abs(mean - value) > 0.01:
                    wrong.append((value, mean))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_net_may_run_while_a_layer_runs_in_another_thread(self):
        """The layer releases Python's lock, and arrays of its net are held."""
        self.write('slow_layer.py', '''
import time
import caffe

class Slow(caffe.Layer):
    def setup(self, bottom, top): pass
    def reshape(self, bottom, top): top[0].reshape(2, 3)
    def forward(self, bottom, top):
        time.sleep(0.01)
        top[0].data[...] = 1
    def backward(self, top, propagate_down, bottom): pass
''')
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        solver = caffe.get_solver(self.solver_file('''
layer { name: "data" type: "Python" top: "data" python_param { module: "slow_layer" layer: "Slow" } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 2 } }
layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 }'''))
        solver.step(1)
        held = solver.net.params['ip'][0].data
        other = self.net()
        training = threading.Thread(target=solver.step, args=(20,))
        training.start()
        passes = 0
        while training.is_alive():
            other.forward()
            passes += 1
        training.join()
        self.assertGreater(passes, 0)
        np.testing.assert_array_equal(held, solver.net.params['ip'][0].data)


if __name__ == '__main__':
    unittest.main()
