"""Parts of SSD's nets for a NetSpec, with the names that SSD's scripts (ssd_pascal.py and others) use.

    from caffe.model_libs import *

    net = caffe.NetSpec()
    net.data, net.label = CreateAnnotatedDataLayer('train_lmdb', label_map_file='labelmap.prototxt')
    VGGNetBody(net, from_layer='data', fully_conv=True, reduced=True, dilated=True, dropout=False)
    boxes = CreateMultiBoxHead(net, num_classes=21, from_layers=['conv4_3', 'fc7'], min_sizes=[30, 60], use_batchnorm=False)
"""
import os

import caffe  # noqa: F401  pylint: disable=unused-import  scripts import it from here
from caffe import layers as L
from caffe import params as P
from caffe.proto import caffe_pb2


def check_if_exist(path):
    """Whether there is such a file or folder."""
    return os.path.exists(path)


def make_if_not_exist(path):
    """Makes a folder and its parents."""
    os.makedirs(path, exist_ok=True)


def UnpackVariable(var, num):
    """A list of `num` values. A single value, or a list of one, is repeated."""
    values = list(var) if isinstance(var, (list, tuple)) else [var]
    if len(values) not in (1, num):
        raise ValueError(f'{var} must be one value, or {num}')
    return values if len(values) == num else values * num


def _learned(lr_mult=1):
    """Fields for the learned parameters of a convolution with a bias."""
    return {'param': [{'lr_mult': lr_mult, 'decay_mult': 1}, {'lr_mult': 2 * lr_mult, 'decay_mult': 0}],
            'weight_filler': {'type': 'xavier'}, 'bias_filler': {'type': 'constant', 'value': 0}}


def _same(kernel, dilation=1):
    """The padding that keeps the size of an image."""
    return dilation * (kernel - 1) // 2


def ConvBNLayer(net, from_layer, out_layer, use_bn, use_relu, num_output, kernel_size, pad, stride, dilation=1,
                use_scale=True, lr_mult=1, conv_prefix='', conv_postfix='', bn_prefix='', bn_postfix='_bn',
                scale_prefix='', scale_postfix='_scale', bias_prefix='', bias_postfix='_bias', **bn_params):
    """A convolution, then BatchNorm with Scale or Bias (use_bn), then ReLU (use_relu), all on one blob.

    bn_params: eps, moving_average_fraction; use_global_stats freezes statistics and scale."""
    fields = _learned(lr_mult)
    if use_bn:
        fields = {'param': fields['param'][:1], 'weight_filler': {'type': 'gaussian', 'std': 0.01}, 'bias_term': False}
    sizes = {'kernel': UnpackVariable(kernel_size, 2), 'pad': UnpackVariable(pad, 2), 'stride': UnpackVariable(stride, 2)}
    if sizes['kernel'][0] == sizes['kernel'][1]:
        fields.update(kernel_size=sizes['kernel'][0], pad=sizes['pad'][0], stride=sizes['stride'][0])
    else:
        fields.update({f'{name}_{axis}': value for name, pair in sizes.items() for axis, value in zip('hw', pair)})
    if dilation > 1:
        fields['dilation'] = dilation
    name = conv_prefix + out_layer + conv_postfix
    net[name] = L.Convolution(net[from_layer], num_output=num_output, **fields)
    if use_bn:
        frozen = bn_params.get('use_global_stats', False)
        learned = {'lr_mult': 0 if frozen else lr_mult, 'decay_mult': 0}
        how = ({'use_global_stats': True} if frozen else
               {'moving_average_fraction': bn_params.get('moving_average_fraction', 0.999)})
        bn_name = bn_prefix + out_layer + bn_postfix
        net[bn_name] = L.BatchNorm(net[name], in_place=True, param=[{'lr_mult': 0, 'decay_mult': 0}] * 3,
                                   eps=bn_params.get('eps', 0.001), **how)
        if use_scale:
            net[scale_prefix + out_layer + scale_postfix] = L.Scale(
                net[bn_name], in_place=True, param=[learned] * 2, bias_term=True,
                filler={'type': 'constant', 'value': 1}, bias_filler={'type': 'constant', 'value': 0})
        else:
            net[bias_prefix + out_layer + bias_postfix] = L.Bias(
                net[bn_name], in_place=True, param=[learned], filler={'type': 'constant', 'value': 0})
    if use_relu:
        net[name + '_relu'] = L.ReLU(net[name], in_place=True)


def CreateAnnotatedDataLayer(source, batch_size=32, backend=P.Data.LMDB, output_label=True, train=True,
                             label_map_file='', anno_type=None, transform_param=None, batch_sampler=None):
    """The data of the phase TRAIN or TEST, and their boxes (output_label), from a database of convert_annoset."""
    annotated = {'label_map_file': label_map_file, 'batch_sampler': [{}] if batch_sampler is None else batch_sampler}
    if anno_type is not None:
        annotated['anno_type'] = anno_type
    return L.AnnotatedData(
        name='data', ntop=2 if output_label else 1, include={'phase': caffe_pb2.TRAIN if train else caffe_pb2.TEST},
        transform_param=transform_param or {}, annotated_data_param=annotated,
        data_param={'batch_size': batch_size, 'backend': backend, 'source': source})


def ResBody(net, from_layer, block_name, out2a, out2b, out2c, stride, use_branch1, dilation=1, **bn_param):
    """A residual block: three convolutions of out2a, out2b and out2c channels, added to the block's input, or to a
    convolution of that (use_branch1). Its blobs are res<block_name> and res<block_name>_branch2a and so on."""
    def convolve(branch, below, channels, kernel, stride=1, relu=False, **more):
        ConvBNLayer(net, below, branch, use_bn=True, use_relu=relu, num_output=channels, kernel_size=kernel,
                    pad=_same(kernel, more.get('dilation', 1)), stride=stride, conv_prefix=f'res{block_name}_',
                    bn_prefix=f'bn{block_name}_', bn_postfix='', scale_prefix=f'scale{block_name}_', scale_postfix='',
                    **more, **bn_param)
        return f'res{block_name}_{branch}'

    shortcut = convolve('branch1', from_layer, out2c, 1, stride) if use_branch1 else from_layer
    below = convolve('branch2a', from_layer, out2a, 1, stride, relu=True)
    below = convolve('branch2b', below, out2b, 3, relu=True, dilation=dilation)
    below = convolve('branch2c', below, out2c, 1)
    name = f'res{block_name}'
    net[name] = L.Eltwise(net[shortcut], net[below])
    net[name + '_relu'] = L.ReLU(net[name], in_place=True)


def InceptionTower(net, from_layer, tower_name, layer_params, **bn_param):
    """A sequence of layers, each from a dictionary of fields, named tower_name and its `name`: a pooling if its name
    contains "pool", else a convolution with BatchNorm, Bias and ReLU. Returns the last top."""
    for params in layer_params:
        fields = dict(params)
        name = f"{tower_name}/{fields.pop('name')}"
        if 'pool' in name:
            net[name] = L.Pooling(net[from_layer], **fields)
        else:
            ConvBNLayer(net, from_layer, name, use_bn=True, use_relu=True, use_scale=False, **{**fields, **bn_param})
        from_layer = name
    return net[from_layer]


def _convolve(net, name, relu, below, **fields):
    """A convolution and its ReLU."""
    net[name] = L.Convolution(below, **fields, **_learned())
    net[relu] = L.ReLU(net[name], in_place=True)
    return net[relu]


def _fully_connected(net, below, fully_conv, reduced, dropout, kernel, dilation):
    """fc6 and fc7, as layers of 4096 values or as convolutions (fully_conv); `kernel` and `dilation` are those of fc6."""
    channels = 1024 if reduced else 4096
    convolutions = {'fc6': {'pad': _same(kernel, dilation), 'kernel_size': kernel, 'dilation': dilation},
                    'fc7': {'kernel_size': 1}}
    for number, (name, fields) in enumerate(convolutions.items(), 6):
        if fully_conv:
            below = _convolve(net, name, f'relu{number}', below, num_output=channels, **fields)
        else:
            net[name] = L.InnerProduct(below, num_output=4096)
            net[f'relu{number}'] = L.ReLU(net[name], in_place=True)
            below = net[f'relu{number}']
        if dropout:
            net[f'drop{number}'] = L.Dropout(below, dropout_ratio=0.5, in_place=True)
    return below


def _freeze(net, names):
    """Freezes the parameters of those of the layers that the net has."""
    for name in names:
        if name in net.keys():
            net.update(name, {**_learned(), 'param': [{'lr_mult': 0, 'decay_mult': 0}] * 2})


def ZFNetBody(net, from_layer, need_fc=True, fully_conv=False, reduced=False, dilated=False, dropout=True,
              need_fc8=False, freeze_layers=()):
    """The net of Zeiler and Fergus: five convolutions, then fc6 and fc7 (need_fc), then fc8 and prob (need_fc8).

    The other arguments are those of VGGNetBody."""
    below = net[from_layer]
    for number, (channels, kernel) in enumerate(((96, 7), (256, 5)), 1):
        below = _convolve(net, f'conv{number}', f'relu{number}', below, num_output=channels, pad=_same(kernel),
                          kernel_size=kernel, stride=2)
        net[f'norm{number}'] = L.LRN(below, local_size=3, alpha=5e-5, beta=0.75, norm_region=P.LRN.WITHIN_CHANNEL,
                                     engine=P.LRN.CAFFE)
        below = net[f'pool{number}'] = L.Pooling(net[f'norm{number}'], pool=P.Pooling.MAX, pad=1, kernel_size=3, stride=2)
    for number, channels in enumerate((384, 384, 256), 3):
        below = _convolve(net, f'conv{number}', f'relu{number}', below, num_output=channels, pad=1, kernel_size=3)
    if need_fc:
        below = net['pool5'] = L.Pooling(below, pool=P.Pooling.MAX, pad=1, kernel_size=3, stride=1 if dilated else 2)
        kernel, dilation = {(True, True): (3, 5), (True, False): (6, 2),
                            (False, True): (3, 2), (False, False): (6, 1)}[dilated, reduced]
        below = _fully_connected(net, below, fully_conv, reduced, dropout, kernel, dilation)
    if need_fc8:
        net['fc8'] = (L.Convolution(below, num_output=1000, kernel_size=1, **_learned()) if fully_conv else
                      L.InnerProduct(below, num_output=1000))
        net['prob'] = L.Softmax(net['fc8'])
    _freeze(net, freeze_layers)
    return net


def VGGNetBody(net, from_layer, need_fc=True, fully_conv=False, reduced=False, dilated=False, nopool=False, dropout=True,
               freeze_layers=(), dilate_pool4=False):
    """The 16 layers of VGG, without the last one; without the three last if not need_fc.

    fully_conv: fc6 and fc7 are convolutions, small ones if `reduced`; dilated: pool5 and fc6 keep the size; nopool:
    convolutions of stride 2 instead of pooling; freeze_layers: layers whose parameters are frozen."""
    below, dilation = net[from_layer], 1
    for block, (channels, count) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)), 1):
        more = {'dilation': dilation} if block == 5 else {}
        for number in range(1, count + 1):
            below = _convolve(net, f'conv{block}_{number}', f'relu{block}_{number}', below, num_output=channels,
                              pad=_same(3, dilation), kernel_size=3, **more)
        if block == 5 and not need_fc:
            break
        keeps_size = (block == 4 and dilate_pool4) or (block == 5 and dilated)
        if nopool:
            name = f'conv{block}_{count + 1}'
            net[name] = L.Convolution(below, num_output=channels, pad=1, kernel_size=3,
                                      stride=1 if block == 5 and dilated else 2, **_learned())
        else:
            name = f'pool{block}'
            window = {'kernel_size': 3, 'stride': 1, 'pad': 1} if keeps_size else {'kernel_size': 2, 'stride': 2}
            net[name] = L.Pooling(below, pool=P.Pooling.MAX, **window)
            dilation = 2 if block == 4 and dilate_pool4 else dilation
        below = net[name]
    if need_fc:
        dilation *= {(True, True): 6, (True, False): 2, (False, True): 3, (False, False): 1}[dilated, reduced]
        _fully_connected(net, below, fully_conv, reduced, dropout, 3 if reduced and fully_conv else 7, dilation)
    _freeze(net, freeze_layers)
    return net


def _resnet(net, from_layer, blocks, use_pool5, use_dilation_conv5, bn_param):
    """A ResNet with so many blocks in its four stages."""
    ConvBNLayer(net, from_layer, 'conv1', use_bn=True, use_relu=True, num_output=64, kernel_size=7, pad=3, stride=2,
                bn_prefix='bn_', bn_postfix='', scale_prefix='scale_', scale_postfix='', **bn_param)
    net['pool1'] = L.Pooling(net['conv1'], pool=P.Pooling.MAX, kernel_size=3, stride=2)
    below = 'pool1'
    for stage, count in enumerate(blocks, 2):
        channels, keeps_size = 2 ** (stage + 4), stage == 2 or (stage == 5 and use_dilation_conv5)
        for number in range(count):
            letters = chr(ord('a') + number) if stage in (2, 5) else f'b{number}' if number else 'a'
            ResBody(net, below, f'{stage}{letters}', channels, channels, 4 * channels,
                    stride=1 if number or keeps_size else 2, use_branch1=not number,
                    dilation=2 if stage == 5 and use_dilation_conv5 else 1, **bn_param)
            below = f'res{stage}{letters}'
    if use_pool5:
        net['pool5'] = L.Pooling(net[below], pool=P.Pooling.AVE, global_pooling=True)
    return net


def ResNet101Body(net, from_layer, use_pool5=True, use_dilation_conv5=False, **bn_param):
    """ResNet of 101 layers, without the last one: blobs res2a to res5c, and pool5 (use_pool5).

    use_dilation_conv5: the last stage keeps the size; bn_param: what ConvBNLayer takes."""
    return _resnet(net, from_layer, (3, 4, 23, 3), use_pool5, use_dilation_conv5, bn_param)


def ResNet152Body(net, from_layer, use_pool5=True, use_dilation_conv5=False, **bn_param):
    """As ResNet101Body, of 152 layers."""
    return _resnet(net, from_layer, (3, 8, 36, 3), use_pool5, use_dilation_conv5, bn_param)


def _pooling(kind, stride=1):
    return {'pool': kind, 'kernel_size': 3, 'stride': stride, 'pad': 1 if stride == 1 else 0}


def _convolution(channels, kernel, stride=1):
    """A convolution that keeps the size, or has stride 2 and no padding. kernel: a size, or height and width."""
    if not isinstance(kernel, tuple):
        return {'num_output': channels, 'kernel_size': kernel, 'stride': stride, 'pad': _same(kernel) if stride == 1 else 0}
    return {'num_output': channels, 'kernel_size': list(kernel), 'stride': [1, 1], 'pad': [_same(each) for each in kernel]}


def _mixed(net, below, name, towers, bn_param):
    """A block of Inception: a Concat called <name>/join of towers, each a pair of its name and the list of its layers.

    A tower whose last layer is a tuple ends with a Concat of those, called <name>/<tower>/mixed."""
    tops = []

    def numbered(steps):
        """The steps with their names: conv, conv_1, conv_2 ..., and pool."""
        names = iter(['conv'] + [f'conv_{number}' for number in range(1, len(steps))])
        return [{'name': 'pool' if 'pool' in fields else next(names), **fields} for fields in steps]

    for tower, steps in towers:
        prefix = f'{name}/{tower}' if tower else name
        last = steps[-1] if isinstance(steps[-1], tuple) else ()
        plain = numbered(steps[:-1] if last else steps)
        top = InceptionTower(net, below, prefix, plain, **bn_param)
        if last:
            split = f"{prefix}/{plain[-1]['name']}"
            top = net[prefix + '/mixed'] = L.Concat(
                *(InceptionTower(net, split, prefix + '/mixed', [fields], **bn_param) for fields in numbered(last)), axis=1)
        tops.append(top)
    net[name + '/join'] = L.Concat(*tops, axis=1)
    return name + '/join'


def InceptionV3Body(net, from_layer, output_pred=False, **bn_param):
    """Inception of version 3: blobs conv to pool_1, mixed/join to mixed_10/join, and with output_pred pool_3, softmax
    (1008 values) and softmax_prob. bn_param: what ConvBNLayer takes."""
    conv, average, maximum = _convolution, _pooling(P.Pooling.AVE), _pooling(P.Pooling.MAX)
    halved = _pooling(P.Pooling.MAX, stride=2)
    below = from_layer
    for name, channels, kernel, pad, stride in (('conv', 32, 3, 0, 2), ('conv_1', 32, 3, 0, 1), ('conv_2', 64, 3, 1, 1),
                                                ('pool', 0, 3, 0, 2), ('conv_3', 80, 1, 0, 1), ('conv_4', 192, 3, 0, 1),
                                                ('pool_1', 0, 3, 0, 2)):
        if channels:
            ConvBNLayer(net, below, name, use_bn=True, use_relu=True, use_scale=False, num_output=channels,
                        kernel_size=kernel, pad=pad, stride=stride, **bn_param)
        else:
            net[name] = L.Pooling(net[below], pool=P.Pooling.MAX, kernel_size=kernel, pad=pad, stride=stride)
        below = name

    for name, channels in (('mixed', 32), ('mixed_1', 64), ('mixed_2', 64)):
        below = _mixed(net, below, name, [
            ('', [conv(64, 1)]),
            ('tower', [conv(48, 1), conv(64, 5)]),
            ('tower_1', [conv(64, 1), conv(96, 3), conv(96, 3)]),
            ('tower_2', [average, conv(channels, 1)])], bn_param)
    below = _mixed(net, below, 'mixed_3', [
        ('', [conv(384, 3, stride=2)]),
        ('tower', [conv(64, 1), conv(96, 3), conv(96, 3, stride=2)]),
        ('', [halved])], bn_param)
    for number, channels in enumerate((128, 160, 160, 192), 4):
        wide, high = conv(channels, (1, 7)), conv(channels, (7, 1))
        below = _mixed(net, below, f'mixed_{number}', [
            ('', [conv(192, 1)]),
            ('tower', [conv(channels, 1), wide, conv(192, (7, 1))]),
            ('tower_1', [conv(channels, 1), high, wide, high, conv(192, (1, 7))]),
            ('tower_2', [average, conv(192, 1)])], bn_param)
    below = _mixed(net, below, 'mixed_8', [
        ('tower', [conv(192, 1), conv(320, 3, stride=2)]),
        ('tower_1', [conv(192, 1), conv(192, (1, 7)), conv(192, (7, 1)), conv(192, 3, stride=2)]),
        ('', [halved])], bn_param)
    both = (conv(384, (1, 3)), conv(384, (3, 1)))
    for name, pooling in (('mixed_9', average), ('mixed_10', maximum)):
        below = _mixed(net, below, name, [
            ('', [conv(320, 1)]),
            ('tower', [conv(384, 1), both]),
            ('tower_1', [conv(448, 1), conv(384, 3), both]),
            ('tower_2', [pooling, conv(192, 1)])], bn_param)
    if output_pred:
        net['pool_3'] = L.Pooling(net[below], pool=P.Pooling.AVE, kernel_size=8, pad=0, stride=1)
        net['softmax'] = L.InnerProduct(net['pool_3'], num_output=1008)
        net['softmax_prob'] = L.Softmax(net['softmax'])
    return net


def _of_layer(values, number, what, count):
    """The values for one of `count` layers, as a list; empty if there are no values for any layer."""
    if not values:
        return []
    if len(values) != count:
        raise ValueError(f'{what} has {len(values)} entries, and from_layers {count}')
    value = values[number]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def CreateMultiBoxHead(net, data_layer='data', num_classes=0, from_layers=(), use_objectness=False, normalizations=(),
                       use_batchnorm=True, lr_mult=1, use_scale=True, min_sizes=(), max_sizes=(), prior_variance=(0.1,),
                       aspect_ratios=(), steps=(), img_height=0, img_width=0, share_location=True, flip=True, clip=True,
                       offset=0.5, inter_layer_depth=(), kernel_size=1, pad=0, conf_postfix='', loc_postfix='',
                       **bn_param):
    """The boxes that SSD finds on `from_layers`: the blobs mbox_loc, mbox_conf and mbox_priorbox of all of them, and
    mbox_objectness if asked for, in a list, as MultiBoxLoss and DetectionOutput read them.

    Optional values for each layer: min_sizes and max_sizes (one or several, in pixels) and aspect_ratios of its priors,
    the step between priors, a scale for normalization (normalizations; -1: none), the outputs of a convolution before
    (inter_layer_depth)."""
    if not num_classes or num_classes < 0:
        raise ValueError(f'num_classes is {num_classes}, and must be at least 1')
    if data_layer not in net.keys():
        raise ValueError(f"data_layer is '{data_layer}', and the net has no such blob")
    if not min_sizes:
        raise ValueError('min_sizes must have an entry for each of from_layers')
    found = {'loc': [], 'conf': [], 'priorbox': [], 'objectness': []}

    def predict(kind, below, postfix, values):
        name = f'{below}_mbox_{kind}{postfix}'
        ConvBNLayer(net, below, name, use_bn=use_batchnorm, use_relu=False, lr_mult=lr_mult, num_output=values,
                    kernel_size=kernel_size, pad=pad, stride=1, use_scale=use_scale, **bn_param)
        net[name + '_perm'] = L.Permute(net[name], order=[0, 2, 3, 1])
        net[name + '_flat'] = L.Flatten(net[name + '_perm'], axis=1)
        found[kind].append(net[name + '_flat'])

    for number, below in enumerate(from_layers):
        def of_layer(values, what, number=number):
            return _of_layer(values, number, what, len(from_layers))
        normalization, depth = of_layer(normalizations, 'normalizations'), of_layer(inter_layer_depth, 'inter_layer_depth')
        if normalization and normalization[0] != -1:
            net[below + '_norm'] = L.Normalize(net[below], scale_filler={'type': 'constant', 'value': normalization[0]},
                                               across_spatial=False, channel_shared=False)
            below += '_norm'
        if depth and depth[0] > 0:
            ConvBNLayer(net, below, below + '_inter', use_bn=use_batchnorm, use_relu=True, lr_mult=lr_mult,
                        num_output=depth[0], kernel_size=3, pad=1, stride=1, use_scale=use_scale, **bn_param)
            below += '_inter'
        smallest, largest = of_layer(min_sizes, 'min_sizes'), of_layer(max_sizes, 'max_sizes')
        if largest and len(largest) != len(smallest):
            raise ValueError(f'layer {below}: {len(smallest)} min_sizes and {len(largest)} max_sizes; each needs the other')
        ratios, step = of_layer(aspect_ratios, 'aspect_ratios'), of_layer(steps, 'steps')
        priors = len(smallest) * (1 + bool(largest) + len(ratios) * (2 if flip else 1))
        predict('loc', below, loc_postfix, priors * 4 * (1 if share_location else num_classes))
        predict('conf', below, conf_postfix, priors * num_classes)
        fields = {'min_size': smallest, 'clip': clip, 'variance': list(prior_variance), 'offset': offset}
        if largest:
            fields['max_size'] = largest
        if ratios:
            fields.update(aspect_ratio=ratios, flip=flip)
        if step and step[0]:
            fields['step'] = step[0]
        if img_height and img_width:
            fields.update({'img_size': img_height} if img_height == img_width else
                          {'img_h': img_height, 'img_w': img_width})
        name = f'{below}_mbox_priorbox'
        net[name] = L.PriorBox(net[below], net[data_layer], **fields)
        found['priorbox'].append(net[name])
        if use_objectness:
            predict('objectness', below, '', priors * 2)

    for kind, blobs in found.items():
        if blobs:
            net[f'mbox_{kind}'] = L.Concat(*blobs, axis=2 if kind == 'priorbox' else 1)
    return [net[f'mbox_{kind}'] for kind, blobs in found.items() if blobs]
