#!/usr/bin/env python3
"""Gives layrub input that never ends or never comes. It must end soon and say why."""
import os
import unittest

from command_line import DigitsTest, run, write

IMAGES = """layer { name: "in" type: "ImageData" top: "x" top: "l" image_data_param { source: "%s" batch_size: 1 } }
layer { name: "r" type: "ReLU" bottom: "x" top: "y" }"""


class EndlessInput(DigitsTest):
    def setUp(self):
        super().setUp()
        os.mkfifo("pipe")

    def test_a_pipe_that_nobody_writes_to_is_named(self):
        train = ("train", "--solver=solver.prototxt")
        write("net.prototxt", IMAGES % "pipe")
        for flags in ((*train, "--weights=pipe"), (*train, "--snapshot=pipe"), ("plan", "--model=pipe"),
                      ("plan", "--solver=solver.prototxt", "--machine=pipe"), ("diff", "pipe", "pipe")):
            self.fails(run(*flags), "Cannot read pipe: it is a pipe that nobody writes to")
        result = run("time", "--model=net.prototxt")
        self.fails(result, "cannot open the image list pipe")
        self.assertIn("Cannot read pipe: it is a pipe that nobody writes to", result.err)

    def test_a_pipe_is_refused_for_files_that_need_random_access(self):
        os.symlink("pipe", "pipe.h5")
        self.fails(run("train", "--solver=solver.prototxt", "--weights=pipe.h5"), r"pipe\.h5.* no regular file")
        write("list.txt", "pipe 0\n")
        write("net.prototxt", IMAGES % "list.txt")
        self.fails(run("time", "--model=net.prototxt"), "pipe")
        os.remove("examples/digits/digits_train_lmdb/data.mdb")
        os.mkfifo("examples/digits/digits_train_lmdb/data.mdb")
        self.fails(run("train", "--solver=solver.prototxt"), "digits_train_lmdb: data.mdb is no regular file")

    def test_a_device_without_an_end_is_refused(self):
        self.fails(run("train", "--solver=solver.prototxt", "--weights=/dev/zero"), "/dev/zero: no binary NetParameter")
        self.fails(run("plan", "--model=small.prototxt", "--flagfile=/dev/zero"), "flagfile=/dev/zero: there is no")

    def test_flag_files_that_include_each_other_are_refused(self):
        write("a.flags", "# a comment\n--flagfile=b.flags\n")
        write("b.flags", " -flagfile=a.flags,a.flags\n")
        for flag in (("--flagfile=a.flags",), ("-flagfile", "a.flags")):
            self.fails(run("plan", *flag), "flagfile=.*too many such files")
        write("c.flags", "--solver=solver.prototxt\n--device_memory=1GiB\n")
        self.assertEqual(0, run("plan", "--flagfile=c.flags").code)


if __name__ == "__main__":
    unittest.main(verbosity=2)
