"""The view of a layer that converters get, and the table of converters."""

CONVERTERS = {}  # layer type -> function(builder, layer): the names of the tops' values


class Refusal(Exception):
    """Something cannot be expressed in ONNX. The message is a sentence that names it."""


def converts(*types):
    """Decorates the converter of these layer types."""
    def register(function):
        for kind in types:
            CONVERTERS[kind] = function
        return function
    return register


class LayerView:
    """A layer: its parameters, its blobs as arrays, the values of its bottoms and the shapes of its tops."""

    def __init__(self, param, blobs, bottoms, top_shapes, top_names, top_values):
        self.param, self.blobs, self.bottoms = param, blobs, bottoms
        self.top_values = top_values  # a function: the values of the tops after a forward pass
        self.top_shapes, self.top_names = top_shapes, top_names

    @property
    def name(self):
        return self.param.name

    @property
    def x(self):
        """The name of the first bottom's value."""
        return self.bottoms[0].name

    @property
    def shape(self):
        return self.bottoms[0].shape

    @property
    def y(self):
        """The name for the first top's value."""
        return self.top_names[0]

    def axis(self, axis, rank=None):
        return axis + (rank or len(self.shape)) if axis < 0 else axis

    def refuse(self, why):
        place = f'{self.param.origin}: ' if self.param.origin else ''
        raise Refusal(f'{place}layer {self.name} ({self.param.type}) cannot be exported: {why}')
