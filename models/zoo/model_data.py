"""The data layers of the models in model_zoo.py. For generate_model.py."""

from dataclasses import dataclass
from typing import Callable, Optional

from model_text import TRAIN, Enum


@dataclass
class Data:
    """The data layers of a net. `dummy(net, model, phase, batch)` adds layers that make up data of the right shape;
    `read(net, model, phase, batch, source)` adds one that reads data. Without `read`, data is always made up."""
    dummy: Callable
    read: Optional[Callable] = None
    suffix: str = 'lmdb'  # suffix of the sources' names


def constant(value):
    return {'type': 'constant', 'value': value}


def number(low, high):
    """A filler of whole numbers."""
    return {'type': 'integer', 'min': low, 'max': high}


def uniform(low, high):
    return {'type': 'uniform', 'min': low, 'max': high}


NORMAL = {'type': 'gaussian', 'std': 1}


def image_shape(model, batch):
    return [batch, len(model.mean), model.crop, model.crop]


def dummy_layer(net, phase, tops):
    """`tops`: name to shape and filler."""
    net.layer('data', 'DummyData', (), list(tops), include={'phase': phase},
              dummy_data_param={'shape': [{'dim': shape} for shape, _ in tops.values()],
                                'data_filler': [filler for _, filler in tops.values()]})


# ---------------------------------------------------------------- an image and its class


def dummy_images(net, model, phase, batch):
    """Normal values as data, and class 0 for every item."""
    dummy_layer(net, phase, {'data': (image_shape(model, batch), NORMAL), 'label': ([batch], constant(0))})


def read_images(net, model, phase, batch, source):
    gray = len(model.mean) == 1
    transform = {'scale': 0.00390625} if gray else {'mirror': phase == TRAIN, 'crop_size': model.crop,
                                                   'mean_value': list(model.mean)}
    net.layer('data', 'Data', (), ['data', 'label'], include={'phase': phase}, transform_param=transform,
              data_param={'source': source, 'batch_size': batch, 'backend': Enum('LMDB')})


# ---------------------------------------------------------------- an image and a class for each of its places


def dummy_maps(net, model, phase, batch):
    side = model.label_side(model.crop)
    dummy_layer(net, phase, {'data': (image_shape(model, batch), NORMAL), 'label': ([batch, side, side], constant(0))})


def read_maps(net, model, phase, batch, source):
    """Reads files with images, from which the means are subtracted, and classes, as numbers."""
    net.layer('data', 'HDF5Data', (), ['data', 'label'], include={'phase': phase},
              hdf5_data_param={'source': source, 'batch_size': batch, 'shuffle': True if phase == TRAIN else None})


# ---------------------------------------------------------------- an image and the objects in it


def dummy_objects(net, model, phase, batch):
    """Normal values as data, and about two objects per item, around its middle."""
    columns = {'item': number(0, batch - 1), 'class': number(1, model.classes - 1), 'instance': constant(0),
               'left': uniform(0, 0.4), 'upper': uniform(0, 0.4), 'right': uniform(0.6, 1), 'lower': uniform(0.6, 1),
               'difficult': constant(0)}
    tops = {f'object_{name}': ([1, 1, 2 * batch, 1], filler) for name, filler in columns.items()}
    dummy_layer(net, phase, {'data': (image_shape(model, batch), NORMAL), **tops})
    net.layer('label', 'Concat', list(tops), include={'phase': phase}, concat_param={'axis': 3})


def read_objects(net, model, phase, batch, source):
    """Reads images and boxes. In training, with the augmentation of SSD, sections 2.2 and 3.6."""
    transform = {'mean_value': list(model.mean), 'resize_param': {'height': model.crop, 'width': model.crop}}
    samplers = None
    if phase == TRAIN:
        transform = {'mirror': True, **transform, 'emit_constraint': {'emit_type': Enum('CENTER')},
                     'distort_param': {'brightness_prob': 0.5, 'brightness_delta': 32, 'contrast_prob': 0.5,
                                       'contrast_lower': 0.5, 'contrast_upper': 1.5, 'hue_prob': 0.5, 'hue_delta': 18,
                                       'saturation_prob': 0.5, 'saturation_lower': 0.5, 'saturation_upper': 1.5},
                     'expand_param': {'prob': 0.5, 'max_expand_ratio': 4}}
        part = {'min_scale': 0.3, 'max_scale': 1, 'min_aspect_ratio': 0.5, 'max_aspect_ratio': 2}
        limits = [{'min_jaccard_overlap': overlap} for overlap in (0.1, 0.3, 0.5, 0.7, 0.9)]
        samplers = {'batch_sampler': [{'max_sample': 1, 'max_trials': 1}] + [
            {'sampler': part, 'sample_constraint': limit, 'max_sample': 1, 'max_trials': 50}
            for limit in [*limits, {'max_jaccard_overlap': 1}]]}
    net.layer('data', 'AnnotatedData', (), ['data', 'label'], include={'phase': phase}, transform_param=transform,
              data_param={'source': source, 'batch_size': batch, 'backend': Enum('LMDB')},
              annotated_data_param=samplers)


# ---------------------------------------------------------------- sequences


def dummy_sequences(net, model, phase, batch):
    """Vectors, and a word to predict at each step."""
    steps = [model.steps, batch]
    dummy_layer(net, phase, {'data': ([*steps, model.features], NORMAL), 'label': (steps, constant(0)),
                             'cont': (steps, constant(1))})


def dummy_captions(net, model, phase, batch):
    """The features of an image, and each word of its caption with the next one."""
    steps = [model.steps, batch]
    words = number(0, model.classes - 1)
    dummy_layer(net, phase, {'data': ([batch, model.features], NORMAL), 'words': (steps, words),
                             'label': (steps, words), 'cont': (steps, constant(1))})


IMAGES = Data(dummy_images, read_images)
MAPS = Data(dummy_maps, read_maps, 'h5.txt')
OBJECTS = Data(dummy_objects, read_objects)
SEQUENCES = Data(dummy_sequences)
CAPTIONS = Data(dummy_captions)
