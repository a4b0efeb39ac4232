"""Reads an ONNX file: nodes in order, constants, and the shape of every value."""

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from ..onnx_export.layer import Refusal

SMALL = 1024  # most values of an initializer that shape inference may need


class Graph:
    """A graph whose shapes are all known, without the nodes that compute shapes or other constants.

    nodes: the remaining nodes, each needed for an output. constants: name -> array. shapes: name -> tuple. inputs,
    outputs: names. users: name -> how many nodes or outputs read it."""

    def __init__(self, path, batch, shapes):
        self.path = path
        try:
            self.model = onnx.load(path)
        except OSError as error:
            raise Refusal(f'{path}: {error.strerror or error}') from error
        except Exception as error:
            raise Refusal(f'{path} is not an ONNX file ({error})') from error
        graph = self.model.graph
        if not graph.node:
            raise Refusal(f'{path} is not an ONNX file, or has no nodes')
        self.name = graph.name
        self.opset = max([each.version for each in self.model.opset_import if each.domain in ('', 'ai.onnx')], default=1)
        self.constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self.inputs = [each.name for each in graph.input if each.name not in self.constants]
        self.outputs = [each.name for each in graph.output]
        self.types = {each.name: each.type.tensor_type.elem_type for each in graph.input}
        unknown = set(shapes) - {'', *self.inputs}
        if unknown:
            raise Refusal(f'{path} has no input {sorted(unknown)[0]}; it has {", ".join(self.inputs)}')
        self.shapes = {each.name: fixed_shape(path, each, batch, shapes) for each in graph.input
                       if each.name in self.inputs}
        self.nodes = list(graph.node)
        for i, node in enumerate(self.nodes):
            if not node.name:
                node.name = f'{node.op_type}_{i}'
        while self.infer() and self.fold():
            pass
        self.drop_unused()

    def infer(self):
        """Fills `shapes`. Only the shapes of large constants are used."""
        inputs = [helper.make_tensor_value_info(name, self.types[name], self.shapes[name]) for name in self.inputs]
        initializers = []
        for name, array in self.constants.items():
            if array.size <= SMALL:
                initializers.append(numpy_helper.from_array(array, name))
            else:
                inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype)
                                                            if hasattr(helper, 'np_dtype_to_tensor_dtype')
                                                            else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape))
        outputs = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, 'shapes', inputs, outputs, initializer=initializers)
        model = helper.make_model(graph, opset_imports=self.model.opset_import)
        model.ir_version = self.model.ir_version
        try:
            graph = shape_inference.infer_shapes(model, data_prop=True).graph
        except Exception as error:
            raise Refusal(f'{self.path}: the shapes do not fit each other: {error}') from error
        for each in [*graph.value_info, *graph.output]:
            kind = each.type.tensor_type
            dims = [dim.dim_value if dim.HasField('dim_value') else None for dim in kind.shape.dim]
            if kind.HasField('shape') and None not in dims:
                self.shapes[each.name] = tuple(dims)
        self.shapes.update((name, array.shape) for name, array in self.constants.items())
        return True

    def fold(self):
        """Evaluates nodes whose inputs are constants. Returns whether there were any."""
        left = []
        for node in self.nodes:
            made = constant_outputs(node, self)
            if made is None:
                left.append(node)
            else:
                self.constants.update(zip(node.output, made))
        found = len(left) < len(self.nodes)
        self.nodes = left
        return found

    def drop_unused(self):
        self.users, kept = {}, []
        for name in self.outputs:
            self.users[name] = self.users.get(name, 0) + 1
        for node in reversed(self.nodes):
            if not any(name in self.users for name in node.output):
                continue
            kept.append(node)
            for name in node.input:
                self.users[name] = self.users.get(name, 0) + 1
        self.nodes = kept[::-1]

    def constant(self, name):
        """The array of a constant; None if it is not one."""
        return self.constants.get(name) if name else None

    def shape(self, name):
        if name not in self.shapes:
            raise Refusal(f'the shape of {name} depends on values, or its inputs do not fit each other')
        return self.shapes[name]


def fixed_shape(path, info, batch, shapes):
    """The shape of an input. A dimension that the file leaves open must be the batch or be given."""
    dims = [dim.dim_value if dim.HasField('dim_value') and dim.dim_value > 0 else None
            for dim in info.type.tensor_type.shape.dim]
    if dims and (dims[0] is None or batch):
        dims[0] = batch or 1
    given = shapes.get(info.name, shapes.get('') if None in dims[1:] else None)
    if given is not None:
        dims[1:] = given
    if None in dims:
        raise Refusal(f'{path}: input {info.name} has no fixed shape ({text_of(dims)}); '
                      f'give it as --data_shape={info.name}:{",".join("C" if i == 1 else "N" for i in range(1, len(dims)))}')
    return tuple(dims)


def text_of(dims):
    return ', '.join('?' if dim is None else str(dim) for dim in dims)


def attribute(node, name, default=None):
    for each in node.attribute:
        if each.name == name:
            value = helper.get_attribute_value(each)
            return value.decode() if isinstance(value, bytes) else value
    return default


def constant_outputs(node, graph):
    """The values of a node whose inputs are constants or that computes a shape; None for others."""
    if node.op_type == 'Shape' and node.input[0] in graph.shapes:
        shape = graph.shapes[node.input[0]]
        return [np.array(shape[attribute(node, 'start', 0):attribute(node, 'end', len(shape))], np.int64)]
    inputs = [graph.constant(name) for name in node.input]
    compute = FOLDED.get(node.op_type)
    if node.domain not in ('', 'ai.onnx') or compute is None:
        return None
    if any(value is None and name for value, name in zip(inputs, node.input)):
        return None
    try:
        return [np.asarray(compute(node, *inputs))]
    except (ValueError, IndexError, TypeError):
        return None  # its converter reports the error


def axes_of(node, given, name='axes'):
    return tuple(int(axis) for axis in np.atleast_1d(given)) if given is not None else tuple(attribute(node, name) or ())


def unsqueeze(node, x, axes=None):
    axes = axes_of(node, axes)
    return np.expand_dims(x, tuple(axis + x.ndim + len(axes) if axis < 0 else axis for axis in axes))


def cut(node, x, starts=None, ends=None, axes=None, steps=None):
    starts, ends = axes_of(node, starts, 'starts'), axes_of(node, ends, 'ends')
    axes = axes_of(node, axes) or range(len(starts))
    steps = axes_of(node, steps, 'steps') or [1] * len(starts)
    index = [slice(None)] * x.ndim
    for axis, begin, end, step in zip(axes, starts, ends, steps):
        index[axis] = slice(begin, None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(index)]


def reshaped(node, x, shape):
    shape = [x.shape[i] if size == 0 else int(size) for i, size in enumerate(shape)]
    return x.reshape(shape)


def constant_value(node):
    value = attribute(node, 'value')
    if value is not None:
        return numpy_helper.to_array(value)
    for name, kind in (('value_float', np.float32), ('value_floats', np.float32), ('value_int', np.int64), ('value_ints', np.int64)):
        if attribute(node, name) is not None:
            return np.array(attribute(node, name), kind)
    raise ValueError('no value')


def filled(node, shape):
    value = attribute(node, 'value')
    value = numpy_helper.to_array(value).reshape(-1)[0] if value is not None else np.float32(0)
    return np.full(tuple(int(size) for size in shape), value)


def typed(node, x, *_):
    return x.astype(helper.tensor_dtype_to_np_dtype(attribute(node, 'to')) if hasattr(helper, 'tensor_dtype_to_np_dtype')
                    else onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[attribute(node, 'to')])


def divided(node, a, b):
    return np.trunc(a / b).astype(a.dtype) if np.issubdtype(a.dtype, np.integer) else a / b


FOLDED = {
    'Add': lambda node, a, b: a + b, 'Sub': lambda node, a, b: a - b, 'Mul': lambda node, a, b: a * b, 'Div': divided,
    'Pow': lambda node, a, b: np.power(a, b).astype(a.dtype), 'Neg': lambda node, a: -a, 'Sqrt': lambda node, a: np.sqrt(a),
    'Exp': lambda node, a: np.exp(a), 'Reciprocal': lambda node, a: 1 / a, 'Floor': lambda node, a: np.floor(a),
    'Ceil': lambda node, a: np.ceil(a), 'Identity': lambda node, a: a, 'Cast': typed, 'Constant': constant_value,
    'ConstantOfShape': filled, 'Reshape': reshaped, 'Slice': cut, 'Unsqueeze': unsqueeze,
    'Squeeze': lambda node, x, axes=None: np.squeeze(x, axes_of(node, axes) or None),
    'Concat': lambda node, *all: np.concatenate(all, attribute(node, 'axis')),
    'Gather': lambda node, x, places: np.take(x, places, attribute(node, 'axis', 0)),
    'Transpose': lambda node, x: np.transpose(x, attribute(node, 'perm')),
    'Expand': lambda node, x, shape: x * np.ones(tuple(int(size) for size in shape), x.dtype),
    'Range': lambda node, a, b, step: np.arange(a, b, step).astype(a.dtype),
    'Equal': lambda node, a, b: a == b, 'Where': lambda node, which, a, b: np.where(which, a, b),
    'ReduceProd': lambda node, x, axes=None: np.prod(x, axes_of(node, axes) or None, keepdims=bool(attribute(node, 'keepdims', 1))),
    'Min': lambda node, *all: np.minimum.reduce(all), 'Max': lambda node, *all: np.maximum.reduce(all),
}
