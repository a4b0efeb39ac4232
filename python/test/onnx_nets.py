"""Nets for tests of ONNX: nets of one layer, for every type with a converter and all parameters that affect its
values."""
import importlib
import itertools
import os

import numpy as np

LACKS = None  # why these tests cannot run
try:
    importlib.import_module('onnx')
    importlib.import_module('onnxruntime')
except ImportError as error:
    LACKS = f'{error}; scripts/install_deps.sh --tests gets it'
    if os.environ.get('LAYRUB_REQUIRE_ONNXRUNTIME') == '1':
        raise


def fill_randomly(net):
    random = np.random.RandomState(3)
    for layer in net.layers:
        for blob in layer.blobs:
            values = random.uniform(-1, 1, blob.data.shape)
            blob.data[...] = np.abs(values) + 0.5 if layer.type in ('BatchNorm', 'BN') else values
    return net


FILLER = 'weight_filler { type: "uniform" min: -1 max: 1 } '


def source(name, *shape):
    dims = ' '.join(f'dim: {n}' for n in shape)
    return f'layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ {dims} }} }} }}\n'


DATA = source('data', 2, 4, 9, 7)


def net_of(kind, param='', bottoms=('data',), tops=('y',), sources=DATA):
    names = ''.join(f'bottom: "{name}" ' for name in bottoms) + ''.join(f'top: "{name}" ' for name in tops)
    return f'{sources}layer {{ name: "layer" type: "{kind}" {names} {param} }}'


def single(kind, field, *values, **options):
    """A net of one layer for each combination of the values of parameters: ('stride', (1, 2)), ..."""
    for chosen in itertools.product(*(alternatives for _, alternatives in values)):
        texts = ' '.join(value if name is None else f'{name}: {value}'
                         for (name, _), value in zip(values, chosen) if value is not None)
        yield net_of(kind, f'{field} {{ {texts} }}' if field else '', **options)


def detections():
    """DetectionOutput of three items, twelve priors and four classes."""
    shared = (('', ''), ('code_type: CENTER_SIZE', ''), ('code_type: CORNER_SIZE variance_encoded_in_target: true', ''),
              ('confidence_threshold: 0.5', ''), ('background_label_id: -1 keep_top_k: 9', ''), ('keep_top_k: 0', ''),
              ('confidence_threshold: 2 keep_top_k: 5', ''), ('', 'top_k: 40'),
              ('background_label_id: 2 keep_top_k: 4 confidence_threshold: -0.25', 'top_k: 5'))
    own = (('', ''), ('code_type: CENTER_SIZE keep_top_k: 6', ''), ('confidence_threshold: 0.25', 'top_k: 5'),
           ('background_label_id: 3', ''))
    for sets, params in ((1, shared), (4, own)):
        sources = source('loc', 3, 48 * sets) + source('conf', 3, 48) + source('prior', 1, 2, 48)
        for (param, nms), threshold in itertools.product(params, ('0.3 eta: 0.5', '0.75')):
            yield net_of('DetectionOutput', f'detection_output_param {{ num_classes: 4 share_location: {str(sets == 1).lower()} '
                         f'{param} nms_param {{ nms_threshold: {threshold} {nms} }} }}',
                         bottoms=('loc', 'conf', 'prior'), sources=sources)


def grid():
    """For every exported layer type, nets with all parameters that affect its values."""
    conv = [('kernel_size', (1, 3)), ('stride', (1, 2)), ('pad', (0, 1)), ('dilation', (1, 2)), ('group', (1, 2)),
            ('bias_term', ('true', 'false')), (None, (f'num_output: 6 {FILLER}',))]
    yield from single('Convolution', 'convolution_param', *conv)
    yield from single('Deconvolution', 'convolution_param', *conv)
    yield from single('Convolution', 'convolution_param',
                      (None, (f'num_output: 3 kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 0 {FILLER}',
                              f'num_output: 3 kernel_size: 3 kernel_size: 1 pad: 1 pad: 0 {FILLER}')))
    yield from single('ConvolutionDepthwise', 'convolution_param', ('stride', (1, 2)),
                      (None, (f'num_output: 4 kernel_size: 3 {FILLER}',)))
    yield from single('Convolution', 'convolution_param', (None, (f'num_output: 3 kernel_size: 2 {FILLER}',)),
                      sources=source('data', 2, 3, 4, 5, 6))
    yield from single('Im2col', 'convolution_param', ('kernel_size', (2, 3)), ('stride', (1, 2)), ('pad', (0, 1)),
                      ('dilation', (1, 2)))
    yield from single('Pooling', 'pooling_param', ('pool', ('MAX', 'AVE')), ('kernel_size', (2, 3)), ('stride', (1, 2)),
                      ('pad', (0, 1)), ('round_mode', ('CEIL', 'FLOOR')))
    yield from single('Pooling', 'pooling_param', ('pool', ('MAX', 'AVE')),
                      (None, ('global_pooling: true', 'kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 2 pad_h: 1 pad_w: 0')))
    yield from single('Pooling', 'pooling_param', ('pool', ('STOCHASTIC',)), ('kernel_size', (2, 3)), ('stride', (1, 2)))
    yield from single('Pooling', 'pooling_param', ('kernel_size', (2, 3)), ('stride', (2,)), tops=('y', 'mask'))
    yield from single('SPP', 'spp_param', ('pyramid_height', (1, 2, 3)), ('pool', ('MAX', 'AVE')))
    yield from single('InnerProduct', 'inner_product_param', ('axis', (1, 2, -1)), ('transpose', ('true', 'false')),
                      ('bias_term', ('true', 'false')), (None, (f'num_output: 5 {FILLER}',)))
    yield from single('LRN', 'lrn_param', ('norm_region', ('ACROSS_CHANNELS', 'WITHIN_CHANNEL')), ('local_size', (3, 5)),
                      ('alpha', (1, 0.1)), ('beta', (0.75, 0.5)), ('k', (1, 2)))
    yield from single('BatchNorm', 'batch_norm_param', ('eps', (1e-5, 0.1)),
                      ('use_global_stats', (None, 'true', 'false')))
    yield net_of('BatchNorm', 'batch_norm_param { scale_bias: true }')
    yield from single('BN', 'bn_param', ('eps', (1e-5, 0.1)), ('bn_mode', ('LEARN', 'INFERENCE')))
    yield net_of('BN', 'bn_param { var_eps: 0.2 }')
    yield from single('Scale', 'scale_param', ('axis', (1, 2, -1)), ('bias_term', ('true', 'false')))
    yield from single('Scale', 'scale_param', (None, ('num_axes: 0', 'axis: 1 num_axes: -1', 'axis: 1 num_axes: 2')))
    yield from single('Bias', 'bias_param', ('axis', (1, 2, -1)))
    yield from single('Bias', 'bias_param', (None, ('num_axes: 0', 'axis: 1 num_axes: -1')))
    two = source('data', 2, 3, 4, 5) + source('other', 2, 3)
    for kind, field in (('Scale', 'scale_param'), ('Bias', 'bias_param')):
        yield net_of(kind, f'{field} {{ axis: 0 }}', bottoms=('data', 'other'), sources=two)
    yield from single('MVN', 'mvn_param', ('across_channels', ('true', 'false')), ('eps', (1e-9, 0.1)),
                      ('normalize_variance', ('true', 'false')))
    yield from single('Normalize', 'norm_param', ('across_spatial', ('true', 'false')), ('eps', (1e-10, 0.1)),
                      ('channel_shared', ('true', 'false')))
    for kind in ('AbsVal', 'BNLL', 'Sigmoid', 'TanH', 'Dropout', 'ReLU6'):
        yield net_of(kind) + 'layer { name: "after" type: "ReLU" bottom: "y" top: "z" }'
    yield from single('ReLU', 'relu_param', ('negative_slope', (0, 0.1)))
    yield from single('Clip', 'clip_param', ('min', (-0.5, 0)), ('max', (0.25, 1)))
    yield from single('PReLU', 'prelu_param', ('channel_shared', ('true', 'false')))
    yield from single('ELU', 'elu_param', ('alpha', (1, 0.5)))
    yield from single('Swish', 'swish_param', ('beta', (1, 2)))
    yield from single('Threshold', 'threshold_param', ('threshold', (0, 0.25)))
    yield from single('Exp', 'exp_param', ('base', (-1, 2)), ('scale', (1, 0.5)), ('shift', (0, 1)))
    yield from single('Log', 'log_param', ('base', (-1, 3)), ('scale', (1, 2)), ('shift', (0, 1)))
    yield from single('Power', 'power_param', ('power', (0, 1, 2, 0.5)), ('scale', (1, 2)), ('shift', (0, 1)))
    yield from single('Softmax', 'softmax_param', ('axis', (1, 2, -1)))
    yield from single('Flatten', 'flatten_param', ('axis', (1, 2)), ('end_axis', (-1, 2)))
    yield from single('Reshape', 'reshape_param', (None, ('shape { dim: 0 dim: -1 dim: 3 }', 'shape { dim: 0 dim: 0 dim: -1 }',
                                                          'shape { dim: 2 dim: 2 } axis: 1 num_axes: 1')))
    yield from single('Permute', 'permute_param', (None, ('order: 0 order: 2 order: 3 order: 1', 'order: 0 order: 3')))
    yield from single('ShuffleChannel', 'shuffle_channel_param', ('group', (1, 2)))
    yield from single('Tile', 'tile_param', ('axis', (1, 2)), ('tiles', (2, 3)))
    yield from single('Concat', 'concat_param', ('axis', (1, 2, -1)), bottoms=('data', 'data'))
    yield from single('Slice', 'slice_param', (None, ('axis: 1', 'axis: 1 slice_point: 1')), tops=('a', 'b'))
    yield from single('Eltwise', 'eltwise_param', (None, ('', 'operation: PROD', 'operation: MAX',
                                                          'coeff: 2 coeff: -0.5', 'coeff: 1 coeff: -1')),
                      bottoms=('data', 'other'), sources=source('data', 2, 3, 4) + source('other', 2, 3, 4))
    yield from single('Reduction', 'reduction_param', ('operation', ('SUM', 'MEAN', 'ASUM', 'SUMSQ')), ('axis', (0, 1, -1)),
                      ('coeff', (1, 3)))
    yield from single('ArgMax', 'argmax_param', ('axis', (None, 1)), ('top_k', (1, 2)), ('out_max_val', ('true', 'false')))
    yield from single('Interp', 'interp_param', (None, ('height: 13 width: 5', 'zoom_factor: 3', 'shrink_factor: 2',
                                                        'zoom_factor: 2 pad_beg: -1 pad_end: -2')))
    yield from single('Upsample', 'upsample_param', ('scale', (2, 3)))
    yield (net_of('Pooling', 'pooling_param { kernel_size: 2 stride: 2 }', tops=('y', 'mask')) + ' layer { name: "up" '
           'type: "Upsample" bottom: "y" bottom: "mask" top: "z" upsample_param { upsample_h: 9 upsample_w: 7 } }')
    yield from single('Reorg', 'reorg_param', ('stride', (1, 2)), ('reverse', ('true', 'false')),
                      sources=source('data', 2, 8, 4, 6))
    yield from single('Crop', 'crop_param', (None, ('axis: 2 offset: 2', 'axis: 2 offset: 1 offset: 3', 'axis: 3')),
                      bottoms=('data', 'size'), sources=DATA + source('size', 2, 4, 5, 4))
    axpy = source('a', 2, 3) + source('data', 2, 3, 4, 5) + source('other', 2, 3, 4, 5)
    yield net_of('Axpy', bottoms=('a', 'data', 'other'), sources=axpy)
    yield from single('Embed', 'embed_param', ('bias_term', ('true', 'false')), (None, (f'num_output: 4 input_dim: 7 {FILLER}',)),
                      sources=source('data', 2, 3))
    yield net_of('BatchReindex', bottoms=('data', 'places'), sources=DATA + source('places', 6))
    yield (source('data', 2, 3) + 'layer { name: "p" type: "Parameter" top: "p" parameter_param { shape { dim: 2 dim: 3 } } } '
           'layer { name: "sum" type: "Eltwise" bottom: "data" bottom: "p" top: "y" }')
    yield net_of('ROIPooling', 'roi_pooling_param { pooled_h: 3 pooled_w: 2 spatial_scale: 0.25 }', bottoms=('data', 'rois'),
                 sources=DATA + source('rois', 6, 5))
    for sizes in ('min_size: 5', 'min_size: 5 max_size: 9 aspect_ratio: 2 clip: true', 'min_size: 4 aspect_ratio: 3 flip: false'):
        yield (net_of('PriorBox', f'prior_box_param {{ {sizes} }}', bottoms=('data', 'image'),
                      sources=DATA + source('image', 2, 3, 90, 70))
               + 'layer { name: "map" type: "ReLU" bottom: "data" top: "map" }')
    for param in ('output_dim: 1 group_size: 2 spatial_scale: 0.25', 'output_dim: 4 group_size: 1 spatial_scale: 1'):
        yield net_of('PSROIPooling', f'psroi_pooling_param {{ {param} }}', bottoms=('data', 'rois'),
                     sources=DATA + source('rois', 6, 5))
    yield from detections()
    yield net_of('Filter', bottoms=('data', 'chosen'), sources=source('data', 6, 3, 4) + source('chosen', 6))
    yield net_of('LSTMUnit', bottoms=('cells', 'gates', 'marks'), tops=('c', 'h'),
                 sources=source('cells', 1, 3, 5) + source('gates', 1, 3, 20) + source('marks', 1, 3))
    sequence = source('x', 4, 3, 5) + source('cont', 4, 3)
    for kind, states in (('LSTM', 2), ('RNN', 1)):
        param = f'recurrent_param {{ num_output: 6 {FILLER} %s }}'
        yield net_of(kind, param % '', bottoms=('x', 'cont'), sources=sequence)
        yield net_of(kind, param % '', bottoms=('x', 'cont', 's'), sources=sequence + source('s', 3, 2))
        first = [f's{k}' for k in range(states)]
        yield net_of(kind, param % 'expose_hidden: true', bottoms=('x', 'cont', *first), tops=('y', *(f'e{k}' for k in range(states))),
                     sources=sequence + ''.join(source(name, 1, 3, 6) for name in first))
