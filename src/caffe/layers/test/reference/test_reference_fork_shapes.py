"""Layers of Caffe's forks that move, normalise or compare values, and PriorBox, compared with the papers' formulas."""

import unittest

import numpy as np
from net_values import layer_net, run


def draw(shape, seed, scale=1.0):
    return np.random.default_rng(seed).normal(0, scale, shape)


def layer(kind, bottoms, param=''):
    names = ' '.join(f"bottom: '{name}'" for name in bottoms)
    return f"layer {{ name: 'y' type: '{kind}' {names} top: 'y' {param} }}"


class Moves(unittest.TestCase):
    def check(self, kind, param, x, move, back):
        """Checks that the top is move(x) and the gradient back(dy)."""
        expected = move(x)
        dy = draw(expected.shape, 7)
        blobs, _ = run(layer_net(layer(kind, ['x'], param), {'x': x.shape}), {'x': x}, {'y': dy})
        self.assertEqual(blobs['y'].data.shape, expected.shape)
        np.testing.assert_array_equal(blobs['y'].data, expected)
        np.testing.assert_array_equal(blobs['x'].diff, back(dy))

    def test_permute_is_a_transposition(self):
        for order, named in (((0, 2, 3, 1), 4), ((3, 0, 2, 1), 4), ((2, 0, 1, 3), 1), ((1, 3, 0, 2), 2)):
            param = ' '.join(f'order: {axis}' for axis in order[:named])
            self.check('Permute', f'permute_param {{ {param} }}', draw((2, 3, 4, 5), 1),
                       lambda x, order=order: x.transpose(order),
                       lambda dy, order=order: dy.transpose(np.argsort(order)))

    def test_shuffle_channel_transposes_groups_and_their_channels(self):
        for group in (2, 3, 6):
            self.check('ShuffleChannel', f'shuffle_channel_param {{ group: {group} }}', draw((2, 6, 3, 2), 2),
                       lambda x, g=group: x.reshape(2, g, 6 // g, 3, 2).swapaxes(1, 2).reshape(x.shape),
                       lambda dy, g=group: dy.reshape(2, 6 // g, g, 3, 2).swapaxes(1, 2).reshape(dy.shape))

    def test_reorg_uses_the_order_of_darknet(self):
        for stride, shape in ((2, (2, 8, 4, 6)), (3, (1, 18, 3, 6))):
            n, c, h, w = shape
            few = c // stride**2
            small = np.arange(n * c * h * w)
            large = np.empty_like(small)
            for at in small:  # where value `at` of the smaller maps is in the larger ones
                b, k, j, i = np.unravel_index(at, shape)
                down, right = divmod(k // few, stride)
                larger = (n, few, h * stride, w * stride)
                large[at] = np.ravel_multi_index((b, k % few, j * stride + down, i * stride + right), larger)

            def gather(shape, places):
                return lambda values: values.ravel()[places].reshape(shape)

            inverse = np.argsort(large)
            self.check('Reorg', f'reorg_param {{ stride: {stride} }}', draw(shape, 3),
                       gather((n, c * stride**2, h // stride, w // stride), large), gather(shape, inverse))
            self.check('Reorg', f'reorg_param {{ stride: {stride} reverse: true }}', draw(shape, 4),
                       gather((n, few, h * stride, w * stride), inverse), gather(shape, large))


class Values(unittest.TestCase):
    def test_relu6(self):
        x, dy = draw((3, 50), 1, 5), draw((3, 50), 2)
        blobs, _ = run(layer_net(layer('ReLU6', ['x']), {'x': x.shape}), {'x': x}, {'y': dy})
        np.testing.assert_array_equal(blobs['y'].data, np.clip(x, 0, 6))
        np.testing.assert_array_equal(blobs['x'].diff, np.where((x > 0) & (x < 6), dy, 0))

    def test_normalize_divides_by_the_norm_and_scales(self):
        eps = 0.25
        for across in (False, True):
            for shared in (False, True):
                x, dy = draw((2, 3, 4, 2), 3), draw((2, 3, 4, 2), 4)
                scale = draw(() if shared else (3,), 5)
                s = scale if shared else scale[:, None, None]
                axes = (1, 2, 3) if across else (1,)
                norm = np.sqrt((x**2).sum(axes, keepdims=True) + eps)
                unit = x / norm
                param = (f'norm_param {{ across_spatial: {str(across).lower()} channel_shared: {str(shared).lower()} '
                         f'eps: {eps} }}')
                blobs, parameters = run(layer_net(layer('Normalize', ['x'], param), {'x': x.shape}), {'x': x},
                                        {'y': dy}, {'y': [scale]})
                np.testing.assert_allclose(blobs['y'].data, s * unit)
                through = (s * dy - unit * (s * dy * unit).sum(axes, keepdims=True)) / norm
                np.testing.assert_allclose(blobs['x'].diff, through, atol=1e-12)
                np.testing.assert_allclose(parameters['y'][0].diff,
                                           (dy * unit).sum() if shared else (dy * unit).sum((0, 2, 3)))

    def test_axpy(self):
        for a_shape in ((2, 3), (2, 3, 1, 1)):
            a, x, y, df = draw(a_shape, 6), draw((2, 3, 2, 4), 7), draw((2, 3, 2, 4), 8), draw((2, 3, 2, 4), 9)
            inputs = {'a': a, 'x': x, 'b': y}
            net = layer_net(layer('Axpy', inputs), {name: value.shape for name, value in inputs.items()})
            blobs, _ = run(net, inputs, {'y': df})
            by_channel = a.reshape(2, 3, 1, 1)
            np.testing.assert_allclose(blobs['y'].data, by_channel * x + y)
            np.testing.assert_allclose(blobs['a'].diff, (df * x).sum((2, 3)).reshape(a_shape))
            np.testing.assert_allclose(blobs['x'].diff, by_channel * df)
            np.testing.assert_allclose(blobs['b'].diff, df)


class Losses(unittest.TestCase):
    def check(self, kind, param, inputs, loss, gradient):
        net = layer_net(layer(kind, inputs, param), {name: value.shape for name, value in inputs.items()})
        blobs, _ = run(net, inputs, {'y': 3})
        np.testing.assert_allclose(blobs['y'].data, loss)
        np.testing.assert_allclose(blobs['a'].diff, 3 * gradient)
        np.testing.assert_allclose(blobs['b'].diff, -3 * gradient)

    def test_smooth_l1_loss_of_fast_rcnn(self):
        for bottoms, sigma in ((2, 1), (3, 1), (4, 3), (4, 0.5)):
            inputs = {name: draw((4, 5, 2), 10 + i) for i, name in enumerate(['a', 'b', 'inside', 'outside'][:bottoms])}
            inside, outside = inputs.get('inside', 1), inputs.get('outside', 1)
            d = inside * (inputs['a'] - inputs['b'])
            near = np.abs(d) < 1 / sigma**2
            f = np.where(near, (sigma * d)**2 / 2, np.abs(d) - 0.5 / sigma**2)
            slope = np.where(near, sigma**2 * d, np.sign(d))
            self.check('SmoothL1Loss', f'smooth_l1_loss_param {{ sigma: {sigma} }}', inputs,
                       (outside * f).sum() / 4, outside * inside * slope / 4)

    def test_l1_loss(self):
        inputs = {'a': draw((4, 5), 20), 'b': draw((4, 5), 21)}
        d = inputs['a'] - inputs['b']
        self.check('L1Loss', '', inputs, np.abs(d).sum() / 4, np.sign(d) / 4)


class PriorBox(unittest.TestCase):
    def check(self, param, image, step, offset, sizes, variances=4 * (0.1,), clip=False):
        """Compares with boxes of `sizes` (width, height). `image` and `step`: width and height."""
        map_h, map_w = 3, 2
        net = layer_net(layer('PriorBox', ['map', 'image'], f'prior_box_param {{ {param} }}'),
                        {'map': (1, 2, map_h, map_w), 'image': (1, 3, 60, 80)})
        blobs, _ = run(net, {})
        half = np.array(sizes) / 2
        x, y = np.meshgrid((np.arange(map_w) + offset) * step[0], (np.arange(map_h) + offset) * step[1])
        centers = np.stack([x, y], -1)[:, :, None, :]
        corners = np.concatenate([(centers - half) / image, (centers + half) / image], -1)
        if clip:
            corners = corners.clip(0, 1)
        expected = np.stack([corners.ravel(), np.resize(variances, corners.size)])[None]
        self.assertEqual(blobs['y'].data.shape, expected.shape)
        # prototxts hold floats
        np.testing.assert_allclose(blobs['y'].data, expected, rtol=1e-6, atol=1e-7)

    def test_boxes_of_ssd(self):
        root = np.sqrt
        self.check('min_size: 30 max_size: 60 aspect_ratio: 2 variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2',
                   (80, 60), (40, 20), 0.5,
                   [(30, 30), (root(1800), root(1800)), (30 * root(2), 30 / root(2)), (30 / root(2), 30 * root(2))],
                   (0.1, 0.1, 0.2, 0.2))
        self.check('min_size: 30 min_size: 40 max_size: 60 max_size: 50 aspect_ratio: 3 aspect_ratio: 1 flip: false '
                   'clip: true step: 16 offset: 0.25 variance: 0.5', (80, 60), (16, 16), 0.25,
                   [(30, 30), (root(1800), root(1800)), (30 * root(3), 30 / root(3)),
                    (40, 40), (root(2000), root(2000)), (40 * root(3), 40 / root(3))], 4 * (0.5,), clip=True)
        self.check('min_size: 10 img_size: 300 aspect_ratio: 2 aspect_ratio: 0.5', (300, 300), (150, 100), 0.5,
                   [(10, 10), (10 * root(2), 10 / root(2)), (10 / root(2), 10 * root(2))])


if __name__ == '__main__':
    unittest.main()
