"""Collects the layers that an ONNX graph becomes."""

import numpy as np

from ..onnx_export.layer import Refusal
from ..proto import caffe_pb2
from .graph import attribute

READERS = {}  # operator -> function(writer, node)
LARGEST = float(np.finfo(np.float32).max)


def reads(*operators):
    """Decorates a function that turns nodes of these operators into layers."""
    def register(function):
        for operator in operators:
            READERS[operator] = function
        return function
    return register


def packed_floats(field, array):
    """The serialized form of a repeated field of floats. Much faster than adding element by element."""
    head, size = bytearray([field << 3 | 2]), array.size * 4
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return bytes(head) + array.astype('<f4').tobytes()


class Writer:
    """Collects layers. Values of the graph keep their names as blobs."""

    def __init__(self, graph):
        self.graph = graph
        self.net = caffe_pb2.NetParameter(name=graph.name)
        self.blobs = {}  # value of the graph -> blob that holds it
        self.made_by = {}  # blob -> the last layer that writes it
        # value -> (value before, pads of its spatial axes), for a Pad that becomes padding of a convolution
        self.padding = {}
        self.node = None  # the current node
        self._layer_names, self._blob_names = set(), set(graph.shapes)
        for name in graph.inputs:
            if name in graph.users:
                self.blobs[name] = name
                shape = self.layer('Input', [], [name], name=name).input_param.shape.add()
                shape.dim.extend(graph.shapes[name])

    def shape(self, name):
        return self.graph.shape(name)

    def constant(self, name):
        return self.graph.constant(name)

    def number(self, name, default=None):
        """The only value of a constant, as a float; `default` for an omitted input."""
        if not name:
            return default
        array = self.constant(name)
        if array is None or array.size != 1:
            self.refuse(f'{name} is not one constant number')
        return float(array.reshape(-1)[0])

    def attribute(self, name, default=None):
        return attribute(self.node, name, default)

    def given(self, name, index):
        """Numbers that are an attribute in older versions of an operator and the input `index` in newer ones; None if
        there are none."""
        values = self.attribute(name)
        if values is not None:
            return list(np.atleast_1d(values))
        if len(self.node.input) <= index or not self.node.input[index]:
            return None
        array = self.constant(self.node.input[index])
        if array is None:
            self.refuse(f'{name} is no constant')
        return array.reshape(-1).tolist()

    def axis(self, axis, rank):
        return axis + rank if axis < 0 else axis

    def refuse(self, why):
        raise Refusal(why)

    def fresh(self, hint):
        """A new name for a blob between two layers."""
        name, number = hint, 0
        while name in self._blob_names:
            number += 1
            name = f'{hint}{number}'
        self._blob_names.add(name)
        return name

    def between(self):
        return self.fresh(f'{self.node.output[0]}/')

    def blob(self, name):
        """The blob that holds a value; for a constant, the top of a Parameter layer."""
        if name not in self.blobs:
            array = self.constant(name)
            if array is None:
                self.refuse(f'{name} is not there')  # the node that computes it has been refused
            layer = self.layer('Parameter', [], [name], [array], name=name, frozen=True)
            layer.parameter_param.shape.dim.extend(array.shape)
            self.blobs[name] = name
        return self.blobs[name]

    def layer(self, kind, bottoms, tops, blobs=(), name=None, frozen=False):
        """Adds a layer whose bottoms and tops are blobs. frozen: training does not change its blobs."""
        base = name or self.node.name
        if name is None and base in self._layer_names:
            base = f'{base}/{kind.lower()}'
        name, number = base, 0
        while name in self._layer_names:
            number += 1
            name = f'{base}{number}'
        self._layer_names.add(name)
        layer = self.net.layer.add(name=name, type=kind, bottom=bottoms, top=tops)
        self.made_by.update((top, layer) for top in tops)
        for array in blobs:
            array = np.asarray(array, np.float32)
            blob = layer.blobs.add()
            blob.shape.dim.extend(array.shape)
            blob.MergeFromString(packed_floats(caffe_pb2.BlobProto.DATA_FIELD_NUMBER, array))
            if frozen:
                layer.param.add(lr_mult=0, decay_mult=0)
        return layer

    def top(self, i=0):
        """The blob of the node's output i."""
        name = self.node.output[i]
        self.blobs[name] = name
        return name

    def same(self, name):
        """Makes the node's output the value `name`."""
        self.blobs[self.node.output[0]] = self.blob(name)

    # Layers that several operators need. Each takes its bottom, and its top, which is a new blob if `top` is None.

    def power(self, bottom, top=None, power=1.0, scale=1.0, shift=0.0):
        top = top or self.between()
        param = self.layer('Power', [bottom], [top]).power_param
        for field, value, default in (('power', power, 1), ('scale', scale, 1), ('shift', shift, 0)):
            if value != default:
                setattr(param, field, value)
        return top

    def reshape(self, bottom, old, new, top=None):
        """Reshapes from `old` to `new`, keeping the batch."""
        if tuple(old) == tuple(new) and top is None:
            return bottom
        top = top or self.between()
        shape = self.layer('Reshape', [bottom], [top]).reshape_param.shape
        dims = list(new)
        if old and new and old[0] == new[0]:
            dims[0] = 0
        elif old and new and (new[0] % old[0] == 0 or old[0] % new[0] == 0):
            dims[0] = -1  # the batch is joined with other axes
        shape.dim.extend(dims)
        shape.SetInParent()
        return top

    def permute(self, bottom, order, top=None):
        if list(order) == sorted(order) and top is None:
            return bottom
        top = top or self.between()
        self.layer('Permute', [bottom], [top]).permute_param.order.extend(order)
        return top

    def cut(self, bottom, size, axis, begin, end, top=None):
        """Places [begin, end) of an axis of `size` places."""
        if (begin, end) == (0, size) and top is None:
            return bottom
        top = top or self.between()
        points = [point for point in (begin, end) if 0 < point < size]
        tops = [self.between() for _ in range(len(points) + 1)]
        tops[1 if begin > 0 else 0] = top
        if not points:
            self.layer('Split', [bottom], [top])
            return top
        param = self.layer('Slice', [bottom], tops).slice_param
        param.axis = axis
        param.slice_point.extend(points)
        self.layer('Silence', [blob for blob in tops if blob != top], [])
        return top

    def tile(self, bottom, old, new, top=None):
        """Broadcasts from the shape `old` to `new`."""
        full = (1,) * (len(new) - len(old)) + tuple(old)
        axes = [axis for axis in range(len(new)) if full[axis] != new[axis]]
        bottom = self.reshape(bottom, old, full, None if axes else top)
        for axis in axes:
            next_top = (top if axis == axes[-1] else None) or self.between()
            param = self.layer('Tile', [bottom], [next_top]).tile_param
            param.axis, param.tiles = axis, new[axis] // full[axis]
            bottom = next_top
        return bottom

    def clip(self, bottom, least, most, top=None):
        top = top or self.between()
        if least == 0 and most >= LARGEST:
            self.layer('ReLU', [bottom], [top])
        elif (least, most) == (0, 6):
            self.layer('ReLU6', [bottom], [top])
        else:
            param = self.layer('Clip', [bottom], [top]).clip_param
            param.min, param.max = max(least, -LARGEST), min(most, LARGEST)
        return top

    def times(self, bottom, factor, axis, top=None):
        """Multiplies by a constant array (a Scale) whose first axis is `axis` of the bottom."""
        top = top or self.between()
        param = self.layer('Scale', [bottom], [top], [factor], frozen=True).scale_param
        param.axis, param.num_axes = axis, np.ndim(factor)
        return top
