"""Layers that move values without changing them."""

from .layer import converts


def new_shape(g, layer, shape):
    """`shape` for Reshape. With a symbolic batch, the first dimension is copied or computed from the others."""
    shape = list(shape)
    if g.dynamic_batch:
        batch = layer.shape[0]
        if shape[0] == batch:
            shape[0] = 0
        elif shape[0] % batch == 0 and -1 not in shape:
            shape[0] = -1
        else:
            layer.refuse('its shape does not follow from the batch: export it without --dynamic_batch')
    return shape


@converts('Reshape', 'Flatten')
def reshape(g, layer):
    return [g.reshape(layer.x, new_shape(g, layer, layer.top_shapes[0]), layer.y)]


@converts('Concat')
def concat(g, layer):
    param = layer.param.concat_param
    axis = param.concat_dim if param.HasField('concat_dim') else layer.axis(param.axis)
    return [g.node('Concat', [bottom.name for bottom in layer.bottoms], layer.y, axis=axis)]


@converts('Slice')
def slice_(g, layer):
    param = layer.param.slice_param
    axis = param.slice_dim if param.HasField('slice_dim') else layer.axis(param.axis)
    if axis == 0 and g.dynamic_batch:
        layer.refuse('it cuts the batch: export it without --dynamic_batch')
    begin, tops = 0, []
    for name, shape in zip(layer.top_names, layer.top_shapes):
        tops.append(g.cut(layer.x, axis, begin, begin + shape[axis], name))
        begin += shape[axis]
    return tops


@converts('Permute')
def permute(g, layer):
    order = list(layer.param.permute_param.order)
    order += [axis for axis in range(len(layer.shape)) if axis not in order]
    return [g.node('Transpose', [layer.x], layer.y, perm=order)]


@converts('ShuffleChannel')
def shuffle_channel(g, layer):
    group, channels = layer.param.shuffle_channel_param.group, layer.shape[1]
    rest = list(layer.shape[2:])
    split = g.reshape(layer.x, [0, group, channels // group] + rest)
    turned = g.node('Transpose', [split], perm=[0, 2, 1] + list(range(3, 3 + len(rest))))
    return [g.reshape(turned, [0, channels] + rest, layer.y)]


@converts('Reorg')
def reorg(g, layer):
    param = layer.param.reorg_param
    s, (_, channels, height, width) = param.stride, layer.shape
    d = channels // (s * s)
    if param.reverse:  # values (k d + c) of channel go to (c, row k / s, column k % s)
        split = g.reshape(layer.x, [0, s, s, d, height, width])
        turned = g.node('Transpose', [split], perm=[0, 3, 4, 1, 5, 2])
    else:
        split = g.reshape(layer.x, [0, d, height, s, width, s])
        turned = g.node('Transpose', [split], perm=[0, 3, 5, 1, 2, 4])
    return [g.reshape(turned, [0] + list(layer.top_shapes[0][1:]), layer.y)]


@converts('Crop')
def crop(g, layer):
    param = layer.param.crop_param
    x, axis = layer.x, layer.axis(param.axis)
    offsets = list(param.offset) or [0]
    for i in range(axis, len(layer.shape)):
        if i == 0 and g.dynamic_batch:
            layer.refuse('it cuts the batch: export it without --dynamic_batch')
        offset = offsets[0] if len(offsets) == 1 else offsets[i - axis]
        if layer.shape[i] != layer.top_shapes[0][i]:
            x = g.cut(x, i, offset, offset + layer.top_shapes[0][i])
    return [g.node('Identity', [x], layer.y)]


@converts('Tile')
def tile(g, layer):
    param = layer.param.tile_param
    repeats = [1] * len(layer.shape)
    repeats[layer.axis(param.axis)] = param.tiles
    return [g.node('Tile', [layer.x, g.ints(repeats)], layer.y)]


@converts('BatchReindex')
def batch_reindex(g, layer):
    places = g.node('Cast', [g.reshape(layer.bottoms[1].name, [-1])], to=7)
    return [g.node('Gather', [layer.x, places], layer.y, axis=0)]


@converts('Parameter')
def parameter(g, layer):
    return [g.node('Identity', [g.constant(layer.blobs[0], 'value')], layer.y)]


@converts('Filter')
def filter_(g, layer):
    marks = g.node('Cast', [g.reshape(layer.bottoms[-1].name, [-1])], to=9)
    chosen = g.reshape(g.node('NonZero', [marks]), [-1])
    return [g.node('Gather', [bottom.name, chosen], top, axis=0)
            for bottom, top in zip(layer.bottoms, layer.top_names)]
