#!/usr/bin/env python3
"""Times a Caffe net in PyTorch. bench_cpu.py runs it in a Python that has PyTorch.

  torch_net.py [--iterations=N] [--channels_last] [--compile] [--threads=N] [--device=cuda:0] [--tf32=off,on] < NET.json

NET.json holds the training net's layers, as bench_cpu.py writes them. An iteration is forward, backward and a step of
SGD with momentum, on synthetic images in device memory, as in Layrub's benchmark. cuDNN uses the algorithms that it
measures to be the fastest. For each word of --tf32 (whether products may be rounded to TF32), prints a line of JSON:
{"tf32": false, "seconds": [...], "rss_bytes": N, "device_bytes": N or null, "torch": version}.
"""

import argparse
import json
import resource
import sys
import time

import torch
from torch import nn


def pair(values, default):
    values = values if isinstance(values, list) else [values]
    values = [value for value in values if value is not None] or [default]
    return tuple(values * 2)[:2]


def convolution(layer, shapes):
    parameters = layer['convolution_param']
    return nn.Conv2d(shapes[0][1], parameters['num_output'], pair(parameters.get('kernel_size'), 1),
                     pair(parameters.get('stride'), 1), pair(parameters.get('pad'), 0),
                     pair(parameters.get('dilation'), 1), parameters.get('group', 1), parameters.get('bias_term', True))


def pooling(layer, shapes):
    parameters = layer['pooling_param']
    if parameters.get('global_pooling'):
        size, stride = tuple(shapes[0][2:]), 1
    else:
        size, stride = parameters['kernel_size'], parameters.get('stride', 1)
    of = nn.AvgPool2d if parameters.get('pool') == 'AVE' else nn.MaxPool2d
    return of(size, stride, parameters.get('pad', 0), ceil_mode=True)


class Product(nn.Linear):
    def forward(self, x):
        return super().forward(x.flatten(1))


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


class Concat(nn.Module):
    def forward(self, *xs):
        return torch.cat(xs, 1)


def lrn(layer, _):
    parameters = layer.get('lrn_param', {})
    return nn.LocalResponseNorm(parameters.get('local_size', 5), parameters.get('alpha', 1), parameters.get('beta', .75))


MAKERS = {
    'Convolution': convolution,
    'Pooling': pooling,
    'LRN': lrn,
    'BatchNorm': lambda layer, shapes: nn.BatchNorm2d(shapes[0][1]),
    'Scale': lambda layer, shapes: nn.Identity(),  # PyTorch's BatchNorm scales
    'ReLU': lambda layer, shapes: nn.ReLU(inplace=layer['top'] == layer['bottom']),
    'Dropout': lambda layer, shapes: nn.Dropout(layer.get('dropout_param', {}).get('dropout_ratio', .5)),
    'Eltwise': lambda layer, shapes: Sum(),
    'Concat': lambda layer, shapes: Concat(),
    'InnerProduct': lambda layer, shapes: Product(torch.Size(shapes[0][1:]).numel(),
                                                  layer['inner_product_param']['num_output']),
}


class Net(nn.Module):
    """Runs the layers in order and returns the weighted sum of the losses. Creates each layer when the first images
    reach it."""

    def __init__(self, layers):
        super().__init__()
        self.layers = [layer for layer in layers if layer['type'] not in ('Data', 'DummyData', 'Accuracy')]
        self.made = nn.ModuleDict()

    def forward(self, images, labels):
        blobs = {'data': images, 'label': labels}
        loss = 0
        for layer in self.layers:
            below = [blobs[name] for name in layer['bottom']]
            if layer['type'] == 'SoftmaxWithLoss':
                loss = loss + layer.get('loss_weight', [1])[0] * nn.functional.cross_entropy(*below)
                continue
            name = layer['name'].replace('.', '_')
            if name not in self.made:
                self.made[name] = MAKERS[layer['type']](layer, [blob.shape for blob in below])
            blobs[layer['top'][0]] = self.made[name](*below)
        return loss


def train(net, images, labels, iterations):
    """Seconds of each iteration."""
    wait = torch.cuda.synchronize if images.is_cuda else lambda: None
    step = torch.optim.SGD(net.parameters(), lr=.001, momentum=.9, weight_decay=.0005)
    seconds = []
    for _ in range(iterations):
        wait()
        begin = time.monotonic()
        step.zero_grad()
        net(images, labels).backward()
        step.step()
        wait()
        seconds.append(time.monotonic() - begin)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--iterations', type=int, default=5, help='to measure, after those that warm up')
    parser.add_argument('--threads', type=int, default=0)
    parser.add_argument('--channels_last', action='store_true')
    parser.add_argument('--compile', action='store_true', help='by torch.compile')
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--tf32', default='off', help='off, on, or both with a comma')
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    description = json.load(sys.stdin)
    net = Net(description['layers'])
    images = torch.randn(description['shape'])
    labels = torch.randint(0, 10, (images.shape[0],))
    with torch.no_grad():
        net(images[:2], labels[:2])
    if options.channels_last:
        net, images = net.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
    net, images, labels = net.to(options.device), images.to(options.device), labels.to(options.device)
    net.train()
    run = torch.compile(net) if options.compile else net
    torch.backends.cudnn.benchmark = True
    warm_up = 3 if images.is_cuda or options.compile else 1
    for tf32 in options.tf32.split(','):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32 == 'on'
        seconds = train(run, images, labels, options.iterations + warm_up)[warm_up:]
        print(json.dumps({'tf32': tf32 == 'on', 'seconds': seconds, 'torch': torch.__version__,
                          'rss_bytes': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                          'device_bytes': torch.cuda.max_memory_reserved() if images.is_cuda else None}), flush=True)


if __name__ == '__main__':
    main()
