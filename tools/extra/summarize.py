#!/usr/bin/env python3
"""Prints a line for each layer of a net.

  summarize.py train_val.prototxt
  summarize.py --phase=TEST train_val.prototxt

Needs the package caffe (docs/python.md) to parse prototxt files. Loads neither net nor data.
"""
import argparse

import training_log  # noqa: F401  finds script
from script import BadInput, run_script


def window(param):
    """kernel, stride, pad, group and dilation, as 3x3 s2 p1."""
    def text(name):
        value = getattr(param, name, None)
        values = list(value) if hasattr(value, '__len__') else [value] if value else []
        shape = getattr(param, name.split('_')[0] + '_shape', None)
        values = list(shape.dim) if shape and shape.dim else values
        high, wide = getattr(param, name.split('_')[0] + '_h', 0), getattr(param, name.split('_')[0] + '_w', 0)
        if high or wide:
            values = [high, wide]
        return 'x'.join(map(str, values * 2 if len(values) == 1 else values))
    words = [text('kernel_size') or ('global' if getattr(param, 'global_pooling', False) else '')]
    for name, letter, usual in (('stride', 's', '1'), ('pad', 'p', '0'), ('dilation', 'd', '1')):
        different = set(text(name).split('x'))
        if different - {'', usual}:
            words.append(letter + (text(name) if len(different) > 1 else different.pop()))
    if getattr(param, 'group', 1) != 1:
        words.append(f'group {param.group}')
    return ' '.join(words)


def details(layer):
    """A summary of a layer's parameters."""
    if layer.type in ('Convolution', 'NdConvolution', 'Deconvolution', 'ConvolutionDepthwise', 'DepthwiseConvolution', 'Im2col'):
        return f'{layer.convolution_param.num_output} x {window(layer.convolution_param)}'
    if layer.type == 'Pooling':
        kinds = layer.pooling_param.DESCRIPTOR.enum_types_by_name['PoolMethod'].values_by_number
        return f'{kinds[layer.pooling_param.pool].name} {window(layer.pooling_param)}'
    if layer.type == 'InnerProduct':
        return str(layer.inner_product_param.num_output)
    if layer.type in ('LSTM', 'RNN'):
        return str(layer.recurrent_param.num_output)
    if layer.type == 'Dropout':
        return f'ratio {layer.dropout_param.dropout_ratio:g}'
    if layer.type == 'Input':
        return ', '.join('x'.join(map(str, shape.dim)) for shape in layer.input_param.shape)
    return ''


def rows(net, phase):
    """name, type, parameters and learning, from bottoms to tops, for each layer."""
    yield 'layer', 'type', 'parameters', 'rates', 'from', 'to'
    for layer in net.layer:
        rules = layer.include or layer.exclude
        met = any(rule.phase == phase for rule in rules if rule.HasField('phase'))
        stated = any(rule.HasField('phase') for rule in rules)
        if phase is not None and stated and met != bool(layer.include):
            continue
        rates = ' '.join(f'{param.lr_mult:g}' for param in layer.param)
        yield layer.name, layer.type, details(layer), rates, ' '.join(layer.bottom), ' '.join(layer.top)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('filename', metavar='NET.prototxt')
    parser.add_argument('--phase', choices=('TRAIN', 'TEST'), help='layers of this phase only')
    flags = parser.parse_args()
    try:
        from google.protobuf import text_format
        from caffe.proto import caffe_pb2
    except ImportError as error:
        raise BadInput(f'{error}: PYTHONPATH must have the folder python of the build') from None
    net = caffe_pb2.NetParameter()
    try:
        with open(flags.filename, encoding='utf-8') as file:
            text_format.Merge(file.read(), net)
    except OSError as error:
        raise BadInput(f'{flags.filename}: {error.strerror}') from None
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise BadInput(f'{flags.filename}:{error}') from None
    if net.layers or net.input:
        raise BadInput(f'{flags.filename} is of an old format: upgrade_net_proto_text makes it a new one')
    table = list(rows(net, {'TRAIN': 0, 'TEST': 1}.get(flags.phase)))
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        print('  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    return 0


if __name__ == '__main__':
    run_script(main)
