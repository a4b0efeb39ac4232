"""Convolutions and products."""

import numpy as np

from .layer import converts


def spatial(layer, param, name, default):
    """A value of convolution_param for each spatial axis."""
    axes = len(layer.shape) - 2
    shaped = getattr(param, {'kernel_size': 'kernel_shape', 'stride': 'stride_shape', 'pad': 'pad_shape'}.get(name, name))
    if name != 'dilation' and shaped.dim:
        return list(shaped.dim)
    short = {'kernel_size': 'kernel'}.get(name, name)
    if name != 'dilation' and (param.HasField(short + '_h') or param.HasField(short + '_w')):
        return [getattr(param, short + '_h'), getattr(param, short + '_w')]
    values = list(getattr(param, name)) or [default]
    return values * axes if len(values) == 1 else values


def convolution_attributes(layer):
    param = layer.param.convolution_param
    if layer.axis(param.axis) != 1:
        layer.refuse('convolution_param { axis } is not 1')
    pads = spatial(layer, param, 'pad', 0)
    return {'kernel_shape': spatial(layer, param, 'kernel_size', 1), 'strides': spatial(layer, param, 'stride', 1),
            'pads': pads + pads, 'dilations': spatial(layer, param, 'dilation', 1)}


def weights(g, layer):
    """Weights and bias, if there is one, as initializers."""
    names = [g.constant(layer.blobs[0], 'weights')]
    if len(layer.blobs) > 1:
        names.append(g.constant(layer.blobs[1].reshape(-1), 'bias'))
    return names


@converts('Convolution', 'NdConvolution', 'ConvolutionDepthwise', 'DepthwiseConvolution')
def convolution(g, layer):
    group = layer.shape[1] // layer.blobs[0].shape[1]
    constants = weights(g, layer)
    return [g.node('Conv', [bottom.name] + constants, top, group=group, **convolution_attributes(layer))
            for bottom, top in zip(layer.bottoms, layer.top_names)]


@converts('Deconvolution')
def deconvolution(g, layer):
    group = layer.param.convolution_param.group
    constants = weights(g, layer)
    return [g.node('ConvTranspose', [bottom.name] + constants, top, group=group, **convolution_attributes(layer))
            for bottom, top in zip(layer.bottoms, layer.top_names)]


@converts('InnerProduct')
def inner_product(g, layer):
    param = layer.param.inner_product_param
    axis = layer.axis(param.axis)
    outputs = layer.top_shapes[0][-1]
    matrix = layer.blobs[0].reshape(-1, outputs) if param.transpose else layer.blobs[0].reshape(outputs, -1).T
    flat = layer.x if len(layer.shape) == 2 and axis == 1 else g.node('Flatten', [layer.x], axis=axis)
    inputs = [flat, g.constant(matrix.T, 'weights')]
    if len(layer.blobs) > 1:
        inputs.append(g.constant(layer.blobs[1].reshape(-1), 'bias'))
    if axis == 1:
        return [g.node('Gemm', inputs, layer.y, transB=1)]
    product = g.node('Gemm', inputs, transB=1)
    return [g.reshape(product, [-1] + list(layer.top_shapes[0][1:]), layer.y)]


@converts('Embed')
def embed(g, layer):
    rows = g.node('Gather', [g.constant(layer.blobs[0], 'table'), g.node('Cast', [layer.x], to=7)], axis=0,
                  output=None if len(layer.blobs) > 1 else layer.y)
    return [g.node('Add', [rows, g.constant(layer.blobs[1].reshape(-1), 'bias')], layer.y)
            if len(layer.blobs) > 1 else rows]


@converts('Im2col')
def im2col(g, layer):
    """As a convolution that has, for each value of the kernel, a filter with a single 1."""
    attributes = convolution_attributes(layer)
    kernel, channels = attributes['kernel_shape'], layer.shape[1]
    values = int(np.prod(kernel))
    filters = np.tile(np.eye(values, dtype=np.float32), (channels, 1)).reshape([channels * values, 1] + kernel)
    return [g.node('Conv', [bottom.name, g.constant(filters, 'filters')], top, group=channels, **attributes)
            for bottom, top in zip(layer.bottoms, layer.top_names)]
