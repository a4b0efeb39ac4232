#!/usr/bin/env python3
"""Prints how many images per second Data and ImageData decode and transform, by the number of cores, as Markdown.

  LAYRUB_BIN_DIR=build/bin bench/bench_data.py [--images=N] [--size=HxW] [--rounds=N] [CORES ...]

Makes images of noise, about 120 KB as JPEGs, and reads them as an LMDB of JPEGs, as an LMDB of pixels and as files in a
list, with a random crop of 224 x 224 and mirroring, into a net that does nothing. A layer has as many threads as the
process may use cores, so each column is a run on so many cores. A figure is that of the fastest round; in brackets is
the least processor time of a run, which shows even on a busy machine what more threads cost.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
import run_layrub
from bench_memory import table

BATCH = 32
CROP = 'transform_param { crop_size: 224 mirror: true mean_value: 104 mean_value: 117 mean_value: 123 }'


def make_images(folder, count, height, width):
    """Writes `count` PPM files of half the size, and a list of them. As in photographs, they are smooth at large scale
    and noisy at small."""
    rows, columns = height // 2, width // 2
    with open(f'{folder}/list', 'w', encoding='utf-8') as names:
        for i in range(count):
            draw = random.Random(i)
            ramp = [c * 150 // (3 * columns) for c in range(3 * columns)]
            pixels = bytearray()
            for row in range(rows):
                noise = draw.randbytes(3 * columns)
                base = row * 60 // rows
                pixels += bytes([base + along + (n & 31) for along, n in zip(ramp, noise)])
            with open(f'{folder}/{i}.ppm', 'wb') as file:
                file.write(f'P6 {columns} {rows} 255\n'.encode() + pixels)
            names.write(f'{i}.ppm {i}\n')


def convert(folder, name, height, width, *flags):
    """Makes an LMDB of the images in `folder`."""
    subprocess.run([os.path.join(run_layrub.BIN, 'convert_imageset'), f'--resize_height={height}',
                    f'--resize_width={width}', *flags, f'{folder}/', f'{folder}/list', f'{folder}/{name}'],
                   check=True, stderr=subprocess.DEVNULL)


def write_jpegs(folder, database):
    """Writes the JPEGs of a database as files, and a list of them. Each is contiguous in the database's file."""
    with open(f'{folder}/{database}/data.mdb', 'rb') as file:
        jpegs = re.findall(rb'\xff\xd8\xff.*?\xff\xd9', file.read(), re.DOTALL)
    with open(f'{folder}/jpeg_list', 'w', encoding='utf-8') as names:
        for i, jpeg in enumerate(jpegs):
            with open(f'{folder}/{i}.jpg', 'wb') as file:
                file.write(jpeg)
            names.write(f'{i}.jpg {i}\n')
    return sum(map(len, jpegs)) / len(jpegs)


def sources(folder):
    """Name -> the text of a layer that reads the images."""
    def data(database):
        return (f'type: "Data" data_param {{ source: "{folder}/{database}" backend: LMDB batch_size: {BATCH} }}')
    return {'Data, LMDB of JPEGs': data('jpeg_lmdb'), 'Data, LMDB of pixels': data('raw_lmdb'),
            'ImageData, JPEGs': f'type: "ImageData" image_data_param {{ source: "{folder}/jpeg_list" '
                                f'root_folder: "{folder}/" batch_size: {BATCH} }}'}


def images_per_second(folder, source, cores, iterations):
    """Runs on `cores` cores. Returns (images per second that the layer reports, processor seconds of the run)."""
    model = f'{folder}/net.prototxt'
    with open(model, 'w', encoding='utf-8') as file:
        file.write(f'layer {{ name: "data" top: "x" top: "label" {source} {CROP} }}\n'
                   'layer { name: "none" type: "Silence" bottom: "x" bottom: "label" }\n')
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:cores])
    try:
        done = run_layrub.run_or_exit('time', f'--model={model}', f'--iterations={iterations}', '--format=json')
    finally:
        os.sched_setaffinity(0, all_cores)
    return json.loads(done.out)['layers'][0]['loaded_images_per_second'], done.cpu_seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('cores', nargs='*', type=int, metavar='CORES')
    parser.add_argument('--images', type=int, default=128)
    parser.add_argument('--size', default='375x500', help='rows and columns')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--iterations', type=int, default=16, help=f'batches of {BATCH} in each run')
    options = parser.parse_args()
    there = len(os.sched_getaffinity(0))
    cores = options.cores or [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= there]
    size = re.fullmatch(r'(\d+)x(\d+)', options.size)
    if not size or min(int(size.group(1)), int(size.group(2))) < 224:
        sys.exit('bench_data.py: --size is ROWSxCOLUMNS, each at least 224')
    if min(cores) < 1 or max(cores) > there or min(options.images, options.rounds, options.iterations) < 1:
        sys.exit(f'bench_data.py: CORES are 1 to {there}; images, rounds and iterations are 1 or more')
    height, width = map(int, size.groups())
    with tempfile.TemporaryDirectory() as folder:
        make_images(folder, options.images, height, width)
        convert(folder, 'raw_lmdb', height, width)
        convert(folder, 'jpeg_lmdb', height, width, '--encoded', '--encode_type=jpg')
        jpeg_bytes = write_jpegs(folder, 'jpeg_lmdb')
        named = sources(folder)
        rates = {(name, n): [] for name in named for n in cores}
        for _ in range(options.rounds):
            for name, n in rates:
                rates[name, n].append(images_per_second(folder, named[name], n, options.iterations))
    def cell(runs):
        return f'{max(rate for rate, _ in runs):,.0f} ({min(seconds for _, seconds in runs):.2f} s)'
    print(f'{options.images} images of {height} x {width}, {jpeg_bytes / 1000:.0f} KB each as JPEG; images a second:\n')
    print(table(['source'] + [f'{n} core{"s" if n > 1 else ""}' for n in cores],
                [[name] + [cell(rates[name, n]) for n in cores] for name in named]))


if __name__ == '__main__':
    main()
