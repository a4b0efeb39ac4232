"""Convolutions, pooling and upsampling."""

import numpy as np

from .writer import reads


def pads_of(w, node, sizes, kernel, stride, dilation):
    """Padding before and after each spatial axis."""
    axes = len(sizes)
    how = w.attribute('auto_pad', 'NOTSET')
    if how in ('NOTSET', 'VALID'):
        pads = list(w.attribute('pads') or [0] * (2 * axes)) if how == 'NOTSET' else [0] * (2 * axes)
        return pads[:axes], pads[axes:]
    before, behind = [], []
    for size, k, s, d in zip(sizes, kernel, stride, dilation):
        total = max(0, ((size + s - 1) // s - 1) * s + (k - 1) * d + 1 - size)
        less, more = total // 2, total - total // 2
        before.append(less if how == 'SAME_UPPER' else more)
        behind.append(more if how == 'SAME_UPPER' else less)
    return before, behind


@reads('Pad')
def pad(w, node):
    """Zeros around maps, which become padding of the convolution that follows."""
    pads = w.given('pads', 1)
    rank = len(w.shape(node.input[0]))
    value = w.attribute('value', w.number(list(node.input + ['', ''])[2], 0.0) if len(node.input) > 2 else 0.0)
    if not any(pads):
        w.same(node.input[0])
        return
    readers = [other for other in w.graph.nodes if node.output[0] in other.input]
    spatial = not any(pads[:2] + pads[rank:rank + 2]) and min(pads) >= 0
    if w.attribute('mode', 'constant') != 'constant' or value != 0 or not spatial or any(r.op_type != 'Conv' for r in readers):
        w.refuse('only zeros around the maps of a convolution are known')
    w.padding[node.output[0]] = node.input[0], pads[2:rank], pads[rank + 2:]


def set_windows(param, kernel, pad, stride, dilation):
    """Sets a convolution's fields: one value if all spatial axes have the same, none if it is the default."""
    for values, default, name in ((kernel, None, 'kernel_size'), (pad, 0, 'pad'), (stride, 1, 'stride'), (dilation, 1, 'dilation')):
        if set(values) != {default}:
            getattr(param, name).extend(values[:1] if len(set(values)) == 1 else values)


def weights_and_bias(w, node):
    """[weights, bias or nothing]"""
    arrays = [w.constant(name) for name in node.input[1:] if name]
    if any(array is None for array in arrays):
        w.refuse('its weights are no constants')
    return arrays[0], arrays[1:]


@reads('Conv')
def conv(w, node):
    weights, bias = weights_and_bias(w, node)
    kernel = list(weights.shape[2:])
    axes, name = len(kernel), node.input[0]
    stride, dilation = (list(w.attribute(each) or [1] * axes) for each in ('strides', 'dilations'))
    before, behind = pads_of(w, node, w.shape(name)[2:], kernel, stride, dilation)
    if name in w.padding:
        name, more_before, more_behind = w.padding[name]
        before, behind = ([int(a + b) for a, b in zip(*each)] for each in ((before, more_before), (behind, more_behind)))
    # Caffe pads both sides equally. Zeros at the begin or end of the kernel make up the difference.
    for axis, (b, e, d) in enumerate(zip(before, behind, dilation)):
        if b == e:
            continue
        if abs(b - e) % d:
            w.refuse(f'padding of {b} before and {e} behind with a dilation of {d}')
        zeros = [(0, 0)] * weights.ndim
        zeros[axis + 2] = ((e - b) // d, 0) if e > b else (0, (b - e) // d)
        weights = np.pad(weights, zeros)
    param = w.layer('Convolution', [w.blob(name)], [w.top()], [weights, *bias]).convolution_param
    param.num_output, param.bias_term = weights.shape[0], bool(bias)
    set_windows(param, weights.shape[2:], [max(each) for each in zip(before, behind)], stride, dilation)
    if w.attribute('group', 1) != 1:
        param.group = w.attribute('group')


@reads('ConvTranspose')
def conv_transpose(w, node):
    weights, bias = weights_and_bias(w, node)
    kernel, group = list(weights.shape[2:]), w.attribute('group', 1)
    axes, shape, out = len(kernel), w.shape(node.input[0]), w.shape(node.output[0])
    stride, dilation = (list(w.attribute(each) or [1] * axes) for each in ('strides', 'dilations'))
    pads = w.attribute('pads')
    if w.attribute('auto_pad', 'NOTSET') != 'NOTSET' or w.attribute('output_shape'):
        w.refuse('its padding follows from the size of its output (auto_pad, output_shape)')
    before = list(pads[:axes]) if pads else [0] * axes
    full = [(size - 1) * s + (k - 1) * d + 1 for size, k, s, d in zip(shape[2:], kernel, stride, dilation)]
    # Places beyond the last window get only the bias, by zeros at the end of the kernel.
    for axis in range(axes):
        lacking = before[axis] + out[axis + 2] - full[axis]
        if lacking > 0:
            taps = -(-lacking // dilation[axis])
            zeros = [(0, 0)] * weights.ndim
            zeros[axis + 2] = (0, taps)
            weights = np.pad(weights, zeros)
            full[axis] += taps * dilation[axis]
    behind = [f - b - n for f, b, n in zip(full, before, out[2:])]
    both = [min(each) for each in zip(before, behind)]
    cuts = [(axis + 2, f - 2 * p, b - p, n) for axis, (f, p, b, n) in enumerate(zip(full, both, before, out[2:])) if f - 2 * p != n]
    blob = w.between() if cuts else w.top()
    param = w.layer('Deconvolution', [w.blob(node.input[0])], [blob], [weights, *bias]
                    ).convolution_param
    param.num_output, param.bias_term, param.group = weights.shape[1] * group, bool(bias), group
    set_windows(param, weights.shape[2:], both, stride, dilation)
    for i, (axis, size, begin, count) in enumerate(cuts):
        blob = w.cut(blob, size, axis, begin, begin + count, w.top() if i == len(cuts) - 1 else None)


# Pooling.

def caffe_count(size, k, s, p, up):
    count = (size + 2 * p - k + (s - 1 if up else 0)) // s + 1
    return count - 1 if p > 0 and (count - 1) * s >= size + p else count


def inside(begins, k, size):
    """Begin and end of each window, clipped to its map."""
    return np.clip(begins, 0, size), np.clip(begins + k, 0, size)


@reads('MaxPool', 'AveragePool')
def pool(w, node):
    shape, out = w.shape(node.input[0]), w.shape(node.output[0])
    if len(shape) != 4:
        w.refuse('only maps of two axes are pooled')
    kernel, stride = list(w.attribute('kernel_shape')), list(w.attribute('strides') or [1, 1])
    if any(d != 1 for d in w.attribute('dilations') or []):
        w.refuse('its windows have gaps (dilations)')
    if len([name for name in node.output if name in w.graph.users]) > 1:
        w.refuse('its places are read')
    before, _ = pads_of(w, node, shape[2:], kernel, stride, [1, 1])
    mean = node.op_type == 'AveragePool'
    chosen = pad_and_rounding(shape[2:], out[2:], kernel, stride, before)
    if chosen is None:
        w.refuse('no padding of Caffe gives the same windows')
    pads, up = chosen
    factors = []
    for axis in (0, 1):
        begins = np.arange(out[axis + 2]) * stride[axis] - before[axis]
        own = np.minimum(begins + kernel[axis], shape[axis + 2] + pads[axis]) - begins  # Caffe's divisor
        begin, end = inside(begins, kernel[axis], shape[axis + 2])
        factors.append(own / (np.full(own.shape, kernel[axis]) if w.attribute('count_include_pad', 0) else end - begin))
    factor = np.multiply.outer(*factors)
    exact = not mean or np.all(factor == 1)
    top = w.top() if exact else w.between()
    param = w.layer('Pooling', [w.blob(node.input[0])], [top]).pooling_param
    param.pool = param.AVE if mean else param.MAX
    if not up:
        param.round_mode = param.FLOOR
    for values, default, name in ((kernel, None, 'kernel'), (stride, 1, 'stride'), (pads, 0, 'pad')):
        if values[0] != values[1]:
            setattr(param, f'{name}_h', values[0])
            setattr(param, f'{name}_w', values[1])
        elif values[0] != default:
            setattr(param, 'kernel_size' if name == 'kernel' else name, values[0])
    if not exact:
        w.times(top, factor, 2, w.top())


def pad_and_rounding(sizes, counts, kernel, stride, before):
    """The padding, and whether to round up, with which Caffe's windows have the same places; None if there is none."""
    for up in (True, False):
        pads = []
        for size, count, k, s, b in zip(sizes, counts, kernel, stride, before):
            theirs = inside(np.arange(count) * s - b, k, size)
            if caffe_count(size, k, s, b, up) == count and b < k and all(theirs[0] < theirs[1]):
                pads.append(b)
        if len(pads) == len(sizes):
            return pads, up
    return None


@reads('GlobalAveragePool', 'GlobalMaxPool')
def global_pool(w, node):
    if len(w.shape(node.input[0])) != 4:
        w.refuse('only maps of two axes are pooled')
    param = w.layer('Pooling', [w.blob(node.input[0])], [w.top()]).pooling_param
    param.global_pooling, param.pool = True, param.AVE if node.op_type == 'GlobalAveragePool' else param.MAX


@reads('MaxRoiPool')
def roi_pool(w, node):
    param = w.layer('ROIPooling', [w.blob(name) for name in node.input], [w.top()]).roi_pooling_param
    param.pooled_h, param.pooled_w = w.attribute('pooled_shape')
    param.spatial_scale = w.attribute('spatial_scale', 1.0)


# Resizing.

@reads('Resize', 'Upsample')
def resize(w, node):
    shape, out = w.shape(node.input[0]), w.shape(node.output[0])
    if len(shape) != 4 or shape[:2] != out[:2]:
        w.refuse('only the two axes of maps can change')
    older = node.op_type == 'Upsample' or w.graph.opset < 11
    where = 'asymmetric' if older else w.attribute('coordinate_transformation_mode', 'half_pixel')
    mode = w.attribute('mode', 'nearest')
    if mode not in ('nearest', 'linear') or w.attribute('antialias', 0):
        w.refuse(f'mode {mode} is not known')
    x = w.blob(node.input[0])
    scales = w.given('scales', 1 if older else 2)
    ratios = [scales[axis] if scales else out[axis] / shape[axis] for axis in (2, 3)]
    matrices = [weights_of(w, mode, where, shape[axis], out[axis], ratio) for axis, ratio in zip((2, 3), ratios)]
    factor = out[2] // shape[2]
    repeated = [np.repeat(np.eye(size), factor, axis=0) for size in shape[2:]]
    if all(np.array_equal(*each) for each in zip(matrices, repeated)):
        w.layer('Upsample', [x], [w.top()]).upsample_param.scale = factor
    elif mode == 'linear' and where == 'align_corners':
        param = w.layer('Interp', [x], [w.top()]).interp_param
        param.height, param.width = out[2:]
    else:  # a matrix product with constant weights for each axis
        for last, matrix in ((False, matrices[1]), (True, matrices[0])):
            y = w.between()
            param = w.layer('InnerProduct', [x], [y], [matrix], frozen=True).inner_product_param
            param.num_output, param.axis, param.bias_term = len(matrix), 3, False
            x = w.permute(y, [0, 1, 3, 2], w.top() if last else None)


def weights_of(w, mode, where, size, count, ratio):
    """[count, size]: the weight of each old place in each new one."""
    places = np.arange(count)
    if where == 'align_corners':
        at = places * ((size - 1) / (count - 1)) if count > 1 else 0.0 * places
    elif where == 'asymmetric':
        at = places / ratio
    elif where in ('half_pixel', 'pytorch_half_pixel'):
        at = (places + 0.5) / ratio - 0.5 if count > 1 or where == 'half_pixel' else 0.0 * places
    else:
        w.refuse(f'coordinate_transformation_mode {where} is not known')
    matrix = np.zeros((count, size))
    if mode == 'linear':
        at = np.clip(at, 0, size - 1)
        low = np.floor(at).astype(int)
        matrix[places, low] += 1 - (at - low)
        matrix[places, np.minimum(low + 1, size - 1)] += at - low
        return matrix
    how = w.attribute('nearest_mode', 'round_prefer_floor') if w.graph.opset >= 11 else 'floor'
    nearest = {'round_prefer_floor': np.ceil(at - 0.5), 'round_prefer_ceil': np.floor(at + 0.5), 'floor': np.floor(at),
               'ceil': np.ceil(at)}[how]
    matrix[places, np.clip(nearest, 0, size - 1).astype(int)] = 1
    return matrix
