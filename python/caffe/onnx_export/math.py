"""Sums, products and reductions."""

from .layer import converts


@converts('Eltwise')
def eltwise(g, layer):
    param = layer.param.eltwise_param
    names = [bottom.name for bottom in layer.bottoms]
    if param.operation == param.MAX:
        return [g.node('Max', names, layer.y)]
    if param.operation == param.PROD:
        return [chain(g, 'Mul', names, layer.y)]
    if any(c != 1 for c in param.coeff):
        names = [name if c == 1 else g.binary('Mul', name, c) for name, c in zip(names, param.coeff)]
    return [chain(g, 'Add', names, layer.y)]


def chain(g, op, names, output):
    """Applies op from left to right, as Caffe does."""
    result = names[0]
    for i, name in enumerate(names[1:], start=2):
        result = g.node(op, [result, name], output if i == len(names) else None)
    return result


@converts('Axpy')
def axpy(g, layer):
    a, x, y = layer.bottoms
    factor = a.name if a.rank == 4 else g.reshape(a.name, [0, 0, 1, 1])
    return [g.node('Add', [g.node('Mul', [factor, x.name]), y.name], layer.y)]


@converts('Reduction')
def reduction(g, layer):
    param = layer.param.reduction_param
    axes = list(range(layer.axis(param.axis), len(layer.shape)))
    op = 'ReduceMean' if param.operation == param.MEAN else 'ReduceSum'
    x = layer.x
    if param.operation == param.ASUM:  # some runtimes read the axes of an older ReduceL1 wrongly
        x = g.node('Abs', [x])
    if param.operation == param.SUMSQ:
        x = g.node('Mul', [x, x])
    if param.coeff == 1:
        return [g.reduce(op, x, axes, 0, layer.y)]
    return [g.binary('Mul', g.reduce(op, x, axes, 0), param.coeff, layer.y)]


@converts('ArgMax')
def argmax(g, layer):
    param = layer.param.argmax_param
    k = g.ints([param.top_k])
    if param.HasField('axis'):
        axis = layer.axis(param.axis)
        values, places = g.node('TopK', [layer.x, k], outputs=2, axis=axis)
        chosen = values if param.out_max_val else g.node('Cast', [places], to=1)
        return [g.node('Identity', [chosen], layer.y)]
    values, places = g.node('TopK', [g.node('Flatten', [layer.x], axis=1), k], outputs=2, axis=1)
    indices = g.node('Cast', [places], to=1)
    shape = [0, 1, param.top_k] if not param.out_max_val else [0, 2, param.top_k]
    y = indices if not param.out_max_val else g.node('Concat', [indices, values], axis=1)
    return [g.reshape(y, shape + [1] * (len(layer.top_shapes[0]) - 3), layer.y)]
