"""Maps coordinates of one blob of a NetSpec to those of another, to crop blobs so that they are aligned.

A map is two numbers a and b per axis, which are composed through convolution, pooling and similar layers as in Long et
al., "Fully convolutional networks for semantic segmentation", 2015.
"""
import numpy as np

from .net_spec import layers

# Layers that do not move points.
POINTWISE = ('PReLU', 'ReLU', 'LeakyReLU', 'Sigmoid', 'TanH', 'AbsVal', 'BNLL', 'Power', 'Exp', 'Log', 'ELU', 'Swish',
             'Clip', 'ReLU6', 'BatchNorm', 'BN', 'Scale', 'Bias', 'LRN', 'MVN', 'Dropout', 'Eltwise', 'Concat', 'Softmax',
             'Split')


class UndefinedMapException(Exception):
    """A layer has no coordinate map."""


class AxisMismatchException(Exception):
    """Two maps are for different axes."""


def _window(fn):
    """(axis, stride, kernel, pad) of a layer that slides a window. Each of the last three is an array with one number
    for all axes or one for each."""
    fields = {**fn.params, **fn.params.get('convolution_param', {}), **fn.params.get('pooling_param', {}),
              **fn.params.get('crop_param', {})}

    def of_axes(name, otherwise):
        shape = fields.get(name.split('_')[0] + '_shape')
        if shape:
            return np.array(shape['dim'], ndmin=1)
        if f'{name}_h' in fields or f'{name}_w' in fields:
            return np.array([fields.get(f'{name}_h', otherwise), fields.get(f'{name}_w', otherwise)])
        return np.array(fields.get(name, otherwise), ndmin=1)
    kernel = of_axes('kernel', 1) if 'kernel_h' in fields else of_axes('kernel_size', 1)
    dilation = of_axes('dilation', 1)
    return fields.get('axis', 1), of_axes('stride', 1), dilation * (kernel - 1) + 1, of_axes('pad', 0)


def coord_map(fn):
    """(axis, a, b) of a layer: coordinate x of its bottom is a * x + b of its top, on the axes from `axis` on (None:
    all axes). a and b have one number for all axes, or one for each."""
    if fn.type_name in ('Convolution', 'NdConvolution', 'Pooling', 'Im2col', 'ConvolutionDepthwise', 'DepthwiseConvolution'):
        axis, stride, kernel, pad = _window(fn)
        return axis, 1 / stride, (pad - (kernel - 1) / 2) / stride
    if fn.type_name == 'Deconvolution':
        axis, stride, kernel, pad = _window(fn)
        return axis, 1.0 * stride, (kernel - 1) / 2 - pad
    if fn.type_name in POINTWISE:
        return None, 1, 0
    if fn.type_name == 'Crop':
        fields = {**fn.params, **fn.params.get('crop_param', {})}
        return fields.get('axis', 2) - 1, 1, -np.array(fields.get('offset', 0), ndmin=1)
    raise UndefinedMapException(fn.type_name)


def compose(base_map, next_map):
    """The map that applies `next_map` first, then `base_map`."""
    axis1, a1, b1 = base_map
    axis2, a2, b2 = next_map
    if axis1 is not None and axis2 is not None and axis1 != axis2:
        raise AxisMismatchException(f'axis {axis1} and axis {axis2}')
    return axis2 if axis1 is None else axis1, a1 * a2, a1 * b2 + b1


def inverse(coord_map):
    """The inverse map."""
    axis, a, b = coord_map
    return axis, 1 / a, -b / a


def _bottoms(fn):
    """The bottoms that determine coordinates. For Crop only the first, because the second gives only the size."""
    return fn.inputs[:1] if fn.type_name == 'Crop' else fn.inputs


def _maps_down(top):
    """Blob that `top` is computed from -> the map from it to `top`."""
    maps, waiting = {top: (None, 1, 0)}, [top]
    while waiting:
        blob = waiting.pop()
        try:
            step = coord_map(blob.fn)
        except UndefinedMapException:
            continue  # the blobs below it are not aligned with those above
        for bottom in _bottoms(blob.fn):
            if bottom not in maps:
                maps[bottom] = compose(maps[blob], step)
                waiting.append(bottom)
    return maps


def coord_map_from_to(top_from, top_to):
    """(axis, a, b): coordinate x of top_from is a * x + b of top_to, through a blob that both are computed from."""
    from_maps, to_maps = _maps_down(top_from), _maps_down(top_to)
    for blob, to_map in to_maps.items():
        if blob in from_maps:
            return compose(to_map, inverse(from_maps[blob]))
    raise RuntimeError('the two blobs have no common bottom whose points can be followed')


def crop(top_from, top_to):
    """A Crop layer that cuts top_from to the size and place of top_to. Both must have the same scale, and top_from must
    begin before top_to by a whole number of points. Otherwise raises AssertionError, as in Caffe."""
    axis, a, b = coord_map_from_to(top_from, top_to)
    a, b = np.array(a, ndmin=1), np.array(b, ndmin=1)
    if not np.allclose(a, 1):
        raise AssertionError(f'scale mismatch: one point of the blob to be cropped is {a.tolist()} of the other')
    if (b > 1e-6).any():
        raise AssertionError(f'negative crop: the blob to be cropped begins {b.tolist()} points behind the other')
    if not np.allclose(b, b.round()):
        raise AssertionError(f'the offset is no whole number of points: {(-b).tolist()}')
    offset = [int(value) for value in -b.round()]
    return layers.Crop(top_from, top_to, crop_param={'axis': (1 if axis is None else axis) + 1, 'offset': offset})
