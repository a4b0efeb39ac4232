"""Arrays of blobs whose bytes a memory plan moves show the right values, or access is refused with the reason."""
import gc
import os
import unittest

import numpy as np

from common import DEPLOY_NET, TRAIN_NET, CaffeTest, caffe


def weights(net):
    return {name: [blob.data.copy() for blob in blobs] for name, blobs in net.params.items()}


class Placement(CaffeTest):

    def assert_same(self, one, other):
        self.assertEqual(list(one), list(other))
        for name, arrays in one.items():
            for mine, its in zip(arrays, other[name]):
                np.testing.assert_array_equal(mine, its, name)

    def budget(self):
        return caffe.get_solver(self.solver_file()).plan('hybrid', '1')['smallest_budget_bytes']

    def test_a_budget_gives_the_same_weights(self):
        free = caffe.get_solver(self.solver_file(), strategy='keep')
        free.step(6)
        tight = caffe.get_solver(self.solver_file(), strategy='hybrid', device_memory=self.budget())
        tight.step(6)
        self.assertLess(tight.planned_device_bytes, 0.8 * free.planned_device_bytes)
        self.assertEqual(self.budget(), tight.planned_device_bytes)
        self.assert_same(weights(free.net), weights(tight.net))

    def test_held_arrays_show_new_values_after_each_step(self):
        def train(hold, **placement):
            solver = caffe.get_solver(self.solver_file(), **placement)

            def look():
                weight = solver.net.params['conv1'][0]
                return weight.data, weight.diff, solver.net.blobs['loss'].data
            held, seen = look(), []
            for _ in range(4):
                solver.step(1)
                seen.append([array.copy() for array in (held if hold else look())])
            return seen
        expected = train(False, strategy='keep')
        for hold in (False, True):
            for wanted, found in zip(expected, train(hold, strategy='hybrid', device_memory=self.budget())):
                for one, other in zip(wanted, found):
                    np.testing.assert_array_equal(one, other)

    def test_several_arrays_of_one_memory_show_the_same_values(self):
        net = self.net('''
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "a" type: "Power" bottom: "data" top: "a" power_param { scale: 2 } }
layer { name: "b" type: "Power" bottom: "data" top: "b" power_param { scale: 3 } }
layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum" }''')
        net.place('keep')
        arrays = {name: blob.data for name, blob in net.blobs.items()}  # data has two readers: views of it
        for value in (1, 2, 3):
            arrays['data'][...] = value
            net.forward()
            np.testing.assert_array_equal(arrays['sum'], np.full((2, 3), 5 * value))

    def test_an_overwritten_input_is_what_was_written_last(self):
        net = self.net('''
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "scale" type: "Power" bottom: "data" top: "data" power_param { scale: 2 } }
layer { name: "shift" type: "Power" bottom: "data" top: "shift" power_param { shift: 1 } }''')
        net.place('hybrid')
        held = net.blobs['data'].data
        for value in (1, 2, 3, 4):
            held[...] = value
            np.testing.assert_array_equal(net.forward()['shift'], np.full((1, 3), 2 * value + 1))

    def test_writing_to_a_dropped_value_is_an_error_once(self):
        solver = caffe.get_solver(self.solver_file(), strategy='hybrid', device_memory=self.budget())
        solver.step(1)
        given_up = [name for name, blob in solver.net.blobs.items() if not blob.readable]
        self.assertIn('conv1', given_up)
        other = caffe.get_solver(self.solver_file(), strategy='keep')
        other.step(1)
        held = other.net.blobs['conv1'].data
        other.net.place('hybrid', self.budget())
        other.step(1)
        self.assertTrue(np.isnan(held).all())
        held[...] = 1
        with self.assertRaisesRegex(caffe.Error, "'conv1"):
            other.step(1)
        other.step(1)

    def test_values_written_by_callbacks_are_used(self):
        net_text = '''
layer { name: "data" type: "DummyData" top: "data"
  dummy_data_param { shape { dim: 4 dim: 3 } data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "constant" value: 1 } } }
layer { name: "ip2" type: "InnerProduct" bottom: "ip" top: "ip2"
  inner_product_param { num_output: 2 weight_filler { type: "constant" value: 1 } } }
layer { name: "loss" type: "Reduction" bottom: "ip2" top: "loss" loss_weight: 1 }'''

        def train(planned):
            solver = caffe.get_solver(self.solver_file(net_text))
            net = solver.net
            seen = []

            def after_forward(layer):
                if layer == 1:
                    seen.append(net.blobs['ip'].readable)
                    net.blobs['ip'].data[...] += 100

            def after_backward(layer):
                if layer == 2:
                    net.blobs['ip'].diff[0] = 0
            net.after_forward(after_forward)
            net.after_backward(after_backward)
            if planned:
                solver.step(1)
            else:
                net.clear_param_diffs()
                net.forward()
                net.backward()
                solver.apply_update()
            return seen, float(net.blobs['loss'].data), weights(net)
        seen, loss, after = train(planned=True)
        expected = train(planned=False)
        self.assertEqual(seen, [True])
        self.assertEqual((seen, loss), expected[:2])
        self.assertEqual(loss, 4 * 2 * 2 * 103)
        self.assert_same(after, expected[2])

    def test_values_written_by_callbacks_are_never_lost_silently(self):
        solver = caffe.get_solver(self.solver_file(), strategy='sqrt')
        net = solver.net

        def change(layer):
            if net._layer_names[layer] == 'conv2':
                net.blobs['conv2'].data[...] += 1
        net.after_forward(change)
        with self.assertRaisesRegex(caffe.Error, "'conv2' cannot be changed here: strategy sqrt computes it again"):
            solver.step(1)

    def test_a_forward_pass_of_named_layers_runs_without_the_plan(self):
        net = self.net(DEPLOY_NET.replace('name: "deploy"', 'name: "deploy" force_backward: true'), caffe.TRAIN)
        net.place('hybrid')
        net.forward(data=np.random.rand(4, 3, 8, 8))
        with self.assertRaisesRegex(caffe.Error, r'net.forward\(start=FIRST, end=LAST\)'):
            net.backward(start='ip', end='conv')
        net.forward(start='data', end='prob')
        net.blobs['ip'].diff[...] = 1
        net.backward(start='ip', end='conv')
        self.assertGreater(np.abs(net.blobs['data'].diff).max(), 0)

    def test_derivatives_may_be_set_between_parts_of_a_pass(self):
        found = []
        for planned in (False, True):
            net = self.net(TRAIN_NET.replace('name: "small"', 'force_backward: true'), caffe.TRAIN)
            self.fill_weights(net)
            if planned:
                net.place('hybrid')
                net.forward()
                net.backward()
                net.forward()
                with self.assertRaisesRegex(caffe.Error, r'(?s)whole Backward\(\).*net.forward\(start=FIRST'):
                    net.blobs['pool'].diff  # pylint: disable=pointless-statement
            net.clear_param_diffs()
            net.forward(end='pool')
            net.blobs['pool'].diff[...] = 1
            net.backward(start='pool')
            found.append(net.params['conv3'][0].diff.copy())
        self.assertEqual(found[0].shape, found[1].shape)
        self.assertTrue(np.abs(found[1]).max() > 0)

    def test_derivatives_may_be_set_after_a_forward_pass_under_keep(self):
        text = TRAIN_NET.replace('name: "small"', 'force_backward: true')
        for placement in ({}, {'strategy': 'keep'}):
            solver = caffe.get_solver(self.solver_file(text), **placement)
            solver.step(1)
            plain = self.net(text, caffe.TRAIN)
            plain.share_with(solver.net)
            found = []
            for net in (solver.net, plain):
                net.clear_param_diffs()
                caffe.set_random_seed(7)
                net.forward()
                net.blobs['pool'].diff[...] = 1
                net.backward(start='pool')
                found.append([blobs[0].diff.copy() for blobs in net.params.values()] + [net.blobs['data'].diff.copy()])
            for mine, its in zip(*found):
                np.testing.assert_array_equal(mine, its)
            self.assertTrue(all(np.isfinite(values).all() for values in found[0]))
            self.assertGreater(np.abs(found[0][0]).max(), 0)
            before = weights(solver.net)
            solver.step(1)
            self.assertFalse(np.array_equal(before['conv1'][0], weights(solver.net)['conv1'][0]))

    def test_a_callback_that_runs_its_own_net_is_an_error(self):
        for enter in (lambda net: net.forward(), lambda net: net.forward(start='conv1', end='conv1'),
                      lambda net: net.place('keep')):
            solver = caffe.get_solver(self.solver_file())
            calls = []

            def run(layer, net=solver.net, enter=enter, calls=calls):
                calls.append(layer)
                if len(calls) == 1:
                    enter(net)
            solver.net.after_forward(run)
            with self.assertRaisesRegex(caffe.Error, 'while it runs under a memory plan'):
                solver.step(1)
            solver.step(1)
            self.assertGreater(len(calls), 9)

    def test_values_written_into_arrays_are_used_in_training(self):
        def train(solver, hold):
            arrays = []
            for step in range(4):
                blob = solver.net.params['conv2'][0]
                if hold and not arrays:
                    arrays.append(blob.data)
                (arrays[0] if hold else blob.data)[...] *= 0.5 + step
                solver.step(1)
            return weights(solver.net)
        expected = train(caffe.get_solver(self.solver_file(), strategy='keep'), False)
        for hold in (False, True):
            tight = caffe.get_solver(self.solver_file(), strategy='hybrid', device_memory=self.budget())
            self.assert_same(expected, train(tight, hold))

    def test_reading_a_dropped_value_is_refused_with_the_reason(self):
        solver = caffe.get_solver(self.solver_file(), strategy='hybrid', device_memory=self.budget())
        solver.step(1)
        gone = [name for name, blob in solver.net.blobs.items() if not blob.readable]
        self.assertTrue(gone)
        for name in gone:
            with self.assertRaisesRegex(caffe.Error, f"(?s)'{name}.*is gone.*keep: \"{name}\""):
                solver.net.blobs[name].data  # pylint: disable=pointless-statement
        there = [name for name in solver.net.blobs if name not in gone]
        self.assertIn('loss', there)
        other = caffe.get_solver(self.solver_file(), strategy='keep')
        other.step(1)
        for name in there:
            np.testing.assert_array_equal(other.net.blobs[name].data, solver.net.blobs[name].data, name)

    def test_an_array_whose_value_is_dropped_later_is_nan(self):
        solver = caffe.get_solver(self.solver_file(), strategy='hybrid', device_memory=self.budget())
        held = solver.net.blobs['conv2'].data
        self.assertFalse(np.isnan(held).any())
        solver.step(1)
        self.assertFalse(solver.net.blobs['conv2'].readable)
        self.assertTrue(np.isnan(held).all())
        solver.net.forward(end='conv3')  # a part of a pass runs without the plan
        self.assertFalse(np.isnan(held).any())
        np.testing.assert_array_equal(solver.net.blobs['conv2'].data, held)

    def test_keep_in_the_prototxt_keeps_it(self):
        text = TRAIN_NET + 'placement { keep: "conv2" }'
        solver = caffe.get_solver(self.solver_file(text), strategy='hybrid', device_memory='1GiB')
        solver.step(1)
        other = caffe.get_solver(self.solver_file(), strategy='keep')
        other.step(1)
        np.testing.assert_array_equal(other.net.blobs['conv2'].data, solver.net.blobs['conv2'].data)

    def test_a_callback_of_a_planned_net_reads_and_writes_arrays(self):
        def train(**placement):
            solver = caffe.get_solver(self.solver_file(), **placement)
            held, seen = solver.net.params['ip'][0].diff, []

            def clip():
                seen.append(held.copy())
                held[...] = np.clip(held, -0.01, 0.01)
            solver.add_callback(lambda: None, clip)
            solver.step(3)
            return weights(solver.net), seen
        expected, seen = train(strategy='keep')
        found, too = train(strategy='hybrid', device_memory=self.budget())
        self.assert_same(expected, found)
        np.testing.assert_array_equal(seen, too)
        self.assertGreater(np.abs(seen[0]).max(), 0.01)

    def test_a_placed_net_takes_inputs_and_returns_outputs(self):
        image = np.random.rand(4, 3, 8, 8)
        net = self.net()
        expected = net.forward(data=image)['prob'].copy()
        placed = self.net()
        placed.share_with(net)
        placed.place('hybrid')
        held = placed.blobs['data'].data
        for _ in range(3):
            held[...] = image
            np.testing.assert_array_equal(expected, placed.forward()['prob'])
            placed.blobs['data'].data[...] = image
            np.testing.assert_array_equal(expected, placed.forward()['prob'])
            self.assertEqual(['prob'], list(placed.forward(data=2 * image)))
            self.assertTrue((placed.blobs['prob'].data != expected).any())

    def test_an_input_that_a_layer_overwrites_in_place_is_read_again_by_the_next_pass(self):
        text = DEPLOY_NET.replace('layer { name: "conv" ', 'layer { name: "in" type: "Power" bottom: "data" top: "data" '
                                  'power_param { scale: -1 } } layer { name: "conv" ')
        image = np.random.rand(4, 3, 8, 8).astype(np.float32)
        net = self.net(text)
        expected = net.forward(data=image)['prob'].copy()
        placed = self.net(text)
        placed.share_with(net)
        placed.place('hybrid')
        self.assertTrue((placed.forward(data=image)['prob'] == expected).all())
        placed.blobs['data'].data.mean()  # reading is not writing
        self.assertTrue((placed.forward(data=image)['prob'] == expected).all())

    def test_arrays_outlive_the_plan_and_the_solver(self):
        solver = caffe.get_solver(self.solver_file(), strategy='hybrid', device_memory=self.budget())
        solver.step(1)
        held, loss = solver.net.params['conv1'][0].data, solver.net.blobs['loss']
        before = held.copy(), loss.data.copy()
        del solver
        gc.collect()
        np.testing.assert_array_equal(before[0], held)
        held[...] = 0
        np.testing.assert_array_equal(before[1], loss.data)

    def test_a_budget_that_is_too_small_is_an_exception_that_names_a_larger_one(self):
        solver = caffe.get_solver(self.solver_file(), strategy='hybrid', device_memory='1KiB')
        with self.assertRaisesRegex(caffe.Error, '--device_memory='):
            solver.step(1)
        with self.assertRaisesRegex(ValueError, '--device_memory='):
            self.net().place('hybrid', 100)
        with self.assertRaisesRegex(ValueError, 'hybrid'):
            self.net().place('nonsense')

    def test_an_unknown_placement_is_refused_at_once(self):
        file, wrong = self.solver_file(), self.path('wrong.prototxt')
        with open(file, encoding='utf-8') as good, open(wrong, 'w', encoding='utf-8') as bad:
            bad.write(good.read() + 'placement { strategy: "nonsense" }\n')
        for make in (caffe.get_solver, caffe.SGDSolver):
            for field, says in (('strategy', "no placement strategy 'foo'"),
                                ('device_memory', "device_memory: 'foo' is not a size"),
                                ('host_memory', "host_memory: 'foo' is not a size")):
                with self.assertRaisesRegex(ValueError, says):
                    make(file, **{field: 'foo'})
            with self.assertRaisesRegex(ValueError, "no placement strategy 'nonsense'"):
                make(wrong)
        for field in ('strategy', 'device_memory', 'host_memory'):
            with self.assertRaisesRegex(ValueError, "'foo'"):
                self.net().place(**{field: 'foo'})

    def test_keep_may_name_a_blob_of_a_test_net_only(self):
        text = TRAIN_NET + '''layer { name: "acc" type: "Accuracy" bottom: "ip" bottom: "label" top: "acc"
                                      include { phase: TEST } }
                              layer { name: "late" type: "Power" bottom: "conv1" top: "late" include { phase: TEST } }
                              layer { name: "sum" type: "Reduction" bottom: "late" top: "sum"
                                      include { phase: TEST } }'''
        more = 'test_iter: 1\ntest_interval: 1\nplacement {{ strategy: "hybrid" keep: "{}" }}\n'

        def solver(keep):
            return caffe.get_solver(self.solver_file(text, more.format(keep)))
        for keep, kept in (('late', True), ('acc', False)):
            trained = solver(keep)
            trained.step(1)
            trained.test_nets[0].forward()
            self.assertEqual(kept, trained.test_nets[0].blobs['late'].readable)
        with self.assertRaisesRegex(caffe.Error, "keep names blob 'nothing', which none of the solver's nets has: "
                                    "train net 'small', test net 'small'"):
            solver('nothing').step(1)
        with self.assertRaisesRegex(ValueError, "keep names blob 'nothing', which net 'deploy' lacks"):
            self.net().place('hybrid', keep=['nothing'])


class Plans(CaffeTest):

    def test_the_plan_of_a_net_has_numbers_and_a_picture(self):
        net = self.net(TRAIN_NET, caffe.TRAIN)
        keep, hybrid = net.plan('keep'), net.plan('hybrid')
        self.assertTrue(keep.fits)
        self.assertLess(hybrid['smallest_budget_bytes'], keep['device_peak_bytes'])
        self.assertIsInstance(keep, dict)
        self.assertTrue(hybrid._repr_svg_().startswith('<svg'))
        hybrid.save_picture(self.path('plan.svg'))
        self.assertFalse(net.plan('keep', 1000).fits)
        with self.assertRaisesRegex(ValueError, 'nonsense'):
            net.plan('nonsense')

    def test_planning_changes_nothing(self):
        net = self.net()
        before = net.forward(data=np.ones((4, 3, 8, 8)))['prob'].copy()
        net.plan('hybrid', '1MiB')
        np.testing.assert_array_equal(before, net.blobs['prob'].data)

    def test_a_prototxt_that_cannot_be_planned_is_refused_in_a_sentence(self):
        file = self.write('py.prototxt', 'layer { name: "d" type: "Python" top: "x" python_param { module: "m" layer: "A" } }')
        with self.assertRaisesRegex(ValueError, '^Layer d .*; give them with data_shape=x:C,H,W batch=N'):
            caffe.plan(file)

    def test_the_plan_of_a_prototxt_is_that_of_the_solver(self):
        file = self.solver_file()
        solver = caffe.get_solver(file)
        for strategy in ('keep', 'hybrid'):
            self.assertEqual(solver.plan(strategy)['total_device_bytes'],
                             caffe.plan(file, strategy)['total_device_bytes'])
        model = os.path.join(os.path.dirname(__file__), '../../models/lenet/train_val.prototxt')
        small, large = (caffe.plan(model, 'keep', batch=batch, data_shape='1,28,28') for batch in (8, 16))
        self.assertLess(small['device_peak_bytes'], large['device_peak_bytes'])
        self.assertFalse(caffe.plan(file, 'hybrid', '10KiB').fits)
        with self.assertRaisesRegex(ValueError, 'nonsense'):
            caffe.plan(file, nonsense=1)
        with self.assertRaisesRegex(FileNotFoundError, 'nowhere'):
            caffe.plan('nowhere.prototxt')


if __name__ == '__main__':
    unittest.main()
