"""Compares a net with its ONNX graph in ONNX Runtime, output by output."""

import os
import tempfile

import numpy as np
from onnx import TensorProto, helper

from .builder import save, tensor_info

LIMIT = 1e-4  # relative to an output's largest value


class Differs(Exception):
    """The exported net computes other values."""


def has_runtime():
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


def runs_of(given):
    """How many inputs a command compares: the given number, or else 3 if ONNX Runtime is found."""
    if given and not has_runtime():
        raise ValueError('--verify needs ONNX Runtime (pip install onnxruntime)')
    if given is None and not has_runtime():
        print('Not compared with ONNX Runtime, which is not here (pip install onnxruntime).')
        return 0
    return 3 if given is None else given


def session_of(model, folder):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    path = os.path.join(folder, 'net.onnx')
    save(model, path, check=False)
    return onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])


def decides(layer):
    """Whether a difference in the last bit of its bottoms can change its tops by any amount."""
    return layer.type in ('ArgMax', 'DetectionOutput', 'Threshold') or (layer.type == 'Pooling' and len(layer.top) == 2)


class Piece:
    """The part of a graph that computes `outputs` from `inputs` (names of values), run alone in ONNX Runtime. types:
    types of inputs that are not floats."""

    def __init__(self, model, inputs, outputs, folder, types=None):
        given, wanted, nodes = set(inputs), set(outputs), []
        for node in reversed(model.graph.node):
            if any(name in wanted and name not in given for name in node.output):
                nodes.insert(0, node)
                wanted.update(node.input)
        self.inputs, self.outputs = [name for name in inputs if name in wanted], list(outputs)
        infos = [helper.make_tensor_value_info(name, (types or {}).get(name, TensorProto.FLOAT), None) for name in self.inputs]
        graph = helper.make_graph(nodes, 'piece', infos,
                                  [tensor_info(name, None) for name in self.outputs],
                                  initializer=[each for each in model.graph.initializer if each.name in wanted])
        piece = helper.make_model(graph, opset_imports=model.opset_import)
        piece.ir_version = model.ir_version
        self.session = session_of(piece, folder) if self.outputs else None

    def run(self, values):
        """Runs the part. `values` is a function: name -> array."""
        if self.session is None:
            return {}
        return dict(zip(self.outputs, self.session.run(self.outputs, {name: values(name) for name in self.inputs})))


def difference(ours, theirs, maker=''):
    """The largest difference relative to the largest value; infinite if shapes differ. maker: the layer or operator
    that computes them. ONNX Runtime computes some functions with a fixed absolute precision, so values close to 0 have
    few correct digits; for these functions, the largest value counts as at least a hundredth."""
    if ours.shape != theirs.shape or not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return float('inf')
    if ours.size == 0:
        return 0.0
    largest = max(float(np.nanmax(np.abs(ours))), 0.01 if maker.lower() in ('sigmoid', 'softmax', 'tanh') else 0.0)
    return float(np.nanmax(np.abs(ours - theirs))) / largest if largest > 0 else float(np.nanmax(np.abs(theirs)))


def difference_of_detections(ours, theirs):
    """The same for rows of item, label, score and box. A difference in the last bit of an overlap can suppress a box,
    so up to one row in a hundred may have no match."""
    rows = [x.reshape(-1, 7) for x in (ours, theirs)]
    limit, alone, worst = LIMIT * max(1, float(np.abs(ours).max())), 0, 0.0
    for some, others in (rows, rows[::-1]):
        for row in some:
            of_label = others[(others[:, :2] == row[:2]).all(1)]
            nearest = np.abs(of_label - row).max(1).min() if len(of_label) else np.inf
            alone += nearest > limit
            worst = max(worst, nearest if nearest <= limit else 0.0)
    return np.inf if alone > 0.01 * (len(ours) + len(theirs)) else worst


def random_values(random, exporter, name, shape):
    """Random values that suit the layers that read the input: numbers of rows or items, marks of sequences, or any
    values."""
    for layer in exporter.layers:
        if name not in layer.bottom:
            continue
        if layer.type == 'Embed':
            return random.randint(0, layer.embed_param.input_dim, shape)
        if layer.type == 'BatchReindex' and layer.bottom[1] == name:
            return random.randint(0, exporter.shapes[layer.bottom[0]][0], shape)
        if layer.type in ('LSTM', 'RNN') and list(layer.bottom).index(name) == 1:
            marks = random.rand(*shape) < 0.8
            marks[0] = 0  # the net would continue from the previous forward pass, but ONNX starts anew
            return marks
        if layer.type in ('ROIPooling', 'PSROIPooling') and layer.bottom[1] == name:
            return random_regions(random, exporter, layer, shape)
        if layer.type == 'DetectionOutput' and layer.bottom[2] == name:
            return random_priors(random, shape)
        if layer.type == 'Filter' and layer.bottom[-1] == name:
            return random.rand(*shape) < 0.7
        if layer.type in ('Split', 'Flatten', 'Reshape'):
            return random_values(random, exporter, layer.top[0], shape)
        if layer.type in ('Log', 'Power', 'Pooling') and layer.pooling_param.pool != 1:
            return random.rand(*shape) + 0.1
    return random.uniform(-1, 1, shape)


def random_regions(random, exporter, layer, shape):
    """Item, x1, y1, x2, y2 in pixels of the image."""
    items, _, height, width = exporter.shapes[layer.bottom[0]]
    scale = max(layer.roi_pooling_param.spatial_scale, layer.psroi_pooling_param.spatial_scale) or 1.0
    regions = np.empty((shape[0], 5))
    regions[:, 0] = random.randint(0, items, shape[0])
    for begin, size in ((1, width), (2, height)):
        ends = np.sort(random.uniform(0, size / scale, (shape[0], 2)))
        regions[:, begin], regions[:, begin + 2] = ends[:, 0], ends[:, 1]
    return regions.reshape(shape)


def random_priors(random, shape):
    """Boxes, and SSD's variances."""
    low, size = random.uniform(0, 0.6, (shape[2] // 4, 2)), random.uniform(0.15, 0.4, (shape[2] // 4, 2))
    boxes = np.concatenate([low, low + size], 1).reshape(-1)
    return np.stack([boxes, np.tile([0.1, 0.1, 0.2, 0.2], shape[2] // 4)])[np.newaxis, :shape[1]]


def compare(net, exporter, model, inputs, count):
    """Runs `count` random inputs through both. Returns the largest difference of each output. If one is above LIMIT,
    raises Differs, which names the first layer whose value differs. For layers that decide, such as ArgMax, ONNX
    Runtime gets the net's bottoms, as do the layers after them: both the bottoms and the decisions from the same
    bottoms must agree."""
    random = np.random.RandomState(1)
    blob_of = exporter.blob_of
    deciding = [made for made in exporter.converted
                if decides(made[0]) and all(value.name in blob_of for value in made[1] + made[2])]
    decided = {value.name: layer for layer, _, tops in deciding for value in tops}
    type_of = {value.name: layer.type for layer, _, tops in exporter.converted for value in tops}
    names = [value.name for value in inputs]
    checked = [value.name for value in exporter.outputs if value.name not in decided]
    checked += [value.name for _, bottoms, _ in deciding for value in bottoms]
    checked = [name for name in dict.fromkeys(checked) if name not in names and name not in decided]
    worst = {name: 0.0 for name in [*checked, *decided]}
    with tempfile.TemporaryDirectory() as folder:
        pieces = [Piece(model, names + list(decided), checked, folder)]
        pieces += [Piece(model, [value.name for value in bottoms], [value.name for value in tops], folder)
                   for _, bottoms, tops in deciding]
        for _ in range(count):
            feeds = {value.name: random_values(random, exporter, value.name, value.shape).astype(np.float32)
                     for value in inputs}
            for name, values in feeds.items():
                net.blobs[name].data[...] = values
            exporter.forward()

            def value_of(name):
                return feeds[name] if name in feeds else net.blobs[blob_of[name]].data
            for piece in pieces:
                for name, theirs in piece.run(value_of).items():
                    layer = decided.get(name)
                    if layer and layer.type == 'DetectionOutput':
                        found = difference_of_detections(value_of(name), theirs)
                    else:
                        found = difference(value_of(name), theirs, type_of.get(name, ''))
                    worst[name] = max(worst[name], found)
            bad = [name for name, found in worst.items() if not found <= LIMIT]
            if bad:
                raise Differs(f'{bad[0]} differs by {worst[bad[0]]:.1e} of its largest value; '
                              + first_difference(exporter, model, value_of, names + list(decided), folder))
    return worst


def first_difference(exporter, model, value_of, inputs, folder):
    """Names the first layer that differs."""
    makers = {value.name: layer for layer, _, tops in exporter.converted for value in tops
              if value.name in exporter.blob_of and value.name not in inputs and value_of(value.name).size}
    for name, theirs in Piece(model, inputs, makers, folder).run(value_of).items():
        found = difference(value_of(name), theirs, makers[name].type)
        if not found <= LIMIT:
            return f'the first layer that differs is {makers[name].name} ({makers[name].type}), by {found:.1e}'
    return 'no layer before differs'
