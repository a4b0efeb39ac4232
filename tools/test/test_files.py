#!/usr/bin/env python3
"""Files and streams that the programs cannot write or read: each is an error in one sentence, nothing hangs, and no
file is partly written. Only the commands that write log files in Caffe do so."""
import os
import resource
import shutil
import subprocess
import unittest

from command_line import BIN, SOLVER, TINY_NET, DigitsTest, Result, at_once, run, write

MODEL = "--model=examples/digits/train_test.prototxt"


def run_with(args, program="layrub", environment=None, **options):
    """As run(), but with options of subprocess.run, and without log files unless the environment asks for them."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("GLOG_", "GOOGLE_"))}
    env.update(environment or {"GLOG_logtostderr": "1"})
    options.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([os.path.join(BIN, program), *args], stderr=subprocess.PIPE, text=True, timeout=120, env=env, **options)
    return Result(done)


class FilesTest(DigitsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.chdir(cls.digits)
        os.makedirs("examples")
        os.symlink(cls.digits, "examples/digits")
        for extra in ("", "snapshot_format: HDF5\n"):
            write("run.prototxt", SOLVER + extra)
            done = run("train", "--solver=run.prototxt")
            assert done.code == 0, done.err
        shutil.rmtree("examples")

    def setUp(self):
        super().setUp()
        for name in os.listdir("examples/digits"):
            if name.startswith("run_iter_4"):
                shutil.move("examples/digits/" + name, name)


class Outputs(FilesTest):
    def each_that_prints(self):
        """Programs that print to the standard output: the name that their messages begin with, and the command."""
        yield "layrub", ["plan", MODEL]
        yield "layrub", ["plan", MODEL, "--format=json"]
        yield "layrub", ["plan", MODEL, "--device_memory=1KiB"]
        yield "layrub", ["diff", "run_iter_4.caffemodel", "run_iter_4.caffemodel"]
        yield "layrub", ["device_query"]
        yield "layrub", ["train", "--solver=solver.prototxt", "--verify_placement=1"]
        yield "layrub", ["--help"]
        yield "layrub", ["plan", "--help"]
        yield "layrub", ["--version"]
        yield "convert_digits", ["digits.csv", "new"]

    def test_an_unwritable_standard_output_is_an_error(self):
        shutil.copy("examples/digits/digits.csv", "digits.csv")
        full = open("/dev/full", "w")
        self.addCleanup(full.close)
        reader, unread = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, unread)
        for program, args in self.each_that_prints():
            for name, reason, options in (("full", "No space left on device", {"stdout": full}),
                                          ("unread", "Broken pipe", {"stdout": unread}),
                                          ("closed", "Bad file descriptor", {"preexec_fn": lambda: os.close(1)})):
                shutil.rmtree("new", ignore_errors=True)
                os.mkdir("new")
                with self.subTest(args=args, stdout=name):
                    result = run_with(args, program, **options)
                    self.assertEqual(1, result.code, result.last)
                    said = [line for line in result.err.splitlines() if line.startswith(program + ": ")]
                    self.assertEqual([program + ": cannot write all of the standard output: " + reason], said)

    def test_a_closed_standard_output_is_ignored_by_programs_that_print_nothing(self):
        self.assertEqual(0, run_with(["train", "--solver=solver.prototxt"], preexec_fn=lambda: os.close(1)).code)

    def test_files_are_never_opened_as_closed_standard_streams(self):
        def nothing_open():
            for stream in range(3):
                os.close(stream)

        os.rename("run_iter_4.caffemodel", "before.caffemodel")
        result = run_with(["train", "--solver=solver.prototxt", "--json_summary=summary.json"], preexec_fn=nothing_open)
        self.assertEqual(0, result.code)
        self.assertEqual(0, run("diff", "before.caffemodel", "run_iter_4.caffemodel").code)
        self.assertEqual(1, run_with(["plan", MODEL, "--dump=dump"], preexec_fn=nothing_open).code)
        self.assertEqual(0, run("plan", MODEL, "--dump=again").code)
        for name in ("graph.txt", "plan.txt"):
            with open("dump/" + name) as one, open("again/" + name) as other:
                self.assertEqual(one.read(), other.read())

    def each_that_writes(self):
        """Program, arguments, and the files that it writes."""
        yield "layrub", ["train", "--solver=solver.prototxt", "--json_summary=summary.json"], ["summary.json"]
        yield "layrub", ["time", MODEL, "--iterations=1", "--profile=profile.json"], ["profile.json"]
        yield "layrub", ["plan", MODEL, "--dump=."], ["graph.txt", "plan.txt"]
        for kind in ("net_proto_text", "solver_proto_text"):
            source = {"net_proto_text": "examples/digits/train_test.prototxt", "solver_proto_text": "solver.prototxt"}[kind]
            yield "upgrade_" + kind, [source, "new.prototxt"], ["new.prototxt"]
        yield "upgrade_net_proto_binary", ["run_iter_4.caffemodel", "new.caffemodel"], ["new.caffemodel"]

    def test_on_a_full_disk_files_are_replaced_completely_or_not_at_all(self):
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 0\nsnapshot_after_train: false\ntest_initialization: false"))
        for program, args, files in self.each_that_writes():
            for name in files:
                write(name, "precious")
            before = sorted(os.listdir("."))
            with self.subTest(program=program, args=args):
                # A limit on file sizes stands in for the full disk; its signal is ignored, so that writing fails.
                result = run_with(args, program, restore_signals=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
                self.fails(result, "Cannot write .*%s: File too large" % files[0])
                self.assertEqual(before, sorted(os.listdir(".")))
                for name in files:
                    with open(name) as file:
                        self.assertEqual("precious", file.read())

    def test_a_file_size_limit_is_reported_when_a_database_exceeds_it(self):
        args = [os.path.join(self.digits, "digits.csv"), "new"]
        os.mkdir("new")
        result = run_with(args, "convert_digits", restore_signals=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
        self.fails(result, r"LMDB .*; a file may have 64\.0 KiB at most \(ulimit -f\)")

    def test_files_in_missing_folders_are_named(self):
        for program, args, files in self.each_that_writes():
            if "--dump=." in args:
                args = args[:-1] + ["--dump=solver.prototxt/folder"]
            args = [arg.replace(files[0], "none/" + files[0]) for arg in args]
            with self.subTest(program=program, args=args):
                self.fails(run_with(args, program), "(none/%s: No such file|solver.prototxt/folder: Not a dir)" % files[0])

    def test_a_failed_run_makes_no_outputs(self):
        self.fails(run_with(["train", "--solver=solver.prototxt", "--json_summary=new.json", "--weights=none"]), "none")
        self.assertFalse(os.path.exists("new.json"))

    def test_outputs_may_be_pipes_and_devices(self):
        os.mkfifo("pipe")
        with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
            result = run_with(["train", "--solver=solver.prototxt", "--json_summary=pipe"])
            self.assertIn('"iterations": 4', reader.stdout.read())
        self.assertEqual(0, result.code, result.last)
        self.assertIn('"iterations": 4', run_with(["train", "--solver=solver.prototxt", "--json_summary=/dev/stdout"]).out)

    @unittest.skipIf(os.geteuid() != 0, "only root can make the link of another user")
    def test_links_of_other_users_in_shared_folders_are_not_followed(self):
        os.makedirs("shared")
        os.chmod("shared", 0o1777)
        os.mkdir("target")
        os.symlink("../target", "shared/link")
        os.chown("shared/link", 12345, 12345, follow_symlinks=False)
        write("net.prototxt", TINY_NET)
        refused = "the folder shared/link is a symbolic link that another user has made"
        for flag in ("--report=shared/link", "--report=shared/link/in", "--dump=shared/link/"):
            self.fails(run("plan", "--model=net.prototxt", flag), refused)
        write("solver.prototxt", 'net: "net.prototxt" lr_policy: "fixed" base_lr: 1 max_iter: 1 snapshot_prefix: "shared/link/run"')
        self.fails(run("train", "--solver=solver.prototxt"), refused)
        self.assertEqual([], os.listdir("target"))


class LogFiles(FilesTest):
    def left(self, args, environment=(), program="layrub"):
        """The log files that a command leaves in the temporary folder, and whether its messages were on stderr."""
        shutil.rmtree("tmp", ignore_errors=True)
        os.mkdir("tmp")
        result = run_with(args, program, environment=dict({"TMPDIR": os.path.abspath("tmp")}, **dict(environment)))
        self.assertEqual(0, result.code, result.last)
        return os.listdir("tmp"), "] " in result.err

    def test_only_train_and_test_write_them(self):
        model, weights = "examples/digits/train_test.prototxt", "run_iter_4.caffemodel"
        for args in (["train", "--solver=solver.prototxt"], ["test", MODEL, "--weights=" + weights, "--iterations=1"]):
            files, told = self.left(args)
            self.assertTrue(any(".INFO." in name for name in files), files)
            self.assertTrue(told)
        for program, args in (("layrub", ["time", MODEL, "--iterations=1"]), ("layrub", ["plan", MODEL, "--max_iter=3"]),
                              ("layrub", ["diff", weights, weights]), ("layrub", ["device_query"]),
                              ("upgrade_net_proto_text", [model, "new.prototxt"]),
                              ("upgrade_net_proto_binary", [weights, "new.caffemodel"]),
                              ("upgrade_solver_proto_text", ["solver.prototxt", "new.prototxt"])):
            with self.subTest(program=program, args=args):
                files, told = self.left(args, program=program)
                self.assertEqual([], files)
                self.assertEqual(args[0] != "diff", told)

    def test_they_are_written_where_flags_and_environment_say(self):
        time, train = ["time", MODEL, "--iterations=1"], ["train", "--solver=solver.prototxt"]
        for environment, flags in (({"GLOG_log_dir": os.path.abspath("logs")}, []), ({}, ["--log_dir=logs"])):
            for args in (time, train):
                shutil.rmtree("logs", ignore_errors=True)
                os.mkdir("logs")
                files, told = self.left(args + flags, environment)
                self.assertEqual(([], True), (files, told))
                self.assertTrue(any(".INFO." in name for name in os.listdir("logs")), args)
        for environment, flags in (({"GLOG_logtostderr": "1"}, []), ({}, ["--logtostderr"])):
            self.assertEqual(([], True), self.left(train + flags, environment))
        self.assertEqual(([], False), self.left(time + ["--alsologtostderr=false"]))


class Inputs(FilesTest):
    def test_a_pipe_that_nobody_writes_to_does_not_hang(self):
        os.mkfifo("pipe")
        os.mkfifo("pipe.h5")
        write("net_is_a_pipe.prototxt", SOLVER.replace("examples/digits/train_test.prototxt", "pipe"))
        reading = [["train", "--solver=pipe"], ["train", "--solver=net_is_a_pipe.prototxt"], ["plan", "--model=pipe"],
                   ["plan", "--solver=pipe"], ["plan", MODEL, "--machine=pipe"], ["time", "--model=pipe"],
                   ["test", "--model=pipe", "--weights=pipe"], ["test", MODEL, "--weights=pipe"],
                   ["test", MODEL, "--weights=pipe.h5"], ["train", "--solver=solver.prototxt", "--weights=pipe"],
                   ["train", "--solver=solver.prototxt", "--snapshot=pipe"], ["diff", "pipe", "pipe"],
                   ["train", "--solver=solver.prototxt", "--snapshot=pipe.h5"]]
        for args, result in zip(reading, at_once(run_with, reading)):
            with self.subTest(args=args):
                self.fails(result, "pipe(.h5)?: it is (a pipe that nobody writes to|no regular file)")
        self.fails(run_with(["pipe", "new"], "upgrade_net_proto_text"), "pipe: it is a pipe that nobody writes to")
        self.fails_as("convert_digits", ["pipe", "."], "pipe: it is a pipe that nobody writes to")
        self.fails_as("time_plans", ["pipe", "cpu", "1", "1"], "pipe: it is a pipe that nobody writes to")

    def test_a_pipe_as_a_source_or_in_its_list_does_not_hang(self):
        os.mkfifo("pipe")
        write("list", "pipe\n")
        write("labels", "pipe 1\n")
        sources = ("type: 'ImageData' image_data_param { source: 'pipe' }",
                   "type: 'ImageData' image_data_param { source: 'labels' }",
                   "type: 'WindowData' window_data_param { source: 'pipe' }",
                   "type: 'HDF5Data' hdf5_data_param { source: 'pipe' batch_size: 1 }",
                   "type: 'HDF5Data' hdf5_data_param { source: 'list' batch_size: 1 }",
                   "type: 'Data' data_param { source: 'pipe' backend: LMDB }",
                   "type: 'Data' data_param { source: 'pipe' backend: LEVELDB }")
        nets = [write("net%d" % i, "layer { name: 'd' top: 'x' top: 'y' %s }" % source) for i, source in enumerate(sources)]
        for source, result in zip(sources, at_once(lambda net: run_with(["time", "--model=" + net]), nets)):
            with self.subTest(source=source):
                self.fails(result, "pipe")

    def fails_as(self, program, args, pattern):
        result = run_with(args, program)
        self.assertEqual(1, result.code, result.last)
        self.assertRegex(result.err, r"\A%s: [^\n]*%s[^\n]*\n\Z" % (program, pattern))

    def test_a_pipe_as_the_weights_of_a_state_does_not_hang(self):
        os.rename("run_iter_4.caffemodel", "there")
        os.mkfifo("run_iter_4.caffemodel")
        self.fails(run_with(["train", "--solver=solver.prototxt", "--snapshot=run_iter_4.solverstate"]),
                   "run_iter_4.caffemodel: it is no regular file")

    def test_folders_are_named(self):
        for args in (["train", "--solver=examples"], ["plan", "--model=examples"], ["plan", MODEL, "--machine=examples"],
                     ["test", MODEL, "--weights=examples"], ["train", "--solver=solver.prototxt", "--snapshot=examples"],
                     ["diff", "examples", "examples"]):
            with self.subTest(args=args):
                self.fails(run_with(args), "examples: it is a folder")
        self.fails_as("convert_digits", ["examples", "."], "examples: it is a folder")

    def test_pipes_with_a_writer_are_read(self):
        model = "examples/digits/train_test.prototxt"
        reference = run("plan", MODEL).out
        with open(model) as file:
            self.assertEqual(reference, run_with(["plan", "--model=/dev/stdin"], stdin=file).out)
            file.seek(0)
            text = file.read()
        self.assertEqual(reference, run_with(["plan", "--model=/dev/stdin"], input=text).out)
        os.mkfifo("pipe")
        for wait in ("", "sleep 0.3; ", "exec > pipe; sleep 2; "):  # before it opens the pipe, and before it writes
            with subprocess.Popen(["sh", "-c", wait + "cat %s > pipe" % model]):
                result = run_with(["plan", "--model=pipe"])
                self.assertEqual(reference, result.out, result.last)
        time = run("time", MODEL, "--iterations=1", "--profile=profile.json")
        self.assertEqual(0, time.code, time.last)
        for flags in ("--machine=<(cat profile.json)", "--machine=<(sleep 1; cat profile.json)"):
            done = subprocess.run(["bash", "-c", '"$0" plan %s %s' % (MODEL, flags), os.path.join(BIN, "layrub")],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(0, done.returncode, done.stderr)
        with open("run_iter_4.caffemodel", "rb") as file:
            self.assertEqual(0, run_with(["test", MODEL, "--weights=/dev/stdin", "--iterations=1"], stdin=file).code)

    def test_time_plans_names_unusable_arguments(self):
        self.assertEqual(0, run("plan", MODEL, "--dump=.").code)
        write("bad.txt", "layrub-graph 4\ngraph x\n")
        for args, pattern in ((["bad.txt", "cpu", "1", "1"], "bad.txt: line 2: .*cut off"),
                              (["none.txt", "cpu", "1", "1"], "File not found: none.txt"),
                              (["graph.txt", "cpux", "1", "1"], "no machine 'cpux'"),
                              (["graph.txt", "cpu", "1,x", "1"], "PARTS: 'x' is no number"),
                              (["graph.txt", "cpu", "1", "many"], "STEPS: 'many' is no number")):
            with self.subTest(args=args):
                self.fails_as("time_plans", args, pattern)


class Diff(FilesTest):
    def test_formats_may_differ(self):
        for kind, said in (("caffemodel", "weights"), ("solverstate", "solver states")):
            names = ["run_iter_4." + kind, "run_iter_4." + kind + ".h5"]
            for pair in (names, names[::-1], names[:1] * 2, names[1:] * 2):
                result = run("diff", *pair)
                self.assertEqual((0, said + " bit-equal: yes\n"), (result.code, result.out), result.last)

    def test_differences_are_reported_across_formats(self):
        write("solver.prototxt", SOLVER.replace("random_seed: 1", "random_seed: 2"))
        for kind, pattern in (("caffemodel", r"^ip2, blob 1: \d+ of 10 values differ, the first at 0: "),
                              ("solverstate", r"^history, blob 1: \d+ of \d+ values differ, the first at ")):
            name = "run_iter_4." + kind
            os.rename(name + ".h5", "other")  # recognised by its contents
            self.train()
            for pair in ((name, "other"), ("other", name)):
                result = run("diff", *pair)
                self.assertEqual(1, result.code)
                self.assertRegex(result.out, "(?m)" + pattern)
                self.assertIn("bit-equal: no\n", result.out)

    def test_states_of_other_iterations_differ(self):
        os.rename("run_iter_4.solverstate", "four")
        write("solver.prototxt", SOLVER.replace("max_iter: 4", "max_iter: 5"))
        self.train()
        result = run("diff", "four", "run_iter_5.solverstate")
        self.assertEqual(1, result.code)
        self.assertRegex(result.out, r"\Aiter: 4 and 5\n")

    def test_weights_and_states_are_not_compared(self):
        for state in ("run_iter_4.solverstate", "run_iter_4.solverstate.h5"):
            for weights in ("run_iter_4.caffemodel", "run_iter_4.caffemodel.h5"):
                pattern = "%s holds the state of a solver, %s weights" % (state, weights)
                self.fails(run("diff", state, weights), pattern)
                self.fails(run("diff", weights, state), pattern)

    def test_damaged_hdf5_files_are_named(self):
        with open("run_iter_4.caffemodel.h5", "rb") as file:
            whole = file.read()
        for size in (8, 100, 2000, len(whole) // 2, len(whole) - 1):
            with open("cut.h5", "wb") as file:
                file.write(whole[:size])
            result = run("diff", "run_iter_4.caffemodel.h5", "cut.h5")
            self.fails(result, "cut.h5")
            self.assertNotIn("HDF5-DIAG", result.err)

    def test_shared_parameters_are_in_hdf5_once(self):
        net = """
        layer { name: "in" type: "DummyData" top: "x" dummy_data_param { shape { dim: 2 dim: 3 } } }
        layer { name: "one" type: "InnerProduct" bottom: "x" top: "y" param { name: "w" } param { name: "b" }
                inner_product_param { num_output: 3 weight_filler { type: "xavier" } bias_filler { type: "xavier" } } }
        layer { name: "two" type: "InnerProduct" bottom: "y" top: "z" param { name: "w" } param { name: "own" }
                inner_product_param { num_output: 3 bias_filler { type: "xavier" } } }
        layer { name: "loss" type: "EuclideanLoss" bottom: "z" bottom: "x" top: "l" }"""
        solver = ('net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 2 snapshot_prefix: "s" solver_mode: CPU '
                  "random_seed: 3 ")
        write("net.prototxt", net)
        for extra in ("", "snapshot_format: HDF5\n"):
            write("shared.prototxt", solver + extra)
            self.assertEqual(0, run("train", "--solver=shared.prototxt").code)
        names = ("s_iter_2.caffemodel", "s_iter_2.caffemodel.h5")
        for pair in (names, names[::-1]):
            result = run("diff", *pair)
            self.assertEqual((0, "weights bit-equal: yes\n"), (result.code, result.out), result.last)
        write("shared.prototxt", solver.replace("random_seed: 3", "random_seed: 4") + extra)
        self.assertEqual(0, run("train", "--solver=shared.prototxt").code)
        result = run("diff", *names)
        self.assertEqual(1, result.code)
        for blob in ("one, blob 0", "one, blob 1", "two, blob 0", "two, blob 1"):
            self.assertIn(blob + ": ", result.out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
