#!/usr/bin/env python3
"""Prints as JSON the versions of a GPU's driver and of CUDA's libraries, and the folders where programs find the
libraries.

  bin/launch tools/gpu/gpu_libraries.py [GPU]     from a bundle
  tools/gpu/gpu_libraries.py [GPU]                from a source tree

Names: driver, name and memory_mib of the GPU, cuda_driver (the newest CUDA that the driver runs), cuda_runtime, cublas,
cudnn, nccl; null if not found or without an answer. folders: LD_LIBRARY_PATH, followed in a source tree by the folders
nvidia/*/lib of Python's packages. This is a separate script because a library may crash or hang.
"""

import ctypes
import glob
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def folders():
    """The folders that are searched for libraries before those of the system, in this order."""
    found = [folder for folder in os.environ.get('LD_LIBRARY_PATH', '').split(':') if folder]
    if not os.path.exists(os.path.join(ROOT, 'bin', 'launch')):
        found += [folder for path in sys.path if path for folder in sorted(glob.glob(path + '/nvidia/*/lib'))]
    return list(dict.fromkeys(found))


def library(name, *versions):
    """The newest version of the library that is found; None if there is none."""
    files = [f'lib{name}.so.{version}' for version in versions]
    for path in [os.path.join(folder, file) for file in files for folder in folders()] + files:
        try:
            return ctypes.CDLL(path)
        except OSError:
            pass
    return None


def number(function, *arguments):
    """The answer of a function `status f(..., int* answer)`; None if it fails."""
    answer = ctypes.c_int()
    return answer.value if function(*arguments, ctypes.byref(answer)) == 0 else None


def cuda_version(packed):
    return packed and f'{packed // 1000}.{packed % 1000 // 10}'


def words(function, *arguments):
    """The same for a function that fills a text."""
    answer = ctypes.create_string_buffer(96)
    return answer.value.decode() if function(*arguments, answer, len(answer)) == 0 else None


def of_driver(gpu):
    """libcuda and NVML, which come with the driver."""
    said = dict.fromkeys(('cuda_driver', 'driver', 'name', 'memory_mib'))
    cuda = library('cuda', 1)
    if cuda and cuda.cuInit(0) == 0:
        said['cuda_driver'] = cuda_version(number(cuda.cuDriverGetVersion))
        device, name, size = ctypes.c_int(), ctypes.create_string_buffer(96), ctypes.c_size_t()
        if cuda.cuDeviceGet(ctypes.byref(device), gpu) == 0:
            if cuda.cuDeviceGetName(name, len(name), device) == 0:
                said['name'] = name.value.decode()
            if cuda.cuDeviceTotalMem_v2(ctypes.byref(size), device) == 0:
                said['memory_mib'] = size.value >> 20
    nvml = library('nvidia-ml', 1)
    if nvml and nvml.nvmlInit_v2() == 0:
        said['driver'] = words(nvml.nvmlSystemGetDriverVersion)
    return said


def of_libraries():
    said = dict.fromkeys(('cuda_runtime', 'cublas', 'cudnn', 'nccl'))
    if runtime := library('cudart', 13, 12):
        said['cuda_runtime'] = cuda_version(number(runtime.cudaRuntimeGetVersion))
    if cublas := library('cublas', 13, 12):
        parts = [number(cublas.cublasGetProperty, part) for part in range(3)]
        said['cublas'] = None if None in parts else '.'.join(map(str, parts))
    if cudnn := library('cudnn', 9, 8):
        cudnn.cudnnGetVersion.restype = ctypes.c_size_t
        packed = cudnn.cudnnGetVersion()
        major = 10000 if packed >= 90000 else 1000
        said['cudnn'] = f'{packed // major}.{packed % major // 100}.{packed % 100}'
    if nccl := library('nccl', 2):
        packed = number(nccl.ncclGetVersion)
        said['nccl'] = packed and f'{packed // 10000}.{packed % 10000 // 100}.{packed % 100}'
    return said


def main():
    gpu = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    # Each part is printed at once, so that a library that ends this process loses no earlier part.
    for part in (lambda: {'folders': ':'.join(folders())}, lambda: of_driver(gpu), of_libraries):
        try:
            print(json.dumps(part()), flush=True)
        except AttributeError as error:  # a library without one of these functions
            print(f'gpu_libraries.py: {error}', file=sys.stderr)


if __name__ == '__main__':
    main()
