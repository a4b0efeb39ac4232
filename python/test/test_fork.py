"""Child processes made by fork in a process with nets or solvers."""
import os
import signal
import traceback
import unittest

import numpy as np

from common import CaffeTest, caffe
from test_io import png

IMAGES = '''
layer { name: "data" type: "ImageData" top: "data" top: "label" image_data_param { source: "%s" batch_size: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 2 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''
REFUSED = 'child process made by fork.*make the net or solver in the child'


class Children(CaffeTest):

    def in_child(self, body, ends=lambda: None):
        """Runs `body` in a child process, which must not fail; `ends` deletes the objects there."""
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(60)
                body()
                ends()
                status = 0
            except BaseException:  # pylint: disable=broad-except  the parent reports it
                traceback.print_exc()
            finally:
                os._exit(status)
        self.assertEqual(0, os.waitpid(child, 0)[1])

    def refused(self, call):
        with self.assertRaisesRegex(RuntimeError, REFUSED):
            call()

    def images(self, name='image'):
        """A net that reads an image of this name. Writes the image, so no other net may be reading it."""
        image = self.path(name + '.png')
        with open(image, 'wb') as file:
            file.write(png(np.zeros((8, 8, 3), np.uint8)))
        return IMAGES % self.write(name + '.txt', f'{image} 1\n' * 6)

    def trained(self, **placement):
        solver = caffe.get_solver(self.solver_file(), **placement)
        solver.step(2)
        return solver.net.params['ip'][0].data.copy()

    def test_a_net_without_threads_works_on(self):
        nets = [self.net()]
        self.fill_weights(nets[0])
        images = np.random.rand(4, 3, 8, 8)
        expected = nets[0].forward(data=images)['prob'].copy()

        def body():
            for _ in range(2):
                np.testing.assert_array_equal(expected, nets[0].forward(data=images)['prob'])
        self.in_child(body, nets.clear)
        body()

    def test_a_planned_solver_belongs_to_its_process_and_the_child_may_make_another(self):
        expected = self.trained(strategy='hybrid')
        solvers = [caffe.get_solver(self.solver_file(), strategy='hybrid')]
        solvers[0].step(1)
        weights = solvers[0].net.params['ip'][0]
        before = weights.data.copy()

        def body():
            np.testing.assert_array_equal(before, weights.data)
            self.refused(lambda: solvers[0].step(1))
            np.testing.assert_array_equal(expected, self.trained(strategy='hybrid'))
        self.in_child(body, solvers.clear)
        solvers[0].step(1)
        np.testing.assert_array_equal(expected, weights.data)

    def test_prefetched_data_stay_with_the_process_that_reads_them(self):
        nets = [self.net(self.images())]
        nets[0].forward()

        def body():
            self.refused(nets[0].forward)
            self.assertGreater(self.net(self.images('another')).forward()['loss'], 0)
        self.in_child(body, nets.clear)
        nets[0].forward()

    def test_prefetching_solvers_and_groups_can_be_deleted_in_the_child(self):
        solver = caffe.SGDSolver(self.solver_file(self.images(), 'snapshot: 100\n'))
        group = caffe.NCCL(solver, caffe.NCCL.new_uid())
        group.bcast()
        solver.step(1)
        held = [group, solver]
        del group, solver
        self.in_child(lambda: self.refused(lambda: held[1].step(1)), held.clear)
        held[1].step(1)

    def test_a_child_forked_in_a_callback_exits(self):
        solver = caffe.get_solver(self.solver_file(), strategy='hybrid')
        solver.add_callback(lambda: self.in_child(lambda: None), lambda: self.in_child(lambda: None))
        solver.step(2)
        self.assertEqual(2, solver.iter)


if __name__ == '__main__':
    unittest.main()
