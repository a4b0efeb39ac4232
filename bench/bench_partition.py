#!/usr/bin/env python3
"""Prints what dividing nets among devices gains by the cost model: the tables of docs/devices.md.

  bench_partition.py                                  WResNet-50, 101 and 152, 4 to 10 times as wide, on 8 x K80
  bench_partition.py --depth=152 --widen=10 --devices=4
  bench_partition.py rnn                              6, 8 and 10 layers of LSTM with 4,096 to 8,192 hidden units

The programs lie in the folder named by LAYRUB_BIN_DIR, build/bin by default.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tools/python'))
from script import run_script

BIN = os.path.abspath(os.environ.get('LAYRUB_BIN_DIR', os.path.join(ROOT, 'build/bin')))
PARTITIONS = ('auto', 'tofu', 'chop', 'rows', 'data')
GIB = 1 << 30


def numbers(text):
    return [int(word) for word in text.split(',')]


def plan(model, *args):
    """The JSON of `layrub plan`."""
    done = subprocess.run([os.path.join(BIN, 'layrub'), 'plan', f'--model={model}', '--format=json', *args],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        sys.exit(f'bench_partition.py: {done.stderr.strip()}')
    return json.loads(done.stdout)


def cell(made, whole):
    """The speed relative to that of as many ideal devices, and the bytes that a device receives."""
    if made['verdict'] != 'fits':
        return f"needs {made['smallest_budget_bytes'] / GIB:.0f} GiB" if made['smallest_budget_bytes'] else 'does not fit'
    return f"{whole / made['devices'] / made['predicted_seconds']:.0%}, {made['received_bytes'] / GIB:.1f}"


def percent(part):
    return f'{part:.0%}'


class WideResNets:
    """Each has a depth and a factor for its channels."""
    columns = ('depth', 'widened')
    more_columns = ()

    def __init__(self, options):
        self.nets = [(depth, widen) for depth in options.depth for widen in options.widen]
        self.batch = options.batch or 8

    def arguments(self, depth, widen):
        return ['wresnet', f'--depth={depth}', f'--widen={widen}']

    def more(self, *_):
        return []


class Lstms:
    """Each has a number of layers and of hidden units. Also tried: whole layers, one after the other, on the devices in turn. A
    device can then compute a step of its layer while the next one computes the step before."""
    columns = ('layers', 'hidden units')
    more_columns = ('layers placed whole',)
    steps = 20

    def __init__(self, options):
        self.nets = [(layers, hidden) for layers in options.layers for hidden in options.hidden]
        self.batch = options.batch or 128

    def arguments(self, layers, hidden):
        return ['rnn', f'--layers={layers}', f'--hidden={hidden}']

    def more(self, layers, hidden, keep, options):
        devices = options.devices
        most = -(-layers // devices)  # layers of one device
        state = keep['persistent_bytes'] / layers * most
        if state > options.capacity * 2**20:
            return [f'needs {state / GIB:.0f} GiB']
        step = keep['predicted_seconds'] / layers / self.steps  # of a layer, forward and backward
        sending = self.batch * hidden * 4 / options.device_link if devices > 1 else 0
        seconds = self.makespan(layers, devices, step / 3, sending) + self.makespan(layers, devices, step * 2 / 3, sending)
        return [percent(keep['predicted_seconds'] / devices / seconds)]

    def makespan(self, layers, devices, seconds, sending):
        """Of one pass, in which layer l runs on device l modulo `devices`."""
        free = [0.0] * devices  # when the device has done all that it has begun
        done = {}               # by layer and step
        for front in range(layers + self.steps - 1):
            for layer in range(max(0, front - self.steps + 1), min(layers, front + 1)):
                step = front - layer
                below = done.get((layer - 1, step), -sending) + sending
                device = layer % devices
                done[layer, step] = free[device] = max(free[device], below, done.get((layer, step - 1), 0.0)) + seconds
        return max(done.values())


def row(nets, net, options, folder):
    subprocess.run([sys.executable, os.path.join(ROOT, 'models/zoo/generate_model.py'), *nets.arguments(*net),
                    f'--batch={nets.batch}', '--data=dummy', f'--out={folder}'], check=True)
    model = os.path.join(folder, 'train_val.prototxt')
    made = {name: plan(model, f'--devices={options.devices}', f'--partition={name}', f'--machine={options.machine}')
            for name in PARTITIONS}
    swap = plan(model, f'--machine={options.machine}')
    whole = made['auto']['whole_seconds']
    alone = percent(whole / options.devices / swap['predicted_seconds']) if swap['verdict'] == 'fits' else 'does not fit'
    more = nets.more(*net, plan(model, f'--machine={options.machine}', '--placement=keep'), options)
    cells = [*map(str, net), f"{made['auto']['persistent_bytes'] / GIB:.1f}", f"{made['auto']['device_peak_bytes'] / GIB:.1f}",
             *(cell(made[name], whole) for name in PARTITIONS), *more, alone, f"{made['tofu']['search_seconds']:.1f}"]
    print('| ' + ' | '.join(cells) + ' |', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('net', nargs='?', choices=('wresnet', 'rnn'), default='wresnet')
    parser.add_argument('--depth', type=numbers, default=[50, 101, 152], help='of wresnet (50,101,152)')
    parser.add_argument('--widen', type=numbers, default=[4, 6, 8, 10], help='of wresnet (4,6,8,10)')
    parser.add_argument('--layers', type=numbers, default=[6, 8, 10], help='of rnn (6,8,10)')
    parser.add_argument('--hidden', type=numbers, default=[4096, 6144, 8192], help='of rnn (4096,6144,8192)')
    parser.add_argument('--batch', type=int, help='images (8) or sequences (128)')
    parser.add_argument('--devices', type=int, default=8, help='2, 4, 8 ... (8)')
    parser.add_argument('--machine', default='k80', help='each of them (k80)')
    parser.add_argument('--capacity', type=int, default=11441, help='its MiB, for layers placed whole (11441, of k80)')
    parser.add_argument('--device_link', type=float, default=21e9, help='bytes/s between devices, likewise (21e9)')
    options = parser.parse_args()
    nets = (WideResNets if options.net == 'wresnet' else Lstms)(options)
    columns = [*nets.columns, 'state, GiB', 'device memory, GiB', *PARTITIONS, *nets.more_columns, 'one, swapping', 'search, s']
    print('| ' + ' | '.join(columns) + ' |')
    print('|' + '---:|' * len(columns))
    with tempfile.TemporaryDirectory() as folder:
        for net in nets.nets:
            row(nets, net, options, folder)


if __name__ == '__main__':
    run_script(main)
