"""Writes a net as ONNX, for `layrub export` and caffe.export_onnx.

    import caffe
    net = caffe.Net('deploy.prototxt', 'net.caffemodel', caffe.TEST)
    caffe.export_onnx(net, 'net.onnx')

Each layer becomes the equivalent operator of ONNX, or a few operators (docs/onnx.md). A layer without an equivalent is
refused by name, never approximated.
"""

import numpy as np

from ..proto import caffe_pb2
from . import activation, conv, detection, math, norm, pooling, recurrent, shape  # noqa: F401  they register converters
from .builder import Builder, Value, make_model, save
from .layer import CONVERTERS, LayerView, Refusal
from .verify import Differs, compare, runs_of  # noqa: F401

OPSETS = range(13, 22)
LOSSES = {'Accuracy', 'ContrastiveLoss', 'DetectionEvaluate', 'EuclideanLoss', 'HingeLoss', 'InfogainLoss', 'L1Loss',
          'MultiBoxLoss', 'MultinomialLogisticLoss', 'SigmoidCrossEntropyLoss', 'SmoothL1Loss', 'SoftmaxWithLoss'}
FIRST_TARGET = {'ContrastiveLoss': 2, 'MultiBoxLoss': 3}  # index of the first bottom with labels; for others 1
SAME_VALUE = {'Dropout'}  # in the TEST phase its top is its bottom
NOTHING = {'Silence', 'HDF5Output'}
VARYING = {'DetectionOutput': {2}, 'Filter': {0}}  # axes of tops whose sizes depend on values


class Exporter:
    """Turns the layers of a net in the TEST phase into an ONNX graph."""

    def __init__(self, net, opset, dynamic_batch=False, fold=False):
        self.net, self.fold = net, fold
        self.layers = layers_of(net)
        self.shapes = {name: tuple(blob.data.shape) for name, blob in net.blobs.items()}
        self.g = Builder(opset, dynamic_batch)
        self.values = {}  # blob -> the Value of its newest version
        self.inputs, self.left_out = [], []
        self.read = set()  # names of values that layers read
        self.shown = set()  # blobs whose value another blob has, too
        self.last_writer = {top: i for i, layer in enumerate(self.layers) for top in layer.top}
        self.versions = {}
        self.has_run = False
        self.converted = []  # (layer, the Values of its bottoms, those of its tops), in order
        for name in self.shapes:
            self.g.take(name)

    def run(self):
        """Converts the net. Returns the Values of inputs and outputs."""
        kept = [i for i, layer in enumerate(self.layers) if layer.type not in LOSSES | NOTHING]
        self.left_out = [layer.name for layer in self.layers if layer.type in LOSSES]
        for i in kept:
            self.add(i)
        self.outputs = self.find_outputs()
        self.g.keep_needed_for(value.name for value in self.outputs)
        made = {name for node in self.g.nodes for name in node.output}
        self.converted = [(layer, bottoms, [top for top in tops if top.name in made])
                          for layer, bottoms, tops in self.converted if any(top.name in made for top in tops)]
        self.blob_of = {value.name: top for top, value in self.values.items()}
        read = {name for node in self.g.nodes for name in node.input}
        return [value for value in self.inputs if value.name in read], self.outputs

    def add(self, i):
        layer = self.layers[i]
        if not layer.bottom and layer.type != 'Parameter':
            for top in layer.top:
                self.values[top] = Value(top, self.shapes[top])
                self.inputs.append(self.values[top])
            return
        bottoms = [self.values[bottom] for bottom in layer.bottom]
        if layer.type in SAME_VALUE:
            self.values[layer.top[0]] = bottoms[0]
            self.shown.update({layer.bottom[0]} - {layer.top[0]})
            return
        self.read.update(bottom.name for bottom in bottoms)
        names = [self.name_of(i, top) for top in layer.top]
        arrays = [np.array(blob.data) for blob in self.net.layer_dict[layer.name].blobs]
        view = LayerView(layer, arrays, bottoms, [self.shapes[top] for top in layer.top], names,
                         lambda: self.values_after(layer))
        convert = CONVERTERS.get(layer.type)
        if convert is None:
            view.refuse('there is no converter to ONNX for this type')
        self.g.prefix = layer.name
        if self.fold and self.follows_batch_norm(i):
            made = norm.fold_scale(self.g, view)
        else:
            made = convert(self.g, view)
        varying = {(axis, bottom.shape[axis]) for bottom in bottoms for axis in bottom.varying}
        for top, name in zip(layer.top, made):
            axes = {axis for axis, size in enumerate(self.shapes[top]) if (axis, size) in varying}
            self.values[top] = Value(name, self.shapes[top], axes | VARYING.get(layer.type, set()))
        self.converted.append((layer, bottoms, [self.values[top] for top in layer.top]))

    def values_after(self, layer):
        """The values of tops that do not depend on the inputs."""
        if not self.has_run:
            self.forward()
        self.has_run = True
        return [np.array(self.net.blobs[top].data) for top in layer.top]

    def follows_batch_norm(self, i):
        """Whether layer i is a Scale with parameters and the only reader of the BatchNorm before it."""
        layer, before = self.layers[i], self.layers[i - 1]
        return (layer.type == 'Scale' and before.type == 'BatchNorm' and list(layer.bottom) == list(before.top)
                and self.g.nodes[-1].op_type == 'BatchNormalization' and not before.batch_norm_param.scale_bias
                and (layer.top[0] == layer.bottom[0]
                     or not any(layer.bottom[0] in later.bottom for later in self.layers[i + 1:]))
                and layer.scale_param.axis == 1 and layer.scale_param.num_axes == 1)

    def name_of(self, i, top):
        """The blob's own name for its last version; earlier ones are "conv1@0", "conv1@1". If an input is changed in
        place, the input keeps the name."""
        if self.last_writer[top] == i and all(value.name != top for value in self.inputs):
            return top
        number = self.versions.get(top, 0)
        self.versions[top] = number + 1
        return f'{top}@{number}'

    def find_outputs(self):
        """The outputs: values that no exported layer reads, by the name of the blob. Labels, which only losses read,
        are not outputs."""
        sources = {value.name for value in self.inputs}
        labels, predictions = set(), set()
        for layer in self.layers:
            if layer.type in LOSSES:
                first = FIRST_TARGET.get(layer.type, 1)
                predictions.update(layer.bottom[:first])
                labels.update(layer.bottom[first:])
        outputs = []
        for top, value in self.values.items():
            if value.name in sources | self.read or top in self.shown | (labels - predictions):
                continue
            if value.name != top and top not in sources:
                self.g.prefix = top
                value = self.values[top] = Value(self.g.node('Identity', [value.name], top), value.shape, value.varying)
            outputs.append(value)
        return outputs

    def forward(self):
        """Runs the exported layers. The tops of data layers keep their values."""
        for i, layer in enumerate(self.net.layers):
            if layer.type not in LOSSES | NOTHING and len(self.net._bottom_ids(i)) or layer.type == 'Parameter':
                self.net._forward(i, i, True)


def layers_of(net):
    """The net's layers as the net has completed them, without the Splits that it has added."""
    layers, original = [], {}  # top of a Split -> the blob that it copies
    for each in net.layers:
        layer = caffe_pb2.LayerParameter.FromString(each._param)
        layer.bottom[:] = [original.get(bottom, bottom) for bottom in layer.bottom]
        if layer.type == 'Split':
            original.update((top, layer.bottom[0]) for top in layer.top)
        else:
            layers.append(layer)
    return layers


def export_onnx(net, path, opset=17, dynamic_batch=False, fold=False, verify=0):
    """Writes `net`, which is in the TEST phase, to `path`: an ONNX file of this opset.

    dynamic_batch: the first dimension of inputs and outputs is "N", any number. fold: a BatchNorm and the Scale behind
    it become one operator. verify: the number of random inputs on which the net and ONNX Runtime are compared before
    the file is written.

    Returns {'left_out': names of losses and accuracies, which are left out, 'differences': for each output the largest
    difference relative to its largest value}. Raises Refusal if a layer cannot be expressed, and Differs if results
    differ; then nothing is written."""
    if opset not in OPSETS:
        raise Refusal(f'opset {opset} is not one of {OPSETS[0]} to {OPSETS[-1]}')
    exporter = Exporter(net, opset, dynamic_batch, fold)
    inputs, outputs = exporter.run()
    if not outputs:
        raise Refusal('the net has no outputs but losses and accuracies')
    model = make_model(exporter.g, net.name or 'net', inputs, outputs)
    differences = compare(net, exporter, model, inputs, verify) if verify else {}
    save(model, path)
    return {'left_out': exporter.left_out, 'differences': differences}
