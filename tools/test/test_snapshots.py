#!/usr/bin/env python3
"""Snapshots: finding the newest, removing old ones, damaged ones, losses that are not finite."""
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import unittest

from command_line import BIN, TINY_NET, write

SOLVER = """
net: "net.prototxt" momentum: 0.9 lr_policy: "fixed" max_iter: 6 snapshot: 2 snapshot_prefix: "run"
solver_mode: CPU random_seed: 1
"""
FORMATS = {"BINARYPROTO": "", "HDF5": ".h5"}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def overwrite(path, data):
    with open(path, "wb") as file:
        file.write(data)


class SnapshotTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chdir(self.folder)
        self.addCleanup(os.chdir, "/")
        write("net.prototxt", TINY_NET)

    def train(self, *flags, more="", rate="0.01", code=0, pattern="."):
        write("solver.prototxt", SOLVER + "base_lr: %s %s" % (rate, more))
        done = subprocess.run([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", *flags], text=True,
                              env=dict(os.environ, GLOG_logtostderr="1"), capture_output=True, timeout=60)
        self.assertEqual(code, done.returncode, done.stderr[-2500:])
        self.assertRegex(done.stderr, pattern)
        if code != 0:
            said = [line for line in done.stderr.splitlines() if line.startswith(("F", "layrub: "))]
            self.assertEqual(1, len(said), done.stderr[-1500:])
        return done.stderr

    def runs(self):
        return sorted(name for name in os.listdir(".") if name.startswith("run"))


class Snapshots(SnapshotTest):
    def test_latest_without_a_snapshot_starts_from_the_beginning(self):
        log = self.train("--snapshot=latest", pattern="no snapshot under run, so training begins at iteration 0")
        self.assertNotIn("Restor", log)
        self.assertEqual(6, len(self.runs()))

    def test_latest_is_the_newest_complete_snapshot_in_either_format(self):
        for form, ending in FORMATS.items():
            self.train(more="snapshot_format: " + form)
            end = read("run_iter_6.caffemodel" + ending)
            self.train("--snapshot=latest", more="snapshot_format: " + form,
                       pattern=r"Resuming from run_iter_6.solverstate" + re.escape(ending))
            for name in ("run_iter_6.solverstate", "run_iter_10.caffemodel"):  # weights alone are not a snapshot
                shutil.copy("run_iter_4.caffemodel" + ending, name + ending)
            log = self.train("--snapshot=latest", more="snapshot_format: " + form,
                             pattern=r"Resuming from run_iter_4.solverstate" + re.escape(ending))
            self.assertIn("Skipping run_iter_6.solverstate" + ending, log)
            self.assertIn("Skipping run_iter_10.caffemodel" + ending, log)
            self.assertEqual(end, read("run_iter_6.caffemodel" + ending))
            for name in self.runs():
                os.remove(name)

    def test_any_changed_byte_of_a_snapshot_is_detected(self):
        for form, ending in FORMATS.items():
            self.train(more="snapshot_format: " + form)
            state, weights = "run_iter_4.solverstate" + ending, "run_iter_4.caffemodel" + ending
            for path, said in ((weights, weights + " is not the file that " + state + " was written with"),
                               (state, "run_iter_4")):
                whole = read(path)
                # In an HDF5 state not every byte is part of a value.
                places = range(0, len(whole), 7) if path == weights or not ending else ()
                for place in list(places)[:8]:
                    overwrite(path, whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
                    self.train("--snapshot=" + state, code=1, pattern=re.escape(said))
                overwrite(path, whole[:-1])
                self.train("--snapshot=" + state, code=1, pattern=re.escape(path))
                overwrite(path, whole)
            self.train("--snapshot=" + state, more="snapshot_format: " + form)
            overwrite("run_iter_4.caffemodel" + ending, b"")
            for number in (2, 6):
                os.remove("run_iter_%d.solverstate" % number + ending)
            self.train("--snapshot=latest", code=1, pattern="latest: none of the 1 solver states under run can be resumed")
            for name in self.runs():
                os.remove(name)

    def test_a_changed_value_of_the_history_is_detected(self):
        self.train(more="snapshot_format: HDF5")
        state = read("run_iter_4.solverstate.h5")
        binary = self.train()
        self.assertIn("binary proto", binary)
        blob = read("run_iter_4.solverstate")
        values = next(blob[i:i + 8] for i in range(len(blob) - 8) if blob[i:i + 8] in state and
                      all(1e-3 < abs(v) < 1 for v in struct.unpack("<2f", blob[i:i + 8])))
        place = state.index(values)
        overwrite("run_iter_4.solverstate.h5", state[:place] + bytes([state[place] ^ 1]) + state[place + 1:])
        self.train("--snapshot=run_iter_4.solverstate.h5", code=1,
                   pattern="run_iter_4.solverstate.h5 is damaged: it does not have the checksum")

    def test_snapshot_keep_removes_older_pairs_and_nothing_else(self):
        for name in ("run_iter_1.caffemodel", "run_iter_01.solverstate", "run_iter_01.caffemodel", "run_iter_x.solverstate",
                     "running_iter_1.solverstate", "running_iter_1.caffemodel", "run_iter_8.solverstate",
                     "run_iter_8.caffemodel", "run_iter_0.solverstate"):
            write(name, "mine")
        os.mkdir("run_iter_0.caffemodel")
        before = self.runs()
        self.train(more="snapshot_keep: 2")
        new = ["run_iter_%d.%s" % (number, kind) for number in (4, 6) for kind in ("caffemodel", "solverstate")]
        self.assertEqual(sorted(before + new), self.runs())
        self.train(more="snapshot_keep: -1", code=1, pattern="snapshot_keep should be at least 1, or 0 for all")

    def test_latest_is_the_newest_not_the_largest_iteration(self):
        self.train()
        self.train("--max_iter=4")
        log = self.train("--snapshot=latest", pattern="run_iter_4.solverstate is the newest state, although run_iter_6")
        self.assertIn("Resuming from run_iter_4.solverstate", log)

    def test_latest_suggests_only_snapshots_that_can_be_resumed(self):
        self.train()
        self.train("--max_iter=4")
        whole = read("run_iter_6.solverstate")
        for damaged in (whole[:-9], b"none"):  # the time is still that of the first run, or missing
            overwrite("run_iter_6.solverstate", damaged)
            log = self.train("--snapshot=latest", pattern="Skipping run_iter_6.solverstate: ")
            self.assertIn("Resuming from run_iter_4.solverstate", log)
            self.assertNotIn("is the newest state, although", log)

    def test_snapshots_of_equal_trainings_differ_only_in_the_time_and_its_checksum(self):
        files = []
        for _ in range(2):
            self.train(more="snapshot_format: HDF5")
            files.append([read("run_iter_6." + kind + ".h5") for kind in ("caffemodel", "solverstate")])
        (weights, state), (other_weights, other_state) = files
        self.assertEqual(weights, other_weights)
        self.assertNotEqual(state, other_state)
        self.assertEqual(len(state), len(other_state))
        differ = sum(one != other for one, other in zip(state, other_state))
        self.assertLessEqual(differ, 9 + 4)  # a time in nanoseconds, a checksum of 32 bits

    def test_a_link_under_the_name_of_a_snapshot_is_replaced(self):
        for form, ending in FORMATS.items():
            write("precious", "mine")
            names = ["run_iter_4." + kind + ending for kind in ("caffemodel", "solverstate")]
            for name in names:
                os.symlink("precious", name)
            self.train(more="snapshot_format: " + form)
            self.assertEqual(b"mine", read("precious"))
            self.assertFalse(any(os.path.islink(name) for name in names))

    def test_an_empty_variable_does_not_train_from_scratch(self):
        for flag in ("--snapshot=", "--weights="):
            self.train(flag, code=1, pattern=flag + " names no file")
        self.assertEqual([], self.runs())

    def test_invalid_iterations_are_refused(self):
        self.train()
        state = read("run_iter_4.solverstate")
        self.assertEqual(b"\x08\x04", state[:2])
        caffes = state[:state.index(b"\x20\x00") + 2]  # up to current_step
        for number in (b"\x08" + b"\xff" * 9 + b"\x01", b"\x08" + b"\x80" * 4 + b"\xf8" + b"\xff" * 4 + b"\x01"):
            overwrite("bad.solverstate", number + caffes[2:])
            self.train("--snapshot=bad.solverstate", code=1, pattern="bad.solverstate holds no solver state: it says iteration -")
        self.train("--snapshot=run_iter_4.solverstate", "--max_iter=3", code=1,
                   pattern="run_iter_4.solverstate is at iteration 4, beyond max_iter 3: nothing is left to train")

    def test_states_of_caffe_load_with_one_line(self):
        self.train()
        end, state = read("run_iter_6.caffemodel"), read("run_iter_4.solverstate")
        overwrite("caffe.solverstate", state[:state.index(b"\x20\x00") + 2])
        log = self.train("--snapshot=caffe.solverstate", pattern="caffe.solverstate does not hold the state of random numbers")
        self.assertEqual(1, log.count("will not be exactly the one that was stopped"))
        self.assertEqual(end, read("run_iter_6.caffemodel"))
        self.assertNotIn("exactly", self.train("--snapshot=run_iter_4.solverstate"))

    def test_weights_that_are_a_pipe_are_refused(self):
        self.train()
        os.remove("run_iter_4.caffemodel")
        os.mkfifo("run_iter_4.caffemodel")
        self.train("--snapshot=run_iter_4.solverstate", code=1, pattern="run_iter_4.caffemodel: it is no regular file")
        state = read("run_iter_4.solverstate")
        overwrite("caffe.solverstate", state[:state.index(b"\x20\x00") + 2])
        self.train("--snapshot=caffe.solverstate", code=1, pattern="run_iter_4.caffemodel is no regular file")

    def test_links_and_leftover_files_in_the_folder_do_no_harm(self):
        write("precious", "mine")
        process = subprocess.Popen(["true"])
        process.wait()  # its process id is free now
        place = "%s-%d" % (socket.gethostname(), os.stat("/proc/self/ns/pid").st_ino)
        dead, alive = (f".tmp.{place}.{number}.1-1" for number in (process.pid, os.getpid()))
        elsewhere = f".tmp.another-{place}.{process.pid}.1-1"
        for name in ("run_iter_0.tempfile", "run.tempfile", "run_iter_2.caffemodel" + dead):
            os.symlink("precious", name)
        write("run_iter_3.solverstate" + dead, "left by a kill")
        write("run_iter_3.solverstate" + alive, "of a process that lives")
        write("run_iter_3.solverstate" + elsewhere, "of a process of another host")
        self.train()
        self.assertEqual(b"mine", read("precious"))
        self.assertEqual(sorted(["run.tempfile", "run_iter_0.tempfile", "run_iter_3.solverstate" + alive,
                                 "run_iter_3.solverstate" + elsewhere]),
                         sorted(name for name in self.runs() if "temp" in name or "tmp" in name))

    def test_names_with_slashes_are_kept_in_hdf5(self):
        for name in ("inception_3a/1x1", "a/b%2Fc%", ".", "50%25"):
            write("net.prototxt", TINY_NET.replace('"ip"', f'"{name}"'))
            self.train(more="snapshot_format: HDF5")
            end = read("run_iter_6.caffemodel.h5")
            self.assertNotIn("Ignoring", self.train("--snapshot=run_iter_2.solverstate.h5", more="snapshot_format: HDF5"))
            self.assertEqual(end, read("run_iter_6.caffemodel.h5"))
            log = self.train("--weights=run_iter_6.caffemodel.h5")
            self.assertNotIn("Ignoring", log)

    def test_duplicate_layer_names_are_reported_before_training(self):
        net = TINY_NET.replace('"ip"', '"loss"')
        write("net.prototxt", net)
        log = self.train(more="snapshot_format: HDF5", code=1, pattern="two are named loss")
        self.assertNotIn("Starting Optimization", log)

    def test_a_missing_folder_is_reported_before_training(self):
        write("file", "")
        for prefix in ("none/run", "file/run"):
            write("solver.prototxt", SOLVER.replace('"run"', '"%s"' % prefix) + "base_lr: 0.01")
            done = subprocess.run([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt"], text=True,
                                  env=dict(os.environ, GLOG_logtostderr="1"), capture_output=True, timeout=60)
            self.assertEqual(1, done.returncode)
            self.assertRegex(done.stderr, "Cannot write to snapshot prefix '%s'" % prefix)
            self.assertNotIn("Creating training net", done.stderr)


class NotFinite(SnapshotTest):
    """Training whose loss is NaN from iteration 1 on, because base_lr spoils the weights, or overflows."""

    def test_a_loss_that_is_not_finite_is_reported_once(self):
        log = self.train(rate="nan", pattern="base_lr is nan")
        said = [line for line in log.splitlines() if "the loss is" in line]
        self.assertEqual(1, len(said), said)
        self.assertRegex(said[0], r"Iteration 1: the loss is -?nan; the first value that is not finite is in parameter 0 of "
                                  r"layer ip\. Training goes on.*--stop_on_nan")
        self.assertEqual(6, len(self.runs()))

    def test_stop_on_nan_keeps_the_last_good_snapshot(self):
        self.train("--stop_on_nan", rate="nan", code=1, pattern="base_lr is nan")
        self.train("--max_iter=2")
        before = {name: read(name) for name in self.runs()}
        for flags, more in ((["--stop_on_nan"], ""), ([], "stop_on_nan: true")):
            log = self.train("--snapshot=latest", *flags, rate="1e30", more=more, code=1,
                             pattern=r"Iteration \d+: (the loss is -?(inf|nan)|weights are not finite).*stop_on_nan.*"
                                     r"The last snapshot is run_iter_2\.")
            self.assertNotIn("Optimization Done", log)
            self.assertEqual(before, {name: read(name) for name in self.runs()})

    def test_snapshot_keep_keeps_the_last_good_one(self):
        self.train("--max_iter=2")
        log = self.train("--snapshot=latest", rate="1e30", more="snapshot_keep: 1")
        self.assertIn("Older snapshots stay: the weights of this one are not finite, first in parameter", log)
        self.assertIn("run_iter_2.solverstate", self.runs())


if __name__ == "__main__":
    unittest.main(verbosity=2)
