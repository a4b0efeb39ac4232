#!/usr/bin/env python3
"""Scales images so that the shorter side is SIZE, and crops the middle.

  resize_and_crop_images.py --num_clients=4 --image_lib=caffe --input_folder=raw --output_folder=small < names.txt

Each line has the name of a file below input_folder; a label after the name is ignored. Without --input_folder, each
line is "source target", two paths. Images are written as .ppm if the name ends so, else as .png. Needs the package
caffe (docs/python.md), whose library reads images.
"""
import argparse
import multiprocessing
import os
import struct
import sys
import zlib

import training_log  # noqa: F401  finds script
from script import BadInput, run_script


def png(pixels):
    """The bytes of a PNG of height x width x 3."""
    height, width, _ = pixels.shape

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + row.tobytes() for row in pixels)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) +
            chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def convert(job):
    """Makes one image. Returns an error message, or nothing."""
    source, target, size = job
    import caffe
    import numpy as np
    try:
        image = caffe.io.load_image(source)
        scale = size / min(image.shape[:2])
        shape = [max(size, round(side * scale)) for side in image.shape[:2]]
        image = caffe.io.resize_image(image, shape)
        top, left = (shape[0] - size) // 2, (shape[1] - size) // 2
        pixels = np.ascontiguousarray((image[top:top + size, left:left + size] * 255).round().astype(np.uint8))
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        with open(target, 'wb') as file:
            file.write(b'P6 %d %d 255\n' % (size, size) + pixels.tobytes() if target.endswith('.ppm') else png(pixels))
        return None
    except (OSError, ValueError, RuntimeError) as error:
        return f'{source}: {error}'


def jobs(flags, lines):
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        if flags.input_folder:
            name, end = os.path.splitext(words[0])
            yield (os.path.join(flags.input_folder, words[0]),
                   os.path.join(flags.output_folder, name + (end if end == '.ppm' else '.png')), flags.output_side_length)
        elif len(words) == 2:
            yield words[0], words[1], flags.output_side_length
        else:
            raise BadInput(f'line {number}: "source target" is needed, or --input_folder')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--num_clients', type=int, default=os.cpu_count(), help='how many work at a time (all processors)')
    parser.add_argument('--image_lib', default='caffe', choices=('caffe',), help='what reads images: caffe')
    parser.add_argument('--output_side_length', type=int, default=256, metavar='SIZE', help='pixels of a side (256)')
    parser.add_argument('--input_folder', default='', help='where the names of the input are')
    parser.add_argument('--output_folder', default='', help='where images go, under the same names')
    flags = parser.parse_args()
    if flags.output_side_length < 1 or flags.num_clients < 1:
        raise BadInput('--output_side_length and --num_clients must be 1 or more')
    if bool(flags.input_folder) != bool(flags.output_folder):
        raise BadInput('--input_folder and --output_folder go together')
    try:
        import caffe  # noqa: F401
    except ImportError as error:
        raise BadInput(f'{error}: PYTHONPATH must have the folder python of the build') from None
    done, failed = 0, []
    with multiprocessing.get_context('spawn').Pool(flags.num_clients) as pool:
        for problem in pool.imap(convert, jobs(flags, sys.stdin), chunksize=8):
            done += 1
            if problem:
                failed.append(problem)
                print(problem, file=sys.stderr)
            if done % 1000 == 0:
                print(f'{done} images', file=sys.stderr)
    print(f'{done - len(failed)} images written, {len(failed)} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    run_script(main)
