"""Writes nets as prototxt, a layer at a time, and reads them. For generate_model.py, model_zoo.py and benchmarks."""

import re


class Enum(str):
    """A value written without quotes."""


MAX, AVE, SUM = Enum('MAX'), Enum('AVE'), Enum('SUM')
TRAIN, TEST = Enum('TRAIN'), Enum('TEST')


def text(value):
    """A field's value in protobuf's text format."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, dict):
        return '{ ' + fields(value) + ' }'
    if isinstance(value, str) and not isinstance(value, Enum):
        return f'"{value}"'
    return f'{value}'


def fields(message):
    """Name and value of each field; a list is a repeated field, None is an absent field."""
    words = []
    for name, value in message.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                words.append(f'{name} {text(item)}' if isinstance(item, dict) else f'{name}: {text(item)}')
    return ' '.join(words)


REPEATED = ('layer', 'bottom', 'top', 'include', 'param', 'loss_weight')


def read(prototxt):
    """The message in a text such as generate_model.py writes, as a dict. Fields in REPEATED, and others that occur more
    than once, are lists."""
    words = re.findall(r'"([^"]*)"|([{}])|([^\s{}:"]+)', prototxt)
    message, outer = {}, []
    name = None

    def put(value):
        if name in message or name in REPEATED:
            there = message.setdefault(name, [])
            message[name] = [*(there if isinstance(there, list) else [there]), value]
        else:
            message[name] = value

    for quoted, brace, bare in words:
        if brace == '{':
            outer.append((message, name))
            message, name = {}, None
        elif brace:
            done, (message, name) = message, outer.pop()
            put(done)
            name = None
        elif name is None:
            name = bare
        else:
            number = re.fullmatch(r'[-+]?(\d+|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)', bare)
            put(quoted if not bare else bare == 'true' if bare in ('true', 'false') else
                bare if not number else int(bare) if number[1].lstrip('+-').isdigit() else float(bare))
            name = None
    return message


def weights(decay=True):
    """The customary multipliers of weight and bias."""
    return [{'lr_mult': 1, 'decay_mult': 1}, {'lr_mult': 2, 'decay_mult': 0}] if decay else None


def both_sides(name, value, square=None):
    """Fields for a size: `square` (default: `name`) if it is one number, else one field for the height and one for the
    width."""
    if isinstance(value, tuple):
        return {f'{name}_h': value[0], f'{name}_w': value[1]}
    return {square or name: value}


class Net:
    """Layers in order. Methods that add a layer return the name of its top."""

    def __init__(self, name, crop=0):
        """`crop`: height and width of its images."""
        self.lines = [f'name: "{name}"']
        self.crop = crop

    def __str__(self):
        return '\n'.join(self.lines) + '\n'

    def layer(self, name, kind, bottoms=(), tops=None, **message):
        """`tops` is a name or several, by default the layer's own; further fields as keywords."""
        bottoms = [bottoms] if isinstance(bottoms, str) else list(bottoms)
        tops = [tops or name] if not isinstance(tops, (list, tuple)) else list(tops)
        self.lines += ['layer {', f'  name: "{name}"', f'  type: "{kind}"']
        self.lines += [f'  bottom: "{bottom}"' for bottom in bottoms] + [f'  top: "{top}"' for top in tops]
        for field, value in message.items():
            for item in value if isinstance(value, list) else [value]:
                if item is not None:
                    self.lines.append('  ' + fields({field: item}))
        self.lines.append('}')
        return tops[0]

    def conv(self, name, bottom, outputs, kernel, stride=None, pad=None, group=None, filler='msra', std=None, bias=0,
             kind='Convolution', dilation=None):
        """`kernel` and `pad`: a number, or one for the height and one for the width. `bias` is its initial value; None:
        no bias."""
        param = {'num_output': outputs, **both_sides('kernel', kernel, 'kernel_size'), 'stride': stride,
                 **both_sides('pad', pad or None), 'group': group, 'dilation': dilation,
                 'bias_term': False if bias is None else None, 'weight_filler': {'type': filler, 'std': std},
                 'bias_filler': None if bias is None else {'type': 'constant', 'value': bias}}
        return self.layer(name, kind, bottom, param=weights(bias is not None), convolution_param=param)

    def conv_norm(self, name, bottom, outputs, kernel, relu='ReLU', **more):
        """Convolution, BatchNorm, Scale and the activation of type `relu`, if any, all in one blob."""
        top = self.conv(name, bottom, outputs, kernel, bias=None, **more)
        self.norm((f'{name}/bn', f'{name}/scale', None), top, relu=False)
        return self.layer(f'{name}/relu', relu, top, top) if relu else top

    def inner_product(self, name, bottom, outputs, filler='xavier', std=None, bias=0, axis=None):
        param = {'num_output': outputs, 'axis': axis, 'weight_filler': {'type': filler, 'std': std},
                 'bias_filler': {'type': 'constant', 'value': bias}}
        return self.layer(name, 'InnerProduct', bottom, param=weights(), inner_product_param=param)

    def relu(self, name, blob):
        return self.layer(name, 'ReLU', blob, blob)

    def dropout(self, name, blob, ratio):
        return self.layer(name, 'Dropout', blob, blob, dropout_param={'dropout_ratio': ratio})

    def lrn(self, name, bottom):
        return self.layer(name, 'LRN', bottom, lrn_param={'local_size': 5, 'alpha': 0.0001, 'beta': 0.75})

    def pool(self, name, bottom, kind=MAX, kernel=3, stride=2, pad=None):
        """kernel 0: over the whole image."""
        size = {'kernel_size': kernel, 'stride': stride, 'pad': pad} if kernel else {'global_pooling': True}
        return self.layer(name, 'Pooling', bottom, pooling_param={'pool': kind, **size})

    def norm(self, names, bottom, top=None, relu=True):
        """BatchNorm and Scale, and ReLU unless `relu` is false, by the three names; in place unless `top` is
        another blob."""
        top = self.layer(names[0], 'BatchNorm', bottom, top or bottom)
        self.layer(names[1], 'Scale', top, top, scale_param={'bias_term': True})
        return self.relu(names[2], top) if relu else top

    def concat(self, name, bottoms):
        return self.layer(name, 'Concat', bottoms)

    def add(self, name, bottoms):
        return self.layer(name, 'Eltwise', bottoms, eltwise_param={'operation': SUM})

    def loss(self, name, scores, top=None, weight=None):
        return self.layer(name, 'SoftmaxWithLoss', [scores, 'label'], top, loss_weight=weight)

    def accuracy(self, name, scores, top_k=None, ignore_label=None):
        given = {'top_k': top_k, 'ignore_label': ignore_label}
        param = {field: value for field, value in given.items() if value is not None}
        return self.layer(name, 'Accuracy', [scores, 'label'], include={'phase': TEST}, accuracy_param=param or None)

    def scores(self, top):
        """Accuracy in tests, and the loss."""
        self.accuracy('accuracy', top)
        self.loss('loss', top)
