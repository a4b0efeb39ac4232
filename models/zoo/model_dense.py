"""Nets with an output for many places of an image: SSD, FCN, U-Net. For model_zoo.py."""

from model_text import TEST, TRAIN, Enum
from script import BadInput


def vgg_stages(net, convs, first_pad=1, last_pool=None):
    """The stages of VGG: `convs` convolutions in each. `last_pool`: fields of the last pooling, where it differs."""
    x = 'data'
    for stage, (count, width) in enumerate(zip(convs, (64, 128, 256, 512, 512)), 1):
        for number in range(1, count + 1):
            name = f'{stage}_{number}'
            pad = first_pad if name == '1_1' else 1
            x = net.relu('relu' + name, net.conv('conv' + name, x, width, 3, pad=pad))
        x = net.pool(f'pool{stage}', x, **(last_pool if last_pool and stage == 5 else {'kernel': 2}))
    return x


# ---------------------------------------------------------------- SSD

# Of each map: its blob, the shortest side of its boxes in pixels (the longest is the next one's), ratios of their
# sides, pixels between its places. Liu et al. 2016, section 2.2, as for VOC.
BOXES = [('conv4_3_norm', 30, [2], 8), ('fc7', 60, [2, 3], 16), ('conv6_2', 111, [2, 3], 32),
         ('conv7_2', 162, [2, 3], 64), ('conv8_2', 213, [2], 100), ('conv9_2', 264, [2], 300)]
LONGEST = 315


def ssd300(net, classes):
    """Liu et al. 2016, on VGG-16: figure 2."""
    def conv(name, x, outputs, kernel, relu=None, **more):
        return net.relu(relu or f'{name}_relu', net.conv(name, x, outputs, kernel, filler='xavier', **more))

    def last_channels(name, x, outputs):
        """A convolution whose values are then ordered by place."""
        x = net.conv(name, x, outputs, 3, pad=1, filler='xavier')
        x = net.layer(f'{name}_perm', 'Permute', x, permute_param={'order': [0, 2, 3, 1]})
        return net.layer(f'{name}_flat', 'Flatten', x, flatten_param={'axis': 1})

    x = vgg_stages(net, (2, 2, 3, 3, 3), last_pool={'kernel': 3, 'stride': 1, 'pad': 1})
    x = conv('fc6', x, 1024, 3, 'relu6', pad=6, dilation=6)
    x = conv('fc7', x, 1024, 1, 'relu7')
    for stage, (reduced, outputs, stride, pad) in enumerate(((256, 512, 2, 1), (128, 256, 2, 1), (128, 256, None, None),
                                                             (128, 256, None, None)), 6):
        x = conv(f'conv{stage}_1', x, reduced, 1)
        x = conv(f'conv{stage}_2', x, outputs, 3, stride=stride, pad=pad)
    net.layer('conv4_3_norm', 'Normalize', 'conv4_3', norm_param={
        'across_spatial': False, 'channel_shared': False, 'scale_filler': {'type': 'constant', 'value': 20}})
    offsets, shares, priors = [], [], []
    for (blob, shortest, ratios, step), longest in zip(BOXES, [box[1] for box in BOXES[1:]] + [LONGEST]):
        boxes = 2 + 2 * len(ratios)
        offsets.append(last_channels(f'{blob}_mbox_loc', blob, 4 * boxes))
        shares.append(last_channels(f'{blob}_mbox_conf', blob, classes * boxes))
        priors.append(net.layer(f'{blob}_mbox_priorbox', 'PriorBox', [blob, 'data'], prior_box_param={
            'min_size': shortest, 'max_size': longest, 'aspect_ratio': ratios, 'variance': [0.1, 0.1, 0.2, 0.2],
            'step': step}))
    found = [net.layer(name, 'Concat', parts, concat_param={'axis': axis}) for name, parts, axis in (
        ('mbox_loc', offsets, 1), ('mbox_conf', shares, 1), ('mbox_priorbox', priors, 2))]
    net.layer('mbox_loss', 'MultiBoxLoss', [*found, 'label'], include={'phase': TRAIN},
              propagate_down=[True, True, False, False], loss_param={'normalization': Enum('VALID')},
              multibox_loss_param={'num_classes': classes, 'code_type': Enum('CENTER_SIZE')})
    test_of_boxes(net, classes, found)


def test_of_boxes(net, classes, found):
    """Detections, and their mean average precision."""
    test = {'include': {'phase': TEST}}
    x = net.layer('mbox_conf_reshape', 'Reshape', found[1], **test, reshape_param={'shape': {'dim': [0, -1, classes]}})
    x = net.layer('mbox_conf_softmax', 'Softmax', x, **test, softmax_param={'axis': 2})
    x = net.layer('mbox_conf_flatten', 'Flatten', x, **test, flatten_param={'axis': 1})
    x = net.layer('detection_out', 'DetectionOutput', [found[0], x, found[2]], **test, detection_output_param={
        'num_classes': classes, 'code_type': Enum('CENTER_SIZE'), 'confidence_threshold': 0.01, 'keep_top_k': 200,
        'nms_param': {'nms_threshold': 0.45, 'top_k': 400}})
    net.layer('detection_eval', 'DetectionEvaluate', [x, 'label'], **test,
              detection_evaluate_param={'num_classes': classes, 'overlap_threshold': 0.5})


# ---------------------------------------------------------------- FCN


def fcn8s(net, classes):
    """Long et al. 2015, on VGG-16. The scores at three strides are upsampled by fixed bilinear weights and added. Label
    255 is ignored."""
    def larger(name, x, stride):
        """Upsamples `stride` times, less a border that the crop after it compensates."""
        return net.layer(name, 'Deconvolution', x, param={'lr_mult': 0}, convolution_param={
            'num_output': classes, 'kernel_size': 2 * stride, 'stride': stride, 'group': classes, 'bias_term': False,
            'weight_filler': {'type': 'bilinear'}})

    def cut(name, x, like, offset):
        return net.layer(name, 'Crop', [x, like], crop_param={'axis': 2, 'offset': offset})

    x = vgg_stages(net, (2, 2, 3, 3, 3), first_pad=100)
    for number, kernel in ((6, 7), (7, 1)):
        x = net.relu(f'relu{number}', net.conv(f'fc{number}', x, 4096, kernel))
        x = net.dropout(f'drop{number}', x, 0.5)
    x = larger('upscore2', net.conv('score_fr', x, classes, 1, filler='constant'), 2)
    for stage, offset, name in ((4, 5, 'upscore_pool4'), (3, 9, 'upscore8')):
        y = cut(f'score_pool{stage}c', net.conv(f'score_pool{stage}', f'pool{stage}', classes, 1, filler='constant'), x,
                offset)
        x = larger(name, net.add(f'fuse_pool{stage}', [x, y]), 2 if stage == 4 else 8)
    x = cut('score', x, 'data', 31)
    net.accuracy('accuracy', x, ignore_label=255)
    net.layer('loss', 'SoftmaxWithLoss', [x, 'label'], loss_param={'ignore_label': 255})


# ---------------------------------------------------------------- U-Net

DEPTH = 4
BORDER = 184  # pixels that the two convolutions at each size remove in all


def unet(net, classes):
    """Ronneberger et al. 2015, figure 1: convolutions without padding, so that the answer is smaller than the image."""
    def twice(name, x, outputs):
        for number in '12':
            x = net.relu(f'{name}_relu{number}', net.conv(f'{name}_conv{number}', x, outputs, 3))
        return x

    if net.crop % 16 != 12 or net.crop <= BORDER:
        raise BadInput(f'unet: images of {net.crop} pixels a side do not come out even; '
                       f'{BORDER + 4}, {BORDER + 20}, {BORDER + 36} ... do')
    x, side, skipped = 'data', net.crop, []
    for level in range(DEPTH):
        x, side = twice(f'down{level}', x, 64 << level), side - 4
        if level == DEPTH - 1:
            x = net.dropout(f'down{level}_drop', x, 0.5)
        skipped.append((x, side))
        x, side = net.pool(f'down{level}_pool', x, kernel=2), side // 2
    x, side = net.dropout('bottom_drop', twice('bottom', x, 64 << DEPTH), 0.5), side - 4
    for level in reversed(range(DEPTH)):
        x, side = net.conv(f'up{level}', x, 64 << level, 2, stride=2, kind='Deconvolution'), 2 * side
        other, other_side = skipped[level]
        other = net.layer(f'up{level}_crop', 'Crop', [other, x],
                          crop_param={'axis': 2, 'offset': (other_side - side) // 2})
        x, side = twice(f'up{level}', net.concat(f'up{level}_concat', [other, x]), 64 << level), side - 4
    net.scores(net.conv('score', x, classes, 1))
