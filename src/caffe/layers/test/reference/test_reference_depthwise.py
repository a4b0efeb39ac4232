"""Depthwise convolution, compared with its definition: each output channel sums over its own input channel alone."""

import unittest

import numpy as np
from net_values import layer_net, run


def draw(shape, seed):
    return np.random.default_rng(seed).normal(0, 1, shape)


def convolved(x, w, bias, stride, pad, dilation):
    """y[n, c, i, j] = bias[c] + sum over (p, q) of w[c, 0, p, q] x[n, c, i s + p d - pad, j s + q d - pad]; zero outside."""
    rows, columns = ((x.shape[axis] + 2 * pad - dilation * (w.shape[axis] - 1) - 1) // stride + 1 for axis in (2, 3))
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    y = np.zeros(x.shape[:2] + (rows, columns)) + bias.reshape(1, -1, 1, 1)
    for p in range(w.shape[2]):
        for q in range(w.shape[3]):
            part = padded[:, :, p * dilation:p * dilation + stride * (rows - 1) + 1:stride,
                          q * dilation:q * dilation + stride * (columns - 1) + 1:stride]
            y += w[None, :, 0, p, q, None, None] * part
    return y


class Depthwise(unittest.TestCase):

    def check(self, kind, shape, kernel, stride, pad, dilation):
        channels = shape[1]
        x, w, bias = draw(shape, 1), draw((channels, 1, *kernel), 2), draw(channels, 3)
        y = convolved(x, w, bias, stride, pad, dilation)
        dy = draw(y.shape, 4)
        param = (f'convolution_param {{ num_output: {channels} kernel_h: {kernel[0]} kernel_w: {kernel[1]} '
                 f'stride: {stride} pad: {pad} dilation: {dilation} }}')
        net = layer_net(f"layer {{ name: 'y' type: '{kind}' bottom: 'x' top: 'y' {param} }}", {'x': shape})
        blobs, made = run(net, {'x': x}, {'y': dy}, {'y': [w, bias]})
        np.testing.assert_allclose(blobs['y'].data, y, atol=1e-12)
        # y is linear in each of x, w and bias, so <dy, y(unit)> is the gradient for that unit.
        none = np.zeros(channels)
        np.testing.assert_allclose(made['y'][1].diff.ravel(), dy.sum((0, 2, 3)), atol=1e-11)
        for index in np.ndindex(w.shape):
            unit = np.zeros_like(w)
            unit[index] = 1
            expected = (dy * convolved(x, unit, none, stride, pad, dilation)).sum()
            self.assertAlmostEqual(made['y'][0].diff[index], expected, places=10)
        for index in np.ndindex(x.shape):
            unit = np.zeros_like(x)
            unit[index] = 1
            expected = (dy * convolved(unit, w, none, stride, pad, dilation)).sum()
            self.assertAlmostEqual(blobs['x'].diff[index], expected, places=10)

    def test_it_matches_its_definition(self):
        for kind in ('DepthwiseConvolution', 'ConvolutionDepthwise'):
            for shape, kernel, stride, pad, dilation in (
                    ((2, 3, 5, 6), (3, 3), 1, 1, 1),
                    ((2, 3, 7, 6), (3, 3), 2, 1, 1),
                    ((1, 2, 9, 8), (3, 3), 1, 2, 2),
                    ((2, 2, 6, 5), (5, 2), 1, 2, 1),
                    ((1, 4, 5, 5), (1, 1), 2, 0, 1)):
                with self.subTest(kind=kind, shape=shape, kernel=kernel, stride=stride, pad=pad, dilation=dilation):
                    self.check(kind, shape, kernel, stride, pad, dilation)


if __name__ == '__main__':
    unittest.main()
