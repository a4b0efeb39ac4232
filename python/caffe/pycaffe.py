"""Adds Python methods to the library's nets and solvers: blobs by name, and passes over arrays."""
from collections import OrderedDict

import numpy as np

from ._caffe import (AdaDeltaSolver, AdaGradSolver, AdamSolver, Net, NesterovSolver, RMSPropSolver, SGDSolver,
                     Solver)
from .plans import plan_of


def _method(*classes):
    """Decorator: adds a function as a method to classes of the library."""
    def add(function):
        for each in classes:
            setattr(each, function.__name__, function)
        return function
    return add


def _lasting(function):
    """Decorator: makes a function a property of Net that is computed once, because the connections of a net never
    change."""
    key = '_lasting_' + function.__name__

    def value(self):
        if key not in self.__dict__:
            setattr(self, key, function(self))
        return self.__dict__[key]
    setattr(Net, function.__name__, property(value, doc=function.__doc__))


@_lasting
def blobs(self):
    """The blobs by name, in the order in which layers make them."""
    return OrderedDict(zip(self._blob_names, self._blobs))


@_lasting
def blob_loss_weights(self):
    """The loss weight of each blob, by name."""
    return OrderedDict(zip(self._blob_names, self._blob_loss_weights))


@_lasting
def layer_dict(self):
    """The layers by name."""
    return OrderedDict(zip(self._layer_names, self.layers))


@_lasting
def params(self):
    """For each layer with parameters, its blobs: weights, then biases."""
    return OrderedDict((name, layer.blobs) for name, layer in self.layer_dict.items() if len(layer.blobs) > 0)


@_lasting
def inputs(self):
    """The names of the inputs."""
    return [self._blob_names[i] for i in self._inputs]


@_lasting
def outputs(self):
    """The names of the blobs that no layer reads."""
    return [self._blob_names[i] for i in self._outputs]


@_lasting
def top_names(self):
    """For each layer, the names of its tops."""
    return OrderedDict((name, [self._blob_names[i] for i in self._top_ids(number)])
                       for number, name in enumerate(self._layer_names))


@_lasting
def bottom_names(self):
    """For each layer, the names of its bottoms."""
    return OrderedDict((name, [self._blob_names[i] for i in self._bottom_ids(number)])
                       for number, name in enumerate(self._layer_names))


def _layer_number(net, name):
    try:
        return list(net._layer_names).index(name)
    except ValueError:
        raise KeyError(f"net '{net.name}' has no layer '{name}'") from None


def _fill(net, names, arrays, side):
    """Copies an array for each of `names` into data or diff of the blob."""
    if set(arrays) != set(names):
        raise ValueError(f'arrays are needed for {", ".join(sorted(names)) or "no blob"}, '
                         f'and there are some for {", ".join(sorted(arrays))}')
    for name, values in arrays.items():
        values, shape = np.asarray(values), net.blobs[name].shape
        if values.shape[:1] != shape[:1]:
            raise ValueError(f"blob '{name}' is {' x '.join(map(str, shape))}, and its array "
                             f"{' x '.join(map(str, values.shape)) or 'a number'}: the first axis must be the same; "
                             f"net.blobs['{name}'].reshape(...) changes the blob")
        getattr(net.blobs[name], side)[...] = values


@_method(Net)
def forward(self, blobs=None, start=None, end=None, **kwargs):
    """Runs a forward pass. If `start` or `end` is given, runs the layers from `start` to `end`, both included, without
    the net's memory plan; afterwards a backward pass from any layer is possible.

    kwargs: an array for each input, by name. Returns the arrays of the outputs (of the tops of layer `end`) and of
    `blobs`, by name. They show the blobs: copy values that you need after the next pass."""
    first = 0 if start is None else _layer_number(self, start)
    last = len(self._layer_names) - 1 if end is None else _layer_number(self, end)
    names = self.outputs if end is None else self.top_names[end]
    if kwargs:
        _fill(self, self.inputs, kwargs, 'data')
    self._forward(first, last, start is not None or end is not None)
    return {name: self.blobs[name].data for name in [*names, *(blobs or [])]}


@_method(Net)
def backward(self, diffs=None, start=None, end=None, **kwargs):
    """Runs a backward pass. If `start` or `end` is given, runs the layers from `start` down to `end`, both included.

    kwargs: an array of derivatives for each output, by name. Returns those of the inputs (or of the bottoms of layer
    `end`) that a memory plan has not dropped, and those of the blobs `diffs`, by name."""
    first = len(self._layer_names) - 1 if start is None else _layer_number(self, start)
    last = 0 if end is None else _layer_number(self, end)
    names = self.inputs if end is None else self.bottom_names[end]
    if kwargs:
        _fill(self, self.outputs, kwargs, 'diff')
    self._backward(first, last)
    readable = [name for name in names if self.blobs[name].diff_readable]
    return {name: self.blobs[name].diff for name in [*readable, *(diffs or [])]}


def _batches(net, arrays):
    """Yields (items, arrays) for each batch of the net; the last one is padded with zeros."""
    sizes = {name: len(values) for name, values in arrays.items()}
    if not any(sizes.values()):
        raise ValueError('arrays with at least one item are needed')
    if len(set(sizes.values())) != 1:
        raise ValueError(f'all arrays must have as many items: {sizes}')
    count, batch = next(iter(sizes.values())), net.blobs[next(iter(arrays))].shape[0]
    for begin in range(0, count, batch):
        items = min(batch, count - begin)
        parts = {name: np.asarray(values[begin:begin + items]) for name, values in arrays.items()}
        yield items, {name: np.concatenate([part, np.zeros((batch - items, *part.shape[1:]), part.dtype)])
                      for name, part in parts.items()}


def _append(lists, arrays, items):
    for name, values in arrays.items():
        lists.setdefault(name, []).append(values[:items].copy())


def _join(lists):
    return {name: np.concatenate(parts) for name, parts in lists.items()}


@_method(Net)
def forward_all(self, blobs=None, **kwargs):
    """Runs forward for any number of items, batch by batch. Returns arrays of all items, by name."""
    found = {}
    for items, batch in _batches(self, kwargs):
        _append(found, self.forward(blobs, **batch), items)
    return _join(found)


@_method(Net)
def forward_backward_all(self, blobs=None, diffs=None, **kwargs):
    """Runs forward and backward for any number of items. kwargs: arrays for the inputs, and derivatives for the
    outputs. Returns two dictionaries of arrays of all items: values and derivatives."""
    values, derivatives = {}, {}
    for items, batch in _batches(self, kwargs):
        tops = {name: batch.pop(name) for name in self.outputs if name in batch}
        _append(values, self.forward(blobs, **batch), items)
        _append(derivatives, self.backward(diffs, **tops), items)
    return _join(values), _join(derivatives)


@_method(Net)
def set_input_arrays(self, data, labels):
    """Sets the images (N x C x H x W) and labels (N) of the MemoryData layer that is the net's first layer."""
    labels = np.ascontiguousarray(labels, np.float32)
    if labels.ndim == 1:
        labels = labels[:, np.newaxis, np.newaxis, np.newaxis]
    self._set_input_arrays(np.ascontiguousarray(data, np.float32), labels)


@_method(Net, Solver)
def plan(self, strategy=None, device_memory=None, host_memory=None):
    """Plans an iteration under a strategy, within a budget, and returns a caffe.Plan. Changes nothing.

        net.plan('hybrid', '2GiB')['device_peak_bytes']

    For a solver, test nets and history are included."""
    return plan_of(*self._plan(strategy, device_memory, host_memory))


@_method(Net)
def _repr_svg_(self):
    """For notebooks: the net as a drawing."""
    from . import draw
    return draw.svg(draw.graph_of_net(self))


def _net_repr(self):
    count = sum(blob.count for blobs in self.params.values() for blob in blobs)
    return f'<caffe.Net {self.name}: {len(self._layer_names)} layers, {len(self.blobs)} blobs, {count:,} parameters>'


def _solver_repr(self):
    return f'<caffe {self.type} solver at iteration {self.iter} of {self.param.max_iter}, {self.net!r}>'


Net.__repr__ = _net_repr
Solver.__repr__ = _solver_repr
