"""Operators that move values without changing them."""

import numpy as np

from .writer import reads


@reads('Reshape', 'Flatten', 'Squeeze', 'Unsqueeze')
def reshape(w, node):
    old, new = w.shape(node.input[0]), w.shape(node.output[0])
    x, rank = w.blob(node.input[0]), len(old)
    if node.op_type == 'Flatten' and w.axis(w.attribute('axis', 1), rank) == 1 and rank > 1:
        w.layer('Flatten', [x], [w.top()])
        return
    w.reshape(x, old, new, w.top())


@reads('Concat')
def concat(w, node):
    axis = w.axis(w.attribute('axis'), len(w.shape(node.output[0])))
    inputs = [name for name in node.input if 0 not in w.shape(name)]
    if len(inputs) == 1:
        w.same(inputs[0])
        return
    w.layer('Concat', [w.blob(name) for name in inputs], [w.top()]).concat_param.axis = axis


@reads('Split')
def split(w, node):
    shape = w.shape(node.input[0])
    axis = w.axis(w.attribute('axis', 0), len(shape))
    tops = [w.top(i) if name else w.between() for i, name in enumerate(node.output)]
    param = w.layer('Slice', [w.blob(node.input[0])], tops).slice_param
    param.axis = axis
    param.slice_point.extend(np.cumsum([w.shape(name)[axis] for name in node.output])[:-1].tolist())
    unread = [top for top, name in zip(tops, node.output) if name not in w.graph.users]
    if unread:
        w.layer('Silence', unread, [])


@reads('Slice')
def slice_(w, node):
    shape = w.shape(node.input[0])
    begins, ends = w.given('starts', 1), w.given('ends', 2)
    axes = w.given('axes', 3) or range(len(begins))
    blob, cuts, strides = w.blob(node.input[0]), [], {}
    for axis, begin, end, step in zip(axes, begins, ends, w.given('steps', 4) or [1] * len(begins)):
        axis = w.axis(axis, len(shape))
        if step < 1 or (step > 1 and (len(shape) != 4 or axis < 2)):
            w.refuse('it goes backwards, or takes every so many places of what is no map')
        begin, end, _ = slice(begin, end).indices(shape[axis])
        if (begin, end) != (0, shape[axis]):
            cuts.append((axis, begin, end))
        if step > 1:
            strides[axis] = step
    if not cuts and not strides:
        w.same(node.input[0])
    for i, (axis, begin, end) in enumerate(cuts):
        last = i == len(cuts) - 1 and not strides
        blob = w.cut(blob, shape[axis], axis, begin, end, w.top() if last else None)
    if strides:  # windows of one place
        param = w.layer('Pooling', [blob], [w.top()]).pooling_param
        param.kernel_size, param.round_mode = 1, param.FLOOR
        param.stride_h, param.stride_w = strides.get(2, 1), strides.get(3, 1)


@reads('Transpose')
def transpose(w, node):
    rank = len(w.shape(node.input[0]))
    w.permute(w.blob(node.input[0]), list(w.attribute('perm') or range(rank)[::-1]), w.top())


@reads('Tile', 'Expand')
def tile(w, node):
    w.tile(w.blob(node.input[0]), w.shape(node.input[0]), w.shape(node.output[0]), w.top())


@reads('DepthToSpace', 'SpaceToDepth')
def depth_to_space(w, node):
    n, c, h, width = w.shape(node.input[0])
    s = w.attribute('blocksize')
    if node.op_type == 'SpaceToDepth':
        first, order = (n, c, h // s, s, width // s, s), [0, 3, 5, 1, 2, 4]
    elif w.attribute('mode', 'DCR') == 'DCR':
        first, order = (n, s, s, c // (s * s), h, width), [0, 3, 4, 1, 5, 2]
    else:
        first, order = (n, c // (s * s), s, s, h, width), [0, 1, 4, 2, 5, 3]
    split = w.reshape(w.blob(node.input[0]), (n, c, h, width), first)
    turned = w.permute(split, order)
    w.reshape(turned, [first[i] for i in order], w.shape(node.output[0]), w.top())
