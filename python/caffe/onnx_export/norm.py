"""Normalizations, and the scales and biases after them."""

import numpy as np

from .layer import converts


def along(array, axis, rank):
    """Reshapes an array whose axes are those from `axis` on so that it is broadcast over the others."""
    return array.reshape([1] * axis + list(array.shape) + [1] * (rank - axis - array.ndim))


def normalize_by(g, layer, mean, variance, eps, scale=None, bias=None):
    """BatchNormalization with constant statistics."""
    ones = np.ones_like(mean)
    constants = [scale if scale is not None else ones, bias if bias is not None else 0 * ones, mean, variance]
    names = [g.constant(array.reshape(-1), hint)
             for array, hint in zip(constants, ('scale', 'bias', 'mean', 'variance'))]
    return [g.node('BatchNormalization', [layer.x] + names, layer.y, epsilon=eps)]


@converts('BatchNorm')
def batch_norm(g, layer):
    param = layer.param.batch_norm_param
    if param.HasField('use_global_stats') and not param.use_global_stats:
        if len(layer.blobs) > 3:
            layer.refuse('it normalizes by the statistics of each batch, with a scale of its own')
        axes = [0] + list(range(2, len(layer.shape)))
        return [by_moments(g, layer.x, axes, param.eps, layer.y)]
    weight = float(layer.blobs[2].reshape(-1)[0])
    factor = np.float32(0 if weight == 0 else 1 / weight)
    scale, bias = layer.blobs[3:5] if len(layer.blobs) > 3 else (None, None)
    return normalize_by(g, layer, layer.blobs[0] * factor, layer.blobs[1] * factor, param.eps, scale, bias)


def by_moments(g, x, axes, eps, output):
    """(x - mean) / sqrt(variance + eps)."""
    centred = g.node('Sub', [x, g.reduce('ReduceMean', x, axes)])
    variance = g.reduce('ReduceMean', g.node('Mul', [centred, centred]), axes)
    return g.node('Div', [centred, g.node('Sqrt', [g.binary('Add', variance, eps)])], output)


@converts('BN')
def bn(g, layer):
    param = layer.param.bn_param
    slope, bias = layer.blobs[0].reshape(-1), layer.blobs[1].reshape(-1)
    if len(layer.blobs) == 2:
        rank = len(layer.shape)
        scaled = g.binary('Mul', layer.x, along(slope, 1, rank))
        return [g.binary('Add', scaled, along(bias, 1, rank), layer.y)]
    eps = param.var_eps if param.HasField('var_eps') else param.eps
    return normalize_by(g, layer, layer.blobs[2].reshape(-1), layer.blobs[3].reshape(-1), eps, slope, bias)


def operand(g, layer, axis, blob, hint):
    """The second bottom, or the parameter `blob`, shaped to be broadcast over the axes that it does not have."""
    rank = len(layer.shape)
    if len(layer.bottoms) < 2:
        return g.constant(along(blob, axis, rank), hint)
    other = layer.bottoms[1]
    if axis == 0 and other.rank == rank:
        return other.name
    shape = [1] * axis + list(other.shape) + [1] * (rank - axis - other.rank)
    if axis == 0 and g.dynamic_batch:
        shape[0] = 0
    return g.reshape(other.name, shape)


@converts('Scale')
def scale(g, layer):
    param = layer.param.scale_param
    axis = layer.axis(param.axis)
    factor = operand(g, layer, axis, layer.blobs[0] if layer.blobs else None, 'scale')
    if not param.bias_term:
        return [g.node('Mul', [layer.x, factor], layer.y)]
    bias = along(layer.blobs[-1], axis, len(layer.shape))
    return [g.node('Add', [g.node('Mul', [layer.x, factor]), g.constant(bias, 'bias')], layer.y)]


def fold_scale(g, layer):
    """Folds a Scale into the BatchNormalization that was just added, whose own scale is 1."""
    node = g.nodes.pop()
    scale = layer.blobs[0].reshape(-1)
    bias = layer.blobs[1].reshape(-1) if layer.param.scale_param.bias_term else 0 * scale
    inputs = [node.input[0], g.constant(scale, 'scale'), g.constant(bias, 'bias'), *node.input[3:]]
    return [g.node('BatchNormalization', inputs, layer.y, epsilon=node.attribute[0].f)]


@converts('Bias')
def bias(g, layer):
    axis = layer.axis(layer.param.bias_param.axis)
    return [g.node('Add', [layer.x, operand(g, layer, axis, layer.blobs[0] if layer.blobs else None, 'bias')], layer.y)]


@converts('LRN')
def lrn(g, layer):
    param = layer.param.lrn_param
    if param.norm_region == param.ACROSS_CHANNELS:
        return [g.node('LRN', [layer.x], layer.y, size=param.local_size, alpha=param.alpha, beta=param.beta,
                       bias=param.k)]
    side, pad = param.local_size, (param.local_size - 1) // 2
    mean = g.node('AveragePool', [g.node('Mul', [layer.x, layer.x])], kernel_shape=[side, side], strides=[1, 1],
                  pads=[pad] * 4, count_include_pad=1)
    total = g.binary('Add', g.binary('Mul', mean, param.alpha), 1)
    return [g.node('Mul', [layer.x, g.binary('Pow', total, -param.beta)], layer.y)]


@converts('MVN')
def mvn(g, layer):
    param = layer.param.mvn_param
    axes = list(range(1 if param.across_channels else 2, len(layer.shape)))
    if not axes:
        axes = [len(layer.shape) - 1]
    mean = g.reduce('ReduceMean', layer.x, axes)
    if not param.normalize_variance:
        return [g.node('Sub', [layer.x, mean], layer.y)]
    centred = g.node('Sub', [layer.x, mean])
    deviation = g.node('Sqrt', [g.reduce('ReduceMean', g.node('Mul', [centred, centred]), axes)])
    return [g.node('Div', [centred, g.binary('Add', deviation, param.eps)], layer.y)]


@converts('Normalize')
def normalize(g, layer):
    param = layer.param.norm_param
    axes = list(range(1, len(layer.shape))) if param.across_spatial else [1]
    squares = g.reduce('ReduceSum', g.node('Mul', [layer.x, layer.x]), axes)
    norm = g.node('Sqrt', [g.binary('Add', squares, param.eps)])
    factor = layer.blobs[0].reshape(-1)
    if factor.size > 1:
        factor = along(factor, 1, len(layer.shape))
    return [g.binary('Mul', g.node('Div', [layer.x, norm]), factor, layer.y)]
