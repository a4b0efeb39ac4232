"""Classifies given windows of images, as in R-CNN (Girshick et al., 2014)."""
import numpy as np

from . import _caffe
from . import io
from .classifier import set_up_transformer
from .proto.caffe_pb2 import TEST


class Detector(_caffe.Net):
    """A deploy net with one input and its weights. context_pad: the number of the input's pixels on each side that show
    the surroundings of a window. The other arguments are those of io.Transformer."""

    def __init__(self, model_file, pretrained_file, mean=None, input_scale=None, raw_scale=None, channel_swap=None,
                 context_pad=None):
        super().__init__(model_file, TEST, weights=pretrained_file)
        self.transformer = set_up_transformer(self, mean, input_scale, raw_scale, channel_swap)
        self.configure_crop(context_pad)

    def configure_crop(self, context_pad):
        """Sets the context of crops. Parts of a crop that are outside of the image are filled with the mean."""
        name = self.inputs[0]
        self.crop_dims = np.array(self.blobs[name].shape[2:])
        self.context_pad = context_pad or 0
        if 2 * self.context_pad >= self.crop_dims.min():
            raise ValueError(f'context_pad {self.context_pad} leaves nothing of an input of {tuple(self.crop_dims)}')
        channels = self.blobs[name].shape[1]
        mean = self.transformer.mean.get(name, np.zeros((channels, 1, 1), np.float32))
        mean = np.broadcast_to(mean, (channels, *self.crop_dims)).transpose(1, 2, 0)
        if name in self.transformer.channel_swap:
            mean = mean[:, :, np.argsort(self.transformer.channel_swap[name])]
        self.crop_mean = mean / self.transformer.raw_scale.get(name, 1)

    def crop(self, im, window):
        """The part of an image (height x width x channels) in a window (ymin, xmin, ymax, xmax), in the size of the
        input less context."""
        window = np.asarray(window, float)
        inner = self.crop_dims - 2 * self.context_pad
        if not self.context_pad:
            top, left, bottom, right = np.clip(window.round().astype(int), 0, [*im.shape[:2], *im.shape[:2]])
            if top >= bottom or left >= right:
                raise ValueError(f'the window {window.tolist()} has nothing of an image of {im.shape[:2]}')
            return io.resize_image(im[top:bottom, left:right], self.crop_dims)
        # The window grows by the ratio of the input to its inner part. Parts outside of the image keep the mean.
        centre, size = (window[:2] + window[2:]) / 2, (window[2:] - window[:2]) * self.crop_dims / inner
        begin, end = centre - size / 2, centre + size / 2
        inside_begin, inside_end = np.clip(begin, 0, im.shape[:2]), np.clip(end, 0, im.shape[:2])
        scale = self.crop_dims / size
        to_begin = ((inside_begin - begin) * scale).round().astype(int)
        to_end = np.minimum(((inside_end - begin) * scale).round().astype(int), self.crop_dims)
        (top, left), (bottom, right) = inside_begin.round().astype(int), inside_end.round().astype(int)
        if top >= bottom or left >= right or (to_end <= to_begin).any():
            raise ValueError(f'the window {window.tolist()} has nothing of an image of {im.shape[:2]}')
        crop = np.array(self.crop_mean, np.float32)
        crop[to_begin[0]:to_end[0], to_begin[1]:to_end[1]] = io.resize_image(im[top:bottom, left:right],
                                                                           to_end - to_begin)
        return crop

    def detect_windows(self, images_windows):
        """Scores of windows. images_windows: (file, windows) pairs, a window being (ymin, xmin, ymax, xmax). Returns a
        list of {'window', 'prediction', 'filename'}, in their order."""
        name, found, crops = self.inputs[0], [], []
        for file, windows in images_windows:
            image = io.load_image(file, color=self.blobs[name].shape[1] != 1)
            for window in windows:
                crops.append(self.transformer.preprocess(name, self.crop(image, window)))
                found.append({'window': np.asarray(window), 'filename': file})
        if not found:
            return []
        scores = self.forward_all(**{name: np.array(crops)})[self.outputs[0]]
        for each, score in zip(found, scores):
            each['prediction'] = score.squeeze()
        return found

    def detect_selective_search(self, image_fnames):
        """Not supported: needs a program in MATLAB."""
        raise NotImplementedError('selective search needs a program in MATLAB; find windows by another one, and call '
                                  'detect_windows')
