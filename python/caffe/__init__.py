"""Caffe for Python, on Layrub: trains nets that do not fit the memory.

    import caffe
    net = caffe.Net('deploy.prototxt', caffe.TEST, weights='net.caffemodel')
    solver = caffe.get_solver('solver.prototxt', device_memory='2GiB')
    solver.step(100)

The interface is pycaffe's, with these additions: Net.plan, Solver.plan and caffe.plan tell what training needs before
it runs; Net.place and the solvers' arguments strategy and device_memory set a budget. Errors are exceptions
(caffe.Error, or Python's own for wrong arguments).
"""
try:
    from ._caffe import (
        NCCL, AdaDeltaSolver, AdaGradSolver, AdamSolver, Blob, Error, Layer, Net, NesterovSolver, RMSPropSolver,
        SGDSolver, Solver, Timer, __version__, get_solver, has_nccl, init_log, layer_type_list, layrub_version, log,
        set_device, set_mode_cpu, set_mode_gpu, set_multiprocess, set_random_seed, set_solver_count, set_solver_rank,
        solver_count, solver_rank)
except ModuleNotFoundError as error:
    if error.name != f'{__name__}._caffe':
        raise
    import os
    import sys
    folder = os.path.dirname(os.path.abspath(__file__))
    if any(name.startswith('_caffe.') for name in os.listdir(folder)):
        raise ImportError(f'the library in {folder} is for another Python than {sys.executable}; build it with '
                          f'-D Python_EXECUTABLE={sys.executable}') from None
    raise ImportError(f'{folder} is the source of the package, without the library; run the programs of build/python, '
                      'such as build/python/draw_net.py, or run `make pycaffe` first') from None
from google.protobuf import text_format as _text_format  # noqa: F401  programs import it from here, as in Caffe
from .proto.caffe_pb2 import TEST, TRAIN
from . import pycaffe
from . import coord_map, draw, io
from .classifier import Classifier
from .detector import Detector
from .net_spec import NetSpec, layers, params, to_proto
from .plans import Plan, plan


def export_onnx(net, path, **options):
    """Writes a net as ONNX: caffe.onnx_export.export_onnx, which needs the package onnx."""
    from .onnx_export import export_onnx as export
    return export(net, path, **options)


def import_onnx(path, prefix, **options):
    """Writes an ONNX file as PREFIX.prototxt and PREFIX.caffemodel: caffe.onnx_import.import_onnx, which needs the package
    onnx."""
    from .onnx_import import import_onnx as import_
    return import_(path, prefix, **options)
