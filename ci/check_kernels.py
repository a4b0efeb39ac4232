#!/usr/bin/env python3
"""Checks the kernels as nvcc has compiled them: that they spill at most a few registers, and that each can be launched.
For the stack of a kernel, CUDA takes device memory outside of any budget, for all threads that a GPU can run.

  cmake ... -D CMAKE_CUDA_FLAGS=-Xptxas=-v && cmake --build build > build.log 2>&1
  ci/check_kernels.py build.log

Reads the lines of ptxas in the output of a build. Names each kernel that spills more than --spills bytes, whose stack
is larger than --stack, or that needs more registers for a block of --threads than a processor has. Exits with 1 if
there is such a kernel, or if the output has no kernel."""

import argparse
import os
import re
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/python'))
from script import BadInput, read_text, run_script

REGISTERS = 65536  # of a block, on all GPUs since 2014


@dataclass
class Kernel:
    name: str
    architecture: str
    spilled: int = 0  # bytes stored
    stack: int = 0  # bytes of a thread
    registers: int = 0


def read(text):
    """The kernels in the output of ptxas, in its order. If one was compiled twice, the last result counts."""
    kernels = {}
    kernel = None
    for line in text.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)' for '(\w+)'", line):
            kernel = kernels[found[1], found[2]] = Kernel(found[1], found[2])
        elif kernel and (found := re.search(r'(\d+) bytes stack frame, (\d+) bytes spill stores', line)):
            kernel.stack = max(kernel.stack, int(found[1]))
            kernel.spilled = max(kernel.spilled, int(found[2]))
        elif kernel and (found := re.search(r'Used (\d+) registers', line)):
            kernel.registers = int(found[1])
    return list(kernels.values())


def complaints(kernels, spills, stack, threads):
    """A sentence for each kernel with more spilled bytes than `spills`, more on its stack than `stack`, or too many registers
    for `threads`."""
    found = []
    for kernel in kernels:
        where = f'{kernel.name} ({kernel.architecture})'
        if kernel.spilled > spills:
            found.append(f'{where} spills {kernel.spilled} bytes, more than {spills}')
        if kernel.stack > stack:
            found.append(f'{where} has a stack of {kernel.stack} bytes, more than {stack}')
        if kernel.registers * threads > REGISTERS:
            found.append(f'{where} uses {kernel.registers} registers: a block of {threads} threads has {REGISTERS // threads}')
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('log', help='the output of a build')
    parser.add_argument('--spills', type=int, default=0, help='bytes that a kernel may spill (0)')
    parser.add_argument('--stack', type=int, default=0, help='bytes that a thread may have on its stack (0)')
    parser.add_argument('--threads', type=int, default=256, help='of the largest block (256)')
    options = parser.parse_args()
    kernels = read(read_text(options.log))
    if not kernels:
        raise BadInput(f'{options.log} tells of no kernel: build with -D CMAKE_CUDA_FLAGS=-Xptxas=-v, from scratch')
    found = complaints(kernels, options.spills, options.stack, options.threads)
    for line in found:
        print(line)
    spilling = sum(kernel.spilled > 0 for kernel in kernels)
    print(f'{len(kernels)} kernels, {spilling} of which spill, {max(kernel.spilled for kernel in kernels)} bytes at most; '
          f'{max(kernel.stack for kernel in kernels)} bytes of stack at most; '
          f'{max(kernel.registers for kernel in kernels)} registers at most')
    return 1 if found else 0


if __name__ == '__main__':
    run_script(main)
