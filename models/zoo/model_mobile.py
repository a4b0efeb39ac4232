"""Small nets for images: SqueezeNet, MobileNet, ShuffleNet. For model_zoo.py."""

from model_text import AVE


def squeezenet(net, classes):
    """Iandola et al. 2016, in its authors' version 1.1."""
    def conv(name, relu, x, outputs, kernel, **more):
        return net.relu(relu, net.conv(name, x, outputs, kernel, filler='xavier', **more))

    def fire(number, x, squeezed, expanded):
        name = f'fire{number}'
        x = conv(f'{name}/squeeze1x1', f'{name}/relu_squeeze1x1', x, squeezed, 1)
        return net.concat(f'{name}/concat', [
            conv(f'{name}/expand{side}x{side}', f'{name}/relu_expand{side}x{side}', x, expanded, side, pad=side // 2)
            for side in (1, 3)])

    x = net.pool('pool1', conv('conv1', 'relu_conv1', 'data', 64, 3, stride=2))
    for number, squeezed in zip(range(2, 10), (16, 16, 32, 32, 48, 48, 64, 64)):
        x = fire(number, x, squeezed, 4 * squeezed)
        if number in (3, 5):
            x = net.pool(f'pool{number}', x)
    x = net.conv('conv10', net.dropout('drop9', x, 0.5), classes, 1, filler='gaussian', std=0.01)
    net.scores(net.pool('pool10', net.relu('relu_conv10', x), AVE, 0))


# Outputs of the separable convolutions of MobileNet v1, and their strides.
SEPARABLE = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + 5 * [(512, 1)] + [(1024, 2), (1024, 1)]


def mobilenet_v1(net, classes):
    """Howard et al. 2017, table 1."""
    x, inputs = net.conv_norm('conv1', 'data', 32, 3, stride=2, pad=1), 32
    for number, (outputs, stride) in enumerate(SEPARABLE, 2):
        x = net.conv_norm(f'conv{number}/dw', x, inputs, 3, stride=stride, pad=1, group=inputs)
        x, inputs = net.conv_norm(f'conv{number}/sep', x, outputs, 1), outputs
    net.scores(net.inner_product('fc', net.pool('pool', x, AVE, 0), classes, 'msra'))


# Stages of MobileNet v2: expansion factor of its blocks, outputs, blocks, stride of the first.
INVERTED = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


def mobilenet_v2(net, classes):
    """Sandler et al. 2018, table 2."""
    def block(name, x, inputs, wider, outputs, stride):
        y = x
        if wider > 1:
            y = net.conv_norm(f'{name}/expand', y, wider * inputs, 1, 'ReLU6')
        y = net.conv_norm(f'{name}/dwise', y, wider * inputs, 3, 'ReLU6', stride=stride, pad=1,
                          kind='DepthwiseConvolution')
        y = net.conv_norm(f'{name}/linear', y, outputs, 1, None)
        return net.add(name, [x, y]) if (inputs, stride) == (outputs, 1) else y

    x, inputs = net.conv_norm('conv1', 'data', 32, 3, 'ReLU6', stride=2, pad=1), 32
    for stage, (wider, outputs, blocks, stride) in enumerate(INVERTED, 2):
        for number in range(1, blocks + 1):
            x = block(f'conv{stage}_{number}', x, inputs, wider, outputs, stride if number == 1 else 1)
            inputs = outputs
    x = net.pool('pool', net.conv_norm('conv9', x, 1280, 1, 'ReLU6'), AVE, 0)
    net.scores(net.inner_product('fc', net.dropout('drop', x, 0.2), classes, 'msra'))


def shufflenet(groups, widths):
    """Zhang et al. 2018, table 1: `widths` are the outputs of its three stages."""
    def unit(net, name, x, inputs, outputs, grouped):
        halved = inputs != outputs
        y = net.conv_norm(f'{name}/reduce', x, outputs // 4, 1, group=groups if grouped else None)
        if grouped:
            y = net.layer(f'{name}/shuffle', 'ShuffleChannel', y, shuffle_channel_param={'group': groups})
        y = net.conv_norm(f'{name}/dwise', y, outputs // 4, 3, None, stride=2 if halved else 1, pad=1,
                          kind='DepthwiseConvolution')
        y = net.conv_norm(f'{name}/expand', y, outputs - inputs if halved else outputs, 1, None, group=groups)
        y = net.concat(name, [net.pool(f'{name}/pool', x, AVE), y]) if halved else net.add(name, [x, y])
        return net.relu(f'{name}/relu', y)

    def build(net, classes):
        x, inputs = net.pool('pool1', net.conv_norm('conv1', 'data', 24, 3, stride=2, pad=1)), 24
        for stage, (outputs, units) in enumerate(zip(widths, (4, 8, 4)), 2):
            for number in range(1, units + 1):
                x = unit(net, f'stage{stage}_{number}', x, inputs, outputs, (stage, number) != (2, 1))
                inputs = outputs
        net.scores(net.inner_product('fc', net.pool('pool', x, AVE, 0), classes, 'msra'))
    return build
