"""BN and BatchNorm with scale_bias, Interp, Upsample and pooling of regions, compared with the papers' formulas."""

import math
import unittest

import numpy as np
from net_values import layer_net, run


def draw(shape, seed, scale=1.0):
    return np.random.default_rng(seed).normal(0, scale, shape)


def layer(kind, bottoms, param=''):
    names = ' '.join(f"bottom: '{name}'" for name in bottoms)
    return f"layer {{ name: 'y' type: '{kind}' {names} top: 'y' {param} }}"


def by_channel(values):
    return np.reshape(values, (1, -1, 1, 1))


class Normalisation(unittest.TestCase):
    shape = (3, 2, 4, 5)
    axes = (0, 2, 3)
    x, dy = draw(shape, 1, 3) + 2, draw(shape, 2)
    scale, bias = draw(2, 3), draw(2, 4)
    eps = 0.25  # a float, as prototxts hold them

    def passed(self, kind, param, parameters):
        net = 'state { phase: TRAIN } ' + layer_net(layer(kind, ['x'], param), {'x': self.shape})
        blobs, made = run(net, {'x': self.x}, {'y': self.dy}, {'y': parameters})
        return blobs['y'].data, blobs['x'].diff, made['y']

    def expect_affine(self, results, normalised, scale_at, bias_at):
        """Checks that the top is scale * normalised + bias. Returns the gradient of the normalised values."""
        y, _, made = results
        np.testing.assert_allclose(y, by_channel(self.scale) * normalised + by_channel(self.bias), atol=1e-12)
        np.testing.assert_allclose(made[scale_at].diff.ravel(), (self.dy * normalised).sum(self.axes), atol=1e-12)
        np.testing.assert_allclose(made[bias_at].diff.ravel(), self.dy.sum(self.axes), atol=1e-12)
        return by_channel(self.scale) * self.dy

    def of_batch(self):
        mean, variance = self.x.mean(self.axes), self.x.var(self.axes)
        return mean, variance, (self.x - by_channel(mean)) / np.sqrt(by_channel(variance) + self.eps)

    def expect_gradient(self, dx, normalised, dn):
        """Checks dx by the chain rule over mean and variance of the batch."""
        deviation = np.sqrt(by_channel(self.x.var(self.axes)) + self.eps)
        expected = (dn - dn.mean(self.axes, keepdims=True)
                    - normalised * (dn * normalised).mean(self.axes, keepdims=True)) / deviation
        np.testing.assert_allclose(dx, expected, atol=1e-12)

    def test_batch_norm_with_scale_bias(self):
        results = self.passed('BatchNorm', f'batch_norm_param {{ scale_bias: true eps: {self.eps} }}',
                           [[0, 0], [0, 0], [0], self.scale, self.bias])
        _, _, normalised = self.of_batch()
        self.expect_gradient(results[1], normalised, self.expect_affine(results, normalised, 3, 4))

    def test_batch_norm_with_scale_bias_and_running_statistics(self):
        sums, squares, weight = np.array([1., -3]), np.array([2., 9]), 4
        results = self.passed('BatchNorm',
                           f'batch_norm_param {{ scale_bias: true use_global_stats: true eps: {self.eps} }}',
                           [sums, squares, [weight], self.scale, self.bias])
        deviation = by_channel(np.sqrt(squares / weight + self.eps))
        dn = self.expect_affine(results, (self.x - by_channel(sums / weight)) / deviation, 3, 4)
        np.testing.assert_allclose(results[1], dn / deviation)

    def test_bn(self):
        running = [np.array([5., -1]), np.array([2., 0.5])]
        results = self.passed('BN', f'bn_param {{ momentum: 0.75 eps: {self.eps} }}', [self.scale, self.bias] + running)
        mean, variance, normalised = self.of_batch()
        self.expect_gradient(results[1], normalised, self.expect_affine(results, normalised, 0, 1))
        np.testing.assert_allclose(results[2][2].data.ravel(), 0.75 * running[0] + 0.25 * mean)
        np.testing.assert_allclose(results[2][3].data.ravel(), 0.75 * running[1] + 0.25 * variance)

    def test_frozen_bn(self):
        mean, variance = np.array([5., -1]), np.array([2., 0.5])
        results = self.passed('BN', f'bn_param {{ frozen: true var_eps: {self.eps} }}',
                           [self.scale, self.bias, mean, variance])
        deviation = by_channel(np.sqrt(variance + self.eps))
        dn = self.expect_affine(results, (self.x - by_channel(mean)) / deviation, 0, 1)
        np.testing.assert_allclose(results[1], dn / deviation)
        np.testing.assert_array_equal(results[2][2].data.ravel(), mean)
        np.testing.assert_array_equal(results[2][3].data.ravel(), variance)

    def test_bn_with_folded_statistics(self):
        results = self.passed('BN', 'bn_param { bn_mode: INFERENCE }', [self.scale, self.bias])
        np.testing.assert_allclose(results[1], self.expect_affine(results, self.x, 0, 1))


def corners_on_corners(count, to):
    """The matrix that interpolates `count` values of an axis to `to`."""
    matrix = np.zeros((to, count))
    for i, at in enumerate(np.linspace(0, count - 1, to) if to > 1 else [0.0]):
        below = min(int(math.floor(at + 1e-9)), count - 1)
        matrix[i, below] += 1 - (at - below)
        if below + 1 < count:
            matrix[i, below + 1] += at - below
    return matrix


class Interp(unittest.TestCase):
    def check(self, param, shape, size, cut=(0, 0), like=None):
        inputs = {'x': draw(shape, 5)}
        if like:
            inputs['like'] = draw(like, 6)
        rows, columns = (corners_on_corners(count - sum(cut), to) for count, to in zip(shape[2:], size))
        inside = np.s_[:, :, cut[0]:shape[2] - cut[1], cut[0]:shape[3] - cut[1]]
        dy = draw(shape[:2] + size, 7)
        net = layer_net(layer('Interp', inputs, f'interp_param {{ {param} }}'),
                        {name: value.shape for name, value in inputs.items()})
        blobs, _ = run(net, inputs, {'y': dy})
        self.assertEqual(blobs['y'].data.shape, shape[:2] + size)
        np.testing.assert_allclose(blobs['y'].data, rows @ inputs['x'][inside] @ columns.T, atol=1e-12)
        expected = np.zeros(shape)
        expected[inside] = rows.T @ dy @ columns
        np.testing.assert_allclose(blobs['x'].diff, expected, atol=1e-12)

    def test_sizes_of_deeplab_and_pspnet(self):
        shape = (2, 3, 5, 7)
        self.check('height: 11 width: 4', shape, (11, 4))
        self.check('height: 1 width: 9', shape, (1, 9))
        self.check('zoom_factor: 8', shape, (33, 49))
        self.check('shrink_factor: 2', shape, (3, 4))
        self.check('shrink_factor: 2 zoom_factor: 3', shape, (7, 10))
        self.check('height: 6 width: 8 pad_beg: -1 pad_end: -2', shape, (6, 8), cut=(1, 2))
        self.check('', shape, (9, 3), like=(1, 1, 9, 3))
        self.check('height: 3 width: 2', (1, 2, 1, 1), (3, 2))


class Upsample(unittest.TestCase):
    def test_upsample_repeats_values(self):
        for down, across in ((2, 2), (3, 1), (2, 4)):
            x = draw((2, 3, 4, 2), 8)
            dy = draw((2, 3, 4 * down, 2 * across), 9)
            net = layer_net(layer('Upsample', ['x'], f'upsample_param {{ scale_h: {down} scale_w: {across} }}'),
                            {'x': x.shape})
            blobs, _ = run(net, {'x': x}, {'y': dy})
            np.testing.assert_array_equal(blobs['y'].data, np.kron(x, np.ones((down, across))))
            np.testing.assert_allclose(blobs['x'].diff, dy.reshape(2, 3, 4, down, 2, across).sum((3, 5)))

    def test_upsample_puts_values_at_the_indices_of_the_mask(self):
        for param, size in (('scale: 3', (12, 6)), ('upsample_h: 5 upsample_w: 7', (5, 7)),
                            ('scale: 2 pad_out_h: true pad_out_w: true', (7, 3))):
            x = draw((2, 3, 4, 2), 10)
            mask = np.stack([np.random.default_rng(11 + i).permutation(size[0] * size[1])[:8] for i in range(6)])
            dy = draw((2, 3) + size, 12)
            inputs = {'x': x, 'mask': mask.reshape(x.shape)}
            net = layer_net(layer('Upsample', inputs, f'upsample_param {{ {param} }}'),
                            {name: value.shape for name, value in inputs.items()})
            blobs, _ = run(net, inputs, {'y': dy})
            expected = np.zeros((6, size[0] * size[1]))
            np.put_along_axis(expected, mask, x.reshape(6, 8), 1)
            np.testing.assert_array_equal(blobs['y'].data, expected.reshape(dy.shape))
            np.testing.assert_array_equal(blobs['x'].diff,
                                          np.take_along_axis(dy.reshape(6, -1), mask, 1).reshape(x.shape))


def half_away(value):
    """Rounded as C does."""
    return math.copysign(math.floor(abs(value) + 0.5), value)


class Regions(unittest.TestCase):
    x = draw((2, 8, 6, 7), 13)
    regions = np.array([[0, 0, 0, 11, 9], [1, 3, 1, 8, 7], [0, 2, 2, 9, 8], [1, -6, -4, 5, 30], [1, 40, 2, 50, 6],
                        [0, 5, 5, 5, 5], [1, 8, 6, 3, 2], [0, 1, 3, 4, 5], [1, 0.5, 1.5, 6.5, 7.25]])

    def check(self, kind, param, shape, bins):
        """bins(region, i, j, channel): the slices of a bin, and the channel that it reads."""
        largest = kind == 'ROIPooling'
        inputs = {'x': self.x, 'regions': self.regions}
        net = layer_net(layer(kind, inputs, param), {name: value.shape for name, value in inputs.items()})
        dy = draw((len(self.regions),) + shape, 14)
        blobs, _ = run(net, inputs, {'y': dy})
        expected, gradient = np.zeros(dy.shape), np.zeros(self.x.shape)
        for at in np.ndindex(dy.shape):
            region, channel, i, j = at
            rows, columns, source = bins(self.regions[region], i, j, channel)
            item = int(self.regions[region][0])
            part = self.x[item, source, rows, columns]
            if part.size == 0:
                continue
            if largest:
                place = np.unravel_index(part.argmax(), part.shape)
                expected[at] = part[place]
                gradient[item, source, rows, columns][place] += dy[at]
            else:
                expected[at] = part.mean()
                gradient[item, source, rows, columns] += dy[at] / part.size
        np.testing.assert_allclose(blobs['y'].data, expected, atol=1e-12)
        np.testing.assert_allclose(blobs['x'].diff, gradient, atol=1e-12)

    def test_roi_pooling_of_fast_rcnn(self):
        for pooled_h, pooled_w, scale in ((2, 3, 0.5), (7, 7, 0.5), (3, 1, 1), (4, 4, 0.25)):
            def stretch(first, last, bin_number, pooled, size, scale=scale):
                start, end = half_away(first * scale), half_away(last * scale)
                long = max(end - start + 1, 1)
                return slice(*(int(np.clip(start + cut, 0, size)) for cut in
                               (bin_number * long // pooled, -(-(bin_number + 1) * long // pooled))))

            self.check('ROIPooling',
                       f'roi_pooling_param {{ pooled_h: {pooled_h} pooled_w: {pooled_w} spatial_scale: {scale} }}',
                       (8, pooled_h, pooled_w),
                       lambda region, i, j, channel, h=pooled_h, w=pooled_w, part=stretch:
                       (part(region[2], region[4], i, h, 6), part(region[1], region[3], j, w, 7), channel))

    def test_psroi_pooling_of_rfcn(self):
        for scale in (0.5, 1, 0.25):
            def stretch(first, last, bin_number, size, scale=scale):
                start, end = half_away(first) * scale, (half_away(last) + 1) * scale
                long = max(end - start, 0.1) / 2
                return slice(int(np.clip(math.floor(start + bin_number * long), 0, size)),
                             int(np.clip(math.ceil(start + (bin_number + 1) * long), 0, size)))

            self.check('PSROIPooling',
                       f'psroi_pooling_param {{ output_dim: 2 group_size: 2 spatial_scale: {scale} }}', (2, 2, 2),
                       lambda region, i, j, channel, part=stretch:
                       (part(region[2], region[4], i, 6), part(region[1], region[3], j, 7), channel * 4 + i * 2 + j))


if __name__ == '__main__':
    unittest.main()
