"""The nets that generate_model.py writes. Each function adds layers after the blobs "data" and "label"."""

from dataclasses import dataclass, field
from typing import Callable

from model_data import CAPTIONS, IMAGES, MAPS, OBJECTS, SEQUENCES, Data
from model_dense import BORDER, fcn8s, ssd300, unet, vgg_stages
from model_inception import inception_v3, inception_v4
from model_mobile import mobilenet_v1, mobilenet_v2, shufflenet, squeezenet
from model_text import AVE, Enum


@dataclass
class Model:
    """A net and its data: images of crop x crop pixels, or sequences of `steps` steps."""
    name: str
    build: Callable  # (net, classes): adds its layers
    batch: int
    test_batch: int
    classes: int = 1000
    crop: int = 224
    steps: int = 0
    features: int = 128
    data: Data = field(default_factory=lambda: IMAGES)
    label_side: Callable = int  # crop -> the side of a label that is a map
    dataset: str = 'examples/imagenet/ilsvrc12'
    test_part: str = 'val'
    test_items: int = 50000
    mean: tuple = (104, 117, 123)  # of each channel
    solver: dict = field(default_factory=dict)


# ---------------------------------------------------------------- LeNet, AlexNet, VGG


def lenet(net, classes):
    """LeCun et al. 1998, with ReLU, as in Caffe's MNIST example."""
    x = net.pool('pool1', net.conv('conv1', 'data', 20, 5, filler='xavier'), kernel=2)
    x = net.pool('pool2', net.conv('conv2', x, 50, 5, filler='xavier'), kernel=2)
    x = net.relu('relu1', net.inner_product('ip1', x, 500))
    net.scores(net.inner_product('ip2', x, classes))


def alexnet_with(order):
    """Krizhevsky et al. 2012; `order` is that of norm and pool, the only difference between AlexNet and CaffeNet."""
    def after(net, number, x):
        for kind in order:
            x = net.lrn(f'norm{number}', x) if kind == 'norm' else net.pool(f'pool{number}', x)
        return x

    def conv(net, number, x, outputs, kernel, bias, **more):
        x = net.conv(f'conv{number}', x, outputs, kernel, filler='gaussian', std=0.01, bias=bias, **more)
        return net.relu(f'relu{number}', x)

    def build(net, classes):
        x = after(net, 1, conv(net, 1, 'data', 96, 11, 0, stride=4))
        x = after(net, 2, conv(net, 2, x, 256, 5, 0.1, pad=2, group=2))
        x = conv(net, 3, x, 384, 3, 0, pad=1)
        x = conv(net, 4, x, 384, 3, 0.1, pad=1, group=2)
        x = net.pool('pool5', conv(net, 5, x, 256, 3, 0.1, pad=1, group=2))
        fully_connected(net, x, classes, 0.1)
    return build


def fully_connected(net, x, classes, bias):
    """The three last layers of AlexNet and VGG."""
    for number in (6, 7):
        x = net.inner_product(f'fc{number}', x, 4096, 'gaussian', 0.005, bias)
        x = net.dropout(f'drop{number}', net.relu(f'relu{number}', x), 0.5)
    net.scores(net.inner_product('fc8', x, classes, 'gaussian', 0.01))


def vgg(convs):
    """Simonyan and Zisserman 2015; `convs` convolutions in each of the five stages."""
    def build(net, classes):
        fully_connected(net, vgg_stages(net, convs), classes, 0)
    return build


# ---------------------------------------------------------------- GoogLeNet

INCEPTIONS = {  # 1x1; 3x3 reduce, 3x3; 5x5 reduce, 5x5; pool projection
    '3a': (64, 96, 128, 16, 32, 32), '3b': (128, 128, 192, 32, 96, 64), '4a': (192, 96, 208, 16, 48, 64),
    '4b': (160, 112, 224, 24, 64, 64), '4c': (128, 128, 256, 24, 64, 64), '4d': (112, 144, 288, 32, 64, 64),
    '4e': (256, 160, 320, 32, 128, 128), '5a': (256, 160, 320, 32, 128, 128), '5b': (384, 192, 384, 48, 128, 128),
}


def google_conv(net, prefix, kind, bottom, outputs, kernel, **more):
    name = f'{prefix}/{kind}'
    net.conv(name, bottom, outputs, kernel, filler='xavier', bias=0.2, **more)
    return net.relu(f'{prefix}/relu_{kind}', name)


def inception(net, name, x, widths):
    name = f'inception_{name}'
    one, reduce3, three, reduce5, five, projected = widths
    branches = [google_conv(net, name, '1x1', x, one, 1)]
    y = google_conv(net, name, '3x3_reduce', x, reduce3, 1)
    branches.append(google_conv(net, name, '3x3', y, three, 3, pad=1))
    y = google_conv(net, name, '5x5_reduce', x, reduce5, 1)
    branches.append(google_conv(net, name, '5x5', y, five, 5, pad=2))
    y = net.pool(f'{name}/pool', x, stride=1, pad=1)
    branches.append(google_conv(net, name, 'pool_proj', y, projected, 1))
    return net.concat(f'{name}/output', branches)


def auxiliary_loss(net, name, x, classes):
    x = net.pool(f'{name}/ave_pool', x, AVE, 5, 3)
    x = google_conv(net, name, 'conv', x, 128, 1)
    x = net.relu(f'{name}/relu_fc', net.inner_product(f'{name}/fc', x, 1024, bias=0.2))
    x = net.inner_product(f'{name}/classifier', net.dropout(f'{name}/drop_fc', x, 0.7), classes)
    net.loss(f'{name}/loss', x, f'{name}/loss1', 0.3)


def googlenet(net, classes):
    """Szegedy et al. 2015, with the two auxiliary losses."""
    x = google_conv(net, 'conv1', '7x7_s2', 'data', 64, 7, stride=2, pad=3)
    x = net.lrn('pool1/norm1', net.pool('pool1/3x3_s2', x))
    x = google_conv(net, 'conv2', '3x3_reduce', x, 64, 1)
    x = net.lrn('conv2/norm2', google_conv(net, 'conv2', '3x3', x, 192, 3, pad=1))
    x = net.pool('pool2/3x3_s2', x)
    for name, widths in INCEPTIONS.items():
        x = inception(net, name, x, widths)
        if name in ('3b', '4e'):
            x = net.pool(f'pool{name[0]}/3x3_s2', x)
        if name in ('4a', '4d'):
            auxiliary_loss(net, 'loss1' if name == '4a' else 'loss2', x, classes)
    x = net.dropout('pool5/drop_7x7_s1', net.pool('pool5/7x7_s1', x, AVE, 7, 1), 0.4)
    x = net.inner_product('loss3/classifier', x, classes)
    net.loss('loss3/loss3', x)
    net.accuracy('loss3/top-1', x)
    net.accuracy('loss3/top-5', x, 5)


# ---------------------------------------------------------------- ResNet and its kin


def block_names(blocks):
    """Names of the blocks of one stage: a, b, c, ..., or a, b1, b2, ... where there are many."""
    if blocks <= 6:
        return 'abcdef'[:blocks]
    return ['a'] + [f'b{number}' for number in range(1, blocks)]


def res_conv(net, name, x, outputs, kernel, stride=None, group=None, relu=True):
    """Convolution, BatchNorm, Scale and ReLU, all in one blob."""
    x = net.conv('res' + name, x, outputs, kernel, stride, kernel // 2, group, bias=None)
    return net.norm((f'bn{name}', f'scale{name}', f'res{name}_relu'), x, relu=relu)


def squeezed(net, name, x, channels):
    """A factor for each channel of x, computed from the means of all channels (Hu et al. 2018)."""
    y = net.conv(f'{name}_down', net.pool(f'{name}_pool', x, AVE, 0), channels // 16, 1)
    y = net.conv(f'{name}_up', net.relu(f'{name}_relu', y), channels, 1)
    return net.layer(f'{name}_prob', 'Sigmoid', y, y)


def res_block(net, name, x, branch, shortcut, squeeze=False):
    """`branch`: (outputs, kernel, stride, group) of its convolutions; `shortcut`: (outputs, stride), or None for x
    itself; `squeeze`: the branch's channels are weighted before the sum."""
    carried = x
    if shortcut:
        carried = res_conv(net, f'{name}_branch1', x, shortcut[0], 1, shortcut[1], relu=False)
    for index, sizes in enumerate(branch):
        x = res_conv(net, f'{name}_branch2{"abc"[index]}', x, *sizes, relu=index + 1 < len(branch))
    if squeeze:
        x = net.layer(f'res{name}', 'Axpy', [squeezed(net, f'res{name}_se', x, branch[-1][0]), x, carried])
    else:
        x = net.add(f'res{name}', [carried, x])
    return net.relu(f'res{name}_relu', x)


def branch_of(kind, width, stride):
    """Convolutions of a block, and its outputs."""
    if kind == 'basic':
        return [(width, 3, stride), (width, 3, None)], width
    if kind == 'grouped':
        return [(2 * width, 1, None), (2 * width, 3, stride, 32), (4 * width, 1, None)], 4 * width
    return [(width, 1, stride), (width, 3, None), (4 * width, 1, None)], 4 * width


def resnet(blocks, kind='bottleneck', widen=1):
    """He et al. 2016; the stride of a bottleneck is that of its first convolution, as published for Caffe. `kind`:
    basic, bottleneck, grouped (ResNeXt, Xie et al. 2017, 32 groups of 4) or squeeze (SENet, Hu et al. 2018). Every
    convolution has `widen` times the outputs."""
    def build(net, classes):
        net.conv('conv1', 'data', 64 * widen, 7, 2, 3, bias=None)
        x = net.pool('pool1', net.norm(('bn_conv1', 'scale_conv1', 'conv1_relu'), 'conv1'))
        inputs = 64 * widen
        for stage, (count, width) in enumerate(zip(blocks, (64, 128, 256, 512)), 2):
            for index, name in enumerate(block_names(count)):
                stride = 2 if stage > 2 and index == 0 else 1
                branch, outputs = branch_of(kind, width * widen, stride)
                shortcut = (outputs, stride) if (inputs, stride) != (outputs, 1) else None
                x = res_block(net, f'{stage}{name}', x, branch, shortcut, kind == 'squeeze')
                inputs = outputs
        x = net.inner_product(f'fc{classes}', net.pool('pool5', x, AVE, 0), classes, 'msra')
        net.scores(x)
    return build


def resnet_cifar(depth):
    """He et al. 2016, section 4.2; every stage begins with a projection."""
    def build(net, classes):
        net.conv('conv1', 'data', 16, 3, 1, 1, bias=None)
        x = net.norm(('bn_conv1', 'scale_conv1', 'conv1_relu'), 'conv1')
        for stage, width in enumerate((16, 32, 64), 2):
            for index, name in enumerate(block_names((depth - 2) // 6)):
                stride = 2 if stage > 2 and index == 0 else 1
                branch, _ = branch_of('basic', width, stride)
                x = res_block(net, f'{stage}{name}', x, branch, (width, stride) if index == 0 else None)
        x = net.inner_product(f'fc{classes}', net.pool('pool5', x, AVE, 0), classes, 'msra')
        net.scores(x)
    return build


def wide_resnet(blocks, widen):
    """Zagoruyko and Komodakis 2016, in the form with the addition last: no ReLU after it, and a BatchNorm but no Scale
    on projections."""
    def build(net, classes):
        net.conv('conv1', 'data', 16, 3, 1, 1, bias=None)
        x = net.norm(('bn_conv1', 'scale_conv1', 'conv1_relu'), 'conv1')
        for stage, width in enumerate((16 * widen, 32 * widen, 64 * widen), 2):
            for index, block in enumerate(block_names(blocks)):
                name, stride = f'{stage}{block}', 2 if stage > 2 and index == 0 else 1
                carried = x
                if index == 0:
                    carried = net.conv(f'res{name}_branch1', x, width, 1, stride, bias=None)
                    net.layer(f'bn{name}_branch1', 'BatchNorm', carried, carried)
                x = res_conv(net, f'{name}_branch2a', x, width, 3, stride)
                x = res_conv(net, f'{name}_branch2b', x, width, 3, relu=False)
                x = net.add(f'res{name}', [carried, x])
        x = net.inner_product(f'fc{classes}', net.pool('pool5', x, AVE, 0), classes, 'msra')
        net.scores(x)
    return build


def densenet(blocks, growth):
    """Huang et al. 2017, with bottlenecks, halving between its blocks."""
    def activated(net, name, x):
        return net.norm((f'{name}/bn', f'{name}/scale', f'{name}/relu'), x, f'{name}/bn')

    def build(net, classes):
        net.conv('conv1', 'data', 2 * growth, 7, 2, 3, bias=None)
        x = net.pool('pool1', net.norm(('conv1/bn', 'conv1/scale', 'conv1/relu'), 'conv1'))
        channels = 2 * growth
        for stage, count in enumerate(blocks, 2):
            for index in range(1, count + 1):
                name = f'conv{stage}_{index}'
                y = net.conv(f'{name}/x1', activated(net, f'{name}/x1', x), 4 * growth, 1, bias=None)
                net.norm((f'{name}/x2/bn', f'{name}/x2/scale', f'{name}/x2/relu'), y)
                y = net.conv(f'{name}/x2', y, growth, 3, pad=1, bias=None)
                x = net.concat(f'concat_{stage}_{index}', [x, y])
                channels += growth
            if stage <= len(blocks):
                channels //= 2
                name = f'conv{stage}_blk'
                x = net.conv(name, activated(net, name, x), channels, 1, bias=None)
                x = net.pool(f'pool{stage}', x, AVE, 2, 2)
        x = net.pool('pool5', activated(net, f'conv{len(blocks) + 1}_blk', x), AVE, 0)
        net.scores(net.inner_product('fc6', x, classes))
    return build


# ---------------------------------------------------------------- LSTM


def lstm(layers, hidden):
    """Layers over sequences of `data` (steps x batch x features) and `cont`, with a word to predict at each step."""
    def build(net, classes):
        x = 'data'
        for number in range(1, layers + 1):
            param = {'num_output': hidden, 'weight_filler': {'type': 'uniform', 'min': -0.08, 'max': 0.08},
                     'bias_filler': {'type': 'constant', 'value': 0}}
            x = net.layer(f'lstm{number}', 'LSTM', [x, 'cont'], recurrent_param=param)
        x = net.inner_product('predict', x, classes, axis=2)
        net.layer('loss', 'SoftmaxWithLoss', [x, 'label'], softmax_param={'axis': 2})
    return build


def captioner(net, classes):
    """Donahue et al. 2015 (LRCN), the factored form with two layers: words go through the first, and with the image's
    features (`data`) through the second; the next word is predicted at each step. Label -1 is ignored."""
    uniform = {'type': 'uniform', 'min': -0.08, 'max': 0.08}

    def layer(name, bottoms):
        param = {'num_output': 1000, 'weight_filler': uniform, 'bias_filler': {'type': 'constant', 'value': 0}}
        return net.layer(name, 'LSTM', bottoms, recurrent_param=param)

    x = net.layer('embedding', 'Embed', 'words', embed_param={
        'input_dim': classes, 'num_output': 1000, 'bias_term': False, 'weight_filler': uniform})
    x = layer('lstm2', [layer('lstm1', [x, 'cont']), 'cont', 'data'])
    x = net.inner_product('predict', x, classes, axis=2)
    net.layer('loss', 'SoftmaxWithLoss', [x, 'label'], softmax_param={'axis': 2}, loss_param={'ignore_label': -1})


# ---------------------------------------------------------------- Transformer


def transformer(blocks, width):
    """Blocks with the layers, shapes and residual sums of a Transformer, over sequences of `data` (steps x batch x
    features). As Caffe has no batched matrix products, attention is a softmax of elementwise products here."""
    def norm(net, name, x):
        x = net.layer(f'{name}/mvn', 'MVN', x, mvn_param={'across_channels': False})
        return net.layer(f'{name}/scale', 'Scale', x, scale_param={'axis': 2, 'bias_term': True})

    def product(net, name, bottoms):
        return net.layer(name, 'Eltwise', bottoms, eltwise_param={'operation': Enum('PROD')})

    def block(net, name, x):
        y = norm(net, f'{name}/norm1', x)
        q, k, v = (net.inner_product(f'{name}/{which}', y, width, axis=2) for which in 'qkv')
        y = net.layer(f'{name}/softmax', 'Softmax', product(net, f'{name}/scores', [q, k]), softmax_param={'axis': 2})
        y = net.inner_product(f'{name}/out', product(net, f'{name}/values', [y, v]), width, axis=2)
        x = net.add(f'{name}/sum1', [x, y])
        y = net.inner_product(f'{name}/fc1', norm(net, f'{name}/norm2', x), 4 * width, axis=2)
        y = net.inner_product(f'{name}/fc2', net.relu(f'{name}/relu', y), width, axis=2)
        return net.add(f'{name}/sum2', [x, y])

    def build(net, classes):
        x = net.inner_product('embed', 'data', width, axis=2)
        for number in range(1, blocks + 1):
            x = block(net, f'block{number}', x)
        x = net.inner_product('predict', x, classes, axis=2)
        net.layer('loss', 'SoftmaxWithLoss', [x, 'label'], softmax_param={'axis': 2})
    return build


# ---------------------------------------------------------------- all of them

STEP = {'base_lr': 0.01, 'lr_policy': 'step', 'gamma': 0.1, 'stepsize': 100000, 'max_iter': 450000,
        'momentum': 0.9, 'weight_decay': 0.0005}
POLY = {'base_lr': 0.01, 'lr_policy': 'poly', 'power': 0.5, 'max_iter': 2400000, 'momentum': 0.9,
        'weight_decay': 0.0002}
RESIDUAL = {'base_lr': 0.05, 'lr_policy': 'multistep', 'gamma': 0.1, 'stepvalue': [1200000, 2400000],
            'max_iter': 4000000, 'momentum': 0.9, 'weight_decay': 0.0001}
CIFAR_SOLVER = {'base_lr': 0.1, 'lr_policy': 'multistep', 'gamma': 0.1, 'stepvalue': [32000, 48000],
                'max_iter': 64000, 'momentum': 0.9, 'weight_decay': 0.0001}
INVERSE = {'base_lr': 0.01, 'lr_policy': 'inv', 'gamma': 0.0001, 'power': 0.75, 'max_iter': 10000, 'momentum': 0.9,
           'weight_decay': 0.0005}
SEQUENCE = {'base_lr': 0.1, 'lr_policy': 'fixed', 'max_iter': 100000, 'momentum': 0.9, 'clip_gradients': 10}
SQUEEZE = {'base_lr': 0.04, 'lr_policy': 'poly', 'power': 1, 'max_iter': 170000, 'momentum': 0.9,
           'weight_decay': 0.0002}
DETECTION = {'eval_type': 'detection', 'ap_version': '11point', 'base_lr': 0.001, 'lr_policy': 'multistep',
             'gamma': 0.1, 'stepvalue': [80000, 100000], 'max_iter': 120000, 'momentum': 0.9, 'weight_decay': 0.0005}
WHOLE_IMAGES = {'base_lr': 0.0001, 'lr_policy': 'fixed', 'max_iter': 100000, 'momentum': 0.9, 'weight_decay': 0.0005}
TILES = {'base_lr': 0.001, 'lr_policy': 'fixed', 'max_iter': 20000, 'momentum': 0.99, 'weight_decay': 0.0005}

SMALL = {'test_part': 'test', 'test_items': 10000}
MNIST = {'classes': 10, 'crop': 28, 'dataset': 'examples/mnist/mnist', 'mean': (0,), **SMALL}
CIFAR = {'classes': 10, 'crop': 32, 'dataset': 'examples/cifar10/cifar10', 'mean': (125, 123, 114), **SMALL}
VOC = {'dataset': 'examples/VOC0712/VOC0712', 'test_part': 'test', 'test_items': 4952}
SEGMENTED = {'dataset': 'examples/voc/voc2012', 'test_items': 1449}
CELLS = {'dataset': 'examples/cells/cells', 'test_part': 'test', 'test_items': 5, 'mean': (0,)}

# Blocks per stage. Those of the deepest nets are derived from their reported numbers of layers, parameters and blobs;
# 302, 695, 1172 and 1304 divide their blocks among the stages in the same ratios.
BOTTLENECKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 302: (3, 16, 78, 3), 695: (3, 39, 186, 3),
               1001: (3, 57, 270, 3), 1172: (3, 66, 318, 3), 1304: (3, 72, 356, 3), 1517: (3, 83, 416, 3)}
DENSE = {121: (6, 12, 24, 16), 169: (6, 12, 32, 32), 201: (6, 12, 48, 32)}
BASICS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}


def all_models():
    models = {
        'lenet': Model('LeNet', lenet, 64, 100, solver=INVERSE, **MNIST),
        'alexnet': Model('AlexNet', alexnet_with(('norm', 'pool')), 256, 50, crop=227, solver=STEP),
        'caffenet': Model('CaffeNet', alexnet_with(('pool', 'norm')), 256, 50, crop=227, solver=STEP),
        'googlenet': Model('GoogLeNet', googlenet, 32, 50, solver=POLY),
        'vgg16': Model('VGG-16', vgg((2, 2, 3, 3, 3)), 32, 10, solver=STEP),
        'vgg19': Model('VGG-19', vgg((2, 2, 4, 4, 4)), 32, 10, solver=STEP),
        'resnet56_cifar': Model('ResNet-56', resnet_cifar(56), 100, 100, solver=CIFAR_SOLVER, **CIFAR),
        'wrn28_10': Model('WRN-28-10', wide_resnet(4, 10), 128, 100, solver=CIFAR_SOLVER, **CIFAR),
        'squeezenet': Model('SqueezeNet-1.1', squeezenet, 32, 50, crop=227, solver=SQUEEZE),
        'mobilenet_v1': Model('MobileNet-v1', mobilenet_v1, 32, 50, solver=RESIDUAL),
        'mobilenet_v2': Model('MobileNet-v2', mobilenet_v2, 32, 50, solver=RESIDUAL),
        'shufflenet': Model('ShuffleNet-g3', shufflenet(3, (240, 480, 960)), 32, 50, solver=RESIDUAL),
        'inception_v3': Model('Inception-v3', inception_v3, 32, 10, crop=299, solver=RESIDUAL),
        'inception_v4': Model('Inception-v4', inception_v4, 32, 10, crop=299, solver=RESIDUAL),
        'resnext50': Model('ResNeXt-50-32x4d', resnet(BOTTLENECKS[50], 'grouped'), 32, 10, solver=RESIDUAL),
        'se_resnet50': Model('SE-ResNet-50', resnet(BOTTLENECKS[50], 'squeeze'), 32, 10, solver=RESIDUAL),
        'ssd300': Model('SSD-300', ssd300, 32, 8, 21, crop=300, data=OBJECTS, solver=DETECTION, **VOC),
        'fcn8s': Model('FCN-8s', fcn8s, 1, 1, 21, crop=500, data=MAPS, solver=WHOLE_IMAGES, **SEGMENTED),
        'unet': Model('U-Net', unet, 1, 1, 2, crop=572, data=MAPS, label_side=lambda crop: crop - BORDER,
                      solver=TILES, **CELLS),
        'lstm': Model('LSTM', lstm(2, 256), 32, 32, 8000, steps=20, data=SEQUENCES, solver=SEQUENCE),
        'captioner': Model('LRCN', captioner, 100, 100, 8801, steps=20, features=1000, data=CAPTIONS, solver=SEQUENCE),
        'transformer': Model('Transformer', transformer(96, 512), 16, 16, 8000, steps=128, data=SEQUENCES,
                             solver=SEQUENCE),
    }
    for depth, blocks in DENSE.items():
        models[f'densenet{depth}'] = Model(f'DenseNet-{depth}', densenet(blocks, 32), 32, 10, solver=RESIDUAL)
    for kind, depths in (('basic', BASICS), ('bottleneck', BOTTLENECKS)):
        for depth, blocks in depths.items():
            models[f'resnet{depth}'] = Model(f'ResNet-{depth}', resnet(blocks, kind), 32, 10, solver=RESIDUAL)
    return models


def custom_resnet(blocks, kind):
    depth = sum(blocks) * (2 if kind == 'basic' else 3) + 2
    return Model(f'ResNet-{depth}', resnet(blocks, kind), 32, 10, solver=RESIDUAL)


def custom_wresnet(depth, widen):
    """WResNet of Wang et al. 2019 (Tofu)."""
    return Model(f'WResNet-{depth}-{widen}', resnet(BOTTLENECKS[depth], widen=widen), 32, 10, solver=RESIDUAL)


def custom_rnn(layers, hidden):
    """RNN of Wang et al. 2019 (Tofu): LSTM layers over 20 steps, with as many features as hidden units."""
    return Model(f'RNN-{layers}-{hidden}', lstm(layers, hidden), 128, 128, 8000, steps=20, features=hidden,
                 data=SEQUENCES, solver=SEQUENCE)
