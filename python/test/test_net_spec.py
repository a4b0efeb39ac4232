"""Nets written in Python: NetSpec, layers, params; coordinate maps; drawings."""
import os
import shutil
import sys
import types
import unittest
import xml.dom.minidom
from collections import Counter, OrderedDict
from unittest import mock

from google.protobuf import text_format

from caffe import coord_map, draw
from caffe import layers as L
from caffe import params as P
from caffe.proto import caffe_pb2
from common import CaffeTest, caffe


def lenet():
    n = caffe.NetSpec()
    n.data, n.label = L.DummyData(shape=[dict(dim=[2, 1, 28, 28]), dict(dim=[2])], transform_param=dict(scale=1. / 255),
                                  ntop=2)
    n.conv1 = L.Convolution(n.data, kernel_size=5, num_output=20, weight_filler=dict(type='xavier'))
    n.pool1 = L.Pooling(n.conv1, kernel_size=2, stride=2, pool=P.Pooling.MAX)
    n.ip1 = L.InnerProduct(n.pool1, num_output=10, weight_filler=dict(type='xavier'),
                           param=[dict(lr_mult=1), dict(lr_mult=2)])
    n.relu1 = L.ReLU(n.ip1, in_place=True)
    n.ip2 = L.InnerProduct(n.relu1, num_output=10)
    n.loss = L.SoftmaxWithLoss(n.ip2, n.label)
    return n


class NetSpecs(CaffeTest):

    def test_a_net_has_the_given_layers_and_names(self):
        layers = lenet().to_proto().layer
        self.assertEqual(['data', 'conv1', 'pool1', 'ip1', 'relu1', 'ip2', 'loss'], [layer.name for layer in layers])
        by_name = {layer.name: layer for layer in layers}
        self.assertEqual(['data', 'label'], list(by_name['data'].top))
        self.assertEqual((20, [5]), (by_name['conv1'].convolution_param.num_output,
                                     list(by_name['conv1'].convolution_param.kernel_size)))
        self.assertEqual(caffe_pb2.PoolingParameter.MAX, by_name['pool1'].pooling_param.pool)
        self.assertEqual([1, 2], [param.lr_mult for param in by_name['ip1'].param])
        self.assertEqual((['ip1'], ['ip1']), (list(by_name['relu1'].bottom), list(by_name['relu1'].top)))
        self.assertEqual(['ip1'], list(by_name['ip2'].bottom))
        self.assertEqual(['ip2', 'label'], list(by_name['loss'].bottom))

    def test_it_trains(self):
        net = self.net(str(lenet().to_proto()), caffe.TRAIN)
        self.assertGreater(net.forward()['loss'], 0)
        self.assertEqual((2, 20, 24, 24), net.blobs['conv1'].shape)

    def test_blobs_without_names_are_called_after_their_types(self):
        data, label = L.DummyData(shape=[dict(dim=[2, 3])], ntop=2)
        net = caffe.to_proto(L.SoftmaxWithLoss(L.InnerProduct(data, num_output=4), label))
        self.assertEqual(['DummyData1', 'InnerProduct1', 'SoftmaxWithLoss1'], [layer.name for layer in net.layer])
        self.assertEqual(['DummyData1', 'DummyData2'], list(net.layer[0].top))
        self.assertEqual(['InnerProduct1', 'DummyData2'], list(net.layer[2].bottom))
        self.assertEqual(net, text_format.Parse(str(net), caffe_pb2.NetParameter()))

    def test_blobs_and_layers_without_tops_are_numbered_together(self):
        n = caffe.NetSpec()
        n.data, n.label = L.DummyData(ntop=2)
        more = L.DummyData(ntop=3)
        n.sum = L.Eltwise(L.ReLU(n.data, in_place=True), more[1], L.Power(more[0]), L.Power(more[2]))
        n.quiet = L.Silence(n.label, ntop=0)
        self.assertEqual([('data', [], ['data', 'label']), ('ReLU1', ['data'], ['data']),
                          ('DummyData1', [], ['DummyData1', 'DummyData2', 'DummyData3']),
                          ('Power1', ['DummyData1'], ['Power1']), ('Power2', ['DummyData3'], ['Power2']),
                          ('sum', ['data', 'DummyData2', 'Power1', 'Power2'], ['sum']), ('quiet', ['label'], [])],
                         [(layer.name, list(layer.bottom), list(layer.top)) for layer in n.to_proto().layer])
        silent = L.Silence(*L.DummyData(ntop=2), ntop=0)
        net_layers = OrderedDict()
        silent._to_proto(net_layers, {}, Counter())
        self.assertEqual(['DummyData1', 'Silence1'], [layer.name for layer in net_layers.values()])

    def test_layers_without_tops_and_names_that_are_not_identifiers(self):
        n = caffe.NetSpec()
        n['a/b'] = L.Input(input_param=dict(shape=dict(dim=[1, 2])))
        n.quiet = L.Silence(n['a/b'], ntop=0)
        self.assertEqual([('a/b', []), ('quiet', ['a/b'])],
                         [(layer.name, list(layer.bottom)) for layer in n.to_proto().layer])
        n.update('a/b', dict(input_param=dict(shape=dict(dim=[7]))))
        self.assertEqual([7], list(n.to_proto().layer[0].input_param.shape[0].dim))
        self.assertEqual(['a/b', 'quiet'], n.keys())

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(AttributeError, 'ConvolutionParameter has no field kernle'):
            L.Convolution(L.Input(), kernle=3).to_proto()
        with self.assertRaisesRegex(TypeError, r"^Silence input 1 is not a Top \(type is <class 'str'>\)$"):
            L.Silence(L.Input(), 'data', ntop=0)
        with self.assertRaisesRegex(TypeError, r"^ReLU input 0 is not a Top \(type is <class 'tuple'>\)$"):
            L.ReLU(L.DummyData(ntop=2))
        n = caffe.NetSpec()
        n.data = L.Input(shape=dict(dim=[1, 3]))
        for fields, says in (
                (dict(num_output=64 / 4), r'convolution_param\.num_output is 16\.0, and must be an integer of at least 0'),
                (dict(num_output=-1), r'convolution_param\.num_output is -1, and must be an integer of at least 0'),
                (dict(kernel_size=[3, 1.5]), r'convolution_param\.kernel_size is \[3, 1\.5\], and must be an integer of'),
                (dict(weight_filler=dict(std='x')), r"convolution_param\.weight_filler\.std is 'x', and must be a number"),
                (dict(weight_filler=dict(type=3)), r'convolution_param\.weight_filler\.type is 3, and must be a string'),
                (dict(weight_filler=7), 'weight_filler is 7, and must be a dictionary with fields of FillerParameter'),
                (dict(weight_filler=dict(sdt=1)), r'convolution_param\.weight_filler\.FillerParameter has no field sdt'),
                (dict(engine=1.5), r'engine is 1\.5, and must be one of DEFAULT, CAFFE, CUDNN, as in params.Type.NAME'),
                (dict(param=[dict(lr_mult=1), dict(lr_mult='2')]), r"param\.lr_mult is '2', and must be a number")):
            n.conv = L.Convolution(n.data, **fields)
            with self.assertRaisesRegex((TypeError, ValueError, AttributeError), '^layer conv: .*' + says):
                n.to_proto()
        with self.assertRaisesRegex(AttributeError, 'no blob nothing yet'):
            caffe.NetSpec().nothing  # pylint: disable=expression-not-assigned
        with self.assertRaisesRegex(AttributeError, 'PoolingParameter has no value MEDIAN'):
            P.Pooling.MEDIAN  # pylint: disable=pointless-statement
        with self.assertRaisesRegex(AttributeError, 'no NonsenseParameter'):
            P.Nonsense  # pylint: disable=pointless-statement


class CoordMaps(unittest.TestCase):

    def fcn(self, stride=2):
        data = L.Input(input_param=dict(shape=dict(dim=[1, 1, 40, 48])))
        conv = L.Convolution(data, kernel_size=5, pad=10, num_output=1)
        pool = L.Pooling(L.ReLU(conv, in_place=True), kernel_size=2, stride=2)
        return data, L.Deconvolution(pool, convolution_param=dict(kernel_size=4, stride=stride, num_output=1))

    def scaled(self, kernel=3, stride=1, pad=0, pool=2, up=2, up_pad=0):
        """A net whose last blob has the points of `data` if `pool` and `up` are equal."""
        n = caffe.NetSpec()
        n.data = L.Input(shape=dict(dim=[2, 1, 100, 100]))
        n.conv = L.Convolution(n.data, num_output=10, kernel_size=kernel, stride=stride, pad=pad)
        n.pool = L.Pooling(n.conv, pool=P.Pooling.MAX, kernel_size=pool, stride=pool)
        n.up = L.Deconvolution(n.pool, num_output=10, kernel_size=2 * up, stride=up, pad=up_pad)
        return n

    def test_maps_of_square_windows_equal_numbers(self):
        n = self.scaled()
        axis, a, b = coord_map.coord_map_from_to(n.up, n.data)
        self.assertEqual((1, 1, 0), (axis, float(a), float(b)))
        self.assertTrue(a == 1 and b == 0)
        self.assertEqual(1, len(a))
        _, a, b = coord_map.coord_map_from_to(n.data, n.up)
        self.assertTrue(a == 1 and b == 0)
        padded = self.scaled(pad=2)
        self.assertTrue(coord_map.coord_map_from_to(padded.up, padded.data)[2] == -2)

    def test_each_axis_has_its_own_map(self):
        square, wide = self.scaled(kernel=3), self.scaled(kernel=5)
        both = self.scaled(kernel=[3, 5], stride=[1, 1], pad=[0, 0])
        maps = [coord_map.coord_map_from_to(n.up, n.data) for n in (square, wide, both)]
        self.assertEqual({1}, {axis for axis, _, _ in maps})
        self.assertEqual((maps[0][1], maps[1][1]), tuple(maps[2][1]))
        self.assertEqual((maps[0][2], maps[1][2]), tuple(maps[2][2]))

    def test_three_axes(self):
        n = caffe.NetSpec()
        n.data = L.Input(shape=dict(dim=[2, 3, 100, 100, 100]))
        n.conv = L.Convolution(n.data, num_output=10, kernel_size=[3, 3, 3], stride=[1, 1, 1], pad=[0, 1, 2])
        n.pool = L.Pooling(n.conv, kernel_size=2, stride=2)
        n.up = L.Deconvolution(n.pool, num_output=10, kernel_size=4, stride=2)
        axis, a, b = coord_map.coord_map_from_to(n.up, n.data)
        self.assertEqual((1, [1, 1, 1], [0, -1, -2]), (axis, a.tolist(), b.tolist()))
        crop = caffe.to_proto(coord_map.crop(n.up, n.data)).layer[-1].crop_param
        self.assertEqual((2, [0, 1, 2]), (crop.axis, list(crop.offset)))

    def test_windows_are_given_by_shape_or_by_size(self):
        n = caffe.NetSpec()
        n.data = L.Input(shape=dict(dim=[2, 3, 20, 20, 20]))
        n.sizes = L.Convolution(n.data, num_output=4, kernel_size=[1, 3, 5], stride=[1, 2, 2], pad=[0, 1, 1])
        n.shapes = L.NdConvolution(n.data, num_output=4, kernel_shape=dict(dim=[1, 3, 5]),
                                   stride_shape=dict(dim=[1, 2, 2]), pad_shape=dict(dim=[0, 1, 1]))
        maps = [coord_map.coord_map_from_to(top, n.data) for top in (n.sizes, n.shapes)]
        self.assertEqual([1, 2, 2], maps[0][1].tolist())
        for one, other in zip(*maps):
            self.assertTrue((one == other) if isinstance(one, int) else (one == other).all())

    def test_a_crop_moves_the_map_by_its_offset(self):
        n = self.scaled()
        before = coord_map.coord_map_from_to(n.up, n.data)
        n.crop = L.Crop(n.up, n.data, axis=2, offset=2)
        after = coord_map.coord_map_from_to(n.crop, n.data)
        self.assertEqual((before[0], before[1], before[2] + 2), after)

    def test_a_blob_maps_to_itself(self):
        data, _ = self.fcn()
        self.assertEqual((None, 1, 0), coord_map.coord_map_from_to(data, data))

    def test_a_crop_aligns_blobs_that_were_scaled_down_and_up(self):
        data, up = self.fcn()
        _, a, b = coord_map.coord_map_from_to(up, data)
        self.assertTrue((a == 1).all())
        # pad - (kernel - 1) / 2 points at the front, in two steps, and half of the bilinear kernel
        self.assertTrue((b == -9).all(), b)
        net = caffe.to_proto(coord_map.crop(up, data))
        self.assertEqual([9], list(net.layer[-1].crop_param.offset))
        self.assertEqual(2, net.layer[-1].crop_param.axis)

    def test_a_crop_shows_the_points_of_its_reference(self):
        data = L.Input(input_param=dict(shape=dict(dim=[1, 1, 9, 9])))
        one = dict(type='constant', value=1)
        conv = L.Convolution(data, kernel_size=1, pad=4, num_output=1, weight_filler=one)
        text = str(caffe.to_proto(coord_map.crop(conv, data)))
        path = os.path.join(os.environ.get('TMPDIR', '/tmp'), f'crop_{os.getpid()}.prototxt')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        self.addCleanup(os.remove, path)
        net = caffe.Net(path, caffe.TEST)
        image = [[[list(range(9 * i, 9 * i + 9)) for i in range(9)]]]
        self.assertTrue((net.forward(**{net.inputs[0]: image})[net.outputs[0]] == image).all())

    def test_blobs_that_cannot_be_aligned_are_refused(self):
        data, up = self.fcn(stride=4)
        with self.assertRaisesRegex(AssertionError, 'scale mismatch'):
            coord_map.crop(up, data)
        with self.assertRaisesRegex(RuntimeError, 'no common bottom'):
            coord_map.crop(L.InnerProduct(data, num_output=3), data)
        with self.assertRaisesRegex(AssertionError, 'no whole number of points'):
            coord_map.crop(L.Convolution(data, kernel_size=2, pad=4, num_output=1), data)
        with self.assertRaisesRegex(AssertionError, r'negative crop: .* begins \[4.0\] points behind'):
            coord_map.crop(data, L.Convolution(data, kernel_size=1, pad=4, num_output=1))
        with self.assertRaises(coord_map.AxisMismatchException):
            coord_map.coord_map_from_to(L.Convolution(L.Convolution(data, kernel_size=1, axis=2), kernel_size=1), data)


class Drawings(CaffeTest):

    def test_an_svg_names_every_layer(self):
        net = lenet().to_proto()
        draw.draw_net_to_file(net, self.path('net.svg'))
        with open(self.path('net.svg'), encoding='utf-8') as file:
            text = file.read()
        xml.dom.minidom.parseString(text)
        for layer in net.layer:
            self.assertIn(f'>{layer.name}: {layer.type}', text)
        self.assertIn('conv1: Convolution (20, kernel 5)', text)
        self.assertIn('ip1: InnerProduct (10) lr x 1, 2', draw.draw_net(net, ext='svg', display_lrm=True).decode())

    def test_a_net_draws_itself_in_a_notebook(self):
        picture = self.net(str(lenet().to_proto()), caffe.TRAIN)._repr_svg_()
        self.assertIn('>relu1: ReLU', picture)
        self.assertNotIn('Split', picture)
        xml.dom.minidom.parseString(picture)

    def test_phases_choose_layers(self):
        net = lenet().to_proto()
        net.layer.add(name='score', type='Accuracy', bottom=['ip2', 'label'], top=['score']).include.add(
            phase=caffe.TEST)
        self.assertIn(b'score', draw.draw_net(net, ext='dot'))
        self.assertIn(b'score', draw.draw_net(net, ext='dot', phase=caffe.TEST))
        self.assertNotIn(b'score', draw.draw_net(net, ext='dot', phase=caffe.TRAIN))

    def test_a_pydot_graph_is_made_if_pydot_is_installed(self):
        net = lenet().to_proto()
        asked = []
        pydot = types.SimpleNamespace(graph_from_dot_data=lambda text: asked.append(text) or ['graph'])
        with mock.patch.dict(sys.modules, {'pydot': pydot}):
            self.assertEqual('graph', draw.get_pydot_graph(net, 'LR'))
            draw.get_pydot_graph(net, 'TB', label_edges=False)
        self.assertEqual(draw.draw_net(net, 'LR', 'dot').decode(), asked[0])
        self.assertIn('[label="pool1"', asked[0])
        self.assertNotIn('[label="pool1"', asked[1])
        with mock.patch.dict(sys.modules, {'pydot': None}), self.assertRaisesRegex(ImportError, 'pip install pydot'):
            draw.get_pydot_graph(net, 'TB')

    def test_other_formats_use_graphviz_or_report_that_it_is_missing(self):
        net = lenet().to_proto()
        if shutil.which('dot'):
            self.assertTrue(draw.draw_net(net, ext='png').startswith(b'\x89PNG'))
            with self.assertRaisesRegex(ValueError, 'nonsense'):
                draw.draw_net(net, ext='nonsense')
        else:
            with self.assertRaisesRegex(FileNotFoundError, 'Graphviz'):
                draw.draw_net(net, ext='png')
        with self.assertRaisesRegex(ValueError, 'the end of the name'):
            draw.draw_net_to_file(net, self.path('net'))


if __name__ == '__main__':
    unittest.main()
