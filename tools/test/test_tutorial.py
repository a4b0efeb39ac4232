#!/usr/bin/env python3
"""Runs every command of docs/tutorial.md, in order, in a folder with a copy of the example, and compares its output
with the text. PYTHONPATH has the package caffe.

In the text, a block ```sh has commands, a block ```text after it their output (standard output and error, without
glog's prefix; [...] stands for any lines), and a block of another language a file whose name follows the language."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from command_line import BIN, SOURCE, write

TUTORIAL = os.path.join(SOURCE, "docs/tutorial.md")
BUILD = os.path.dirname(BIN)
# Commands that are not run, because they build the tested program or set the path to it.
BUILD_STEPS = ("scripts/install_deps.sh", "cmake -S . -B build", "cmake --build build", "export PATH=",
               "export PYTHONPATH=")
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PREFIX = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+:\d+\] ?", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+(?![\d.])|\d+(?:\.\d+)?)(?:e[-+]?\d+)?")
TIME = re.compile(r" ?(s|ms|iter/s|x)\b")
# Scores of a training differ slightly between kinds of processors: pattern, relative and absolute tolerance.
SCORES = ((r"\bloss\b", 0.1, 0.005), (r"\baccuracy\b", 0, 0.02), (r"^\d+,\d\.\d+,\d\.", 0.1, 0.02),
          (r"told right", 0.01, 0))


def same_line(shown, said):
    """Whether the lines are the same: bytes and counts exactly, times may differ, scores within their tolerance."""
    shown, said = (" ".join(line.split()) for line in (shown, said))
    if NUMBER.sub("#", shown) != NUMBER.sub("#", said):
        return False
    for mine, its in zip(NUMBER.finditer(shown), NUMBER.finditer(said)):
        if mine[0] == its[0] or TIME.match(shown, mine.end()):
            continue
        if "." not in mine[0] and "told right" not in shown:
            return False
        mine, its = (float(number[0].replace(",", "")) for number in (mine, its))
        if not any(re.search(what, shown) and abs(mine - its) <= max(share * mine, most) for what, share, most in SCORES):
            return False
    return True


def first_mismatch(shown, said):
    """None if the lines `said` match those shown; else the first shown line that is missing."""
    at, anywhere = 0, False
    for i, line in enumerate(shown):
        if line.strip() == "[...]":
            anywhere = True
            continue
        while anywhere and at < len(said) and not same_line(line, said[at]):
            at += 1
        if at == len(said) or not same_line(line, said[at]):
            return f"line {i + 1}: {line!r} is shown, and said is {said[at] if at < len(said) else 'nothing more'!r}"
        at, anywhere = at + 1, False
    return None if anywhere or at == len(said) else f"said is also {said[at]!r}"

# How far data are prefetched beyond the end of a small data set depends on the speed of the machine.
READ_AHEAD = "Restarting data prefetching from start."


class Tutorial(unittest.TestCase):

    def setUp(self):
        with open(os.path.join(BUILD, "CMakeCache.txt")) as file:
            cache = file.read()
        if "CPU_ONLY:BOOL=ON" not in cache:
            self.skipTest("the tutorial is that of a build with CPU_ONLY")
        if "USE_ONEDNN:BOOL=ON" not in cache:
            self.skipTest("the tutorial has the figures of a build with oneDNN (USE_ONEDNN)")
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        os.chdir(folder)
        self.addCleanup(os.chdir, "/")
        for name in ("include", "scripts", "tools", "bench"):
            os.symlink(os.path.join(SOURCE, name), name)
        os.symlink(BUILD, "build")
        shutil.copytree(os.path.join(SOURCE, "examples/digits"), "examples/digits",
                        ignore=shutil.ignore_patterns("*_lmdb", "*.csv", "*.caffemodel", "*.solverstate"))
        shutil.copytree(os.path.join(SOURCE, "models"), "models")
        package = os.environ.get("PYTHONPATH") or os.path.join(BUILD, "python")
        python = os.path.dirname(sys.executable)
        self.environment = dict(os.environ, PATH=f"{BIN}:{python}:{os.environ['PATH']}", PYTHONPATH=package,
                                PYTHONDONTWRITEBYTECODE="1", GLOG_log_dir=folder)

    def run_commands(self, text):
        """Runs the commands, which must succeed. Returns their output."""
        text = "\n".join(line for line in text.splitlines() if not line.startswith(BUILD_STEPS))
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=500, check=False, env=self.environment)
        self.assertEqual(0, done.returncode, f"{text}\n{done.stdout}")
        lines = [line.rstrip() for line in PREFIX.sub("", done.stdout).splitlines()]
        return [line for line in lines if line != READ_AHEAD]

    def test_every_command_prints_the_shown_output(self):
        with open(TUTORIAL) as file:
            tutorial = file.read()
        said, commands = None, ""
        for language, name, text in BLOCK.findall(tutorial):
            if language == "sh":
                commands, said = text, self.run_commands(text)
            elif language == "text":
                self.assertIsNotNone(said, f"no command is before:\n{text}")
                wrong = first_mismatch(text.splitlines(), said)
                if wrong:
                    self.fail(f"{commands}\n{wrong}\nall that is said:\n" + "\n".join(said))
                said = None
            else:
                self.assertTrue(name, f"a block of {language} has no name of a file")
                write(name, text)

    def test_no_command_stands_outside_of_the_checked_blocks(self):
        with open(TUTORIAL) as file:
            tutorial = file.read()
        commands = "".join(text for language, _, text in BLOCK.findall(tutorial) if language == "sh").splitlines()
        for step in BUILD_STEPS:
            self.assertTrue(any(line.startswith(step) for line in commands), step)
        self.assertNotRegex(BLOCK.sub("", tutorial), r"(?m)^```|^ {4,}\S")

    def test_lines_are_compared_as_they_should_be(self):
        for shown, said, same in (("a 10 MiB", "a 10 MiB", True), ("a  10 MiB", "a 10 MiB", True),
                                  ("a 10 MiB", "a 11 MiB", False), ("a 10 MiB", "b 10 MiB", False),
                                  ("1.5 s", "0.02 s", True), ("loss = 0.5", "loss = 0.51", True),
                                  ("loss = 0.5", "loss = 0.6", False), ("accuracy = 0.99", "accuracy = 0.98", True),
                                  ("accuracy = 0.99", "accuracy = 0.96", False), ("loss = 0.001", "loss = 0.007", False),
                                  ("150,0.98,0.03", "150,0.99,0.04", True), ("150,0.98,0.03", "151,0.98,0.03", False),
                                  ("9 of 9 are told right", "7 of 9 are told right", False),
                                  ("1,000 bytes", "1,001 bytes", False)):
            self.assertEqual(same, same_line(shown, said), (shown, said))
        for shown, said, right in (("a b", "a b", True), ("a", "a b", False), ("a [...]", "a b", True), ("b", "a b", False),
                                   ("[...] b", "a b", True), ("a [...] c", "a b c", True), ("a c", "a b c", False),
                                   ("[...] d [...]", "a b c", False)):
            self.assertEqual(right, first_mismatch(shown.split(), said.split()) is None, (shown, said))


if __name__ == "__main__":
    unittest.main(verbosity=2)
