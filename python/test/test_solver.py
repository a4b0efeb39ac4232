"""caffe's solvers: training, state, Ctrl-C, several solvers."""
import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import threading
import unittest

import numpy as np

from common import TRAIN_NET, CaffeTest, caffe

TYPES = ('SGD', 'Nesterov', 'AdaGrad', 'RMSProp', 'AdaDelta', 'Adam')
TEST = 'test_net: "{}"\ntest_iter: 2\ntest_interval: 100\ntest_initialization: false\n'


class Solvers(CaffeTest):

    def file_of(self, kind, more=''):
        own = {'SGD': 'momentum: 0.9', 'Nesterov': 'momentum: 0.9', 'RMSProp': 'rms_decay: 0.9',
               'AdaDelta': 'momentum: 0.9 delta: 1e-6', 'Adam': 'momentum: 0.9 momentum2: 0.99'}
        return self.solver_file(more=own.get(kind, '') + '\n' + more, solver_type=kind)

    def test_each_solver_type_trains_and_has_its_class(self):
        for kind in TYPES:
            with self.subTest(kind):
                solver = caffe.get_solver(self.file_of(kind))
                self.assertIs(getattr(caffe, f'{kind}Solver'), type(solver))
                self.assertIsInstance(solver, caffe.Solver)
                solver.step(1)
                first = float(solver.net.blobs['loss'].data)
                solver.step(10)
                self.assertEqual(11, solver.iter)
                self.assertLess(float(solver.net.blobs['loss'].data), first)
                direct = getattr(caffe, f'{kind}Solver')(self.file_of(kind))
                direct.step(11)
                np.testing.assert_array_equal(solver.net.params['ip'][0].data, direct.net.params['ip'][0].data)

    def test_solve_goes_to_max_iter(self):
        solver = caffe.SGDSolver(self.solver_file())
        self.assertEqual(20, solver.param.max_iter)
        solver.solve()
        self.assertEqual(20, solver.iter)
        self.assertAlmostEqual(0.1, solver.lr, places=6)
        self.assertIn('at iteration 20 of 20', repr(solver))

    def test_test_nets_use_the_trained_weights(self):
        net = self.write('train.prototxt', TRAIN_NET)
        solver = caffe.SGDSolver(self.solver_file(more=TEST.format(net)))
        solver.step(2)
        solver.test_nets[0].forward()
        np.testing.assert_array_equal(solver.net.params['ip'][0].data, solver.test_nets[0].params['ip'][0].data)
        self.assertEqual((), solver.test_nets[0].blobs['loss'].shape)

    def test_a_restored_solver_continues_where_the_snapshot_was_taken(self):
        one = caffe.get_solver(self.file_of('Adam'))
        one.step(3)
        one.snapshot()
        one.step(3)
        other = caffe.get_solver(self.file_of('Adam'))
        other.restore(self.path('snap_iter_3.solverstate'))
        self.assertEqual(3, other.iter)
        other.step(3)
        np.testing.assert_array_equal(one.net.params['ip'][0].data, other.net.params['ip'][0].data)
        third = caffe.get_solver(self.file_of('Adam'))
        third.solve(self.path('snap_iter_3.solverstate'))
        self.assertEqual(20, third.iter)

    def test_inputs_may_be_reshaped_before_the_first_step(self):
        text = '''
layer { name: "data" type: "Input" top: "data" top: "label" input_param { shape { dim: 1 dim: 3 } shape { dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" }'''
        solver = caffe.get_solver(self.solver_file(text, more='test_iter: 1\ntest_interval: 1\n'))
        for net in (solver.net, solver.test_nets[0]):
            net.blobs['data'].reshape(4, 3)
            net.blobs['label'].reshape(4)
            net.blobs['data'].data[...] = np.arange(12).reshape(4, 3)
            net.blobs['label'].data[...] = np.arange(4)
        expected = solver.net.forward()['loss'].copy()
        solver.step(1)
        self.assertEqual(expected, solver.net.blobs['loss'].data)
        self.assertEqual((4, 5), solver.test_nets[0].blobs['ip'].shape)

    def test_passes_and_updates_by_hand_equal_a_step(self):
        one, arrays = caffe.get_solver(self.solver_file()), []
        one.step(1)
        arrays.append(one.net.params['ip'][0].data.copy())
        other = caffe.get_solver(self.solver_file())
        other.net.clear_param_diffs()
        other.net.forward()
        other.net.backward()
        other.apply_update()
        self.assertEqual(1, other.iter)
        np.testing.assert_array_equal(arrays[0], other.net.params['ip'][0].data)

    def test_files_may_be_named_by_paths(self):
        folder = pathlib.Path(self.folder)
        self.solver_file()
        one = caffe.get_solver(folder / 'solver.prototxt')
        one.step(1)
        one.snapshot()
        other = caffe.SGDSolver(folder / 'solver.prototxt')
        other.restore(folder / 'snap_iter_1.solverstate')
        self.assertEqual(1, other.iter)
        other.solve(folder / 'snap_iter_1.solverstate')
        self.assertEqual(20, other.iter)

    def test_parameters_of_other_shapes_are_refused(self):
        for steps, shape in ((0, (9, 99)), (2, (9, 99)), (0, (1,)), (2, (1,))):
            with self.subTest(f'{shape} after {steps} steps'):
                solver = caffe.get_solver(self.file_of('Adam'))
                solver.step(steps)
                solver.net.params['ip'][0].reshape(*shape)
                with self.assertRaisesRegex(caffe.Error, 'Layer ip: parameter 0 has the shape '):
                    solver.step(1)
                with self.assertRaisesRegex(caffe.Error, 'Layer ip: parameter 0 has the shape '):
                    solver.apply_update()

    def test_share_weights(self):
        solver = caffe.get_solver(self.solver_file())
        net = self.net(TRAIN_NET, caffe.TEST)
        solver.share_weights(net)
        solver.step(1)
        np.testing.assert_array_equal(solver.net.params['ip'][0].data, net.params['ip'][0].data)

    def test_after_an_error_in_a_callback_the_solver_can_be_used(self):
        solver, fail = caffe.get_solver(self.solver_file()), [True]

        def start():
            if fail[0]:
                raise LookupError('enough')
        solver.add_callback(start, lambda: None)
        with self.assertRaisesRegex(LookupError, 'enough'):
            solver.step(1)
        fail[0] = False
        solver.step(2)
        self.assertEqual(2, solver.iter)

    def test_ctrl_c_ends_after_the_iteration(self):
        solver = caffe.get_solver(self.solver_file())
        solver.step(1)
        stop = subprocess.Popen(['sh', '-c', f'sleep 0.3; kill -INT {os.getpid()}'])
        with self.assertRaises(KeyboardInterrupt):
            solver.step(1000000)
        self.assertEqual(0, stop.wait())
        iterations = solver.iter
        self.assertGreater(iterations, 1)
        solver.step(1)
        self.assertEqual(iterations + 1, solver.iter)

    def test_wrong_files_are_exceptions(self):
        with self.assertRaisesRegex(caffe.Error, 'no field'):
            caffe.get_solver(self.write('bad.prototxt', 'net: "a"\nbase_ltr: 1'))
        with self.assertRaisesRegex(caffe.Error, 'Unknown solver type: Nonsense'):
            caffe.get_solver(self.solver_file(solver_type='Nonsense'))
        with self.assertRaisesRegex(caffe.Error, 'nowhere.solverstate'):
            caffe.get_solver(self.solver_file()).restore(self.path('nowhere.solverstate'))


class SeveralSolvers(CaffeTest):

    def test_nccl_exists_only_with_its_library(self):
        try:
            ctypes.CDLL('libnccl.so.2')
        except OSError:
            self.assertIs(False, caffe.has_nccl())
        self.assertIsInstance(caffe.has_nccl(), bool)

    def test_a_uid_is_bytes_and_may_be_given_as_a_string(self):
        uid = caffe.NCCL.new_uid()
        self.assertIs(bytes, type(uid))
        for each in (uid, uid.decode()):
            caffe.NCCL(caffe.SGDSolver(self.solver_file()), each).bcast()

    def test_a_group_lives_as_long_as_solver_and_net(self):
        solver = caffe.SGDSolver(self.solver_file())
        solver.add_callback(caffe.NCCL(solver, caffe.NCCL.new_uid()))
        gc.collect()
        solver.step(2)
        net = solver.net
        del solver
        gc.collect()
        net.forward()
        net.backward()

    def test_solvers_in_threads_train_as_one(self):
        uid, found, errors = caffe.NCCL.new_uid(), {}, []
        file = self.solver_file()

        def train(rank):
            try:
                caffe.set_solver_count(2)
                caffe.set_solver_rank(rank)
                solver = caffe.SGDSolver(file)
                group = caffe.NCCL(solver, uid)
                group.bcast()
                solver.add_callback(group)
                if solver.param.layer_wise_reduce:
                    solver.net.after_backward(group)
                solver.step(4)
                found[rank] = {name: blobs[0].data.copy() for name, blobs in solver.net.params.items()}
            except BaseException as error:  # pylint: disable=broad-except  the test reports it
                errors.append(error)
        threads = [threading.Thread(target=train, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], errors)
        for name, values in found[0].items():
            np.testing.assert_array_equal(values, found[1][name])


    def test_arguments_of_any_type_work_with_several_solvers(self):
        self.solver_file()
        self.write('net.prototxt', '''layer { name: "m" type: "MemoryData" top: "data" top: "label"
                                      memory_data_param { batch_size: 2 channels: 1 height: 1 width: 1 } }''')
        script = self.write('script.py', '\n'.join((
            'import caffe', 'import numpy as np', 'caffe.set_solver_count(2)',
            'for make in (caffe.get_solver, caffe.SGDSolver):', '    make("solver.prototxt", device_memory=10**9)',
            'net = caffe.Net("net.prototxt", caffe.TEST, stages=["some"])',
            'net.set_input_arrays(np.ones((2, 1, 1, 1)), np.ones(2))', 'net.place("hybrid", 10**9)')))
        run = subprocess.run([sys.executable, script], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((0, ''), (run.returncode, run.stderr))


class Settings(CaffeTest):

    def test_versions_types_and_seeds(self):
        self.assertEqual('1.0.0', caffe.__version__)
        self.assertIn('Convolution', caffe.layer_type_list())
        self.assertIn('Python', caffe.layer_type_list())
        arrays = []
        for seed in (1, 1, 2):
            caffe.set_random_seed(seed)
            arrays.append(self.net(TRAIN_NET, caffe.TRAIN).params['ip'][0].data.copy())
        np.testing.assert_array_equal(arrays[0], arrays[1])
        self.assertTrue((arrays[0] != arrays[2]).any())

    def test_a_timer_measures(self):
        timer = caffe.Timer()
        timer.start()
        self.net().forward()
        timer.stop()
        self.assertGreater(timer.ms, 0)


if __name__ == '__main__':
    unittest.main()
