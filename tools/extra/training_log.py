"""Reads training logs of Layrub and of Caffe. Shared by the programs of this folder."""

import datetime
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../python'))
from script import BadInput, read_text  # noqa: E402

PREFIX = re.compile(r'[IWEF](\d{4})?(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))? +\d+ \S+\] (.*)')
NUMBER = r'[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)'
ITERATION = re.compile(r'Iteration (\d+)')
TESTED = re.compile(r'Iteration \d+, Testing net \(#(\d+)\)')
RATE = re.compile(rf'Iteration \d+, lr = ({NUMBER})')
OUTPUT = re.compile(rf' *(Train|Test) net output #\d+: (\S+) = ({NUMBER})')


class Line:
    """A line with glog's prefix: `seconds` since training began, and the text."""

    def __init__(self, seconds, text):
        self.seconds = seconds
        self.text = text


def read_lines(path):
    """The lines of a log that have a prefix. Time is 0 at the line that says that solving begins, or at the first line
    if there is no such line. It keeps growing at the turn of the year."""
    lines = []
    year, last = 2001, None  # a prefix may have no year
    for text in read_text(path).split('\n'):
        found = PREFIX.match(text)
        if not found:
            continue
        _, month, day, hour, minute, second, fraction, said = found.groups()
        try:
            time = datetime.datetime(year, int(month), int(day), int(hour), int(minute), int(second))
        except ValueError as error:
            raise BadInput(f'{path}: no date: {text.strip()}') from error
        time += datetime.timedelta(seconds=float('0.' + fraction) if fraction else 0)
        if last is not None and time < last - datetime.timedelta(days=180):
            year += 1
            time = time.replace(year=year)
        last = time
        lines.append((time, said))
    if not lines:
        raise BadInput(f"{path}: no log: no line begins as glog's do")
    begin = next((time for time, said in lines if said.startswith('Solving')), lines[0][0])
    return [Line((time - begin).total_seconds(), said) for time, said in lines]


def read_rows(path):
    """The rows of training and those of tests: two lists of dicts with NumIters, Seconds, LearningRate and a value for
    each output of the net. If there are several test nets, rows of tests also have TestNet, its number."""
    rows = {'Train': [], 'Test': []}
    iteration, rate, net = None, float('nan'), 0
    for line in read_lines(path):
        found = ITERATION.match(line.text)
        if found:
            iteration = int(found[1])
            tested = TESTED.match(line.text)
            if tested:
                net = int(tested[1])
            known = RATE.match(line.text)
            if known:
                rate = float(known[1])
                for of_kind in rows.values():  # the rate is logged after the outputs of its iteration
                    for row in reversed(of_kind):
                        if row['NumIters'] != iteration:
                            break
                        row['LearningRate'] = rate
            continue
        found = OUTPUT.match(line.text)
        if not found or iteration is None:
            continue
        kind, name, value = found.groups()
        of_kind = rows[kind]
        if not of_kind or of_kind[-1]['NumIters'] != iteration or name in of_kind[-1] or \
                of_kind[-1].get('TestNet', net) != net:
            of_kind.append({'NumIters': iteration, 'Seconds': line.seconds, 'LearningRate': rate})
            if kind == 'Test':
                of_kind[-1]['TestNet'] = net
        of_kind[-1][name] = float(value)
    for of_kind in rows.values():  # the first tests come before a rate is logged
        for row, following in reversed(list(zip(of_kind, of_kind[1:]))):
            if math.isnan(row['LearningRate']):
                row['LearningRate'] = following['LearningRate']
    if len({row['TestNet'] for row in rows['Test']}) <= 1:
        for row in rows['Test']:
            del row['TestNet']
    return rows['Train'], rows['Test']
