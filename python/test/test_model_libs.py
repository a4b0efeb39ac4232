"""caffe.model_libs: parts of SSD's nets."""
import os
import unittest

from caffe.model_libs import (L, P, ConvBNLayer, CreateAnnotatedDataLayer, CreateMultiBoxHead, InceptionTower,
                              InceptionV3Body, ResBody, ResNet101Body, ResNet152Body, UnpackVariable, VGGNetBody, ZFNetBody,
                              caffe_pb2, check_if_exist, make_if_not_exist)
from common import CaffeTest, caffe

SOURCES = ['conv4_3', 'fc7', 'conv6_2', 'conv7_2', 'conv8_2', 'conv9_2']
HEAD = dict(num_classes=21, from_layers=SOURCES, use_batchnorm=False, normalizations=[20, -1, -1, -1, -1, -1],
            min_sizes=[30., 60., 111., 162., 213., 264.], max_sizes=[60., 111., 162., 213., 264., 315.],
            aspect_ratios=[[2], [2, 3], [2, 3], [2, 3], [2], [2]], steps=[8, 16, 32, 64, 100, 300],
            prior_variance=[0.1, 0.1, 0.2, 0.2], kernel_size=3, pad=1, clip=False)


def add_ssd300(net):
    """VGG, the layers after it, and the head, as ssd_pascal.py combines them."""
    VGGNetBody(net, from_layer='data', fully_conv=True, reduced=True, dilated=True, dropout=False)
    below = net.keys()[-1]
    for number, (few, many, pad, stride) in enumerate(((256, 512, 1, 2), (128, 256, 1, 2), (128, 256, 0, 1),
                                                       (128, 256, 0, 1)), 6):
        ConvBNLayer(net, below, f'conv{number}_1', False, True, few, 1, 0, 1)
        ConvBNLayer(net, f'conv{number}_1', f'conv{number}_2', False, True, many, 3, pad, stride)
        below = f'conv{number}_2'
    return CreateMultiBoxHead(net, **HEAD)


def input_net(size):
    net = caffe.NetSpec()
    net.data = L.Input(shape=dict(dim=[1, 3, size, size]))
    return net


class Bodies(CaffeTest):

    def layers_of(self, net):
        return {layer.name: layer for layer in net.to_proto().layer}

    def test_ssd300_has_its_8732_priors(self):
        spec = input_net(300)
        boxes = add_ssd300(spec)
        net = self.net(str(spec.to_proto()))
        self.assertEqual([(1, 8732 * 4), (1, 8732 * 21), (1, 2, 8732 * 4)],
                         [net.blobs[name].shape for name in ('mbox_loc', 'mbox_conf', 'mbox_priorbox')])
        self.assertEqual([spec.mbox_loc, spec.mbox_conf, spec.mbox_priorbox], boxes)
        self.assertEqual((1, 1024, 19, 19), net.blobs['fc7'].shape)
        layers = self.layers_of(spec)
        self.assertEqual(['conv4_3_norm'], list(layers['conv4_3_norm_mbox_loc'].bottom))
        self.assertEqual((6, [6]), (layers['fc6'].convolution_param.dilation[0], list(layers['fc6'].convolution_param.pad)))
        prior = layers['fc7_mbox_priorbox'].prior_box_param
        self.assertEqual(([60], [111], [2, 3], 16, True),
                         (list(prior.min_size), list(prior.max_size), list(prior.aspect_ratio), prior.step, prior.flip))

    def test_the_loss_reads_boxes_of_annotated_data(self):
        spec = caffe.NetSpec()
        spec.data, spec.label = CreateAnnotatedDataLayer(
            'nowhere_lmdb', batch_size=8, label_map_file='labels', transform_param=dict(mean_value=[104, 117, 123]),
            batch_sampler=[dict(max_sample=1, max_trials=1)])
        boxes = add_ssd300(spec)
        spec.mbox_loss = L.MultiBoxLoss(*boxes, spec.label, include=dict(phase=caffe_pb2.Phase.Value('TRAIN')),
                                        multibox_loss_param=dict(num_classes=21, loc_loss_type=P.MultiBoxLoss.SMOOTH_L1),
                                        propagate_down=[True, True, False, False])
        layers = self.layers_of(spec)
        data = layers['data']
        self.assertEqual((['data', 'label'], 8, 'nowhere_lmdb', 'labels', caffe.TRAIN),
                         (list(data.top), data.data_param.batch_size, data.data_param.source,
                          data.annotated_data_param.label_map_file, data.include[0].phase))
        self.assertEqual(['mbox_loc', 'mbox_conf', 'mbox_priorbox', 'label'], list(layers['mbox_loss'].bottom))
        test = CreateAnnotatedDataLayer('x', train=False, output_label=False).fn
        self.assertEqual((1, caffe.TEST), (test.ntop, test.params['include']['phase']))

    def test_each_kind_of_vgg_has_its_documented_shapes(self):
        for options, blob, shape in (
                (dict(), 'fc7', (1, 4096)),
                (dict(need_fc=False), 'conv5_3', (1, 512, 4, 4)),
                (dict(fully_conv=True), 'fc7', (1, 4096, 2, 2)),
                (dict(fully_conv=True, reduced=True), 'fc7', (1, 1024, 2, 2)),
                (dict(fully_conv=True, reduced=True, dilated=True), 'fc7', (1, 1024, 4, 4)),
                (dict(fully_conv=True, reduced=True, dilated=True, dilate_pool4=True), 'fc7', (1, 1024, 8, 8)),
                (dict(fully_conv=True, reduced=True, nopool=True), 'fc7', (1, 1024, 2, 2))):
            with self.subTest(str(options)):
                spec = input_net(64)
                VGGNetBody(spec, 'data', dropout=False, freeze_layers=['conv1_1'], **options)
                param = spec.to_proto()
                net = self.net(str(param))
                self.assertEqual(shape, net.blobs[blob].shape)
                self.assertEqual([0, 0], [each.lr_mult for each in param.layer[1].param])
        self.assertIn('drop7', VGGNetBody(input_net(64), 'data').keys())

    def plan_of(self, spec):
        """Plans the net, which must succeed. Returns its layers."""
        param = spec.to_proto()
        plan = caffe.plan(self.write('net.prototxt', str(param)), phase='TEST')
        self.assertGreater(plan['total_device_bytes'], 0)
        return {layer.name: layer for layer in param.layer}

    def shapes(self, spec, *blobs):
        net = self.net(str(spec.to_proto()))
        return [net.blobs[blob].shape for blob in blobs]

    def test_each_kind_of_zf_has_its_documented_shapes(self):
        for options, blob, shape in (
                (dict(), 'fc7', (1, 4096)),
                (dict(need_fc=False), 'conv5', (1, 256, 5, 5)),
                (dict(fully_conv=True), 'fc7', (1, 4096, 2, 2)),
                (dict(fully_conv=True, reduced=True), 'fc7', (1, 1024, 3, 3)),
                (dict(fully_conv=True, dilated=True), 'fc7', (1, 4096, 5, 5)),
                (dict(fully_conv=True, reduced=True, dilated=True, need_fc8=True), 'prob', (1, 1000, 5, 5)),
                (dict(need_fc8=True), 'prob', (1, 1000))):
            with self.subTest(str(options)):
                spec = input_net(64)
                ZFNetBody(spec, 'data', dropout=False, freeze_layers=['conv1', 'no_such'], **options)
                self.assertEqual([shape], self.shapes(spec, blob))
                self.assertEqual([0, 0], [each.lr_mult for each in spec.to_proto().layer[1].param])
        spec = input_net(64)
        ZFNetBody(spec, 'data')
        layers = self.plan_of(spec)
        self.assertEqual(['data', 'conv1', 'relu1', 'norm1', 'pool1', 'conv2', 'relu2', 'norm2', 'pool2', 'conv3', 'relu3',
                          'conv4', 'relu4', 'conv5', 'relu5', 'pool5', 'fc6', 'relu6', 'drop6', 'fc7', 'relu7', 'drop7'],
                         list(layers))
        norm = layers['norm2'].lrn_param
        self.assertEqual((3, norm.WITHIN_CHANNEL), (norm.local_size, norm.norm_region))

    def test_resnets_have_the_blobs_that_ssd_needs(self):
        for body, last, convolutions in ((ResNet101Body, ('res3b3', 'res4b22'), 104),
                                         (ResNet152Body, ('res3b7', 'res4b35'), 155)):
            with self.subTest(body.__name__):
                spec = input_net(64)
                self.assertIs(spec, body(spec, from_layer='data', use_global_stats=True))
                layers = self.plan_of(spec)
                self.assertEqual(convolutions, sum(layer.type == 'Convolution' for layer in layers.values()))
                self.assertEqual([(1, 512, 8, 8), (1, 1024, 4, 4), (1, 2048, 2, 2), (1, 2048, 1, 1)],
                                 self.shapes(spec, *last, 'res5c', 'pool5'))
                self.assertEqual(['res4a', 'res4b1_branch2c'], list(layers['res4b1'].bottom))
                self.assertEqual(['res4a_branch1', 'res4a_branch2c'], list(layers['res4a'].bottom))
                self.assertTrue({'conv1_relu', 'bn_conv1', 'scale_conv1', 'bn2c_branch2a', 'scale5c_branch2b',
                                 'res5c_relu', 'res3b1_branch2a_relu'} <= set(layers))
                self.assertTrue(layers['bn2c_branch2a'].batch_norm_param.use_global_stats)

    def test_a_dilated_resnet_keeps_the_size(self):
        spec = input_net(64)
        ResNet101Body(spec, from_layer='data', use_pool5=False, use_dilation_conv5=True)
        self.assertEqual([(1, 2048, 4, 4)], self.shapes(spec, 'res5c'))
        self.assertNotIn('pool5', spec.keys())
        convolution = self.layers_of(spec)['res5b_branch2b'].convolution_param
        self.assertEqual(([2], [2]), (list(convolution.dilation), list(convolution.pad)))
        ResBody(spec, 'res5c', '6', 8, 8, 16, stride=2, use_branch1=True)
        self.assertEqual([(1, 16, 2, 2)], self.shapes(spec, 'res6'))

    def test_inception_has_its_blocks(self):
        spec = input_net(299)
        self.assertIs(spec, InceptionV3Body(spec, from_layer='data', output_pred=True))
        layers = self.plan_of(spec)
        self.assertEqual([(1, 192, 35, 35), (1, 256, 35, 35), (1, 288, 35, 35), (1, 768, 17, 17), (1, 768, 17, 17),
                          (1, 1280, 8, 8), (1, 2048, 8, 8), (1, 2048, 8, 8), (1, 1008)],
                         self.shapes(spec, 'pool_1', 'mixed/join', 'mixed_2/join', 'mixed_3/join', 'mixed_7/join',
                                     'mixed_8/join', 'mixed_9/join', 'mixed_10/join', 'softmax_prob'))
        self.assertEqual(94, sum(layer.type == 'Convolution' for layer in layers.values()))
        self.assertEqual(['mixed_9/conv', 'mixed_9/tower/mixed', 'mixed_9/tower_1/mixed', 'mixed_9/tower_2/conv'],
                         list(layers['mixed_9/join'].bottom))
        self.assertEqual(['mixed_9/tower_1/mixed/conv', 'mixed_9/tower_1/mixed/conv_1'],
                         list(layers['mixed_9/tower_1/mixed'].bottom))
        self.assertEqual(['mixed_9/tower_1/conv_1'], list(layers['mixed_9/tower_1/mixed/conv_1'].bottom))
        self.assertEqual(['mixed_3/conv', 'mixed_3/tower/conv_2', 'mixed_3/pool'], list(layers['mixed_3/join'].bottom))
        high = layers['mixed_4/tower_1/conv_1'].convolution_param
        self.assertEqual((7, 1, 3, 0, 128), (high.kernel_h, high.kernel_w, high.pad_h, high.pad_w, high.num_output))
        pools = [layers[f'mixed_{number}/tower_2/pool'].pooling_param for number in (9, 10)]
        self.assertEqual([P.Pooling.AVE, P.Pooling.MAX], [each.pool for each in pools])
        self.assertTrue({'mixed_5/tower/conv_2_bn', 'mixed_5/tower/conv_2_bias', 'conv_4_relu'} <= set(layers))
        self.assertNotIn('softmax', InceptionV3Body(input_net(299), 'data').keys())

    def test_a_tower_does_not_change_its_arguments(self):
        spec = input_net(8)
        steps = [dict(name='pool', pool=P.Pooling.AVE, kernel_size=3, pad=1, stride=1),
                 dict(name='conv', num_output=4, kernel_size=1, pad=0, stride=1)]
        top = InceptionTower(spec, 'data', 'a/tower', steps, eps=0.01)
        self.assertEqual([spec['a/tower/conv'], 'pool', 'conv'], [top] + [each['name'] for each in steps])
        layers = self.plan_of(spec)
        self.assertEqual(['data', 'a/tower/pool', 'a/tower/conv', 'a/tower/conv_bn', 'a/tower/conv_bias',
                          'a/tower/conv_relu'], list(layers))
        self.assertAlmostEqual(0.01, layers['a/tower/conv_bn'].batch_norm_param.eps)

    def test_convolutions_with_batch_norm(self):
        spec = input_net(8)
        ConvBNLayer(spec, 'data', 'a', True, True, 4, 3, 1, 1, eps=0.01)
        ConvBNLayer(spec, 'a', 'b', True, False, 4, [1, 3], [0, 1], [1, 1], use_scale=False, conv_prefix='c_')
        ConvBNLayer(spec, 'c_b', 'd', True, True, 4, 3, 2, 1, dilation=2, use_global_stats=True)
        layers = self.layers_of(spec)
        self.assertEqual(['data', 'a', 'a_bn', 'a_scale', 'a_relu', 'c_b', 'b_bn', 'b_bias', 'd', 'd_bn', 'd_scale',
                          'd_relu'], list(layers))
        net = self.net(str(spec.to_proto()))
        self.assertEqual((1, 4, 8, 8), net.blobs['d'].shape)
        self.assertAlmostEqual(0.01, layers['a_bn'].batch_norm_param.eps)
        self.assertTrue(layers['d_bn'].batch_norm_param.use_global_stats)
        self.assertEqual([1, 0], [layers[name].param[0].lr_mult for name in ('a_scale', 'd_scale')])

    def test_helpers(self):
        folder = self.path('a/b')
        self.assertFalse(check_if_exist(folder))
        make_if_not_exist(folder)
        make_if_not_exist(folder)
        self.assertTrue(check_if_exist(folder) and os.path.isdir(folder))
        self.assertEqual([[3, 3], [3, 3], [1, 2]], [UnpackVariable(each, 2) for each in (3, [3], [1, 2])])
        with self.assertRaisesRegex(ValueError, 'must be one value, or 2'):
            UnpackVariable([1, 2, 3], 2)
        for wrong, says in ((dict(num_classes=0), 'num_classes is 0'), (dict(data_layer='dat'), "'dat', and the net has no"),
                            (dict(steps=[8]), 'steps has 1 entries, and from_layers 2'), (dict(min_sizes=[]), 'min_sizes must'),
                            (dict(max_sizes=[[3, 4], [3]]), '1 min_sizes and 2 max_sizes')):
            spec = input_net(8)
            spec.a, spec.b = L.ReLU(spec.data), L.ReLU(spec.data)
            with self.assertRaisesRegex(ValueError, says):
                CreateMultiBoxHead(spec, **{**dict(num_classes=3, from_layers=['a', 'b'], min_sizes=[1, 2],
                                                   use_batchnorm=False), **wrong})


if __name__ == '__main__':
    unittest.main()
