"""The wheel that pip makes from the source tree, installed elsewhere."""
import glob
import os
import shutil
import subprocess
import sys
import unittest

from common import BIN, DEPLOY_NET, CaffeTest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
# Runs in a process that does not know the build folder.
USE = '''
import caffe, os
assert os.path.dirname(caffe.__file__) == os.path.realpath("site/caffe"), caffe.__file__
with open("/proc/self/maps") as maps:
    libraries = {line.split()[-1] for line in maps if "libcaffe" in line}
assert libraries == {os.path.realpath(path) for path in libraries} and len(libraries) == 1, libraries
assert libraries.pop().startswith(os.path.realpath("site")), libraries
net = caffe.Net("net.prototxt", caffe.TEST)
print(net.forward()["prob"].shape, caffe.plan("net.prototxt").fits)
'''


class Wheel(CaffeTest):

    def test_it_imports_and_plans_after_installation(self):
        environment = {**os.environ, 'LAYRUB_BUILD': os.path.dirname(BIN), 'PYTHONDONTWRITEBYTECODE': '1',
                       'PIP_DISABLE_PIP_VERSION_CHECK': '1', 'TMPDIR': self.folder}
        shutil.copytree(SOURCE, self.path('python'))  # pip leaves files next to it
        for command in (['wheel', '--no-build-isolation', '--no-deps', '--wheel-dir', self.folder, self.path('python')],
                        ['install', '--no-deps', '--no-index', '--target', self.path('site'),
                         self.path('layrub-*.whl')]):
            files = [file for part in command for file in (sorted(glob.glob(part)) if '*' in part else [part])]
            run = subprocess.run([sys.executable, '-m', 'pip', *files], env=environment, capture_output=True, text=True,
                                 check=False)
            self.assertEqual(0, run.returncode, run.stdout + run.stderr)
        self.write('net.prototxt', DEPLOY_NET)
        environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
        run = subprocess.run([sys.executable, '-c', USE], cwd=self.folder, capture_output=True, text=True, check=False,
                             env={**environment, 'PYTHONPATH': self.path('site'), 'PATH': '/usr/bin:/bin'})
        self.assertEqual('(4, 5) True\n', run.stdout, run.stderr)


if __name__ == '__main__':
    unittest.main()
