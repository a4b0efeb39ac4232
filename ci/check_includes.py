#!/usr/bin/env python3
"""Checks which files include which, and which files test whether the build is for GPUs.

Every source file belongs to a part, by its path. A part may include itself and the parts that MAY_INCLUDE lists for it.
Tests may include anything. Exits 1 and names each include that breaks the rule as `file:line: ...`.
"""

import argparse
import os
import re
import sys

# What a part may include besides itself. The planner's folders are parts, in the order of its pipeline: graphs and
# programs (ir), the cost model (cost), addresses (pack), the order of steps (schedule), the checker (check), programs
# by rule (policies) and by search (search), and the choice among them (strategies). `core` is the base of Caffe:
# common, blob, layer, the utilities and the protocol.
IR = {'base', 'ir'}
COST = IR | {'cost'}
SCHEDULE = COST | {'pack', 'schedule'}
POLICIES = SCHEDULE | {'policies'}
PARTITION = {'base', 'partition'}
# the parts of the planner with public headers, for the rest of the program
PUBLIC = COST | {'check', 'strategies', 'partition'}
MAY_INCLUDE = {
    'base': set(),
    'ir': IR,
    'cost': COST,
    'pack': COST,
    'schedule': SCHEDULE,
    'check': IR,
    'policies': POLICIES,
    'search': POLICIES,
    'strategies': POLICIES | {'search'},
    'bounds': COST,
    'partition': PARTITION,
    'device': COST,
    'runtime': PUBLIC | {'device'},
    'core': PARTITION | {'device'},
    'kernels': PARTITION | {'device', 'core'},
    'data': PARTITION | {'device', 'core', 'kernels'},
    'layers': PUBLIC | {'device', 'runtime', 'core', 'kernels', 'data', 'net'},
    'net': PUBLIC | {'device', 'runtime', 'core'},
    'division': PUBLIC | {'device', 'core', 'kernels', 'net'},
    'solvers': PUBLIC | {'device', 'runtime', 'core', 'kernels', 'net', 'division'},
}

# The part of a file: that of the first pattern that matches. In layrub it follows from the folder.
PARTS = [
    (r'(?:include|src)/layrub/placement/(\w+)/', r'\1'),
    (r'(?:include|src)/layrub/(\w+)/', r'\1'),
    (r'include/caffe/caffe\.hpp', 'everything'),
    (r'(include|src)/caffe/util/signal_handler', 'solvers'),
    (r'(include|src)/caffe/util/im2col', 'kernels'),
    (r'include/caffe/(solver|sgd_solvers|parallel|divided_training)', 'solvers'),
    (r'include/caffe/partition\.hpp', 'division'),
    (r'src/caffe/partition/', 'division'),
    (r'include/caffe/(net|parameter_callback|planned_net|placement)', 'net'),
    (r'include/caffe/layers/', 'layers'),
    (r'include/caffe/(data_transformer|source_shapes|synthetic_data)', 'data'),
    (r'include/caffe/', 'core'),
    (r'src/caffe/(util|proto)/', 'core'),
    (r'src/caffe/(\w+)/', r'\1'),
    (r'(tools|examples|python)/', 'programs'),
]

# The pure parts, and the libraries that they must not use.
PLANNER = ('ir', 'cost', 'pack', 'schedule', 'check', 'policies', 'search', 'strategies', 'bounds', 'partition')
PURE = ('base',) + PLANNER
IMPURE = re.compile(r'(boost|glog|gflags|google|hdf5|lmdb|leveldb|opencv2?|cblas|omp)\b')
CUDA = re.compile(r'(cuda|cublas|curand|cudnn|nccl|nvtx3|driver_types)')
MAY_MENTION_CUDA = re.compile(
    r'src/layrub/device/cuda|src/caffe/kernels/|include/caffe/util/(device_alternate|cudnn|nccl)\.hpp')

# Headers that take longer to compile than most kernels, and that headers of kernels must not include.
HEAVY = re.compile(r'<(boost|glog|gflags|google|opencv2?|hdf5)/|<([if]o?|s)stream>|'
                   r'(include/caffe/(common|error|blob|syncedmem)\.hpp|.*\.pb\.h)$')
KERNEL_HEADER = re.compile(r'src/caffe/kernels/(?!cuda/|onednn/)(\w+/)?\w+\.hpp$')
# Headers in that folder for layers, and for the functions caffe_gpu_*. Kernels do not include them.
FOR_THE_HOST = re.compile(r'src/caffe/kernels/(blob_arguments|on_device)\.hpp$')

# Files that are compiled twice, for libcaffe with and without a backend for GPUs. Only they, public headers and
# examples may test which build it is. See LAYRUB_BY_DEVICE in src/caffe/CMakeLists.txt.
BY_DEVICE = re.compile(r'include/caffe/|examples/|src/caffe/(kernels|core)/|src/caffe/util/im2col\.cpp|'
                       r'src/caffe/layers/conv/base_conv_image\.cpp')
CPU_ONLY = re.compile(r'\s*#.*\bCPU_ONLY\b')

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCE = re.compile(r'\.(cpp|hpp|h|cu|cuh)$')


def part_of(path):
    """The part a file belongs to, or None."""
    for pattern, part in PARTS:
        match = re.match(pattern, path)
        if match:
            return match.expand(part)
    return None


def resolve(root, path, name):
    """The file that `#include "name"` in `path` reads, relative to root; None if not the project's."""
    private = 'src' if path.startswith(('include/', 'src/')) else path.split('/')[0]
    for folder in (os.path.dirname(path), 'include', private, 'tools' if private == 'python' else 'src', 'src'):
        candidate = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    return 'src/caffe/proto/caffe.pb.h' if name == 'caffe/proto/caffe.pb.h' else None


def complaint(root, path, quote, name):
    """What is wrong with one include, or None."""
    part = part_of(path)
    if part is None:
        return 'belongs to no part; add its folder to PARTS'
    if CUDA.match(name) and not MAY_MENTION_CUDA.match(path):
        return f'{name} is for kernels and the CUDA device alone'
    if part in PURE and IMPURE.match(name):
        return f'{part} is pure, {name} is not'
    if quote == '<':
        return None
    target = resolve(root, path, name)
    if target is None:
        return f'"{name}" is not found in the project'
    if part == 'programs':
        public = target.startswith(('include/', 'tools/', 'examples/', 'python/', 'src/caffe/proto/'))
        return None if public else f'programs include public headers, {target} is private'
    target_part = part_of(target)
    if target.startswith('src/layrub/placement/') and part not in PLANNER:
        return f'{target} is private to the planner'
    if part in (target_part, 'everything') or target_part in MAY_INCLUDE.get(part, set()):
        return None
    return f'{part} may not include {target} ({target_part})'


def heavy_header(root, path, seen):
    """The chain of includes from `path` to a HEAVY header, or None."""
    seen.add(path)
    with open(os.path.join(root, path), encoding='utf-8') as lines:
        found = [match.groups() for match in map(INCLUDE.match, lines) if match]
    for quote, name in found:
        target = f'<{name}>' if quote == '<' else resolve(root, path, name)
        if target is None or target in seen:
            continue
        if HEAVY.match(target):
            return [target]
        if quote == '"' and (further := heavy_header(root, target, seen)):
            return [target, *further]
    return None


def files_below(root):
    for top in ('include', 'src', 'tools', 'examples', 'python'):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = sorted(set(folders) - {'test'})
            for name in sorted(names):
                if SOURCE.search(name):
                    yield os.path.relpath(os.path.join(folder, name), root)


def check(root):
    """All complaints about the tree below root."""
    found = []
    for path in files_below(root):
        if KERNEL_HEADER.match(path) and not FOR_THE_HOST.match(path) and (way := heavy_header(root, path, set())):
            found.append(f'{path}: kernels must be quick to compile, and this comes to {" by way of ".join(reversed(way))}')
        with open(os.path.join(root, path), encoding='utf-8') as lines:
            for number, line in enumerate(lines, 1):
                if CPU_ONLY.match(line) and not BY_DEVICE.match(path):
                    found.append(f'{path}:{number}: this file is compiled once, with and without GPUs: it cannot ask CPU_ONLY')
                match = INCLUDE.match(line)
                text = match and complaint(root, path, *match.groups())
                if text:
                    found.append(f'{path}:{number}: {text}')
    return found


def main():
    parser = argparse.ArgumentParser(description='Checks who includes whom.')
    parser.add_argument('root', nargs='?',
                        default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = check(parser.parse_args().root)
    for text in found:
        print(text)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
