#!/usr/bin/env python3
"""Draws a net.

  draw_net.py train_val.prototxt net.svg

The extension of the picture's name is its format. .svg and .dot need no other program; .png, .pdf and others, and
--rankdir, need Graphviz.
"""
import argparse

from google.protobuf import text_format

import caffe
from caffe import program
from caffe.proto import caffe_pb2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('input_net_proto_file', help='the prototxt of the net')
    parser.add_argument('output_image_file', help='the picture to write')
    parser.add_argument('--rankdir', default='TB', choices=('TB', 'LR', 'BT', 'RL'),
                        help='the direction: top to bottom (TB), left to right (LR), ...')
    parser.add_argument('--phase', default='ALL', choices=('TRAIN', 'TEST', 'ALL'), help='the layers of this phase only')
    parser.add_argument('--display_lrm', action='store_true', help='with learning rate multipliers')
    flags = parser.parse_args()
    net = caffe_pb2.NetParameter()
    with open(flags.input_net_proto_file, encoding='utf-8') as file:
        try:
            text_format.Merge(file.read(), net)
        except text_format.ParseError as error:
            raise ValueError(f'{flags.input_net_proto_file}:{error}') from None
    if net.layers:
        raise ValueError(f'{flags.input_net_proto_file} is of an old format: upgrade_net_proto_text makes it a new one')
    phase = {'TRAIN': caffe.TRAIN, 'TEST': caffe.TEST, 'ALL': None}[flags.phase]
    print(f'Drawing net to {flags.output_image_file}')
    caffe.draw.draw_net_to_file(net, flags.output_image_file, flags.rankdir, phase, flags.display_lrm)
    return 0


if __name__ == '__main__':
    program.run(main)
