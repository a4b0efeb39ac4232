"""`pip install ./python`: builds the library with CMake and puts it and the program layrub into the package caffe.

LAYRUB_BUILD names an existing build folder to use instead; LAYRUB_CMAKE_FLAGS has flags for CMake, such as
-DCPU_ONLY=OFF.
"""
import glob
import os
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))


def build():
    """Builds the library. Returns the build folder."""
    folder = os.environ.get('LAYRUB_BUILD')
    if folder:
        return folder
    folder = os.path.join(HERE, '..', 'build-wheel')
    subprocess.run(['cmake', '-S', os.path.join(HERE, '..'), '-B', folder, '-DBUILD_TESTS=OFF',
                    f'-DPython_EXECUTABLE={sys.executable}', *os.environ.get('LAYRUB_CMAKE_FLAGS', '').split()],
                   check=True)
    subprocess.run(['cmake', '--build', folder, '--parallel', str(os.cpu_count()), '--target', 'pycaffe', 'layrub'],
                   check=True)
    return folder


class BuildPackage(build_py):

    def run(self):
        source, target = build(), os.path.join(self.build_lib, 'caffe')
        shutil.copytree(os.path.join(source, 'python', 'caffe'), target, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns('__pycache__'))
        for part, pattern in (('bin', 'bin/layrub'), ('lib', 'lib*/libcaffe.so.*'), ('lib', 'lib*/libcaffe_python.so'),
                              ('lib', 'lib*/libcaffe_onednn.so'), ('lib', 'lib*/liblayrub_mpi.so')):
            files = [file for file in glob.glob(os.path.join(source, pattern)) if not os.path.islink(file)]
            if not files and 'onednn' not in pattern and 'mpi' not in pattern:  # builds without oneDNN or MPI have none
                sys.exit(f'setup.py: {source} has no {pattern}')
            os.makedirs(os.path.join(target, part), exist_ok=True)
            for file in files:
                shutil.copy(file, os.path.join(target, part))


class Binary(Distribution):
    """A distribution whose wheel is for this platform only."""

    def has_ext_modules(self):
        return True


setup(packages=['caffe'], cmdclass={'build_py': BuildPackage}, distclass=Binary)
