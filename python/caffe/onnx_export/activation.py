"""Activations and other functions of single values."""

import numpy as np

from .layer import converts


@converts('ReLU')
def relu(g, layer):
    slope = layer.param.relu_param.negative_slope
    if slope == 0:
        return [g.node('Relu', [layer.x], layer.y)]
    return [g.node('LeakyRelu', [layer.x], layer.y, alpha=slope)]


@converts('ReLU6')
def relu6(g, layer):
    return [g.node('Clip', [layer.x, g.constant(np.float32(0)), g.constant(np.float32(6))], layer.y)]


@converts('Clip')
def clip(g, layer):
    param = layer.param.clip_param
    return [g.node('Clip', [layer.x, g.constant(np.float32(param.min)), g.constant(np.float32(param.max))], layer.y)]


@converts('PReLU')
def prelu(g, layer):
    slope = layer.blobs[0].reshape(-1)
    if slope.size > 1:
        slope = slope.reshape([-1] + [1] * (len(layer.shape) - 2))
    return [g.node('PRelu', [layer.x, g.constant(slope, 'slope')], layer.y)]


@converts('ELU')
def elu(g, layer):
    return [g.node('Elu', [layer.x], layer.y, alpha=layer.param.elu_param.alpha)]


@converts('Sigmoid')
def sigmoid(g, layer):
    return [g.node('Sigmoid', [layer.x], layer.y)]


@converts('TanH')
def tanh(g, layer):
    return [g.node('Tanh', [layer.x], layer.y)]


@converts('AbsVal')
def absval(g, layer):
    return [g.node('Abs', [layer.x], layer.y)]


@converts('BNLL')
def bnll(g, layer):
    return [g.node('Softplus', [layer.x], layer.y)]


@converts('Swish')
def swish(g, layer):
    beta = layer.param.swish_param.beta
    scaled = layer.x if beta == 1 else g.binary('Mul', layer.x, beta)
    return [g.node('Mul', [layer.x, g.node('Sigmoid', [scaled])], layer.y)]


@converts('Threshold')
def threshold(g, layer):
    above = g.node('Greater', [layer.x, g.constant(np.float32(layer.param.threshold_param.threshold))])
    return [g.node('Cast', [above], layer.y, to=1)]


def affine(g, x, scale, shift):
    """shift + scale * x."""
    if scale != 1:
        x = g.binary('Mul', x, scale)
    return g.binary('Add', x, shift) if shift != 0 else x


@converts('Power')
def power(g, layer):
    param = layer.param.power_param
    if param.power == 0:
        ones = g.binary('Mul', layer.x, 0)
        return [g.binary('Add', ones, 1, layer.y)]
    x = affine(g, layer.x, param.scale, param.shift)
    return [g.node('Identity', [x], layer.y) if param.power == 1 else g.binary('Pow', x, param.power, layer.y)]


@converts('Exp')
def exp(g, layer):
    param = layer.param.exp_param
    log = 1.0 if param.base == -1 else float(np.log(param.base))
    return [g.node('Exp', [affine(g, layer.x, param.scale * log, param.shift * log)], layer.y)]


@converts('Log')
def log(g, layer):
    param = layer.param.log_param
    y = g.node('Log', [affine(g, layer.x, param.scale, param.shift)])
    return [g.binary('Mul', y, 1.0 if param.base == -1 else 1 / float(np.log(param.base)), layer.y)]


@converts('Softmax')
def softmax(g, layer):
    return [g.node('Softmax', [layer.x], layer.y, axis=layer.axis(layer.param.softmax_param.axis))]
