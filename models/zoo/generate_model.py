#!/usr/bin/env python3
"""Writes a model for training and testing, as prototxt, and a solver for it.

  generate_model.py --list                              what there is
  generate_model.py resnet50 > train_val.prototxt       batch size and classes as published
  generate_model.py vgg16 --batch=64 --data=dummy       data of the right shape instead of a database
  generate_model.py resnet101 --out=models/resnet101 --solver    train_val.prototxt and solver.prototxt there
  generate_model.py resnet --blocks=3,30,48,3           any depth; basic blocks with --kind=basic
  generate_model.py wresnet --depth=152 --widen=10      with ten times the channels
  generate_model.py rnn --layers=10 --hidden=8192       layers of LSTM
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools/python'))
import model_zoo
from model_text import TEST, TRAIN, Enum, Net, fields
from script import run_script, write_whole

# Models of any size: the options that each needs, and the function that makes it from them.
ANY_SIZE = {
    'resnet': (('blocks',), lambda options: model_zoo.custom_resnet(options.blocks, options.kind)),
    'wresnet': (('depth', 'widen'), lambda options: model_zoo.custom_wresnet(options.depth, options.widen)),
    'rnn': (('layers', 'hidden'), lambda options: model_zoo.custom_rnn(options.layers, options.hidden)),
}


def net_text(model, options):
    """The prototxt of `model`. Options: batch, test_batch, data, source, test_source; None is the model's own."""
    net = Net(model.name, model.crop)
    for phase, batch, source, part in (
            (TRAIN, options.batch or model.batch, options.source, 'train'),
            (TEST, options.test_batch or model.test_batch, options.test_source, model.test_part)):
        if options.data == 'dummy' or not model.data.read:
            model.data.dummy(net, model, phase, batch)
        else:
            model.data.read(net, model, phase, batch, source or f'{model.dataset}_{part}_{model.data.suffix}')
    model.build(net, model.classes)
    return str(net)


def solver_text(model, net_path, prefix):
    """A solver for the net in the file `net_path`; snapshots begin with `prefix`."""
    lines = {'net': net_path, 'test_iter': model.test_items // model.test_batch, 'test_interval': 1000,
             'test_initialization': False, 'display': 20, **model.solver, 'snapshot': 10000,
             'snapshot_prefix': prefix, 'solver_mode': Enum('CPU')}
    pairs = [(name, item) for name, value in lines.items() for item in (value if isinstance(value, list) else [value])]
    return ''.join(fields({name: value}) + '\n' for name, value in pairs)


def positive(word):
    if not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError(f'{word}: a number from 1 upwards is needed')
    return int(word)


def four_numbers(word):
    blocks = tuple(positive(piece) for piece in word.split(','))
    if len(blocks) != 4:
        raise argparse.ArgumentTypeError(f'{word}: four numbers of blocks are needed, such as 3,4,6,3')
    return blocks


def parser():
    usage = __doc__.split('\n\n', maxsplit=1)
    result = argparse.ArgumentParser(description=usage[0], epilog=usage[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = result.add_argument
    add('model', nargs='?', help=f"a name of --list, or one of {', '.join(ANY_SIZE)} with its sizes")
    add('--list', action='store_true', help='name the models')
    add('--blocks', type=four_numbers, metavar='A,B,C,D', help="resnet: residual blocks in each of its four stages")
    add('--kind', choices=('basic', 'bottleneck'), default='bottleneck', help='resnet: of two or of three convolutions')
    add('--depth', type=int, choices=sorted(model_zoo.BOTTLENECKS), help='wresnet: that of a ResNet')
    add('--widen', type=positive, metavar='N', help='wresnet: N times the channels')
    add('--layers', type=positive, metavar='N', help='rnn: layers of LSTM')
    add('--hidden', type=positive, metavar='N', help='rnn: hidden units of a layer')
    add('--batch', type=positive, help='items in a batch for training')
    add('--test-batch', type=positive, help='items in a batch for testing')
    add('--classes', type=positive, help='classes to tell apart')
    add('--crop', type=positive, help='height and width of the images')
    add('--data', choices=('lmdb', 'dummy'), default='lmdb',
        help='where data comes from: databases, or DummyData with random images (sequences always are made up)')
    add('--source', help='the database for training')
    add('--test-source', help='the database for testing')
    add('--out', metavar='DIR', help='write train_val.prototxt there, not to standard output')
    add('--solver', action='store_true', help='with --out: write solver.prototxt beside it')
    return result


def wanted_model(options):
    """The model that the command line names. Ends the program if there is no such model."""
    models = model_zoo.all_models()
    sizes, make = ANY_SIZE.get(options.model, ((), None))
    if make:
        for size in sizes:
            if getattr(options, size) is None:
                sys.exit(f"generate_model.py: '{options.model}' needs --{size}; --help has an example")
        model = make(options)
    elif options.model in models:
        model = models[options.model]
    else:
        sys.exit(f"generate_model.py: there is no model '{options.model}'; there are {', '.join([*models, *ANY_SIZE])}")
    if options.solver and not options.out:
        sys.exit('generate_model.py: --solver needs --out=DIR')
    for other, (unused, _) in ANY_SIZE.items():
        for size in unused:
            if other != options.model and getattr(options, size) is not None:
                sys.exit(f"generate_model.py: --{size} goes with '{other}' only")
    model.crop = options.crop or model.crop
    model.classes = options.classes or model.classes
    return model


def main():
    options = parser().parse_args()
    if options.list:
        for name, model in model_zoo.all_models().items():
            print(f'{name:16}{model.name}, batch {model.batch}, {model.classes} classes')
        print(f"{'resnet':16}ResNet of any depth, with --blocks and --kind")
        print(f"{'wresnet':16}ResNet with more channels, with --depth and --widen")
        print(f"{'rnn':16}layers of LSTM, with --layers and --hidden")
        return
    if not options.model:
        parser().error('name a model, or ask for the --list')
    model = wanted_model(options)
    text = net_text(model, options)
    if not options.out:
        sys.stdout.write(text)
        return
    try:
        os.makedirs(options.out, exist_ok=True)
    except OSError as error:
        sys.exit(f'generate_model.py: cannot make the folder {options.out}: {error.strerror}')
    net_path = os.path.join(options.out, 'train_val.prototxt')
    write_whole(net_path, text)
    if options.solver:
        solver = solver_text(model, net_path, os.path.join(options.out, options.model))
        write_whole(os.path.join(options.out, 'solver.prototxt'), solver)


if __name__ == '__main__':
    run_script(main)
