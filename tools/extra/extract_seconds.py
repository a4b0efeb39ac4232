#!/usr/bin/env python3
"""Writes the seconds since solving began for each log line of an iteration.

  extract_seconds.py train.log seconds.txt
"""

import argparse

from training_log import ITERATION, read_lines  # first: it finds script
from script import run_script, write_whole


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('log', metavar='LOG')
    parser.add_argument('output', metavar='OUTPUT')
    arguments = parser.parse_args()
    lines = [line for line in read_lines(arguments.log) if ITERATION.match(line.text)]
    write_whole(arguments.output, ''.join(f'{line.seconds:f}\n' for line in lines))


if __name__ == '__main__':
    run_script(main)
