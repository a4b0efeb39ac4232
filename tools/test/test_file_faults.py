#!/usr/bin/env python3
"""Kills training, or lets its system calls on files fail, at every point of its snapshots, and checks the files.

The library of src/caffe/test/faults counts the calls that training makes in the folder of its snapshots; each test then
tries all of them. The final weights must be those of the run without faults."""
import glob
import gzip
import itertools
import os
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib
from concurrent.futures import ThreadPoolExecutor

from command_line import BIN, SOLVER, SOURCE, DigitsTest, sample, write

FAULTS = os.path.join(BIN, "faults", "libfile_faults.so")
FORMATS = ("BINARYPROTO", "HDF5")
NET = """
name: "tiny"
layer { name: "data" type: "DummyData" top: "x" top: "t" dummy_data_param {
    shape { dim: 2 dim: 3 } shape { dim: 2 dim: 2 }
    data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 0.5 } } }
layer { name: "drop" type: "Dropout" bottom: "x" top: "x" }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
        inner_product_param { num_output: 2 weight_filler { type: "constant" value: 0.25 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "loss" }
"""
TINY = """
net: "net.prototxt" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" max_iter: 4 snapshot: 2 snapshot_prefix: "snap/run"
solver_mode: CPU random_seed: 1 snapshot_format: %s
"""
# The order of syncs: both files before either is renamed, the folder after each.
WRITTEN = r"open:(run_iter_\d\.%s\S*) (?:p?write:\%d |ftruncate:\%d )+fsync:\%d "
NAMED = r"close:\%d rename:\%d fsync:snap ?"
ORDER = ("^(?:open:run.tempfile unlink:run.tempfile )*|" + WRITTEN % ("caffemodel", 1, 1, 1) +
         WRITTEN % ("solverstate", 2, 2, 2) + NAMED % (1, 1) + NAMED % (2, 2))


def contents(path):
    with open(path, "rb") as file:
        return file.read()


class Training:
    """A folder with the tiny net, and a training that runs there."""

    def __init__(self, parent, form, more="", max_iter=4):
        self.folder = os.path.realpath(tempfile.mkdtemp(dir=parent))
        self.snapshots = os.path.join(self.folder, "snap")
        self.last = os.path.join(self.snapshots, "run_iter_%d.caffemodel" % max_iter + (".h5" if form == "HDF5" else ""))
        os.mkdir(self.snapshots)
        write(os.path.join(self.folder, "net.prototxt"), NET)
        write(os.path.join(self.folder, "solver.prototxt"),
              (TINY % form).replace("max_iter: 4", "max_iter: %d" % max_iter) + more)

    def run(self, *flags, at=None, fault=None):
        env = dict(os.environ, GLOG_logtostderr="1", OPENBLAS_NUM_THREADS="1", LD_PRELOAD=FAULTS,
                   LAYRUB_FAULT_FOLDER=self.snapshots, LAYRUB_FAULT_LOG=os.path.join(self.folder, "calls"))
        if at:
            env.update(LAYRUB_FAULT_AT=str(at), LAYRUB_FAULT=fault)
        self.done = subprocess.run([os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt", "--placement=keep",
                                    *flags], cwd=self.folder, env=env, capture_output=True, text=True, timeout=60)
        return self.done.returncode

    def calls(self):
        """[(number, call, file name)] of the run without faults."""
        with open(os.path.join(self.folder, "calls")) as file:
            lines = [line.split(maxsplit=2) for line in file]
        return [(int(number), call, os.path.basename(path.strip())) for number, call, path in lines]

    def torn(self):
        """The solver states that do not have the checksum of their weights."""
        return [state for state in glob.glob(self.snapshots + "/*.solverstate*") if ".tmp." not in state and
                struct.pack("<BI", 0x15, zlib.crc32(contents(state.replace("solverstate", "caffemodel"))))
                not in contents(state)]

    def strays(self):
        return glob.glob(self.snapshots + "/*.tmp.*")


@unittest.skipUnless(os.path.exists(FAULTS), "there is no " + FAULTS)
class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.parent = tempfile.mkdtemp()
        cls.whole, cls.points = {}, {}
        for form in FORMATS:
            training = cls.whole[form] = Training(cls.parent, form)
            code = training.run()
            if "ASan runtime does not come first" in training.done.stderr:
                raise unittest.SkipTest("a sanitizer does not let another library be loaded first")
            assert code == 0, training.done.stderr
            calls = training.calls()
            writes = [number for number, call, _ in calls if "write" in call]
            # HDF5 writes many small pieces, all in the same way.
            left_out = set(writes) - set(writes[::4]) if len(writes) > 20 else set()
            cls.points[form] = [call for call in calls if call[0] not in left_out]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.parent)

    def try_all(self, attempt, points):
        """Runs attempt(form, fault, point), which returns a complaint or None, several at a time."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            complaints = [text for text in pool.map(lambda args: attempt(*args), sample(points, 5)) if text]
        self.assertEqual([], complaints)

    def all_points(self, *faults, calls="", forms=FORMATS):
        """All points; each gets one of the faults, in turn."""
        return [(form, fault, point) for form in forms for point, fault in
                zip(self.points[form], itertools.cycle(faults)) if calls in point[1]]

    def complaint(self, training, what):
        """The errors after a training that has succeeded, or None."""
        def said(text):
            return f"{what}: {text}\n" + training.done.stderr[-1500:]
        if training.torn():
            return said("torn: " + str(training.torn()))
        if training.strays():
            return said("left: " + str(training.strays()))
        form = "HDF5" if training.last.endswith(".h5") else "BINARYPROTO"
        if contents(training.last) != contents(self.whole[form].last):
            return said("the weights are not those of the run without faults")
        return None

    def test_a_run_without_faults_has_its_snapshots_and_counts_their_system_calls(self):
        for form in FORMATS:
            training = self.whole[form]
            self.assertEqual(4, len(os.listdir(training.snapshots)))
            self.assertEqual([], training.torn() + training.strays())
            self.assertEqual("", re.sub(ORDER, "", " ".join("%s:%s" % (call, name.split(".tmp.")[0])
                                                            for _, call, name in training.calls())))
            calls = [call for _, call, _ in training.calls()]
            self.assertEqual(4, calls.count("rename"))
            self.assertEqual(8, calls.count("fsync"))

    def test_after_a_kill_at_any_point_the_run_resumes_with_the_same_result(self):
        def attempt(form, fault, point):
            what = f"{form}, {fault} {point}"
            training = Training(self.parent, form)
            if training.run(at=point[0], fault=fault) != -9:
                return what + ": was not killed"
            if training.torn():
                return what + ": torn: " + str(training.torn())
            if training.run("--snapshot=latest") != 0:
                return what + ": " + training.done.stderr[-1500:]
            return self.complaint(training, what)
        # Only kills after calls: before a call, the state is that after the previous call.
        after = [point for point in self.all_points("kill_after", forms=FORMATS[:1])
                 if point[2][1] in ("write", "fsync", "rename")]
        self.try_all(attempt, self.all_points("kill_before") + after)

    def test_a_system_call_that_fails_once_costs_at_most_one_snapshot(self):
        def attempt(form, fault, point):
            what = f"{form}, {fault} {point}"
            training = Training(self.parent, form)
            code = training.run(at=point[0], fault=fault)
            if ".tempfile" in point[2]:
                if point[1] == "open":  # before training
                    fine = code == 1 and "Cannot write to snapshot prefix 'snap/run'" in training.done.stderr
                    return None if fine else what + ": " + training.done.stderr[-1500:]
                training.run("--snapshot=latest")  # removes what could not be removed before
                return self.complaint(training, what)
            if code != 0:
                return what + ": " + training.done.stderr[-1500:]
            if not re.search(r"Cannot write \S*snap/run_iter_\d\.\S+: (No space left|Input/output error)", training.done.stderr):
                return what + ": was not told of\n" + training.done.stderr[-1500:]
            if "tries again" not in training.done.stderr:
                return what + ": was not tried again\n" + training.done.stderr[-1500:]
            return self.complaint(training, what)
        self.try_all(attempt, self.all_points("ENOSPC", "EIO"))

    def test_a_partial_write_is_completed(self):
        def attempt(form, fault, point):
            what = f"{form}, {fault} {point}"
            training = Training(self.parent, form)
            code = training.run(at=point[0], fault=fault)
            if code != 0 or "Cannot write" in training.done.stderr:
                return what + ": " + training.done.stderr[-1500:]
            if sorted(os.listdir(training.snapshots)) != sorted(os.listdir(self.whole[form].snapshots)):
                return what + ": other files"
            return self.complaint(training, what)
        self.try_all(attempt, self.all_points("short", calls="write"))

    def test_if_all_writes_fail_the_older_snapshots_stay(self):
        def attempt(form, fault, point):
            what = f"{form}, {fault} from {point} on"
            training = Training(self.parent, form)
            code = training.run(at=str(point[0]) + "+", fault=fault)
            if ".tempfile" in point[2]:
                return None if code == 1 else what + ": exit code %d" % code
            if code != 1 or not re.search("Training has ended without its last snapshot: Cannot write .*: No space left",
                                          training.done.stderr):
                return what + ": " + training.done.stderr[-1500:]
            if training.torn():
                return what + ": torn"
            if training.run("--snapshot=latest") != 0:
                return what + ": " + training.done.stderr[-1500:]
            return self.complaint(training, what)
        self.try_all(attempt, [point for point in self.all_points("ENOSPC") if point[2][0] % 4 == 1])

    def test_a_failed_snapshot_ends_training_on_request(self):
        for form in FORMATS:
            training = Training(self.parent, form, "stop_on_snapshot_failure: true")
            number = next(number for number, call, name in self.points[form] if "iter_4" in name and call == "fsync")
            self.assertEqual(1, training.run(at=number, fault="EIO"))
            self.assertRegex(training.done.stderr, "Cannot write .*run_iter_4.caffemodel.*: Input/output error")
            self.assertNotIn("tries again", training.done.stderr)
            self.assertEqual([], training.torn() + training.strays())
            self.assertEqual(2, len(os.listdir(training.snapshots)))


class FullDisk(unittest.TestCase):
    """Tests on a small file system in memory, in a separate name space."""

    def setUp(self):
        self.parent = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.parent)
        tried = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", self.parent], capture_output=True)
        if tried.returncode != 0:
            self.skipTest("no file system may be mounted here: " + tried.stderr.decode())

    @staticmethod
    def run_on(size, folder, command):
        """Runs the command in `folder`, where snap is a disk of `size`. Its final contents are copied to copy."""
        return subprocess.run(
            ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=%s tmpfs snap || exit 99\n"
             "%s/%s; code=$?\ncp -r snap copy && exit $code" % (size, BIN, command)],
            cwd=folder, env=dict(os.environ, GLOG_logtostderr="1"), capture_output=True, text=True, timeout=60)

    def train(self, size, form, more=""):
        training = Training(self.parent, form, more, max_iter=60)
        training.done = self.run_on(size, training.folder, "layrub train --solver=solver.prototxt --placement=keep")
        training.snapshots = os.path.join(training.folder, "copy")
        return training

    def test_a_full_disk_keeps_its_snapshots(self):
        for form in FORMATS:
            training = self.train("64k", form)
            self.assertEqual(1, training.done.returncode, training.done.stderr[-1500:])
            self.assertRegex(training.done.stderr,
                             r"Training has ended without its last snapshot: Cannot write .*: No space left on device.*"
                             r"The last snapshot is snap/run_iter_\d+\.solverstate")
            self.assertEqual([], training.torn() + training.strays())
            self.assertGreater(len(glob.glob(training.snapshots + "/*.solverstate*")), 1)

    def test_snapshot_keep_frees_space(self):
        for form in FORMATS:
            training = self.train("64k", form, "snapshot_keep: 1")
            self.assertEqual(0, training.done.returncode, training.done.stderr[-1500:])
            self.assertEqual(["run_iter_60"], sorted({name.split(".")[0] for name in os.listdir(training.snapshots)}))

    def test_too_little_disk_space_is_reported_before_training(self):
        training = self.train("8k", "BINARYPROTO")
        self.assertEqual(1, training.done.returncode)
        self.assertRegex(training.done.stderr, r"A snapshot under 'snap/run' needs \d+ bytes, and there are 8192 bytes left")
        self.assertNotIn("Starting Optimization", training.done.stderr)

    def test_if_a_database_does_not_fit_the_free_space_is_reported(self):
        os.mkdir(self.parent + "/snap")
        with gzip.open(os.path.join(SOURCE, "examples/digits/digits.csv.gz")) as packed:
            write(self.parent + "/digits.csv", packed.read().decode())
        for size in (4, 8, 12, 16, 20, 60, 64, 72, 96, 128, 160, 176, 184, 200):
            done = self.run_on("%dk" % size, self.parent, "convert_digits digits.csv snap")
            with self.subTest(size=size):
                self.assertEqual(1, done.returncode, done.stderr)
                self.assertRegex(done.stderr, r"Cannot (make|write) LMDB snap/digits_t\w+_lmdb: [^\n]*"
                                              r"; \d+\.\d KiB are left on its disk")
                self.assertNotIn("damaged", done.stderr)
        self.assertEqual(0, self.run_on("1m", self.parent, "convert_digits digits.csv snap").returncode)


class LimitedFiles(DigitsTest):
    def test_a_limit_on_file_sizes_keeps_the_older_snapshot(self):
        for form, limit in (("HDF5", 159000), ("HDF5", 100000), ("BINARYPROTO", 100000)):
            write("solver.prototxt", SOLVER + "snapshot_format: " + form)
            self.train()
            names = set(os.listdir("."))
            before = {name: contents(name) for name in names if name.startswith("run_iter_4")}
            program = [os.path.join(BIN, "layrub"), "train", "--solver=solver.prototxt"]
            done = subprocess.run(program, capture_output=True, text=True, env=dict(os.environ, GLOG_logtostderr="1"),
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual(1, done.returncode, done.stderr[-1500:])
            self.assertRegex(done.stderr, r"Cannot write .*run_iter_4\.\S+: File too large")
            self.assertNotIn("stack trace", done.stderr)
            self.assertNotIn("HDF5-DIAG", done.stderr)
            self.assertEqual(names, set(os.listdir(".")))
            self.assertEqual(before, {name: contents(name) for name in before})


if __name__ == "__main__":
    unittest.main(verbosity=2)
