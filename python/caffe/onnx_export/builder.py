"""Builds an ONNX graph: nodes, initializers and unique names."""

import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .._caffe import layrub_version

# The version of the operators from which on the axes of reductions are an input; those of ReduceSum always are.
AXES_AS_INPUT = 18
LARGEST = 2**31 - 2**20  # bytes of a file of protobuf, with space left for names


class Value:
    """A value of the graph: its name in ONNX, and its shape for the batch of the net. `varying`: axes whose sizes
    depend on values."""

    def __init__(self, name, shape, varying=()):
        self.name, self.shape, self.varying = name, tuple(shape), frozenset(varying)

    @property
    def rank(self):
        return len(self.shape)


class Builder:
    """Collects the nodes and constants of a graph. Functions take and return names of values; a value without a given
    name gets one from the current layer: "pool1:2"."""

    def __init__(self, opset, dynamic_batch):
        self.opset, self.dynamic_batch = opset, dynamic_batch
        self.nodes, self.initializers = [], []
        self.prefix = ''  # the current layer
        self._taken = set()
        self._constants = {}

    def fresh(self, hint=''):
        name, number = f'{self.prefix}:{hint}' if hint else self.prefix + ':0', 0
        while name in self._taken:
            number += 1
            name = f'{self.prefix}:{hint}{number}'
        self._taken.add(name)
        return name

    def take(self, name):
        """Reserves `name`."""
        self._taken.add(name)

    def node(self, op, inputs, output=None, outputs=1, **attributes):
        """Adds a node. Returns the name of its output, or a list of names if there are several `outputs`."""
        names = [output] if output else [self.fresh() for _ in range(outputs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, list(inputs), names, name=self.fresh(op), **attributes))
        return names[0] if len(names) == 1 else names

    def keep_needed_for(self, outputs):
        """Drops nodes and constants that these values do not need."""
        wanted, kept = set(outputs), []
        for node in reversed(self.nodes):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                kept.append(node)
        self.nodes = kept[::-1]
        self.initializers = [each for each in self.initializers if each.name in wanted]

    def constant(self, array, hint='', dtype=np.float32):
        """Adds an initializer. Equal small ones are shared."""
        array = np.array(array, dtype=dtype, order='C')
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= 16 else None
        if key in self._constants:
            return self._constants[key]
        name = self.fresh(hint or 'constant')
        self.initializers.append(numpy_helper.from_array(array, name))
        if key is not None:
            self._constants[key] = name
        return name

    def ints(self, values):
        return self.constant(np.array(values, np.int64), dtype=np.int64)

    # Operators that differ between versions, or that need constants.

    def reduce(self, op, x, axes, keepdims=1, output=None):
        if op == 'ReduceSum' or self.opset >= AXES_AS_INPUT:
            return self.node(op, [x, self.ints(axes)], output, keepdims=keepdims)
        return self.node(op, [x], output, axes=list(axes), keepdims=keepdims)

    def reshape(self, x, shape, output=None):
        """Reshapes x. 0 copies a dimension of x; one -1 is computed from the others."""
        return self.node('Reshape', [x, self.ints(shape)], output)

    def binary(self, op, x, number, output=None):
        """x op a number or an array of numbers."""
        return self.node(op, [x, self.constant(np.asarray(number, np.float32))], output)

    def cut(self, x, axis, begin, end, output=None):
        return self.node('Slice', [x, self.ints([begin]), self.ints([end]), self.ints([axis])], output)

    def pad(self, x, pads, value=0.0, output=None):
        """`pads`: for each axis the padding before, then for each axis the padding after."""
        return self.node('Pad', [x, self.ints(pads), self.constant(np.float32(value))], output, mode='constant')

    def sizes(self, x, shape):
        """`shape` as a value; with a symbolic batch its first dimension is that of x."""
        if not self.dynamic_batch:
            return self.ints(shape)
        batch = self.node('Slice', [self.node('Shape', [x]), self.ints([0]), self.ints([1])])
        return self.node('Concat', [batch, self.ints(shape[1:])], axis=0)


def tensor_info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def make_model(builder, name, inputs, outputs):
    """inputs, outputs: Values."""
    batch = inputs[0].shape[0] if inputs and inputs[0].shape else None

    def info(value):
        shape = [None if axis in value.varying else size for axis, size in enumerate(value.shape)]
        if builder.dynamic_batch and shape:
            shape[0] = 'N' if shape[0] == batch else None
        return tensor_info(value.name, shape)
    graph = helper.make_graph(builder.nodes, name, [info(v) for v in inputs], [info(v) for v in outputs],
                              initializer=builder.initializers)
    model = helper.make_model(graph, producer_name='layrub', producer_version=layrub_version,
                              opset_imports=[helper.make_opsetid('', builder.opset)])
    # The oldest version of the file format that has these operators, so that older programs read it.
    model.ir_version = 7 if builder.opset < 15 else 8 if builder.opset < 19 else 9 if builder.opset < 21 else 10
    return model


def save(model, path, check=True):
    """Replaces `path` once everything is written. Weights beyond 2 GB, which a protobuf file cannot hold, are written
    to PATH.data. check: run onnx's checker if it knows this version; it needs the shapes of all inputs and outputs."""
    folder, name = os.path.split(os.path.abspath(path))
    with tempfile.TemporaryDirectory(dir=folder, prefix='.export') as temporary:
        part = os.path.join(temporary, name)
        if model.ByteSize() < LARGEST:
            onnx.save(model, part)
        else:
            onnx.save(model, part, save_as_external_data=True, all_tensors_to_one_file=True, location=name + '.data')
        if check and model.ir_version <= onnx.IR_VERSION:
            onnx.checker.check_model(part)
        if os.path.exists(part + '.data'):
            os.replace(part + '.data', path + '.data')
        os.replace(part, path)
