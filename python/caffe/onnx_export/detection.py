"""Layers of detectors."""

import numpy as np

from ..proto.caffe_pb2 import PriorBoxParameter
from .layer import converts

INT64, FLOAT, DOUBLE = 7, 1, 11  # TensorProto's numbers of types
LOWEST = np.finfo(np.float32).min


@converts('PriorBox')
def prior_box(g, layer):
    """As constants, because only the shapes of the bottoms matter."""
    return [g.node('Identity', [g.constant(layer.top_values()[0], 'boxes')], layer.y)]


@converts('ROIPooling')
def roi_pooling(g, layer):
    param = layer.param.roi_pooling_param
    return [g.node('MaxRoiPool', [layer.x, layer.bottoms[1].name], layer.y,
                   pooled_shape=[param.pooled_h, param.pooled_w], spatial_scale=param.spatial_scale)]


def bin_masks(g, first, last, scale, bins, size):
    """For regions from `first` to `last`, [R, 1] each, returns which of `size` places are in which of `bins` bins, [R,
    bins, size] of 0 and 1, and the number of places in a bin, [R, bins, 1], at least 1."""
    def nearest(x):  # halves are rounded away from zero, in double precision, in which the sum is exact
        wide = g.node('Cast', [x], to=DOUBLE)
        half = g.node('Add', [g.node('Abs', [wide]), g.constant(0.5, dtype=np.float64)])
        return g.node('Cast', [g.node('Mul', [g.node('Sign', [wide]), g.node('Floor', [half])])], to=FLOAT)
    start = g.binary('Mul', nearest(first), scale)
    end = g.binary('Mul', g.binary('Add', nearest(last), 1), scale)
    length = g.node('Max', [g.node('Sub', [end, start]), g.constant(0.1)])
    step = g.binary('Div', length, bins)
    numbers = np.arange(bins)[np.newaxis]
    begins = g.node('Floor', [g.node('Add', [g.binary('Mul', step, numbers), start])])
    ends = g.node('Ceil', [g.node('Add', [g.binary('Mul', step, numbers + 1), start])])
    places = g.constant(np.arange(size)[np.newaxis, np.newaxis])
    begins, ends = (g.reshape(edge, [-1, bins, 1]) for edge in (begins, ends))
    outside = g.node('Or', [g.node('Less', [places, begins]), g.node('Not', [g.node('Less', [places, ends])])])
    mask = g.node('Cast', [g.node('Not', [outside])], to=FLOAT)
    return mask, g.node('Max', [g.reduce('ReduceSum', mask, [2]), g.constant(1)])


@converts('PSROIPooling')
def psroi_pooling(g, layer):
    """Sums over a bin are matrix products with the 0s and 1s of its columns, then of its rows. All items form one tall
    map, in which rows of other items have a 0."""
    param = layer.param.psroi_pooling_param
    outputs, k = param.output_dim, param.group_size
    items, _, height, width = layer.shape
    if g.dynamic_batch:
        layer.refuse('its regions name items of the batch: export it without --dynamic_batch')
    regions = g.reshape(layer.bottoms[1].name, [-1, 5])
    item, x1, y1, x2, y2 = (g.cut(regions, 1, i, i + 1) for i in range(5))
    columns, columns_of_bin = bin_masks(g, x1, x2, param.spatial_scale, k, width)
    rows, rows_of_bin = bin_masks(g, y1, y2, param.spatial_scale, k, height)
    own = g.node('Cast', [g.node('Equal', [g.node('Cast', [item], to=INT64), g.ints([range(items)])])], to=FLOAT)
    rows = g.node('Mul', [g.reshape(own, [-1, 1, items, 1]), g.reshape(rows, [-1, k, 1, height])])  # [R, i, item, y]
    rows = g.reshape(g.node('Transpose', [rows], perm=[1, 2, 3, 0]), [1, k, 1, items * height, -1])
    maps = g.reshape(layer.x, [items, outputs, k, k, height, width])
    maps = g.reshape(g.node('Transpose', [maps], perm=[3, 2, 1, 0, 4, 5]), [k, -1, width])  # [j, (i, output, item, y), x]
    sums = g.node('MatMul', [maps, g.node('Transpose', [columns], perm=[1, 2, 0])])  # [j, (i, output, item, y), R]
    # R, which may be any number, is the dimension given as -1.
    sums = g.node('Mul', [g.reshape(sums, [k, k, outputs, items * height, -1]), rows])
    sums = g.node('Transpose', [g.reduce('ReduceSum', sums, [3], keepdims=0)], perm=[3, 2, 1, 0])  # [R, output, i, j]
    count = g.node('Mul', [g.reshape(rows_of_bin, [-1, 1, k, 1]), g.reshape(columns_of_bin, [-1, 1, 1, k])])
    return [g.node('Div', [sums, count], layer.y)]


def decode(g, param, offsets, priors):
    """Boxes as x1, y1, x2, y2, from offsets [..., P, 4] and priors [2, P, 4]."""
    def part(x, begin, end):
        return g.cut(x, -1, begin, end)
    prior = g.reshape(g.cut(priors, 0, 0, 1), [-1, 4])
    moves = offsets
    if not param.variance_encoded_in_target:
        moves = g.node('Mul', [offsets, g.reshape(g.cut(priors, 0, 1, 2), [-1, 4])])
    low, high = part(prior, 0, 2), part(prior, 2, 4)
    if param.code_type == PriorBoxParameter.CORNER:
        return g.node('Add', [prior, moves])
    size = g.node('Sub', [high, low])
    if param.code_type == PriorBoxParameter.CORNER_SIZE:
        return g.node('Add', [prior, g.node('Mul', [moves, g.node('Concat', [size, size], axis=-1)])])
    centre = g.node('Add', [g.binary('Div', g.node('Add', [low, high]), 2), g.node('Mul', [part(moves, 0, 2), size])])
    half = g.binary('Div', g.node('Mul', [g.node('Exp', [part(moves, 2, 4)]), size]), 2)
    return g.node('Concat', [g.node('Sub', [centre, half]), g.node('Add', [centre, half])], axis=-1)


def size_of(g, x, axis=0):
    """The size of an axis, as [1]."""
    return g.node('Slice', [g.node('Shape', [x]), g.ints([axis]), g.ints([axis + 1])])


def count_up(g, count):
    """0, 1, ... below `count`, a value [1]."""
    whole = g.reshape(count, [])
    return g.node('Range', [g.constant(0, dtype=np.int64), whole, g.constant(1, dtype=np.int64)])


def keep_best(g, places, keys, most, items):
    """`places`, [M], are the items of rows, in order. Returns the numbers of the rows whose keys are among the `most`
    largest of their item. Ties go to the first."""
    count = size_of(g, places)
    _, by_key = g.node('TopK', [keys, count], outputs=2, axis=0)
    # All numbers are different, because some runtimes do not sort stably.
    number = g.node('Add', [g.node('Mul', [g.node('Gather', [places, by_key]), count]), count_up(g, count)])
    _, by_item = g.node('TopK', [number, count], outputs=2, axis=0, largest=0)
    order = g.node('Gather', [by_key, by_item])  # by item, then by key
    item = g.node('Gather', [places, order])
    same = g.node('Cast', [g.node('Equal', [g.reshape(item, [-1, 1]), g.reshape(count_up(g, items), [1, -1])])], to=INT64)
    of_item = g.reduce('ReduceSum', same, [0], keepdims=0)
    first = g.node('CumSum', [of_item, g.constant(0, dtype=np.int64)], exclusive=1)
    rank = g.node('Sub', [count_up(g, count), g.node('Gather', [first, item])])
    best = g.reshape(g.node('NonZero', [g.node('Less', [rank, g.constant(most, dtype=np.int64)])]), [-1])
    chosen = g.node('Gather', [order, best])
    ordered, _ = g.node('TopK', [chosen, size_of(g, chosen)], outputs=2, axis=0, largest=0)
    return ordered


@converts('DetectionOutput')
def detection_output(g, layer):
    """As NonMaxSuppression. If locations are not shared, each class has its own boxes and becomes an item."""
    param = layer.param.detection_output_param
    nms, classes = param.nms_param, param.num_classes
    if nms.eta != 1 and nms.nms_threshold > 0.5:
        layer.refuse('NonMaxSuppression has no threshold that changes (eta)')
    priors_of_item = layer.bottoms[2].shape[2] // 4
    sets = 1 if param.share_location else classes
    priors = g.reshape(layer.bottoms[2].name, [-1, priors_of_item, 4])
    offsets = g.reshape(layer.x, [-1, priors_of_item, sets, 4])
    boxes = decode(g, param, g.node('Transpose', [offsets], perm=[0, 2, 1, 3]), priors)  # [item, set, P, 4]
    scores = g.node('Transpose', [g.reshape(layer.bottoms[1].name, [-1, priors_of_item, classes])], perm=[0, 2, 1])
    labels = [label for label in range(classes) if label != param.background_label_id]
    if len(labels) < classes:
        scores = g.node('Gather', [scores, g.ints(labels)], axis=1)
        if sets > 1:
            boxes = g.node('Gather', [boxes, g.ints(labels)], axis=1)
    # A box with swapped sides has no area and suppresses nothing.
    low, high = g.cut(boxes, -1, 0, 2), g.cut(boxes, -1, 2, 4)
    areas = g.reshape(g.node('Concat', [low, g.node('Max', [low, high])], axis=-1), [-1, priors_of_item, 4])
    candidates, least = scores, param.confidence_threshold if param.HasField('confidence_threshold') else None
    if nms.HasField('top_k') and 0 <= nms.top_k < priors_of_item:
        best, places = g.node('TopK', [scores, g.ints([nms.top_k])], outputs=2, axis=2)
        nothing = g.node('Expand', [g.constant(LOWEST), g.node('Shape', [scores])])
        candidates = g.node('ScatterElements', [nothing, places, best], axis=2)
        least = LOWEST if least is None else least
    if sets > 1:
        candidates = g.reshape(candidates, [-1, 1, priors_of_item])
    inputs = [areas, candidates, g.constant([priors_of_item], dtype=np.int64),
              g.constant([min(nms.nms_threshold, 1)])] + ([] if least is None else [g.constant([least])])
    found = g.node('NonMaxSuppression', inputs)  # rows of item, class and prior, by item, class and score
    item, label, prior = (g.cut(found, 1, i, i + 1) for i in range(3))
    if sets > 1:
        number = g.constant(len(labels), dtype=np.int64)
        item, label = g.node('Div', [item, number]), g.node('Mod', [item, number])
    items = size_of(g, layer.x)
    key = g.node('GatherND', [scores, g.node('Concat', [item, label, prior], axis=1)])
    if sets > 1:
        corners = g.node('GatherND', [boxes, g.node('Concat', [item, label, prior], axis=1)])
    else:
        corners = g.node('GatherND', [g.reshape(boxes, [-1, priors_of_item, 4]), g.node('Concat', [item, prior], axis=1)])
    names = g.node('Gather', [g.constant(labels), label])
    rows = g.node('Concat', [g.node('Cast', [item], to=FLOAT), names, g.reshape(key, [-1, 1]), corners], axis=1)
    if param.keep_top_k >= 0:
        rows = g.node('Gather', [rows, keep_best(g, g.reshape(item, [-1]), key, param.keep_top_k, items)], axis=0)
    # If nothing at all is found: a row of -1 for each item.
    nothing = g.node('Cast', [g.node('Equal', [size_of(g, rows), g.ints([0])])], to=INT64)
    empty = g.node('Cast', [g.reshape(count_up(g, g.node('Mul', [items, nothing])), [-1, 1])], to=FLOAT)
    empty = g.pad(empty, [0, 0, 0, 6], -1.0)
    return [g.reshape(g.node('Concat', [rows, empty], axis=0), [1, 1, -1, 7], layer.y)]
