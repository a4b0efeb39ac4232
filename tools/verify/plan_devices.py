"""Whether the parts of a net that is divided among devices fit together, for verify_plan.py --devices.

Reads the net of one device, which `layrub plan --devices=N --dump=DIR` writes. On each level of halves an array is
  whole   both halves have the value and the gradient
  copy    both have the value, and each a summand of the gradient
  part    each has a summand of the value, and both the gradient
  0, 1..  each has half of value and gradient, cut along this dimension
Rules of its own say what the operands of a layer can be on a level. Layers of other types are trusted."""

import re

from plan_files import BadInput

ELEMENTWISE = {'AbsVal', 'BNLL', 'Clip', 'Dropout', 'ELU', 'Exp', 'Log', 'Power', 'ReLU', 'ReLU6', 'Sigmoid', 'Swish', 'TanH',
               'Threshold'}
PER_CHANNEL = {'Bias': 'bias_param', 'Scale': 'scale_param', 'PReLU': None}
WHOLE = {'Accuracy', 'ContrastiveLoss', 'EuclideanLoss', 'HingeLoss', 'InfogainLoss', 'LossTotal', 'MultinomialLogisticLoss',
         'SigmoidCrossEntropyLoss', 'SoftmaxWithLoss'}


# ---------------------------------------------------------------- reading


class Message:
    """The fields of a message of a prototxt."""

    def __init__(self):
        self.fields = {}

    def all(self, name):
        return self.fields.get(name, [])

    def get(self, name, default=None):
        return self.all(name)[-1] if self.all(name) else default

    def number(self, name, default):
        return int(self.get(name, default))

    def number_at(self, name, index):
        return int(self.all(name)[index]) if len(self.all(name)) > index else None


def parse(path):
    """The Message of a prototxt that a program has written."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[{}]|[^\s{}]+', file.read())
    except OSError as error:
        raise BadInput(f'cannot read {path}: {error.strerror}') from error
    top = Message()
    inside = [top]
    name = None
    for token in tokens:
        if token == '}':
            inside.pop()
            if not inside or name is not None:
                raise BadInput(f'{path}: a "}}" that closes nothing')
        elif name is None:
            name = token.rstrip(':')
        else:
            value = Message() if token == '{' else token.strip('"')
            inside[-1].fields.setdefault(name, []).append(value)
            if token == '{':
                inside.append(value)
            name = None
    if len(inside) != 1 or name is not None:
        raise BadInput(f'{path}: it ends within a message')
    return top


def share_of(level):
    if level.get('cut') is not None:
        return level.number('cut', 0)
    return 'part' if level.get('part') else 'copy' if level.get('part_gradient') else 'whole'


def shares_of(layout, levels):
    """The shares of a DeviceLayout; whole on all levels if there is none."""
    return [share_of(level) for level in layout.all('level')] if layout else ['whole'] * levels


# ---------------------------------------------------------------- proving


class Devices:
    """Goes through the layers of a net in order and notes what each blob is on each level."""

    def __init__(self, net):
        self.layers = net.all('layer')
        self.objections = []
        self.proved = self.trusted = 0
        self.levels = max((len(layout.all('level')) for layout in self.layouts()), default=0)
        self.blobs = {}  # name -> its shares; None: not known
        self.channels = {}  # name -> the size of dimension 1 of the whole array, where it is known

    def layouts(self):
        for layer in self.layers:
            own = [layer.get('layout'), *(param.get('layout') for param in layer.all('param'))]
            exchange = layer.get('exchange_param')
            yield from filter(None, own + ([exchange.get('from'), exchange.get('to')] if exchange else []))

    def run(self):
        for layout in self.layouts():
            self.check_cuts(layout)
        for layer in self.layers:
            self.layer(layer)
        return self

    def object(self, layer, text):
        self.objections.append(f'layer {layer.get("name")}: {text}')

    def check_cuts(self, layout):
        """Every array can be cut into equal parts on as many levels."""
        shares = shares_of(layout, self.levels)
        if len(shares) != self.levels:
            self.objections.append(f'a layout has {len(shares)} levels where others have {self.levels}')
        sizes = {joined.number('dim', 0): [int(size) for size in joined.all('size')] for joined in layout.all('joined')}
        for dim, size in enumerate(layout.all('dim')):
            parts = 2 ** shares.count(dim)
            if any(each % parts for each in sizes.get(dim, [int(size)])):
                self.objections.append(f'dimension {dim} of {size} is cut into {parts} parts')

    def layer(self, layer):
        kind = layer.get('type')
        bottoms = [self.blobs.get(name) for name in layer.all('bottom')]
        if kind == 'Exchange':
            if layer.get('bottom') not in self.blobs:
                self.object(layer, 'no layer above it makes its bottom')
            made = [self.exchange(layer, bottoms[0])]
        elif any(name not in self.blobs for name in layer.all('bottom')):
            self.object(layer, 'no layer above it makes all of its bottoms')
            made = [None] * len(layer.all('top'))
        elif None in bottoms or not self.has_rule(layer, kind):
            self.trusted += 1
            made = [None] * len(layer.all('top'))
            if layer.get('layout') and made:
                made[0] = shares_of(layer.get('layout'), self.levels)
        else:
            self.proved += 1
            made = self.made(layer, kind, bottoms)
        channels = self.channels_of(layer, kind)
        for name, shares in zip(layer.all('top'), made):
            self.blobs[name] = shares
            self.channels[name] = channels

    def channels_of(self, layer, kind):
        """The size of dimension 1 of the whole top; None if it is not known."""
        field = layer.get('inner_product_param' if kind == 'InnerProduct' else 'convolution_param')
        layout = layer.get('exchange_param').get('to') if kind == 'Exchange' else layer.get('layout')
        if kind in ('Convolution', 'Deconvolution', 'InnerProduct'):
            weights = layer.all('param')[0].get('layout') if layer.all('param') else None
            cut = shares_of(weights, self.levels).count(self.sides(kind, field)[0])
            return field.number('num_output', 0) << cut
        if layout:
            return layout.number_at('dim', 1)
        if kind == 'Concat':
            parts = [self.channels.get(name) for name in layer.all('bottom')]
            along = layer.get('concat_param')
            return None if None in parts or (along and along.number('axis', 1) != 1) else sum(parts)
        same = kind in ELEMENTWISE or kind in PER_CHANNEL or kind in ('BatchNorm', 'Pooling', 'LRN', 'Eltwise')
        return self.channels.get(layer.get('bottom')) if same else None

    @staticmethod
    def sides(kind, field):
        """The dimensions of the weights that walk along the channels of the top and of the bottom."""
        turned = kind == 'Deconvolution' or field.get('transpose') == 'true'
        return (1, 0) if turned else (0, 1)

    @staticmethod
    def has_rule(layer, kind):
        known = {'Convolution', 'Deconvolution', 'InnerProduct', 'Pooling', 'LRN', 'BatchNorm', 'Eltwise', 'Concat', 'LSTM', 'RNN',
                 'SoftmaxLosses', *ELEMENTWISE, *WHOLE}
        return kind in known or (kind in PER_CHANNEL and len(layer.all('bottom')) == 1) or not layer.all('bottom')

    def exchange(self, layer, bottom):
        param = layer.get('exchange_param')
        source, target = param.get('from'), param.get('to')
        before, after = shares_of(source, self.levels), shares_of(target, self.levels)
        if source.all('dim') != target.all('dim'):
            self.object(layer, 'it changes the shape')
        if bottom is not None and bottom != before:
            self.object(layer, f'its bottom is {bottom}, not {before}')
        if any(new == 'part' != old for old, new in zip(before, after)):
            self.object(layer, f'it makes summands: {before} becomes {after}')
        self.proved += 1
        return after

    def made(self, layer, kind, bottoms):
        """The shares of the tops. Objects if those of the bottoms or parameters are not right."""
        if not bottoms:  # a source, whose tops all have the items along their first dimension
            shares = shares_of(layer.get('layout'), self.levels)
            if set(shares) - {'whole', 0}:
                self.object(layer, f'a source has all of its tops or some items, not {shares}')
            return [list(shares) for _ in layer.all('top')]
        params = [shares_of(param.get('layout'), self.levels) for param in layer.all('param')]
        trained = [float(param.get('lr_mult', 1)) != 0 for param in layer.all('param')]
        if kind in ('LSTM', 'RNN'):
            return self.recurrent(layer, kind, bottoms, params, trained)
        tops = []
        for level in range(self.levels):
            x = [shares[level] for shares in bottoms]
            given = list(zip((shares[level] for shares in params), trained))
            y, wanted = self.rule(layer, kind, x, given)
            if wanted:
                self.object(layer, f'level {level}: {wanted}; its bottoms are {x}, its parameters {[share for share, _ in given]}')
            tops.append(y)
        self.check_size(layer, kind, params)
        own = layer.get('layout')
        if own and shares_of(own, self.levels) != tops:
            self.object(layer, f'it is told {shares_of(own, self.levels)}, but its top is {tops}')
        return [list(tops) for _ in layer.all('top')]

    def rule(self, layer, kind, x, params):
        """The share of the tops on one level, and what is wanted where the operands are not right."""
        if kind in ('Convolution', 'Deconvolution', 'InnerProduct'):
            return self.product(layer, kind, x[0], params)
        if kind in WHOLE:
            return 'whole', None if set(x) == {'whole'} else 'its bottoms have to be whole'
        if len(set(x)) > 1:
            return x[0], 'its bottoms have to be divided alike'
        y = x[0]
        if y in ('part', 'copy'):
            return y, 'its bottoms have to be whole or cut'
        if kind == 'Pooling' and y not in ('whole', 0, 1):
            return y, 'only items and channels can be divided'
        if kind == 'SoftmaxLosses' and y not in ('whole', 0):
            return y, 'only items can be divided'
        if kind == 'LRN' and y == 1 and layer.get('lrn_param').get('norm_region') != 'WITHIN_CHANNEL':
            return y, 'it needs all channels'
        if kind == 'BatchNorm':
            return y, self.batch_norm(y, params)
        if kind in PER_CHANNEL:
            field = layer.get(PER_CHANNEL[kind]) if PER_CHANNEL[kind] else None
            axis = field.number('axis', 1) if field else 1
            for share, trained in params:
                if share != (0 if y == axis else 'copy' if y != 'whole' and trained else 'whole'):
                    return y, 'its parameters do not fit its channels'
        return y, None

    @staticmethod
    def batch_norm(y, params):
        for i, (share, trained) in enumerate(params):
            if y == 1 and i != 2 and share != 0:
                return 'statistics of channels are divided with them'
            if y != 1 and share != ('copy' if y == 0 and trained else 'whole'):
                return 'all devices have the same statistics'
        return None if y in ('whole', 0, 1) else 'only items and channels can be divided'

    def product(self, layer, kind, x, params):
        field = layer.get('inner_product_param' if kind == 'InnerProduct' else 'convolution_param')
        axis = field.number('axis', 1)
        out, within = self.sides(kind, field)
        weights, trained = params[0] if params else ('whole', True)
        bias = params[1][0] if len(params) > 1 and field.get('bias_term') != 'false' else None
        if weights == 0 and x == axis and self.has_groups(layer, kind):  # channels are divided on both sides
            return axis, None if bias in (None, 0) else 'groups are divided with their bias'
        if weights == out:
            return axis, None if x == 'copy' and bias in (None, 0) else 'all devices read all channels and make some'
        if weights == within:
            right = x == axis and field.get('bias_term') == 'false'
            return 'part', None if right else 'each device reads some channels and makes a summand, without bias'
        if x == 'whole':
            return x, None if weights == 'whole' and bias in (None, 'whole') else 'its parameters have to be whole'
        right = x not in ('copy', 'part', axis) and weights == ('copy' if trained else 'whole')
        return x, None if right and bias in (None, weights) else 'devices with some items have all parameters'

    def recurrent(self, layer, kind, bottoms, params, trained):
        """The shares of the tops of a recurrent layer: x, which is T x N x features, and the states, 1 x N x units."""
        states = len(layer.all('top')) - 1
        inputs = len(bottoms) - states
        tops = [[] for _ in layer.all('top')]
        for level in range(self.levels):
            x = [shares[level] for shares in bottoms]
            given = {share[level] for share, learns in zip(params, trained) if learns} or {share[level] for share in params} or {'whole'}
            if given == {0}:  # units: each device makes some from all inputs
                wanted, made = ['copy'] * inputs + [2] * states, ['copy' if kind == 'LSTM' else 2] + [2] * states
            elif given == {'whole'} and set(x) == {'whole'}:
                wanted, made = x, ['whole'] * len(tops)
            else:  # sequences
                wanted, made = [1, 1, 0][:inputs] + [1] * states, [1] * len(tops)
            if x != wanted or (wanted[0] == 1 and given != ({'copy'} if any(trained) or not trained else {'whole'})):
                self.object(layer, f'level {level}: neither units nor sequences are divided; its bottoms are {x}, its parameters '
                            f'{sorted(map(str, given))}')
            for top, share in zip(tops, made):
                top.append(share)
        own = layer.get('layout')
        if own and shares_of(own, self.levels) != tops[0]:
            self.object(layer, f'it is told {shares_of(own, self.levels)}, but its top is {tops[0]}')
        weights = layer.all('param')[0].get('layout') if layer.all('param') else None
        units = layer.get('recurrent_param').number('num_output', 0) * (4 if kind == 'LSTM' else 1)
        if weights and weights.number_at('dim', 0) >> params[0].count(0) != units:
            self.object(layer, f'it makes {units} gates with weights for {weights.number_at("dim", 0) >> params[0].count(0)}')
        return tops

    def has_groups(self, layer, kind):
        """Whether the whole layer has at least as many groups as parts that make their own channels from their own."""
        weights = layer.all('param')[0].get('layout')
        x = self.blobs[layer.get('bottom')]
        parts = 2 ** sum(share == 1 and own == 0 for share, own in zip(x, shares_of(weights, self.levels)))
        if kind == 'Deconvolution':  # weights: channels of the bottom x channels of the top in a group
            channels = layer.get('convolution_param').number('num_output', 0) * parts
        else:
            channels = self.channels.get(layer.get('bottom'))
        return channels is None or channels // weights.number_at('dim', 1) % parts == 0

    def check_size(self, layer, kind, params):
        """A device makes as many channels as it has filters."""
        if kind not in ('Convolution', 'InnerProduct') or not layer.all('param'):
            return
        layout = layer.all('param')[0].get('layout')
        field = layer.get('inner_product_param' if kind == 'InnerProduct' else 'convolution_param')
        if layout is None or field.get('transpose') == 'true':
            return
        filters = int(layout.all('dim')[0]) >> params[0].count(0)
        if filters != field.number('num_output', 0):
            self.object(layer, f'it makes {field.get("num_output")} channels with {filters} filters')


def verify_devices(path):
    """The Devices of the net of one device, gone through."""
    net = parse(path)
    try:
        divided = Devices(net)
        if divided.levels == 0:
            raise BadInput(f'{path}: it is not the net of one of several devices, which layrub plan --devices --dump writes')
        return divided.run()
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise BadInput(f'{path}: a field that a net of one device has is missing or wrong ({error})') from error
