"""Reads an ONNX file as a net, for `layrub import` and caffe.import_onnx.

    import caffe
    caffe.import_onnx('net.onnx', 'net')  # writes net.prototxt and net.caffemodel
    net = caffe.Net('net.prototxt', 'net.caffemodel', caffe.TEST)

Each node becomes the equivalent layer, or a few layers (docs/onnx.md). All nodes without an equivalent are listed.
"""

import os
import tempfile

import numpy as np
from google.protobuf import text_format
from onnx import TensorProto

from ..onnx_export.layer import Refusal
from ..onnx_export.verify import LIMIT, Differs, Piece, difference
from ..proto import caffe_pb2
from . import operators, shapes, spatial  # noqa: F401  they register readers
from .graph import Graph
from .writer import READERS, Writer


def import_onnx(path, prefix, batch=0, input_shapes=None, verify=0):
    """Writes the ONNX file `path` as PREFIX.prototxt and PREFIX.caffemodel.

    batch: the first dimension of the inputs; 0: that of the file, or 1 if the file leaves it open. input_shapes: {name:
    dimensions} for inputs whose other dimensions the file leaves open. verify: the number of random inputs on which the
    net and ONNX Runtime are compared before the files are written.

    Returns {name of an output: its largest difference relative to its largest value}. Raises Refusal, which lists every
    node without a layer, and Differs if results differ; then nothing is written."""
    graph = Graph(path, batch, input_shapes or {})
    writer = Writer(graph)
    problems = []
    for node in graph.nodes:
        writer.node = node
        try:
            read(writer, node)
        except Refusal as problem:
            problems.append(f'  {node.name} ({node.op_type}): {problem}')
            writer.blobs.update((name, name) for name in node.output if name)
    for name in graph.outputs:
        if not problems:
            writer.blob(name)  # makes a layer for a constant
    if problems:
        raise Refusal(f'{path} has what no layer does:\n' + '\n'.join(problems))
    folder, base = os.path.split(os.path.abspath(prefix))
    with tempfile.TemporaryDirectory(dir=folder, prefix='.import') as temporary:
        part = os.path.join(temporary, base)
        save(writer.net, path, part)
        differences = compare(graph, writer, part, verify) if verify else {}
        for suffix in ('.prototxt', '.caffemodel'):
            os.replace(part + suffix, prefix + suffix)
    return differences


def read(writer, node):
    if node.domain not in ('', 'ai.onnx'):
        raise Refusal(f'an operator of {node.domain}')
    if node.op_type not in READERS:
        raise Refusal('there is no layer for this operator')
    for name in node.output:
        if name in writer.graph.users:
            writer.shape(name)
    READERS[node.op_type](writer, node)


def save(net, source, prefix):
    """Writes the layers as text, and with their parameters as a .caffemodel."""
    with open(prefix + '.caffemodel', 'wb') as file:
        file.write(net.SerializeToString())
    text = caffe_pb2.NetParameter()
    text.CopyFrom(net)
    for layer in text.layer:
        layer.ClearField('blobs')
    with open(prefix + '.prototxt', 'w', encoding='utf-8') as file:
        file.write(f'# From {os.path.basename(source)}, by layrub import.\n')
        file.write(text_format.MessageToString(text, as_utf8=True))


def compare(graph, writer, prefix, count):
    """Runs `count` random inputs through the net and through ONNX Runtime. Returns the largest difference of each
    output."""
    import caffe
    net = caffe.Net(prefix + '.prototxt', caffe.TEST, weights=prefix + '.caffemodel')
    random = np.random.RandomState(1)
    worst = {name: 0.0 for name in graph.outputs}
    inputs = [name for name in graph.inputs if name in graph.users]
    makers = {name: node.op_type for node in graph.nodes for name in node.output}
    with tempfile.TemporaryDirectory() as folder:
        piece = Piece(graph.model, inputs, graph.outputs, folder, graph.types)
        for _ in range(count):
            feeds = {name: random_values(random, graph, name) for name in inputs}
            for name, values in feeds.items():
                net.blobs[name].data[...] = values
            net.forward()
            for name, theirs in piece.run(feeds.get).items():
                worst[name] = max(worst[name], difference(net.blobs[writer.blobs[name]].data, theirs, makers.get(name, '')))
            bad = [name for name, found in worst.items() if not found <= LIMIT]
            if bad:
                raise Differs(f'{bad[0]} differs by {worst[bad[0]]:.1e} of its largest value; '
                              + first_difference(graph, writer, net, inputs, feeds, folder))
    return worst


def random_values(random, graph, name):
    """Numbers of a table's rows if it indexes one, else any values."""
    shape = graph.shapes[name]
    if graph.types[name] == TensorProto.FLOAT:
        return random.uniform(-1, 1, shape).astype(np.float32)
    rows = [graph.constants[node.input[0]].shape[0] for node in graph.nodes
            if node.op_type == 'Gather' and node.input[1] == name and node.input[0] in graph.constants]
    return random.randint(0, min(rows, default=2), shape).astype(
        np.int64 if graph.types[name] == TensorProto.INT64 else np.int32)


def first_difference(graph, writer, net, inputs, feeds, folder):
    """Names the first node that differs."""
    makers = {name: node for node in graph.nodes for name in node.output if writer.blobs.get(name) == name and name in graph.users}
    for name, theirs in Piece(graph.model, inputs, makers, folder, graph.types).run(feeds.get).items():
        found = difference(net.blobs[name].data, theirs, makers[name].op_type)
        if not found <= LIMIT:
            return f'the first node that differs is {makers[name].name} ({makers[name].op_type}), by {found:.1e}'
    return 'no node before differs'
