"""Classifies images with a net."""
import numpy as np

from . import _caffe
from . import io
from .proto.caffe_pb2 import TEST


def set_up_transformer(net, mean, input_scale, raw_scale, channel_swap):
    """The Transformer of a net with one input of images."""
    name = net.inputs[0]
    transformer = io.Transformer({name: net.blobs[name].shape})
    transformer.set_transpose(name, (2, 0, 1))
    if mean is not None:
        transformer.set_mean(name, mean)
    if input_scale is not None:
        transformer.set_input_scale(name, input_scale)
    if raw_scale is not None:
        transformer.set_raw_scale(name, raw_scale)
    if channel_swap is not None:
        transformer.set_channel_swap(name, channel_swap)
    return transformer


class Classifier(_caffe.Net):
    """A deploy net with one input and its weights.

    image_dims: the size to which images are scaled before they are cropped to the input's size (default: the input's
    size); mean, input_scale, raw_scale, channel_swap: see io.Transformer."""

    def __init__(self, model_file, pretrained_file, image_dims=None, mean=None, input_scale=None, raw_scale=None,
                 channel_swap=None):
        super().__init__(model_file, TEST, weights=pretrained_file)
        self.transformer = set_up_transformer(self, mean, input_scale, raw_scale, channel_swap)
        self.crop_dims = np.array(self.blobs[self.inputs[0]].shape[2:])
        self.image_dims = tuple(image_dims) if image_dims else tuple(self.crop_dims)

    def predict(self, inputs, oversample=True):
        """Returns the scores (images x classes) of images, each height x width x channels. With `oversample`, the mean
        of ten crops of each image; else those of the centre crop."""
        images = np.array([io.resize_image(image, self.image_dims) for image in inputs])
        if oversample:
            crops = io.oversample(images, self.crop_dims)
        else:
            top, left = (np.array(self.image_dims) - self.crop_dims) // 2
            crops = images[:, top:top + self.crop_dims[0], left:left + self.crop_dims[1]]
        name = self.inputs[0]
        ready = np.array([self.transformer.preprocess(name, crop) for crop in crops])
        scores = self.forward_all(**{name: ready})[self.outputs[0]]
        if oversample:
            scores = scores.reshape(len(images), 10, -1).mean(1)
        return scores
