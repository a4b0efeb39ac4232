"""Nets written in Python.

    from caffe import layers as L, params as P

    n = caffe.NetSpec()
    n.data, n.label = L.Data(source='train_lmdb', backend=P.Data.LMDB, batch_size=64, ntop=2)
    n.ip = L.InnerProduct(n.data, num_output=10, weight_filler=dict(type='xavier'))
    n.loss = L.SoftmaxWithLoss(n.ip, n.label)
    open('train.prototxt', 'w').write(str(n.to_proto()))

layers.Type(bottoms..., field=value, ...) is a layer of any type; a field that LayerParameter itself does not have
belongs to the type's own parameters (convolution_param, ...). params.Type.NAME is a value of an enumeration of these.
"""
from collections import Counter, OrderedDict

from .proto import caffe_pb2


def param_name_dict():
    """The names of layer parameters, by type and by field: {'Convolution': 'convolution', ...}."""
    names = {}
    for field in caffe_pb2.LayerParameter.DESCRIPTOR.fields:
        if field.message_type and field.name.endswith('_param') and field.message_type.name.endswith('Parameter'):
            names[field.message_type.name[:-len('Parameter')]] = field.name[:-len('_param')]
    return names


# Types that use the parameters of another type, unless the name shows it.
_PARAMETERS_OF = {'Deconvolution': 'convolution', 'LSTM': 'recurrent', 'RNN': 'recurrent',
                  'SoftmaxWithLoss': 'softmax', 'EuclideanLoss': 'loss'}


def _wanted(field):
    """A description of the values that a field takes."""
    if field.message_type:
        return f'a dictionary with fields of {field.message_type.name}'
    if field.enum_type:
        return f'one of {", ".join(field.enum_type.values_by_name)}, as in params.Type.NAME'
    return {field.CPPTYPE_INT32: 'an integer', field.CPPTYPE_INT64: 'an integer',
            field.CPPTYPE_UINT32: 'an integer of at least 0', field.CPPTYPE_UINT64: 'an integer of at least 0',
            field.CPPTYPE_BOOL: 'True or False', field.CPPTYPE_STRING: 'a string'}.get(field.cpp_type, 'a number')


def is_repeated(field):
    """Whether the field of a descriptor is repeated. protobuf has `is_repeated` since version 6, and no `label` since
    7."""
    known = getattr(field, 'is_repeated', None)
    return field.label == field.LABEL_REPEATED if known is None else known


def assign_proto(message, name, value, where=''):
    """Sets a field: a message from a dictionary, a repeated field from a list (of dictionaries). Errors name the field,
    after `where`."""
    field = message.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        raise AttributeError(f'{where}{message.DESCRIPTOR.name} has no field {name}')
    repeated = is_repeated(field)
    values = value if isinstance(value, (list, tuple)) else [value]

    def set_by(setter, *arguments):
        try:
            setter(*arguments)
        except (TypeError, ValueError) as error:
            raise type(error)(f'{where}{name} is {arguments[-1]!r}, and must be {_wanted(field)}') from None

    if field.message_type:
        for item in values:
            target = getattr(message, name).add() if repeated else getattr(message, name)
            if isinstance(item, dict):
                for key, inner in item.items():
                    assign_proto(target, key, inner, f'{where}{name}.')
            else:
                set_by(target.CopyFrom, item)
    elif repeated:
        set_by(getattr(message, name).extend, values)
    else:
        set_by(setattr, message, name, value)


class Top:
    """A blob: output number `n` of a layer."""

    def __init__(self, fn, n):
        self.fn, self.n = fn, n

    def to_proto(self):
        """The net that computes this blob."""
        return to_proto(self)

    def _update(self, params):
        self.fn.params.update(params)

    def _to_proto(self, layers, names, autonames):
        return self.fn._to_proto(layers, names, autonames)


class Function:
    """A layer: its type, bottoms and fields. ntop: how many tops; in_place: its top is its bottom."""

    def __init__(self, type_name, inputs, params):
        for number, bottom in enumerate(inputs):
            if not isinstance(bottom, Top):
                raise TypeError(f'{type_name} input {number} is not a Top (type is {type(bottom)})')
        self.type_name, self.inputs, self.params = type_name, inputs, dict(params)
        self.ntop = self.params.pop('ntop', 1)
        self.in_place = self.params.pop('in_place', False)
        if self.in_place and (self.ntop != 1 or len(inputs) != 1):
            raise ValueError(f'{type_name}: in place is a layer with one bottom and one top')
        self.tops = tuple(Top(self, n) for n in range(self.ntop))

    def _named(self, thing, names, autonames):
        """The name of a top, or of this layer: the given one, or the type with the next number."""
        if thing not in names:
            autonames[self.type_name] += 1
            names[thing] = f'{self.type_name}{autonames[self.type_name]}'
        return names[thing]

    def _to_proto(self, layers, names, autonames):
        if self in layers:
            return
        for bottom in self.inputs:
            bottom._to_proto(layers, names, autonames)
        layer = caffe_pb2.LayerParameter(type=self.type_name)
        layer.bottom.extend(layers[bottom.fn].top[bottom.n] for bottom in self.inputs)
        tops = [self._named(top, names, autonames) for top in self.tops]
        layer.top.extend(layer.bottom if self.in_place else tops)
        layer.name = tops[0] if tops else self._named(self, names, autonames)
        where = f'layer {layer.name}: '
        own = {**param_name_dict(), **_PARAMETERS_OF}.get(self.type_name)
        for key, value in self.params.items():
            if key in caffe_pb2.LayerParameter.DESCRIPTOR.fields_by_name:
                assign_proto(layer, key, value, where)
                continue
            if own is None:
                raise AttributeError(f'{where}{self.type_name} has no parameters of its own, and LayerParameter no field '
                                     f'{key}')
            assign_proto(getattr(layer, own + '_param'), key, value, f'{where}{own}_param.')
        layers[self] = layer


class NetSpec:
    """A net: blobs that are assigned as attributes (n.conv1 = ...) or items (n['conv/1'] = ...) name their layers."""

    def __init__(self):
        super().__setattr__('tops', OrderedDict())

    def __setattr__(self, name, value):
        self.tops[name] = value

    def __getattr__(self, name):
        try:
            return self.tops[name]
        except KeyError:
            raise AttributeError(f'the net has no blob {name} yet') from None

    __setitem__ = __setattr__

    def __getitem__(self, name):
        return self.tops[name]

    def __delattr__(self, name):
        del self.tops[name]

    __delitem__ = __delattr__

    def keys(self):
        return list(self.tops)

    def vals(self):
        return list(self.tops.values())

    def update(self, name, params):
        """Changes fields of the layer of a blob."""
        self.tops[name]._update(params)

    def to_proto(self):
        """The net as a NetParameter, whose text is a prototxt."""
        names, autonames, net_layers = {}, Counter(), OrderedDict()
        for name, top in self.tops.items():
            if not isinstance(top, (Top, Function)):
                raise TypeError(f'{name} is a {type(top).__name__}, and no top of a layer')
            names[top] = name
        for top in self.tops.values():
            top._to_proto(net_layers, names, autonames)
        return caffe_pb2.NetParameter(layer=net_layers.values())


class Layers:
    """layers.Type: makes layers of that type."""

    def __getattr__(self, type_name):
        if type_name.startswith('__'):
            raise AttributeError(type_name)

        def make(*inputs, **fields):
            function = Function(type_name, inputs, fields)
            if function.ntop == 0:
                return function
            return function.tops if function.ntop > 1 else function.tops[0]
        make.__name__ = type_name
        return make


class _Enumerations:
    """The values of the enumerations of a message, as attributes."""

    def __init__(self, message):
        self.message = message

    def __getattr__(self, name):
        try:
            return getattr(self.message, name)
        except AttributeError:
            raise AttributeError(f'{self.message.DESCRIPTOR.name} has no value {name}') from None


class Parameters:
    """params.Type: the values of the enumerations of that type's parameters."""

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        message = getattr(caffe_pb2, name + 'Parameter', None)
        if message is None:
            raise AttributeError(f'there is no {name}Parameter')
        return _Enumerations(message)


def to_proto(*tops):
    """The net of all layers that these blobs need."""
    names, autonames, net_layers = {}, Counter(), OrderedDict()
    for top in tops:
        top._to_proto(net_layers, names, autonames)
    return caffe_pb2.NetParameter(layer=net_layers.values())


layers = Layers()
params = Parameters()
