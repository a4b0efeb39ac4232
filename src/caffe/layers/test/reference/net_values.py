"""Values of a net, from the program net_values, as NumPy arrays: what the tests here compare with formulas."""

import json
import os
import subprocess

import numpy as np

BIN = os.environ['LAYRUB_BIN_DIR']


class Values:
    """A blob's or parameter's `data` and `diff`."""

    def __init__(self, values):
        self.data = np.array(values['data']).reshape(values['shape'])
        self.diff = np.array(values['diff']).reshape(values['shape'])


def run(net, blobs, gradients=None, parameters=None):
    """Runs one forward of the prototxt `net` and, with `gradients` by blob, one backward. `blobs`: input arrays by
    name; `parameters`: lists of arrays by layer. Returns Values by blob, and lists of Values by layer."""
    def flat(arrays):
        return {name: np.asarray(array, dtype=float).ravel().tolist() for name, array in arrays.items()}
    given = {'net': net, 'blobs': flat(blobs)}
    if gradients is not None:
        given['gradients'] = flat(gradients)
    if parameters is not None:
        given['parameters'] = {name: [np.asarray(array, dtype=float).ravel().tolist() for array in arrays]
                               for name, arrays in parameters.items()}
    done = subprocess.run([os.path.join(BIN, 'net_values')], input=json.dumps(given), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    values = json.loads(done.stdout)
    return ({name: Values(blob) for name, blob in values['blobs'].items()},
            {name: [Values(blob) for blob in blobs] for name, blobs in values['parameters'].items()})


def layer_net(layer, inputs):
    """Returns a prototxt of one layer, in which gradients reach the inputs. `inputs`: shapes by name, in order."""
    text = 'force_backward: true '
    for name, shape in inputs.items():
        dims = ' '.join(f'dim: {extent}' for extent in shape)
        text += f"layer {{ name: '{name}' type: 'Input' top: '{name}' input_param {{ shape {{ {dims} }} }} }} "
    return text + layer
