#!/usr/bin/env python3
"""Turns the classifier's inner products into convolutions, and runs the net on a page of digits at once. What it says is
compared with what the classifier says of each window of the page.

  net_surgery.py [WEIGHTS]

Run from the root of the project, with the trained weights (examples/net_surgery/classifier_iter_300.caffemodel)."""

import argparse
import os
import sys
import time

import numpy as np

os.environ.setdefault('GLOG_minloglevel', '2')

import caffe  # noqa: E402  the log level comes first

FOLDER = 'examples/net_surgery'
WINDOW, STRIDE = 8, 2  # of the classifier's input, of its one pooling layer


def transplant(classifier, dense):
    """Fills the dense net: layers of the same name have the same weights; NAME_conv has those of the inner product NAME, in
    the same order of values, with other axes."""
    for name, blobs in dense.params.items():
        for mine, its in zip(blobs, classifier.params[name.replace('_conv', '')]):
            mine.data[...] = its.data.reshape(mine.data.shape)


def page_of(images, height, width, numbers):
    """A black page with an image somewhere in each cell of 16 x 16 pixels; the corner (row, column) of each image."""
    page = np.zeros((height, width), np.float32)
    cells = [(row, column) for row in range(0, height, 16) for column in range(0, width, 16)]
    corners = [(row + STRIDE * numbers.randint(5), column + STRIDE * numbers.randint(5)) for row, column in cells]
    for image, (row, column) in zip(images, corners):
        page[row:row + WINDOW, column:column + WINDOW] = image
    return page, corners


def windows_of(page):
    """Every window that the dense net looks at, as a batch, in its order."""
    views = np.lib.stride_tricks.sliding_window_view(page, (WINDOW, WINDOW))[::STRIDE, ::STRIDE]
    return views.reshape(-1, 1, WINDOW, WINDOW)


def seconds_of(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('weights', metavar='WEIGHTS', nargs='?', default=f'{FOLDER}/classifier_iter_300.caffemodel')
    weights = parser.parse_args().weights
    try:
        caffe.set_mode_cpu()
        classifier = caffe.Net(f'{FOLDER}/classifier.prototxt', caffe.TEST, weights=weights)
        dense = caffe.Net(f'{FOLDER}/dense.prototxt', caffe.TEST)
        source = caffe.Net(f'{FOLDER}/train_test.prototxt', caffe.TEST)
    except (caffe.Error, OSError) as error:
        sys.exit(f'net_surgery.py: {error}')
    transplant(classifier, dense)
    dense.save(f'{FOLDER}/dense.caffemodel')

    digits = source.forward(['data', 'label'])
    height, width = dense.blobs['data'].data.shape[2:]
    page, corners = page_of(digits['data'][:, 0], height, width, np.random.RandomState(1))
    dense.blobs['data'].data[0, 0] = page
    windows = windows_of(page)
    classifier.blobs['data'].reshape(*windows.shape)
    classifier.blobs['data'].data[...] = windows
    at_once, one_by_one = seconds_of(dense.forward), seconds_of(classifier.forward)

    answers = dense.blobs['prob'].data[0]  # 10 x rows x columns
    slid = classifier.blobs['prob'].data.T.reshape(answers.shape)
    told = [answers[:, row // STRIDE, column // STRIDE].argmax() for row, column in corners]
    right = sum(digit == label for digit, label in zip(told, digits['label']))
    print(f'{answers[0].size} windows of a page of {height} x {width} pixels')
    print(f'largest difference from the classifier, run on each window: {np.abs(answers - slid).max():.1e}')
    print(f'{right} of {len(corners)} digits are told right')
    print(f'{1000 * at_once:.1f} ms at once, {1000 * one_by_one:.1f} ms window by window')


if __name__ == '__main__':
    main()
