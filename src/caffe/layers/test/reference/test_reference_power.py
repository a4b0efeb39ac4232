"""Checks the harness itself on a simple layer: Power."""

import unittest

import numpy as np
from net_values import layer_net, run


class Power(unittest.TestCase):
    def test_values_and_gradients_match_the_formula(self):
        x = np.random.default_rng(1).uniform(1, 2, (2, 3))
        dy = np.random.default_rng(2).uniform(-1, 1, (2, 3))
        layer = "layer { name: 'y' type: 'Power' bottom: 'x' top: 'y' power_param { power: 3 scale: 2 shift: 1 } }"
        blobs, _ = run(layer_net(layer, {'x': x.shape}), {'x': x}, {'y': dy})
        np.testing.assert_allclose(blobs['y'].data, (1 + 2 * x)**3)
        np.testing.assert_allclose(blobs['x'].diff, dy * 6 * (1 + 2 * x)**2)


if __name__ == '__main__':
    unittest.main()
