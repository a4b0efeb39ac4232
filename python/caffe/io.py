"""Converts arrays to and from Caffe's messages and images, and prepares images for nets."""
import numpy as np

from . import _caffe
from .proto import caffe_pb2


def blobproto_to_array(blob, return_diff=False):
    """The data (derivatives) of a BlobProto as an array."""
    values = blob.diff if return_diff else blob.data
    doubles = blob.double_diff if return_diff else blob.double_data
    array = np.array(doubles if len(doubles) else values)
    old_axes = ('num', 'channels', 'height', 'width')
    old = any(blob.HasField(axis) for axis in old_axes)
    shape = tuple(getattr(blob, axis) for axis in old_axes) if old else tuple(blob.shape.dim)
    if array.size != np.prod(shape):
        raise ValueError(f'the BlobProto has {array.size} {"derivatives" if return_diff else "values"}, and its shape, '
                         f'{" x ".join(map(str, shape)) or "a single number"}, has {int(np.prod(shape))}')
    return array.reshape(shape)


def array_to_blobproto(arr, diff=None):
    """A BlobProto with the values of an array, of any number of axes, and derivatives of its shape."""
    blob = caffe_pb2.BlobProto()
    arr = np.asarray(arr)
    blob.shape.dim.extend(arr.shape)
    blob.data.extend(arr.astype(float).flat)
    if diff is not None:
        diff = np.asarray(diff)
        if diff.shape != arr.shape:
            raise ValueError(f'the derivatives are {diff.shape}, the values {arr.shape}')
        blob.diff.extend(diff.astype(float).flat)
    return blob


def arraylist_to_blobprotovector_str(arraylist):
    """Arrays as the bytes of a BlobProtoVector."""
    return caffe_pb2.BlobProtoVector(blobs=[array_to_blobproto(array) for array in arraylist]).SerializeToString()


def blobprotovector_str_to_arraylist(text):
    """The arrays in the bytes of a BlobProtoVector."""
    return [blobproto_to_array(blob) for blob in caffe_pb2.BlobProtoVector.FromString(text).blobs]


def array_to_datum(arr, label=None):
    """An image (channels x height x width) as a Datum: bytes if its type is uint8, else float_data."""
    arr = np.asarray(arr)
    if arr.ndim != 3:
        raise ValueError(f'a Datum has three axes (channels, height, width), the array {arr.ndim}')
    datum = caffe_pb2.Datum(channels=arr.shape[0], height=arr.shape[1], width=arr.shape[2])
    if arr.dtype == np.uint8:
        datum.data = arr.tobytes()
    else:
        datum.float_data.extend(arr.astype(float).flat)
    if label is not None:
        datum.label = int(label)
    return datum


def datum_to_array(datum):
    """The image of a Datum: channels x height x width. One that is encoded (JPEG, ...) is refused."""
    if datum.encoded:
        raise ValueError('the Datum is an encoded image: decode it first, or make the database without --encoded')
    values = np.frombuffer(datum.data, np.uint8) if len(datum.data) else np.array(datum.float_data, float)
    return values.reshape(datum.channels, datum.height, datum.width)


# The weights of red, green and blue in gray that Caffe uses (from scikit-image); OpenCV has others.
_GRAY = np.array([[0.2125], [0.7154], [0.0721]], np.float32)


def load_image(filename, color=True):
    """An image file as height x width x 3 (red, green, blue), or x 1, of float32 between 0 and 1."""
    image = _caffe._read_image(str(filename), True)[:, :, ::-1].astype(np.float32) / 255
    return image if color else image @ _GRAY


def _weights(size, new_size, order):
    """For each new position of an axis, two old positions and the weight of the second."""
    centre = (np.arange(new_size) + 0.5) * size / new_size - 0.5
    if order == 0:
        nearest = np.clip(np.floor(centre + 0.5).astype(int), 0, size - 1)
        return nearest, nearest, np.zeros(new_size, np.float32)
    low = np.clip(np.floor(centre).astype(int), 0, size - 1)
    high = np.minimum(low + 1, size - 1)
    return low, high, np.clip(centre - low, 0, 1).astype(np.float32)


def resize_image(im, new_dims, interp_order=1):
    """Resizes an image (height x width x channels) to new_dims (height, width). interp_order 0 takes the nearest pixel,
    1 interpolates linearly, 2 to 5 use splines of that order and need SciPy."""
    if interp_order not in range(6):
        raise ValueError(f'interp_order {interp_order}: it must be 0 (nearest), 1 (linear), or 2 to 5 (splines)')
    if interp_order > 1:
        try:
            from scipy import ndimage
        except ImportError:
            raise ValueError(f'interp_order {interp_order} needs SciPy, which is not installed; 0 (nearest) and 1 (linear) '
                             'do not') from None
        im = np.asarray(im, np.float32)
        zoom = [int(new) / old for new, old in zip(new_dims, im.shape)] + [1] * (im.ndim - 2)
        return ndimage.zoom(im, zoom, order=interp_order, mode='nearest', grid_mode=True)
    im = np.asarray(im, np.float32)
    for axis in (0, 1):
        low, high, part = _weights(im.shape[axis], int(new_dims[axis]), interp_order)
        part = part.reshape((-1,) + (1,) * (im.ndim - 1 - axis))
        im = im.take(low, axis) * (1 - part) + im.take(high, axis) * part
    return im


def oversample(images, crop_dims):
    """Ten crops (height, width) of each image: corners and centre, and their mirror images, in this order."""
    images = np.asarray(images, np.float32)
    space, crop = np.array(images.shape[1:3]), np.array(crop_dims)
    if (crop > space).any():
        raise ValueError(f'crops of {tuple(crop)} do not fit into images of {tuple(space)}')
    bottom, right = space - crop
    corners = [(0, 0), (0, right), (bottom, 0), (bottom, right), (bottom // 2, right // 2)]
    crops = []
    for image in images:
        cut = [image[y:y + crop[0], x:x + crop[1]] for y, x in corners]
        crops += cut + [each[:, ::-1] for each in cut]
    return np.array(crops)


class Transformer:
    """Converts images (height x width x channels, 0 to 1) to what the inputs of a net expect, and back.

    inputs: the shape of each input blob: {'data': net.blobs['data'].shape}. Steps that are not set are skipped. Their
    order is: size, transpose, channel_swap, raw_scale, mean, input_scale."""

    def __init__(self, inputs):
        self.inputs = inputs
        self.transpose, self.channel_swap, self.raw_scale = {}, {}, {}
        self.mean, self.input_scale = {}, {}

    def _check(self, in_):
        if in_ not in self.inputs:
            raise KeyError(f"'{in_}' is not one of the inputs: {', '.join(map(str, self.inputs))}")

    def preprocess(self, in_, data):
        """Converts an image for the input (to channels x height x width, if set_transpose was called so)."""
        self._check(in_)
        values = np.array(data, np.float32)
        if values.ndim == 2:
            values = values[:, :, np.newaxis]
        size = tuple(self.inputs[in_][-2:])
        if values.shape[:2] != size:
            values = resize_image(values, size)
        if in_ in self.transpose:
            values = values.transpose(self.transpose[in_])
        if in_ in self.channel_swap:
            values = values[self.channel_swap[in_], :, :]
        if in_ in self.raw_scale:
            values = values * self.raw_scale[in_]
        if in_ in self.mean:
            values = values - self.mean[in_]
        if in_ in self.input_scale:
            values = values * self.input_scale[in_]
        return values

    def deprocess(self, in_, data):
        """Inverts preprocess, except for the size."""
        self._check(in_)
        values = np.array(data, np.float32).squeeze()
        if values.ndim == 2:
            values = values[np.newaxis]
        if in_ in self.input_scale:
            values = values / self.input_scale[in_]
        if in_ in self.mean:
            values = values + self.mean[in_]
        if in_ in self.raw_scale:
            values = values / self.raw_scale[in_]
        if in_ in self.channel_swap:
            values = values[np.argsort(self.channel_swap[in_]), :, :]
        if in_ in self.transpose:
            values = values.transpose(np.argsort(self.transpose[in_]))
        return values

    def set_transpose(self, in_, order):
        """Sets the order of axes: (2, 0, 1) moves the channels to the front."""
        self._check(in_)
        if len(order) != len(self.inputs[in_]) - 1:
            raise ValueError(f'{len(self.inputs[in_]) - 1} axes are needed, not {order}')
        self.transpose[in_] = tuple(order)

    def set_channel_swap(self, in_, order):
        """Sets the order of channels: (2, 1, 0) turns red, green, blue into blue, green, red, as Caffe's models
        expect."""
        self._check(in_)
        if len(order) != self.inputs[in_][1]:
            raise ValueError(f"'{in_}' has {self.inputs[in_][1]} channels, the order {len(order)}")
        self.channel_swap[in_] = list(order)

    def set_raw_scale(self, in_, scale):
        """Sets a factor that is applied before the mean is subtracted: 255 for models that were trained on bytes."""
        self._check(in_)
        self.raw_scale[in_] = scale

    def set_mean(self, in_, mean):
        """Sets the mean that is subtracted: a value for each channel, or an array channels x height x width, which is
        resized to the input's size."""
        self._check(in_)
        mean = np.asarray(mean, np.float32)
        channels, size = self.inputs[in_][1], tuple(self.inputs[in_][2:])
        if mean.ndim == 1 and mean.size in (1, channels):
            mean = mean[:, np.newaxis, np.newaxis]
        elif mean.ndim == 2:
            mean = mean[np.newaxis]
        if mean.ndim != 3 or mean.shape[0] not in (1, channels):
            raise ValueError(f'a mean of {mean.shape} does not fit {channels} channels')
        if mean.shape[1:] not in ((1, 1), size):
            mean = resize_image(mean.transpose(1, 2, 0), size).transpose(2, 0, 1)
        self.mean[in_] = mean

    def set_input_scale(self, in_, scale):
        """Sets a factor that is applied after the mean is subtracted."""
        self._check(in_)
        self.input_scale[in_] = scale
