"""Pooling and upsampling."""

import numpy as np

from .layer import converts


def window(layer, param):
    """Kernel, stride and padding, each for the two spatial axes."""
    if param.global_pooling:
        return list(layer.shape[2:]), [1, 1], [0, 0]
    kernel = [param.kernel_h, param.kernel_w] if param.HasField('kernel_h') else [param.kernel_size] * 2
    stride = [param.stride_h, param.stride_w] if param.HasField('stride_h') else [param.stride] * 2
    pad = [param.pad_h, param.pad_w] if param.HasField('pad_h') or param.HasField('pad_w') else [param.pad] * 2
    return kernel, stride, pad


def windows(size, kernel, stride, pad, count):
    """Begin and end of each of `count` windows along an axis, clipped to Caffe's padding."""
    begins = np.arange(count) * stride - pad
    return begins, np.minimum(begins + kernel, size + pad)


def pads_for(layer, sizes, kernel, stride, pad, counts):
    """The padding with which ONNX has as many windows. Caffe rounds their number up, and omits windows that begin
    beyond its padding."""
    behind = [(n - 1) * s + k - size - p for n, s, k, size, p in zip(counts, stride, kernel, sizes, pad)]
    behind = [max(0, b) for b in behind]
    if any(b >= k for b, k in zip(behind, kernel)):
        layer.refuse('some of its windows lie outside of its bottom')
    return list(pad) + behind


@converts('Pooling')
def pooling(g, layer):
    param = layer.param.pooling_param
    kernel, stride, pad = window(layer, param)
    return pool(g, layer, layer.x, param.pool, kernel, stride, pad, layer.top_shapes[0][2:], layer.top_names)


def pool(g, layer, x, method, kernel, stride, pad, counts, tops):
    """method: 0 maximum, 1 mean, 2 stochastic."""
    sizes = layer.shape[2:]
    attributes = {'kernel_shape': kernel, 'strides': stride,
                  'pads': pads_for(layer, sizes, kernel, stride, pad, counts)}
    if method == 0:
        if len(tops) == 1:
            return [g.node('MaxPool', [x], tops[0], **attributes)]
        values, places = g.node('MaxPool', [x], outputs=2, **attributes)
        in_plane = g.node('Mod', [places, g.constant(np.int64(np.prod(sizes)), dtype=np.int64)])
        return [g.node('Identity', [values], tops[0]), g.node('Cast', [in_plane], tops[1], to=1)]
    mean = {'count_include_pad': 1, **attributes}
    if method == 2:  # the expected value: the probability of each value is its share of the window's sum
        squares = g.node('AveragePool', [g.node('Mul', [x, x])], **mean)
        total = g.node('Max', [g.node('AveragePool', [x], **mean), g.constant(np.float32(np.finfo(np.float32).tiny))])
        return [g.node('Div', [squares, total], tops[0])]
    lengths = []
    for size, k, s, p, n in zip(sizes, kernel, stride, pad, counts):
        begins, ends = windows(size, k, s, p, n)
        lengths.append((ends - begins).astype(np.float64))
    # ONNX divides by the kernel's size, Caffe by that of the clipped window
    factor = np.prod(kernel) / np.multiply.outer(*lengths)
    if np.all(factor == 1):
        return [g.node('AveragePool', [x], tops[0], **mean)]
    return [g.binary('Mul', g.node('AveragePool', [x], **mean), factor[np.newaxis, np.newaxis], tops[0])]


@converts('SPP')
def spp(g, layer):
    param = layer.param.spp_param
    levels = []
    for level in range(param.pyramid_height):
        bins = 2 ** level
        kernel = [-(-size // bins) for size in layer.shape[2:]]
        pad = [(k * bins - size + 1) // 2 for k, size in zip(kernel, layer.shape[2:])]
        y, = pool(g, layer, layer.x, param.pool, kernel, kernel, pad, [bins, bins], [None])
        levels.append(g.node('Flatten', [y], axis=1))
    return [g.node('Concat', levels, layer.y, axis=1)]


@converts('Interp')
def interp(g, layer):
    param = layer.param.interp_param
    x = layer.x
    for axis in (2, 3):
        size = layer.shape[axis]
        if param.pad_beg or param.pad_end:
            x = g.cut(x, axis, -param.pad_beg, size + param.pad_end)
    return [g.node('Resize', [x, '', '', g.sizes(layer.x, layer.top_shapes[0])], layer.y, mode='linear',
                   coordinate_transformation_mode='align_corners')]


@converts('Upsample')
def upsample(g, layer):
    if len(layer.bottoms) == 1:
        return [g.node('Resize', [layer.x, '', '', g.sizes(layer.x, layer.top_shapes[0])], layer.y, mode='nearest',
                       coordinate_transformation_mode='asymmetric', nearest_mode='floor')]
    plane = int(np.prod(layer.top_shapes[0][2:]))
    flat = [0, 0, -1]
    values, mask = (g.reshape(bottom.name, flat) for bottom in layer.bottoms)
    zeros = g.node('Expand', [g.constant(np.float32(0)), g.sizes(layer.x, list(layer.shape[:2]) + [plane])])
    placed = g.node('ScatterElements', [zeros, g.node('Cast', [mask], to=7), values], axis=2)
    return [g.reshape(placed, [0, 0] + list(layer.top_shapes[0][2:]), layer.y)]
