"""Inception v3 and v4. For model_zoo.py. A module is a list of branches. A branch is a list of steps: AVERAGE or
LARGEST, a pooling; (outputs, kernel), a convolution that keeps the size; (outputs, kernel, stride), one without
padding. The last step may be a list of branches, into which the branch forks."""

from model_text import AVE

AVERAGE, LARGEST = 'average', 'largest'
ONE, ROW, COLUMN, THREE, FIVE = (1, 1), (1, 3), (3, 1), (3, 3), (5, 5)
LONG_ROW, LONG_COLUMN = (1, 7), (7, 1)


def run(net, name, x, steps):
    """Adds the steps of a branch; returns its tops."""
    for number, step in enumerate(steps, 1):
        top = f'{name}_{number}'
        if isinstance(step, list):
            return [end for letter, branch in zip('ab', step) for end in run(net, f'{top}{letter}', x, branch)]
        if step == AVERAGE:
            x = net.pool(top, x, AVE, 3, 1, 1)
        elif step == LARGEST:
            x = net.pool(top, x)
        else:
            outputs, kernel, *stride = step
            pad = None if stride else (kernel[0] // 2, kernel[1] // 2)
            kernel = kernel[0] if kernel[0] == kernel[1] else kernel
            if pad and pad[0] == pad[1]:
                pad = pad[0]
            x = net.conv_norm(top, x, outputs, kernel, stride=stride[0] if stride else None, pad=pad)
    return [x]


def modules(net, x, listed):
    """`listed`: name to branches."""
    for name, branches in listed.items():
        ends = [end for number, steps in enumerate(branches, 1) for end in run(net, f'{name}/branch{number}', x, steps)]
        x = net.concat(name, ends) if len(ends) > 1 else ends[0]
    return x


def both_ways(outputs):
    return [[(outputs, ROW)], [(outputs, COLUMN)]]


def inception_v3(net, classes):
    """Szegedy et al. 2016 (Rethinking the Inception Architecture), table 1 and figures 5 to 7 and 10, without the
    auxiliary loss, in the widths that its authors published in code."""
    def small(pooled):
        return [[(64, ONE)], [(48, ONE), (64, FIVE)], [(64, ONE), (96, THREE), (96, THREE)], [AVERAGE, (pooled, ONE)]]

    def long(width):
        return [[(192, ONE)], [(width, ONE), (width, LONG_ROW), (192, LONG_COLUMN)],
                [(width, ONE), (width, LONG_COLUMN), (width, LONG_ROW), (width, LONG_COLUMN), (192, LONG_ROW)],
                [AVERAGE, (192, ONE)]]

    wide = [[(320, ONE)], [(384, ONE), both_ways(384)], [(448, ONE), (384, THREE), both_ways(384)],
            [AVERAGE, (192, ONE)]]
    x = modules(net, 'data', {
        'stem': [[(32, THREE, 2), (32, THREE, 1), (64, THREE), LARGEST, (80, ONE), (192, THREE, 1), LARGEST]],
        'mixed1': small(32), 'mixed2': small(64), 'mixed3': small(64),
        'mixed4': [[(384, THREE, 2)], [(64, ONE), (96, THREE), (96, THREE, 2)], [LARGEST]],
        'mixed5': long(128), 'mixed6': long(160), 'mixed7': long(160), 'mixed8': long(192),
        'mixed9': [[(192, ONE), (320, THREE, 2)],
                   [(192, ONE), (192, LONG_ROW), (192, LONG_COLUMN), (192, THREE, 2)], [LARGEST]],
        'mixed10': wide, 'mixed11': wide})
    x = net.dropout('drop', net.pool('pool', x, AVE, 0), 0.2)
    net.scores(net.inner_product('fc', x, classes, 'msra'))


def inception_v4(net, classes):
    """Szegedy et al. 2017 (Inception-v4), figures 3 to 9."""
    a = [[(96, ONE)], [(64, ONE), (96, THREE)], [(64, ONE), (96, THREE), (96, THREE)], [AVERAGE, (96, ONE)]]
    b = [[(384, ONE)], [(192, ONE), (224, LONG_ROW), (256, LONG_COLUMN)],
         [(192, ONE), (192, LONG_ROW), (224, LONG_COLUMN), (224, LONG_ROW), (256, LONG_COLUMN)], [AVERAGE, (128, ONE)]]
    c = [[(256, ONE)], [(384, ONE), both_ways(256)], [(384, ONE), (448, ROW), (512, COLUMN), both_ways(256)],
         [AVERAGE, (256, ONE)]]
    x = modules(net, 'data', {
        'stem1': [[(32, THREE, 2), (32, THREE, 1), (64, THREE)]],
        'stem2': [[LARGEST], [(96, THREE, 2)]],
        'stem3': [[(64, ONE), (96, THREE, 1)], [(64, ONE), (64, LONG_COLUMN), (64, LONG_ROW), (96, THREE, 1)]],
        'stem4': [[(192, THREE, 2)], [LARGEST]],
        **{f'a{number}': a for number in range(1, 5)},
        'reduce_a': [[LARGEST], [(384, THREE, 2)], [(192, ONE), (224, THREE), (256, THREE, 2)]],
        **{f'b{number}': b for number in range(1, 8)},
        'reduce_b': [[LARGEST], [(192, ONE), (192, THREE, 2)],
                     [(256, ONE), (256, LONG_ROW), (320, LONG_COLUMN), (320, THREE, 2)]],
        **{f'c{number}': c for number in range(1, 4)}})
    x = net.dropout('drop', net.pool('pool', x, AVE, 0), 0.2)
    net.scores(net.inner_product('fc', x, classes, 'msra'))
