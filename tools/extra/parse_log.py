#!/usr/bin/env python3
"""Makes two tables from a log of training: LOG.train and LOG.test in FOLDER, with a row for each logged iteration:
NumIters, Seconds (since solving began), LearningRate, and a column for each output of the net. If there are several
test nets, LOG.test has their number in the column TestNet.

  layrub train --solver=solver.prototxt 2> train.log
  parse_log.py train.log .
"""

import argparse
import csv
import io
import os

from training_log import read_rows  # first: it finds script
from script import BadInput, run_script, write_whole


def table(rows, delimiter):
    columns = ['NumIters', 'Seconds', 'LearningRate']
    for row in rows:
        columns += [name for name in row if name not in columns]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, delimiter=delimiter, lineterminator='\n')
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('log', metavar='LOG')
    parser.add_argument('folder', metavar='FOLDER')
    parser.add_argument('--verbose', action='store_true', help='say what is written')
    parser.add_argument('--delimiter', default=',', help='between columns (default: a comma)')
    arguments = parser.parse_args()
    if len(arguments.delimiter) != 1:
        raise BadInput(f'--delimiter must be one character; it is {arguments.delimiter!r}')
    if not os.path.isdir(arguments.folder):
        raise BadInput(f'{arguments.folder}: no such folder')
    for kind, rows in zip(('train', 'test'), read_rows(arguments.log)):
        path = os.path.join(arguments.folder, f'{os.path.basename(arguments.log)}.{kind}')
        write_whole(path, table(rows, arguments.delimiter) if rows else '')
        if arguments.verbose:
            print(f'Wrote {path}: {len(rows)} rows')


if __name__ == '__main__':
    run_script(main)
