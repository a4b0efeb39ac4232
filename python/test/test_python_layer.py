"""Layers written in Python, in nets of Python and of programs, with and without a memory plan."""
import ast
import gc
import os
import re
import subprocess
import sys
import unittest

import numpy as np

from common import BIN, TRAIN_NET, CaffeTest, caffe

LAYERS = '''
import caffe
import numpy as np


class Scale(caffe.Layer):
    """Multiplies by param_str, and counts."""

    def setup(self, bottom, top):
        self.factor = float(self.param_str)
        self.passes = 0
        self.bottom_of_setup = bottom[0]

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        assert bottom[0] is self.bottom_of_setup
        self.passes += 1
        top[0].data[...] = self.factor * bottom[0].data

    def backward(self, top, propagate_down, bottom):
        if propagate_down[0]:
            bottom[0].diff[...] = self.factor * top[0].diff


class HoldsArrays(Scale):
    """The same, with arrays that it has held since the first pass."""

    def forward(self, bottom, top):
        if not self.passes:
            self.arrays = bottom[0].data, top[0].data
        self.passes += 1
        self.arrays[1][...] = self.factor * self.arrays[0]


class InPlace(Scale):
    def reshape(self, bottom, top):
        pass


class Bias(caffe.Layer):
    """Adds a parameter."""

    def setup(self, bottom, top):
        self.blobs.add_blob(bottom[0].shape[1])
        self.blobs[0].data[...] = 0.5

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        shape = (1, -1) + (1,) * (len(bottom[0].shape) - 2)
        top[0].data[...] = bottom[0].data + self.blobs[0].data.reshape(shape)

    def backward(self, top, propagate_down, bottom):
        axes = tuple(i for i in range(len(top[0].shape)) if i != 1)
        self.blobs[0].diff[...] += top[0].diff.sum(axes)
        bottom[0].diff[...] = top[0].diff


class Source(caffe.Layer):
    """A data layer."""

    def setup(self, bottom, top):
        self.number = 0

    def reshape(self, bottom, top):
        top[0].reshape(2, 3)

    def forward(self, bottom, top):
        self.number += 1
        top[0].data[...] = self.number

    def backward(self, top, propagate_down, bottom):
        pass


class Phase(Source):
    def forward(self, bottom, top):
        top[0].data[...] = self.phase


class OwnName(Source):
    """Defines `name`."""
    @property
    def name(self):
        return 'mine'


class Reshapes(Source):
    """Reshapes its top to what param_str says."""
    def reshape(self, bottom, top):
        top[0].reshape(*eval(self.param_str))


class Euclidean(caffe.Layer):
    """The loss of Caffe's examples, whose reshape reads the bottoms' data although it needs only shapes."""

    def setup(self, bottom, top):
        pass

    def reshape(self, bottom, top):
        self.diff = np.zeros_like(bottom[0].data, dtype=np.float32)
        top[0].reshape(1)

    def forward(self, bottom, top):
        self.diff[...] = bottom[0].data - bottom[1].data
        top[0].data[...] = np.sum(self.diff**2) / bottom[0].num / 2.

    def backward(self, top, propagate_down, bottom):
        for i in range(2):
            if propagate_down[i]:
                bottom[i].diff[...] = (1, -1)[i] * self.diff / bottom[i].num


class Fails(Scale):
    def forward(self, bottom, top):
        raise ZeroDivisionError('as it must')


class HasNoReshape(caffe.Layer):
    def setup(self, bottom, top):
        assert type(bottom) is type(top) is caffe._caffe.RawBlobVec


class NoLayer:
    pass
'''


def layer(name, kind, bottom, top, more=''):
    bottoms = ''.join(f'bottom: "{each}" ' for each in bottom.split())
    return (f'layer {{ name: "{name}" type: "Python" {bottoms} top: "{top}" '
            f'python_param {{ module: "layers_of_test" layer: "{kind}" {more} }} }}\n')


def train_net(kind):
    """TRAIN_NET with a Python layer in its middle."""
    return TRAIN_NET.replace('layer { name: "conv3" type: "Convolution" bottom: "relu2"',
                             layer('py', kind, 'relu2', 'relu2' if kind == 'InPlace' else 'py', 'param_str: "0.5"') +
                             'layer { name: "conv3" type: "Convolution" bottom: "' +
                             ('relu2' if kind == 'InPlace' else 'py') + '"')


POWER = TRAIN_NET.replace('layer { name: "conv3" type: "Convolution" bottom: "relu2"',
                          'layer { name: "py" type: "Power" bottom: "relu2" top: "py" power_param { scale: 0.5 } } '
                          'layer { name: "conv3" type: "Convolution" bottom: "py"')


class PythonLayers(CaffeTest):

    def setUp(self):
        super().setUp()
        self.write('layers_of_test.py', LAYERS)
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        self.addCleanup(sys.modules.pop, 'layers_of_test', None)

    def train(self, text, steps=4, **placement):
        solver = caffe.get_solver(self.solver_file(text), **placement)
        solver.step(steps)
        return solver, {name: [blob.data.copy() for blob in blobs] for name, blobs in solver.net.params.items()}

    def test_it_computes_in_a_net(self):
        net = self.net('layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }' +
                       layer('py', 'Scale', 'x', 'y', 'param_str: "3"'))
        values = np.random.rand(2, 3).astype(np.float32)
        np.testing.assert_array_equal(3 * values, net.forward(x=values)['y'])
        self.assertEqual(1, net.layers[1].passes)  # the object of the user's class
        self.assertEqual(('Python', '3', '3'), (net.layers[1].type, net.layers[1].param_str, net.layers[1].param_str_))
        net.blobs['x'].reshape(5, 3)
        net.reshape()
        self.assertEqual((5, 3), net.blobs['y'].shape)

    def test_it_can_be_a_data_layer(self):
        net = self.net(layer('source', 'Source', '', 'x'))
        self.assertEqual([1, 2, 3], [net.forward()['x'][1, 2] for _ in range(3)])
        for phase in (caffe.TRAIN, caffe.TEST):
            self.assertEqual(phase, self.net(layer('source', 'Phase', '', 'x'), phase).forward()['x'][0, 0])

    def test_trains_the_same_weights_as_a_library_layer_under_every_plan(self):
        _, expected = self.train(POWER, strategy='keep')
        for kind in ('Scale', 'HoldsArrays', 'InPlace'):
            for strategy in ('keep', 'hybrid', 'auto', 'vdnn_all'):
                with self.subTest(f'{kind} {strategy}'):
                    budget = caffe.get_solver(self.solver_file(train_net(kind))).plan(strategy, '1')
                    _, found = self.train(train_net(kind), strategy=strategy,
                                          device_memory=budget['smallest_budget_bytes'])
                    for name, arrays in expected.items():
                        for mine, its in zip(arrays, found[name]):
                            np.testing.assert_array_equal(mine, its, name)

    def test_it_runs_in_parts_of_a_pass_after_a_plan_has_dropped_its_values(self):
        text = train_net('Scale').replace('name: "small"', 'force_backward: true')
        found = []
        for planned in (False, True):
            net = self.net(text, caffe.TRAIN)
            self.fill_weights(net)
            if planned:
                net.place('liveness')
            net.forward()
            net.backward()
            net.clear_param_diffs()
            caffe.set_random_seed(3)
            net.forward(end='py')
            net.forward(start='conv3', end='loss')
            net.backward(start='loss', end='py')
            net.backward(start='relu2')
            found.append([net.blobs['py'].data.copy(), net.params['conv1'][0].diff.copy()])
        for mine, its in zip(*found):
            np.testing.assert_array_equal(mine, its)
        self.assertGreater(np.abs(found[0][1]).max(), 0)

    def test_it_reads_shapes_of_blobs_whose_values_a_plan_has_dropped(self):
        text = ('layer { name: "in" type: "Input" top: "x" top: "target" '
                'input_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 } } }\n'
                'layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" '
                'inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }\n' +
                layer('loss', 'Euclidean', 'ip target', 'loss').replace(' }\n', ' loss_weight: 1 }\n'))
        found = []
        for strategy in ('', 'keep', 'auto', 'hybrid'):
            placement = {'strategy': strategy} if strategy else {}
            solver = caffe.get_solver(self.solver_file(text), **placement)
            if not strategy:
                solver.net.forward(end='loss')
            losses = []
            for batch in (4, 2, 2, 3):
                for name in ('x', 'target'):
                    blob = solver.net.blobs[name]
                    blob.reshape(batch, blob.shape[1])
                    blob.data[...] = np.arange(blob.count).reshape(blob.shape) % 5 / 4
                solver.step(1)
                losses.append(solver.net.blobs['loss'].data.item())
                solver.net.reshape()
            found.append((losses, solver.net.params['ip'][0].data.tolist()))
        for each in found[1:]:
            self.assertEqual(found[0], each)
        self.assertTrue(all(loss > 0 for loss in found[0][0]), found)

    def test_its_parameters_are_trained_and_saved(self):
        text = TRAIN_NET.replace('bottom: "ip" bottom: "label"', 'bottom: "b" bottom: "label"') + layer('b', 'Bias', 'ip', 'b')
        lines = text.splitlines(keepends=True)
        text = ''.join(lines[:-2] + lines[-1:] + lines[-2:-1])  # the loss comes last
        solver, found = self.train(text, strategy='hybrid')
        self.assertTrue((found['b'][0] != 0.5).all())
        solver.net.save(self.path('b.caffemodel'))
        net = self.net(text, weights=self.path('b.caffemodel'))
        np.testing.assert_array_equal(found['b'][0], net.params['b'][0].data)
        np.testing.assert_array_equal(found['b'][0], net.layer_dict['b'].blobs[0].data)

    def test_errors_are_exceptions_of_their_own_type(self):
        net = self.net('layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 } } }' +
                       layer('py', 'Fails', 'x', 'y', 'param_str: "3"'))
        for _ in range(2):
            with self.assertRaisesRegex(ZeroDivisionError, 'as it must'):
                net.forward()
        with self.assertRaises(ValueError):
            self.net(layer('py', 'Scale', '', 'y', 'param_str: "no number"'))
        with self.assertRaisesRegex(AttributeError, 'there is no class layers_of_test.Nothing'):
            self.net(layer('py', 'Nothing', '', 'y'))
        with self.assertRaisesRegex(TypeError, 'must be a class derived from caffe.Layer'):
            self.net(layer('py', 'NoLayer', '', 'y'))
        with self.assertRaisesRegex(AttributeError, 'Layer py: its class must define .*reshape'):
            self.net(layer('py', 'HasNoReshape', '', 'y'))
        with self.assertRaisesRegex(ModuleNotFoundError, "Layer py: (.|\n)*No module named 'no_such_module'"):
            self.net('layer { name: "py" type: "Python" top: "y" python_param { module: "no_such_module" layer: "A" } }')
        solver = caffe.get_solver(self.solver_file(train_net('Fails')))
        for _ in range(2):
            with self.assertRaisesRegex(ZeroDivisionError, 'as it must'):
                solver.step(1)

    def test_a_class_may_define_name(self):
        self.assertEqual('mine', self.net(layer('source', 'OwnName', '', 'x')).layers[0].name)
        self.assertEqual('source', self.net(layer('source', 'Source', '', 'x')).layers[0].name)

    def test_shapes_that_are_not_integers_are_refused_with_the_right_way(self):
        net = self.net(layer('source', 'Reshapes', '', 'x', "param_str: '4, 3'"))
        self.assertEqual((4, 3), net.blobs['x'].shape)
        for wrong in ('((4, 3),)', '(4, 3.0)'):
            says = re.escape(f'integers, as in reshape(4, 3), and these are {wrong}.')
            with self.assertRaisesRegex(TypeError, says):
                net.blobs['x'].reshape(*ast.literal_eval(wrong))
            with self.assertRaisesRegex(TypeError, says):
                self.net(layer('source', 'Reshapes', '', 'x', f"param_str: '{wrong}'"))

    def test_using_objects_of_a_deleted_net_is_an_error(self):
        net = self.net(layer('source', 'Source', '', 'x'))
        kept, blobs = net.layers[0], net.blobs['x']
        del net
        gc.collect()
        with self.assertRaisesRegex(RuntimeError, 'gone'):
            kept.type  # pylint: disable=pointless-statement
        self.assertEqual((2, 3), blobs.data.shape)

    def test_a_program_trains_a_net_with_it(self):
        def train(*flags):
            run = subprocess.run([os.path.join(BIN, 'layrub'), 'train', f'--solver={solver}', '--max_iter=3', *flags],
                                 cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(0, run.returncode, run.stderr)
            net = caffe.Net(self.path('train.prototxt'), caffe.TEST, weights=self.path('snap_iter_3.caffemodel'))
            return net.params['ip'][0].data.copy()
        _, expected = self.train(POWER, 3, strategy='keep')
        solver = self.solver_file(train_net('Scale'), 'snapshot: 3\nsnapshot_format: BINARYPROTO\n')
        np.testing.assert_array_equal(expected['ip'][0], train())
        together = train('--cpu_solvers=2')
        solver = self.solver_file(POWER, 'snapshot: 3\nsnapshot_format: BINARYPROTO\n')
        np.testing.assert_array_equal(train('--cpu_solvers=2'), together)

    def test_a_program_reports_its_errors_in_a_sentence(self):
        self.write('broken.py', 'x = (\n')
        where = (r'; python_param \{ module: "%s" layer: "%s" \} names it, and Python looks for modules in PYTHONPATH '
                 r'and in the folder one is in\.')
        for module, kind, says in (
                ('layers_of_test', 'Fails', 'py.forward: ZeroDivisionError: as it must'),
                ('layers_of_test', 'Nothing', 'Layer py: there is no class layers_of_test.Nothing' + where),
                ('layers_of_test', 'NoLayer',
                 'Layer py: layers_of_test.NoLayer must be a class derived from caffe.Layer' + where),
                ('nowhere', 'A', "Layer py: its class cannot be used" + where +
                 " Python says: ModuleNotFoundError: No module named 'nowhere'"),
                ('broken', 'A', 'Layer py: its class cannot be used' + where + ' Python says: SyntaxError: .*broken.py'),
                ('', 'A', 'Layer py: its class cannot be used' + where + ' Python says: ValueError: Empty module name')):
            with self.subTest(f'{module}.{kind}'):
                solver = self.solver_file(train_net(kind).replace('layers_of_test', module))
                run = subprocess.run([os.path.join(BIN, 'layrub'), 'train', f'--solver={solver}', '--max_iter=3'],
                                     cwd=self.folder, capture_output=True, text=True, check=False)
                self.assertEqual(1, run.returncode, run.stderr)
                self.assertRegex(run.stderr, says % (module, kind) if '%s' in says else says)
                self.assertRegex(run.stderr, r'train.prototxt:\d+')
                self.assertNotIn('terminate called', run.stderr)
                self.assertNotIn('please report', run.stderr)


if __name__ == '__main__':
    unittest.main()
