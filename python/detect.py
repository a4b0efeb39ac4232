#!/usr/bin/env python3
"""Classifies windows of images, as in R-CNN.

  detect.py --model_def=deploy.prototxt --pretrained_model=net.caffemodel windows.csv scores.csv

INPUT has a header line with the names filename,ymin,xmin,ymax,xmax, and a line for each window. OUTPUT has the same
lines with the scores in additional columns class0, class1, ....
"""
import argparse
import csv
import time

import caffe
from caffe import program
from classify import add_model_flags, start, swap_channels

CORNERS = ('ymin', 'xmin', 'ymax', 'xmax')


def read_windows(path):
    """(file, windows) pairs, in the order in which files first appear."""
    windows = {}
    with open(path, newline='', encoding='utf-8') as file:
        rows = csv.DictReader(file)
        missing = {'filename', *CORNERS} - set(rows.fieldnames or [])
        if missing:
            raise ValueError(f'{path}: the first line must name the columns; {", ".join(sorted(missing))} is missing')
        for row in rows:
            try:
                window = [float(row[corner]) for corner in CORNERS]
            except (TypeError, ValueError):
                raise ValueError(f'{path}:{rows.line_num}: four numbers are needed') from None
            windows.setdefault(row['filename'], []).append(window)
    return list(windows.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('input_file', help='a .csv of windows')
    parser.add_argument('output_file', help='the .csv to write')
    add_model_flags(parser)
    parser.add_argument('--crop_mode', choices=('list', 'selective_search'), default='list',
                        help='where windows come from; selective_search, which needs MATLAB, is refused')
    parser.add_argument('--context_pad', type=int, default=16,
                        help='so many pixels of the input on each side show what is around a window (16)')
    flags = parser.parse_args()
    mean = start(flags)
    detector = caffe.Detector(flags.model_def, flags.pretrained_model, mean, flags.input_scale, flags.raw_scale,
                              flags.channel_swap, flags.context_pad)
    if flags.channel_swap is None:
        swap_channels(detector)
        detector.configure_crop(flags.context_pad)  # the mean in crops has this order of channels
    if flags.crop_mode == 'selective_search':
        detector.detect_selective_search([])
    began = time.time()
    found = detector.detect_windows(read_windows(flags.input_file))
    print(f'Processed {len(found)} windows in {time.time() - began:.2f} s.')
    with open(flags.output_file, 'w', newline='', encoding='utf-8') as file:
        rows = csv.writer(file)
        classes = len(found[0]['prediction']) if found else 0
        rows.writerow(['filename', *CORNERS, *(f'class{i}' for i in range(classes))])
        for each in found:
            rows.writerow([each['filename'], *each['window'], *each['prediction']])
    return 0


if __name__ == '__main__':
    program.run(main, KeyError, NotImplementedError, caffe.Error)
