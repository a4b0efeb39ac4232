"""Draws nets: layers as boxes, blobs as the lines between them.

An .svg is drawn by this module, .dot is Graphviz's text format, and any other format is drawn by Graphviz's program
`dot`.
"""
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from .proto import caffe_pb2

# Part of a type's name -> colour (Okabe and Ito's palette). The first that matches counts.
COLOURS = (
    (('Convolution', 'Deconvolution', 'DepthwiseConv', 'InnerProduct', 'Embed', 'LSTM', 'RNN'), '#56b4e9'),
    (('Data', 'Input', 'HDF5Data', 'ImageData', 'MemoryData', 'DummyData', 'WindowData', 'Annotated'), '#cc79a7'),
    (('SoftmaxWithLoss', 'EuclideanLoss', 'Loss', 'Accuracy', 'Softmax', 'MultiBoxLoss', 'Detection'), '#d55e00'),
    (('Pooling', 'SPP', 'ROIPooling', 'Reduction'), '#009e73'),
    (('BatchNorm', 'BN', 'Scale', 'Bias', 'LRN', 'MVN', 'Normalize'), '#f0e442'),
)
OTHER = '#c8d0d8'


@dataclass
class Node:
    """A layer, and in the same box the layers that work in place on its top."""
    name: str
    lines: list  # (words, colour)
    bottoms: list = field(default_factory=list)  # (number of a node, name of the blob)


def _colour(type_name):
    for starts, colour in COLOURS:
        if type_name.startswith(starts) or type_name.endswith('Loss'):
            return COLOURS[2][1] if type_name.endswith('Loss') else colour
    return OTHER


def _sizes(layer):
    """The sizes in a layer's parameters, as text."""
    for kind in ('convolution_param', 'pooling_param', 'inner_product_param', 'recurrent_param'):
        if not layer.HasField(kind):
            continue
        param, words = getattr(layer, kind), []
        if kind == 'pooling_param':
            words.append(param.DESCRIPTOR.enum_types_by_name['PoolMethod'].values_by_number[param.pool].name.lower())
            if param.global_pooling:
                words.append('global')
        elif param.num_output:
            words.append(str(param.num_output))
        for name in ('kernel_size', 'stride', 'pad', 'dilation', 'group'):
            value = getattr(param, name, None)
            values = [value] if isinstance(value, int) else list(value or [])
            if values and values != [{'stride': 1, 'group': 1, 'dilation': 1}.get(name, 0)]:
                words.append(f'{name.replace("kernel_size", "kernel")} {"x".join(map(str, values))}')
        return ', '.join(words)
    return ''


def _met(layer, phase):
    """Whether the phases in the layer's rules include it in a net of this phase."""
    if phase is None:
        return True
    if layer.include:
        return any(not rule.HasField('phase') or rule.phase == phase for rule in layer.include)
    return not any(rule.HasField('phase') and rule.phase == phase for rule in layer.exclude)


def graph_of(net_param, phase=None, display_lrm=False):
    """The nodes of a NetParameter. phase: only layers of that phase; display_lrm: show learning rate multipliers."""
    nodes, maker = [], {}
    for name in net_param.input:
        maker[name] = len(nodes)
        nodes.append(Node(name, [('Input', COLOURS[1][1])]))
    for layer in net_param.layer:
        if not _met(layer, phase):
            continue
        size = _sizes(layer)
        words = f'{layer.name}: {layer.type}' + (f' ({size})' if size else '')
        if display_lrm and layer.param:
            words += f' lr x {", ".join(f"{param.lr_mult:g}" for param in layer.param)}'
        known = [bottom for bottom in layer.bottom if bottom in maker]
        in_place = len(layer.top) == 1 and list(layer.top) == list(layer.bottom) and known
        if in_place:
            nodes[maker[layer.top[0]]].lines.append((words, _colour(layer.type)))
            continue
        nodes.append(Node(layer.name, [(words, _colour(layer.type))], [(maker[bottom], bottom) for bottom in known]))
        maker.update((top, len(nodes) - 1) for top in layer.top)
    return nodes


def graph_of_net(net):
    """The nodes of a caffe.Net."""
    param = caffe_pb2.NetParameter()
    for name, layer in net.layer_dict.items():
        if layer.type != 'Split':
            param.layer.add(name=name, type=layer.type)
    made_by = {}
    for name, layer in net.layer_dict.items():  # the tops of a Split are shown as its bottom
        if layer.type == 'Split':
            made_by.update((top, net.bottom_names[name][0]) for top in net.top_names[name])
    for layer in param.layer:
        layer.bottom.extend(made_by.get(bottom, bottom) for bottom in net.bottom_names[layer.name])
        layer.top.extend(net.top_names[layer.name])
    return graph_of(param)


def dot(nodes, name='net', rankdir='TB', label_edges=True):
    """The text for Graphviz. label_edges: show the names of the blobs."""
    lines = [f'digraph {quoteattr(name)} {{', f'  rankdir={rankdir};',
             '  node [shape=box, style="filled,rounded", fontname="sans-serif", fontsize=10];']
    for number, node in enumerate(nodes):
        label = '\\n'.join(words.replace('\\', '\\\\').replace('"', '\\"') for words, _ in node.lines)
        lines.append(f'  n{number} [label="{label}", fillcolor="{node.lines[0][1]}"];')
    for number, node in enumerate(nodes):
        for bottom, blob in node.bottoms:
            label = blob.replace('\\', '\\\\').replace('"', '\\"') if label_edges else ''
            lines.append(f'  n{bottom} -> n{number} [label="{label}", fontsize=8];')
    return '\n'.join(lines + ['}', ''])


LINE, GAP, SPACE, LETTER, MARGIN = 16, 26, 24, 6.2, 12  # of the picture, in pixels
STYLE = ('text{font:11px system-ui,sans-serif;fill:#1f2328}path{fill:none;stroke:#818b98}'
         'rect{rx:3}.box{fill:none;stroke:#818b98}')


def svg(nodes):
    """An SVG, drawn without Graphviz: each layer is below the layers that it reads from."""
    rank = []
    for node in nodes:
        rank.append(1 + max((rank[bottom] for bottom, _ in node.bottoms), default=-1))
    rows = [[number for number in range(len(nodes)) if rank[number] == row] for row in range(max(rank, default=-1) + 1)]
    width = [max(len(words) for words, _ in node.lines) * LETTER + 16 for node in nodes]
    row_width = [sum(width[number] for number in row) + SPACE * (len(row) - 1) for row in rows]
    total, top = max(row_width, default=0) + 2 * MARGIN, MARGIN
    place, boxes, lines = {}, [], []
    for row, wide in zip(rows, row_width):
        left, height = (total - wide) / 2, LINE * max(len(nodes[number].lines) for number in row) + 6
        # Orders the layers of a row from left to right by the places of their bottoms.
        for number in sorted(row, key=lambda number: sum(place[b][0] for b, _ in nodes[number].bottoms) /
                             (len(nodes[number].bottoms) or 1)):
            node, tall = nodes[number], LINE * len(nodes[number].lines) + 6
            place[number] = (left + width[number] / 2, top, top + tall)
            for i, (words, colour) in enumerate(node.lines):
                y = top + 3 + LINE * i
                boxes.append(f'<rect x="{left:.1f}" y="{y}" width="{width[number]:.1f}" height="{LINE}" fill="{colour}" '
                             f'fill-opacity=".55"/><text x="{left + 8:.1f}" y="{y + 12}">{escape(words)}</text>')
            left += width[number] + SPACE
        top += height + GAP
    for number, node in enumerate(nodes):
        for bottom, blob in node.bottoms:
            (x0, _, y0), (x1, y1, _) = place[bottom], place[number]
            bend = (y1 - y0) / 2
            lines.append(f'<path d="M{x0:.1f} {y0}C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1}">'
                         f'<title>{escape(blob)}</title></path>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{top}" '
            f'viewBox="0 0 {total:.0f} {top}"><style>{STYLE}</style>' + ''.join(lines + boxes) + '</svg>\n')


def get_pydot_graph(caffe_net, rankdir, label_edges=True, phase=None, display_lrm=False):
    """A NetParameter as a graph of pydot, which must be installed."""
    try:
        import pydot
    except ImportError:
        raise ImportError('get_pydot_graph makes a graph of pydot, which is not installed: pip install pydot, or take '
                          'caffe.draw.draw_net, which needs no pydot') from None
    text = dot(graph_of(caffe_net, phase, display_lrm), caffe_net.name, rankdir or 'TB', label_edges)
    return pydot.graph_from_dot_data(text)[0]


def draw_net(caffe_net, rankdir='TB', ext='png', phase=None, display_lrm=False):
    """The bytes of a picture of a NetParameter, in the format `ext`."""
    nodes = graph_of(caffe_net, phase, display_lrm)
    if ext == 'svg' and rankdir in ('TB', None):
        return svg(nodes).encode()
    text = dot(nodes, caffe_net.name, rankdir or 'TB').encode()
    if ext in ('dot', 'gv'):
        return text
    program = shutil.which('dot')
    if not program:
        raise FileNotFoundError(f'.{ext}: pictures of this format, and other directions than TB, need the program dot of '
                                'Graphviz; .svg and .dot need nothing')
    done = subprocess.run([program, f'-T{ext}'], input=text, capture_output=True, check=False)
    if done.returncode != 0:
        raise ValueError(f'dot -T{ext}: {done.stderr.decode(errors="replace").strip()}')
    return done.stdout


def draw_net_to_file(caffe_net, filename, rankdir='TB', phase=None, display_lrm=False):
    """Writes the picture in the format given by the file's extension."""
    ext = os.path.splitext(filename)[1][1:]
    if not ext:
        raise ValueError(f'{filename}: the end of the name must say the format, such as .svg')
    picture = draw_net(caffe_net, rankdir, ext, phase, display_lrm)
    with open(filename, 'wb') as file:
        file.write(picture)
