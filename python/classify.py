#!/usr/bin/env python3
"""Classifies an image, the images of a folder, or an array of images.

  classify.py --model_def=deploy.prototxt --pretrained_model=net.caffemodel cat.jpg scores.npy

OUTPUT is a NumPy file with scores: images x classes. A folder is read in the order of its file names.
"""
import argparse
import glob
import os
import time

import numpy as np
from google.protobuf.message import DecodeError

import caffe
from caffe import program
from caffe.proto import caffe_pb2


def numbers(text):
    return [int(part) for part in text.split(',')]


def size(text):
    height_width = numbers(text)
    if len(height_width) != 2 or min(height_width) < 1:
        raise argparse.ArgumentTypeError(f"two numbers from 1 upwards are needed, as in 256,256, and not '{text}'")
    return height_width


def add_model_flags(parser):
    """The flags of all programs that run a deploy net on images."""
    parser.add_argument('--model_def', required=True, help='the deploy prototxt')
    parser.add_argument('--pretrained_model', required=True, help='its weights')
    parser.add_argument('--gpu', action='store_true', help='run on a GPU')
    parser.add_argument('--mean_file', help='a NumPy file: channels x height x width, or a value for each channel; or a '
                        '.binaryproto, as compute_image_mean writes it')
    parser.add_argument('--input_scale', type=float, help='a factor after the mean is subtracted')
    parser.add_argument('--raw_scale', type=float, default=255., help='a factor before that (255)')
    parser.add_argument('--channel_swap', type=numbers, metavar='2,1,0',
                        help='the order of channels (2,1,0: blue, green, red; of a net with one channel, none)')


def load_mean(path):
    if not path.endswith('.binaryproto'):
        return np.load(path)
    try:
        with open(path, 'rb') as file:
            mean = caffe.io.blobproto_to_array(caffe_pb2.BlobProto.FromString(file.read()))
    except DecodeError:
        raise ValueError(f'{path} is no mean as compute_image_mean writes it') from None
    return mean[0] if mean.ndim == 4 else mean


def start(flags):
    """Sets the mode. Returns the mean."""
    if flags.gpu:
        caffe.set_mode_gpu()
    else:
        caffe.set_mode_cpu()
    return load_mean(flags.mean_file) if flags.mean_file else None


def is_colour(net):
    return net.blobs[net.inputs[0]].shape[1] != 1


def swap_channels(net):
    """The order of channels: blue, green, red unless a flag gives another."""
    if is_colour(net):
        net.transformer.set_channel_swap(net.inputs[0], (2, 1, 0))


def load(path, extension, color):
    if os.path.isdir(path):
        files = sorted(glob.glob(os.path.join(path, '*.' + extension)))
        if not files:
            raise ValueError(f'{path} has no .{extension}; --ext names another ending')
        return [caffe.io.load_image(file, color) for file in files]
    return list(np.load(path)) if path.endswith('.npy') else [caffe.io.load_image(path, color)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('input', help='an image, a folder, or a .npy of images: height x width x 3, 0 to 1')
    parser.add_argument('output', help='the .npy to write')
    add_model_flags(parser)
    parser.add_argument('--center_only', action='store_true', help='the centre, and not ten crops of each image')
    parser.add_argument('--images_dim', type=size, default=[256, 256], metavar='256,256',
                        help='the size that images are scaled to before they are cropped')
    parser.add_argument('--ext', default='jpg', help='the ending of the images of a folder (jpg)')
    flags = parser.parse_args()
    mean = start(flags)
    classifier = caffe.Classifier(flags.model_def, flags.pretrained_model, flags.images_dim, mean, flags.input_scale,
                                  flags.raw_scale, flags.channel_swap)
    if flags.channel_swap is None:
        swap_channels(classifier)
    images = load(flags.input, flags.ext, is_colour(classifier))
    print(f'Classifying {len(images)} inputs.')
    began = time.time()
    scores = classifier.predict(images, not flags.center_only)
    print(f'Done in {time.time() - began:.2f} s.')
    np.save(flags.output, scores)
    print(f'Saving results into {flags.output}')
    return 0


if __name__ == '__main__':
    program.run(main, KeyError, caffe.Error)
