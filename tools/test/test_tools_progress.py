#!/usr/bin/env python3
"""The progress line of convert_imageset, compute_image_mean and extract_features on a terminal. There is none in a pipe
and on a terminal that cannot erase lines."""
import os
import pty
import re
import shutil
import subprocess
import unittest

from command_line import BIN, write
from example import Example

NET = """
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "images_lmdb" batch_size: 10 backend: LMDB } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE global_pooling: true } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip" inner_product_param { num_output: 2 } }
"""
WIPE = "\r\x1b[K"


def on_terminal(program, *args, term="xterm"):
    """Runs the program in its own terminal. Returns (exit code, all output)."""
    ours, its = pty.openpty()
    with subprocess.Popen([os.path.join(BIN, program), *args], stdin=subprocess.DEVNULL, stdout=its, stderr=its,
                          env=dict(os.environ, TERM=term, GLOG_log_dir=os.getcwd())) as process:
        os.close(its)
        raw = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the program has ended
                break
            raw += piece
        os.close(ours)
        process.wait(60)
    return process.returncode, raw.decode().replace("\r\n", "\n")


class ToolsProgress(Example):
    commands = (("convert_imageset", ("pictures/", "list.txt", "new_lmdb"), r"images: 256 of 600, [\d.]+/s, \d+s left"),
                ("compute_image_mean", ("images_lmdb",), r"images: 256, [\d.]+/s"),
                ("extract_features", ("ip.caffemodel", "net.prototxt", "ip", "new_lmdb", "60", "lmdb"),
                 r"batches: 1 of 60, [\d.]+/s, \d+s left"))

    @classmethod
    def prepare(cls):
        cls.make("make_pictures", "pictures")
        names = [f"train/{kind}/{i}.png" for kind in ("cross", "disc", "stripes") for i in range(40)]
        write("list.txt", "".join(f"{name} 0\n" for name in names * 5))
        cls.make("convert_imageset", "--resize_width=8", "--resize_height=8", "pictures/", "list.txt", "images_lmdb")
        write("net.prototxt", NET)
        write("train.prototxt", NET + 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }')
        write("solver.prototxt", 'net: "train.prototxt" base_lr: 0 lr_policy: "fixed" max_iter: 1 snapshot_prefix: "ip"')
        cls.make("layrub", "train", "--solver=solver.prototxt")
        os.rename("ip_iter_1.caffemodel", "ip.caffemodel")

    def setUp(self):
        shutil.rmtree("new_lmdb", ignore_errors=True)

    def test_a_terminal_shows_one_progress_line_and_erases_it_at_the_end(self):
        for program, args, first in self.commands:
            with self.subTest(program):
                self.setUp()
                code, said = on_terminal(program, *args)
                self.assertEqual(0, code, said)
                shown = re.findall(r"\r\x1b\[K([^\r\n\x1b]+)", said)
                self.assertRegex(shown[0], first)
                left = re.sub(r"\r\x1b\[K[^\r\n\x1b]+(?=\r\x1b\[K)", "", said).replace(WIPE, "")
                self.assertNotRegex(left, "\r|images: |batches: ")  # only the log

    def test_without_a_terminal_there_is_none(self):
        for program, args, _ in self.commands:
            with self.subTest(program):
                self.setUp()
                code, said = on_terminal(program, *args, term="dumb")
                self.assertEqual(0, code, said)
                self.assertNotIn("\x1b", said)
                self.setUp()
                done = subprocess.run([os.path.join(BIN, program), *args], capture_output=True, text=True, check=False,
                                      env=dict(os.environ, TERM="xterm", GLOG_log_dir=os.getcwd()))
                self.assertEqual(0, done.returncode, done.stderr)
                self.assertNotRegex(done.stderr + done.stdout, "\x1b|images: |batches: ")

    def test_an_error_begins_on_a_line_of_its_own(self):
        names = ["train/disc/1.png"] * 300
        write("sizes.txt", "".join(f"{name} 0\n" for name in names) + "small.png 0\n")
        with open("pictures/small.png", "wb") as file:  # 1 x 1, gray
            file.write(bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
                                     "0000000a49444154789c636000000002000148afa4710000000049454e44ae426082"))
        code, said = on_terminal("convert_imageset", "--check_size", "pictures/", "sizes.txt", "new_lmdb")
        self.assertEqual(1, code, said)
        self.assertRegex(said, r"(?:\n|\x1b\[K)[^\r\n\x1b:]*[^\r\n]*Incorrect data field size 3 of small\.png")
        self.assertNotRegex(said, r"left[^\r\n\x1b]*Incorrect")


if __name__ == "__main__":
    unittest.main()
