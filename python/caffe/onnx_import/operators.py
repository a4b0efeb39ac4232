"""Operators that change values one by one, products, normalizations and reductions."""

import numpy as np

from .writer import LARGEST, reads


def run_of(small, large):
    """The axes [begin, end) of `large` along which an array of shape `small` is not broadcast; None if they are not
    consecutive."""
    if len(small) > len(large):
        return None
    full = (1,) * (len(large) - len(small)) + tuple(small)
    own = [axis for axis, size in enumerate(full) if size != 1]
    if not own:
        return None
    begin, end = own[0], own[-1] + 1
    return (begin, end) if full[begin:end] == tuple(large[begin:end]) else None


def with_constant(w, operator, name, array, swapped):
    """x operator array, or, swapped, array operator x."""
    x, shape, top = w.blob(name), w.shape(name), w.top()
    if operator == 'Sub':
        array = array if swapped else -array
        if swapped:
            x = w.power(x, scale=-1)
    if operator == 'Div':
        if swapped:
            x = w.power(x, power=-1)
        else:
            array = 1 / array
    kind = {'Add': 'Bias', 'Sub': 'Bias', 'Mul': 'Scale', 'Div': 'Scale'}[operator]
    if array.size == 1:
        value = float(array.reshape(-1)[0])
        w.power(x, top, **({'shift': value} if kind == 'Bias' else {'scale': value}))
        return
    if w.shape(w.node.output[0]) != shape:
        w.refuse('a constant that makes its input larger')
    full = (1,) * (len(shape) - array.ndim) + array.shape
    own = [axis for axis, size in enumerate(full) if size != 1]
    begin, end = own[0], own[-1] + 1
    array = np.broadcast_to(array.reshape(full[begin:end]), shape[begin:end])
    param = getattr(w.layer(kind, [x], [top], [array]), f'{kind.lower()}_param')
    param.axis, param.num_axes = begin, end - begin


def swish(w, x, gate):
    """Turns x sigmoid(x) into one layer, if nothing else reads the sigmoid. Returns whether it did."""
    maker = w.made_by.get(gate)
    if (maker is None or maker.type != 'Sigmoid' or list(maker.bottom) != [w.blobs.get(x)] or w.graph.users[gate] > 1):
        return False
    w.net.layer.remove(maker)
    del w.blobs[gate]
    w.layer('Swish', [w.blob(x)], [w.top()])
    return True


@reads('Add', 'Sub', 'Mul', 'Div')
def arithmetic(w, node):
    operator, (a, b) = node.op_type, node.input
    if operator == 'Mul' and (swish(w, a, b) or swish(w, b, a)):
        return
    for name, other, swapped in ((a, b, True), (b, a, False)):
        if w.constant(name) is not None:
            with_constant(w, operator, other, w.constant(name).astype(np.float32), swapped)
            return
    shape = w.shape(node.output[0])
    large, small = (a, b) if w.shape(a) == shape else (b, a)
    run = run_of(w.shape(small), shape)
    if w.shape(large) != shape or w.shape(small) == shape or run is None:
        blobs = [w.tile(w.blob(name), w.shape(name), shape) for name in (a, b)]
        if operator == 'Div':
            blobs[1] = w.power(blobs[1], power=-1)
        param = w.layer('Eltwise', blobs, [w.top()]).eltwise_param
        if operator in ('Mul', 'Div'):
            param.operation = param.PROD
        elif operator == 'Sub':
            param.coeff.extend([1, -1])
        return
    begin, end = run
    blobs = {name: w.blob(name) for name in (a, b)}
    if operator in ('Sub', 'Div'):
        blobs[b] = w.power(blobs[b], **({'scale': -1} if operator == 'Sub' else {'power': -1}))
    thin = w.reshape(blobs[small], w.shape(small), shape[begin:end])
    kind = 'Scale' if operator in ('Mul', 'Div') else 'Bias'
    getattr(w.layer(kind, [blobs[large], thin], [w.top()]), f'{kind.lower()}_param').axis = begin


@reads('Sum', 'Mean', 'Max')
def several(w, node):
    constants = [name for name in node.input if w.constant(name) is not None]
    if node.op_type == 'Max' and len(node.input) == 2 and len(constants) == 1:
        other = node.input[1 - list(node.input).index(constants[0])]
        w.clip(w.blob(other), w.number(constants[0]), LARGEST, w.top())
        return
    if any(w.shape(name) != w.shape(node.output[0]) for name in node.input):
        w.refuse('its inputs have different shapes')
    if len(node.input) == 1:
        w.same(node.input[0])
        return
    param = w.layer('Eltwise', [w.blob(name) for name in node.input], [w.top()]).eltwise_param
    if node.op_type == 'Max':
        param.operation = param.MAX
    if node.op_type == 'Mean':
        param.coeff.extend([1 / len(node.input)] * len(node.input))


@reads('Min')
def least(w, node):
    if len(node.input) != 2:
        w.refuse('only the smaller of a value and a constant number is known')
    number = 0 if w.constant(node.input[0]) is not None else 1
    w.clip(w.blob(node.input[1 - number]), -LARGEST, w.number(node.input[number]), w.top())


@reads('Relu', 'Sigmoid', 'Tanh', 'Softplus', 'Abs')
def plain(w, node):
    kind = {'Relu': 'ReLU', 'Tanh': 'TanH', 'Softplus': 'BNLL', 'Abs': 'AbsVal'}.get(node.op_type, node.op_type)
    w.layer(kind, [w.blob(node.input[0])], [w.top()])


@reads('LeakyRelu')
def leaky(w, node):
    w.layer('ReLU', [w.blob(node.input[0])], [w.top()]).relu_param.negative_slope = w.attribute('alpha', 0.01)


@reads('PRelu')
def prelu(w, node):
    slope = w.constant(node.input[1])
    if slope is None:
        w.refuse('its slope is no constant')
    channels = w.shape(node.input[0])[1]
    if slope.size not in (1, channels) or (slope.size > 1 and run_of(slope.shape, w.shape(node.input[0])) != (1, 2)):
        w.refuse('its slope is neither one number nor one for each channel')
    layer = w.layer('PReLU', [w.blob(node.input[0])], [w.top()], [slope.reshape([-1] if slope.size > 1 else [])])
    layer.prelu_param.channel_shared = slope.size == 1


@reads('Elu', 'Selu', 'Celu')
def elu(w, node):
    alpha = w.attribute('alpha', 1.6732632423543772 if node.op_type == 'Selu' else 1.0)
    scale = w.attribute('gamma', 1.0507009873554805) if node.op_type == 'Selu' else 1.0
    x = w.blob(node.input[0])
    if node.op_type == 'Celu':
        x, scale, alpha = w.power(x, scale=1 / alpha), alpha, 1.0
    top = w.top() if scale == 1 else w.between()
    w.layer('ELU', [x], [top]).elu_param.alpha = alpha
    if scale != 1:
        w.power(top, w.top(), scale=scale)


@reads('HardSigmoid', 'HardSwish')
def hard_sigmoid(w, node):
    x = w.blob(node.input[0])
    swish = node.op_type == 'HardSwish'
    alpha, beta = (1 / 6, 0.5) if swish else (w.attribute('alpha', 0.2), w.attribute('beta', 0.5))
    gate = w.clip(w.power(x, scale=alpha, shift=beta), 0, 1, None if swish else w.top())
    if swish:
        param = w.layer('Eltwise', [x, gate], [w.top()]).eltwise_param
        param.operation = param.PROD


@reads('Clip')
def clip(w, node):
    inputs = list(node.input) + ['', '']
    least = w.attribute('min', w.number(inputs[1], -LARGEST))
    most = w.attribute('max', w.number(inputs[2], LARGEST))
    w.clip(w.blob(node.input[0]), least, most, w.top())


@reads('Neg', 'Reciprocal', 'Sqrt')
def one_power(w, node):
    w.power(w.blob(node.input[0]), w.top(), **{'Neg': {'scale': -1}, 'Reciprocal': {'power': -1},
                                               'Sqrt': {'power': 0.5}}[node.op_type])


@reads('Pow')
def power(w, node):
    w.power(w.blob(node.input[0]), w.top(), power=w.number(node.input[1]))


@reads('Exp', 'Log')
def exp(w, node):
    w.layer(node.op_type, [w.blob(node.input[0])], [w.top()])


@reads('Identity', 'Cast')
def identity(w, node):
    w.same(node.input[0])


@reads('Dropout')
def dropout(w, node):
    ratio = w.attribute('ratio', w.number(list(node.input + ['', ''])[1], 0.5) if len(node.input) > 1 else 0.5)
    w.layer('Dropout', [w.blob(node.input[0])], [w.top()]).dropout_param.dropout_ratio = ratio


@reads('Softmax', 'LogSoftmax')
def softmax(w, node):
    shape = w.shape(node.input[0])
    axis = w.axis(w.attribute('axis', -1 if w.graph.opset >= 13 else 1), len(shape))
    if w.graph.opset < 13 and any(size != 1 for size in shape[axis + 1:]):
        w.refuse('it is over several axes together')
    top = w.top() if node.op_type == 'Softmax' else w.between()
    w.layer('Softmax', [w.blob(node.input[0])], [top]).softmax_param.axis = axis
    if node.op_type == 'LogSoftmax':
        w.layer('Log', [top], [w.top()])


@reads('ArgMax')
def arg_max(w, node):
    shape = w.shape(node.input[0])
    if w.attribute('select_last_index', 0):
        w.refuse('the last of equal values (select_last_index)')
    axis = w.axis(w.attribute('axis', 0), len(shape))
    keep = w.attribute('keepdims', 1)
    top = w.top() if keep else w.between()
    w.layer('ArgMax', [w.blob(node.input[0])], [top]).argmax_param.axis = axis
    if not keep:
        w.reshape(top, [1 if i == axis else size for i, size in enumerate(shape)], w.shape(node.output[0]), w.top())


@reads('Greater', 'Less')
def greater(w, node):
    x, number = (1, 0) if w.constant(node.input[0]) is not None else (0, 1)
    below = (node.op_type == 'Less') != (number == 0)  # whether the result is 1 for smaller values
    blob, threshold = w.blob(node.input[x]), w.number(node.input[number])
    if below:
        blob, threshold = w.power(blob, scale=-1), -threshold
    w.layer('Threshold', [blob], [w.top()]).threshold_param.threshold = threshold


# Products.

@reads('Gemm', 'MatMul')
def product(w, node):
    weights = w.constant(node.input[1])
    if weights is None or weights.ndim != 2:
        w.refuse('its second input is no constant matrix')
    bias, scale = None, 1.0
    x, shape = w.blob(node.input[0]), w.shape(node.input[0])
    if node.op_type == 'Gemm':
        if w.attribute('transA', 0):
            w.refuse('its first input is transposed')
        scale = w.attribute('alpha', 1.0)
        if not w.attribute('transB', 0):
            weights = weights.T
        if len(node.input) > 2 and node.input[2]:
            bias = w.constant(node.input[2])
            if bias is None or bias.size not in (1, weights.shape[0]):
                w.refuse('what it adds is neither one constant number nor one for each output')
            bias = np.broadcast_to(bias.reshape(-1) * w.attribute('beta', 1.0), [weights.shape[0]])
    else:
        weights = weights.T
    param = w.layer('InnerProduct', [x], [w.top()], [weights * np.float32(scale)] + ([] if bias is None else [bias])
                    ).inner_product_param
    param.num_output, param.axis, param.bias_term = weights.shape[0], len(shape) - 1, bias is not None


@reads('Gather')
def gather(w, node):
    axis, table = w.attribute('axis', 0), w.constant(node.input[0])
    places = w.constant(node.input[1])
    if table is not None and table.ndim == 2 and axis == 0 and places is None:
        param = w.layer('Embed', [w.blob(node.input[1])], [w.top()], [table]).embed_param
        param.input_dim, param.num_output, param.bias_term = table.shape[0], table.shape[1], False
        return
    if places is None or places.size != 1:
        w.refuse('only one constant place, or rows of a constant table, can be taken')
    shape = w.shape(node.input[0])
    axis = w.axis(axis, len(shape))
    place = w.axis(int(places.reshape(-1)[0]), shape[axis])
    one = w.cut(w.blob(node.input[0]), shape[axis], axis, place, place + 1)
    w.reshape(one, shape[:axis] + (1,) + shape[axis + 1:], w.shape(node.output[0]), w.top())


# Normalizations.

@reads('BatchNormalization')
def batch_norm(w, node):
    scale, bias, mean, variance = (w.constant(name) for name in node.input[1:5])
    if any(array is None for array in (scale, bias, mean, variance)):
        w.refuse('its statistics are no constants')
    if w.attribute('training_mode', 0):
        w.refuse('it is in training mode')
    top = w.top()
    w.layer('BatchNorm', [w.blob(node.input[0])], [top], [mean, variance, [1]]).batch_norm_param.eps = w.attribute('epsilon', 1e-5)
    w.layer('Scale', [top], [top], [scale, bias]).scale_param.bias_term = True


@reads('InstanceNormalization')
def instance_norm(w, node):
    """Treats the channels of all items as channels of one item and normalizes by its statistics."""
    scale, bias = (w.constant(name) for name in node.input[1:3])
    if scale is None or bias is None:
        w.refuse('its scale is no constant')
    shape = w.shape(node.input[0])
    together = (1, shape[0] * shape[1]) + shape[2:]
    x = w.between()
    dims = w.layer('Reshape', [w.blob(node.input[0])], [x]).reshape_param.shape.dim
    dims.extend((1, -1) + shape[2:])
    y = w.between()
    param = w.layer('BatchNorm', [x], [y], [np.zeros(together[1]), np.ones(together[1]), [1]]).batch_norm_param
    param.eps, param.use_global_stats = w.attribute('epsilon', 1e-5), False
    back = w.between()
    w.layer('Reshape', [y], [back]).reshape_param.shape.dim.extend((-1,) + shape[1:])
    w.layer('Scale', [back], [w.top()], [scale, bias]).scale_param.bias_term = True


@reads('LRN')
def lrn(w, node):
    param = w.layer('LRN', [w.blob(node.input[0])], [w.top()]).lrn_param
    param.local_size, param.alpha = w.attribute('size'), w.attribute('alpha', 1e-4)
    param.beta, param.k = w.attribute('beta', 0.75), w.attribute('bias', 1.0)


# Reductions.

@reads('ReduceSum', 'ReduceMean', 'ReduceL1', 'ReduceL2', 'ReduceSumSquare', 'ReduceMax')
def reduction(w, node):
    shape, out = w.shape(node.input[0]), w.shape(node.output[0])
    axes = w.given('axes', 1)
    if axes is None:
        if w.attribute('noop_with_empty_axes', 0):
            w.same(node.input[0])
            return
        axes = range(len(shape))
    axes = sorted(w.axis(axis, len(shape)) for axis in axes)
    x = w.blob(node.input[0])
    if axes == [2, 3] and len(shape) == 4 and node.op_type in ('ReduceMean', 'ReduceMax'):
        pooled = shape[:2] + (1, 1)
        top = w.top() if out == pooled else w.between()
        param = w.layer('Pooling', [x], [top]).pooling_param
        param.global_pooling, param.pool = True, param.AVE if node.op_type == 'ReduceMean' else param.MAX
        if out != pooled:
            w.reshape(top, pooled, out, w.top())
        return
    if node.op_type == 'ReduceMax':
        w.refuse('only the maximum of a map is known')
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    x = w.permute(x, rest + axes)
    kept = tuple(shape[axis] for axis in rest)
    root = node.op_type == 'ReduceL2'
    top = w.top() if kept == out and not root else w.between()
    param = w.layer('Reduction', [x], [top]).reduction_param
    param.axis = len(rest)
    param.operation = getattr(param, {'ReduceSum': 'SUM', 'ReduceMean': 'MEAN', 'ReduceL1': 'ASUM'}.get(node.op_type, 'SUMSQ'))
    if root:
        y = top
        top = w.power(y, w.top() if kept == out else None, power=0.5)
    if kept != out:
        w.reshape(top, kept, out, w.top())
