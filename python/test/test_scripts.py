"""classify.py, detect.py, draw_net.py and train.py, as a user runs them."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import numpy as np

from common import CaffeTest, caffe
from test_io import SCORES, png

EXTRA = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools/extra')
SCRIPTS = os.path.join(os.path.dirname(caffe.__file__), '..')


class Scripts(CaffeTest):

    def run_script(self, name, *arguments):
        return subprocess.run([sys.executable, os.path.join(SCRIPTS, name), *arguments], cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def succeed(self, *command):
        run = self.run_script(*command)
        self.assertEqual(0, run.returncode, run.stderr)
        return run.stdout

    def refuse(self, says, *command):
        run = self.run_script(*command)
        self.assertEqual(1, run.returncode, run.stderr)
        self.assertRegex(run.stderr.splitlines()[-1], says)
        self.assertNotIn('Traceback', run.stderr)

    def model(self):
        net = self.net(SCORES)
        net.params['score'][0].data[...] = np.eye(3)
        net.save(self.path('scores.caffemodel'))
        for name, colour in (('a.png', (255, 0, 0)), ('b.png', (0, 0, 255))):
            with open(self.path(name), 'wb') as file:
                file.write(png(np.full((9, 12, 3), colour, np.uint8)))
        return ['--model_def=net.prototxt', '--pretrained_model=scores.caffemodel']

    def test_classify(self):
        model = self.model()
        self.assertIn('Classifying 2 inputs.', self.succeed('classify.py', *model, '--ext=png', '.', 'scores.npy'))
        np.testing.assert_allclose([[0, 0, 255], [255, 0, 0]], np.load(self.path('scores.npy')), atol=1e-3)
        np.save(self.path('mean.npy'), np.array([255., 0, 0]))
        self.succeed('classify.py', *model, '--center_only', '--mean_file=mean.npy', 'b.png', 'one')
        np.testing.assert_allclose([[0, 0, 0]], np.load(self.path('one.npy')), atol=1e-3)
        dims = self.run_script('classify.py', *model, '--images_dim=64', 'b.png', 'x')
        self.assertEqual(2, dims.returncode, dims.stderr)
        self.assertIn("--images_dim: two numbers from 1 upwards are needed, as in 256,256, and not '64'", dims.stderr)
        self.refuse('has no .jpg; --ext', 'classify.py', *model, '.', 'x')
        self.refuse('nowhere.prototxt', 'classify.py', '--model_def=nowhere.prototxt', model[1], 'a.png', 'x')

    def test_classify_subtracts_each_pixel_of_a_mean_image(self):
        model = self.model()
        net = self.net(SCORES.replace('pool: AVE global_pooling: true', 'pool: MAX global_pooling: true'))
        net.share_with(caffe.Net(self.path('net.prototxt'), caffe.TEST, weights=self.path('scores.caffemodel')))
        mean = np.zeros((3, 12, 12))
        mean[0] = np.arange(12)  # columns from 0 to 11; of six from 0.5 to 10.5
        np.save(self.path('mean.npy'), mean)
        with open(self.path('mean.binaryproto'), 'wb') as file:  # with four axes, as compute_image_mean writes it
            file.write(caffe.io.array_to_blobproto(mean[np.newaxis]).SerializeToString())
        for name in ('mean.npy', 'mean.binaryproto'):
            self.succeed('classify.py', *model, '--center_only', f'--mean_file={name}', 'b.png', 'one')
            np.testing.assert_allclose([[254.5, 0, 0]], np.load(self.path('one.npy')), atol=1e-3)
        self.write('bad.binaryproto', 'no mean')
        self.refuse('bad.binaryproto is no mean as compute_image_mean writes it', 'classify.py', *model,
                    '--mean_file=bad.binaryproto', 'b.png', 'x')

    def test_a_net_with_one_channel_gets_gray_images(self):
        self.model()
        net = self.net(SCORES.replace('dim: 3 dim: 3', 'dim: 3 dim: 1'))
        net.params['score'][0].data[...] = 1
        net.save(self.path('gray.caffemodel'))
        model = ['--model_def=net.prototxt', '--pretrained_model=gray.caffemodel']
        self.succeed('classify.py', *model, 'a.png', 'gray')
        np.testing.assert_allclose([[255 * 0.2125] * 3], np.load(self.path('gray.npy')), rtol=1e-4)
        self.write('windows.csv', 'filename,ymin,xmin,ymax,xmax\na.png,0,0,5,5\n')
        self.succeed('detect.py', *model, '--context_pad=1', 'windows.csv', 'gray.csv')
        with open(self.path('gray.csv'), encoding='utf-8') as file:
            self.assertTrue(0 < float(file.readlines()[1].split(',')[5]) < 255 * 0.2125)

    def test_without_its_library_the_package_says_what_to_run(self):
        os.mkdir(self.path('caffe'))
        shutil.copy(caffe.__file__, self.path('caffe'))

        def says():
            run = subprocess.run([sys.executable, '-c', 'import caffe'], cwd=self.folder, capture_output=True, text=True,
                                 check=False)
            self.assertEqual(1, run.returncode, run.stderr)
            self.assertEqual(1, run.stderr.count('Traceback'), run.stderr)
            return run.stderr.splitlines()[-1]
        self.assertRegex(says(), r'^ImportError: .*caffe is the source of the package, without the library; run the '
                         r'programs of build/python, such as build/python/draw_net.py, or run `make pycaffe` first$')
        self.write('caffe/_caffe.other.so', '')
        self.assertRegex(says(), '^ImportError: the library in .*caffe is for another Python than .*; build it with '
                         '-D Python_EXECUTABLE=')

    def test_detect(self):
        model = self.model()
        self.write('windows.csv', 'filename,ymin,xmin,ymax,xmax\na.png,0,0,5,5\nb.png,1,1,9,9\na.png,2,2,6,6\n')
        out = self.succeed('detect.py', *model, '--context_pad=0', 'windows.csv', 'scores.csv')
        self.assertIn('Processed 3 windows', out)
        with open(self.path('scores.csv'), encoding='utf-8') as file:
            lines = [line.strip().split(',') for line in file]
        self.assertEqual(['filename', 'ymin', 'xmin', 'ymax', 'xmax', 'class0', 'class1', 'class2'], lines[0])
        self.assertEqual([('a.png', 255), ('a.png', 255), ('b.png', 0)], [(row[0], float(row[7])) for row in lines[1:]])
        self.write('bad.csv', 'filename,ymin,xmin,ymax,xmax\na.png,0,0,five,5\n')
        self.refuse('bad.csv:2: four numbers', 'detect.py', *model, '--context_pad=0', 'bad.csv', 'x.csv')
        self.write('none.csv', 'file,ymin\n')
        self.refuse('filename, xmax, xmin, ymax is missing', 'detect.py', *model, '--context_pad=0', 'none.csv', 'x.csv')
        self.refuse('MATLAB', 'detect.py', *model, '--context_pad=1', '--crop_mode=selective_search', 'windows.csv', 'x')

    def test_draw_net(self):
        self.net()
        self.succeed('draw_net.py', 'net.prototxt', 'net.svg')
        with open(self.path('net.svg'), encoding='utf-8') as file:
            self.assertIn('conv: Convolution (6, kernel 3)', file.read())
        self.write('bad.prototxt', 'layer { nme: "x" }')
        self.refuse(r'bad.prototxt:1:9 .*nme', 'draw_net.py', 'bad.prototxt', 'x.svg')
        self.refuse('^draw_net.py: nowhere.prototxt: No such file or directory$', 'draw_net.py', 'nowhere.prototxt', 'x.svg')

    def test_train(self):
        solver = self.solver_file(more='display: 5\n')
        out = self.succeed('train.py', f'--solver={solver}', '--solvers=2', '--timing')
        self.assertEqual(['0', '5', '10', '15'], re.findall(r'Iteration (\d+): forward and backward [0-9.]+ ms', out))
        found = caffe.Net(self.path('train.prototxt'), caffe.TEST, weights=self.path('snap_iter_20.caffemodel'))
        self.assertTrue(np.isfinite(found.params['ip'][0].data).all())
        again = self.succeed('train.py', f'--solver={solver}', f'--snapshot={self.path("snap_iter_20.solverstate")}')
        self.assertEqual('', again)
        self.refuse('nowhere.prototxt', 'train.py', '--solver=nowhere.prototxt')
        self.refuse('device_memory', 'train.py', f'--solver={solver}', '--device_memory=1KiB')

    def test_a_log_written_by_python_is_parsed_as_that_of_the_program(self):
        solver = self.solver_file(more='display: 5\n')
        run = subprocess.run([sys.executable, '-c', f'import caffe; caffe.get_solver({solver!r}).solve()'], cwd=self.folder,
                             capture_output=True, text=True, check=False, env={**os.environ, 'GLOG_minloglevel': '0'})
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertRegex(run.stderr, r'(?m)^I\d{4} [\d:.]{15} +\d+ \S+\] Iteration 5 \(')
        self.write('python.log', run.stderr)
        self.succeed(os.path.join(EXTRA, 'parse_log.py'), 'python.log', '.')
        with open(self.path('python.log.train'), encoding='utf-8') as file:
            self.assertEqual(['NumIters', '0', '5', '10', '15'], [line.split(',')[0] for line in file])

    def test_summarize(self):
        self.net()
        lines = self.succeed(os.path.join(EXTRA, 'summarize.py'), 'net.prototxt').splitlines()
        self.assertEqual(['layer', 'type', 'parameters', 'rates', 'from', 'to'], lines[0].split())
        self.assertEqual('conv Convolution 6 x 3x3 data conv'.split(), lines[2].split())
        self.assertEqual('data Input 4x3x8x8 data'.split(), lines[1].split())
        model = os.path.join(EXTRA, '../../models/googlenet/train_val.prototxt')
        both, test = (self.succeed(os.path.join(EXTRA, 'summarize.py'), model, *phase)
                      for phase in ((), ('--phase=TEST',)))
        self.assertIn('64 x 7x7 s2 p3', both)
        self.assertEqual(2, len([line for line in both.splitlines() if ' Data ' in line]))
        self.assertEqual(1, len([line for line in test.splitlines() if ' Data ' in line]))
        self.write('video.prototxt', '''
            layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 dim: 8 } } }
            layer { name: "c" type: "NdConvolution" bottom: "data" top: "c" convolution_param { num_output: 4
              kernel_shape { dim: 1 dim: 3 dim: 3 } stride_shape { dim: 1 dim: 2 dim: 2 } } }''')
        self.assertIn('4 x 1x3x3 s1x2x2 ', self.succeed(os.path.join(EXTRA, 'summarize.py'), 'video.prototxt'))
        self.refuse('nowhere.prototxt', os.path.join(EXTRA, 'summarize.py'), 'nowhere.prototxt')

    def test_resize_and_crop_images(self):
        script = os.path.join(EXTRA, 'resize_and_crop_images.py')
        pixels = np.zeros((20, 40, 3), np.uint8)
        pixels[:, 10:30] = (255, 0, 0)  # the middle is red
        os.mkdir(self.path('raw'))
        with open(self.path('raw/a.png'), 'wb') as file:
            file.write(png(pixels))
        flags = [sys.executable, script, '--num_clients=2', '--output_side_length=10']

        def run(names, *more):
            return subprocess.run([*flags, *more], cwd=self.folder, input=names, capture_output=True, text=True,
                                  check=False)
        done = run('a.png 7\n', '--input_folder=raw', '--output_folder=small')
        self.assertEqual((0, '1 images written, 0 failed\n'), (done.returncode, done.stdout), done.stderr)
        image = caffe.io.load_image(self.path('small/a.png'))
        self.assertEqual((10, 10, 3), image.shape)
        np.testing.assert_allclose(np.broadcast_to([1, 0, 0], image.shape), image, atol=1e-6)
        self.assertEqual(0, run('raw/a.png b/c.ppm\n').returncode)
        np.testing.assert_array_equal(image, caffe.io.load_image(self.path('b/c.ppm')))
        done = run('raw/a.png b.png\nnone.png c.png\n')
        self.assertEqual((1, '1 images written, 1 failed\n'), (done.returncode, done.stdout))
        self.assertIn('none.png', done.stderr)
        done = run('raw/a.png\n')
        self.assertEqual(1, done.returncode)
        self.assertIn('line 1: "source target" is needed', done.stderr)


if __name__ == '__main__':
    unittest.main()
