#!/usr/bin/env python3
"""Trains on several GPUs, also nets with Python layers.

  train.py --solver=solver.prototxt --gpus 0 1
  train.py --solver=solver.prototxt --solvers=2            on the CPU

Each solver runs in its own thread with the whole batch of the prototxt, as under `layrub train --gpu=0,1`.
"""
import argparse
import threading

import caffe
from caffe import program


class Trainer:
    """Solvers in threads that sum their gradients."""

    def __init__(self, flags):
        self.flags, self.uid = flags, caffe.NCCL.new_uid()
        self.count = len(flags.gpus) if flags.gpus else flags.solvers
        self.errors = []

    def run(self):
        threads = [threading.Thread(target=self.solve, args=(rank,)) for rank in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def solve(self, rank):
        try:
            if self.flags.gpus:
                caffe.set_mode_gpu()
                caffe.set_device(self.flags.gpus[rank])
            caffe.set_solver_count(self.count)
            caffe.set_solver_rank(rank)
            solver = caffe.get_solver(self.flags.solver, device_memory=self.flags.device_memory)
            if self.flags.snapshot:
                solver.restore(self.flags.snapshot)
            if self.count > 1:
                group = caffe.NCCL(solver, self.uid)
                group.bcast()
                solver.add_callback(group)
            if self.flags.timing and rank == 0:
                self.time(solver)
            solver.step(solver.param.max_iter - solver.iter)
            if rank == 0:
                solver.snapshot()
        except Exception as error:  # pylint: disable=broad-except  the main thread raises it
            self.errors.append(error)

    @staticmethod
    def time(solver):
        """Prints the time of an iteration at each displayed one."""
        timer, display = caffe.Timer(), max(1, solver.param.display)

        def start():
            if solver.iter % display == 0:
                timer.start()

        def ready():
            if solver.iter % display == 0:
                timer.stop()
                print(f'Iteration {solver.iter}: forward and backward {timer.ms:.1f} ms', flush=True)
        solver.add_callback(start, ready)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--solver', required=True, help='the solver prototxt')
    parser.add_argument('--snapshot', help='a .solverstate to go on from')
    parser.add_argument('--gpus', type=int, nargs='+', default=[], help='numbers of GPUs; none: the CPU')
    parser.add_argument('--solvers', type=int, default=1, help='how many solvers on the CPU (1)')
    parser.add_argument('--device_memory', help="each solver's budget, such as 2GiB")
    parser.add_argument('--timing', action='store_true', help='print the time of iterations that are displayed')
    flags = parser.parse_args()
    if flags.solvers < 1:
        parser.error('--solvers: a number from 1 upwards is needed')
    Trainer(flags).run()
    return 0


if __name__ == '__main__':
    program.run(main, RuntimeError)
