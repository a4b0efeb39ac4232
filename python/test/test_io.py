"""Messages, images, Transformer, Classifier, Detector; files as Caffe's definitions read them."""
import os
import struct
import subprocess
import sys
import unittest
import zlib
from unittest import mock

import numpy as np

from common import BIN, DEPLOY_NET, TRAIN_NET, CaffeTest, caffe
from caffe import io
from caffe.proto import caffe_pb2

SCORES = '''
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 3 dim: 3 dim: 6 dim: 6 } } }
layer { name: "mean" type: "Pooling" bottom: "data" top: "mean" pooling_param { pool: AVE global_pooling: true } }
layer { name: "score" type: "InnerProduct" bottom: "mean" top: "score"
  inner_product_param { num_output: 3 bias_term: false } }
'''


def png(pixels):
    """The bytes of a PNG: height x width x 3, uint8."""
    height, width, _ = pixels.shape
    rows = b''.join(b'\0' + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) +
            chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


class Messages(unittest.TestCase):

    def test_blobs_and_arrays(self):
        values, diff = np.random.rand(2, 3, 4), np.random.rand(2, 3, 4)
        blob = io.array_to_blobproto(values, diff)
        np.testing.assert_allclose(values, io.blobproto_to_array(blob), rtol=1e-6)
        np.testing.assert_allclose(diff, io.blobproto_to_array(blob, True), rtol=1e-6)
        old = caffe_pb2.BlobProto(num=1, channels=2, height=1, width=3, data=range(6))
        self.assertEqual((1, 2, 1, 3), io.blobproto_to_array(old).shape)
        old.shape.dim.extend([3, 2])  # the legacy axes win, as in the library
        self.assertEqual((1, 2, 1, 3), io.blobproto_to_array(old).shape)
        number = io.blobproto_to_array(caffe_pb2.BlobProto(data=[123]))
        self.assertEqual(((), 123), (number.shape, number))
        with self.assertRaisesRegex(ValueError, '100 values, and its shape, a single number, has 1'):
            io.blobproto_to_array(caffe_pb2.BlobProto(data=[0] * 100))
        with self.assertRaisesRegex(ValueError, '0 derivatives, and its shape, 1 x 2 x 1 x 3, has 6'):
            io.blobproto_to_array(old, return_diff=True)
        lists = io.blobprotovector_str_to_arraylist(io.arraylist_to_blobprotovector_str([values, diff]))
        np.testing.assert_allclose([values, diff], lists, rtol=1e-6)
        with self.assertRaisesRegex(ValueError, 'derivatives are'):
            io.array_to_blobproto(values, diff[0])

    def test_the_package_includes_protobufs_text_format(self):
        """Programs use it by its full name without importing it."""
        run = subprocess.run([sys.executable, '-c', 'import google.protobuf as pb, caffe; pb.text_format.Merge'],
                             capture_output=True, text=True, check=False)
        self.assertEqual((0, ''), (run.returncode, run.stderr))

    def test_datums_and_arrays(self):
        for values in (np.random.randint(0, 256, (3, 4, 5)).astype(np.uint8), np.random.rand(3, 4, 5)):
            datum = io.array_to_datum(values, 7)
            self.assertEqual((7, 3, 4, 5), (datum.label, datum.channels, datum.height, datum.width))
            np.testing.assert_allclose(values, io.datum_to_array(datum), rtol=1e-6)
        with self.assertRaisesRegex(ValueError, 'three axes'):
            io.array_to_datum(np.zeros((3, 4)))
        with self.assertRaisesRegex(ValueError, 'encoded'):
            io.datum_to_array(caffe_pb2.Datum(encoded=True))


class Images(CaffeTest):

    def image(self, name='image.png', size=(8, 10), colour=(255, 128, 0)):
        pixels = np.zeros((*size, 3), np.uint8)
        pixels[:] = colour
        with open(self.path(name), 'wb') as file:
            file.write(png(pixels))
        return self.path(name)

    def test_load_image(self):
        image = io.load_image(self.image())
        self.assertEqual(((8, 10, 3), np.float32), (image.shape, image.dtype))
        np.testing.assert_allclose([1, 128 / 255, 0], image[3, 4], atol=1e-6)
        self.assertEqual((8, 10, 1), io.load_image(self.image(), color=False).shape)
        with self.assertRaisesRegex((ValueError, caffe.Error), 'nowhere.png'):
            io.load_image(self.path('nowhere.png'))

    def test_an_image_is_gray_by_the_weights_of_caffe(self):
        for colour, gray in (((255, 0, 0), 0.2125), ((0, 255, 0), 0.7154), ((0, 0, 255), 0.0721), ((51, 51, 51), 0.2)):
            image = io.load_image(self.image(colour=colour), color=False)
            self.assertEqual(np.float32, image.dtype)
            np.testing.assert_allclose(np.full((8, 10, 1), gray), image, rtol=1e-5)

    def test_resize_preserves_linear_images(self):
        ramp = np.tile(np.arange(12.)[:, None, None], (1, 9, 2))
        np.testing.assert_allclose(io.resize_image(ramp, (6, 3))[:, 0, 0], np.arange(6) * 2 + .5)
        np.testing.assert_allclose(io.resize_image(ramp, (12, 9)), ramp)
        larger = io.resize_image(ramp, (24, 18))[:, 0, 0]
        np.testing.assert_allclose(larger[1:-1], np.arange(24)[1:-1] / 2 - .25)
        self.assertEqual([1, 4, 7], list(io.resize_image(ramp[:9], (3, 3), 0)[:, 0, 0]))

    def test_resize_by_splines_needs_scipy_and_says_so(self):
        curve = np.tile((np.arange(12.) ** 2)[:, None, None], (1, 9, 2))
        for order in (-1, 6):
            with self.assertRaisesRegex(ValueError, f'interp_order {order}: it must be'):
                io.resize_image(curve, (3, 3), order)
        with mock.patch.dict(sys.modules, {'scipy': None}), self.assertRaisesRegex(ValueError, 'interp_order 3 needs SciPy'):
            io.resize_image(curve, (24, 9), 3)
        try:
            import scipy.ndimage  # noqa: F401 pylint: disable=unused-import
        except ImportError:
            self.skipTest('no SciPy here')
        for order in range(2, 6):
            larger = io.resize_image(curve, (24, 9), order)
            self.assertEqual(((24, 9, 2), np.float32), (larger.shape, larger.dtype))
            np.testing.assert_allclose(larger[8:16, 0, 0], (np.arange(8, 16) / 2 - .25) ** 2, atol=.2)

    def test_oversample_takes_corners_centre_and_mirror_images(self):
        image = np.arange(5 * 5.).reshape(1, 5, 5, 1)
        crops = io.oversample(image, (3, 3))
        self.assertEqual((10, 3, 3, 1), crops.shape)
        self.assertEqual([0, 2, 10, 12, 6], [crop[0, 0, 0] for crop in crops[:5]])
        np.testing.assert_array_equal(crops[:5, :, ::-1], crops[5:])
        with self.assertRaisesRegex(ValueError, 'do not fit'):
            io.oversample(image, (6, 3))

    def test_the_transformer_inverts_its_preprocessing(self):
        transformer = io.Transformer({'data': (1, 3, 4, 5)})
        transformer.set_transpose('data', (2, 0, 1))
        transformer.set_channel_swap('data', (2, 1, 0))
        transformer.set_raw_scale('data', 255)
        transformer.set_mean('data', np.array([1., 2., 3.]))
        transformer.set_input_scale('data', 0.5)
        image = np.random.rand(4, 5, 3)
        ready = transformer.preprocess('data', image)
        np.testing.assert_allclose((255 * image[1, 2, ::-1] - [1, 2, 3]) / 2, ready[:, 1, 2], rtol=1e-4)
        np.testing.assert_allclose(image, transformer.deprocess('data', ready), atol=1e-5)
        self.assertEqual((3, 4, 5), transformer.preprocess('data', np.random.rand(8, 8, 3)).shape)
        for wrong, says in ((lambda: transformer.preprocess('date', image), "'date' is not one of the inputs"),
                            (lambda: transformer.set_mean('data', np.zeros(4)), 'does not fit 3 channels'),
                            (lambda: transformer.set_mean('data', np.zeros((2, 9, 9))), 'does not fit 3 channels'),
                            (lambda: transformer.set_channel_swap('data', (0, 1)), '3 channels'),
                            (lambda: transformer.set_transpose('data', (0, 1)), '3 axes')):
            with self.assertRaisesRegex((KeyError, ValueError), says):
                wrong()

    def test_a_mean_image_of_another_size_is_resized(self):
        transformer = io.Transformer({'data': (1, 3, 4, 6)})
        transformer.set_transpose('data', (2, 0, 1))
        rows = np.arange(8.)[:, None] + np.zeros((3, 8, 12)) + 100 * np.arange(3)[:, None, None]
        smaller = 2 * np.arange(4.)[:, None] + .5 + np.zeros((3, 4, 6)) + 100 * np.arange(3)[:, None, None]
        for mean, expected in ((rows, smaller), (rows[0], smaller[:1]), (np.full((3, 5, 5), 7), np.full((3, 4, 6), 7))):
            transformer.set_mean('data', mean)
            np.testing.assert_allclose(-np.broadcast_to(expected, (3, 4, 6)),
                                       transformer.preprocess('data', np.zeros((4, 6, 3))), rtol=1e-5)

    def scores(self):
        net = self.net(SCORES)
        net.params['score'][0].data[...] = np.eye(3)
        net.save(self.path('scores.caffemodel'))
        return self.path('net.prototxt'), self.path('scores.caffemodel')

    def test_a_classifier_scores_images_of_any_size(self):
        classifier = caffe.Classifier(*self.scores(), image_dims=(8, 8), channel_swap=(2, 1, 0), raw_scale=255)
        images = [io.load_image(self.image(size=size)) for size in ((8, 10), (20, 7), (6, 6), (9, 9))]
        for oversample in (True, False):
            scores = classifier.predict(images, oversample)
            np.testing.assert_allclose([[0, 128, 255]] * 4, scores, atol=1e-3)

    def test_a_classifier_subtracts_a_mean_image_of_any_size(self):
        mean = np.zeros((3, 12, 12))
        mean[1] = 28
        classifier = caffe.Classifier(*self.scores(), mean=mean, channel_swap=(2, 1, 0), raw_scale=255)
        np.testing.assert_allclose([[0, 100, 255]], classifier.predict([io.load_image(self.image())]), atol=1e-3)

    def test_a_detector_scores_windows(self):
        red, file = np.zeros((20, 20, 3), np.uint8), self.path('corner.png')
        red[10:, 10:] = (255, 0, 0)
        with open(file, 'wb') as image:
            image.write(png(red))
        detector = caffe.Detector(*self.scores(), raw_scale=255)
        found = detector.detect_windows([(file, [(0, 0, 10, 10), (10, 10, 20, 20)]), (file, [(0, 10, 20, 20)])])
        np.testing.assert_allclose([0, 255, 127.5], [each['prediction'][0] for each in found], atol=1e-3)
        self.assertEqual([file] * 3, [each['filename'] for each in found])
        # A third of the input on each side shows the surroundings, so the crop is only partly red.
        detector.configure_crop(2)
        found = detector.detect_windows([(file, [(10, 10, 20, 20), (8, 8, 12, 12)])])
        self.assertTrue(0 < found[0]['prediction'][0] < 255)
        with self.assertRaisesRegex(ValueError, 'nothing of an image'):
            detector.detect_windows([(file, [(30, 30, 40, 40)])])
        with self.assertRaisesRegex(NotImplementedError, 'MATLAB'):
            detector.detect_selective_search([file])


class Files(CaffeTest):
    """Files that are written by Layrub and read with Caffe's caffe.proto, and the other way round."""

    def test_weights(self):
        net = self.net()
        net.save(self.path('net.caffemodel'))
        with open(self.path('net.caffemodel'), 'rb') as file:
            read = caffe_pb2.NetParameter.FromString(file.read())
        self.assertEqual([('conv', 'Convolution', 2), ('ip', 'InnerProduct', 2)],
                         [(layer.name, layer.type, len(layer.blobs)) for layer in read.layer if layer.blobs])
        for layer in read.layer:
            for mine, its in zip(net.params.get(layer.name, []), layer.blobs):
                np.testing.assert_array_equal(mine.data, io.blobproto_to_array(its).astype(np.float32))
                its.data[0] = 42
        with open(self.path('theirs.caffemodel'), 'wb') as file:
            file.write(read.SerializeToString())
        net.copy_from(self.path('theirs.caffemodel'))
        self.assertEqual(42, net.params['ip'][0].data[0, 0])

    def test_weights_of_the_oldest_format(self):
        old = caffe_pb2.NetParameter(name='old')
        layer = old.layers.add(name='ip', type=caffe_pb2.V1LayerParameter.INNER_PRODUCT)
        values = np.arange(5 * 216.).reshape(1, 1, 5, 216)
        for array in (values, np.arange(5.).reshape(1, 1, 1, 5)):
            blob = layer.blobs.add(num=1, channels=1, height=array.shape[2], width=array.shape[3])
            blob.data.extend(array.flat)
        with open(self.path('old.caffemodel'), 'wb') as file:
            file.write(old.SerializeToString())
        net = self.net(weights=self.path('old.caffemodel'))
        np.testing.assert_array_equal(values[0, 0], net.params['ip'][0].data)

    def test_solver_states(self):
        solver = caffe.get_solver(self.solver_file(more='momentum: 0.9\n'))
        solver.step(3)
        solver.snapshot()
        with open(self.path('snap_iter_3.solverstate'), 'rb') as file:
            state = caffe_pb2.SolverState.FromString(file.read())
        self.assertEqual((3, self.path('snap_iter_3.caffemodel')), (state.iter, state.learned_net))
        shapes = [blob.shape for blobs in solver.net.params.values() for blob in blobs]
        self.assertEqual(shapes, [tuple(blob.shape.dim) for blob in state.history])
        plain = caffe_pb2.SolverState(iter=9, learned_net=state.learned_net, history=state.history)
        with open(self.path('theirs.solverstate'), 'wb') as file:  # as Caffe writes it
            file.write(plain.SerializeToString())
        solver.restore(self.path('theirs.solverstate'))
        self.assertEqual(9, solver.iter)

    def test_databases_and_means(self):
        rng = np.random.default_rng(5)
        pixels = rng.integers(0, 256, (4, 6, 5, 3)).astype(np.uint8)
        with open(self.path('list.txt'), 'w', encoding='utf-8') as names:
            for i, image in enumerate(pixels):
                with open(self.path(f'{i}.png'), 'wb') as file:
                    file.write(png(image))
                names.write(f'{i}.png {i}\n')
        for backend in ('lmdb', 'leveldb'):
            database, mean = self.path(backend), self.path(f'{backend}.binaryproto')
            for program in (['convert_imageset', f'--backend={backend}', self.folder + '/', self.path('list.txt'), database],
                            ['compute_image_mean', f'--backend={backend}', database, mean]):
                run = subprocess.run([os.path.join(BIN, program[0]), *program[1:]], capture_output=True, text=True,
                                     check=False)
                self.assertEqual(0, run.returncode, run.stderr)
            with open(mean, 'rb') as file:
                found = io.blobproto_to_array(caffe_pb2.BlobProto.FromString(file.read()))
            expected = pixels.astype(float).mean(0).transpose(2, 0, 1)[::-1]
            np.testing.assert_allclose(expected, found.reshape(expected.shape), rtol=1e-5)
            net = self.net(f'''layer {{ name: "data" type: "Data" top: "data" top: "label"
                               data_param {{ source: "{database}" backend: {backend.upper()} batch_size: 4 }} }}''')
            net.forward()
            np.testing.assert_array_equal(pixels.transpose(0, 3, 1, 2)[:, ::-1], net.blobs['data'].data)
            np.testing.assert_array_equal(range(4), net.blobs['label'].data)


if __name__ == '__main__':
    unittest.main(verbosity=2)
