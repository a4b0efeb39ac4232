"""A data layer in Python: handwritten digits from a text file, each a little elsewhere every time."""

import gzip
import json

import numpy as np

import caffe

FILE = 'examples/digits/digits.csv.gz'
TRAIN = 1500  # of its 1,797 images; the others are for the test
SIDE = 8


class Digits(caffe.Layer):
    """Tops: images (batch_size x 1 x 8 x 8, values from 0 to 1) and labels (batch_size).

    param_str, in JSON:
      part        "train" or "test"
      batch_size  images in a batch
      shift       the most pixels that an image is moved by, up or down and left or right (0)
      seed        of the order and the shifts (1)
    """

    def setup(self, bottom, top):
        if len(bottom) != 0 or len(top) != 2:
            raise ValueError('Digits has no bottoms and two tops, images and labels')
        try:
            params = {'shift': 0, 'seed': 1, **json.loads(self.param_str)}
            part = {'train': slice(TRAIN), 'test': slice(TRAIN, None)}[params['part']]
            self.batch_size, self.shift = int(params['batch_size']), int(params['shift'])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f'param_str {self.param_str}: {error!r}; it must be as the class Digits says') from None
        self.shuffle = params['part'] == 'train'
        rows = np.loadtxt(gzip.open(FILE), np.float32, delimiter=',')
        rows = rows[np.random.RandomState(1797).permutation(len(rows))][part]  # the same parts, whatever the seed
        self.images = rows[:, :-1].reshape(-1, SIDE, SIDE) / 16
        self.labels = rows[:, -1]
        # Several solvers draw numbers of their own.
        self.numbers = np.random.RandomState([params['seed'], caffe.solver_rank()])
        self.order, self.next = np.arange(len(rows)), 0

    def reshape(self, bottom, top):
        top[0].reshape(self.batch_size, 1, SIDE, SIDE)
        top[1].reshape(self.batch_size)

    def forward(self, bottom, top):
        images, labels = top[0].data, top[1].data
        for i in range(self.batch_size):
            if self.shuffle and self.next == 0:
                self.numbers.shuffle(self.order)
            image = self.order[self.next]
            self.next = (self.next + 1) % len(self.order)
            images[i, 0] = self.moved(self.images[image])
            labels[i] = self.labels[image]

    def moved(self, image):
        """The image, moved at random; what comes in from outside is black."""
        if not self.shift:
            return image
        down, right = self.numbers.randint(-self.shift, self.shift + 1, 2)
        wide = np.pad(image, self.shift)
        return wide[self.shift - down:, self.shift - right:][:SIDE, :SIDE]

    def backward(self, top, propagate_down, bottom):
        pass
