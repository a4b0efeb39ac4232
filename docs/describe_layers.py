#!/usr/bin/env python3
"""Prints what layer types compute, their parameters with defaults, and what a memory plan may make use of, as Markdown.

  docs/describe_layers.py ReLU Convolution     these types
  docs/describe_layers.py                      all of them
  docs/describe_layers.py --list               their names

In brackets: the default of a parameter; one without is unset, or an empty list. Memory says what a plan may make use of
(docs/add-a-layer.md). In place: the top may lie on the bottom's bytes. Backward needs: one of these, besides the tops'
gradients and parameters, as the plan chooses. Runs again: the forward may be computed once more instead of being kept. A
type without declared traits keeps all its operands until its backward.

All of it comes from the code, so it needs the source tree and the program that was built of it: types from the
REGISTER_LAYER macros, texts from the comments above the classes, parameters from what these classes read and caffe.proto,
memory from the graphs of the nets in src/caffe/net/test/nets/types, in which each type is the type of one layer of its own
name."""

import argparse
import glob
import os
import re
import sys
import tempfile
from dataclasses import dataclass

for folder in ('../tools/python', '../tools/verify'):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), folder))
import plan_files
from run_layrub import ROOT, run_or_exit
from script import run_script


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def sources():
    """{type: its .cpp file}"""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, 'src/caffe/layers/**/*.cpp'), recursive=True)):
        for name in re.findall(r'^REGISTER_(?:FORK_)?LAYER_(?:CLASS|CREATOR)\((\w+)', read(path), re.MULTILINE):
            found[name] = path
    return found


@dataclass
class Class:
    comment: str  # what stands above it
    base: str  # or None
    header: str
    body: str


def classes():
    """{name: Class}"""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, 'include/caffe/layers/*.hpp'))):
        for match in re.finditer(r'((?:^///[^\n]*\n)*)template <typename Dtype>\nclass (\w+)(?: : public (\w+))?(.*?)^};',
                                 read(path), re.MULTILINE | re.DOTALL):
            comment = '\n'.join(line[3:].strip() for line in match.group(1).splitlines())
            found[match.group(2)] = Class(comment, match.group(3), path, match.group(4))
    return found


def messages():
    """({field of LayerParameter: its message}, {message: [(field, default or None)]})"""
    text = re.sub(r'//.*', '', read(os.path.join(ROOT, 'src/caffe/proto/caffe.proto')))
    found = {}
    for name, body in re.findall(r'^message (\w+) \{\n(.*?)^\}', text, re.MULTILINE | re.DOTALL):
        fields = re.findall(r'^  \w+ ([\w.]+) (\w+) = \d+(?: \[(.*?)\])?;', body, re.MULTILINE)
        found[name] = fields
    layer = {field: kind for kind, field, _ in found['LayerParameter'] if kind.endswith('Parameter')}
    described = {}
    for name, fields in found.items():
        defaults = [(field, re.search(r'default = ([^,\]]+)', options)) for _, field, options in fields]
        described[name] = [(field, default and default.group(1)) for field, default in defaults]
    return layer, described


def code(name, source, known):
    """The text of the type's class and of its bases."""
    texts, base = [read(source)], name + 'Layer'
    while base in known:
        texts.append(known[base].body)
        base = known[base].base
        if base in known:
            file = os.path.basename(known[base].header)[:-3] + 'cpp'
            texts += [read(own) for own in glob.glob(os.path.join(ROOT, 'src/caffe/layers/**', file), recursive=True)]
    return '\n'.join(texts)


def graphs():
    """{type: (forward op, backward op or None)} from the nets, as far as they can be planned here."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for net in sorted(glob.glob(os.path.join(ROOT, 'src/caffe/net/test/nets/types/*.prototxt'))):
            if 'type: "Python"' in read(net):  # its work comes from the program that trains it
                continue
            run_or_exit('plan', f'--model={net}', '--placement=keep', f'--dump={folder}', '--data_shape=3,6,6')
            graph = plan_files.read_graph(os.path.join(folder, 'graph.txt'))
            for name in re.findall(r'^layer \{\s*name: "([^"]+)"', read(net), re.MULTILINE):
                forward = graph.ops.get(name + '/forward')
                if forward and name not in found:
                    found[name] = (forward, graph.ops.get(name + '/backward'))
    return found


def needs(variant, forward):
    """What a variant of the backward reads besides gradients and parameters."""
    made, read_there = set(), set()
    for one in forward.variants:
        made |= {tensor.name for tensor in one.writes}
        read_there |= {tensor.name for tensor in one.reads}
    words = set()
    for tensor in variant.reads:
        if tensor.role == 'saved':
            words.add(tensor.name.split(':')[-1] + ' (saved)')
        elif tensor.role == 'activation' or tensor.role == 'user':
            words.add('top' if tensor.name in made else 'bottom' if tensor.name in read_there else 'another blob')
    return ' and '.join(sorted(words)) or 'nothing'


def traits(ops, text):
    if 'inner_net()' in text:
        return 'a net of its own, whose layers a plan runs one by one'
    if ops is None:
        return 'no traits declared'
    forward, backward = ops
    said = []
    if any(output != source for variant in forward.variants for output, source in variant.alias):
        said.append('in place')
    if backward is None:
        said.append('no backward')
    else:
        alternatives = []
        for variant in backward.variants:
            word = needs(variant, forward)
            if word not in alternatives:
                alternatives.append(word)
        said.append('backward needs ' + ', or '.join(alternatives))
    said.append('runs again' if forward.repeatable else 'does not run again')
    return '; '.join(said)


def types():
    """{type: its .cpp file}, by name, but for those of inner nets alone."""
    known = classes()
    return {name: source for name, source in sorted(sources().items(), key=lambda item: item[0].lower())
            if name + 'Layer' in known}


def descriptions(names):
    known, (layer_fields, described), ops = classes(), messages(), graphs()
    text = ''
    for name in names:
        source = types()[name]
        comment = known[name + 'Layer'].comment
        if not comment:
            sys.exit(f'{known[name + "Layer"].header}: class {name}Layer has no comment')
        text += f'## {name}\n\n{comment}\n\n'
        body = code(name, source, known)
        used = set(re.findall(r'\b(?:layer_param_?(?:\(\))?|param_?)\.(\w+_param)\(\)', body))
        for field, message in layer_fields.items():
            if field in used:
                entries = [f'`{key}`' + (f' ({default})' if default else '') for key, default in described[message]]
                text += f'- `{field}`: ' + ', '.join(entries) + '\n'
        text += f'- Memory: {traits(ops.get(name), body)}\n\n'
    return text.rstrip('\n') + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('types', nargs='*', metavar='TYPE')
    parser.add_argument('--list', action='store_true', help='print the names of all types')
    wanted = parser.parse_args()
    there = types()
    unknown = [name for name in wanted.types if name not in there]
    if unknown:
        sys.exit(f'describe_layers.py: there is no layer type {unknown[0]}; --list names those that there are')
    print('\n'.join(there) if wanted.list else descriptions(wanted.types or there), end='\n' if wanted.list else '')
    return 0


if __name__ == '__main__':
    run_script(main)
