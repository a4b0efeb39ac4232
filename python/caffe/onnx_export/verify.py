"""Compares a net with its ONNX graph in ONNX Runtime, output by output."""

import os
import tempfile

import numpy as np

from .builder import save, tensor_info

LIMIT = 1e-4  # of an output's largest value


class Differs(Exception):
    """The exported net gives other values."""


def has_runtime():
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


def session_of(model, folder):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    path = os.path.join(folder, 'net.onnx')
    save(model, path)
    return onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])


def difference(ours, theirs):
    """The largest difference, as a part of the largest value; infinite where shapes differ."""
    if ours.shape != theirs.shape or not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return float('inf')
    if ours.size == 0:
        return 0.0
    largest = float(np.nanmax(np.abs(ours)))
    return float(np.nanmax(np.abs(ours - theirs))) / largest if largest > 0 else float(np.nanmax(np.abs(theirs)))


def random_values(random, exporter, name, shape):
    """What the layers that read it may get: numbers of rows, of items, marks of sequences, or any values."""
    for layer in exporter.layers:
        if name not in layer.bottom:
            continue
        if layer.type == 'Embed':
            return random.randint(0, layer.embed_param.input_dim, shape)
        if layer.type == 'BatchReindex' and layer.bottom[1] == name:
            return random.randint(0, exporter.shapes[layer.bottom[0]][0], shape)
        if layer.type in ('LSTM', 'RNN') and list(layer.bottom).index(name) == 1:
            marks = random.rand(*shape) < 0.8
            marks[0] = 0  # the net would go on from the forward before, ONNX begins anew
            return marks
        if layer.type in ('ROIPooling', 'PSROIPooling') and layer.bottom[1] == name:
            return random_regions(random, exporter, layer, shape)
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


def compare(net, exporter, model, inputs, outputs, count):
    """Runs `count` random inputs through both; of each output its largest difference. Raises Differs, which names
    the first layer whose value differs, if one is above LIMIT."""
    random = np.random.RandomState(1)
    worst = {value.name: 0.0 for value in outputs}
    with tempfile.TemporaryDirectory() as folder:
        session = session_of(model, folder)
        for _ in range(count):
            feeds = {}
            for value in inputs:
                feeds[value.name] = random_values(random, exporter, value.name, value.shape).astype(np.float32)
                net.blobs[value.name].data[...] = feeds[value.name]
            exporter.forward()
            for value, theirs in zip(outputs, session.run([value.name for value in outputs], feeds)):
                worst[value.name] = max(worst[value.name], difference(net.blobs[value.name].data, theirs))
            bad = [name for name, found in worst.items() if not found <= LIMIT]
            if bad:
                raise Differs(f'output {bad[0]} differs by {worst[bad[0]]:.1e} of its largest value; '
                              + first_difference(net, exporter, model, feeds, folder))
    return worst


def first_difference(net, exporter, model, feeds, folder):
    """Which layer differs first, in a graph all of whose values are outputs."""
    everything = type(model)()
    everything.CopyFrom(model)
    known = {output.name for output in everything.graph.output}
    names = [name for name in exporter.made_by if net.blobs[name].data.size]
    everything.graph.output.extend(tensor_info(name, None) for name in names if name not in known)
    for name, theirs in zip(names, session_of(everything, folder).run(names, feeds)):
        found = difference(net.blobs[name].data, theirs)
        if not found <= LIMIT:
            layer = exporter.made_by[name]
            return f'the first layer that differs is {layer.name} ({layer.type}), by {found:.1e}'
    return 'no layer before differs'
